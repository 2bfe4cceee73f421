// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
)

// Options choose what random requests are made of.
type Options struct {
	Layout Layout
	Fits   bool // only what every layout can hold, in one way
}

// Made is a random request and what tests count it by.
type Made struct {
	Request *Request
	Class   string
	Orphans bool
	Zeros   bool // tables begin with a zero element; always, except in old layouts
	Unused  Unused
}

// Unused is for the dictionary but referenced by nothing.
type Unused struct {
	Attrs     []*Attr
	Locations []*Location
	Functions []*Function
	Links     []*Link
	Strings   []string
}

type random struct {
	*rand.Rand
	o         Options
	class     string
	small     bool // values that could be indices
	functions []*Function
	mappings  []*Mapping
	locations []*Location
	stacks    [][]*Location
	attrs     []*Attr
	links     []*Link
}

// Make gives the request number n of a seed, always the same.
func Make(o Options, seed, n uint64) Made {
	r := &random{Rand: rand.New(rand.NewPCG(seed, n)), o: o}
	r.class = r.pickClass()
	r.small = r.chance(60)
	r.makePools()
	m := Made{Request: r.request(), Class: r.class, Zeros: !o.Layout.Old || r.chance(50)}
	if r.chance(10) {
		m.Orphans = true
		m.Unused = r.unused()
	}
	return m
}

func (r *random) chance(percent int) bool { return r.IntN(100) < percent }

func pick[T any](r *random, list []T) T { return list[r.IntN(len(list))] }

// most gives small numbers often, up to limit.
func (r *random) most(limit int) int { return min(r.IntN(limit+1), r.IntN(limit+1)) }

func (r *random) int64() int64 {
	switch r.IntN(12) {
	case 0:
		return pick(r, []int64{math.MaxInt64, math.MinInt64, math.MaxInt32, math.MinInt32, math.MaxUint32, 9007199254740993, -1})
	case 1:
		return int64(r.Uint64())
	}
	return int64(r.IntN(100000))
}

func (r *random) uint64() uint64 {
	if r.chance(10) {
		return pick(r, []uint64{0, 1, math.MaxUint64, 1 << 63, 1<<32 - 1})
	}
	return r.Uint64() >> r.IntN(60)
}

var words = []string{"main", "alloc", "größe", "λ", "日本語", "a b", "x\"y\\z", "\u0001", "😀", "/usr/lib/libc.so.6", "[kernel.kallsyms]", "q", "long-long-long-long-name"}

func (r *random) text() string { return fmt.Sprintf("%s%d", pick(r, words), r.IntN(1000)) }

func (r *random) hex(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	b[0] |= 1 // all zero would mean none
	return hex.EncodeToString(b)
}

func (r *random) value(depth int) Value {
	kinds := 12
	if depth == 0 {
		kinds = 9
	}
	switch k := r.IntN(kinds); k {
	case 0:
		return Value{Kind: "b", Bool: r.chance(50)}
	case 1, 2:
		return Value{Kind: "i", Int: r.int64()}
	case 3:
		return Value{Kind: "d", Double: r.double()}
	case 4:
		return Value{Kind: "bytes", Text: hex.EncodeToString([]byte(r.text()))}
	case 5:
		return Value{Kind: "s"}
	case 9:
		return r.list(depth)
	case 10:
		return r.object(depth)
	case 11:
		if r.o.Layout.EmptyValues && !r.o.Fits {
			return Value{}
		}
	}
	return Value{Kind: "s", Text: r.text()}
}

func (r *random) double() float64 {
	return pick(r, []float64{0, 1.25, -1e300, math.SmallestNonzeroFloat64, math.MaxFloat64, r.Float64()})
}

func (r *random) list(depth int) Value {
	v := Value{Kind: "a"}
	for range r.IntN(3) {
		v.List = append(v.List, r.value(depth-1))
	}
	return v
}

func (r *random) object(depth int) Value {
	v := Value{Kind: "m"}
	for i := range r.IntN(3) {
		v.Map = append(v.Map, Entry{fmt.Sprintf("k%d", i), r.value(depth - 1)})
	}
	return v
}

// plainAttrs is for resources and scopes, which have no units.
func (r *random) plainAttrs(first string) []*Attr {
	list := []*Attr{}
	if first != "" && r.chance(80) {
		list = append(list, &Attr{Key: first, Val: Value{Kind: "s", Text: r.text()}})
	}
	for i := range r.most(4) {
		list = append(list, &Attr{Key: fmt.Sprintf("%s.%d", pick(r, words), i), Val: r.value(2)})
	}
	return list
}
