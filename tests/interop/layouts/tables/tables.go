// SPDX-License-Identifier: Apache-2.0

// Package tables is a request with its lookup tables, as all layouts have it more or less. What differs from layout to
// layout (numbers of fields, where the tables lie) is left to the official code of each release.
package tables

import "profrelay/layouts/content"

// Dictionary holds the tables. Those which old layouts lack or have alone are empty elsewhere.
type Dictionary struct {
	Strings   []string
	Attrs     []Attr
	Units     []Unit // old layouts
	Mappings  []Mapping
	Functions []Function
	Locations []Location
	Links     []content.Link
	Stacks    [][]int32 // since 1.8
}

// Attr has its key as text in old layouts.
type Attr struct {
	Key     int32
	KeyText string
	Val     content.Value
	Unit    int32
}

type Unit struct{ Key, Unit int32 }

type Mapping struct {
	Start, Limit, Offset uint64
	File                 int32
	Attrs                []int32
}

type Function struct {
	Name, System, File int32
	Start              int64
}

// None is an index that is not there, which only old layouts tell from 0.
const None = -1

type Location struct {
	Mapping int32 // or None
	Address uint64
	Lines   []Line
	Attrs   []int32
	Folded  bool
}

type Line struct {
	Function  int32
	Line, Col int64
}

type ValueType struct{ Type, Unit int32 }

type Request struct {
	Dictionary *Dictionary // nil when each profile has its own
	Resources  []Resource
}

type Resource struct {
	Schema  string
	Dropped uint32
	Attrs   []*content.Attr
	Scopes  []Scope
}

type Scope struct {
	Name, Version, Schema string
	Attrs                 []*content.Attr
	Profiles              []Profile
}

type Profile struct {
	Dictionary      *Dictionary // nil when the request has it
	Types           []ValueType
	PeriodType      ValueType
	Period          int64
	Time, Duration  uint64
	ID              []byte
	Dropped         uint32
	Format          string
	Payload         []byte
	Default         int32 // index into Types
	Comments        []int32
	Attrs           []int32
	LocationIndices []int32 // old layouts
	Samples         []Sample
}

type Sample struct {
	Stack         int32 // since 1.8
	Start, Length int32 // before
	Values        []int64
	Times         []uint64
	Attrs         []int32
	Link          int32 // or None
}
