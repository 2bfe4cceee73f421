// SPDX-License-Identifier: Apache-2.0
// Odd files people have met, from pprof through OTLP and back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/compress.h"
#include "codec/otlp.h"
#include "profile/validate.h"
#include "tests/support/stack_at.h"
#include "tests/support/test_files.h"
#include "tests/unit/codec/pprof_fixture.h"

static void add_location(struct pprof_bytes *p, uint64_t id, uint64_t mapping)
{
    pprof_bytes_location(p, id, mapping, 16 * id, 1);
}

// Through OTLP, where only what samples use is written.
static struct batch *through_otlp(const struct batch *b)
{
    struct buf request;
    struct batch *arrived = NULL;
    struct err e = {0};
    buf_init(&request, (size_t)1 << 30);
    assert_int_equal(otlp_encode(b, &request, &e), ERR_OK);
    if (otlp_decode(buf_bytes(&request), NULL, &arrived, &e) != ERR_OK)
        fail_msg("%s", e.text);
    buf_fini(&request);
    return arrived;
}

// What the peer reads from the pprof that its OTLP becomes; lost must be 0 and all of it one file.
static struct batch *there_and_back(struct pprof_bytes *p)
{
    struct buf file;
    struct err e = {0};
    uint64_t lost = 0;
    struct batch *first = decode_good(p), *arrived = through_otlp(first);
    uint32_t count = pprof_group(scope_of(arrived), 0);
    assert_int_equal(count, first->profile_count);
    buf_init(&file, (size_t)1 << 30);
    assert_int_equal(pprof_encode(arrived, scope_of(arrived), 0, count, &file, &lost, &e), ERR_OK);
    assert_int_equal(lost, 0);
    struct batch *again = decode_good_with(buf_bytes(&file), NULL, NULL);
    assert_int_equal(again->sample_count, first->sample_count);
    buf_fini(&file);
    batch_unref(&first);
    batch_unref(&arrived);
    pprof_bytes_fini(p);
    return again;
}

static const struct batch_location *location_at(const struct batch *b, uint32_t sample, uint32_t depth)
{
    const struct dictionary *d = b->dictionary;
    uint32_t stack = profile_of(b, 0)->columns->stacks[sample];
    assert_true(depth < stack_depth(d, stack));
    return stack_at(d, stack, depth);
}

static void assert_mappings(const struct batch *b, const char *const *names, uint32_t count)
{
    assert_int_equal(b->dictionary->mapping_count, count + 1);
    for (uint32_t i = 0; i < count; i++)
        assert_string(b, b->dictionary->mappings[i + 1].filename, names[i]);
}

static void a_blank_mapping_is_not_no_mapping(void **state)
{
    (void)state;
    struct pprof_bytes p;
    begin(&p);
    pprof_bytes_message(&p, 3, (const uint64_t[]){7}, 1); // only an id
    add_location(&p, 2, 7);
    add_sample(&p, 1, NULL, 0);
    add_sample(&p, 2, NULL, 0);
    struct batch *b = there_and_back(&p);
    assert_int_equal(b->dictionary->mapping_count, 2);
    assert_int_equal(location_at(b, 0, 0)->mapping, 0);
    assert_int_equal(location_at(b, 1, 0)->mapping, 1);
    uint32_t set = b->dictionary->mappings[1].attribute_set;
    assert_int_equal(b->dictionary->attribute_sets[set].count, 1);
    assert_false(attribute(b, set, "pprof.mapping.has_functions")->value.boolean);
    batch_unref(&b);
}

static void mappings_stay_without_a_sample(void **state) // A2, A11
{
    (void)state;
    static const char *const names[] = {"/bin/app", "/lib/a.so", "/lib/b.so"};
    for (int samples = 0; samples < 3; samples++) {
        struct pprof_bytes p;
        begin(&p);
        pprof_bytes_type(&p, "second", "count");
        for (uint64_t i = 0; i < COUNT_OF(names); i++) {
            pprof_bytes_mapping(&p, i + 1, names[i], NULL);
            add_location(&p, i + 2, i + 1);
        }
        for (int i = 0; i < samples; i++) // also samples without a stack
            pprof_bytes_sample(&p, NULL, 0, (const int64_t[]){1, 2}, 2, NULL, 0);
        struct batch *b = there_and_back(&p);
        assert_mappings(b, names, COUNT_OF(names));
        assert_int_equal(b->dictionary->location_count, 1);
        assert_int_equal(b->profile_count, 2);
        assert_int_equal(b->sample_count, 2 * samples);
        batch_unref(&b);
    }
}

// Mapping 2 has only location 3, which no sample uses.
static void begin_unused(struct pprof_bytes *p)
{
    begin(p);
    pprof_bytes_mapping(p, 1, "/bin/app", "bad\xff");
    pprof_bytes_mapping(p, 2, "/lib/b.so", NULL);
    add_location(p, 2, 1);
    add_location(p, 3, 2);
    add_location(p, 4, 99);
}

