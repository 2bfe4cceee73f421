// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"profrelay/layouts/content"
)

// outcome is what became of a request.
type outcome int

const (
	right   outcome = iota
	renamed         // right too: nothing in it tells the two layouts apart
	refused
	swapped // read as another layout, with another meaning
	wrong   // read as its own, but not as it was meant
	broken  // a layout was found, but the decoder refuses
	missing
	outcomes
)

var outcomeNames = [outcomes]string{"right", "renamed", "refused", "SWAPPED", "WRONG", "BROKEN", "MISSING"}

type tally struct {
	sync.Mutex
	rows    map[string]*[outcomes]int
	reasons map[string]int
	shown   int
}

// said is what the reader under test says of a file.
type said struct{ layout, why string }

func readResults(path string) (map[string]said, error) {
	data, err := os.ReadFile(path)
	out := map[string]said{}
	for _, line := range strings.Split(string(data), "\n") {
		if words := strings.SplitN(line, "\t", 3); len(words) == 3 {
			out[filepath.Base(words[0])] = said{words[1], words[2]}
		}
	}
	return out, err
}

func (r Release) compare(folder, results, out string, verbose bool) error {
	lines, err := readResults(results)
	if err != nil {
		return err
	}
	t := tally{rows: map[string]*[outcomes]int{}, reasons: map[string]int{}}
	err = each(folder, func(e entry) {
		s := lines[e.File]
		o, why := r.judge(e, s, filepath.Join(out, e.File))
		t.add(e, o, s, why)
		if s, is := lines[jsonName(e.File)]; is {
			e.File, e.Class, e.Unpacked, e.Lean = jsonName(e.File), "JSON", false, false
			o, why = r.judge(e, s, filepath.Join(out, e.File))
			t.add(e, o, s, why)
		}
	})
	if err != nil {
		return err
	}
	return t.print(verbose)
}

// ours is the layout's name as profrelay says it.
func ours(layout string) string {
	if layout == "1.10" {
		return "current"
	}
	return layout
}

func (r Release) judge(e entry, s said, path string) (outcome, []string) {
	switch s.layout {
	case "":
		return missing, nil
	case "refused":
		return refused, nil
	case "broken":
		return broken, []string{s.why}
	}
	same := s.layout == ours(e.Layout)
	got, err := r.content(path)
	var diff []string
	if err != nil {
		diff = []string{err.Error()}
	} else {
		diff = content.Compare(e.Content, got, content.Layouts[e.Layout].Old)
	}
	switch {
	case diff == nil && same:
		return right, nil
	case diff == nil:
		return renamed, nil
	case same:
		return wrong, diff
	}
	return swapped, diff
}

func (t *tally) add(e entry, o outcome, s said, why []string) {
	rows := []string{"all", e.Class, "packed", "no orphans"}
	if e.Unpacked {
		rows[2] = "unpacked"
	}
	if e.Orphans {
		rows[3] = "orphans"
	}
	if e.Lean {
		rows = append(rows, "lean")
	}
	if !e.Zeros {
		rows = append(rows, "no zero elements")
	}
	t.Lock()
	defer t.Unlock()
	for _, row := range rows {
		if t.rows[row] == nil {
			t.rows[row] = &[outcomes]int{}
		}
		t.rows[row][o]++
	}
	if o == refused {
		t.reasons[mask(s.why)]++
	}
	if o > refused && t.shown < 10 {
		t.shown++
		fmt.Printf("%s %s, %s, read as %q: %s\n", outcomeNames[o], e.File, strings.Join(rows[1:], ", "), s.layout, strings.Join(why[:min(3, len(why))], "; "))
	}
}

// mask makes reasons that differ in numbers the same.
func mask(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return '#'
		}
		return c
	}, text)
}

func (t *tally) print(verbose bool) error {
	for _, row := range slices.Sorted(maps.Keys(t.rows)) {
		if row != "all" && !verbose {
			continue
		}
		fmt.Printf("%-18s", row)
		for o, n := range t.rows[row] {
			if n > 0 || o <= int(swapped) {
				fmt.Printf("  %s %d", outcomeNames[o], n)
			}
		}
		fmt.Println()
	}
	for reason, n := range t.reasons {
		if verbose {
			fmt.Printf("%d times refused: %s\n", n, reason)
		}
	}
	if all := t.rows["all"]; all[swapped]+all[wrong]+all[broken]+all[missing] > 0 {
		return errFound
	}
	return nil
}
