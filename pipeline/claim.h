// SPDX-License-Identifier: Apache-2.0
// What one piece of work holds of the budget while nobody knows yet how much it will need: decoding tries with what it
// has, and asks for more when that was not enough.
#ifndef PIPELINE_CLAIM_H
#define PIPELINE_CLAIM_H

#include "base/err.h"
#include "pipeline/budget.h"

struct claim {
    struct budget *budget;
    size_t bytes;
};

// At least so much. ERR_MEMORY: there is no room now; what is held stays.
enum err_code claim_at_least(struct claim *c, size_t bytes, struct err *e) MUST_USE;
// After an attempt failed with e for want of room: `times` as much, up to the whole budget. ERR_LIMIT: that much was held
// already, e names the budget.
enum { CLAIM_TIMES = 4 }; // for who knows no better
enum err_code claim_more(struct claim *c, size_t times, struct err *e) MUST_USE;
// Exactly so much, when the need is known. ERR_MEMORY as above.
enum err_code claim_exactly(struct claim *c, size_t bytes, struct err *e) MUST_USE;
void claim_end(struct claim *c); // gives all back

// What a decoder may take, beside `other` bytes that the claim is for: at least 1.
static inline size_t claim_room(const struct claim *c, size_t other)
{
    return c->bytes > other ? c->bytes - other : 1;
}

#endif
