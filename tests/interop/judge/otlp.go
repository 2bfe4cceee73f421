// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
)

func decodeOtlp(data []byte) (pprofileotlp.ExportRequest, error) {
	r := pprofileotlp.NewExportRequest()
	if err := r.UnmarshalProto(data); err != nil {
		return r, refusal{err}
	}
	return r, nil
}

func readRequest(path string) (pprofileotlp.ExportRequest, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return pprofileotlp.NewExportRequest(), err
	}
	r, err := decodeOtlp(data)
	if err != nil {
		return r, refusal{fmt.Errorf("%s: %w", path, err)}
	}
	return r, nil
}

func reencodeOtlp(args []string) error {
	r, err := readRequest(args[0])
	if err != nil {
		return err
	}
	data, err := r.MarshalProto()
	if err != nil {
		return refusal{err}
	}
	return os.WriteFile(args[1], data, 0o644)
}

// resolver replaces every index by what it points at; a bad one panics, which main turns into a refusal.
type resolver struct {
	d          pprofile.ProfilesDictionary
	attributes []json.RawMessage
	locations  []string
	stacks     []string
}

func (r *resolver) str(i int32) string { return r.d.StringTable().At(int(i)) }

func valueText(v pcommon.Value) json.RawMessage {
	switch v.Type() {
	case pcommon.ValueTypeEmpty:
		return json.RawMessage("null")
	case pcommon.ValueTypeStr:
		return json.RawMessage(text(v.Str()))
	case pcommon.ValueTypeSlice:
		list := []json.RawMessage{}
		for i := range v.Slice().Len() {
			list = append(list, valueText(v.Slice().At(i)))
		}
		return json.RawMessage(text(map[string]any{"array": list}))
	case pcommon.ValueTypeMap:
		return json.RawMessage(text(map[string]any{"map": mapText(v.Map())}))
	}
	return json.RawMessage(text(map[string]any{v.Type().String(): v.AsString()}))
}

func mapText(m pcommon.Map) []json.RawMessage {
	list := []json.RawMessage{}
	for k, v := range m.All() {
		list = append(list, json.RawMessage(text([]any{k, valueText(v)})))
	}
	sortTexts(list)
	return list
}

func sortTexts(list []json.RawMessage) {
	slices.SortFunc(list, func(a, b json.RawMessage) int { return slices.Compare(a, b) })
}

func (r *resolver) set(indices pcommon.Int32Slice) []json.RawMessage {
	list := []json.RawMessage{}
	for i := range indices.Len() {
		list = append(list, r.attributes[indices.At(i)])
	}
	sortTexts(list)
	return list
}

func newResolver(d pprofile.ProfilesDictionary) *resolver {
	r := &resolver{d: d}
	for i := range d.AttributeTable().Len() {
		a := d.AttributeTable().At(i)
		r.attributes = append(r.attributes,
			json.RawMessage(text([]any{r.str(a.KeyStrindex()), valueText(a.Value()), r.str(a.UnitStrindex())})))
	}
	for i := range d.LocationTable().Len() {
		r.locations = append(r.locations, r.location(d.LocationTable().At(i)))
	}
	for i := range d.StackTable().Len() {
		list := []json.RawMessage{}
		stack := d.StackTable().At(i).LocationIndices()
		for j := range stack.Len() {
			list = append(list, json.RawMessage(r.locations[stack.At(j)]))
		}
		r.stacks = append(r.stacks, text(list))
	}
	return r
}

