// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// field is one named fact about a profile, as JSON.
type field struct{ name, value string }

// canonical is a profile with nothing in it that two equal profiles may differ in.
type canonical struct {
	header  []field
	samples []string // sorted
}

func text(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return repaired(strings.TrimRight(b.String(), "\n"))
}

// repaired makes one U+FFFD of any run of broken bytes or U+FFFD: how many replace a broken run is taste.
func repaired(s string) string {
	if !strings.Contains(s, `\ufffd`) && !strings.Contains(s, "\uFFFD\uFFFD") {
		return s
	}
	s = strings.ReplaceAll(s, `\ufffd`, "\uFFFD")
	for strings.Contains(s, "\uFFFD\uFFFD") {
		s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
	}
	return s
}

type mappingFacts struct {
	Start, Limit, Offset string
	File                 string
	Relocation           string `json:",omitempty"`
	BuildID              string
	Functions            bool
	Filenames            bool
	LineNumbers          bool
	InlineFrames         bool
}

type lineFacts struct {
	Function, System, File string
	StartLine              int64
	Line, Column           int64
}

type locationFacts struct {
	Address string
	Mapping json.RawMessage
	Lines   []lineFacts
	Folded  bool
}

type labelFacts struct {
	Key    string
	Values []string
}

type numberFacts struct {
	Key    string
	Values []int64
	Units  []string
}

func mappingText(m *profile.Mapping) string {
	if m == nil {
		return "null"
	}
	hex := func(n uint64) string { return fmt.Sprintf("%#x", n) }
	return text(mappingFacts{hex(m.Start), hex(m.Limit), hex(m.Offset), m.File, m.KernelRelocationSymbol, m.BuildID,
		m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames})
}

func locationText(l *profile.Location, mapping string) string {
	f := locationFacts{Address: fmt.Sprintf("%#x", l.Address), Mapping: json.RawMessage(mapping),
		Lines: []lineFacts{}, Folded: l.IsFolded}
	for _, line := range l.Line {
		lf := lineFacts{Line: line.Line, Column: line.Column}
		if fn := line.Function; fn != nil {
			lf.Function, lf.System, lf.File, lf.StartLine = fn.Name, fn.SystemName, fn.Filename, fn.StartLine
		}
		f.Lines = append(f.Lines, lf)
	}
	return text(f)
}

func labelsOf(s *profile.Sample) (labels []labelFacts, numbers []numberFacts) {
	labels, numbers = []labelFacts{}, []numberFacts{}
	for k, v := range s.Label {
		labels = append(labels, labelFacts{k, v})
	}
	for k, v := range s.NumLabel {
		units := s.NumUnit[k]
		if !slices.ContainsFunc(units, func(u string) bool { return u != "" }) {
			units = nil // the library says "no unit" in two ways
		}
		numbers = append(numbers, numberFacts{k, v, units})
	}
	slices.SortFunc(labels, func(a, b labelFacts) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) })
	slices.SortFunc(numbers, func(a, b numberFacts) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) })
	return labels, numbers
}

// allMappings lists the mappings, used or not, equal ones once, in the file's order: the first is the program.
func allMappings(p *profile.Profile) []json.RawMessage {
	list, seen := []json.RawMessage{}, map[string]bool{}
	for _, m := range p.Mapping {
		if t := mappingText(m); !seen[t] {
			seen[t] = true
			list = append(list, json.RawMessage(t))
		}
	}
	return list
}

func canonicalHeader(p *profile.Profile) []field {
	types := []string{}
	for _, t := range p.SampleType {
		types = append(types, t.Type+"/"+t.Unit)
	}
	period := ""
	if p.PeriodType != nil && *p.PeriodType != (profile.ValueType{}) {
		period = p.PeriodType.Type + "/" + p.PeriodType.Unit
	}
	comments := append([]string{}, p.Comments...)
	return []field{
		{"SampleTypes", text(types)}, {"DefaultSampleType", text(p.DefaultSampleType)},
		{"PeriodType", text(period)}, {"Period", text(p.Period)},
		{"TimeNanos", text(p.TimeNanos)}, {"DurationNanos", text(p.DurationNanos)},
		{"Comments", text(comments)}, {"DocURL", text(p.DocURL)},
		{"DropFrames", text(p.DropFrames)}, {"KeepFrames", text(p.KeepFrames)},
		{"Mappings", text(allMappings(p))}, {"SampleCount", text(len(p.Sample))},
	}
}

func canonicalSamples(p *profile.Profile) []string {
	mappings := map[*profile.Mapping]string{nil: "null"}
	for _, m := range p.Mapping {
		mappings[m] = mappingText(m)
	}
	locations := map[*profile.Location]string{}
	for _, l := range p.Location {
		locations[l] = locationText(l, mappings[l.Mapping])
	}
	samples := make([]string, 0, len(p.Sample))
	for _, s := range p.Sample {
		var b bytes.Buffer
		labels, numbers := labelsOf(s)
		fmt.Fprintf(&b, `{"Values":%s,"Labels":%s,"Numbers":%s,"Stack":[`, text(s.Value), text(labels), text(numbers))
		for i, l := range s.Location {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(locations[l])
		}
		b.WriteString("]}")
		samples = append(samples, b.String())
	}
	slices.Sort(samples)
	return samples
}

func readPprof(path string) (canonical, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return canonical{}, err
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return canonical{}, refusal{fmt.Errorf("%s: %w", path, err)}
	}
	return canonical{canonicalHeader(p), canonicalSamples(p)}, nil
}

func (c canonical) print() error {
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	fmt.Fprintln(w, "{")
	for _, f := range c.header {
		fmt.Fprintf(w, "%q: %s,\n", f.name, f.value)
	}
	fmt.Fprint(w, `"Samples": [`)
	for i, s := range c.samples {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		fmt.Fprintf(w, "\n%s", s)
	}
	fmt.Fprintln(w, "\n]}")
	return w.Flush()
}

func printPprof(args []string) error {
	c, err := readPprof(args[0])
	if err != nil {
		return err
	}
	return c.print()
}

func comparePprof(args []string) error { return compareFiles(args, readPprof) }
