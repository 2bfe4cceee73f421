// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// checker applies the integrity rules of the profiles signal: those of the published checker and the ones
// it leaves out (uniqueness of keys, function names, payload pairing, UTF-8).
type checker struct {
	d                 pprofile.ProfilesDictionary
	problems          []string
	problemCount      int
	flags             map[string]int
	profiles, samples int
	observations      int
	used              [7][]bool
}

const (
	tableMapping = iota
	tableLocation
	tableFunction
	tableLink
	tableString
	tableAttribute
	tableStack
)

var tableNames = [7]string{"mapping_table", "location_table", "function_table", "link_table", "string_table",
	"attribute_table", "stack_table"}

func (c *checker) problem(format string, args ...any) {
	if c.problemCount++; c.problemCount <= maxDifferences {
		c.problems = append(c.problems, fmt.Sprintf(format, args...))
	}
}

func (c *checker) sizes() [7]int {
	return [7]int{c.d.MappingTable().Len(), c.d.LocationTable().Len(), c.d.FunctionTable().Len(), c.d.LinkTable().Len(),
		c.d.StringTable().Len(), c.d.AttributeTable().Len(), c.d.StackTable().Len()}
}

// index says whether i may be used in that table.
func (c *checker) index(table int, i int32, where string) bool {
	if i < 0 || int(i) >= len(c.used[table]) {
		c.problem("%s: index %d is not in %s (%d elements)", where, i, tableNames[table], len(c.used[table]))
		return false
	}
	c.used[table][i] = true
	return true
}

func (c *checker) str(i int32, where string) string {
	if !c.index(tableString, i, where) {
		return ""
	}
	return c.d.StringTable().At(int(i))
}

func (c *checker) zeroElements() {
	for i, n := range c.sizes() {
		c.used[i] = make([]bool, n)
		if n == 0 {
			c.problem("%s is empty", tableNames[i])
			return
		}
		c.used[i][0] = true
	}
	m, l, f := c.d.MappingTable().At(0), c.d.LocationTable().At(0), c.d.FunctionTable().At(0)
	link, a := c.d.LinkTable().At(0), c.d.AttributeTable().At(0)
	zero := [7]bool{
		m.MemoryStart()|m.MemoryLimit()|m.FileOffset() == 0 && m.FilenameStrindex() == 0 && m.AttributeIndices().Len() == 0,
		l.MappingIndex() == 0 && l.Address() == 0 && l.Lines().Len() == 0 && l.AttributeIndices().Len() == 0,
		f.NameStrindex() == 0 && f.SystemNameStrindex() == 0 && f.FilenameStrindex() == 0 && f.StartLine() == 0,
		link.TraceID().IsEmpty() && link.SpanID().IsEmpty(),
		c.d.StringTable().At(0) == "",
		a.KeyStrindex() == 0 && a.UnitStrindex() == 0 && a.Value().Type() == pcommon.ValueTypeEmpty,
		c.d.StackTable().At(0).LocationIndices().Len() == 0,
	}
	for i, ok := range zero {
		if !ok {
			c.problem("%s[0] is not the zero value", tableNames[i])
		}
	}
}

func (c *checker) attributeList(list pcommon.Int32Slice, where string) {
	keys := map[string]bool{}
	for i := range list.Len() {
		if !c.index(tableAttribute, list.At(i), where+".attribute_indices") {
			continue
		}
		key := c.str(c.d.AttributeTable().At(int(list.At(i))).KeyStrindex(), where+": attribute key")
		if key == "" {
			c.problem("%s: attribute %d has no key", where, list.At(i))
		}
		if keys[key] {
			c.problem("%s: attribute key %q occurs twice", where, key)
		}
		keys[key] = true
	}
}

