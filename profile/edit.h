// SPDX-License-Identifier: Apache-2.0
// Copy on write: each function gives a new batch that shares everything but the part that changes.
#ifndef PROFILE_EDIT_H
#define PROFILE_EDIT_H

#include "base/err.h"
#include "profile/batch.h"

// b with the attributes of resource `index` replaced (copied). Scopes, samples and dictionary are shared.
// Takes over the reference in *b and puts the new batch there; on failure *b is unchanged.
enum err_code batch_set_resource_attributes(struct batch **b, uint32_t index, const struct key_value *attributes,
                                            uint32_t count, struct err *e) MUST_USE;

// The same for all profiles of the batch: their time where it is 0 or implausible; see codec/pprof.h for
// what is recorded. `change` gets a private copy of each profile's header and returns true if it changed it.
enum err_code batch_change_profiles(struct batch **b, bool (*change)(void *arg, struct profile *), void *arg,
                                    struct err *e) MUST_USE;

#endif
