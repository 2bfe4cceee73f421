// SPDX-License-Identifier: Apache-2.0

// A program that is busy for a while and lets pyroscope-go tell where. What to say of itself, and how, comes from the
// environment: sdks.py has the table.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/grafana/pyroscope-go"
)

const rounds = 400_000

var counter uint64

//go:noinline
func burnMost() {
	for i := range uint64(4 * rounds) {
		counter = counter*33 + i
	}
}

//go:noinline
func burnRest() {
	for i := range uint64(rounds) {
		counter = counter*33 + i
	}
}

type onStdout struct{}

func (onStdout) Debugf(string, ...any)             {}
func (onStdout) Infof(string, ...any)              {}
func (onStdout) Errorf(format string, args ...any) { fmt.Printf("ERROR "+format+"\n", args...) }

func main() {
	var headers map[string]string
	if text := os.Getenv("DEMO_HEADERS"); text != "" {
		if err := json.Unmarshal([]byte(text), &headers); err != nil {
			panic(err)
		}
	}
	seconds, err := time.ParseDuration(os.Getenv("DEMO_SECONDS") + "s")
	if err != nil {
		panic(err)
	}
	profiler, err := pyroscope.Start(pyroscope.Config{
		ApplicationName:   os.Getenv("DEMO_NAME"),
		ServerAddress:     os.Getenv("DEMO_ADDRESS"),
		Tags:              map[string]string{"region": "eu-west-1", "team": "demo"},
		AuthToken:         os.Getenv("DEMO_TOKEN"),
		BasicAuthUser:     os.Getenv("DEMO_USER"),
		BasicAuthPassword: os.Getenv("DEMO_PASSWORD"),
		TenantID:          os.Getenv("DEMO_TENANT"),
		HTTPHeaders:       headers,
		UploadRate:        time.Second,
		Logger:            onStdout{},
		ProfileTypes: []pyroscope.ProfileType{pyroscope.ProfileCPU, pyroscope.ProfileAllocSpace,
			pyroscope.ProfileGoroutines},
	})
	if err != nil {
		panic(err)
	}
	for end := time.Now().Add(seconds); time.Now().Before(end); {
		pyroscope.TagWrapper(context.Background(), pyroscope.Labels("endpoint", "/checkout"),
			func(context.Context) { burnMost() })
		burnRest()
	}
	profiler.Flush(true)
	if err = profiler.Stop(); err != nil {
		panic(err)
	}
}
