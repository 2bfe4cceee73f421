// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
)

type pusher struct {
	out     string
	mu      sync.Mutex
	next    int
	answers []string
}

func check(raw []byte) error {
	p, err := profile.ParseData(raw)
	if err != nil {
		return err
	}
	return p.CheckValid()
}

func writeAtomically(path string, data []byte) error {
	if err := os.WriteFile(path+".part", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// keep writes the profile and its labels, one in a line, in their order.
func (p *pusher) keep(s *pushv1.RawProfileSeries, sample *pushv1.RawSample) error {
	p.next++
	var labels strings.Builder
	var wrong error
	seen := map[string]bool{}
	for _, l := range s.Labels {
		fmt.Fprintf(&labels, "%s=%s\n", l.Name, l.Value)
		if seen[l.Name] {
			wrong = fmt.Errorf("label %s twice", l.Name)
		}
		seen[l.Name] = true
	}
	suffix := ".pprof"
	if err := check(sample.RawProfile); err != nil {
		wrong, suffix = err, ".bad"
	}
	base := filepath.Join(p.out, fmt.Sprintf("%06d", p.next))
	err := errors.Join(writeAtomically(base+".labels", []byte(labels.String())), writeAtomically(base+suffix, sample.RawProfile))
	if err == nil && wrong != nil {
		err = connect.NewError(connect.CodeInvalidArgument, wrong)
	}
	return err
}

func codeOf(name string) connect.Code {
	var c connect.Code
	if err := c.UnmarshalText([]byte(name)); err != nil {
		panic(err)
	}
	return c
}

func (p *pusher) Push(_ context.Context, request *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := "ok"
	if len(p.answers) > 0 {
		answer, p.answers = p.answers[0], p.answers[1:]
	}
	fmt.Println(time.Now().UnixMilli(), answer, request.Peer().Protocol, len(request.Msg.Series), request.Header())
	if answer != "ok" {
		return nil, connect.NewError(codeOf(answer), errors.New("told to answer so: 100 % €"))
	}
	var errs []error
	for _, s := range request.Msg.Series {
		for _, sample := range s.Samples {
			errs = append(errs, p.keep(s, sample))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

func serve(args []string) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	portFile := flags.String("port-file", "", "")
	out := flags.String("out", "", "")
	answers := flags.String("answers", "", "")
	if err := flags.Parse(args); err != nil || *portFile == "" || *out == "" {
		return errors.New("serve needs -port-file F -out DIR")
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	p := &pusher{out: *out}
	if *answers != "" {
		p.answers = strings.Split(*answers, ",")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	path, handler := pushv1connect.NewPusherServiceHandler(p)
	mux := http.NewServeMux()
	mux.Handle(path, handler)
	mux.Handle("/pyroscope"+path, http.StripPrefix("/pyroscope", handler))
	var both http.Protocols
	both.SetHTTP1(true)
	both.SetUnencryptedHTTP2(true)
	h := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, Protocols: &both}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	go func() {
		<-stop.Done()
		_ = h.Close()
	}()
	if err = writeAtomically(*portFile, []byte(strconv.Itoa(l.Addr().(*net.TCPAddr).Port)+"\n")); err != nil {
		return err
	}
	if err = h.Serve(l); errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
