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
		InProfile: func(p pprofile.Profile) old.Tables { return p },
		SetDefault: func(p pprofile.Profile, q *tables.Profile) {
			if q.Default != 0 {
				p.SetDefaultSampleTypeStrindex(q.Types[q.Default].Type)
			}
		},
		Default: func(p pprofile.Profile, q *tables.Profile) int32 {
			for i, t := range q.Types {
				if t.Type == p.DefaultSampleTypeStrindex() {
					return int32(i)
				}
			}
			return 0
		},
	}
	command.Main(command.Release{Name: "1.5", Layout: "1.5", Build: api.Build, Read: api.Read})
}
