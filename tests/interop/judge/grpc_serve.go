// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

type zstdCompressor struct{}

func (zstdCompressor) Name() string { return "zstd" }
func (zstdCompressor) Compress(w io.Writer) (io.WriteCloser, error) {
	return zstd.NewWriter(w)
}
func (zstdCompressor) Decompress(r io.Reader) (io.Reader, error) {
	return zstd.NewReader(r)
}

// grpcServer is pdata's own service. What it answers is asked for by metadata: judge-code, judge-retry-ms (with
// RetryInfo), judge-delay-ms, judge-partial.
type grpcServer struct {
	pprofileotlp.UnimplementedGRPCServer
	out      string
	mu       sync.Mutex
	requests int
	samples  int
}

func number(ctx context.Context, key string) int {
	md, _ := metadata.FromIncomingContext(ctx)
	if values := md.Get(key); len(values) > 0 {
		n, _ := strconv.Atoi(values[0])
		return n
	}
	return 0
}

func askedFailure(ctx context.Context) error {
	code := codes.Code(number(ctx, "judge-code"))
	if code == codes.OK {
		return nil
	}
	st := status.New(code, "told to answer so: 100 % \u20ac")
	if ms := number(ctx, "judge-retry-ms"); ms > 0 {
		delay := durationpb.New(time.Duration(ms) * time.Millisecond)
		if with, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: delay}); err == nil {
			st = with
		}
	}
	return st.Err()
}

func (s *grpcServer) store(req pprofileotlp.ExportRequest) error {
	body, err := req.MarshalProto()
	if err != nil {
		return err
	}
	s.mu.Lock()
	n := s.requests
	s.requests++
	s.samples += req.Profiles().SampleCount()
	s.mu.Unlock()
	return writeAtomically(filepath.Join(s.out, fmt.Sprintf("request-%d.otlp", n)), body)
}

func (s *grpcServer) Export(ctx context.Context, req pprofileotlp.ExportRequest) (pprofileotlp.ExportResponse, error) {
	resp := pprofileotlp.NewExportResponse()
	select {
	case <-time.After(time.Duration(number(ctx, "judge-delay-ms")) * time.Millisecond):
	case <-ctx.Done():
		return resp, ctx.Err()
	}
	if err := askedFailure(ctx); err != nil {
		return resp, err
	}
	if n := number(ctx, "judge-partial"); n > 0 {
		resp.PartialSuccess().SetRejectedProfiles(int64(n))
		resp.PartialSuccess().SetErrorMessage("told to reject them")
	}
	return resp, s.store(req)
}

func grpcServe(args []string) error {
	flags := flag.NewFlagSet("grpc-serve", flag.ContinueOnError)
	portFile := flags.String("port-file", "", "gets the port")
	out := flags.String("out", "", "folder of what arrives")
	age := flags.Duration("max-age", 0, "of a connection, then GOAWAY")
	streams := flags.Uint("max-streams", 0, "at a time on a connection")
	defaults := flags.Bool("default-limits", false, "take what grpc-go takes by itself: 4 MiB")
	var files tlsFiles
	files.register(flags)
	if err := flags.Parse(args); err != nil || *portFile == "" || *out == "" {
		return errors.New("grpc-serve needs -port-file F -out DIR")
	}
	encoding.RegisterCompressor(zstdCompressor{})
	options := []grpc.ServerOption{}
	if !*defaults {
		options = append(options, grpc.MaxRecvMsgSize(maxBodyBytes))
	}
	if *age > 0 {
		options = append(options, grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge: *age, MaxConnectionAgeGrace: 10 * time.Second}))
	}
	if *streams > 0 {
		options = append(options, grpc.MaxConcurrentStreams(uint32(*streams)))
	}
	if config, err := files.forServer(); err != nil {
		return err
	} else if config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &grpcServer{out: *out}
	h := grpc.NewServer(options...)
	pprofileotlp.RegisterGRPCServer(h, s)
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	go func() {
		<-stop.Done()
		h.Stop()
	}()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	if err = writeAtomically(*portFile, []byte(port+"\n")); err != nil {
		return err
	}
	if err = h.Serve(l); err != nil {
		return err
	}
	fmt.Printf("%d requests, %d samples\n", s.requests, s.samples)
	return nil
}
