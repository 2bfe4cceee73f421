// SPDX-License-Identifier: Apache-2.0
#include "otlp_fixture.h"

#include "base/mem.h"
#include "profile/merge.h"
#include "profile/stack.h"
#include "profile/validate.h"
#include "tests/support/batch_text.h"
#include "tests/support/random_batch.h"
#include "tests/support/test_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_BYTES = 1 << 28 };

static struct batch *decode_ok(struct bytes data)
{
    struct batch *b;
    struct err e = {0};
    if (otlp_decode(data, NULL, &b, &e) != ERR_OK || batch_validate(b, &e) != ERR_OK)
        fail_msg("%s", e.text);
    return b;
}

static void encode_ok(const struct batch *b, struct buf *out)
{
    struct err e = {0};
    if (otlp_encode(b, out, &e) != ERR_OK)
        fail_msg("%s", e.text);
    assert_true(buf_ok(out));
}

static void assert_same_text(const struct batch *a, const struct batch *b, const char *what)
{
    struct buf ta, tb;
    buf_init(&ta, MAX_BYTES);
    buf_init(&tb, MAX_BYTES);
    batch_text(a, &ta);
    batch_text(b, &tb);
    assert_true(buf_ok(&ta) && buf_ok(&tb));
    if (!bytes_equal(buf_bytes(&ta), buf_bytes(&tb)))
        fail_msg("%s: the text differs", what);
    buf_fini(&ta);
    buf_fini(&tb);
}

static void check_round_trip(const struct batch *b, const char *what)
{
    struct buf out, again;
    buf_init(&out, MAX_BYTES);
    buf_init(&again, MAX_BYTES);
    encode_ok(b, &out);
    struct batch *back = decode_ok(buf_bytes(&out));
    assert_same_text(b, back, what);
    encode_ok(back, &again); // numbered by need the first time, so the second time nothing moves
    assert_true(again.len <= out.len);
    struct batch *third = decode_ok(buf_bytes(&again));
    assert_same_text(b, third, what);
    batch_unref(&back);
    batch_unref(&third);
    buf_fini(&out);
    buf_fini(&again);
}

static void test_random_round_trips(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        char what[32];
        snprintf(what, sizeof what, "seed %d", (int)seed);
        struct batch *b = random_batch(seed, NULL);
        check_round_trip(b, what);
        batch_unref(&b);
    }
}

static void test_parts_are_pruned(void **state)
{
    (void)state;
    struct random_batch_options options = random_batch_defaults;
    options.max_samples = 40;
    options.item_count = 400;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct batch *b = random_batch(seed, &options);
        struct batch **parts;
        size_t count;
        struct err e = {0};
        assert_int_equal(batch_split(b, 7, &parts, &count, &e), ERR_OK);
        for (size_t i = 0; i < count; i++) {
            check_round_trip(parts[i], "part");
            batch_unref(&parts[i]);
        }
        free(parts);
        batch_unref(&b);
    }
}

static struct batch *built(void (*fill)(struct builder *))
{
    struct builder *builder = builder_create(0);
    struct batch *b;
    struct err e = {0};
    fill(builder);
    if (builder_finish(builder, &b, &e) != ERR_OK)
        fail_msg("%s", e.text);
    builder_destroy(&builder);
    return b;
}

enum { LOCATIONS = 20000 };

static void add_stacks(struct sample_writer *w, const uint32_t *locations, uint32_t first, uint32_t set)
{
    // Around every size at which one of the two lengths before a stack's list takes another byte.
    static const uint32_t around[] = {1, 42, 58, 62, 127, 5460, 8190, 16382};
    for (size_t i = 0; i < COUNT_OF(around); i++)
        for (uint32_t n = around[i]; n < around[i] + 8 && first + n <= LOCATIONS; n++)
            sample_writer_add(w, builder_stack(w->builder, locations + first, n), set, 0);
}

static void add_large_resource(struct builder *b, const uint32_t *locations, uint32_t first, uint32_t set)
{
    struct sample_writer samples;
    struct observation_writer observations;
    builder_resource(b, NULL, 0, 0, (struct bytes){NULL, 0});
    builder_scope(b, (struct bytes){NULL, 0}, (struct bytes){NULL, 0}, NULL, 0, 0, (struct bytes){NULL, 0});
    sample_writer_init(&samples, b);
    observation_writer_init(&observations, b);
    add_stacks(&samples, locations, first, set);
    for (uint32_t i = 0; i < samples.count; i++)
        observation_writer_add_value(&observations, i % 2 ? INT64_MIN + i : (int64_t)1 << i % 63);
    struct profile p = {.columns = sample_writer_take(&samples),
                        .observations = observation_writer_take(&observations)};
    builder_profile(b, &p);
}

