// SPDX-License-Identifier: Apache-2.0
// Sums profiles: those of one scope that are of one kind (sample type, period, attributes) become one, in which each pair of
// stack, attributes and link has one sample. Values stay exact: what does not fit into one sample gets another. Of
// timestamps the range stays, in the time and duration of the profile; a timestamp without a value counts 1.
#ifndef PROFILE_AGGREGATE_H
#define PROFILE_AGGREGATE_H

#include "base/err.h"
#include "profile/batch.h"

struct aggregate_rule {
    // False: this profile stays as it is. NULL = all are summed.
    bool (*sums)(void *arg, const struct batch *b, const struct profile *p);
    void *arg;
};

// Resources that say the same are one afterwards, and so are their scopes. A profile that has no other of its kind stays as
// it is; one that is summed loses its id and its original payload. After a failure *b is as it came.
enum err_code batch_aggregate(struct batch **b, const struct aggregate_rule *rule, struct err *e) MUST_USE;

#endif
