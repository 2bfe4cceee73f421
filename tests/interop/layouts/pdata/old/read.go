// SPDX-License-Identifier: Apache-2.0

package old

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
	q := &tables.Request{}
	if api.Shared != nil {
		q.Dictionary = getTables(api.Shared(all))
	}
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

func getTables(from Tables) *tables.Dictionary {
	d := &tables.Dictionary{Strings: from.StringTable().AsRaw()}
	for i := range from.AttributeTable().Len() {
		e := from.AttributeTable().At(i)
		d.Attrs = append(d.Attrs, tables.Attr{KeyText: e.Key(), Val: values.Get(e.Value())})
	}
	for i := range from.AttributeUnits().Len() {
		e := from.AttributeUnits().At(i)
		d.Units = append(d.Units, tables.Unit{Key: e.AttributeKeyStrindex(), Unit: e.UnitStrindex()})
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
		d.Locations = append(d.Locations, location(from.LocationTable().At(i)))
	}
	for i := range from.LinkTable().Len() {
		e := from.LinkTable().At(i)
		d.Links = append(d.Links, content.Link{e.TraceID().String(), e.SpanID().String()})
	}
	return d
}

func location(from pprofile.Location) tables.Location {
	l := tables.Location{Mapping: tables.None, Address: from.Address(), Attrs: from.AttributeIndices().AsRaw(), Folded: from.IsFolded()}
	if from.HasMappingIndex() {
		l.Mapping = from.MappingIndex()
	}
	for i := range from.Line().Len() {
		e := from.Line().At(i)
		l.Lines = append(l.Lines, tables.Line{Function: e.FunctionIndex(), Line: e.Line(), Col: e.Column()})
	}
	return l
}

func valueType(from pprofile.ValueType) tables.ValueType {
	return tables.ValueType{Type: from.TypeStrindex(), Unit: from.UnitStrindex()}
}

func (api API) profile(from pprofile.Profile) tables.Profile {
	p := tables.Profile{PeriodType: valueType(from.PeriodType()), Period: from.Period(), Time: uint64(from.Time()),
		Duration: uint64(from.Duration()), ID: values.Raw(from.ProfileID(), from.ProfileID().IsEmpty()),
		Dropped: from.DroppedAttributesCount(), Format: from.OriginalPayloadFormat(), Payload: from.OriginalPayload().AsRaw(),
		Comments: from.CommentStrindices().AsRaw(), Attrs: from.AttributeIndices().AsRaw(), LocationIndices: from.LocationIndices().AsRaw()}
	if api.InProfile != nil {
		p.Dictionary = getTables(api.InProfile(from))
	}
	for i := range from.SampleType().Len() {
		p.Types = append(p.Types, valueType(from.SampleType().At(i)))
	}
	p.Default = api.Default(from, &p)
	for i := range from.Sample().Len() {
		p.Samples = append(p.Samples, sample(from.Sample().At(i)))
	}
	return p
}

func sample(from pprofile.Sample) tables.Sample {
	s := tables.Sample{Start: from.LocationsStartIndex(), Length: from.LocationsLength(), Values: from.Value().AsRaw(),
		Times: from.TimestampsUnixNano().AsRaw(), Attrs: from.AttributeIndices().AsRaw(), Link: tables.None}
	if from.HasLinkIndex() {
		s.Link = from.LinkIndex()
	}
	return s
}
