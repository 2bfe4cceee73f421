// SPDX-License-Identifier: Apache-2.0
// How a stack lies in a dictionary: the ids of its locations as varints of the least size, behind each other. These
// are the bytes of OTLP's location_indices, and mostly those of pprof's location_id, so that they are copied
// instead of decoded, and take half the memory of plain numbers.
#ifndef PROFILE_STACK_H
#define PROFILE_STACK_H

#include "profile/batch.h"

enum { STACK_ID_BYTES = 5 }; // at most

// Goes through the locations of one stack, leaf first.
struct stack_reader {
    const uint8_t *at, *end;
};

static inline void stack_reader_init(struct stack_reader *r, const struct dictionary *d, uint32_t stack)
{
    struct batch_range range = d->stacks[stack];
    *r = (struct stack_reader){NULL, NULL};
    if (range.count > 0) // else there may be no bytes at all
        *r = (struct stack_reader){d->stack_bytes + range.start, d->stack_bytes + range.start + range.count};
}

static inline bool stack_next(struct stack_reader *r, uint32_t *location_out)
{
    if (r->at == r->end)
        return false;
    uint32_t byte = *r->at++, id = byte & 0x7f;
    for (unsigned shift = 7; byte >= 0x80; shift += 7) {
        byte = *r->at++;
        id |= (byte & 0x7f) << shift;
    }
    *location_out = id;
    return true;
}

// Writes one id and gives the place behind it; STACK_ID_BYTES must be free.
static inline uint8_t *stack_put(uint8_t *to, uint32_t location)
{
    for (; location >= 0x80; location >>= 7)
        *to++ = (uint8_t)(location | 0x80);
    *to++ = (uint8_t)location;
    return to;
}

static inline uint32_t stack_id_size(uint32_t location)
{
    return (uint32_t)(31 - __builtin_clz(location | 1)) / 7 + 1;
}

// How many ids lie in the bytes: each ends with its one byte below 0x80.
static inline uint32_t stack_count_ids(const uint8_t *bytes, size_t size)
{
    uint32_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += bytes[i] < 0x80;
    return count;
}

static inline uint32_t stack_depth(const struct dictionary *d, uint32_t stack)
{
    struct batch_range range = d->stacks[stack];
    return range.count == 0 ? 0 : stack_count_ids(d->stack_bytes + range.start, range.count);
}

#endif
