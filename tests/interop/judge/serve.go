// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
)

const maxBodyBytes = 256 << 20

// behaviour is what the next `times` requests meet (times < 0: all that follow).
type behaviour struct {
	status, retryAfter, times int
	delay                     time.Duration
	partial                   int64
	cut                       bool
}

type server struct {
	out      string
	mu       sync.Mutex
	next     int
	requests int
	now      behaviour
}

func (s *server) take() behaviour {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.now.times == 0 {
		return behaviour{status: http.StatusOK}
	}
	if s.now.times > 0 {
		s.now.times--
	}
	return s.now
}

// control sets the behaviour; without parameters everything is well again. The answer is the request count.
func (s *server) control(w http.ResponseWriter, r *http.Request) {
	number := func(q url.Values, name string, or int) int {
		if n, err := strconv.Atoi(q.Get(name)); err == nil {
			return n
		}
		return or
	}
	q := r.URL.Query()
	b := behaviour{status: number(q, "status", http.StatusOK), retryAfter: number(q, "retry_after", -1),
		times: number(q, "times", -1), delay: time.Duration(number(q, "delay_ms", 0)) * time.Millisecond,
		partial: int64(number(q, "partial", 0)), cut: number(q, "cut", 0) != 0}
	s.mu.Lock()
	if s.now = b; len(q) == 0 {
		s.now = behaviour{}
	}
	fmt.Fprintf(w, "{\"requests\": %d, \"stored\": %d}\n", s.requests, s.next)
	s.mu.Unlock()
}

func inflate(r *http.Request) (io.ReadCloser, error) {
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
		return r.Body, nil
	case "gzip":
		return gzip.NewReader(r.Body)
	case "zstd":
		d, err := zstd.NewReader(r.Body, zstd.WithDecoderMaxMemory(maxBodyBytes))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("content-encoding %q", r.Header.Get("Content-Encoding"))
}

func readBody(r *http.Request) ([]byte, error) {
	if t := r.Header.Get("Content-Type"); t != "application/x-protobuf" {
		return nil, fmt.Errorf("content-type %q", t)
	}
	if v, ok := r.Header["Otlp-Profiles-Development-Version"]; ok && (len(v) != 1 || v[0] != "1") {
		return nil, fmt.Errorf("invalid or unsupported otlp-profiles-development-version: %q", v)
	}
	body, err := inflate(r)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(io.LimitReader(body, maxBodyBytes))
}

func writeAtomically(path string, data []byte) error {
	if err := os.WriteFile(path+".part", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// store writes NNNNNN.headers.json, then NNNNNN.otlp (or NNNNNN.bad when pdata refused it).
func (s *server) store(r *http.Request, body []byte, kind string) error {
	s.mu.Lock()
	s.next++
	base := filepath.Join(s.out, fmt.Sprintf("%06d", s.next))
	s.mu.Unlock()
	headers, err := json.Marshal(r.Header)
	if err != nil {
		return err
	}
	return errors.Join(writeAtomically(base+".headers.json", headers), writeAtomically(base+kind, body))
}

func answer(w http.ResponseWriter, status int, m []byte) {
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.WriteHeader(status)
	_, _ = w.Write(m)
}

func answerError(w http.ResponseWriter, status int, message string) {
	m, err := proto.Marshal(&spb.Status{Message: message})
	if err != nil {
		panic(err)
	}
	answer(w, status, m)
}

func decodeGuarded(body []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	_, err = decodeOtlp(body)
	return err
}

func success(partial int64) []byte {
	resp := pprofileotlp.NewExportResponse()
	if partial > 0 {
		resp.PartialSuccess().SetRejectedProfiles(partial)
		resp.PartialSuccess().SetErrorMessage("told to reject them")
	}
	m, err := resp.MarshalProto()
	if err != nil {
		panic(err)
	}
	return m
}

func (s *server) export(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r)
	b := s.take()
	if err != nil {
		answerError(w, http.StatusBadRequest, err.Error())
		return
	}
	select {
	case <-time.After(b.delay):
	case <-r.Context().Done():
		return
	}
	if b.cut {
		panic(http.ErrAbortHandler)
	}
	if b.status != http.StatusOK {
		if b.retryAfter >= 0 {
			w.Header().Set("Retry-After", strconv.Itoa(b.retryAfter))
		}
		answerError(w, b.status, "told to answer so")
		return
	}
	if err = decodeGuarded(body); err != nil {
		_ = s.store(r, body, ".bad")
		answerError(w, http.StatusBadRequest, err.Error())
		return
	}
	if err = s.store(r, body, ".otlp"); err != nil {
		answerError(w, http.StatusInternalServerError, err.Error())
		return
	}
	answer(w, http.StatusOK, success(b.partial))
}

func serve(args []string) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	portFile := flags.String("port-file", "", "gets the port")
	out := flags.String("out", "", "folder of what arrives")
	var files tlsFiles
	files.register(flags)
	if err := flags.Parse(args); err != nil || *portFile == "" || *out == "" {
		return errors.New("serve needs -port-file F -out DIR")
	}
	config, err := files.forServer()
	if err != nil {
		return err
	}
	if err = os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &server{out: *out}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1development/profiles", s.export)
	mux.HandleFunc("POST /control", s.control)
	h := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	if config != nil {
		l = tls.NewListener(l, config)
	}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	go func() {
		<-stop.Done()
		_ = h.Close()
	}()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	if err = writeAtomically(*portFile, []byte(port+"\n")); err != nil {
		return err
	}
	if err = h.Serve(l); errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
