// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"
)

// quietFlags hands the driver arguments that are fixed here.
type quietFlags struct {
	*flag.FlagSet
	args []string
}

func (f *quietFlags) StringList(name, def, usage string) *[]*string {
	return &[]*string{f.FlagSet.String(name, def, usage)}
}
func (f *quietFlags) ExtraUsage() string   { return "" }
func (f *quietFlags) AddExtraUsage(string) {}
func (f *quietFlags) Parse(func()) []string {
	if err := f.FlagSet.Parse(f.args); err != nil {
		panic(err)
	}
	return f.FlagSet.Args()
}

type quietUI struct{}

func (quietUI) ReadLine(string) (string, error)          { return "", io.EOF }
func (quietUI) Print(...any)                             {}
func (quietUI) PrintErr(...any)                          {}
func (quietUI) IsTerminal() bool                         { return false }
func (quietUI) WantBrowser() bool                        { return false }
func (quietUI) SetAutoComplete(func(text string) string) {}

type memoryFile struct{ bytes.Buffer }

func (m *memoryFile) Open(string) (io.WriteCloser, error) { return m, nil }
func (m *memoryFile) Close() error                        { return nil }

type parsed struct{ profile *profile.Profile }

func (p parsed) Fetch(src string, _, _ time.Duration) (*profile.Profile, string, error) {
	return p.profile, src, nil
}

func parseProfile(path string) (*profile.Profile, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseData(content)
	if err != nil {
		return nil, refusal{err}
	}
	return p, nil
}

// printable is the name as profrelay prints it: broken bytes as U+FFFD, control characters spelled out.
func printable(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsControl(r) {
			fmt.Fprintf(&b, `\x%02x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

type topRow struct{ flat, cum int64 }

// A line of -top: flat flat% sum% cum cum%  name.
var topLine = regexp.MustCompile(`^ *(-?\d+) +\S+ +\S+ +(-?\d+) +\S+  (.*?)( \((?:partial-)?inline\))?$`)

// top is what `pprof -top` shows without any cut: self, total and name of each function.
func top(p *profile.Profile, sampleIndex string) ([]string, error) {
	// The driver scales values by their unit; a count stays what it is.
	for _, t := range p.SampleType {
		t.Unit = "count"
	}
	for _, f := range p.Function { // as its symbolizer does, which is off: it would look for binaries
		if f.Name == "" {
			f.Name = f.SystemName
		}
		f.Name = printable(f.Name)
	}
	var out memoryFile
	args := []string{"-top", "-output=top", "-symbolize=none", "-nodefraction=0", "-edgefraction=0", "-nodecount=0",
		"-unit=count", "-sample_index=" + sampleIndex, "unknown"} // its name where there is no mapping
	err := driver.PProf(&driver.Options{
		Writer: &out, Flagset: &quietFlags{flag.NewFlagSet("pprof", flag.ContinueOnError), args},
		Fetch: parsed{p}, UI: quietUI{},
	})
	if err != nil {
		return nil, refusal{err}
	}
	_, table, found := strings.Cut(out.String(), "cum%\n")
	if !found {
		return nil, fmt.Errorf("pprof printed no table: %q", out.String())
	}
	var rows []string
	for line := range strings.Lines(table) {
		m := topLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			return nil, fmt.Errorf("a line of pprof's table is not understood: %q", line)
		}
		rows = append(rows, m[1]+"\t"+m[2]+"\t"+strings.Replace(m[3], "<unknown>", "[unknown]", 1)+"\n")
	}
	return rows, nil
}

func printTop(args []string) error {
	p, err := parseProfile(args[0])
	if err != nil {
		return err
	}
	sampleIndex := ""
	if len(args) > 1 {
		sampleIndex = args[1]
	}
	rows, err := top(p, sampleIndex)
	if err != nil {
		return err
	}
	slices.Sort(rows)
	_, err = os.Stdout.WriteString(strings.Join(rows, ""))
	return err
}

func printTypes(args []string) error {
	p, err := parseProfile(args[0])
	if err != nil {
		return err
	}
	for _, t := range p.SampleType {
		fmt.Println(t.Type)
	}
	return nil
}
