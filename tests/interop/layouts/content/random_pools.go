// SPDX-License-Identifier: Apache-2.0

package content

import "fmt"

// Everything in a pool differs from its neighbours: a dictionary has no two equal entries.
func (r *random) makePools() {
	for i := range 2 + r.IntN(6) {
		r.attrs = append(r.attrs, r.attr(i))
	}
	for range 1 + r.IntN(3) {
		l := &Link{r.hex(16), r.hex(8)}
		r.links = append(r.links, l)
	}
	for i := range 1 + r.IntN(5) {
		f := &Function{Name: fmt.Sprintf("f%d.%s", i, r.text()), Start: int64(r.most(500))}
		if r.chance(40) {
			f.System = r.text()
		}
		if r.chance(60) {
			f.File = r.text()
		}
		r.functions = append(r.functions, f)
	}
	for i := range 1 + r.IntN(3) {
		r.mappings = append(r.mappings, r.mapping(i))
	}
	for i := range 1 + r.IntN(7) {
		r.locations = append(r.locations, r.location(i))
	}
	for range 1 + r.IntN(5) {
		r.stacks = append(r.stacks, r.stack())
	}
}

func (r *random) attr(i int) *Attr {
	a := &Attr{Key: fmt.Sprintf("%s%d", pick(r, words), i), Val: r.value(1)}
	if i > 0 && !r.o.Layout.Old && !r.o.Fits && r.chance(15) {
		a.Key = r.attrs[i-1].Key // the same with another value or unit
		a.Val = Value{Kind: "s", Text: fmt.Sprintf("other %d", i)}
	}
	if r.chance(30) {
		a.Unit = pick(r, []string{"By", "ns", "{request}"})
	}
	if a.Val.Kind == "" {
		a.Val = Value{Kind: "i", Int: int64(i)} // in a table it would be no attribute at all
	}
	return a
}

// attrSet draws up to n attributes of different keys.
func (r *random) attrSet(n int) []*Attr {
	list := []*Attr{}
	seen := map[string]bool{}
	for _, i := range r.Perm(len(r.attrs)) {
		if a := r.attrs[i]; len(list) < n && !seen[a.Key] {
			seen[a.Key] = true
			list = append(list, a)
		}
	}
	return list
}

func (r *random) mapping(i int) *Mapping {
	start := uint64(i+1) << 32
	m := &Mapping{Start: start, Limit: start + 1 + uint64(r.IntN(1<<30)), Offset: uint64(r.IntN(2) * 4096), File: r.text(), Attrs: r.attrSet(r.IntN(3))}
	if r.chance(5) {
		m.Limit = 1<<64 - 1
	}
	if r.chance(20) {
		m.File = ""
	}
	return m
}

func (r *random) location(i int) *Location {
	l := &Location{Address: uint64(i+1)<<16 + uint64(r.IntN(1000)), Lines: []Line{}, Attrs: r.attrSet(r.most(2))}
	if r.chance(70) {
		l.Mapping = pick(r, r.mappings)
	}
	for range r.IntN(3) {
		l.Lines = append(l.Lines, Line{pick(r, r.functions), int64(r.most(3000)), int64(r.most(80))})
	}
	if r.chance(3) {
		l.Address = 1<<64 - 1 - uint64(i)
	}
	l.Folded = r.o.Layout.Old && !r.o.Fits && r.chance(5)
	return l
}

func (r *random) stack() []*Location {
	s := []*Location{}
	for range r.IntN(6) {
		s = append(s, pick(r, r.locations))
	}
	return s
}

func (r *random) unused() Unused {
	u := Unused{Strings: []string{"unused" + r.text()}}
	for i := range r.IntN(3) {
		u.Attrs = append(u.Attrs, &Attr{Key: fmt.Sprintf("unused.%d", i), Val: r.value(0)})
	}
	for i := range r.IntN(2) {
		f := &Function{Name: fmt.Sprintf("unused.%d", i)}
		u.Functions = append(u.Functions, f)
		u.Locations = append(u.Locations, &Location{Address: uint64(0xffff0000 + i), Lines: []Line{{f, 1, 0}}})
	}
	for range r.IntN(2) {
		u.Links = append(u.Links, &Link{r.hex(16), r.hex(8)})
	}
	return u
}
