// SPDX-License-Identifier: Apache-2.0
// Which sample type a tree is made of.
#ifndef VIEW_SAMPLE_TYPES_H
#define VIEW_SAMPLE_TYPES_H

#include "view/call_tree.h"

typedef bool visit_profile_fn(void *arg, const struct profile *p);

// Calls visit for each profile of a batch until it says false; what the last call said, true without one.
bool batch_each_profile(const struct batch *b, visit_profile_fn *visit, void *arg);
// Is this a name of the type: "cpu", or "cpu/nanoseconds"?
bool sample_type_is(struct bytes name, struct bytes type, struct bytes unit);
// The ids of the sample type named ("cpu" or "cpu/nanoseconds"; len 0 = that of the first profile).
enum err_code sample_type_choose(const struct batch *b, struct bytes name, struct value_type *out,
                                 struct err *e) MUST_USE;
// Those of the same type and unit in another batch.
enum err_code sample_type_same(const struct batch *b, struct bytes type, struct bytes unit, struct value_type *out,
                               struct err *e) MUST_USE;

#endif
