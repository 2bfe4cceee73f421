// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/snappy"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
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
func describe(err error) string { return describeStatus(status.Convert(err).Proto()) }

func describeStatus(p *spb.Status) string {
	st := status.FromProto(p)
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
	return partialError(resp)
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

// grpcSend exports with pdata's own client, on one connection.
func grpcSend(args []string) error {
	var s sending
	flags := flag.NewFlagSet("grpc-send", flag.ContinueOnError)
	health := flags.Bool("health", false, "ask for the server's health first")
	if err := s.parse(flags, args); err != nil {
		return err
	}
	encoding.RegisterCompressor(zstdCompressor{})
	encoding.RegisterCompressor(snappyCompressor{})
	creds := insecure.NewCredentials()
	if config, err := s.files.forClient(); err != nil {
		return err
	} else if config != nil {
		creds = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient(s.to, grpc.WithTransportCredentials(creds))
	if err != nil {
		return err
	}
	defer conn.Close()
	if *health {
		if err = checkHealth(conn); err != nil {
			return err
		}
	}
	var options []grpc.CallOption
	if s.compression != "" {
		options = append(options, grpc.UseCompressor(s.compression))
	}
	return s.all(func() error { return sendOnce(conn, s.request, options...) })
}
