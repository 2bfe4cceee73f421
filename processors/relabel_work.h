// SPDX-License-Identifier: Apache-2.0
// Inside processors/: rules over a batch. What no rule changes is the same batch afterwards; *batch is NULL when all of it
// was dropped, and as it came after an error.
#ifndef PROCESSORS_RELABEL_WORK_H
#define PROCESSORS_RELABEL_WORK_H

#include "processors/relabel_cache.h"
#include "processors/relabel_context.h"

struct relabel_work {
    const struct relabel_rules *rules;
    struct relabel_cache *cache; // NULL = none: answers depend on more than the attributes, or are to be traced
    struct relabel_view view;
    struct relabel_context context;
    struct unit_attribute *own; // of the resource at hand
    size_t own_capacity;
};

void relabel_work_init(struct relabel_work *w, const struct relabel_rules *rules, bool scope, bool profile);
void relabel_work_fini(struct relabel_work *w);
bool relabel_work_is_large(const struct relabel_work *w); // it holds more memory than should wait for the next batch

// Labels are the attributes of a resource; those that are dropped go as a whole.
enum err_code relabel_resources(struct relabel_work *w, struct batch **batch, struct err *e) MUST_USE;
// Labels are the attributes of a sample, and those of its resource below; samples are dropped, and what rules change is
// written to the samples. The rules run once (or, where they drop and change, twice) for each pair of a resource and a set
// of attributes.
enum err_code relabel_samples(struct relabel_work *w, struct batch **batch, struct err *e) MUST_USE;

#endif
