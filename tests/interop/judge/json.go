// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"

	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
)

// otlpToJSON writes a request as the Collector's file exporter does, and with "request" as its OTLP exporter does.
func otlpToJSON(args []string) error {
	r, err := readRequest(args[0])
	if err != nil {
		return err
	}
	var data []byte
	if len(args) == 3 && args[2] == "request" {
		data, err = r.MarshalJSON()
	} else {
		data, err = (&pprofile.JSONMarshaler{}).MarshalProfiles(r.Profiles())
	}
	if err != nil {
		return refusal{err}
	}
	return os.WriteFile(args[1], data, 0o644)
}

// otlpFromJSON reads a request by both ways that pdata has.
func otlpFromJSON(args []string) error {
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	profiles, err := (&pprofile.JSONUnmarshaler{}).UnmarshalProfiles(data)
	if err != nil {
		return refusal{err}
	}
	if err := pprofileotlp.NewExportRequest().UnmarshalJSON(data); err != nil {
		return refusal{err}
	}
	out, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(profiles)
	if err != nil {
		return refusal{err}
	}
	return os.WriteFile(args[1], out, 0o644)
}
