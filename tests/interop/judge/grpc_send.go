// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/klauspost/compress/snappy"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// snappyCompressor writes frames, as the Collector's does.
type snappyCompressor struct{}

func (snappyCompressor) Name() string { return "snappy" }
func (snappyCompressor) Compress(w io.Writer) (io.WriteCloser, error) {
	return snappy.NewBufferedWriter(w), nil
}
func (snappyCompressor) Decompress(r io.Reader) (io.Reader, error) {
	return snappy.NewReader(r), nil
}

// describe says what a failed call was told, details included.
func describe(err error) string {
	st := status.Convert(err)
	text := fmt.Sprintf("%s: %s", st.Code(), st.Message())
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				text += fmt.Sprintf("; field %s: %s", v.GetField(), v.GetDescription())
			}
		case *errdetails.RetryInfo:
			text += fmt.Sprintf("; again in %s", d.GetRetryDelay().AsDuration())
		case error:
			text += fmt.Sprintf("; unreadable detail: %v", d)
		}
	}
	return text
}

func sendOnce(conn *grpc.ClientConn, req pprofileotlp.ExportRequest, options ...grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	resp, err := pprofileotlp.NewGRPCClient(conn).Export(ctx, req, options...)
	if err != nil {
		return errors.New(describe(err))
	}
	if p := resp.PartialSuccess(); p.RejectedProfiles() != 0 || p.ErrorMessage() != "" {
		return fmt.Errorf("partial success: %d rejected: %s", p.RejectedProfiles(), p.ErrorMessage())
	}
	return nil
}

func checkHealth(conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	resp, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		return errors.New(describe(err))
	}
	fmt.Println(resp.GetStatus())
	return nil
}

// grpcSend exports with pdata's own client.
func grpcSend(args []string) error {
	flags := flag.NewFlagSet("grpc-send", flag.ContinueOnError)
	to := flags.String("to", "", "HOST:PORT")
	compression := flags.String("compression", "", "gzip, zstd, snappy")
	times := flags.Int("times", 1, "so many calls, on one connection")
	parallel := flags.Int("parallel", 1, "so many at a time")
	caFile := flags.String("ca", "", "speak TLS, trust this")
	if err := flags.Parse(args[1:]); err != nil || *to == "" {
		return errors.New("grpc-send needs FILE -to HOST:PORT")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	req := pprofileotlp.NewExportRequest()
	if err = req.UnmarshalProto(data); err != nil {
		return refusal{err}
	}
	encoding.RegisterCompressor(zstdCompressor{})
	encoding.RegisterCompressor(snappyCompressor{})
	creds := insecure.NewCredentials()
	if *caFile != "" {
		if creds, err = credentials.NewClientTLSFromFile(*caFile, ""); err != nil {
			return err
		}
	}
	conn, err := grpc.NewClient(*to, grpc.WithTransportCredentials(creds))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err = checkHealth(conn); err != nil {
		return err
	}
	var options []grpc.CallOption
	if *compression != "" {
		options = append(options, grpc.UseCompressor(*compression))
	}
	var wait sync.WaitGroup
	failures := make(chan error, *times)
	limit := make(chan struct{}, *parallel)
	for range *times {
		limit <- struct{}{}
		wait.Go(func() {
			if err := sendOnce(conn, req, options...); err != nil {
				failures <- err
			}
			<-limit
		})
	}
	wait.Wait()
	close(failures)
	return <-failures
}
