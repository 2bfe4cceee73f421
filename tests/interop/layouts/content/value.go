// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Value is an AnyValue. Kind is the key it has in JSON; "" is a value without content.
type Value struct {
	Kind   string
	Text   string // of "s"; of "bytes" in hexadecimal
	Bool   bool
	Int    int64
	Double float64
	List   []Value
	Map    []Entry // keys unique and sorted
}

type Entry struct {
	Key string
	Val Value
}

func SortEntries(list []Entry) {
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
}

func (v Value) MarshalJSON() ([]byte, error) {
	one := map[string]any{}
	switch v.Kind {
	case "s", "bytes":
		one[v.Kind] = v.Text
	case "b":
		one[v.Kind] = v.Bool
	case "i":
		one[v.Kind] = v.Int
	case "d":
		one[v.Kind] = doubleText(v.Double)
	case "a":
		one[v.Kind] = append([]Value{}, v.List...)
	case "m":
		m := map[string]Value{}
		for _, e := range v.Map {
			m[e.Key] = e.Val
		}
		one[v.Kind] = m
	}
	return json.Marshal(one)
}

// doubleText has a point or an exponent always, so that no reader takes it for an integer.
func doubleText(d float64) json.RawMessage {
	text := strconv.FormatFloat(d, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.RawMessage(text)
}
