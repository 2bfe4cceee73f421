// SPDX-License-Identifier: Apache-2.0

package new

import (
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"

	"profrelay/layouts/content"
	"profrelay/layouts/tables"
	"profrelay/layouts/values"
)

func (api API) Read(data []byte) (*tables.Request, error) {
	request := pprofileotlp.NewExportRequest()
	if err := request.UnmarshalProto(data); err != nil {
		return nil, err
	}
	all := request.Profiles()
	q := &tables.Request{Dictionary: api.dictionary(all.Dictionary())}
	for i := range all.ResourceProfiles().Len() {
		from := all.ResourceProfiles().At(i)
		r := tables.Resource{Schema: from.SchemaUrl(), Dropped: from.Resource().DroppedAttributesCount(),
			Attrs: values.GetAttrs(from.Resource().Attributes())}
		for j := range from.ScopeProfiles().Len() {
			r.Scopes = append(r.Scopes, api.scope(from.ScopeProfiles().At(j)))
		}
		q.Resources = append(q.Resources, r)
	}
	return q, nil
}

func (api API) scope(from pprofile.ScopeProfiles) tables.Scope {
	s := tables.Scope{Name: from.Scope().Name(), Version: from.Scope().Version(), Schema: from.SchemaUrl(),
		Attrs: values.GetAttrs(from.Scope().Attributes())}
	for i := range from.Profiles().Len() {
		s.Profiles = append(s.Profiles, api.profile(from.Profiles().At(i)))
	}
	return s
}

func (api API) dictionary(from pprofile.ProfilesDictionary) *tables.Dictionary {
	d := &tables.Dictionary{Strings: from.StringTable().AsRaw()}
	for i := range from.AttributeTable().Len() {
		e := from.AttributeTable().At(i)
		d.Attrs = append(d.Attrs, tables.Attr{Key: e.KeyStrindex(), Val: values.Get(e.Value()), Unit: e.UnitStrindex()})
	}
	for i := range from.MappingTable().Len() {
		e := from.MappingTable().At(i)
		d.Mappings = append(d.Mappings, tables.Mapping{Start: e.MemoryStart(), Limit: e.MemoryLimit(), Offset: e.FileOffset(),
			File: e.FilenameStrindex(), Attrs: e.AttributeIndices().AsRaw()})
	}
	for i := range from.FunctionTable().Len() {
		e := from.FunctionTable().At(i)
		d.Functions = append(d.Functions, tables.Function{Name: e.NameStrindex(), System: e.SystemNameStrindex(),
			File: e.FilenameStrindex(), Start: e.StartLine()})
	}
	for i := range from.LocationTable().Len() {
		d.Locations = append(d.Locations, api.location(from.LocationTable().At(i)))
	}
	for i := range from.LinkTable().Len() {
		e := from.LinkTable().At(i)
		d.Links = append(d.Links, content.Link{e.TraceID().String(), e.SpanID().String()})
	}
	for i := range from.StackTable().Len() {
		d.Stacks = append(d.Stacks, from.StackTable().At(i).LocationIndices().AsRaw())
	}
	return d
}

func orNone(i int32) int32 {
	if i == 0 {
		return tables.None
	}
	return i
}

func (api API) location(from pprofile.Location) tables.Location {
	l := tables.Location{Mapping: orNone(from.MappingIndex()), Address: from.Address(), Attrs: from.AttributeIndices().AsRaw()}
	for i := range api.Lines(from).Len() {
		e := api.Lines(from).At(i)
		l.Lines = append(l.Lines, tables.Line{Function: e.FunctionIndex(), Line: e.Line(), Col: e.Column()})
	}
	return l
}

func valueType(from pprofile.ValueType) tables.ValueType {
	return tables.ValueType{Type: from.TypeStrindex(), Unit: from.UnitStrindex()}
}

func (api API) profile(from pprofile.Profile) tables.Profile {
	p := tables.Profile{Types: []tables.ValueType{valueType(from.SampleType())}, PeriodType: valueType(from.PeriodType()),
		Period: from.Period(), Time: uint64(from.Time()), Duration: api.Duration(from),
		ID:      values.Raw(from.ProfileID(), from.ProfileID().IsEmpty()),
		Dropped: from.DroppedAttributesCount(), Format: from.OriginalPayloadFormat(), Payload: from.OriginalPayload().AsRaw(),
		Attrs: from.AttributeIndices().AsRaw()}
	if api.Comments != nil {
		p.Comments = api.Comments(from).AsRaw()
	}
	for i := range api.Samples(from).Len() {
		e := api.Samples(from).At(i)
		p.Samples = append(p.Samples, tables.Sample{Stack: e.StackIndex(), Values: e.Values().AsRaw(),
			Times: e.TimestampsUnixNano().AsRaw(), Attrs: e.AttributeIndices().AsRaw(), Link: orNone(e.LinkIndex())})
	}
	return p
}
