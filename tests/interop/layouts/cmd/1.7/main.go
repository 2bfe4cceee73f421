// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"profrelay/layouts/command"
	"profrelay/layouts/pdata/old"
	"profrelay/layouts/tables"
)

func main() {
	api := old.API{
		Shared:     func(all pprofile.Profiles) old.Tables { return all.Dictionary() },
		SetDefault: func(p pprofile.Profile, q *tables.Profile) { p.SetDefaultSampleTypeIndex(q.Default) },
		Default:    func(p pprofile.Profile, _ *tables.Profile) int32 { return p.DefaultSampleTypeIndex() },
	}
	command.Main(command.Release{Name: "1.7", Layout: "1.7", PackedOnly: true, Build: api.Build, Read: api.Read})
}
