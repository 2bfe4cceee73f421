// SPDX-License-Identifier: Apache-2.0

package goproto

import (
	"encoding/hex"
	"fmt"

	service "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"profrelay/layouts/content"
	"profrelay/layouts/tables"
)

func Read(data []byte) (*tables.Request, error) {
	in := &service.ExportProfilesServiceRequest{}
	if err := proto.Unmarshal(data, in); err != nil {
		return nil, err
	}
	if err := unknown(in.ProtoReflect()); err != nil {
		return nil, err
	}
	q := &tables.Request{Dictionary: dictionary(in.GetDictionary())}
	for _, from := range in.GetResourceProfiles() {
		r := tables.Resource{Schema: from.GetSchemaUrl(), Dropped: from.GetResource().GetDroppedAttributesCount(), Attrs: attrs(from.GetResource().GetAttributes())}
		for _, s := range from.GetScopeProfiles() {
			scope := tables.Scope{Name: s.GetScope().GetName(), Version: s.GetScope().GetVersion(), Schema: s.GetSchemaUrl(), Attrs: attrs(s.GetScope().GetAttributes())}
			for _, p := range s.GetProfiles() {
				scope.Profiles = append(scope.Profiles, profile(p))
			}
			r.Scopes = append(r.Scopes, scope)
		}
		q.Resources = append(q.Resources, r)
	}
	return q, nil
}

// unknown finds fields that this layout has not, or not with this wire type: the runtime itself passes over them.
func unknown(m protoreflect.Message) (err error) {
	if len(m.GetUnknown()) > 0 {
		return fmt.Errorf("unknown field in %s", m.Descriptor().FullName())
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := 0; i < v.List().Len() && err == nil; i++ {
				err = unknown(v.List().Get(i).Message())
			}
		default:
			err = unknown(v.Message())
		}
		return err == nil
	})
	return err
}

func attrs(list []*common.KeyValue) []*content.Attr {
	out := []*content.Attr{}
	for _, a := range list {
		out = append(out, &content.Attr{Key: a.GetKey(), Val: value(a.GetValue())})
	}
	return out
}

func value(from *common.AnyValue) content.Value {
	switch v := from.GetValue().(type) {
	case nil:
		return content.Value{}
	case *common.AnyValue_StringValue:
		return content.Value{Kind: "s", Text: v.StringValue}
	case *common.AnyValue_BoolValue:
		return content.Value{Kind: "b", Bool: v.BoolValue}
	case *common.AnyValue_IntValue:
		return content.Value{Kind: "i", Int: v.IntValue}
	case *common.AnyValue_DoubleValue:
		return content.Value{Kind: "d", Double: v.DoubleValue}
	case *common.AnyValue_BytesValue:
		return content.Value{Kind: "bytes", Text: hex.EncodeToString(v.BytesValue)}
	case *common.AnyValue_ArrayValue:
		out := content.Value{Kind: "a"}
		for _, e := range v.ArrayValue.GetValues() {
			out.List = append(out.List, value(e))
		}
		return out
	case *common.AnyValue_KvlistValue:
		out := content.Value{Kind: "m"}
		for _, e := range v.KvlistValue.GetValues() {
			out.Map = append(out.Map, content.Entry{Key: e.GetKey(), Val: value(e.GetValue())})
		}
		content.SortEntries(out.Map)
		return out
	}
	panic(fmt.Sprintf("value of type %T", from.GetValue()))
}

func dictionary(from *profiles.ProfilesDictionary) *tables.Dictionary {
	d := &tables.Dictionary{Strings: from.GetStringTable()}
	for _, a := range from.GetAttributeTable() {
		d.Attrs = append(d.Attrs, tables.Attr{Key: a.GetKeyStrindex(), Val: value(a.GetValue()), Unit: a.GetUnitStrindex()})
	}
	for _, m := range from.GetMappingTable() {
		d.Mappings = append(d.Mappings, tables.Mapping{Start: m.GetMemoryStart(), Limit: m.GetMemoryLimit(), Offset: m.GetFileOffset(),
			File: m.GetFilenameStrindex(), Attrs: m.GetAttributeIndices()})
	}
	for _, f := range from.GetFunctionTable() {
		d.Functions = append(d.Functions, tables.Function{Name: f.GetNameStrindex(), System: f.GetSystemNameStrindex(),
			File: f.GetFilenameStrindex(), Start: f.GetStartLine()})
	}
	for _, l := range from.GetLocationTable() {
		e := tables.Location{Mapping: orNone(l.GetMappingIndex()), Address: l.GetAddress(), Attrs: l.GetAttributeIndices()}
		for _, line := range l.GetLines() {
			e.Lines = append(e.Lines, tables.Line{Function: line.GetFunctionIndex(), Line: line.GetLine(), Col: line.GetColumn()})
		}
		d.Locations = append(d.Locations, e)
	}
	for _, l := range from.GetLinkTable() {
		d.Links = append(d.Links, content.Link{hex.EncodeToString(l.GetTraceId()), hex.EncodeToString(l.GetSpanId())})
	}
	for _, s := range from.GetStackTable() {
		d.Stacks = append(d.Stacks, s.GetLocationIndices())
	}
	return d
}

func orNone(i int32) int32 {
	if i == 0 {
		return tables.None
	}
	return i
}

func valueType(t *profiles.ValueType) tables.ValueType {
	return tables.ValueType{Type: t.GetTypeStrindex(), Unit: t.GetUnitStrindex()}
}

func profile(p *profiles.Profile) tables.Profile {
	out := tables.Profile{Types: []tables.ValueType{valueType(p.GetSampleType())}, PeriodType: valueType(p.GetPeriodType()), Period: p.GetPeriod(),
		Time: p.GetTimeUnixNano(), Duration: p.GetDurationNano(), ID: p.GetProfileId(), Dropped: p.GetDroppedAttributesCount(),
		Format: p.GetOriginalPayloadFormat(), Payload: p.GetOriginalPayload(), Attrs: p.GetAttributeIndices()}
	for _, s := range p.GetSamples() {
		out.Samples = append(out.Samples, tables.Sample{Stack: s.GetStackIndex(), Values: s.GetValues(), Times: s.GetTimestampsUnixNano(),
			Attrs: s.GetAttributeIndices(), Link: orNone(s.GetLinkIndex())})
	}
	return out
}
