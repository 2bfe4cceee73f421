// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// home is what a sample is part of, so that it tells the same in whichever part of a profile it travels.
func (r *resolver) home(rp pprofile.ResourceProfiles, sp pprofile.ScopeProfiles, p pprofile.Profile) string {
	return text([]any{mapText(rp.Resource().Attributes()), rp.SchemaUrl(), sp.Scope().Name(), sp.Scope().Version(),
		mapText(sp.Scope().Attributes()), sp.SchemaUrl(), r.valueType(p.SampleType()), r.valueType(p.PeriodType()), p.Period(),
		uint64(p.Time()), p.DurationNano(), p.ProfileID().String(), r.set(p.AttributeIndices())})
}

// digest stands for a long text, with its beginning for people.
func digest(text string) string {
	return fmt.Sprintf("%x %.200s", sha256.Sum256([]byte(text)), text)
}

func samplesAtHome(path string) ([]string, error) {
	req, err := readRequest(path)
	if err != nil {
		return nil, err
	}
	list, r := []string{}, newResolver(req.Profiles().Dictionary())
	for _, rp := range req.Profiles().ResourceProfiles().All() {
		for _, sp := range rp.ScopeProfiles().All() {
			for _, p := range sp.Profiles().All() {
				home := r.home(rp, sp, p)
				for _, s := range p.Samples().All() {
					list = append(list, digest(home+r.sample(s)))
				}
			}
		}
	}
	return list, nil
}

// compareTogether: every sample of the first file is in the others, once, at home in the same profile, and nothing else is.
func compareTogether(args []string) error {
	whole, err := samplesAtHome(args[0])
	if err != nil {
		return err
	}
	parts := []string{}
	for _, path := range args[1:] {
		list, err := samplesAtHome(path)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return errors.New(path + " has no samples")
		}
		parts = append(parts, list...)
	}
	slices.Sort(whole)
	slices.Sort(parts)
	if slices.Equal(whole, parts) {
		return nil
	}
	missing, missingCount := onlyIn(whole, parts)
	extra, extraCount := onlyIn(parts, whole)
	fmt.Printf("%d samples are missing, e.g. %.1000v\n%d are too many, e.g. %.1000v\n", missingCount, missing, extraCount, extra)
	return errDiffers
}
