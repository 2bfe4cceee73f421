// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"profrelay/layouts/content"
	"profrelay/layouts/tables"
)

// entry is a request and what it means: a line of content.jsonl and of read.jsonl.
type entry struct {
	File     string
	Error    string `json:",omitempty"`
	Release  string
	Layout   string
	Class    string `json:",omitempty"`
	Unpacked bool   `json:",omitempty"`
	Lean     bool   `json:",omitempty"`
	Orphans  bool   `json:",omitempty"`
	Zeros    bool   `json:",omitempty"`
	Content  *content.Request
}

// parallel calls f with 0 to count-1 on all processors.
func parallel(count int, f func(i int)) {
	var wait sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wait.Go(func() {
			for i := w; i < count; i += workers {
				f(i)
			}
		})
	}
	wait.Wait()
}

// lineChunk is how many lines are in memory at a time.
const lineChunk = 512

// writeLines writes what line makes of 0 to count-1, in order.
func writeLines(path string, count int, line func(i int) (entry, error)) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	for start := 0; start < count; start += lineChunk {
		n := min(lineChunk, count-start)
		texts, errs := make([][]byte, n), make([]error, n)
		parallel(n, func(i int) {
			var e entry
			if e, errs[i] = line(start + i); errs[i] == nil {
				texts[i], errs[i] = json.Marshal(e)
			}
		})
		for i := range n {
			if errs[i] != nil {
				return errs[i]
			}
			w.Write(texts[i])
			w.WriteByte('\n')
		}
	}
	return w.Flush()
}

// recipe is made.json: what makes the requests of a folder, and their meaning, again.
type recipe struct {
	Release, Layout string
	Count, Seed     uint64
	Fits            bool
}

func (m recipe) make(n uint64) (entry, content.Made) {
	made := content.Make(content.Options{Layout: content.Layouts[m.Layout], Fits: m.Fits}, m.Seed, n)
	return entry{File: fmt.Sprintf("%d.pb", n), Release: m.Release, Layout: m.Layout, Class: made.Class, Unpacked: n%unpackedOf == 0, Lean: n%leanOf == 0,
		Orphans: made.Orphans, Zeros: made.Zeros, Content: made.Request}, made
}

func (m recipe) write(folder string) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "made.json"), text, 0o644)
}

// each calls f for every request of the folder, on all processors.
func each(folder string, f func(e entry)) error {
	var m recipe
	text, err := os.ReadFile(filepath.Join(folder, "made.json"))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err == nil && m.Count == 0 {
		err = fmt.Errorf("%s: no requests", folder)
	}
	if err != nil {
		return err
	}
	parallel(int(m.Count), func(i int) {
		e, _ := m.make(uint64(i + 1))
		f(e)
	})
	return nil
}

// content reads a request; what the official code panics on is an error.
func (r Release) content(path string) (out *content.Request, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("%v", p)
		}
	}()
	q, err := r.Read(data)
	if err != nil {
		return nil, err
	}
	return tables.Resolve(r.layout(), q), nil
}
