// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "profile/validate.h"
#include "tests/unit/codec/pprof_fixture.h"

static void samples_without_types(void **state)
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_sample(&p, NULL, 0, NULL, 0, NULL, 0);
    refuse(&p, "1 samples but no sample types");
}

static void dangling_and_zero_ids(void **state) // A6, A10
{
    (void)state;
    struct pprof_bytes p;
    begin(&p);
    add_sample(&p, 0, NULL, 0);
    refuse(&p, "sample 0: location id 0 is not in the profile");
    begin(&p);
    pprof_bytes_location(&p, 0, 0, 1, 0);
    refuse(&p, "location 1: its id is 0");
    begin(&p);
    pprof_bytes_function(&p, 0, "f");
    refuse(&p, "function 1: its id is 0");
    begin(&p);
    pprof_bytes_mapping(&p, 0, "f", NULL);
    refuse(&p, "mapping 0: its id is 0");
    begin(&p);
    pprof_bytes_location(&p, 2, 0, 1, 77);
    refuse(&p, "location 1: line 0: function id 77 is not in the profile");
    begin(&p);
    static const uint64_t packed[] = {1, 98765};
    const int64_t value = 1;
    pprof_bytes_sample(&p, packed, 2, &value, 1, NULL, 0);
    refuse(&p, "sample 0: location id 98765 is not in the profile");
}

static void strings_out_of_range(void **state) // A6
{
    (void)state;
    static const uint64_t wrong[] = {1000, UINT64_MAX, (uint64_t)1 << 32};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct pprof_bytes p;
        begin(&p);
        pprof_bytes_message(&p, 5, (const uint64_t[]){2, wrong[i]}, 2);
        refuse(&p, "function 1: name is string ");
        begin(&p);
        pprof_bytes_message(&p, 3, (const uint64_t[]){2, 0, 0, 0, wrong[i]}, 5);
        refuse(&p, "mapping 0: filename is string ");
        begin(&p);
        pprof_bytes_message(&p, 1, (const uint64_t[]){wrong[i]}, 1);
        refuse(&p, "sample type 1: its type is string ");
        for (uint32_t field = 7; field <= 15; field++) {
            if (field > 8 && field < 13)
                continue;
            begin(&p);
            pprof_bytes_number(&p, field, wrong[i]);
            refuse(&p, "is string ");
        }
    }
}

static void values_must_match_the_types(void **state)
{
    (void)state;
    static const int64_t values[] = {1, 2};
    struct pprof_bytes p;
    begin(&p);
    pprof_bytes_sample(&p, NULL, 0, values, 2, NULL, 0);
    refuse(&p, "sample 0: it has 2 values, but the profile has 1 sample types");
    begin(&p);
    pprof_bytes_sample(&p, NULL, 0, NULL, 0, NULL, 0);
    refuse(&p, "sample 0: it has 0 values");
}

static void concatenated_profiles(void **state)
{
    (void)state;
    struct pprof_bytes p;
    begin(&p);
    pprof_bytes_number(&p, 9, 5);
    pprof_bytes_number(&p, 9, 0);
    struct batch *b = decode_good(&p);
    assert_int_equal(profile_of(b, 0)->time_nanos, 5);
    batch_unref(&b);
    pprof_bytes_number(&p, 9, 6);
    refuse(&p, "concatenated profiles");
}

