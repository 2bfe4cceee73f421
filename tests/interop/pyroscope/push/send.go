// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
)

var protocols = map[string][]connect.ClientOption{
	"connect": nil,
	"json":    {connect.WithProtoJSON()},
	"grpc":    {connect.WithGRPC()},
	"grpcweb": {connect.WithGRPCWeb()},
}

type sending struct {
	to, protocol, token string
	http2, gzip         bool
	times, parallel     int
	bad, randomMiB      int
	timeout             time.Duration
	files               []string
}

func (s *sending) parse(args []string) error {
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		s.files, args = append(s.files, args[0]), args[1:]
	}
	flags := flag.NewFlagSet("send", flag.ContinueOnError)
	flags.StringVar(&s.to, "to", "", "")
	flags.StringVar(&s.protocol, "protocol", "connect", "")
	flags.StringVar(&s.token, "token", "", "")
	flags.BoolVar(&s.http2, "http2", false, "")
	flags.BoolVar(&s.gzip, "gzip", false, "")
	flags.IntVar(&s.times, "times", 1, "")
	flags.IntVar(&s.parallel, "parallel", 1, "")
	flags.IntVar(&s.bad, "bad", -1, "")
	flags.IntVar(&s.randomMiB, "random-mib", 0, "")
	flags.DurationVar(&s.timeout, "timeout", 30*time.Second, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if _, known := protocols[s.protocol]; s.to == "" || !known {
		return errors.New("send needs -to URL and a -protocol that there is")
	}
	return nil
}

func series(service string, profile []byte) *pushv1.RawProfileSeries {
	labels := []*typesv1.LabelPair{{Name: "__name__", Value: "process_cpu"}, {Name: "service_name", Value: service},
		{Name: "region", Value: "eu-west-1"}, {Name: "dotted.name", Value: "a,b={c} ü"}}
	return &pushv1.RawProfileSeries{Labels: labels,
		Samples: []*pushv1.RawSample{{RawProfile: profile, ID: "0b8f37c2-0000-4000-8000-00000000000a"}}}
}

func (s *sending) request() (*pushv1.PushRequest, error) {
	r := &pushv1.PushRequest{}
	for i, file := range s.files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r.Series = append(r.Series, series(fmt.Sprintf("demo.push.%d", i), content))
	}
	if s.bad >= 0 {
		r.Series = slices.Insert(r.Series, s.bad, series("demo.push.bad", []byte("this is not a pprof")))
	}
	if s.randomMiB > 0 {
		content := make([]byte, s.randomMiB<<20)
		_, _ = rand.Read(content)
		r.Series = append(r.Series, series("demo.push.random", content))
	}
	return r, nil
}

func (s *sending) client() pushv1connect.PusherServiceClient {
	options := slices.Clone(protocols[s.protocol])
	if s.gzip {
		options = append(options, connect.WithSendGzip())
	}
	var p http.Protocols
	p.SetHTTP1(!s.http2)
	p.SetUnencryptedHTTP2(s.http2)
	transport := &http.Transport{Protocols: &p, MaxConnsPerHost: s.parallel}
	return pushv1connect.NewPusherServiceClient(&http.Client{Transport: transport}, s.to, options...)
}

func (s *sending) once(client pushv1connect.PusherServiceClient, message *pushv1.PushRequest) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	request := connect.NewRequest(message)
	request.Header().Set("User-Agent", "pyroscope/demo")
	if s.token != "" {
		request.Header().Set("Authorization", "Bearer "+s.token)
	}
	_, err := client.Push(ctx, request)
	var c *connect.Error
	if errors.As(err, &c) {
		details := ""
		for _, d := range c.Details() {
			details += " " + d.Type()
		}
		return fmt.Errorf("%s: %s%s", c.Code(), c.Message(), details)
	}
	return err
}

// send prints the first error and how many there were.
func send(args []string) error {
	var s sending
	if err := s.parse(args); err != nil {
		return err
	}
	message, err := s.request()
	if err != nil {
		return err
	}
	client, tickets, results := s.client(), make(chan struct{}, s.parallel), make(chan error, s.times)
	for range s.times {
		tickets <- struct{}{}
		go func() {
			results <- s.once(client, message)
			<-tickets
		}()
	}
	var first error
	failed := 0
	for range s.times {
		if err := <-results; err != nil {
			failed++
			if first == nil {
				first = err
			}
		}
	}
	if failed > 0 && s.times > 1 {
		return fmt.Errorf("%w (%d of %d failed)", first, failed, s.times)
	}
	return first
}
