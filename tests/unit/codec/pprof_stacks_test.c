// SPDX-License-Identifier: Apache-2.0
// Stacks on the way from the file to the dictionary: ids that are copied, looked up, spelled long, and not there.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/stack_at.h"
#include "tests/unit/codec/pprof_fixture.h"

enum { MANY = 17000 }; // its ids have one, two and three bytes

// Location k (from 1) has the id k + shift and the address k.
static void begin_many(struct pprof_bytes *p, uint64_t count, uint64_t shift)
{
    pprof_bytes_init(p);
    pprof_bytes_type(p, "cpu", "nanoseconds");
    for (uint64_t k = 1; k <= count; k++)
        pprof_bytes_location(p, k + shift, 0, k, 0);
}

static void add_stack(struct pprof_bytes *p, const uint64_t *ids, uint32_t count, uint64_t shift)
{
    uint64_t shifted[64];
    const int64_t value = 1;
    for (uint32_t i = 0; i < count; i++)
        shifted[i] = ids[i] + shift;
    pprof_bytes_sample(p, shifted, count, &value, 1, NULL, 0);
}

// Stack s has 2 to 40 ids; which sizes they have depends on s, too.
static uint32_t make_stack(uint64_t *ids, uint32_t s)
{
    static const uint32_t ranges[] = {100, 300, 16000, 16500, MANY};
    uint32_t count = 2 + s % 39, range = ranges[s % COUNT_OF(ranges)];
    for (uint32_t i = 0; i < count; i++)
        ids[i] = 1 + (s * 7919 + i * 104729) % range;
    return count;
}

static void assert_stacks(const struct batch *b, uint32_t stacks)
{
    const struct dictionary *d = b->dictionary;
    for (uint32_t s = 0; s < stacks; s++) {
        uint64_t ids[64];
        uint32_t count = make_stack(ids, s), stack = profile_of(b, 0)->columns->stacks[s];
        assert_int_equal(stack_depth(d, stack), count);
        for (uint32_t i = 0; i < count; i++)
            assert_int_equal(stack_at(d, stack, i)->address, ids[i]);
    }
}

static void ids_of_all_sizes(void **state)
{
    (void)state;
    enum { STACKS = 400 };
    static const uint64_t shifts[] = {0, 1, 50000, (uint64_t)1 << 40};
    for (size_t k = 0; k < COUNT_OF(shifts); k++) {
        struct pprof_bytes p;
        uint64_t ids[64];
        begin_many(&p, MANY, shifts[k]);
        for (uint32_t s = 0; s < STACKS; s++)
            add_stack(&p, ids, make_stack(ids, s), shifts[k]);
        struct batch *b = decode_good(&p);
        assert_stacks(b, STACKS);
        assert_false(b->dictionary->every_location_used);
        batch_unref(&b);
        pprof_bytes_fini(&p);
    }
}

// Location 0 and one past the last at each place of a list, among ids of two bytes.
static void ids_that_are_not_there(void **state)
{
    (void)state;
    static const struct {
        uint64_t count, bad;
    } cases[] = {{600, 601}, {600, 0}, {600, 16383}, {17000, 0}, {17000, 17001}, {200, 201}, {200, 1000}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        for (uint32_t place = 0; place < 9; place++) {
            struct pprof_bytes p;
            uint64_t ids[9];
            for (uint32_t i = 0; i < COUNT_OF(ids); i++)
                ids[i] = i == place ? cases[c].bad : 150 + i;
            begin_many(&p, cases[c].count, 0);
            add_stack(&p, ids, COUNT_OF(ids), 0);
            refuse(&p, "sample 0: location id");
        }
    }
}

static void add_packed(struct pprof_bytes *p, struct bytes ids)
{
    uint8_t sample[128];
    struct buf out;
    buf_init(&out, sizeof sample);
    wire_put_bytes(&out, 1, ids);
    wire_put_bytes(&out, 2, BYTES_LITERAL("\1"));
    assert_true(buf_ok(&out));
    wire_put_bytes(&p->out, 2, buf_bytes(&out));
    buf_fini(&out);
}

static void long_spellings_are_the_same_stack(void **state)
{
    (void)state;
    for (uint64_t shift = 0; shift <= 1; shift++) {
        struct pprof_bytes p;
        begin_many(&p, 600, 0);
        if (shift == 1) // ids with a gap are looked up
            pprof_bytes_location(&p, 900, 0, 900, 0);
        const uint64_t ids[] = {2, 200, 201, 3, 4, 5, 200};
        add_stack(&p, ids, COUNT_OF(ids), 0);
        add_packed(&p, BYTES_LITERAL("\x82\x00\xc8\x01\xc9\x01\x83\x00\x84\x00\x85\x80\x80\x00\xc8\x81\x00"));
        add_packed(&p, BYTES_LITERAL("\x02\xc8\x81\x80\x80\x80\x80\x00\xc9\x81\x00\x83\x00\x84\x00\x85\x00\xc8\x01"));
        struct batch *b = decode_good(&p);
        const uint32_t *stacks = profile_of(b, 0)->columns->stacks;
        assert_int_equal(stack_depth(b->dictionary, stacks[0]), COUNT_OF(ids));
        assert_int_equal(stacks[0], stacks[1]);
        assert_int_equal(stacks[0], stacks[2]);
        batch_unref(&b);
        pprof_bytes_fini(&p);
    }
}

static void assert_used(uint64_t count, uint64_t shift, uint64_t left_out)
{
    struct pprof_bytes p;
    begin_many(&p, count, shift);
    uint64_t ids[32];
    uint32_t n = 0;
    for (uint64_t id = 1; id <= count; id++) {
        if (id != left_out)
            ids[n++] = id;
        if (n == COUNT_OF(ids) || id == count) {
            add_stack(&p, ids, n, shift);
            n = 0;
        }
    }
    struct batch *b = decode_good(&p); // validates
    assert_int_equal(b->dictionary->every_location_used, left_out == 0 && shift == 0);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void it_is_known_when_every_location_is_used(void **state)
{
    (void)state;
    assert_used(1000, 0, 0);
    assert_used(1000, 0, 1);
    assert_used(1000, 0, 500);
    assert_used(1000, 0, 1000);
    assert_used(MANY, 0, 0);
    assert_used(1000, 7, 0);
}

static void memory_follows_the_ids(void **state)
{
    (void)state;
    struct pprof_bytes p;
    begin_many(&p, 300, 0);
    uint64_t ids[40];
    for (uint32_t i = 0; i < COUNT_OF(ids); i++)
        ids[i] = 130 + i;
    add_stack(&p, ids, COUNT_OF(ids), 0);
    struct batch *b = decode_good(&p);
    assert_int_equal(b->dictionary->stack_byte_count, 2 * COUNT_OF(ids));
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_of_all_sizes),
        cmocka_unit_test(ids_that_are_not_there),
        cmocka_unit_test(long_spellings_are_the_same_stack),
        cmocka_unit_test(it_is_known_when_every_location_is_used),
        cmocka_unit_test(memory_follows_the_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
