// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"

	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
)

// sending is what grpc-send and http-send have in common.
type sending struct {
	to, compression string
	times, parallel int
	files           tlsFiles
	request         pprofileotlp.ExportRequest
}

func (s *sending) parse(flags *flag.FlagSet, args []string) error {
	flags.StringVar(&s.to, "to", "", "the server")
	flags.StringVar(&s.compression, "compression", "", "gzip, zstd, snappy (gRPC)")
	flags.IntVar(&s.times, "times", 1, "so many calls")
	flags.IntVar(&s.parallel, "parallel", 1, "so many at a time")
	s.files.register(flags)
	if err := flags.Parse(args[1:]); err != nil || s.to == "" {
		return errors.New(flags.Name() + " needs FILE -to SERVER")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	s.request, err = decodeOtlp(data)
	return err
}

// all returns one of the failures, if there are any.
func (s *sending) all(once func() error) error {
	var wait sync.WaitGroup
	failures := make(chan error, s.times)
	limit := make(chan struct{}, s.parallel)
	for range s.times {
		limit <- struct{}{}
		wait.Go(func() {
			if err := once(); err != nil {
				failures <- err
			}
			<-limit
		})
	}
	wait.Wait()
	close(failures)
	fmt.Printf("%d samples each\n", s.request.Profiles().SampleCount())
	return <-failures
}

func partialError(resp pprofileotlp.ExportResponse) error {
	if p := resp.PartialSuccess(); p.RejectedProfiles() != 0 || p.ErrorMessage() != "" {
		return fmt.Errorf("partial success: %d rejected: %s", p.RejectedProfiles(), p.ErrorMessage())
	}
	return nil
}
