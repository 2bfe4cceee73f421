// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share.
#ifndef TESTS_UNIT_PROFILE_FIXTURE_H
#define TESTS_UNIT_PROFILE_FIXTURE_H

// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "profile/builder.h"
#include "profile/edit.h"
#include "profile/validate.h"
#include "tests/support/batch_text.h"
#include "tests/support/random_batch.h"

#include <stdio.h>
#include <stdlib.h>

static inline void assert_valid(const struct batch *b, uint64_t seed)
{
    struct err e = {0};
    if (batch_validate(b, &e) != ERR_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, e.text);
}

static inline char *whole_text(const struct batch *b)
{
    struct buf out;
    buf_init(&out, (size_t)1 << 30);
    batch_text(b, &out);
    buf_add_byte(&out, 0);
    assert_true(buf_ok(&out));
    return (char *)buf_take(&out, &(size_t){0});
}

static inline void assert_same_text(char *a, char *b, uint64_t seed)
{
    size_t at = 0;
    while (a[at] != 0 && a[at] == b[at])
        at++;
    size_t from = at < 60 ? 0 : at - 60;
    if (a[at] != b[at])
        fail_msg("seed %llu: byte %zu: \"%.120s\" is not \"%.120s\"", (unsigned long long)seed, at, a + from, b + from);
    free(a);
    free(b);
}

// The same samples, in whatever order and parts.
static inline void assert_same_samples(struct batch *const *a, size_t a_count, struct batch *const *b, size_t b_count,
                                       uint64_t seed)
{
    assert_same_text(batch_lines(a, a_count), batch_lines(b, b_count), seed);
}

static inline struct batch *finish(struct builder *b)
{
    struct err e = {0};
    struct batch *batch;
    if (builder_finish(b, &batch, &e) != ERR_OK)
        fail_msg("%s", e.text);
    builder_destroy(&b);
    return batch;
}

// Runs `run` with the n-th allocation failing, for n = 1, 2, ... until it succeeds. run frees what it made.
static inline void run_with_failing_memory(bool (*run)(void *arg, struct err *e), void *arg)
{
    for (size_t n = 1;; n++) {
        struct err e = {0};
        mem_fail_from(n);
        bool ok = run(arg, &e);
        mem_fail_from(0);
        if (ok)
            break;
        assert_int_equal(e.code, ERR_MEMORY);
        assert_true(e.text[0] != 0);
        assert_true(n < 1000000);
    }
}

// One resource, or one of its scopes, gets this list of one attribute.
struct attribute_put {
    struct part_attributes_change change;
    uint32_t resource, scope;
    struct key_value attribute;
    bool drops; // the resource instead
};

static inline enum err_code attribute_put(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part,
                                          struct err *e)
{
    const struct attribute_put *p = arg;
    (void)e;
    if (resource != p->resource || scope != p->scope)
        return ERR_OK;
    part->list = &p->attribute;
    part->count = 1;
    part->dropped = p->drops;
    return ERR_OK;
}

static inline enum err_code put_attribute(struct batch **b, struct attribute_put p, struct err *e)
{
    p.change.change = attribute_put;
    p.change.arg = &p;
    return batch_change_part_attributes(b, &p.change, e);
}

#endif