static uint32_t set_of(struct builder *b, uint32_t count)
{
    uint32_t attributes[200];
    for (uint32_t i = 0; i < count; i++) {
        char key[16];
        snprintf(key, sizeof key, "key %u", i);
        struct value v = value_int(i);
        attributes[i] = builder_attribute(b, builder_string_text(b, key), 0, &v);
    }
    return builder_attribute_set(b, attributes, count);
}

static void fill_large(struct builder *b)
{
    static uint32_t locations[LOCATIONS];
    for (uint32_t i = 0; i < LOCATIONS; i++)
        locations[i] = builder_location(b, &(struct batch_location){.address = i + 1}, NULL, 0);
    const uint32_t starts[] = {0, 90, 3000, 16300, 17000};
    const uint32_t set_sizes[] = {1, 15, 16, 126, 200}; // lists of 2, 16, 17, 127 and more bytes
    for (size_t i = 0; i < COUNT_OF(starts); i++)
        add_large_resource(b, locations, starts[i], set_of(b, set_sizes[i]));
}

static void assert_same_set(const struct dictionary *a, uint32_t set_a, const struct dictionary *b, uint32_t set_b)
{
    const struct batch_range ra = a->attribute_sets[set_a], rb = b->attribute_sets[set_b];
    assert_int_equal(ra.count, rb.count);
    for (uint32_t i = 0; i < ra.count; i++) {
        const struct batch_attribute *x = &a->attributes[a->set_attributes[ra.start + i]];
        const struct batch_attribute *y = &b->attributes[b->set_attributes[rb.start + i]];
        assert_true(bytes_equal(a->strings[x->key], b->strings[y->key]));
        assert_int_equal(x->value.integer, y->value.integer);
    }
}

static void assert_same_stack(const struct dictionary *a, uint32_t stack_a, const struct dictionary *b,
                              uint32_t stack_b)
{
    uint32_t depth = stack_depth(a, stack_a), x = 0, y = 0;
    assert_int_equal(depth, stack_depth(b, stack_b));
    struct stack_reader ra, rb;
    stack_reader_init(&ra, a, stack_a);
    stack_reader_init(&rb, b, stack_b);
    for (uint32_t i = 0; stack_next(&ra, &x) && stack_next(&rb, &y); i++)
        if (a->locations[x].address != b->locations[y].address)
            fail_msg("location %u of %u", i, depth);
}

// Batches of fill_large by number: their texts would take seconds.
static void assert_same_large(const struct batch *a, const struct batch *b)
{
    assert_int_equal(a->resource_count, b->resource_count);
    assert_int_equal(a->sample_count, b->sample_count);
    for (uint32_t r = 0; r < a->resource_count; r++) {
        const struct profile *x = a->resources[r]->scopes[0]->profiles, *y = b->resources[r]->scopes[0]->profiles;
        assert_int_equal(x->columns->sample_count, y->columns->sample_count);
        for (uint32_t i = 0; i < x->columns->sample_count; i++) {
            assert_same_stack(a->dictionary, x->columns->stacks[i], b->dictionary, y->columns->stacks[i]);
            assert_same_set(a->dictionary, x->columns->attribute_sets[i], b->dictionary, y->columns->attribute_sets[i]);
            assert_int_equal(x->observations->values[i], y->observations->values[i]);
        }
    }
}

static void check_large(const struct batch *b)
{
    struct buf out;
    buf_init(&out, MAX_BYTES);
    encode_ok(b, &out);
    struct batch *back = decode_ok(buf_bytes(&out));
    assert_same_large(b, back);
    batch_unref(&back);
    buf_fini(&out);
}

// Ids of one to three bytes, all sizes of lengths, attribute lists longer than the fast copy; whole, and
// in parts whose dictionary is renumbered.
static void test_large_round_trip(void **state)
{
    (void)state;
    struct batch *b = built(fill_large);
    assert_int_equal(b->dictionary->location_count, LOCATIONS + 1);
    check_large(b);
    for (uint32_t i = 0; i < b->resource_count; i++) {
        struct batch *part;
        struct err e = {0};
        assert_int_equal(batch_select_resources(b, i, 1, &part, &e), ERR_OK);
        check_large(part);
        batch_unref(&part);
    }
    batch_unref(&b);
}

