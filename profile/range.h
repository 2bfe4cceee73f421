// SPDX-License-Identifier: Apache-2.0
// Inside profile/: the part of a batch between two places.
#ifndef PROFILE_RANGE_H
#define PROFILE_RANGE_H

#include "profile/batch.h"

// Everything in front of profile `profile` of that scope is before the place. With sample > 0 the `count`
// profiles from there on (which share columns) are cut at that sample.
struct place {
    uint32_t resource, scope, profile, count, sample;
};

// What lies in [from, to), sharing all that is whole. {resource_count} is the end. NULL when out of memory.
struct batch *batch_range_between(struct batch *b, struct place from, struct place to) MUST_USE;

#endif
