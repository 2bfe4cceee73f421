// SPDX-License-Identifier: Apache-2.0
// otlp_check against otlp_decode: what it finds clean must decode, to the totals it counted, with nothing repaired.
#include "otlp_clean.h"

#include "base/limits.h"
#include "base/mem.h"
#include "codec/otlp_check.h"
#include "profile/validate.h"
#include "tests/support/random_batch.h"
#include "tests/support/test_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_BYTES = 1 << 24 };

static void assert_counts(const struct otlp_index *index, const struct batch *b)
{
    uint64_t profiles = 0, samples = 0;
    assert_int_equal(index->resource_count, b->resource_count);
    for (uint32_t r = 0; r < b->resource_count; r++) {
        uint64_t expected = 0;
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++)
            expected += b->resources[r]->scopes[s]->profile_count;
        assert_int_equal(index->counts[r].profiles, expected);
        profiles += index->counts[r].profiles;
        samples += index->counts[r].samples;
    }
    assert_int_equal(profiles, b->profile_count);
    assert_int_equal(samples, b->sample_count);
}

static bool is_clean_within(struct bytes request, const struct otlp_limits *limits)
{
    // A copy of the exact size, so that ASan sees a read past the end.
    uint8_t *copy = mem_alloc(request.len + 1);
    struct otlp_index index;
    struct batch *b;
    struct err e = {0};
    if (request.len != 0)
        memcpy(copy + 1, request.data, request.len);
    bool clean = otlp_check((struct bytes){copy + 1, request.len}, limits, &index);
    if (clean) {
        if (otlp_decode(request, limits, &b, &e) != ERR_OK || batch_validate(b, &e) != ERR_OK)
            fail_msg("clean, but: %s", e.text);
        assert_counts(&index, b);
        batch_unref(&b);
    } else {
        assert_null(index.counts);
    }
    free(index.counts);
    free(copy);
    return clean;
}

static bool is_clean(struct bytes request)
{
    return is_clean_within(request, &otlp_default_limits);
}

static bool is_clean_with(const struct clean *c)
{
    struct buf in;
    buf_init(&in, MAX_BYTES);
    clean_write(&in, c);
    assert_true(buf_ok(&in));
    bool clean = is_clean(buf_bytes(&in));
    buf_fini(&in);
    return clean;
}

static void test_what_we_write_is_clean(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 15; seed++) {
        struct batch *b = random_batch(seed, NULL);
        struct buf out;
        buf_init(&out, MAX_BYTES);
        assert_int_equal(otlp_encode(b, &out, NULL), ERR_OK);
        if (!is_clean(buf_bytes(&out)))
            fail_msg("seed %d", (int)seed);
        batch_unref(&b);
        buf_fini(&out);
    }
}

static void test_the_fixture_is_clean(void **state)
{
    (void)state;
    struct buf in;
    struct otlp_index index;
    for (unsigned i = 0; i < 4; i++) {
        const struct clean c = {.references = i & 1, .attribute_references = i & 2};
        buf_init(&in, MAX_BYTES);
        clean_write(&in, &c);
        assert_true(is_clean(buf_bytes(&in)));
        assert_true(otlp_check(buf_bytes(&in), &otlp_default_limits, &index));
        assert_int_equal(index.references, c.references);
        assert_int_equal(index.attribute_references, c.attribute_references);
        assert_int_equal(index.counts[0].samples, 2 * CLEAN_SAMPLES);
        free(index.counts);
        buf_fini(&in);
    }
}

static void test_what_must_be_there(void **state)
{
    (void)state;
    const struct {
        enum clean_place place;
        uint32_t without;
    } needed[] = {
        {A_DICTIONARY, 1}, {A_DICTIONARY, 2}, {A_DICTIONARY, 3},     {A_DICTIONARY, 4},        {A_DICTIONARY, 5},
        {A_DICTIONARY, 6}, {A_DICTIONARY, 7}, {A_PROFILE, 1},        {A_PROFILE, 5},           {A_PROFILE, 9},
        {A_PROFILE, 10},   {A_SAMPLE, 5},     {A_SCOPE_PROFILES, 1}, {A_RESOURCE_PROFILES, 1},
    };
    for (size_t i = 0; i < COUNT_OF(needed); i++)
        if (is_clean_with(&(struct clean){.place = needed[i].place, .without = needed[i].without}))
            fail_msg("place %d, field %u", (int)needed[i].place, needed[i].without);
    assert_true(is_clean_with(&(struct clean){.place = A_SAMPLE, .without = 2})); // without fails only what is needed
    assert_true(is_clean_with(&(struct clean){.place = A_PROFILE, .without = 7}));
    assert_false(is_clean((struct bytes){NULL, 0}));
}