static void a_mapping_outlives_its_locations(void **state)
{
    (void)state;
    static const char *const names[] = {"/bin/app", "/lib/b.so"};
    static const uint64_t stacks[][3] = {{2, 1, 4}, {3, 2, 4}};
    for (uint32_t i = 0; i < COUNT_OF(stacks); i++) {
        struct pprof_bytes p;
        struct decode_report r;
        begin_unused(&p);
        const int64_t value = 1;
        pprof_bytes_sample(&p, stacks[i], 3, &value, 1, NULL, 0);
        struct batch *b = decode_good_with(buf_bytes(&p.out), NULL, &r);
        assert_int_equal(b->dictionary->location_count, i == 0 ? 4 : 5); // only then are they left out
        assert_int_equal(r.unknown_mappings, 1);
        assert_true(r.repaired_utf8 == 1);
        batch_unref(&b);
        b = there_and_back(&p);
        assert_mappings(b, names, COUNT_OF(names));
        assert_int_equal(location_at(b, 0, 0)->mapping, i + 1);
        batch_unref(&b);
    }
}

static void unused_locations_are_checked(void **state)
{
    (void)state;
    struct pprof_bytes p;
    begin_unused(&p);
    pprof_bytes_location(&p, 5, 2, 1, 77);
    refuse(&p, "location 4: line 0: function id 77 is not in the profile");
    begin_unused(&p);
    add_sample(&p, 9, NULL, 0);
    refuse(&p, "sample 0: location id 9 is not in the profile");
    begin_unused(&p);
    wire_put_bytes(&p.out, 2, BYTES_LITERAL("\x0a\x02\x02\x83"));
    refuse(&p, "location ids are damaged");
    begin_unused(&p);
    wire_put_bytes(&p.out, 2, BYTES_LITERAL("\x0a\x05\x02"));
    refuse(&p, "runs past the end");
}

static void functions_are_paired_past_unused_locations(void **state) // A8
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_type(&p, "cpu", "ns");
    pprof_bytes_function(&p, 0, "first");
    pprof_bytes_function(&p, 0, "second");
    pprof_bytes_mapping(&p, 1, "a", NULL);
    for (uint64_t id = 1; id <= 2; id++)
        pprof_bytes_location(&p, id, id == 1, id, id); // location 1 alone has the mapping
    add_sample(&p, 2, NULL, 0);
    struct decode_report r;
    struct batch *b = decode_good_with(buf_bytes(&p.out), NULL, &r);
    const struct dictionary *d = b->dictionary;
    assert_int_equal(r.repaired_functions, 2);
    assert_int_equal(d->location_count, 2);
    assert_string(b, d->functions[d->lines[location_at(b, 0, 0)->line_start].function].name, "second");
    assert_int_equal(d->mapping_count, 2);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void memory_may_be_out_while_reading_again(void **state)
{
    (void)state;
    struct pprof_bytes p;
    begin_unused(&p);
    add_sample(&p, 2, NULL, 0);
    enum err_code code = ERR_MEMORY;
    for (size_t n = 1; code != ERR_OK; n++) {
        struct batch *b = NULL;
        struct err e = {0};
        mem_fail_from(n);
        code = pprof_decode(buf_bytes(&p.out), NULL, &b, NULL, &e);
        mem_fail_from(0);
        assert_true(code == ERR_OK || (code == ERR_MEMORY && b == NULL));
        batch_unref(&b);
    }
    pprof_bytes_fini(&p);
}

static void a_line_needs_a_function(void **state) // A10
{
    (void)state;
    struct pprof_bytes p;
    begin(&p);
    wire_put_bytes(&p.out, 4, BYTES_LITERAL("\x08\x02\x22\x02\x10\x05")); // id 2, a line with only its number
    refuse(&p, "location 1: line 0: function id 0 is not in the profile");
}

static void equal_content_is_merged(void **state) // A14
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_type(&p, "cpu", "ns");
    pprof_bytes_function(&p, 1, "same");
    pprof_bytes_function(&p, 2, "same");
    pprof_bytes_location(&p, 1, 0, 5, 1);
    pprof_bytes_location(&p, 2, 0, 5, 1);
    pprof_bytes_location(&p, 3, 0, 6, 2);
    add_sample(&p, 1, NULL, 0);
    add_sample(&p, 2, NULL, 0);
    struct batch *b = there_and_back(&p);
    assert_int_equal(b->dictionary->function_count, 2);
    assert_int_equal(b->dictionary->location_count, 2); // the third is not used
    assert_int_equal(profile_of(b, 0)->columns->stacks[0], profile_of(b, 0)->columns->stacks[1]);
    batch_unref(&b);
}

