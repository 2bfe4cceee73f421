// SPDX-License-Identifier: Apache-2.0

// Package new is pdata of the layouts since 1.8: a dictionary with stacks and KeyValueAndUnit.
package new

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"

	"profrelay/layouts/command"
	"profrelay/layouts/tables"
	"profrelay/layouts/values"
)

// API is what differs between the releases.
type API struct {
	Samples     func(pprofile.Profile) pprofile.SampleSlice
	Lines       func(pprofile.Location) pprofile.LineSlice
	SetDuration func(pprofile.Profile, uint64)
	Duration    func(pprofile.Profile) uint64
	Comments    func(pprofile.Profile) pcommon.Int32Slice // nil since 1.9
}

func (api API) Build(q *tables.Request) command.Encoder {
	all := pprofile.NewProfiles()
	api.putDictionary(q.Dictionary, all.Dictionary())
	for _, r := range q.Resources {
		to := all.ResourceProfiles().AppendEmpty()
		to.SetSchemaUrl(r.Schema)
		to.Resource().SetDroppedAttributesCount(r.Dropped)
		values.PutAttrs(r.Attrs, to.Resource().Attributes())
		for i := range r.Scopes {
			api.putScope(&r.Scopes[i], to.ScopeProfiles().AppendEmpty())
		}
	}
	return pprofileotlp.NewExportRequestFromProfiles(all)
}

func (api API) putScope(s *tables.Scope, to pprofile.ScopeProfiles) {
	to.SetSchemaUrl(s.Schema)
	to.Scope().SetName(s.Name)
	to.Scope().SetVersion(s.Version)
	values.PutAttrs(s.Attrs, to.Scope().Attributes())
	for i := range s.Profiles {
		api.putProfile(&s.Profiles[i], to.Profiles().AppendEmpty())
	}
}

func (api API) putDictionary(d *tables.Dictionary, to pprofile.ProfilesDictionary) {
	to.StringTable().FromRaw(d.Strings)
	for _, a := range d.Attrs {
		e := to.AttributeTable().AppendEmpty()
		e.SetKeyStrindex(a.Key)
		e.SetUnitStrindex(a.Unit)
		values.Put(a.Val, e.Value())
	}
	for _, m := range d.Mappings {
		e := to.MappingTable().AppendEmpty()
		e.SetMemoryStart(m.Start)
		e.SetMemoryLimit(m.Limit)
		e.SetFileOffset(m.Offset)
		e.SetFilenameStrindex(m.File)
		e.AttributeIndices().FromRaw(m.Attrs)
	}
	for _, f := range d.Functions {
		e := to.FunctionTable().AppendEmpty()
		e.SetNameStrindex(f.Name)
		e.SetSystemNameStrindex(f.System)
		e.SetFilenameStrindex(f.File)
		e.SetStartLine(f.Start)
	}
	for _, l := range d.Locations {
		api.putLocation(l, to.LocationTable().AppendEmpty())
	}
	for _, l := range d.Links {
		e := to.LinkTable().AppendEmpty()
		e.SetTraceID(values.ID[[16]byte](l[0]))
		e.SetSpanID(values.ID[[8]byte](l[1]))
	}
	for _, s := range d.Stacks {
		to.StackTable().AppendEmpty().LocationIndices().FromRaw(s)
	}
}

func (api API) putLocation(l tables.Location, to pprofile.Location) {
	to.SetMappingIndex(max(l.Mapping, 0))
	to.SetAddress(l.Address)
	to.AttributeIndices().FromRaw(l.Attrs)
	for _, line := range l.Lines {
		e := api.Lines(to).AppendEmpty()
		e.SetFunctionIndex(line.Function)
		e.SetLine(line.Line)
		e.SetColumn(line.Col)
	}
}

func (api API) putProfile(p *tables.Profile, to pprofile.Profile) {
	to.SampleType().SetTypeStrindex(p.Types[0].Type)
	to.SampleType().SetUnitStrindex(p.Types[0].Unit)
	to.PeriodType().SetTypeStrindex(p.PeriodType.Type)
	to.PeriodType().SetUnitStrindex(p.PeriodType.Unit)
	to.SetPeriod(p.Period)
	to.SetTime(pcommon.Timestamp(p.Time))
	api.SetDuration(to, p.Duration)
	if len(p.ID) != 0 {
		to.SetProfileID(pprofile.ProfileID(p.ID))
	}
	to.SetDroppedAttributesCount(p.Dropped)
	to.SetOriginalPayloadFormat(p.Format)
	to.OriginalPayload().FromRaw(p.Payload)
	if api.Comments != nil {
		api.Comments(to).FromRaw(p.Comments)
	}
	to.AttributeIndices().FromRaw(p.Attrs)
	for i := range p.Samples {
		putSample(&p.Samples[i], api.Samples(to).AppendEmpty())
	}
}

func putSample(s *tables.Sample, to pprofile.Sample) {
	to.SetStackIndex(s.Stack)
	to.Values().FromRaw(s.Values)
	to.TimestampsUnixNano().FromRaw(s.Times)
	to.AttributeIndices().FromRaw(s.Attrs)
	to.SetLinkIndex(max(s.Link, 0))
}
