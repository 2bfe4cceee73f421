// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Compare says in what got differs from what was meant; nothing when it does not. old: want is of an old layout.
func Compare(want, got *Request, old bool) []string {
	want, got = Translated(want, old), Translated(got, old)
	if old {
		oldObservations(want, got)
	}
	if reflect.DeepEqual(want, got) {
		return nil
	}
	var out []string
	differences(&out, "", plain(want), plain(got))
	return out
}

func plain(q *Request) (out any) {
	text, err := json.Marshal(q)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		err = d.Decode(&out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

func differences(out *[]string, path string, a, b any) {
	if len(*out) >= 10 || reflect.DeepEqual(a, b) {
		return
	}
	switch x := a.(type) {
	case map[string]any:
		if y, is := b.(map[string]any); is {
			keys := maps.Clone(x)
			maps.Copy(keys, y)
			for _, k := range slices.Sorted(maps.Keys(keys)) {
				differences(out, path+"."+k, x[k], y[k])
			}
			return
		}
	case []any:
		if y, is := b.([]any); is && len(x) == len(y) {
			for i := range x {
				differences(out, fmt.Sprintf("%s[%d]", path, i), x[i], y[i])
			}
			return
		}
	}
	*out = append(*out, fmt.Sprintf("%s: %.200v instead of %.200v", path, b, a))
}

// oldObservations: up to 1.7 a sample has a value for each type and any number of timestamps beside it; since 1.8 they
// pair. With as many timestamps as the value says, or 1, which profilers write whatever there is, they may have become
// timestamps alone or one 1 each. Otherwise the value stands alone, or beside zeros.
func oldObservations(want, got *Request) {
	for w, g := range samplePairs(want, got) {
		if len(w.Times) == 0 || len(w.Values) != 1 {
			continue
		}
		n, v := len(w.Times), w.Values[0]
		timesKept := slices.Equal(w.Times, g.Times)
		counted := len(g.Values) == 0 || len(g.Values) == n && !slices.ContainsFunc(g.Values, func(x int64) bool { return x != 1 })
		switch {
		case timesKept && counted && (v == int64(n) || v == 1):
		case timesKept && len(g.Values) == n && sum(g.Values) == v:
		case len(g.Times) == 0 && slices.Equal(w.Values, g.Values):
		default:
			continue
		}
		w.Values, w.Times = g.Values, g.Times
	}
}

func sum(list []int64) (out int64) {
	for _, x := range list {
		out += x
	}
	return out
}

// samplePairs gives the samples of both that stand at the same place.
func samplePairs(a, b *Request) func(func(*Sample, *Sample) bool) {
	return func(yield func(*Sample, *Sample) bool) {
		for i := range min(len(a.Resources), len(b.Resources)) {
			r, s := a.Resources[i].Scopes, b.Resources[i].Scopes
			for j := range min(len(r), len(s)) {
				p, q := r[j].Profiles, s[j].Profiles
				for k := range min(len(p), len(q)) {
					x, y := p[k].Samples, q[k].Samples
					for n := range min(len(x), len(y)) {
						if !yield(&x[n], &y[n]) {
							return
						}
					}
				}
			}
		}
	}
}
