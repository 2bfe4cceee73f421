// SPDX-License-Identifier: Apache-2.0

package main

import (
	"profrelay/layouts/command"
	"profrelay/layouts/goproto"
)

func main() {
	command.Main(command.Release{Name: "1.10-goproto", Layout: "1.10", Build: goproto.Build, Read: goproto.Read})
}