#define EXTRA(where, literal) {.place = (where), .extra = BYTES_LITERAL(literal)}

static void test_what_must_not_be_there(void **state)
{
    (void)state;
    const struct clean cases[] = {
        EXTRA(ZERO_MAPPING, "\10\1"),
        EXTRA(ZERO_LOCATION, "\32\0"), // an empty line
        EXTRA(ZERO_FUNCTION, "\40\1"),
        EXTRA(ZERO_LINK, "\22\10\0\0\0\0\0\0\0\0"), // zeros in full
        EXTRA(ZERO_LINK, "\12\20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
        EXTRA(ZERO_ATTRIBUTE, "\22\2\20\0"),
        EXTRA(ZERO_STACK, "\12\1\0"),
        EXTRA(A_PROFILE, "\72\20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), // an id of zeros
        EXTRA(A_PROFILE, "\72\3abc"),
        EXTRA(A_LINK, "\12\1a"),
        EXTRA(A_LINK, "\22\11123456789"),
        EXTRA(A_PROFILE, "\132\1\1"), // a list in pieces
        EXTRA(A_SAMPLE, "\22\1\1"),
        EXTRA(A_SAMPLE, "\20\1"),
        EXTRA(A_MAPPING, "\52\1\1"),
        EXTRA(A_LOCATION, "\42\1\1"),
        EXTRA(A_SAMPLE, "\40\1"), // a value too many
        EXTRA(A_SAMPLE, "\42\2\1\1"),
        EXTRA(A_SAMPLE, "\52\7"
                        "1234567"),
        EXTRA(A_SAMPLE, "\42\1\200"), // cut off
        EXTRA(A_STACK, "\12\2\1\201"),
        EXTRA(A_KEY_VALUE, "\30\3"), // key and key_strindex
        EXTRA(A_REQUEST, "\22\0"),   // a second dictionary
        EXTRA(A_REQUEST, "\12\0"),   // a resource without Resource
        EXTRA(A_REQUEST, "\23"),     // a group
        EXTRA(A_REQUEST, "\0\0"),
        EXTRA(A_DICTIONARY, "\52\1\xff"),
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (is_clean_with(&cases[i]))
            fail_msg("case %zu", i);
}

static void test_what_may_be_there(void **state)
{
    (void)state;
    const struct clean cases[] = {
        EXTRA(ZERO_ATTRIBUTE, "\22\0\10\0"), // as pdata spells zero
        EXTRA(ZERO_LINK, "\12\0\22\0"),
        EXTRA(ZERO_MAPPING, "\10\0"),
        EXTRA(A_STACK, "\10\1\12\1\0"), // packed and not
        EXTRA(A_VALUE, "\52\6\12\2\30\1\12\0"),
        EXTRA(A_REQUEST, "\12\2\12\0"),
        EXTRA(A_RESOURCE, "\12\7\12\1b\22\2\30\2"),
        EXTRA(A_KEY_VALUE, "\30\0"),  // index 0 is no reference
        EXTRA(A_SAMPLE, "\10\200\0"), // 0 in two bytes
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (!is_clean_with(&cases[i]))
            fail_msg("case %zu", i);
}

static void put_field(struct buf *out, uint32_t number, char type)
{
    static const uint8_t zeros[8];
    wire_put_tag(out, number,
                 type == 'v'   ? WIRE_VARINT
                 : type == 'f' ? WIRE_FIXED64
                 : type == 'l' ? WIRE_LEN
                               : WIRE_FIXED32);
    buf_add(out, zeros, type == 'f' ? 8 : type == '4' ? 4 : 1);
}

// Known fields have one type; unknown ones may be of any.
static void test_every_field_in_every_type(void **state)
{
    (void)state;
    for (int place = A_MAPPING; place < CLEAN_PLACES; place++) {
        for (uint32_t number = 1; number < 20; number++) {
            const char *known = clean_types((enum clean_place)place, number);
            for (const char *type = "vfl4"; *type != '\0'; type++) {
                struct buf field;
                buf_init(&field, 64);
                put_field(&field, number, *type);
                struct clean c = {.place = (enum clean_place)place, .extra = buf_bytes(&field)};
                bool clean = is_clean_with(&c), right = strchr(known, *type) != NULL;
                if (clean ? *known != '\0' && !right : *known == '\0')
                    fail_msg("place %d, field %u as %c: %s", place, number, *type, clean ? "clean" : "not clean");
                buf_fini(&field);
            }
        }
    }
}

// The number of a field may be spelt in more bytes than it needs: other readers see a field we know.
static void test_long_tags_hide_nothing(void **state)
{
    (void)state;
    const struct clean cases[] = {
        EXTRA(A_SAMPLE, "\210\0\143"), // stack_index 99
        EXTRA(A_SAMPLE, "\210\200\200\0\143"),
        EXTRA(A_STACK, "\212\0\1\143"),
        EXTRA(A_DICTIONARY, "\272\0\3\12\1\143"), // a stack
        EXTRA(A_KEY_VALUE, "\230\0\0"),
        EXTRA(A_RESOURCE, "\212\0\4\12\0\30\0"),
        EXTRA(A_PROFILE, "\222\0\2\10\143"),
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (is_clean_with(&cases[i]))
            fail_msg("case %zu", i);
    assert_true(is_clean_with(&(struct clean)EXTRA(A_SAMPLE, "\200\1\143"))); // field 16
    assert_true(is_clean_with(&(struct clean)EXTRA(A_SAMPLE, "\200\201\0\143")));
}

static void test_every_index(void **state)
{
    (void)state;
    static const struct {
        enum clean_place place;
        uint32_t number, length;
        bool packed;
    } indices[] = {
        {A_MAPPING, 4, CLEAN_STRINGS, false},      {A_LOCATION, 1, CLEAN_TABLE_LENGTH, false},
        {A_LINE, 1, CLEAN_TABLE_LENGTH, false},    {A_FUNCTION, 1, CLEAN_STRINGS, false},
        {A_FUNCTION, 2, CLEAN_STRINGS, false},     {A_FUNCTION, 3, CLEAN_STRINGS, false},
        {AN_ATTRIBUTE, 1, CLEAN_STRINGS, false},   {AN_ATTRIBUTE, 3, CLEAN_STRINGS, false},
        {A_VALUE, 8, CLEAN_STRINGS, false},        {A_STACK, 1, CLEAN_TABLE_LENGTH, true},
        {A_STACK, 1, CLEAN_TABLE_LENGTH, false},   {A_SAMPLE, 1, CLEAN_TABLE_LENGTH, false},
        {A_SAMPLE, 3, CLEAN_TABLE_LENGTH, false},  {A_VALUE_TYPE, 1, CLEAN_STRINGS, false},
        {A_VALUE_TYPE, 2, CLEAN_STRINGS, false},   {A_PROFILE, 11, CLEAN_TABLE_LENGTH, true},
        {A_SAMPLE, 2, CLEAN_TABLE_LENGTH, true},   {A_MAPPING, 5, CLEAN_TABLE_LENGTH, true},
        {A_LOCATION, 4, CLEAN_TABLE_LENGTH, true},
    };
    for (size_t i = 0; i < COUNT_OF(indices); i++) {
        const uint64_t values[] = {indices[i].length - 1, indices[i].length, (uint64_t)-1, UINT32_MAX, INT32_MAX,
                                   (uint64_t)1 << 32};
        for (size_t v = 0; v < COUNT_OF(values); v++) {
            struct buf field;
            buf_init(&field, 64);
            size_t list = indices[i].packed ? wire_begin(&field, indices[i].number) : 0;
            if (indices[i].packed)
                wire_put_varint(&field, values[v]);
            else
                wire_put_uint(&field, indices[i].number, values[v]);
            if (indices[i].packed)
                wire_end(&field, list);
            // The list it replaces is left out, so that this one is not a second piece.
            bool list_of_attributes = indices[i].packed && indices[i].place != A_STACK;
            struct clean c = {.place = indices[i].place,
                              .extra = buf_bytes(&field),
                              .without = list_of_attributes ? indices[i].number : 0};
            if (is_clean_with(&c) != (v == 0))
                fail_msg("place %d, field %u, value %zu", (int)c.place, indices[i].number, v);
            buf_fini(&field);
        }
    }
}

static void test_broken_text_everywhere(void **state)
{
    (void)state;
    const struct clean cases[] = {
        EXTRA(A_PROFILE, "\112\1\xff"),
        EXTRA(A_SCOPE, "\12\1\xff"),
        EXTRA(A_SCOPE, "\22\2\xC0\x80"),
        EXTRA(A_SCOPE_PROFILES, "\32\1\xff"),
        EXTRA(A_RESOURCE_PROFILES, "\32\1\xff"),
        EXTRA(A_KEY_VALUE, "\12\1\xff"),
        EXTRA(A_VALUE, "\12\1\xff"),
        EXTRA(A_VALUE, "\62\5\12\3\12\1\xff"),
        EXTRA(A_VALUE, "\52\5\12\3\12\1\xff"),
        EXTRA(AN_ENTITY_REF, "\12\1\xff"),
        EXTRA(AN_ENTITY_REF, "\22\1\xff"),
        EXTRA(AN_ENTITY_REF, "\32\1\xff"),
        EXTRA(AN_ENTITY_REF, "\42\1\xff"),
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (is_clean_with(&cases[i]))
            fail_msg("case %zu", i);
    assert_true(is_clean_with(&(struct clean)EXTRA(A_VALUE, "\72\1\xff"))); // bytes are no text
}

// A dictionary with attributes 1 and 2 of these keys, and a sample with both.
static bool are_keys_clean(const char *first, const char *second, struct bytes list)
{
    struct buf more, in;
    buf_init(&more, 256);
    wire_put_bytes(&more, 5, bytes_from_text(first)); // CLEAN_STRINGS
    wire_put_bytes(&more, 5, bytes_from_text(second));
    wire_put_bytes(&more, 6, BYTES_LITERAL("\10\7\22\2\30\1")); // CLEAN_TABLE_LENGTH
    wire_put_bytes(&more, 6, BYTES_LITERAL("\10\10\22\2\30\2"));
    size_t stack = wire_begin(&more, 2);
    wire_put_bytes(&more, 4, list);
    wire_end(&more, stack);
    buf_init(&in, MAX_BYTES);
    clean_write(&in, &(struct clean){.place = A_DICTIONARY, .extra = buf_bytes(&more)});
    bool clean = is_clean(buf_bytes(&in));
    buf_fini(&in);
    buf_fini(&more);
    return clean;
}

static void test_keys_of_a_list(void **state)
{
    (void)state;
    assert_true(are_keys_clean("a", "b", BYTES_LITERAL("\2\3")));
    assert_true(are_keys_clean("a", "b", BYTES_LITERAL("\1\3\2")));
    assert_true(are_keys_clean("a", "b", BYTES_LITERAL("")));
    assert_false(are_keys_clean("a", "b", BYTES_LITERAL("\2\2")));
    assert_false(are_keys_clean("a", "b", BYTES_LITERAL("\2\0")));
    assert_false(are_keys_clean("a", "b", BYTES_LITERAL("\0")));
    assert_false(are_keys_clean("a", "a", BYTES_LITERAL("\2\3"))); // one text at two places
    assert_false(are_keys_clean("a", "key", BYTES_LITERAL("\1\3")));
    assert_true(are_keys_clean("a", "a", BYTES_LITERAL("\2\1")));
}

static void nested(struct buf *out, int depth, bool lists)
{
    struct buf inner, outer;
    buf_init(&inner, MAX_BYTES);
    buf_init(&outer, MAX_BYTES);
    for (int i = 0; i < depth; i++) {
        buf_clear(&outer);
        size_t list = wire_begin(&outer, lists ? 6 : 5);
        size_t entry = lists ? wire_begin(&outer, 1) : 0;
        wire_put_bytes(&outer, lists ? 2 : 1, buf_bytes(&inner));
        if (lists)
            wire_end(&outer, entry);
        wire_end(&outer, list);
        buf_clear(&inner);
        buf_add(&inner, outer.data, outer.len);
    }
    buf_add(out, inner.data, inner.len);
    buf_fini(&inner);
    buf_fini(&outer);
}

static void test_depth(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (int more = 0; more < 2; more++) {
            struct buf value;
            buf_init(&value, MAX_BYTES);
            nested(&value, LIMIT_VALUE_DEPTH + more, kind == 1);
            struct clean c = {.place = A_VALUE, .extra = buf_bytes(&value)};
            assert_int_equal(is_clean_with(&c), more == 0);
            buf_fini(&value);
        }
    }
}

static void test_limits(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, MAX_BYTES);
    clean_write(&in, &(struct clean){0});
    const struct otlp_limits good = {4, 4 * CLEAN_SAMPLES, 2, 2, 0, 0};
    assert_true(is_clean_within(buf_bytes(&in), &good));
    struct otlp_limits few[] = {good, good, good, good};
    few[0].max_profiles--;
    few[1].max_samples--;
    few[2].max_stack_depth--;
    few[3].max_attributes = 0;
    for (size_t i = 0; i < COUNT_OF(few); i++)
        assert_false(is_clean_within(buf_bytes(&in), &few[i]));
    buf_fini(&in);
}

// What is held for each resource and attribute is bounded before it is there.
static void test_memory_is_bounded(void **state)
{
    (void)state;
    struct otlp_limits limits = otlp_default_limits;
    struct buf in;
    buf_init(&in, MAX_BYTES);
    clean_write(&in, &(struct clean){0});
    for (int i = 0; i < 1000; i++)
        buf_add(&in, "\12\2\12\0", 4);
    limits.max_batch_bytes = 0;
    assert_true(is_clean_within(buf_bytes(&in), &limits));
    struct otlp_index index;
    limits.max_batch_bytes = 1000;
    assert_false(otlp_check(buf_bytes(&in), &limits, &index));
    buf_fini(&in);
}

static void test_cut_at_every_length(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, MAX_BYTES);
    clean_write(&in, &(struct clean){.references = true});
    size_t clean = 0;
    for (size_t len = 0; len < in.len; len++)
        clean += is_clean((struct bytes){in.data, len});
    assert_int_equal(clean, 1); // without the last resource
    buf_fini(&in);
}

// Whatever a byte becomes: clean means that it decodes.
static void test_every_byte_changed(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, MAX_BYTES);
    clean_write(&in, &(struct clean){.references = true});
    size_t clean = 0;
    for (size_t i = 0; i < in.len; i++) {
        const uint8_t was = in.data[i], becomes[] = {0, 1, 0x80, 0xff, (uint8_t)(was + 1), (uint8_t)(was ^ 8)};
        for (size_t k = 0; k < COUNT_OF(becomes); k++) {
            in.data[i] = becomes[k];
            clean += is_clean(buf_bytes(&in));
        }
        in.data[i] = was;
    }
    assert_true(clean > in.len / 4 && clean < 5 * in.len);
    buf_fini(&in);
}

static void test_long_varints(void **state)
{
    (void)state;
    const struct clean good = EXTRA(A_FUNCTION, "\40\377\377\377\377\377\377\377\377\377\1");
    const struct clean bad[] = {
        EXTRA(A_FUNCTION, "\40\377\377\377\377\377\377\377\377\377\2"),
        EXTRA(A_FUNCTION, "\40\200\200\200\200\200\200\200\200\200\200\0"),
        EXTRA(A_SAMPLE, "\42\13\200\200\200\200\200\200\200\200\200\200\0"),
        EXTRA(A_PROFILE, "\142\377\377\377\377\377\377\377\377\377\1"),
    };
    assert_true(is_clean_with(&good));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(is_clean_with(&bad[i]));
}

static void test_failing_memory(void **state)
{
    (void)state;
    struct buf in;
    struct otlp_index index;
    buf_init(&in, MAX_BYTES);
    clean_write(&in, &(struct clean){0});
    bool clean = false;
    size_t failed = 0;
    for (size_t n = 1; !clean; n++) {
        mem_fail_from(n);
        clean = otlp_check(buf_bytes(&in), &otlp_default_limits, &index);
        mem_fail_from(0);
        assert_int_equal(clean, index.counts != NULL);
        failed += !clean;
    }
    assert_true(failed >= 2);
    free(index.counts);
    buf_fini(&in);
}

// What the Collector and others write today is clean; nothing of an older layout is, whose bytes would mean another thing.
static void visit(void *arg, const char *path, struct bytes content)
{
    const char *name = strrchr(path, '/');
    bool official = strstr(path, "/official/") != NULL, current = strstr(name, "-1.10") != NULL;
    bool older = strstr(name, "-1.") != NULL && !current;
    size_t *clean = arg;
    if (strstr(name, ".json") != NULL || strstr(name, "README") != NULL)
        return;
    bool is = is_clean(content);
    if ((is && older) || (!is && official && current))
        fail_msg("%s is %s", path, is ? "clean" : "not clean");
    *clean += is;
}

static void test_corpus(void **state)
{
    (void)state;
    static const char *const folders[] = {"otlp/official", "otlp/special", "otlp/recorded", "otlp"};
    size_t clean = 0;
    if (test_corpus_dir() == NULL)
        skip();
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        test_each_corpus_file(folders[i], visit, &clean);
    assert_true(clean >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_we_write_is_clean),
        cmocka_unit_test(test_the_fixture_is_clean),
        cmocka_unit_test(test_what_must_be_there),
        cmocka_unit_test(test_what_must_not_be_there),
        cmocka_unit_test(test_what_may_be_there),
        cmocka_unit_test(test_every_field_in_every_type),
        cmocka_unit_test(test_long_tags_hide_nothing),
        cmocka_unit_test(test_every_index),
        cmocka_unit_test(test_broken_text_everywhere),
        cmocka_unit_test(test_keys_of_a_list),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_cut_at_every_length),
        cmocka_unit_test(test_every_byte_changed),
        cmocka_unit_test(test_long_varints),
        cmocka_unit_test(test_failing_memory),
        cmocka_unit_test(test_corpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
