// SPDX-License-Identifier: Apache-2.0
// One location of a stack, which must be that deep.
#ifndef TESTS_SUPPORT_STACK_AT_H
#define TESTS_SUPPORT_STACK_AT_H

#include "base/check.h"
#include "profile/stack.h"

static inline const struct batch_location *stack_at(const struct dictionary *d, uint32_t stack, uint32_t depth)
{
    struct stack_reader r;
    uint32_t location;
    stack_reader_init(&r, d, stack);
    for (uint32_t i = 0; i <= depth; i++)
        CHECK(stack_next(&r, &location));
    return &d->locations[location];
}

#endif