static void no_resource(struct builder *b)
{
    (void)b;
}

static void bare_resource(struct builder *b)
{
    builder_resource(b, NULL, 0, 0, (struct bytes){NULL, 0});
}

static void test_empty_batches(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, MAX_BYTES);
    struct batch *b = built(no_resource);
    encode_ok(b, &out);
    assert_int_equal(out.len, 0);
    batch_unref(&b);
    b = built(bare_resource);
    encode_ok(b, &out);
    // one ResourceProfiles with an empty Resource, then the seven zero elements
    static const uint8_t expected[] = {0x0a, 2, 0x0a, 0, 0x12, 14, 0x0a, 0, 0x12, 0,
                                       0x1a, 0, 0x22, 0, 0x2a, 0,  0x32, 0, 0x3a, 0};
    // the dictionary's length is spelled as short as it can be
    assert_int_equal(out.len, sizeof expected);
    assert_memory_equal(out.data, expected, sizeof expected);
    batch_unref(&b);
    buf_fini(&out);
}

static void one_sample(struct builder *b)
{
    struct sample_writer samples;
    struct observation_writer observations;
    builder_resource(b, NULL, 0, 0, (struct bytes){NULL, 0});
    builder_scope(b, (struct bytes){NULL, 0}, (struct bytes){NULL, 0}, NULL, 0, 0, (struct bytes){NULL, 0});
    struct profile p = {.sample_type = {builder_string_text(b, "cpu"), builder_string_text(b, "ns")}};
    uint32_t key = builder_string_text(b, "k");
    struct value v = value_int(-1);
    uint32_t attribute = builder_attribute(b, key, 0, &v);
    sample_writer_init(&samples, b);
    observation_writer_init(&observations, b);
    sample_writer_add(&samples, 0, builder_attribute_set(b, &attribute, 1), 0);
    observation_writer_add_value(&observations, 300);
    p.columns = sample_writer_take(&samples);
    p.observations = observation_writer_take(&observations);
    builder_profile(b, &p);
}

static void test_exact_bytes(void **state)
{
    (void)state;
    static const uint8_t expected[] = {
        0x0a, 25,                                          // resource_profiles
        0x0a, 0,                                           // resource
        0x12, 21,                                          // scope_profiles
        0x0a, 0,                                           // scope
        0x12, 17,                                          // profile
        0x0a, 4,    8,    1,    0x10, 2,                   // sample_type cpu, ns
        0x12, 7,    0x12, 1,    1,    0x22, 2,    0xac, 2, // sample: attribute 1, value 300
        0x2a, 0,                                           // period_type
        0x12, 43,                                          // dictionary
        0x0a, 0,    0x12, 0,    0x1a, 0,    0x22, 0,       // zero mapping, location, function, link
        0x2a, 0,    0x2a, 3,    'c',  'p',  'u',  0x2a, 2,    'n',  's',  0x2a, 1,    'k',  // strings
        0x32, 0,    0x32, 15,   8,    3,    0x12, 11,   0x18, 0xff, 0xff, 0xff, 0xff, 0xff, // k = -1
        0xff, 0xff, 0xff, 0xff, 1,    0x3a, 0,
    };
    struct buf out;
    buf_init(&out, MAX_BYTES);
    struct batch *b = built(one_sample);
    encode_ok(b, &out);
    assert_memory_equal(out.data, expected, 10);
    assert_int_equal(out.len, sizeof expected);
    assert_memory_equal(out.data, expected, sizeof expected);
    batch_unref(&b);
    buf_fini(&out);
}

static void test_appends_and_keeps_to_the_maximum(void **state)
{
    (void)state;
    struct buf out;
    struct err e = {0};
    struct batch *b = random_batch(5, NULL);
    buf_init(&out, MAX_BYTES);
    encode_ok(b, &out);
    size_t needed = out.len;
    buf_fini(&out);
    buf_init(&out, needed + 4);
    buf_add_text(&out, "head");
    encode_ok(b, &out); // fits exactly
    assert_int_equal(out.len, needed + 4);
    assert_memory_equal(out.data, "head", 4);
    buf_fini(&out);
    for (size_t max = 0; max < needed; max += 1 + max / 16) {
        buf_init(&out, max);
        assert_int_equal(otlp_encode(b, &out, &e), ERR_LIMIT);
        assert_non_null(strstr(e.text, "larger than"));
        assert_true(out.too_large);
        buf_fini(&out);
    }
    buf_init(&out, needed - 1);
    assert_int_equal(otlp_encode(b, &out, NULL), ERR_LIMIT);
    buf_fini(&out);
    batch_unref(&b);
}

