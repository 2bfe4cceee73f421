// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"profrelay/layouts/content"
	"profrelay/layouts/rewrite"
	"profrelay/layouts/tables"
)

// Every so many requests, one has its lists unpacked, is lean, or is there as JSON too.
const unpackedOf, leanOf, jsonOf = 3, 4, 32

func (r Release) generate(m recipe, folder string, describe bool) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := m.write(folder); err != nil {
		return err
	}
	if describe {
		return writeLines(filepath.Join(folder, "content.jsonl"), int(m.Count), func(i int) (entry, error) {
			return r.generateOne(m, folder, uint64(i+1))
		})
	}
	errs := make([]error, m.Count)
	parallel(len(errs), func(i int) { _, errs[i] = r.generateOne(m, folder, uint64(i+1)) })
	return errors.Join(errs...)
}

func (r Release) generateOne(m recipe, folder string, n uint64) (entry, error) {
	e, made := m.make(n)
	request := r.Build(tables.Index(r.layout(), made))
	data, err := request.MarshalProto()
	if err != nil {
		return e, err
	}
	path := filepath.Join(folder, e.File)
	data = rewrite.Request(r.Layout, data, rewrite.Options{Unpacked: e.Unpacked, Lean: e.Lean})
	if err := os.WriteFile(path, data, 0o644); err != nil || n%jsonOf != 0 {
		return e, err
	}
	if data, err = request.MarshalJSON(); err != nil {
		return e, err
	}
	return e, os.WriteFile(jsonName(path), data, 0o644)
}

func jsonName(path string) string { return strings.TrimSuffix(path, ".pb") + ".json" }

func (r Release) check(folder string) error {
	var bad atomic.Int64
	err := each(folder, func(e entry) {
		if r.PackedOnly && e.Unpacked {
			return
		}
		got, err := r.content(filepath.Join(folder, e.File))
		var diff []string
		if err != nil {
			diff = []string{err.Error()}
		} else {
			diff = content.Compare(e.Content, got, r.layout().Old)
		}
		if diff != nil && bad.Add(1) <= 5 {
			fmt.Printf("%s: %s\n", e.File, strings.Join(diff, "; "))
		}
	})
	if err == nil && bad.Load() > 0 {
		fmt.Printf("%d are not what they should be\n", bad.Load())
		err = errFound
	}
	return err
}

func (r Release) read(folder, suffix string) error {
	paths, err := filepath.Glob(filepath.Join(folder, "*"+suffix))
	if err != nil {
		return err
	}
	slices.Sort(paths)
	return writeLines(filepath.Join(folder, "read.jsonl"), len(paths), func(i int) (entry, error) {
		e := entry{File: filepath.Base(paths[i]), Release: r.Name, Layout: r.Layout}
		var err error
		if e.Content, err = r.content(paths[i]); err != nil {
			e.Error = err.Error()
		}
		return e, nil
	})
}
