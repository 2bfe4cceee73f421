// SPDX-License-Identifier: Apache-2.0

package content

import "fmt"

func (r *random) request() *Request {
	q := &Request{}
	for range 1 + r.most(2) {
		q.Resources = append(q.Resources, r.resource())
	}
	return q
}

func (r *random) resource() Resource {
	s := Resource{Attrs: r.plainAttrs("service.name")}
	if r.chance(20) {
		s.Schema, s.Dropped = "https://example.org/"+r.text(), uint32(r.IntN(5))
	}
	for range 1 + r.most(1) {
		s.Scopes = append(s.Scopes, r.scope())
	}
	return s
}

func (r *random) scope() Scope {
	s := Scope{Attrs: r.plainAttrs("")}
	if r.chance(70) {
		s.Name, s.Version = r.text(), r.text()
	}
	if r.chance(20) {
		s.Schema = "https://example.org/" + r.text()
	}
	for range 1 + r.most(2) {
		s.Profiles = append(s.Profiles, r.profile())
	}
	return s
}

const someTime = 1_790_000_000_000_000_000

func (r *random) profile() Profile {
	p := Profile{Types: r.types(), Comments: []string{}, Attrs: r.attrSet(r.most(3)), Samples: []Sample{},
		Time: someTime + r.Uint64N(1e15), Duration: uint64(1+r.IntN(60)) * 1e9}
	if r.chance(70) {
		p.PeriodType, p.Period = [2]string{pick(r, []string{"cpu", "space"}), "nanoseconds"}, int64(1+r.IntN(1e7))
	}
	if r.chance(60) {
		p.ID = r.hex(16)
	}
	if r.chance(15) {
		p.Dropped = uint32(1 + r.IntN(1000))
	}
	if r.chance(10) {
		p.Format, p.Payload = "pprof", "\u001f\u008b\u0000\u00ff"+fmt.Sprint(r.IntN(1000))
	}
	r.oldParts(&p)
	if r.class != "no_samples" {
		for range 1 + r.most(6) {
			p.Samples = append(p.Samples, r.sample(&p))
		}
	}
	return p
}

func (r *random) types() [][2]string {
	all := [][2]string{{"cpu", "nanoseconds"}, {"samples", "count"}, {"alloc_space", "bytes"}, {"größe", "By"}}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if r.class == "several_types" {
		return all[:2+r.IntN(3)]
	}
	return all[:1]
}

func (r *random) oldParts(p *Profile) {
	if r.o.Layout.Old && len(p.Types) > 1 && r.chance(50) {
		p.Default = int32(r.IntN(len(p.Types)))
	}
	if r.o.Layout.Comments && !r.o.Fits && r.chance(20) {
		for range 1 + r.IntN(2) {
			p.Comments = append(p.Comments, r.text())
		}
	}
}
