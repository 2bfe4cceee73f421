// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func pack(data []byte, compression string) ([]byte, error) {
	var out bytes.Buffer
	var w io.WriteCloser
	switch compression {
	case "":
		return data, nil
	case "gzip":
		w = gzip.NewWriter(&out)
	case "zstd":
		w, _ = zstd.NewWriter(&out)
	default:
		return nil, fmt.Errorf("compression %q", compression)
	}
	_, err := w.Write(data)
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

type httpSender struct {
	client      http.Client
	url         string
	contentType string
	compression string
	body        []byte
}

func (h *httpSender) readAnswer(status int, body []byte) error {
	json := h.contentType == "application/json"
	if status != http.StatusOK {
		var st spb.Status
		read := proto.Unmarshal
		if json {
			read = protojson.Unmarshal
		}
		if err := read(body, &st); err != nil {
			return fmt.Errorf("%d, and no google.rpc.Status: %q", status, body)
		}
		return errors.New(fmt.Sprint(status, " ") + describeStatus(&st))
	}
	resp := pprofileotlp.NewExportResponse()
	read := resp.UnmarshalProto
	if json {
		read = resp.UnmarshalJSON
	}
	if err := read(body); err != nil {
		return err
	}
	return partialError(resp)
}

func (h *httpSender) send() error {
	req, err := http.NewRequest(http.MethodPost, h.url, bytes.NewReader(h.body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", h.contentType)
	req.Header.Set("Otlp-Profiles-Development-Version", "1")
	if h.compression != "" {
		req.Header.Set("Content-Encoding", h.compression)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBodyBytes))
	if err != nil {
		return err
	}
	if t := resp.Header.Get("Content-Type"); t != h.contentType {
		return fmt.Errorf("%d, content-type %q", resp.StatusCode, t)
	}
	return h.readAnswer(resp.StatusCode, body)
}

// httpSend exports over HTTP/1.1 or HTTP/2 with Go's client; body and answer are pdata's.
func httpSend(args []string) error {
	var s sending
	flags := flag.NewFlagSet("http-send", flag.ContinueOnError)
	json := flags.Bool("json", false, "send JSON")
	http2 := flags.Bool("http2", false, "over HTTP/2")
	if err := s.parse(flags, args); err != nil {
		return err
	}
	config, err := s.files.forClient()
	if err != nil {
		return err
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!*http2)
	protocols.SetHTTP2(*http2)
	protocols.SetUnencryptedHTTP2(*http2)
	h := httpSender{url: s.to + "/v1development/profiles", contentType: "application/x-protobuf", compression: s.compression}
	h.client = http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		TLSClientConfig: config, Protocols: protocols, MaxIdleConnsPerHost: s.parallel}}
	write := s.request.MarshalProto
	if *json {
		h.contentType, write = "application/json", s.request.MarshalJSON
	}
	raw, err := write()
	if err != nil {
		return err
	}
	if h.body, err = pack(raw, s.compression); err != nil {
		return err
	}
	return s.all(h.send)
}