static void test_failing_allocator(void **state)
{
    (void)state;
    struct batch *b = random_batch(9, NULL);
    size_t failures = 0;
    for (size_t n = 1;; n++) {
        struct buf out;
        struct err e = {0};
        buf_init(&out, MAX_BYTES);
        mem_fail_from(n);
        enum err_code code = otlp_encode(b, &out, &e);
        mem_fail_from(0);
        buf_fini(&out);
        if (code == ERR_OK)
            break;
        assert_int_equal(code, ERR_MEMORY);
        failures++;
    }
    assert_true(failures > 3);
    batch_unref(&b);
}

// A stack of `count` locations whose ids have two bytes here, and one byte when only its resource is written.
static void check_shorter_ids(uint32_t count)
{
    struct builder *b = builder_create(0);
    struct bytes none = {NULL, 0};
    uint32_t ids[130], few;
    for (uint32_t i = 1; i <= 300; i++)
        few = builder_location(b, &(struct batch_location){.address = i}, NULL, 0);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = 150 + i % 100;
    uint32_t stacks[] = {builder_stack(b, ids, count), builder_stack(b, &few, 1)};
    for (size_t r = 0; r < COUNT_OF(stacks); r++) {
        struct sample_writer samples;
        struct observation_writer observations;
        sample_writer_init(&samples, b);
        observation_writer_init(&observations, b);
        sample_writer_add(&samples, stacks[r], 0, 0);
        observation_writer_add_value(&observations, 1);
        struct profile p = {.columns = sample_writer_take(&samples),
                            .observations = observation_writer_take(&observations)};
        sample_writer_fini(&samples);
        observation_writer_fini(&observations);
        builder_resource(b, NULL, 0, 0, none);
        builder_scope(b, none, none, NULL, 0, 0, none);
        builder_profile(b, &p);
    }
    struct batch *both;
    assert_int_equal(builder_finish(b, &both, NULL), ERR_OK);
    builder_destroy(&b);
    struct resource *first = resource_ref(both->resources[0]);
    struct batch *part = batch_create(dictionary_ref(both->dictionary), &first, 1);
    struct buf out;
    struct err e = {0};
    buf_init(&out, MAX_BYTES);
    assert_int_equal(otlp_encode(part, &out, &e), ERR_OK);
    struct batch *again = decode_ok(buf_bytes(&out));
    const struct dictionary *d = again->dictionary;
    assert_int_equal(d->stack_count, 2);
    assert_int_equal(d->stack_byte_count, count);
    struct stack_reader r;
    uint32_t location;
    stack_reader_init(&r, d, 1);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(stack_next(&r, &location));
        assert_int_equal(d->locations[location].address, ids[i]);
    }
    buf_fini(&out);
    batch_unref(&again);
    batch_unref(&part);
    batch_unref(&both);
}

// The lengths before the ids take less then, too: around 64 and 128 bytes.
static void test_renumbered_ids_get_shorter(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 130; count++)
        check_shorter_ids(count);
}

static void visit_current(void *arg, const char *path, struct bytes content)
{
    size_t *count = arg;
    if (strstr(path, "-1.10") == NULL || strstr(path, ".json") != NULL)
        return;
    struct batch *b = decode_ok(content);
    check_round_trip(b, path);
    batch_unref(&b);
    ++*count;
}

static void test_corpus_round_trips(void **state)
{
    (void)state;
    if (test_corpus_dir() == NULL)
        skip();
    size_t count = 0;
    test_each_corpus_file("otlp/official", visit_current, &count);
    test_each_corpus_file("otlp", visit_current, &count);
    assert_int_equal(count, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_round_trips),
        cmocka_unit_test(test_large_round_trip),
        cmocka_unit_test(test_parts_are_pruned),
        cmocka_unit_test(test_empty_batches),
        cmocka_unit_test(test_exact_bytes),
        cmocka_unit_test(test_appends_and_keeps_to_the_maximum),
        cmocka_unit_test(test_failing_allocator),
        cmocka_unit_test(test_corpus_round_trips),
        cmocka_unit_test(test_renumbered_ids_get_shorter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
