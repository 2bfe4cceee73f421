// SPDX-License-Identifier: Apache-2.0
// Moves samples to other resources: a profile of a whole host becomes one for each of its pods. Every sample lands in
// exactly one resource; linear in the samples, however many resources there are. The dictionary is shared.
#ifndef PROFILE_REGROUP_H
#define PROFILE_REGROUP_H

#include "base/err.h"
#include "profile/batch.h"

struct regroup; // one run

// What the new resources and scopes may take together: each has a copy of all its attributes.
#define REGROUP_MAX_BYTES ((size_t)64 << 20)

struct regroup_case {
    uint32_t resource, profile_set, sample_set; // of a profile without samples: sample_set 0
};

struct regroup_rule {
    // Where all samples of this case go. Asked for each case in use and remembered while the profiles at hand are alike.
    enum err_code (*place)(void *arg, struct regroup *g, struct regroup_case at, uint32_t *destination_out,
                           struct err *e);
    void *arg;
};

// The resource that is as `resource` of the batch, but has these attributes (copied). Resources that say the same are one,
// the order of attributes aside; so are, in one resource, scopes that say the same. ERR_LIMIT: REGROUP_MAX_BYTES.
enum err_code regroup_destination(struct regroup *g, uint32_t resource, const struct key_value *attributes,
                                  uint32_t count, uint32_t *destination_out, struct err *e) MUST_USE;
// The same with the attributes it has.
enum err_code regroup_stay(struct regroup *g, uint32_t resource, uint32_t *destination_out, struct err *e) MUST_USE;

// Puts the new batch into *b, sharing what is the same (*b itself if all is). A profile that is cut loses its original
// payload. After a failure *b is as it came.
enum err_code batch_regroup(struct batch **b, const struct regroup_rule *rule, struct err *e) MUST_USE;

#endif