func (r *resolver) location(l pprofile.Location) string {
	var mapping any
	if i := l.MappingIndex(); i != 0 {
		m := r.d.MappingTable().At(int(i))
		mapping = []any{fmt.Sprintf("%#x", m.MemoryStart()), fmt.Sprintf("%#x", m.MemoryLimit()),
			fmt.Sprintf("%#x", m.FileOffset()), r.str(m.FilenameStrindex()), r.set(m.AttributeIndices())}
	}
	lines := []any{}
	for i := range l.Lines().Len() {
		line := l.Lines().At(i)
		f := r.d.FunctionTable().At(int(line.FunctionIndex()))
		lines = append(lines, lineFacts{r.str(f.NameStrindex()), r.str(f.SystemNameStrindex()), r.str(f.FilenameStrindex()),
			f.StartLine(), line.Line(), line.Column()})
	}
	return text(map[string]any{"Address": fmt.Sprintf("%#x", l.Address()), "Mapping": mapping, "Lines": lines,
		"Attributes": r.set(l.AttributeIndices())})
}

func (r *resolver) link(i int32) any {
	if i == 0 {
		return nil
	}
	l := r.d.LinkTable().At(int(i))
	return []string{l.TraceID().String(), l.SpanID().String()}
}

func (r *resolver) valueType(v pprofile.ValueType) string {
	return r.str(v.TypeStrindex()) + "/" + r.str(v.UnitStrindex())
}

func (r *resolver) sample(s pprofile.Sample) string {
	stack := "[]"
	if i := s.StackIndex(); i != 0 {
		stack = r.stacks[i]
	}
	return fmt.Sprintf(`{"Values":%s,"Timestamps":%s,"Attributes":%s,"Link":%s,"Stack":%s}`, text(s.Values().AsRaw()),
		text(s.TimestampsUnixNano().AsRaw()), text(r.set(s.AttributeIndices())), text(r.link(s.LinkIndex())), stack)
}

func (r *resolver) profile(p pprofile.Profile) string {
	return text(map[string]any{"SampleType": r.valueType(p.SampleType()), "PeriodType": r.valueType(p.PeriodType()),
		"Period": p.Period(), "Time": uint64(p.Time()), "Duration": p.DurationNano(), "ID": p.ProfileID().String(),
		"Dropped": p.DroppedAttributesCount(), "Format": p.OriginalPayloadFormat(), "Payload": p.OriginalPayload().AsRaw(),
		"Attributes": r.set(p.AttributeIndices()), "Samples": p.Samples().Len()})
}

// resolve keeps the order of resources, scopes and profiles and sorts the samples of each profile.
func resolve(p pprofile.Profiles) canonical {
	c := canonical{}
	r := newResolver(p.Dictionary())
	add := func(format string, args ...any) func(string) {
		return func(v string) { c.header = append(c.header, field{fmt.Sprintf(format, args...), v}) }
	}
	for i := range p.ResourceProfiles().Len() {
		rp := p.ResourceProfiles().At(i)
		add("Resource[%d]", i)(text([]any{mapText(rp.Resource().Attributes()), rp.Resource().DroppedAttributesCount(), rp.SchemaUrl()}))
		for j := range rp.ScopeProfiles().Len() {
			sp := rp.ScopeProfiles().At(j)
			add("Scope[%d][%d]", i, j)(text([]any{sp.Scope().Name(), sp.Scope().Version(), mapText(sp.Scope().Attributes()),
				sp.Scope().DroppedAttributesCount(), sp.SchemaUrl()}))
			for k := range sp.Profiles().Len() {
				prof := sp.Profiles().At(k)
				add("Profile[%d][%d][%d]", i, j, k)(r.profile(prof))
				for n := range prof.Samples().Len() {
					c.samples = append(c.samples, fmt.Sprintf(`{"Profile":[%d,%d,%d],%s`, i, j, k, r.sample(prof.Samples().At(n))[1:]))
				}
			}
		}
	}
	slices.Sort(c.samples)
	return c
}

func readOtlp(path string) (canonical, error) {
	r, err := readRequest(path)
	if err != nil {
		return canonical{}, err
	}
	return resolve(r.Profiles()), nil
}

func printOtlp(args []string) error {
	c, err := readOtlp(args[0])
	if err != nil {
		return err
	}
	return c.print()
}

func compareOtlp(args []string) error { return compareFiles(args, readOtlp) }
