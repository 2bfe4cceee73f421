// SPDX-License-Identifier: Apache-2.0

package content

// Layout is what a layout can and cannot say, as far as making requests needs it.
type Layout struct {
	Name            string
	Old             bool // several sample types in a profile, index 0 may be a real entry, one unit for all of a key
	TablesInProfile bool
	Comments        bool
	ValuesInField2  bool // of samples, as attributes are from 1.10 on
	EmptyValues     bool // attribute values without content are legal
}

// Layouts by name; a release's own name has the layout's as its beginning.
var Layouts = map[string]Layout{
	"1.5":  {Name: "1.5", Old: true, TablesInProfile: true, Comments: true},
	"1.7":  {Name: "1.7", Old: true, Comments: true},
	"1.8":  {Name: "1.8", Comments: true, ValuesInField2: true},
	"1.9":  {Name: "1.9", ValuesInField2: true, EmptyValues: true},
	"1.10": {Name: "1.10", EmptyValues: true},
}
