// SPDX-License-Identifier: Apache-2.0

// Package goproto is Google's runtime with the published generated code: fields in ascending order, the dictionary last,
// nothing written for what is empty. Layouts 1.9 and 1.10, whose names in Go are the same.
package goproto

import (
	"encoding/hex"

	service "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"profrelay/layouts/command"
	"profrelay/layouts/content"
	"profrelay/layouts/tables"
)

type request struct {
	*service.ExportProfilesServiceRequest
}

func (r request) MarshalProto() ([]byte, error) { return proto.Marshal(r.ExportProfilesServiceRequest) }

func (r request) MarshalJSON() ([]byte, error) {
	return protojson.Marshal(r.ExportProfilesServiceRequest)
}

func Build(q *tables.Request) command.Encoder {
	out := &service.ExportProfilesServiceRequest{Dictionary: putDictionary(q.Dictionary)}
	for _, r := range q.Resources {
		to := &profiles.ResourceProfiles{SchemaUrl: r.Schema}
		if r.Dropped != 0 || len(r.Attrs) > 0 {
			to.Resource = &resource.Resource{DroppedAttributesCount: r.Dropped, Attributes: putAttrs(r.Attrs)}
		}
		for i := range r.Scopes {
			to.ScopeProfiles = append(to.ScopeProfiles, putScope(&r.Scopes[i]))
		}
		out.ResourceProfiles = append(out.ResourceProfiles, to)
	}
	return request{out}
}

func putScope(s *tables.Scope) *profiles.ScopeProfiles {
	to := &profiles.ScopeProfiles{SchemaUrl: s.Schema}
	if s.Name != "" || s.Version != "" || len(s.Attrs) > 0 {
		to.Scope = &common.InstrumentationScope{Name: s.Name, Version: s.Version, Attributes: putAttrs(s.Attrs)}
	}
	for i := range s.Profiles {
		to.Profiles = append(to.Profiles, putProfile(&s.Profiles[i]))
	}
	return to
}

func putAttrs(list []*content.Attr) (out []*common.KeyValue) {
	for _, a := range list {
		out = append(out, &common.KeyValue{Key: a.Key, Value: putValue(a.Val)})
	}
	return out
}

func putValue(v content.Value) *common.AnyValue {
	switch v.Kind {
	case "s":
		return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v.Text}}
	case "b":
		return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: v.Bool}}
	case "i":
		return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: v.Int}}
	case "d":
		return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v.Double}}
	case "bytes":
		raw, _ := hex.DecodeString(v.Text)
		return &common.AnyValue{Value: &common.AnyValue_BytesValue{BytesValue: raw}}
	case "a":
		list := &common.ArrayValue{}
		for _, e := range v.List {
			list.Values = append(list.Values, putValue(e))
		}
		return &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: list}}
	case "m":
		list := &common.KeyValueList{}
		for _, e := range v.Map {
			list.Values = append(list.Values, &common.KeyValue{Key: e.Key, Value: putValue(e.Val)})
		}
		return &common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: list}}
	}
	return &common.AnyValue{}
}

func putDictionary(d *tables.Dictionary) *profiles.ProfilesDictionary {
	to := &profiles.ProfilesDictionary{StringTable: d.Strings}
	for _, a := range d.Attrs {
		to.AttributeTable = append(to.AttributeTable, &profiles.KeyValueAndUnit{KeyStrindex: a.Key, Value: putValue(a.Val), UnitStrindex: a.Unit})
	}
	for _, m := range d.Mappings {
		to.MappingTable = append(to.MappingTable, &profiles.Mapping{MemoryStart: m.Start, MemoryLimit: m.Limit, FileOffset: m.Offset,
			FilenameStrindex: m.File, AttributeIndices: m.Attrs})
	}
	for _, f := range d.Functions {
		to.FunctionTable = append(to.FunctionTable, &profiles.Function{NameStrindex: f.Name, SystemNameStrindex: f.System,
			FilenameStrindex: f.File, StartLine: f.Start})
	}
	for _, l := range d.Locations {
		e := &profiles.Location{MappingIndex: max(l.Mapping, 0), Address: l.Address, AttributeIndices: l.Attrs}
		for _, line := range l.Lines {
			e.Lines = append(e.Lines, &profiles.Line{FunctionIndex: line.Function, Line: line.Line, Column: line.Col})
		}
		to.LocationTable = append(to.LocationTable, e)
	}
	for _, l := range d.Links {
		trace, _ := hex.DecodeString(l[0])
		span, _ := hex.DecodeString(l[1])
		to.LinkTable = append(to.LinkTable, &profiles.Link{TraceId: trace, SpanId: span})
	}
	for _, s := range d.Stacks {
		to.StackTable = append(to.StackTable, &profiles.Stack{LocationIndices: s})
	}
	return to
}

func putType(t tables.ValueType) *profiles.ValueType {
	if t.Type == 0 && t.Unit == 0 {
		return nil
	}
	return &profiles.ValueType{TypeStrindex: t.Type, UnitStrindex: t.Unit}
}

func putProfile(p *tables.Profile) *profiles.Profile {
	to := &profiles.Profile{SampleType: putType(p.Types[0]), PeriodType: putType(p.PeriodType), Period: p.Period, TimeUnixNano: p.Time,
		DurationNano: p.Duration, ProfileId: p.ID, DroppedAttributesCount: p.Dropped, OriginalPayloadFormat: p.Format,
		OriginalPayload: p.Payload, AttributeIndices: p.Attrs}
	for i := range p.Samples {
		s := &p.Samples[i]
		to.Samples = append(to.Samples, &profiles.Sample{StackIndex: s.Stack, Values: s.Values, TimestampsUnixNano: s.Times,
			AttributeIndices: s.Attrs, LinkIndex: max(s.Link, 0)})
	}
	return to
}
