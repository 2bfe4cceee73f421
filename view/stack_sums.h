// SPDX-License-Identifier: Apache-2.0
// The values of samples added up per stack: a batch has far fewer stacks than samples.
#ifndef VIEW_STACK_SUMS_H
#define VIEW_STACK_SUMS_H

#include "profile/batch.h"

struct stack_sum {
    int64_t value;
    uint64_t samples;
};

struct stack_sums {
    struct stack_sum *items; // by stack
    uint32_t *touched;       // stacks with samples, in the order they came
    uint32_t touched_count;
};

bool stack_sums_init(struct stack_sums *s, uint32_t stack_count) MUST_USE; // false: out of memory
void stack_sums_fini(struct stack_sums *s);
void stack_sums_add(struct stack_sums *s, const struct profile *p);
void stack_sums_clear(struct stack_sums *s); // costs the touched only

// The values of a sample; one for each timestamp where it has these alone.
int64_t sample_value(const struct observations *o, uint32_t sample);
int64_t sum_saturated(int64_t a, int64_t b); // stays at the ends of int64

#endif
