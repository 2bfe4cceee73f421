// SPDX-License-Identifier: Apache-2.0

// Package content says what a request means, free of indices and of any layout: one form for all releases.
// As JSON it is the form of the corpus's content descriptions.
package content

import "slices"

type Request struct{ Resources []Resource }

type Resource struct {
	Schema  string
	Dropped uint32
	Attrs   []*Attr
	Scopes  []Scope
}

type Scope struct {
	Name, Version, Schema string
	Attrs                 []*Attr
	Profiles              []Profile
}

type Profile struct {
	Types      [][2]string // type and unit; one, except in old layouts
	PeriodType [2]string   `json:"period_type"`
	Period     int64
	Time       uint64
	Duration   uint64
	ID         string // hexadecimal
	Dropped    uint32
	Format     string
	Payload    string // one character a byte
	Default    int32  // index into Types
	Comments   []string
	Attrs      []*Attr
	Samples    []Sample
}

type Sample struct {
	Stack  []*Location
	Values []int64
	Times  []uint64
	Attrs  []*Attr
	Link   *Link
}

// Link holds a trace id and a span id, hexadecimal.
type Link [2]string

type Location struct {
	Mapping *Mapping
	Address uint64
	Lines   []Line
	Attrs   []*Attr
	Folded  bool
}

type Line struct {
	*Function
	Line, Col int64
}

type Function struct {
	Name, System, File string
	Start              int64
}

type Mapping struct {
	Start, Limit, Offset uint64
	File                 string
	Attrs                []*Attr
}

// IsZero tells whether the mapping says nothing, which means that there is none.
func (m *Mapping) IsZero() bool {
	return m.Start == 0 && m.Limit == 0 && m.Offset == 0 && m.File == "" && len(m.Attrs) == 0
}

type Attr struct {
	Key  string
	Val  Value
	Unit string
}

// SortAttrs orders a set of attributes; keys are unique in a set.
func SortAttrs(list []*Attr) {
	slices.SortFunc(list, func(a, b *Attr) int {
		switch {
		case a.Key < b.Key:
			return -1
		case a.Key > b.Key:
			return 1
		}
		return 0
	})
}
