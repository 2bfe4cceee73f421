// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"profrelay/layouts/command"
	"profrelay/layouts/pdata/new"
)

func main() {
	api := new.API{
		Samples:     pprofile.Profile.Sample,
		Lines:       pprofile.Location.Line,
		SetDuration: func(p pprofile.Profile, v uint64) { p.SetDuration(pcommon.Timestamp(v)) },
		Duration:    func(p pprofile.Profile) uint64 { return uint64(p.Duration()) },
		Comments:    pprofile.Profile.CommentStrindices,
	}
	command.Main(command.Release{Name: "1.8", Layout: "1.8", Build: api.Build, Read: api.Read})
}
