// SPDX-License-Identifier: Apache-2.0

package content

import (
	"slices"
	"strings"
)

// Translation between layouts leaves choices; Translated brings a request, as it was meant and as it came out, to one
// form in which the two must be equal:
//   - several sample types are as many profiles, side by side in any order; what a profile says once (id, original
//     payload) may stand at one of them or at all;
//   - comments, folded locations and flags of mappings are the attributes that semantic conventions name for them;
//     flags of mappings and hints about sample types are not compared;
//   - timestamps of an old layout that do not pair with values: see oldObservations.
func Translated(q *Request, old bool) *Request {
	t := translation{old: old, locations: map[*Location]*Location{}, mappings: map[*Mapping]*Mapping{}}
	out := &Request{}
	for _, r := range q.Resources {
		resource := Resource{Schema: r.Schema, Dropped: r.Dropped, Attrs: t.attrs(r.Attrs), Scopes: []Scope{}}
		for _, s := range r.Scopes {
			resource.Scopes = append(resource.Scopes, t.scope(&s))
		}
		out.Resources = append(out.Resources, resource)
	}
	return out
}

type translation struct {
	old       bool
	locations map[*Location]*Location
	mappings  map[*Mapping]*Mapping
}

func hint(key string) bool {
	return strings.HasPrefix(key, "pprof.scope.") || strings.HasPrefix(key, "pprof.mapping.has_") || key == "profile.aggregation_temporality"
}

// attrs sorts and leaves out hints.
func (t *translation) attrs(list []*Attr) []*Attr {
	out := []*Attr{}
	for _, a := range list {
		if !hint(a.Key) {
			out = append(out, a)
		}
	}
	SortAttrs(out)
	return out
}

// without takes the attribute of that key off the list.
func without(list []*Attr, key string) ([]*Attr, *Attr) {
	i := slices.IndexFunc(list, func(a *Attr) bool { return a.Key == key })
	if i < 0 {
		return list, nil
	}
	a := list[i]
	return append(list[:i:i], list[i+1:]...), a
}

func (t *translation) scope(s *Scope) Scope {
	out := Scope{Name: s.Name, Version: s.Version, Schema: s.Schema, Attrs: t.attrs(s.Attrs), Profiles: []Profile{}}
	for i := range s.Profiles {
		p := t.profile(&s.Profiles[i])
		for k := range p.Types {
			out.Profiles = append(out.Profiles, p.one(k))
		}
	}
	if t.old {
		joinSplit(out.Profiles)
	}
	return out
}

func (t *translation) profile(p *Profile) Profile {
	out := *p
	out.Default = 0
	attrs, comment := without(t.attrs(p.Attrs), "pprof.profile.comment")
	out.Attrs = attrs
	if comment != nil {
		out.Comments = slices.Clone(p.Comments)
		for _, v := range comment.Val.List {
			out.Comments = append(out.Comments, v.Text)
		}
	}
	out.Samples = []Sample{}
	for i := range p.Samples {
		out.Samples = append(out.Samples, t.sample(&p.Samples[i]))
	}
	return out
}

// one is the profile of the k-th sample type alone.
func (p *Profile) one(k int) Profile {
	out := *p
	out.Types = p.Types[k : k+1]
	if len(p.Types) == 1 {
		return out
	}
	out.Samples = slices.Clone(p.Samples)
	for i := range out.Samples {
		out.Samples[i].Values = p.Samples[i].Values[k : k+1]
	}
	return out
}

// joinSplit orders the profiles that came of one, neighbours of the same time, by sample type, and gives all of them
// what one of them says.
func joinSplit(list []Profile) {
	for start := 0; start < len(list); {
		end := start + 1
		for end < len(list) && list[end].Time == list[start].Time {
			end++
		}
		group := list[start:end]
		slices.SortFunc(group, func(a, b Profile) int { return strings.Compare(a.Types[0][0], b.Types[0][0]) })
		for i := range group[1:] {
			share(&group[0], &group[1+i])
		}
		for i := range group[1:] {
			share(&group[0], &group[1+i])
		}
		start = end
	}
}

func share(a, b *Profile) {
	a.ID, b.ID = max(a.ID, b.ID), max(a.ID, b.ID)
	a.Format, b.Format = max(a.Format, b.Format), max(a.Format, b.Format)
	a.Payload, b.Payload = max(a.Payload, b.Payload), max(a.Payload, b.Payload)
}

func (t *translation) sample(s *Sample) Sample {
	out := Sample{Stack: []*Location{}, Values: s.Values, Times: s.Times, Attrs: t.attrs(s.Attrs), Link: s.Link}
	for _, l := range s.Stack {
		out.Stack = append(out.Stack, t.location(l))
	}
	return out
}

func (t *translation) location(l *Location) *Location {
	if out := t.locations[l]; out != nil {
		return out
	}
	out := &Location{Mapping: t.mapping(l.Mapping), Address: l.Address, Lines: l.Lines, Folded: l.Folded}
	attrs, folded := without(t.attrs(l.Attrs), "pprof.location.is_folded")
	out.Attrs = attrs
	out.Folded = out.Folded || folded != nil && folded.Val.Bool
	t.locations[l] = out
	return out
}

func (t *translation) mapping(m *Mapping) *Mapping {
	if m == nil {
		return nil
	}
	out := t.mappings[m]
	if out == nil {
		out = &Mapping{m.Start, m.Limit, m.Offset, m.File, t.attrs(m.Attrs)}
		t.mappings[m] = out
	}
	return out
}
