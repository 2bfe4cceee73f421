// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"encoding/hex"
	"fmt"

	"profrelay/layouts/content"
)

// interner gives the things of a request their places in a dictionary, in the order in which they are met.
type interner struct {
	Dictionary
	layout    content.Layout
	strings   map[string]int32
	attrs     map[*content.Attr]int32
	mappings  map[*content.Mapping]int32
	functions map[*content.Function]int32
	locations map[*content.Location]int32
	links     map[content.Link]int32
	stacks    map[string]int32
	units     map[Unit]bool
}

func newInterner(layout content.Layout, zeros bool) *interner {
	in := &interner{layout: layout, strings: map[string]int32{}, attrs: map[*content.Attr]int32{},
		mappings: map[*content.Mapping]int32{}, functions: map[*content.Function]int32{},
		locations: map[*content.Location]int32{}, links: map[content.Link]int32{}, stacks: map[string]int32{}, units: map[Unit]bool{}}
	in.string("")
	if zeros {
		in.Attrs = append(in.Attrs, Attr{})
		in.Mappings = append(in.Mappings, Mapping{})
		in.Functions = append(in.Functions, Function{})
		in.Locations = append(in.Locations, Location{Mapping: None})
		in.Links = append(in.Links, content.Link{})
	}
	if !layout.Old {
		in.stack(nil)
	}
	return in
}

// Index makes the tables of a request. Nothing is in them that is not referenced, but for what is unused on purpose.
func Index(layout content.Layout, m content.Made) *Request {
	q := &Request{}
	shared := newInterner(layout, m.Zeros)
	if !layout.TablesInProfile {
		q.Dictionary = &shared.Dictionary
		shared.unused(m)
	}
	for _, r := range m.Request.Resources {
		resource := Resource{Schema: r.Schema, Dropped: r.Dropped, Attrs: r.Attrs}
		for _, s := range r.Scopes {
			scope := Scope{Name: s.Name, Version: s.Version, Schema: s.Schema, Attrs: s.Attrs}
			for i := range s.Profiles {
				in := shared
				if layout.TablesInProfile {
					in = newInterner(layout, m.Zeros)
					in.unused(m)
				}
				p := in.profile(&s.Profiles[i])
				if layout.TablesInProfile {
					p.Dictionary = &in.Dictionary
				}
				scope.Profiles = append(scope.Profiles, p)
			}
			resource.Scopes = append(resource.Scopes, scope)
		}
		q.Resources = append(q.Resources, resource)
	}
	return q
}

func (in *interner) unused(m content.Made) {
	for _, s := range m.Unused.Strings {
		in.string(s)
	}
	in.attrSet(m.Unused.Attrs)
	for _, l := range m.Unused.Locations {
		in.location(l)
	}
	for _, f := range m.Unused.Functions {
		in.function(f)
	}
	for _, l := range m.Unused.Links {
		in.link(*l)
	}
}

func (in *interner) string(s string) int32 {
	i, known := in.strings[s]
	if !known {
		i = int32(len(in.Strings))
		in.strings[s] = i
		in.Strings = append(in.Strings, s)
	}
	return i
}

func (in *interner) attr(a *content.Attr) int32 {
	i, known := in.attrs[a]
	if known {
		return i
	}
	i = int32(len(in.Attrs))
	in.attrs[a] = i
	if !in.layout.Old {
		in.Attrs = append(in.Attrs, Attr{Key: in.string(a.Key), Val: a.Val, Unit: in.string(a.Unit)})
		return i
	}
	in.Attrs = append(in.Attrs, Attr{KeyText: a.Key, Val: a.Val})
	if a.Unit != "" {
		u := Unit{in.string(a.Key), in.string(a.Unit)}
		if !in.units[u] {
			in.units[u] = true
			in.Units = append(in.Units, u)
		}
	}
	return i
}

func (in *interner) attrSet(list []*content.Attr) []int32 {
	var out []int32
	for _, a := range list {
		out = append(out, in.attr(a))
	}
	return out
}

func (in *interner) mapping(m *content.Mapping) int32 {
	if m == nil {
		return None
	}
	i, known := in.mappings[m]
	if !known {
		entry := Mapping{m.Start, m.Limit, m.Offset, in.string(m.File), in.attrSet(m.Attrs)}
		i = int32(len(in.Mappings))
		in.mappings[m] = i
		in.Mappings = append(in.Mappings, entry)
	}
	return i
}

func (in *interner) function(f *content.Function) int32 {
	i, known := in.functions[f]
	if !known {
		i = int32(len(in.Functions))
		in.functions[f] = i
		in.Functions = append(in.Functions, Function{in.string(f.Name), in.string(f.System), in.string(f.File), f.Start})
	}
	return i
}

func (in *interner) location(l *content.Location) int32 {
	i, known := in.locations[l]
	if !known {
		entry := Location{Mapping: in.mapping(l.Mapping), Address: l.Address, Attrs: in.attrSet(l.Attrs), Folded: l.Folded}
		for _, line := range l.Lines {
			entry.Lines = append(entry.Lines, Line{in.function(line.Function), line.Line, line.Col})
		}
		i = int32(len(in.Locations))
		in.locations[l] = i
		in.Locations = append(in.Locations, entry)
	}
	return i
}

func (in *interner) locationList(list []*content.Location) []int32 {
	var out []int32
	for _, l := range list {
		out = append(out, in.location(l))
	}
	return out
}

func (in *interner) stack(list []*content.Location) int32 {
	ids := in.locationList(list)
	key := fmt.Sprint(ids)
	i, known := in.stacks[key]
	if !known {
		i = int32(len(in.Stacks))
		in.stacks[key] = i
		in.Stacks = append(in.Stacks, ids)
	}
	return i
}

func (in *interner) link(l content.Link) int32 {
	i, known := in.links[l]
	if !known {
		i = int32(len(in.Links))
		in.links[l] = i
		in.Links = append(in.Links, l)
	}
	return i
}

func (in *interner) valueType(t [2]string) ValueType {
	return ValueType{in.string(t[0]), in.string(t[1])}
}

func (in *interner) profile(p *content.Profile) Profile {
	id, _ := hex.DecodeString(p.ID)
	out := Profile{PeriodType: in.valueType(p.PeriodType), Period: p.Period, Time: p.Time, Duration: p.Duration, ID: id,
		Dropped: p.Dropped, Format: p.Format, Default: p.Default}
	for _, t := range p.Types {
		out.Types = append(out.Types, in.valueType(t))
	}
	for _, c := range p.Payload {
		out.Payload = append(out.Payload, byte(c))
	}
	for _, c := range p.Comments {
		out.Comments = append(out.Comments, in.string(c))
	}
	out.Attrs = in.attrSet(p.Attrs)
	for i := range p.Samples {
		out.Samples = append(out.Samples, in.sample(&out, &p.Samples[i]))
	}
	return out
}

func (in *interner) sample(p *Profile, s *content.Sample) Sample {
	out := Sample{Values: s.Values, Times: s.Times, Attrs: in.attrSet(s.Attrs), Link: None}
	if s.Link != nil {
		out.Link = in.link(*s.Link)
	}
	if !in.layout.Old {
		out.Stack = in.stack(s.Stack)
		return out
	}
	ids := in.locationList(s.Stack)
	out.Start, out.Length = int32(len(p.LocationIndices)), int32(len(ids))
	p.LocationIndices = append(p.LocationIndices, ids...)
	return out
}