func (c *checker) plainAttributes(m pcommon.Map, where string) {
	keys := map[string]bool{}
	for k, v := range m.All() {
		if k == "" {
			c.problem("%s: empty attribute key", where)
		}
		if keys[k] {
			c.problem("%s: attribute key %q occurs twice", where, k)
		}
		if !utf8.ValidString(k) || v.Type() == pcommon.ValueTypeStr && !utf8.ValidString(v.Str()) {
			c.problem("%s: attribute %q is not UTF-8", where, k)
		}
		keys[k] = true
	}
}

func (c *checker) duplicates(table int, item func(i int) string) {
	seen := map[string]bool{}
	for i := range c.sizes()[table] {
		t := item(i)
		if seen[t] {
			c.flags["duplicates in "+tableNames[table]]++
		}
		seen[t] = true
	}
}

func (c *checker) stringsAndAttributes() {
	for i := range c.d.StringTable().Len() {
		if !utf8.ValidString(c.d.StringTable().At(i)) {
			c.problem("string_table[%d] is not UTF-8", i)
		}
	}
	for i := range c.d.AttributeTable().Len() {
		where, a := fmt.Sprintf("attribute_table[%d]", i), c.d.AttributeTable().At(i)
		key := c.str(a.KeyStrindex(), where+".key_strindex")
		c.str(a.UnitStrindex(), where+".unit_strindex")
		if i > 0 && key == "" {
			c.problem("%s: no key", where)
		}
		if i > 0 && a.Value().Type() == pcommon.ValueTypeEmpty {
			c.flags["attributes without a value"]++
		}
	}
	c.duplicates(tableString, c.d.StringTable().At)
	c.duplicates(tableAttribute, func(i int) string {
		a := c.d.AttributeTable().At(i)
		return fmt.Sprint(a.KeyStrindex(), a.UnitStrindex(), string(valueText(a.Value())))
	})
}

func (c *checker) hasBuildID(m pprofile.Mapping) bool {
	for i := range m.AttributeIndices().Len() {
		at := m.AttributeIndices().At(i)
		if at < 0 || int(at) >= c.d.AttributeTable().Len() {
			continue
		}
		key := c.d.AttributeTable().At(int(at)).KeyStrindex()
		if key > 0 && int(key) < c.d.StringTable().Len() &&
			strings.HasPrefix(c.d.StringTable().At(int(key)), "process.executable.build_id.") {
			return true
		}
	}
	return false
}

func (c *checker) mappings() {
	for i := range c.d.MappingTable().Len() {
		where, m := fmt.Sprintf("mapping_table[%d]", i), c.d.MappingTable().At(i)
		c.str(m.FilenameStrindex(), where+".filename_strindex")
		c.attributeList(m.AttributeIndices(), where)
		if (m.MemoryStart() != 0 || m.MemoryLimit() != 0) && m.MemoryStart() >= m.MemoryLimit() {
			// A pprof file may say so; it is passed on as it is.
			c.flags["mappings whose start is not below their limit"]++
		}
		if i > 0 && !c.hasBuildID(m) {
			c.flags["mappings without a build id"]++
		}
	}
	c.duplicates(tableMapping, func(i int) string {
		m := c.d.MappingTable().At(i)
		return fmt.Sprint(m.MemoryStart(), m.MemoryLimit(), m.FileOffset(), m.FilenameStrindex(), m.AttributeIndices().AsRaw())
	})
}

