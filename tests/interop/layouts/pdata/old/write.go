// SPDX-License-Identifier: Apache-2.0

// Package old is pdata of the layouts up to 1.7: tables that stand in each profile or in a dictionary, KeyValue attributes.
package old

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"

	"profrelay/layouts/command"
	"profrelay/layouts/tables"
	"profrelay/layouts/values"
)

// Tables is a Profile up to v0.124, a ProfilesDictionary after.
type Tables interface {
	MappingTable() pprofile.MappingSlice
	LocationTable() pprofile.LocationSlice
	FunctionTable() pprofile.FunctionSlice
	AttributeTable() pprofile.AttributeTableSlice
	AttributeUnits() pprofile.AttributeUnitSlice
	LinkTable() pprofile.LinkSlice
	StringTable() pcommon.StringSlice
}

// API is what differs between the releases.
type API struct {
	Shared     func(pprofile.Profiles) Tables // nil, or InProfile is
	InProfile  func(pprofile.Profile) Tables
	SetDefault func(pprofile.Profile, *tables.Profile)
	Default    func(pprofile.Profile, *tables.Profile) int32
}

func (api API) Build(q *tables.Request) command.Encoder {
	all := pprofile.NewProfiles()
	if q.Dictionary != nil {
		putTables(q.Dictionary, api.Shared(all))
	}
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

func putTables(d *tables.Dictionary, to Tables) {
	to.StringTable().FromRaw(d.Strings)
	for _, a := range d.Attrs {
		e := to.AttributeTable().AppendEmpty()
		e.SetKey(a.KeyText)
		values.Put(a.Val, e.Value())
	}
	for _, u := range d.Units {
		e := to.AttributeUnits().AppendEmpty()
		e.SetAttributeKeyStrindex(u.Key)
		e.SetUnitStrindex(u.Unit)
	}
	for _, m := range d.Mappings {
		putMapping(m, to.MappingTable().AppendEmpty())
	}
	for _, f := range d.Functions {
		e := to.FunctionTable().AppendEmpty()
		e.SetNameStrindex(f.Name)
		e.SetSystemNameStrindex(f.System)
		e.SetFilenameStrindex(f.File)
		e.SetStartLine(f.Start)
	}
	for _, l := range d.Locations {
		putLocation(l, to.LocationTable().AppendEmpty())
	}
	for _, l := range d.Links {
		e := to.LinkTable().AppendEmpty()
		e.SetTraceID(values.ID[[16]byte](l[0]))
		e.SetSpanID(values.ID[[8]byte](l[1]))
	}
}

func putMapping(m tables.Mapping, to pprofile.Mapping) {
	to.SetMemoryStart(m.Start)
	to.SetMemoryLimit(m.Limit)
	to.SetFileOffset(m.Offset)
	to.SetFilenameStrindex(m.File)
	to.AttributeIndices().FromRaw(m.Attrs)
	to.SetHasFunctions(m.Offset != 0) // flags of some kind
	to.SetHasFilenames(m.File != 0)
}

func putLocation(l tables.Location, to pprofile.Location) {
	if l.Mapping != tables.None {
		to.SetMappingIndex(l.Mapping)
	}
	to.SetAddress(l.Address)
	to.SetIsFolded(l.Folded)
	to.AttributeIndices().FromRaw(l.Attrs)
	for _, line := range l.Lines {
		e := to.Line().AppendEmpty()
		e.SetFunctionIndex(line.Function)
		e.SetLine(line.Line)
		e.SetColumn(line.Col)
	}
}

func (api API) putProfile(p *tables.Profile, to pprofile.Profile) {
	if p.Dictionary != nil {
		putTables(p.Dictionary, api.InProfile(to))
	}
	for _, t := range p.Types {
		e := to.SampleType().AppendEmpty()
		e.SetTypeStrindex(t.Type)
		e.SetUnitStrindex(t.Unit)
		e.SetAggregationTemporality(pprofile.AggregationTemporality(p.Dropped % 3)) // any of them
	}
	to.PeriodType().SetTypeStrindex(p.PeriodType.Type)
	to.PeriodType().SetUnitStrindex(p.PeriodType.Unit)
	to.SetPeriod(p.Period)
	to.SetTime(pcommon.Timestamp(p.Time))
	to.SetDuration(pcommon.Timestamp(p.Duration))
	if len(p.ID) != 0 {
		to.SetProfileID(pprofile.ProfileID(p.ID))
	}
	to.SetDroppedAttributesCount(p.Dropped)
	to.SetOriginalPayloadFormat(p.Format)
	to.OriginalPayload().FromRaw(p.Payload)
	api.SetDefault(to, p)
	to.CommentStrindices().FromRaw(p.Comments)
	to.AttributeIndices().FromRaw(p.Attrs)
	to.LocationIndices().FromRaw(p.LocationIndices)
	for i := range p.Samples {
		putSample(&p.Samples[i], to.Sample().AppendEmpty())
	}
}

func putSample(s *tables.Sample, to pprofile.Sample) {
	to.SetLocationsStartIndex(s.Start)
	to.SetLocationsLength(s.Length)
	to.Value().FromRaw(s.Values)
	to.TimestampsUnixNano().FromRaw(s.Times)
	to.AttributeIndices().FromRaw(s.Attrs)
	if s.Link != tables.None {
		to.SetLinkIndex(s.Link)
	}
}
