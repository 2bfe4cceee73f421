// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"encoding/hex"
	"fmt"

	"profrelay/layouts/content"
)

// Resolve turns indices into what they mean. A bad index panics with a text that names it.
func Resolve(layout content.Layout, q *Request) *content.Request {
	out := &content.Request{}
	var shared *resolver
	if q.Dictionary != nil {
		shared = newResolver(layout, q.Dictionary)
	}
	for _, r := range q.Resources {
		resource := content.Resource{Schema: r.Schema, Dropped: r.Dropped, Attrs: r.Attrs}
		for _, s := range r.Scopes {
			scope := content.Scope{Name: s.Name, Version: s.Version, Schema: s.Schema, Attrs: s.Attrs}
			for i := range s.Profiles {
				p := &s.Profiles[i]
				from := shared
				if p.Dictionary != nil {
					from = newResolver(layout, p.Dictionary)
				}
				scope.Profiles = append(scope.Profiles, from.profile(p))
			}
			resource.Scopes = append(resource.Scopes, scope)
		}
		out.Resources = append(out.Resources, resource)
	}
	return out
}

type resolver struct {
	layout    content.Layout
	d         *Dictionary
	attrs     []*content.Attr
	mappings  []*content.Mapping
	functions []*content.Function
	locations []*content.Location
	stacks    [][]*content.Location
}

func at[T any](list []T, i int32, what string) T {
	if i < 0 || int(i) >= len(list) {
		panic(fmt.Sprintf("%s index %d of %d", what, i, len(list)))
	}
	return list[i]
}

func newResolver(layout content.Layout, d *Dictionary) *resolver {
	r := &resolver{layout: layout, d: d}
	units := map[string]string{}
	for _, u := range d.Units {
		units[r.string(u.Key)] = r.string(u.Unit)
	}
	for _, a := range d.Attrs {
		if layout.Old {
			r.attrs = append(r.attrs, &content.Attr{Key: a.KeyText, Val: a.Val, Unit: units[a.KeyText]})
		} else {
			r.attrs = append(r.attrs, &content.Attr{Key: r.string(a.Key), Val: a.Val, Unit: r.string(a.Unit)})
		}
	}
	for _, m := range d.Mappings {
		r.mappings = append(r.mappings, &content.Mapping{Start: m.Start, Limit: m.Limit, Offset: m.Offset, File: r.string(m.File), Attrs: r.attrSet(m.Attrs)})
	}
	for _, f := range d.Functions {
		r.functions = append(r.functions, &content.Function{Name: r.string(f.Name), System: r.string(f.System), File: r.string(f.File), Start: f.Start})
	}
	for _, l := range d.Locations {
		r.locations = append(r.locations, r.location(l))
	}
	for _, s := range d.Stacks {
		r.stacks = append(r.stacks, r.locationList(s))
	}
	return r
}

func (r *resolver) string(i int32) string { return at(r.d.Strings, i, "string") }

func (r *resolver) attrSet(ids []int32) []*content.Attr {
	out := []*content.Attr{}
	for _, i := range ids {
		out = append(out, at(r.attrs, i, "attribute"))
	}
	return out
}

func (r *resolver) location(l Location) *content.Location {
	out := &content.Location{Address: l.Address, Lines: []content.Line{}, Attrs: r.attrSet(l.Attrs), Folded: l.Folded}
	if l.Mapping != None {
		if m := at(r.mappings, l.Mapping, "mapping"); !m.IsZero() {
			out.Mapping = m
		}
	}
	for _, line := range l.Lines {
		out.Lines = append(out.Lines, content.Line{Function: at(r.functions, line.Function, "function"), Line: line.Line, Col: line.Col})
	}
	return out
}

func (r *resolver) locationList(ids []int32) []*content.Location {
	out := []*content.Location{}
	for _, i := range ids {
		out = append(out, at(r.locations, i, "location"))
	}
	return out
}

func (r *resolver) valueType(t ValueType) [2]string {
	return [2]string{r.string(t.Type), r.string(t.Unit)}
}

func (r *resolver) profile(p *Profile) content.Profile {
	out := content.Profile{PeriodType: r.valueType(p.PeriodType), Period: p.Period, Time: p.Time, Duration: p.Duration,
		ID: hex.EncodeToString(p.ID), Dropped: p.Dropped, Format: p.Format, Default: p.Default, Comments: []string{},
		Attrs: r.attrSet(p.Attrs), Samples: []content.Sample{}}
	for _, t := range p.Types {
		out.Types = append(out.Types, r.valueType(t))
	}
	for _, b := range p.Payload {
		out.Payload += string(rune(b))
	}
	for _, c := range p.Comments {
		out.Comments = append(out.Comments, r.string(c))
	}
	for _, s := range p.Samples {
		out.Samples = append(out.Samples, r.sample(p, s))
	}
	return out
}

func (r *resolver) sample(p *Profile, s Sample) content.Sample {
	out := content.Sample{Values: append([]int64{}, s.Values...), Times: append([]uint64{}, s.Times...), Attrs: r.attrSet(s.Attrs)}
	if s.Link != None {
		link := at(r.d.Links, s.Link, "link")
		out.Link = &link
	}
	if !r.layout.Old {
		out.Stack = at(r.stacks, s.Stack, "stack")
		return out
	}
	if s.Start < 0 || s.Length < 0 || int(s.Start)+int(s.Length) > len(p.LocationIndices) {
		panic(fmt.Sprintf("locations %d+%d of %d", s.Start, s.Length, len(p.LocationIndices)))
	}
	out.Stack = r.locationList(p.LocationIndices[s.Start : s.Start+s.Length])
	return out
}