func (c *checker) functionsAndLinks() {
	for i := range c.d.FunctionTable().Len() {
		where, f := fmt.Sprintf("function_table[%d]", i), c.d.FunctionTable().At(i)
		names := c.str(f.NameStrindex(), where+".name_strindex") + c.str(f.SystemNameStrindex(), where+".system_name_strindex") +
			c.str(f.FilenameStrindex(), where+".filename_strindex")
		if i > 0 && names == "" {
			c.flags["functions without any name"]++
		}
		if f.StartLine() < 0 {
			c.problem("%s: start_line %d", where, f.StartLine())
		}
	}
	for i := 1; i < c.d.LinkTable().Len(); i++ {
		if l := c.d.LinkTable().At(i); l.TraceID().IsEmpty() && l.SpanID().IsEmpty() {
			c.problem("link_table[%d] is a second zero value", i)
		}
	}
	c.duplicates(tableFunction, func(i int) string {
		f := c.d.FunctionTable().At(i)
		return fmt.Sprint(f.NameStrindex(), f.SystemNameStrindex(), f.FilenameStrindex(), f.StartLine())
	})
	c.duplicates(tableLink, func(i int) string {
		l := c.d.LinkTable().At(i)
		return l.TraceID().String() + l.SpanID().String()
	})
}

func (c *checker) locationsAndStacks() {
	texts := make([]string, c.d.LocationTable().Len())
	for i := range texts {
		where, l := fmt.Sprintf("location_table[%d]", i), c.d.LocationTable().At(i)
		c.index(tableMapping, l.MappingIndex(), where+".mapping_index")
		c.attributeList(l.AttributeIndices(), where)
		texts[i] = fmt.Sprint(l.MappingIndex(), l.Address(), l.AttributeIndices().AsRaw())
		for j := range l.Lines().Len() {
			line := l.Lines().At(j)
			c.index(tableFunction, line.FunctionIndex(), where+".lines.function_index")
			if line.Line() < 0 || line.Column() < 0 {
				c.problem("%s: line %d column %d", where, line.Line(), line.Column())
			}
			texts[i] += fmt.Sprint(" ", line.FunctionIndex(), line.Line(), line.Column())
		}
	}
	c.duplicates(tableLocation, func(i int) string { return texts[i] })
	for i := range c.d.StackTable().Len() {
		list := c.d.StackTable().At(i).LocationIndices()
		for j := range list.Len() {
			c.index(tableLocation, list.At(j), fmt.Sprintf("stack_table[%d].location_indices", i))
		}
	}
	c.duplicates(tableStack, func(i int) string { return fmt.Sprint(c.d.StackTable().At(i).LocationIndices().AsRaw()) })
}

func (c *checker) valueType(v pprofile.ValueType, where string) {
	c.str(v.TypeStrindex(), where)
	c.str(v.UnitStrindex(), where)
}

func (c *checker) sample(p pprofile.Profile, s pprofile.Sample, where string) (shape [2]bool) {
	c.index(tableStack, s.StackIndex(), where+".stack_index")
	c.index(tableLink, s.LinkIndex(), where+".link_index")
	c.attributeList(s.AttributeIndices(), where)
	values, times := s.Values().Len(), s.TimestampsUnixNano().Len()
	switch {
	case values == 0 && times == 0:
		c.problem("%s: neither values nor timestamps", where)
	case values > 1 && times == 0:
		c.problem("%s: %d values without timestamps", where, values)
	case values > 0 && times > 0 && values != times:
		c.problem("%s: %d values, %d timestamps", where, values, times)
	}
	for i := range times {
		t := s.TimestampsUnixNano().At(i)
		if t < uint64(p.Time()) || t-uint64(p.Time()) >= p.DurationNano() {
			c.problem("%s: timestamp %d is not in the profile's time", where, t)
			break
		}
	}
	c.samples++
	c.observations += max(values, times)
	return [2]bool{values > 0, times > 0}
}

func (c *checker) profile(p pprofile.Profile, where string) {
	c.profiles++
	c.valueType(p.SampleType(), where+".sample_type")
	c.valueType(p.PeriodType(), where+".period_type")
	c.attributeList(p.AttributeIndices(), where)
	if (p.OriginalPayloadFormat() == "") != (p.OriginalPayload().Len() == 0) {
		c.problem("%s: original_payload and its format do not come together", where)
	}
	if p.Samples().Len() == 0 {
		c.flags["profiles without samples"]++
	}
	if uint64(p.Time())+p.DurationNano() < uint64(p.Time()) {
		c.problem("%s: time and duration overflow", where)
	}
	if p.Time() == 0 {
		c.flags["profiles without a time"]++
	}
	shapes := map[[2]bool]bool{}
	for i := range p.Samples().Len() {
		shapes[c.sample(p, p.Samples().At(i), fmt.Sprintf("%s.samples[%d]", where, i))] = true
	}
	if len(shapes) > 1 {
		c.flags["profiles with samples of several shapes"]++
	}
}

