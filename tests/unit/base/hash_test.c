// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"

#include <stdlib.h>

static void same_bytes_same_hash(void **state)
{
    (void)state;
    char a[] = "main.work", b[] = "main.work";
    assert_true(hash_bytes(a, 9) == hash_bytes(b, 9));
    assert_true(hash_bytes(a, 9) != hash_bytes(a, 8));
    assert_true(hash_bytes(NULL, 0) == hash_bytes("", 0));
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void no_collisions_among_many(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    uint64_t *hashes = malloc(COUNT * sizeof *hashes);
    assert_non_null(hashes);
    for (uint64_t i = 0; i < COUNT; i++)
        hashes[i] = i % 2 ? hash_bytes(&i, sizeof i) : hash_mix(1, i);
    qsort(hashes, COUNT, sizeof *hashes, by_value);
    for (size_t i = 1; i < COUNT; i++)
        assert_true(hashes[i] != hashes[i - 1]);
    free(hashes);
}

static void mixing_depends_on_order(void **state)
{
    (void)state;
    assert_true(hash_mix(hash_mix(0, 1), 2) != hash_mix(hash_mix(0, 2), 1));
}

// The value is on disks of users: it must never change. XXH3's published 128-bit value for the empty input.
static void content_hash_is_the_same_everywhere(void **state)
{
    (void)state;
    struct hash128 h = hash_content("", 0);
    assert_true(h.high == 0x99aa06d3014798d8u);
    assert_true(h.low == 0x6001c324468d497fu);
    struct hash128 a = hash_content("a", 1), b = hash_content("b", 1);
    assert_true(a.high != b.high && a.low != b.low);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bytes_same_hash),
        cmocka_unit_test(no_collisions_among_many),
        cmocka_unit_test(mixing_depends_on_order),
        cmocka_unit_test(content_hash_is_the_same_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
