// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"profrelay/layouts/command"
	"profrelay/layouts/pdata/new"
)

func main() {
	api := new.API{
		Samples:     pprofile.Profile.Samples,
		Lines:       pprofile.Location.Lines,
		SetDuration: pprofile.Profile.SetDurationNano,
		Duration:    pprofile.Profile.DurationNano,
	}
	command.Main(command.Release{Name: "1.10", Layout: "1.10", Build: api.Build, Read: api.Read})
}
