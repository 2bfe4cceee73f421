// SPDX-License-Identifier: Apache-2.0

package content

// Classes are the ways in which samples are alike within a request. Those after the first are where one layout's bytes
// may pass for another's.
var classes = []struct {
	name    string
	percent int
	old     bool // of old layouts; false: of those since 1.8
}{
	{"mixed", 30, false},
	{"profiler", 10, false},   // as the eBPF profiler's: three attributes and the times
	{"only_1_2_5", 20, false}, // the stack, what stands in field 2, and timestamps
	{"value_only", 12, false},
	{"times_only", 8, false},
	{"single", 10, false}, // every list has one element
	{"links", 7, false},
	{"no_samples", 3, false},
	{"mixed", 40, true},
	{"several_types", 25, true},
	{"single", 20, true},
	{"times", 12, true},
	{"no_samples", 3, true},
}

func (r *random) pickClass() string {
	if r.o.Fits {
		return "fits"
	}
	n := r.IntN(100)
	for _, c := range classes {
		if c.old == r.o.Layout.Old {
			if n -= c.percent; n < 0 {
				return c.name
			}
		}
	}
	return "mixed"
}

func (r *random) sample(p *Profile) Sample {
	s := Sample{Stack: pick(r, r.stacks), Values: []int64{}, Times: []uint64{}, Attrs: []*Attr{}}
	switch {
	case r.class == "fits":
		r.values(&s, 1)
		r.references(&s, 3, 30)
	case r.o.Layout.Old:
		r.oldSample(&s, p)
	default:
		r.newSample(&s, p)
	}
	return s
}

func (r *random) oldSample(s *Sample, p *Profile) {
	r.values(s, len(p.Types))
	switch r.class {
	case "single":
		r.references(s, 1, 50)
	case "times":
		r.times(s, p, pick(r, []int{1, 1, 2, 3}))
		if r.chance(30) {
			s.Values[0] = int64(len(s.Times))
		}
		r.references(s, 3, 30)
	default:
		r.references(s, 3, 30)
	}
}

func (r *random) newSample(s *Sample, p *Profile) {
	switch r.class {
	case "only_1_2_5":
		r.only125(s, p)
	case "profiler":
		s.Attrs = r.attrSet(3)
		r.times(s, p, 1+r.most(3))
	case "value_only":
		r.values(s, 1)
	case "times_only":
		r.times(s, p, 1+r.most(3))
	case "single":
		r.shape(s, p, 1)
		r.references(s, 1, 40)
	case "links":
		r.shape(s, p, 1)
		r.references(s, r.IntN(2), 90)
	default:
		r.shape(s, p, 4)
		r.references(s, 3, 30)
	}
}

// only125 fills field 2 and the timestamps, as many of one as of the other where the layout leaves a choice.
func (r *random) only125(s *Sample, p *Profile) {
	n := 1 + r.most(2)
	if r.o.Layout.ValuesInField2 {
		r.values(s, n)
		r.times(s, p, n)
		return
	}
	s.Attrs = r.attrSet(n)
	if r.chance(80) {
		n = len(s.Attrs)
	}
	r.times(s, p, n)
}

// shape gives values and timestamps in one of the three legal ways, n at most of each.
func (r *random) shape(s *Sample, p *Profile, n int) {
	n = 1 + r.most(n-1)
	switch r.IntN(3) {
	case 0:
		r.values(s, 1)
	case 1:
		r.times(s, p, n)
	case 2:
		r.values(s, n)
		r.times(s, p, n)
	}
}

func (r *random) values(s *Sample, n int) {
	for range n {
		if r.small {
			s.Values = append(s.Values, int64(1+r.IntN(3)))
		} else {
			s.Values = append(s.Values, r.int64())
		}
	}
}

func (r *random) times(s *Sample, p *Profile, n int) {
	for range n {
		s.Times = append(s.Times, p.Time+r.Uint64N(p.Duration))
	}
	if n > 1 && r.chance(20) {
		s.Times[1] = s.Times[0]
	}
}

func (r *random) references(s *Sample, attrs, linkPercent int) {
	s.Attrs = r.attrSet(r.most(attrs))
	if r.chance(linkPercent) {
		s.Link = pick(r, r.links)
	}
}
