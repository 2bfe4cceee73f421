// SPDX-License-Identifier: Apache-2.0

package command

import (
	"flag"
	"fmt"
	"os"
	"strconv"
)

const usage = `usage, of the program of each release:
  generate [-fits] [-content] FOLDER COUNT SEED
                                      random valid requests N.pb, some also N.json. -fits: only what every layout can hold;
                                      -content: what each means goes to content.jsonl
  check FOLDER                        reads N.pb itself: exit code 1 if that is not what was meant
  read FOLDER [SUFFIX]                reads each *SUFFIX (.pb) and writes read.jsonl: content, or the error
  compare [-v] FOLDER RESULTS OUT     RESULTS: lines "FILE<tab>LAYOUT<tab>EVIDENCE" ("refused" or "broken" for the layout), as
                                      otlp_layouts prints them; OUT/N.pb: what came of N.pb, in this release's layout. Counts
                                      what was read right: exit code 1 if something was read as what it is not
`

// errFound is returned when what had to be said has been printed.
var errFound = fmt.Errorf("")

// Main runs the command line and ends the process: 0 fine, 1 not, 2 wrong usage.
func Main(r Release) {
	err := r.run(os.Args[1:])
	if err == nil {
		os.Exit(0)
	}
	if err == flag.ErrHelp {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err != errFound {
		fmt.Fprintf(os.Stderr, "layouts %s: %v\n", r.Name, err)
	}
	os.Exit(1)
}

func (r Release) run(args []string) error {
	if len(args) == 0 {
		return flag.ErrHelp
	}
	f := flag.NewFlagSet(args[0], flag.ContinueOnError)
	f.Usage = func() {}
	fits := f.Bool("fits", false, "")
	describe := f.Bool("content", false, "")
	verbose := f.Bool("v", false, "")
	if err := f.Parse(args[1:]); err != nil {
		return flag.ErrHelp
	}
	rest := f.Args()
	switch {
	case args[0] == "generate" && len(rest) == 3:
		count, err := strconv.ParseUint(rest[1], 10, 32)
		if err != nil {
			return flag.ErrHelp
		}
		seed, err := strconv.ParseUint(rest[2], 10, 64)
		if err != nil {
			return flag.ErrHelp
		}
		m := recipe{Release: r.Name, Layout: r.Layout, Count: count, Seed: seed, Fits: *fits}
		return r.generate(m, rest[0], *describe)
	case args[0] == "check" && len(rest) == 1:
		return r.check(rest[0])
	case args[0] == "read" && (len(rest) == 1 || len(rest) == 2):
		return r.read(rest[0], append(rest, ".pb")[1])
	case args[0] == "compare" && len(rest) == 3:
		return r.compare(rest[0], rest[1], rest[2], *verbose)
	}
	return flag.ErrHelp
}