static struct buf pack(enum compression kind, struct bytes data)
{
    struct compressor *c = compressor_create(kind, 0);
    struct buf small;
    struct err e;
    buf_init(&small, 1 << 20);
    assert_int_equal(compressor_run(c, data, &small, &e), ERR_OK);
    compressor_destroy(&c);
    return small;
}

static void bad_compression_is_the_senders_fault(void **state) // A16
{
    (void)state;
    refuse_with(BYTES_LITERAL("\x1f\x8b\x08 no deflate at all"), NULL, ERR_INVALID, "gzip");
    refuse_with(BYTES_LITERAL("\x28\xb5\x2f\xfd no frame at all"), NULL, ERR_INVALID, "zstd");
    struct buf nothing = pack(COMPRESSION_GZIP, (struct bytes){0});
    refuse_with(buf_bytes(&nothing), NULL, ERR_INVALID, "empty input"); // A1
    buf_fini(&nothing);
    struct buf page = pack(COMPRESSION_GZIP, BYTES_LITERAL("{\"a\": \"page\"}"));
    refuse_with(buf_bytes(&page), NULL, ERR_UNSUPPORTED, "JSON");
    buf_fini(&page);
}

static void limit_0_is_no_limit(void **state) // A18
{
    (void)state;
    static const enum compression kinds[] = {COMPRESSION_GZIP, COMPRESSION_ZSTD};
    struct decode_limits limits = decode_default_limits;
    limits.max_inflated_bytes = limits.max_batch_bytes = 0;
    struct decode_options o = {.limits = &limits};
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct buf small = pack(kinds[i], buf_bytes(&p.out));
        struct batch *b = decode_good_with(buf_bytes(&small), &o, NULL);
        assert_int_equal(b->sample_count, 6);
        batch_unref(&b);
        buf_fini(&small);
    }
    pprof_bytes_fini(&p);
}

static void a_bomb_stops_at_the_limit(void **state) // A18
{
    (void)state;
    struct buf zeros;
    buf_init(&zeros, SIZE_MAX);
    assert_true(buf_reserve(&zeros, (size_t)8 << 20));
    memset(zeros.data, 0, (size_t)8 << 20);
    struct buf small = pack(COMPRESSION_GZIP, (struct bytes){zeros.data, (size_t)8 << 20});
    assert_true(small.len < 100000);
    struct decode_limits limits = decode_default_limits;
    limits.max_inflated_bytes = 1 << 20;
    struct decode_options o = {.limits = &limits};
    refuse_with(buf_bytes(&small), &o, ERR_LIMIT, "max_inflated_size");
    buf_fini(&small);
    buf_fini(&zeros);
}

static void one_value_is_no_list(void **state) // A19
{
    (void)state;
    static const struct test_label labels[] = {{"one", "a", 0, NULL}, {"two", "a", 0, NULL}, {"two", "b", 0, NULL}};
    struct pprof_bytes p;
    begin(&p);
    add_sample(&p, 1, labels, COUNT_OF(labels));
    struct batch *b = there_and_back(&p);
    assert_text_attribute(b, set_of(b, 0), "one", "a");
    assert_int_equal(attribute(b, set_of(b, 0), "two")->value.count, 2);
    batch_unref(&b);
}

static void units_and_times_pass_unchanged(void **state) // A21, A22, A24
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_type(&p, "wall", "microseconds");
    uint64_t period[] = {pprof_bytes_text(&p, "wall"), pprof_bytes_text(&p, "microseconds")};
    pprof_bytes_message(&p, 11, period, 2);
    pprof_bytes_number(&p, 12, 10000);
    pprof_bytes_number(&p, 9, 1700000000123456789);
    struct batch *b = there_and_back(&p);
    const struct profile *f = profile_of(b, 0);
    assert_string(b, f->sample_type.unit, "microseconds");
    assert_string(b, f->period_type.unit, "microseconds");
    assert_int_equal(f->period, 10000);
    assert_true(f->time_nanos == 1700000000123456789);
    assert_int_equal(f->duration_nanos, 0);
    batch_unref(&b);
}

static void names_pass_unchanged(void **state) // A25
{
    (void)state;
    static const char *const names[] = {"main.f[...]", "main.g[go.shape.struct { A int; B string }]",
                                        "std::vector<a, b>::push(T&&) [clone .cold]", "\xe2\x98\x83 frame"};
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_type(&p, "cpu", "ns");
    for (uint64_t i = 0; i < COUNT_OF(names); i++) {
        pprof_bytes_function(&p, i + 1, names[i]);
        pprof_bytes_location(&p, i + 1, 0, i, i + 1);
        add_sample(&p, i + 1, NULL, 0);
    }
    struct batch *b = there_and_back(&p);
    const struct dictionary *d = b->dictionary;
    for (uint32_t i = 0; i < COUNT_OF(names); i++)
        assert_string(b, d->functions[d->lines[location_at(b, i, 0)->line_start].function].name, names[i]);
    batch_unref(&b);
}