func (c *checker) containers(p pprofile.Profiles) {
	if p.ResourceProfiles().Len() == 0 {
		c.problem("resource_profiles is empty")
	}
	for i := range p.ResourceProfiles().Len() {
		where, rp := fmt.Sprintf("resource_profiles[%d]", i), p.ResourceProfiles().At(i)
		c.plainAttributes(rp.Resource().Attributes(), where+".resource")
		if rp.ScopeProfiles().Len() == 0 {
			c.problem("%s: no scope_profiles", where)
		}
		for j := range rp.ScopeProfiles().Len() {
			sp, place := rp.ScopeProfiles().At(j), fmt.Sprintf("%s.scope_profiles[%d]", where, j)
			c.plainAttributes(sp.Scope().Attributes(), place+".scope")
			if sp.Profiles().Len() == 0 {
				c.problem("%s: no profiles", place)
			}
			for k := range sp.Profiles().Len() {
				c.profile(sp.Profiles().At(k), fmt.Sprintf("%s.profiles[%d]", place, k))
			}
		}
	}
}

func (c *checker) orphans() {
	for table, used := range c.used {
		for _, u := range used {
			if !u {
				c.flags["orphans in "+tableNames[table]]++
			}
		}
	}
}

func checkRequest(p pprofile.Profiles) *checker {
	c := &checker{d: p.Dictionary(), flags: map[string]int{}}
	if c.zeroElements(); c.problemCount == 0 {
		c.stringsAndAttributes()
		c.mappings()
		c.functionsAndLinks()
		c.locationsAndStacks()
		c.containers(p)
		c.orphans()
	}
	return c
}

func (c *checker) flagText() string {
	list := []string{}
	for name, n := range c.flags {
		list = append(list, fmt.Sprintf("%d %s", n, name))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// strict makes problems of what a careful writer never writes. A mapping that nothing refers to is let pass:
// it says what the process had loaded.
func (c *checker) strict() {
	for name, n := range c.flags {
		if name == "orphans in "+tableNames[tableMapping] {
			continue
		}
		if strings.HasPrefix(name, "duplicates") || strings.HasPrefix(name, "orphans") {
			c.problem("%d %s", n, name)
		}
	}
}

// checkFile prints the file's line and says whether the file is sound.
func checkFile(path string, strict bool) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Printf("%s: FAILED: panic: %v\n", path, p)
			ok = false
		}
	}()
	r, err := readRequest(path)
	if err != nil {
		fmt.Printf("%s: FAILED: %v\n", path, err)
		return false
	}
	c := checkRequest(r.Profiles())
	if strict {
		c.strict()
	}
	if c.problemCount > 0 {
		fmt.Printf("%s: FAILED: %d problems: %s\n", path, c.problemCount, strings.Join(c.problems, "; "))
		return false
	}
	fmt.Printf("%s: ok, %d resources, %d profiles, %d samples, %d observations", path, r.Profiles().ResourceProfiles().Len(),
		c.profiles, c.samples, c.observations)
	if t := c.flagText(); t != "" {
		fmt.Printf(" (noticed: %s)", t)
	}
	fmt.Println()
	return true
}

func checkOtlp(args []string) error {
	strict := args[0] == "-strict"
	if strict {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	failed := false
	for _, path := range args {
		failed = !checkFile(path, strict) || failed
	}
	if failed {
		return errDiffers
	}
	return nil
}
