// SPDX-License-Identifier: Apache-2.0

// push judges Pyroscope's Push API from both ends: a client and a server on connect-go with the API module that Pyroscope
// publishes, profiles parsed by google/pprof.
package main

import (
	"fmt"
	"os"
)

const usage = `usage:
  push send FILE... -to URL [-protocol connect|json|grpc|grpcweb] [-http2] [-gzip] [-token T] [-times N] [-parallel N]
            [-bad N] [-random-mib N] [-timeout 10s]
                                  a series for each FILE, service_name demo.push.INDEX; -bad: one that is no pprof at N
  push serve -port-file F -out DIR [-answers CODE,CODE...]
                                  keeps each profile in DIR/NNNNNN.pprof (.bad when google/pprof refuses it), its labels in
                                  DIR/NNNNNN.labels; -answers: what the first requests meet, ok or a code of Connect
`

func main() {
	commands := map[string]func([]string) error{"send": send, "serve": serve}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
