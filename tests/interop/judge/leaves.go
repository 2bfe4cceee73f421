// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// leavesOf is what a profile says in short: who burnt how much, and where that comes from.
type leavesOf struct {
	Resource map[string]any      `json:"resource"`
	Scope    map[string]any      `json:"scope"`
	Profile  map[string]string   `json:"profile"` // its attributes
	Type     string              `json:"type"`
	Period   int64               `json:"period"`
	Time     uint64              `json:"time"`
	Duration uint64              `json:"duration"`
	Samples  int                 `json:"samples"`
	Total    int64               `json:"total"`
	Leaves   map[string]int64    `json:"leaves"`
	Labels   map[string][]string `json:"labels"` // attributes of samples, each value once
	Payload  string              `json:"payload"`
}

func (r *resolver) leaf(s pprofile.Sample) string {
	stack := r.d.StackTable().At(int(s.StackIndex())).LocationIndices()
	if stack.Len() == 0 {
		return ""
	}
	lines := r.d.LocationTable().At(int(stack.At(0))).Lines()
	if lines.Len() == 0 {
		return ""
	}
	return r.str(r.d.FunctionTable().At(int(lines.At(0).FunctionIndex())).NameStrindex())
}

func (r *resolver) leaves(p pprofile.Profile) leavesOf {
	out := leavesOf{Type: r.str(p.SampleType().TypeStrindex()) + "/" + r.str(p.SampleType().UnitStrindex()), Period: p.Period(),
		Time: uint64(p.Time()), Duration: p.DurationNano(), Samples: p.Samples().Len(), Leaves: map[string]int64{},
		Profile: map[string]string{}, Labels: map[string][]string{}, Payload: p.OriginalPayloadFormat()}
	for _, i := range p.AttributeIndices().All() {
		a := r.d.AttributeTable().At(int(i))
		out.Profile[r.str(a.KeyStrindex())] = a.Value().AsString()
	}
	seen := map[string]bool{}
	for _, s := range p.Samples().All() {
		var value int64
		for _, v := range s.Values().All() {
			value += v
		}
		out.Total += value
		out.Leaves[r.leaf(s)] += value
		for _, i := range s.AttributeIndices().All() {
			a := r.d.AttributeTable().At(int(i))
			name, text := r.str(a.KeyStrindex()), a.Value().AsString()
			if !seen[name+"\x00"+text] {
				seen[name+"\x00"+text] = true
				out.Labels[name] = append(out.Labels[name], text)
			}
		}
	}
	return out
}

// printLeaves prints one line of JSON for each profile of the files.
func printLeaves(args []string) error {
	out := json.NewEncoder(os.Stdout)
	for _, path := range args {
		req, err := readRequest(path)
		if err != nil {
			return err
		}
		r := newResolver(req.Profiles().Dictionary())
		for _, rp := range req.Profiles().ResourceProfiles().All() {
			for _, sp := range rp.ScopeProfiles().All() {
				for _, p := range sp.Profiles().All() {
					l := r.leaves(p)
					l.Resource, l.Scope = rp.Resource().Attributes().AsRaw(), sp.Scope().Attributes().AsRaw()
					if err := out.Encode(l); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}