static void inlined_calls_keep_their_order(void **state) // A27
{
    (void)state;
    struct pprof_bytes p;
    begin(&p);
    pprof_bytes_function(&p, 2, "inlined");
    // id 2; line: function 2, line 7; line: function 1, line 9, column 3; folded
    wire_put_bytes(&p.out, 4,
                   BYTES_LITERAL("\x08\x02\x22\x04\x08\x02\x10\x07\x22\x06\x08\x01\x10\x09\x18\x03\x28\x01"));
    add_sample(&p, 2, NULL, 0);
    struct batch *b = there_and_back(&p);
    const struct batch_location *l = location_at(b, 0, 0);
    const struct batch_line *lines = &b->dictionary->lines[l->line_start];
    assert_int_equal(l->line_count, 2);
    assert_string(b, b->dictionary->functions[lines[0].function].name, "inlined");
    assert_string(b, b->dictionary->functions[lines[1].function].name, "main");
    assert_true(lines[0].line == 7 && lines[1].line == 9 && lines[1].column == 3);
    assert_true(attribute(b, l->attribute_set, "pprof.location.is_folded")->value.boolean);
    batch_unref(&b);
}

static void deep_and_recursive_stacks_stay(void **state) // A26, B14
{
    (void)state;
    enum { DEPTH = 5000 };
    static uint64_t stack[DEPTH];
    struct pprof_bytes p;
    begin(&p);
    add_location(&p, 2, 0);
    for (size_t i = 0; i < DEPTH; i++)
        stack[i] = 1 + i % 2;
    const int64_t value = 1;
    pprof_bytes_sample(&p, stack, DEPTH, &value, 1, NULL, 0);
    struct batch *b = there_and_back(&p);
    assert_true(location_at(b, 0, DEPTH - 1)->address == 32 && location_at(b, 0, DEPTH - 2)->address == 16);
    batch_unref(&b);
}

static void extreme_values_stay(void **state) // A39
{
    (void)state;
    static const int64_t values[] = {INT64_MAX, INT64_MIN, -1, 0};
    struct pprof_bytes p;
    begin(&p);
    const uint64_t location = 1;
    for (size_t i = 0; i < COUNT_OF(values); i++)
        pprof_bytes_sample(&p, &location, 1, &values[i], 1, NULL, 0);
    struct batch *b = there_and_back(&p);
    for (size_t i = 0; i < COUNT_OF(values); i++)
        assert_true(profile_of(b, 0)->observations->values[i] == values[i]);
    batch_unref(&b);
}

static void visit_old_format(void *arg, const char *path, struct bytes content)
{
    struct batch *b = NULL;
    struct err e = {0};
    enum err_code code = pprof_decode(content, NULL, &b, NULL, &e);
    if (code != ERR_UNSUPPORTED || strstr(e.text, "it looks like") == NULL)
        fail_msg("%s: %s %s", path, err_code_name(code), e.text);
    if (strstr(path, ".string") == NULL && strstr(e.text, "like text") != NULL)
        fail_msg("%s: only %s", path, e.text);
    ++*(size_t *)arg;
}

static void old_formats_are_named(void **state) // A29, A30, A34
{
    (void)state;
    size_t files = 0;
    if (test_corpus_dir() == NULL)
        skip();
    test_each_corpus_file("pprof-legacy", visit_old_format, &files);
    assert_true(files >= 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_blank_mapping_is_not_no_mapping),
        cmocka_unit_test(mappings_stay_without_a_sample),
        cmocka_unit_test(a_mapping_outlives_its_locations),
        cmocka_unit_test(unused_locations_are_checked),
        cmocka_unit_test(functions_are_paired_past_unused_locations),
        cmocka_unit_test(memory_may_be_out_while_reading_again),
        cmocka_unit_test(a_line_needs_a_function),
        cmocka_unit_test(equal_content_is_merged),
        cmocka_unit_test(bad_compression_is_the_senders_fault),
        cmocka_unit_test(limit_0_is_no_limit),
        cmocka_unit_test(a_bomb_stops_at_the_limit),
        cmocka_unit_test(one_value_is_no_list),
        cmocka_unit_test(units_and_times_pass_unchanged),
        cmocka_unit_test(names_pass_unchanged),
        cmocka_unit_test(inlined_calls_keep_their_order),
        cmocka_unit_test(deep_and_recursive_stacks_stay),
        cmocka_unit_test(extreme_values_stay),
        cmocka_unit_test(old_formats_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
