// SPDX-License-Identifier: Apache-2.0

// Package command is the program that each release has: it makes requests with that release's official code, reads them
// and compares.
package command

import (
	"profrelay/layouts/content"
	"profrelay/layouts/tables"
)

// Release is official code of one release.
type Release struct {
	Name       string // the layout, and the code where it is not pdata: "1.9-goproto"
	Layout     string
	PackedOnly bool // its reader takes no other lists, though it should
	Build      func(*tables.Request) Encoder
	Read       func([]byte) (*tables.Request, error) // may panic
}

// Encoder is a request in the release's own form.
type Encoder interface {
	MarshalProto() ([]byte, error)
	MarshalJSON() ([]byte, error)
}

func (r Release) layout() content.Layout { return content.Layouts[r.Layout] }
