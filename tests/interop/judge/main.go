// SPDX-License-Identifier: Apache-2.0

// judge is the outside judge of the interop tests: it sees profiles only through google/pprof's library and
// the Collector's pdata, never through code of ours.
//
// Exit codes: 0 equal or sound, 1 not, 2 wrong usage, 3 the judging library refuses the input.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
)

const usage = `usage:
  judge pprof FILE                    canonical JSON: resolved, free of ids, samples sorted
  judge pprof-equal A B               0 if equal, else 1 and the first differences
  judge top FILE [TYPE]               self, total and name of each function, as pprof -top has them
  judge types FILE                    the sample types of a pprof
  judge otlp FILE                     resolved JSON of an export request
  judge otlp-reencode IN OUT          decode with pdata, encode with pdata
  judge otlp-to-json IN OUT [request] pdata reads protobuf and writes JSON, as a file or as a request
  judge otlp-from-json IN OUT         the way back
  judge otlp-check [-strict] FILE...  one line per file; -strict makes duplicates and orphans problems
  judge otlp-equal A B...             as pprof-equal, for export requests
  judge otlp-together A B...          0 if all B together have the samples of A, each once, in the same profiles
  judge otlp-leaves FILE...           each profile in a line of JSON: attributes, type, total, self value of each function
  judge relabel-cases COUNT OUT       random rules and labels, and what Prometheus makes of them
  judge serve -port-file F -out DIR   OTLP/HTTP server on a free loopback port; POST /control?status=503&
                                      retry_after=1&delay_ms=10&times=3&partial=2&cut=1 sets what comes next
  judge grpc-serve -port-file F -out DIR [-max-age 1s] [-max-streams N] [-default-limits]
                                      the same over gRPC; metadata judge-code, judge-retry-ms, judge-delay-ms,
                                      judge-partial say what a request meets
  judge grpc-send FILE -to HOST:PORT [-compression gzip|zstd|snappy] [-times N] [-parallel N] [-health]
                                      exports with pdata's client
  judge grpc-watch -to HOST:PORT [-service S]
                                      prints what health's Watch says until it ends, and how it does
  judge http-send FILE -to URL [-compression gzip|zstd] [-times N] [-parallel N] [-json] [-http2]
                                      exports over HTTP
  Those that serve or send take -cert FILE -key FILE -ca FILE: a server with -cert speaks TLS, with -ca mTLS; a client
  with -ca speaks TLS, with -cert mTLS.
`

// refusal is the judging library's own verdict on its input.
type refusal struct{ err error }

func (r refusal) Error() string { return r.err.Error() }

// errDiffers is returned when what had to be said about it has been printed.
var errDiffers = errors.New("")

type command struct {
	name string
	min  int
	max  int
	run  func(args []string) error
}

var commands = []command{
	{"pprof", 1, 1, printPprof},
	{"pprof-equal", 2, 2, comparePprof},
	{"top", 1, 2, printTop},
	{"types", 1, 1, printTypes},
	{"otlp", 1, 1, printOtlp},
	{"otlp-reencode", 2, 2, reencodeOtlp},
	{"otlp-to-json", 2, 3, otlpToJSON},
	{"otlp-from-json", 2, 2, otlpFromJSON},
	{"otlp-check", 1, 1 << 20, checkOtlp},
	{"otlp-equal", 2, 1 << 20, compareOtlp},
	{"otlp-together", 2, 1 << 20, compareTogether},
	{"otlp-leaves", 1, 1 << 20, printLeaves},
	{"relabel-cases", 2, 2, writeRelabelCases},
	{"serve", 4, 20, serve},
	{"grpc-serve", 4, 20, grpcServe},
	{"grpc-send", 3, 20, grpcSend},
	{"grpc-watch", 2, 4, grpcWatch},
	{"http-send", 3, 20, httpSend},
}

// guarded turns a panic of a library into a refusal: pdata's At(i) panics on a bad index.
func guarded(run func([]string) error, args []string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if os.Getenv("JUDGE_TRACE") != "" {
				debug.PrintStack()
			}
			err = refusal{fmt.Errorf("panic: %v", p)}
		}
	}()
	return run(args)
}

func exitCode(err error) int {
	var r refusal
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errDiffers):
		return 1
	case errors.As(err, &r):
		fmt.Fprintln(os.Stderr, "judge: refused:", err)
		return 3
	}
	fmt.Fprintln(os.Stderr, "judge:", err)
	return 1
}

func main() {
	args := os.Args[1:]
	for _, c := range commands {
		if len(args) > 0 && args[0] == c.name && len(args)-1 >= c.min && len(args)-1 <= c.max {
			os.Exit(exitCode(guarded(c.run, args[1:])))
		}
	}
	fmt.Fprint(os.Stderr, usage)
	os.Exit(2)
}