static void damaged_samples(void **state)
{
    (void)state;
    static const struct {
        struct bytes sample;
        const char *text;
    } cases[] = {
        {{(const uint8_t *)"\x0a\x02\x01\x81", 4}, "location ids are damaged"},
        {{(const uint8_t *)"\x0a\x0b\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 13}, "location ids are damaged"},
        {{(const uint8_t *)"\x0a\x0a\x81\x80\x80\x80\x80\x80\x80\x80\x80\x02", 12}, "location ids are damaged"},
        {{(const uint8_t *)"\x12\x01\xff", 3}, "values are damaged"},
        {{(const uint8_t *)"\x0a\x05\x01", 3}, "runs past the end"},
        {{(const uint8_t *)"\x0d\x01\x01\x01\x01", 5}, "field 1 has wire type 5"},
        {{(const uint8_t *)"\x18\x01", 2}, "field 3 has wire type 0"},
        {{(const uint8_t *)"\x1a\x02\x0a\x00", 4}, "field 1 has wire type 2"},
        {{(const uint8_t *)"\x1a\x02\x08\x63", 4}, "a label's key is string 99"},
        {{(const uint8_t *)"\x1a\x02\x10\x63", 4}, "a label's text is string 99"},
        {{(const uint8_t *)"\x10\x01\x1a\x02\x20\x63", 6}, "a label's unit is string 99"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pprof_bytes p;
        begin(&p);
        wire_put_bytes(&p.out, 2, cases[i].sample);
        refuse(&p, cases[i].text);
    }
}

static void fields_that_do_not_fit(void **state)
{
    (void)state;
    for (uint32_t field = 1; field <= 15; field++) {
        struct pprof_bytes p;
        begin(&p);
        wire_put_tag(&p.out, field, WIRE_FIXED32);
        buf_add(&p.out, "\1\2\3\4", 4);
        refuse_with(buf_bytes(&p.out), NULL, ERR_INVALID, field == 13 ? "wrong wire type" : "has wire type 5");
        pprof_bytes_fini(&p);
    }
    struct pprof_bytes p;
    begin(&p);
    pprof_bytes_number(&p, 99, 5); // unknown: skipped
    wire_put_bytes(&p.out, 16, BYTES_LITERAL("new"));
    struct batch *b = decode_good(&p);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void other_formats_are_named(void **state) // A29 to A34
{
    (void)state;
    static const struct {
        struct bytes data;
        const char *what;
    } cases[] = {
        {{(const uint8_t *)"go 1.22 trace\0\0\0", 16}, "Go execution trace"},
        {{(const uint8_t *)"<!DOCTYPE html><html></html>", 28}, "HTML"},
        {{(const uint8_t *)"\n  <html>", 9}, "HTML"},
        {{(const uint8_t *)"FLR\0\0\2\0\1", 8}, "JFR recording"},
        {{(const uint8_t *)"goroutine 1 [running]:\nmain.main()", 34}, "Go stack dump"},
        {{(const uint8_t *)"goroutine profile: total 5\n", 27}, "Go count profile"},
        {{(const uint8_t *)"heap profile: 1: 2 [3: 4] @ heap/524288", 39}, "heap profile"},
        {{(const uint8_t *)"heap_v2/524288\n  t*: 1: 2 [0: 0]", 32}, "jemalloc"},
        {{(const uint8_t *)"jemalloc: a line\nanother\nheap_v2/524288\n", 40}, "jemalloc"},
        {{(const uint8_t *)"--- symbol\nbinary=todo.php\n", 27}, "symbolized profile"},
        {{(const uint8_t *)"main;work;leaf 12\nmain 3\n", 25}, "folded"},
        {{(const uint8_t *)"# mode: cpu\n\n[main;work] 1.5\r\n", 30}, "folded"},
        {{(const uint8_t *)"\377\376a\0;\0", 6}, "UTF-16"},
        {{(const uint8_t *)"\x0a\x04\x0a\x00\x12\x00", 6}, "OTLP"},
        {{(const uint8_t *)"PERFILE2\x68\0\0\0", 12}, "perf.data"},
        {{(const uint8_t *)"\177ELF\2\1\1\0", 8}, "ELF"},
        {{(const uint8_t *)"\211PNG\r\n\32\n", 8}, "PNG"},
        {{(const uint8_t *)"/usr/bin/app\0--flag", 19}, "text"},
        {{(const uint8_t *)"{\"profiles\": []}", 16}, "JSON"},
        {{(const uint8_t *)"\0\0\0\0\3\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 20}, "binary CPU profile"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        refuse_with(cases[i].data, NULL, ERR_UNSUPPORTED, cases[i].what);
    static const uint8_t zeros[100]; // what a crash leaves of a file
    refuse_with((struct bytes){zeros, sizeof zeros}, NULL, ERR_INVALID, "zero bytes");
    refuse_with((struct bytes){zeros, 1}, NULL, ERR_INVALID, "not a pprof profile");
    refuse_with(BYTES_LITERAL("\xff\xff\xff\xff"), NULL, ERR_INVALID, "not a pprof profile");
    assert_null(pprof_describe_other((struct bytes){0}));
    assert_null(pprof_describe_other(BYTES_LITERAL("\x0a\x04\x08\x01\x10\x02")));
}

static void limits_are_named(void **state)
{
    (void)state;
    static const struct test_label labels[] = {{"a", "b", 0, NULL}, {"c", "d", 0, NULL}};
    static const uint64_t stack[] = {1, 1, 1};
    struct pprof_bytes p;
    begin(&p);
    pprof_bytes_type(&p, "second", "x");
    pprof_bytes_sample(&p, stack, 3, (const int64_t[]){1, 2}, 2, labels, 2);
    pprof_bytes_sample(&p, stack, 3, (const int64_t[]){1, 2}, 2, labels, 2);
    struct decode_limits limits = decode_default_limits;
    struct decode_options o = {.limits = &limits};
    limits.max_sample_types = 1;
    refuse_with(buf_bytes(&p.out), &o, ERR_LIMIT, "max_sample_types: the profile has at least 2 sample types, allowed");
    limits.max_sample_types = 2;
    limits.max_samples = 1;
    refuse_with(buf_bytes(&p.out), &o, ERR_LIMIT, "max_samples: the profile has at least 2 samples, allowed are 1");
    limits.max_samples = 2;
    limits.max_stack_depth = 2;
    refuse_with(buf_bytes(&p.out), &o, ERR_LIMIT, "sample 0: max_stack_depth: it has 3 locations, allowed are 2");
    limits.max_stack_depth = 3;
    limits.max_labels = 1;
    refuse_with(buf_bytes(&p.out), &o, ERR_LIMIT, "sample 0: max_labels: it has at least 2 labels, allowed are 1");
    limits.max_labels = 2;
    limits.max_batch_bytes = 100;
    refuse_with(buf_bytes(&p.out), &o, ERR_LIMIT, "100");
    limits.max_batch_bytes = limits.max_inflated_bytes = 0; // no limit
    struct batch *b = decode_good_with(buf_bytes(&p.out), &o, NULL);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

// Two bytes of a file each, many more of memory that no batch accounts for.
static void tables_are_no_larger_than_the_batch_may_be(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    static const uint8_t pieces[][2] = {{0x32, 0}, {0x2a, 0}, {0x22, 0}, {0x1a, 0}, {0x68, 1}};
    const struct decode_limits limits = {
        .max_samples = 1000, .max_sample_types = 10, .max_stack_depth = 100, .max_batch_bytes = 1 << 20};
    const struct decode_options o = {.limits = &limits};
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        struct pprof_bytes p;
        struct decode_report report;
        struct batch *b;
        struct err e;
        begin(&p);
        for (int n = 0; n < COUNT; n++)
            buf_add(&p.out, pieces[i], sizeof pieces[i]);
        assert_int_equal(pprof_decode(buf_bytes(&p.out), &o, &b, &report, &e), ERR_LIMIT);
        assert_true(report.batch_full);
        assert_non_null(strstr(e.text, "max_batch_bytes: the tables of the profile take"));
        pprof_bytes_fini(&p);
    }
}

static void cut_off_at_every_length(void **state)
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    size_t good = 0;
    for (size_t len = 0; len < p.out.len; len++) {
        uint8_t *exact = malloc(len ? len : 1);
        memcpy(exact, p.out.data, len);
        struct batch *b = NULL;
        struct err e = {0};
        enum err_code code = pprof_decode((struct bytes){exact, len}, NULL, &b, NULL, &e);
        free(exact);
        if (code != ERR_OK) {
            assert_int_equal(code, ERR_INVALID);
            assert_null(b);
            continue;
        }
        good++; // cut between two fields
        assert_int_equal(batch_validate(b, &e), ERR_OK);
        batch_unref(&b);
    }
    assert_true(good < 100);
    pprof_bytes_fini(&p);
}

static void each_byte_may_be_wrong(void **state)
{
    (void)state;
    static const uint8_t flips[] = {0x01, 0x80, 0xff};
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    for (size_t i = 0; i < p.out.len * COUNT_OF(flips); i++) {
        uint8_t *byte = &p.out.data[i / COUNT_OF(flips)], was = *byte;
        *byte ^= flips[i % COUNT_OF(flips)];
        struct batch *b = NULL;
        struct err e = {0};
        if (pprof_decode(buf_bytes(&p.out), NULL, &b, NULL, &e) == ERR_OK)
            assert_int_equal(batch_validate(b, &e), ERR_OK);
        else
            assert_true(e.text[0] != '\0');
        batch_unref(&b);
        *byte = was;
    }
    pprof_bytes_fini(&p);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    pprof_bytes_function(&p, (uint64_t)1 << 50, "sparse");
    enum err_code code = ERR_MEMORY;
    size_t n = 0;
    while (code != ERR_OK) {
        struct batch *b = NULL;
        struct err e = {0};
        mem_fail_from(++n);
        code = pprof_decode(buf_bytes(&p.out), NULL, &b, NULL, &e);
        mem_fail_from(0);
        assert_true(code == ERR_OK || (code == ERR_MEMORY && b == NULL));
        batch_unref(&b);
    }
    assert_true(n > 30);
    pprof_bytes_fini(&p);
}

static void duplicate_ids(void **state) // A14
{
    (void)state;
    static const uint64_t ids[] = {1, (uint64_t)1 << 60};
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        struct pprof_bytes p;
        pprof_bytes_init(&p);
        pprof_bytes_function(&p, ids[i], "f");
        pprof_bytes_function(&p, ids[i], "f"); // the same again
        struct batch *b = decode_good(&p);
        assert_int_equal(b->dictionary->function_count, 2);
        batch_unref(&b);
        pprof_bytes_function(&p, ids[i], "other");
        refuse(&p, "is there twice with unlike content");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_without_types),  cmocka_unit_test(dangling_and_zero_ids),
        cmocka_unit_test(strings_out_of_range),   cmocka_unit_test(values_must_match_the_types),
        cmocka_unit_test(concatenated_profiles),  cmocka_unit_test(damaged_samples),
        cmocka_unit_test(fields_that_do_not_fit), cmocka_unit_test(other_formats_are_named),
        cmocka_unit_test(limits_are_named),       cmocka_unit_test(cut_off_at_every_length),
        cmocka_unit_test(each_byte_may_be_wrong), cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(duplicate_ids),          cmocka_unit_test(tables_are_no_larger_than_the_batch_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
