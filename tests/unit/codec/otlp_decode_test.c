// SPDX-License-Identifier: Apache-2.0
#include "otlp_fixture.h"

#include "base/limits.h"
#include "base/mem.h"
#include "profile/stack.h"
#include "profile/validate.h"
#include "tests/support/test_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { REQUEST_MAX = 1 << 20 };

static enum err_code decode_buf(const struct buf *in, const struct otlp_limits *limits, struct batch **out,
                                struct err *e)
{
    assert_true(buf_ok(in));
    // A copy of the exact size, so that ASan sees a read past the end.
    uint8_t *copy = malloc(in->len ? in->len : 1);
    assert_non_null(copy);
    if (in->len != 0)
        memcpy(copy, in->data, in->len);
    enum err_code code = otlp_decode((struct bytes){copy, in->len}, limits, out, e);
    free(copy);
    if (code == ERR_OK) {
        struct err why = {0};
        if (batch_validate(*out, &why) != ERR_OK)
            fail_msg("%s", why.text);
    } else {
        assert_null(*out);
    }
    return code;
}

static struct batch *decode_good(const struct buf *in)
{
    struct batch *b;
    struct err e = {0};
    if (decode_buf(in, NULL, &b, &e) != ERR_OK)
        fail_msg("%s", e.text);
    return b;
}

static void decode_bad(const struct buf *in, const struct otlp_limits *limits, enum err_code code, const char *text)
{
    struct batch *b;
    struct err e = {0};
    enum err_code got = decode_buf(in, limits, &b, &e);
    batch_unref(&b);
    if (got != code || strstr(e.text, text) == NULL)
        fail_msg("code %s, text \"%s\" instead of \"%s\"", err_code_name(got), e.text, text);
}

static void assert_string(const struct batch *b, uint32_t id, const char *text)
{
    struct bytes s = b->dictionary->strings[id];
    assert_int_equal(s.len, strlen(text));
    assert_memory_equal(s.data, text, s.len);
}

static void check_profile(const struct batch *b, const struct profile *p)
{
    assert_string(b, p->sample_type.type, "key");
    assert_string(b, p->sample_type.unit, "ns");
    assert_string(b, p->period_type.type, "key");
    assert_int_equal(p->time_nanos, 1700000000000000000u);
    assert_int_equal(p->duration_nanos, 60);
    assert_int_equal(p->period, 100);
    assert_true(p->has_profile_id);
    assert_memory_equal(p->profile_id, "0123456789abcdef", 16);
    assert_int_equal(p->dropped_attributes_count, 3);
    assert_true(bytes_equal_text(p->original_payload_format, "pprof"));
    assert_true(bytes_equal_text(p->original_payload, "payload"));
    assert_int_not_equal(p->attribute_set, 0);
    assert_int_equal(p->columns->sample_count, 2);
    assert_int_equal(p->observations->values[1], -5);
}

static void check_dictionary(const struct dictionary *d)
{
    assert_int_equal(d->mapping_count, 2);
    assert_int_equal(d->mappings[1].memory_limit, UINT64_MAX);
    assert_int_equal(d->location_count, 2);
    assert_int_equal(d->locations[1].address, 0x1234);
    assert_int_equal(d->locations[1].line_count, 1);
    assert_int_equal(d->lines[d->locations[1].line_start].line, 17);
    assert_int_equal(d->lines[d->locations[1].line_start].column, 4);
    assert_int_equal(d->functions[1].start_line, 10);
    assert_int_equal(d->stack_count, 2);
    assert_int_equal(stack_depth(d, 1), 2);
    assert_int_equal(d->attribute_count, 2);
    assert_true(bytes_equal_text(d->attributes[1].value.bytes, "value"));
    assert_int_equal(d->links[1].trace_id[1], 2);
    assert_int_equal(d->attribute_set_count, 2); // index 0 in a list is no attribute
    assert_int_equal(d->attribute_sets[1].count, 1);
}

static void check_fixture(const struct fixture *f)
{
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    fixture_write(&in, f);
    struct batch *b = decode_good(&in);
    assert_int_equal(b->resource_count, 1);
    assert_int_equal(b->profile_count, 2);
    assert_int_equal(b->sample_count, 4);
    const struct resource *r = b->resources[0];
    assert_int_equal(r->attribute_count, 1);
    assert_true(bytes_equal_text(r->attributes[0].key, "key"));
    assert_true(bytes_equal_text(r->attributes[0].value.bytes, "value"));
    const struct scope *s = r->scopes[0];
    check_profile(b, &s->profiles[0]);
    check_profile(b, &s->profiles[1]);
    assert_ptr_equal(s->profiles[0].columns, s->profiles[1].columns); // equal columns are one
    assert_int_equal(s->profiles[1].observations->values[0], 8);
    check_dictionary(b->dictionary);
    batch_unref(&b);
    buf_fini(&in);
}

static void test_every_order_and_spelling(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        check_fixture(&(struct fixture){.dictionary_first = i & 1, .split_dictionary = i & 2, .unpacked = i & 4});
}

static void test_bad_indices(void **state)
{
    (void)state;
    for (int place = GOOD + 1; place < FIXTURE_PLACES; place++) {
        const uint64_t values[] = {FIXTURE_STRINGS, (uint64_t)-1, UINT32_MAX, INT32_MAX, UINT64_MAX / 2};
        const char *const shown[] = {"6 is not below", "-1 is not below", "-1 is not below", "2147483647 is not below",
                                     "9223372036854775807 is not below"};
        for (size_t i = 0; i < COUNT_OF(values); i++) {
            struct buf in;
            char text[256];
            buf_init(&in, REQUEST_MAX);
            fixture_write(&in,
                          &(struct fixture){.bad = (enum fixture_place)place, .value = values[i], .unpacked = i & 1});
            snprintf(text, sizeof text, "%s%s", fixture_error_of((enum fixture_place)place), shown[i]);
            decode_bad(&in, NULL, ERR_INVALID, text);
            buf_fini(&in);
        }
    }
}

static void test_first_index_past_the_end(void **state)
{
    (void)state;
    const enum fixture_place places[] = {LOCATION_MAPPING, STACK_LOCATION,   LINE_FUNCTION,
                                         SAMPLE_LINK,      SAMPLE_ATTRIBUTE, SAMPLE_STACK};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        struct buf in;
        buf_init(&in, REQUEST_MAX);
        fixture_write(&in, &(struct fixture){.bad = places[i], .value = FIXTURE_TABLE_LENGTH});
        decode_bad(&in, NULL, ERR_INVALID, "2 is not below 2");
        buf_fini(&in);
    }
}

static void test_missing_dictionary(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    fixture_write(&in, &(struct fixture){.no_dictionary = true});
    decode_bad(&in, NULL, ERR_INVALID, "key_strindex 3 is not below 1");
    buf_clear(&in);
    size_t rp = wire_begin(&in, 1), sp = wire_begin(&in, 2), p = wire_begin(&in, 2), s = wire_begin(&in, 2);
    wire_put_uint(&in, 4, 1);
    wire_end(&in, s);
    wire_end(&in, p);
    wire_end(&in, sp);
    wire_end(&in, rp);
    struct batch *b = decode_good(&in);
    assert_int_equal(b->sample_count, 1);
    assert_int_equal(b->dictionary->string_count, 1);
    batch_unref(&b);
    buf_fini(&in);
}

static void test_empty_request(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    struct batch *b = decode_good(&in);
    assert_int_equal(b->resource_count, 0);
    batch_unref(&b);
    buf_fini(&in);
}

static void test_truncated_at_every_length(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    fixture_write(&in, &(struct fixture){.split_dictionary = true});
    size_t whole = in.len, refused = 0;
    for (in.len = 1; in.len < whole; in.len++) {
        struct batch *b;
        struct err e = {0};
        if (decode_buf(&in, NULL, &b, &e) == ERR_OK)
            batch_unref(&b);
        else
            refused++;
    }
    assert_int_equal(refused, whole - 1); // cut between messages, what is left refers to what is gone
    buf_fini(&in);
}

static void test_failing_allocator(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    fixture_write(&in, &(struct fixture){0});
    size_t failures = 0;
    for (size_t n = 1;; n++) {
        struct batch *b;
        struct err e = {0};
        mem_fail_from(n);
        enum err_code code = otlp_decode(buf_bytes(&in), NULL, &b, &e);
        mem_fail_from(0);
        if (code == ERR_OK) {
            batch_unref(&b);
            break;
        }
        assert_int_equal(code, ERR_MEMORY);
        assert_null(b);
        failures++;
    }
    assert_true(failures > 10);
    buf_fini(&in);
}

// A request of one profile with one sample whose fields `fill` writes; tables are those of the fixture.
static void sample_request(struct buf *in, void (*fill)(struct buf *))
{
    buf_clear(in);
    fixture_write(in, &(struct fixture){.dictionary_first = true});
    size_t rp = wire_begin(in, 1), sp = wire_begin(in, 2), p = wire_begin(in, 2), s = wire_begin(in, 2);
    fill(in);
    wire_end(in, s);
    wire_end(in, p);
    wire_end(in, sp);
    wire_end(in, rp);
}

static void no_value(struct buf *out)
{
    wire_put_uint(out, 1, 1);
}

static void two_values(struct buf *out)
{
    wire_put_bytes(out, 4, BYTES_LITERAL("\1\2"));
}

static void three_values_two_times(struct buf *out)
{
    wire_put_bytes(out, 4, BYTES_LITERAL("\1\2"));
    wire_put_uint(out, 4, 3); // mixed: one list
    wire_put_fixed64(out, 5, 1);
    wire_put_fixed64(out, 5, 2);
}

static void attributes_as_in_1_9(struct buf *out)
{
    wire_put_bytes(out, 3, BYTES_LITERAL("\1"));
}

static void cut_list(struct buf *out)
{
    wire_put_bytes(out, 2, BYTES_LITERAL("\1\x80"));
}

static void odd_timestamps(struct buf *out)
{
    wire_put_bytes(out, 5, BYTES_LITERAL("1234567"));
}

static void group(struct buf *out)
{
    buf_add_byte(out, 6 << 3 | 3); // a field nobody knows, but a group
}

static void test_bad_samples(void **state)
{
    (void)state;
    const struct {
        void (*fill)(struct buf *);
        const char *text;
    } cases[] = {
        {no_value, "neither a value nor a timestamp"},
        {two_values, "2 values without timestamps"},
        {three_values_two_times, "3 values with 2 timestamps"},
        {attributes_as_in_1_9, "link_index (field 3) has wire type length-delimited"},
        {cut_list, "resource_profiles[1].scope_profiles[0].profiles[0].samples[0]: "},
        {odd_timestamps, "not a multiple of 8"},
        {group, "wire type"},
    };
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        sample_request(&in, cases[i].fill);
        decode_bad(&in, NULL, ERR_INVALID, cases[i].text);
    }
    buf_fini(&in);
}

static void timestamps_only(struct buf *out)
{
    wire_put_fixed64(out, 5, 5);
    wire_put_bytes(out, 5, BYTES_LITERAL("\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"));
}

static void test_timestamps_packed_and_not(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    sample_request(&in, timestamps_only);
    struct batch *b = decode_good(&in);
    const struct observations *o = b->resources[1]->scopes[0]->profiles[0].observations;
    assert_null(o->values);
    assert_int_equal(o->timestamp_ends[0], 3);
    assert_int_equal(o->timestamps[0], 5);
    assert_int_equal(o->timestamps[2], 2);
    batch_unref(&b);
    buf_fini(&in);
}

static void dictionary_item(struct buf *in, uint32_t table, struct bytes item)
{
    size_t d = wire_begin(in, 2);
    wire_put_bytes(in, table, item);
    wire_end(in, d);
}

static void test_element_zero(void **state)
{
    (void)state;
    const struct {
        uint32_t table;
        struct bytes item;
        const char *text;
    } cases[] = {
        {1, BYTES_LITERAL("\10\1"), "mapping_table[0]: the first element"},
        {2, BYTES_LITERAL("\20\1"), "location_table[0]: the first element"},
        {3, BYTES_LITERAL("\40\1"), "function_table[0]: the first element"},
        {4, BYTES_LITERAL("\22\10abcdefgh"), "link_table[0]: the first element"},
        {5, BYTES_LITERAL("cpu"), "string_table[0]: the first element"},
        {6, BYTES_LITERAL("\22\2\20\0"), "attribute_table[0]: the first element"},
        {7, BYTES_LITERAL("\12\1\0"), "stack_table[0]: the first element"},
    };
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf_clear(&in);
        dictionary_item(&in, cases[i].table, cases[i].item);
        decode_bad(&in, NULL, ERR_INVALID, cases[i].text);
    }
    static const uint8_t zero_link[28] = {0x0a, 16, [18] = 0x12, 8};
    buf_clear(&in);
    dictionary_item(&in, 4, (struct bytes){zero_link, sizeof zero_link});
    struct batch *b = decode_good(&in);
    batch_unref(&b);
    buf_fini(&in);
}

static void test_wrong_types_name_the_field(void **state)
{
    (void)state;
    const struct {
        struct bytes request;
        const char *text;
    } cases[] = {
        {BYTES_LITERAL("\10\1"), "resource_profiles (field 1) has wire type varint"},
        {BYTES_LITERAL("\20\1"), "dictionary (field 2) has wire type varint"},
        {BYTES_LITERAL("\22\2\30\1"), "dictionary: function_table (field 3)"},
        {BYTES_LITERAL("\22\6\62\4\12\2ab"), "attribute_table[0]: key_strindex (field 1)"}, // 1.7: KeyValue
        {BYTES_LITERAL("\22\7\42\0\42\3\12\1a"), "link_table[1]: trace_id has 1 bytes"},
        {BYTES_LITERAL("\12\6\22\4\22\2\30\1"), "profiles[0]: time_unix_nano (field 3)"},
        {BYTES_LITERAL("\12\7\22\5\22\3\72\1a"), "profiles[0]: profile_id has 1 bytes"},
        {BYTES_LITERAL("\13"), "wire type"},
        {BYTES_LITERAL("\0\0"), "field number"},
    };
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf_clear(&in);
        buf_add(&in, cases[i].request.data, cases[i].request.len);
        decode_bad(&in, NULL, ERR_INVALID, cases[i].text);
    }
    buf_fini(&in);
}

static void resource_attribute(struct buf *in, struct bytes entry)
{
    size_t rp = wire_begin(in, 1), r = wire_begin(in, 1);
    wire_put_bytes(in, 1, entry);
    wire_end(in, r);
    wire_end(in, rp);
}

static void test_key_and_index(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    fixture_write(&in, &(struct fixture){0});
    resource_attribute(&in, BYTES_LITERAL("\12\1k\30\3"));
    decode_bad(&in, NULL, ERR_INVALID, "resource_profiles[1].resource.attributes[0]: both key and key_strindex");
    buf_clear(&in);
    resource_attribute(&in, BYTES_LITERAL("\12\1k\30\0\22\2\100\0")); // index 0: not set; value reference 0: ""
    struct batch *b = decode_good(&in);
    assert_true(bytes_equal_text(b->resources[0]->attributes[0].key, "k"));
    assert_int_equal(b->resources[0]->attributes[0].value.kind, VALUE_STRING);
    assert_int_equal(b->resources[0]->attributes[0].value.bytes.len, 0);
    batch_unref(&b);
    buf_fini(&in);
}

static const struct value *only_value(const struct batch *b)
{
    assert_int_equal(b->resources[0]->attribute_count, 1);
    return &b->resources[0]->attributes[0].value;
}

static void test_values_merge_as_protobuf_has_it(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    // array [1], then array [2] in a second occurrence of value: joined
    resource_attribute(&in, BYTES_LITERAL("\22\6\52\4\12\2\30\1\12\1k\22\6\52\4\12\2\30\2"));
    struct batch *b = decode_good(&in);
    const struct value *v = only_value(b);
    assert_int_equal(v->kind, VALUE_ARRAY);
    assert_int_equal(v->count, 2);
    assert_int_equal(v->items[0].integer, 1);
    assert_int_equal(v->items[1].integer, 2);
    batch_unref(&b);
    buf_clear(&in);
    // array [1], then true, then a kvlist {"a": -1}: the last kind stays
    resource_attribute(&in, BYTES_LITERAL("\22\6\52\4\12\2\30\1\22\2\20\1\22\24\62\22\12\20\12\1a\22\13\30"
                                          "\377\377\377\377\377\377\377\377\377\1"));
    b = decode_good(&in);
    v = only_value(b);
    assert_int_equal(v->kind, VALUE_KVLIST);
    assert_int_equal(v->count, 1);
    assert_true(bytes_equal_text(v->entries[0].key, "a"));
    assert_int_equal(v->entries[0].value.integer, -1);
    batch_unref(&b);
    buf_fini(&in);
}

static void test_repeated_messages_join(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    // resource twice in one ResourceProfiles: attributes a=1; then b=2 and a=3 (the first a stays)
    size_t rp = wire_begin(&in, 1);
    wire_put_bytes(&in, 1, BYTES_LITERAL("\12\7\12\1a\22\2\30\1"));
    wire_put_bytes(&in, 1, BYTES_LITERAL("\12\7\12\1b\22\2\30\2\12\7\12\1a\22\2\30\3\20\11"));
    wire_end(&in, rp);
    struct batch *b = decode_good(&in);
    const struct resource *r = b->resources[0];
    assert_int_equal(r->attribute_count, 2);
    assert_int_equal(r->attributes[0].value.integer, 1);
    assert_true(bytes_equal_text(r->attributes[1].key, "b"));
    assert_int_equal(r->dropped_attributes_count, 9);
    batch_unref(&b);
    buf_fini(&in);
}

static void test_many_duplicate_keys(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    size_t rp = wire_begin(&in, 1), r = wire_begin(&in, 1);
    for (int i = 0; i < 200; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i % 50);
        size_t kv = wire_begin(&in, 1);
        wire_put_bytes(&in, 1, bytes_from_text(key));
        size_t v = wire_begin(&in, 2);
        wire_put_uint(&in, 3, (uint64_t)i + 1);
        wire_end(&in, v);
        wire_end(&in, kv);
    }
    wire_end(&in, r);
    wire_end(&in, rp);
    struct batch *b = decode_good(&in);
    assert_int_equal(b->resources[0]->attribute_count, 50);
    for (int i = 0; i < 50; i++)
        assert_int_equal(b->resources[0]->attributes[i].value.integer, i + 1);
    batch_unref(&b);
    buf_fini(&in);
}

static void test_broken_utf8_is_repaired(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    size_t d = wire_begin(&in, 2);
    wire_put_bytes(&in, 5, BYTES_LITERAL(""));
    wire_put_bytes(&in, 5, BYTES_LITERAL("a\xff"));
    wire_end(&in, d);
    resource_attribute(&in, BYTES_LITERAL("\30\1\22\3\12\1\xfe")); // key by reference, value inline
    struct batch *b = decode_good(&in);
    const struct key_value *kv = &b->resources[0]->attributes[0];
    assert_true(bytes_equal_text(kv->key, "a\xef\xbf\xbd"));
    assert_true(bytes_equal_text(kv->value.bytes, "\xef\xbf\xbd"));
    batch_unref(&b);
    buf_fini(&in);
}

static void nested_arrays(struct buf *in, int depth)
{
    struct buf inner, outer;
    buf_init(&inner, REQUEST_MAX);
    buf_init(&outer, REQUEST_MAX);
    for (int i = 0; i < depth; i++) { // AnyValue{array{values: [inner]}}
        buf_clear(&outer);
        size_t array = wire_begin(&outer, 5);
        wire_put_bytes(&outer, 1, buf_bytes(&inner));
        wire_end(&outer, array);
        buf_clear(&inner);
        buf_add(&inner, outer.data, outer.len);
    }
    buf_clear(&outer);
    wire_put_bytes(&outer, 2, buf_bytes(&inner));
    resource_attribute(in, buf_bytes(&outer));
    buf_fini(&inner);
    buf_fini(&outer);
}

static void test_depth_limit(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    nested_arrays(&in, LIMIT_VALUE_DEPTH);
    struct batch *b = decode_good(&in);
    batch_unref(&b);
    buf_clear(&in);
    nested_arrays(&in, LIMIT_VALUE_DEPTH + 1);
    decode_bad(&in, NULL, ERR_INVALID, "max_value_depth allows 64");
    buf_fini(&in);
}

static void test_limits_are_named(void **state)
{
    (void)state;
    const struct {
        struct otlp_limits limits;
        const char *text;
    } cases[] = {
        {{1, 9, 9, 9, 9, 0}, "profiles[1]: more than 1 profiles, as many as max_profiles allows"},
        {{9, 3, 9, 9, 9, 0}, "samples[1]: more than 3 samples, as many as max_samples allows"},
        {{9, 9, 1, 9, 9, 0}, "stack_table[1]: location_indices has 2 entries, max_stack_depth allows 1"},
        {{9, 9, 9, 1, 9, 0}, "attribute_indices has 2 entries, max_attributes allows 1"},
        {{9, 9, 9, 0, 9, 0}, "max_attributes allows 0"},
        {{9, 9, 9, 9, 9, 100}, "max_batch_bytes allows 100"},
    };
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    fixture_write(&in, &(struct fixture){0});
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        decode_bad(&in, &cases[i].limits, ERR_LIMIT, cases[i].text);
    struct batch *b;
    assert_int_equal(decode_buf(&in, &(struct otlp_limits){2, 4, 2, 2, 0, 0}, &b, NULL), ERR_OK);
    batch_unref(&b);
    buf_fini(&in);
}

// A few bytes each that would copy a large string each time.
static void test_references_do_not_multiply(void **state)
{
    (void)state;
    static char big[1 << 16];
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    size_t d = wire_begin(&in, 2);
    wire_put_bytes(&in, 5, BYTES_LITERAL(""));
    wire_put_bytes(&in, 5, (struct bytes){(const uint8_t *)big, sizeof big});
    wire_put_bytes(&in, 6, BYTES_LITERAL(""));
    for (int i = 0; i < 1000; i++)
        wire_put_bytes(&in, 6, BYTES_LITERAL("\22\2\100\1"));
    wire_end(&in, d);
    struct otlp_limits limits = otlp_default_limits;
    limits.max_batch_bytes = 1 << 20;
    decode_bad(&in, &limits, ERR_LIMIT, "bytes of strings, max_batch_bytes allows 1048576");
    buf_fini(&in);
}

static void test_entity_refs(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    size_t rp = wire_begin(&in, 1), r = wire_begin(&in, 1);
    wire_put_bytes(&in, 3, BYTES_LITERAL("\22\7service\32\14service.name"));
    wire_end(&in, r);
    wire_end(&in, rp);
    struct batch *b = decode_good(&in);
    assert_int_equal(b->resources[0]->entity_ref_count, 1);
    assert_true(bytes_equal_text(b->resources[0]->entity_refs[0], "\22\7service\32\14service.name"));
    batch_unref(&b);
    buf_clear(&in);
    rp = wire_begin(&in, 1), r = wire_begin(&in, 1);
    wire_put_bytes(&in, 3, BYTES_LITERAL("\20\1"));
    wire_end(&in, r);
    wire_end(&in, rp);
    decode_bad(&in, NULL, ERR_INVALID, "resource.entity_refs[0]: type (field 2)");
    buf_fini(&in);
}

static void test_half_a_payload_and_zero_id(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    size_t rp = wire_begin(&in, 1), sp = wire_begin(&in, 2), p = wire_begin(&in, 2);
    wire_put_bytes(&in, 7, (struct bytes){(const uint8_t[16]){0}, 16});
    wire_put_bytes(&in, 10, BYTES_LITERAL("payload"));
    wire_end(&in, p);
    wire_end(&in, sp);
    wire_end(&in, rp);
    struct batch *b = decode_good(&in);
    const struct profile *profile = &b->resources[0]->scopes[0]->profiles[0];
    assert_false(profile->has_profile_id);
    assert_int_equal(profile->original_payload.len, 0);
    batch_unref(&b);
    buf_fini(&in);
}

static void test_response(void **state)
{
    (void)state;
    int64_t rejected = 7;
    struct bytes message;
    assert_true(otlp_decode_response((struct bytes){NULL, 0}, &rejected, &message));
    assert_int_equal(rejected, 0);
    assert_int_equal(message.len, 0);
    assert_true(otlp_decode_response(BYTES_LITERAL("\12\6\10\3\22\2no"), &rejected, &message));
    assert_int_equal(rejected, 3);
    assert_true(bytes_equal_text(message, "no"));
    assert_false(otlp_decode_response(BYTES_LITERAL("\12\6\10\3\22\2n"), &rejected, &message));
    assert_false(otlp_decode_response(BYTES_LITERAL("\10\3"), &rejected, &message));
    assert_false(otlp_decode_response(BYTES_LITERAL("\12\2\20\3"), &rejected, &message));
    assert_false(otlp_decode_response(BYTES_LITERAL("<html>"), &rejected, &message));
}

static void test_status(void **state)
{
    (void)state;
    int32_t code = 7;
    struct bytes message;
    assert_true(otlp_decode_status(BYTES_LITERAL("\10\15\22\3bad\32\0"), &code, &message));
    assert_int_equal(code, 13);
    assert_true(bytes_equal_text(message, "bad"));
    assert_true(otlp_decode_status((struct bytes){NULL, 0}, &code, &message));
    assert_int_equal(code, 0);
    assert_false(otlp_decode_status(BYTES_LITERAL("\12\1a"), &code, &message));
    assert_false(otlp_decode_status(BYTES_LITERAL("\22\3ba"), &code, &message));
}

static bool has_text(const char *path, const char *text)
{
    return strstr(strrchr(path, '/'), text) != NULL;
}

static void visit_official(void *arg, const char *path, struct bytes content)
{
    size_t *decoded = arg;
    if (!has_text(path, ".pb"))
        return;
    bool current = has_text(path, "-1.10");
    struct batch *b;
    struct err e = {0};
    enum err_code code = otlp_decode(content, NULL, &b, &e);
    if (current && code != ERR_OK)
        fail_msg("%s: %s", path, e.text);
    if (!current && has_text(path, "common") && code == ERR_OK)
        fail_msg("%s: an older layout was read without an error", path);
    if (code == ERR_OK)
        assert_int_equal(batch_validate(b, NULL), ERR_OK);
    *decoded += current;
    batch_unref(&b);
}

static void visit_special(void *arg, const char *path, struct bytes content)
{
    size_t *refused = arg;
    struct batch *b;
    struct err e = {0};
    enum err_code code = otlp_decode(content, NULL, &b, &e);
    bool bad = has_text(path, "bad_") && !has_text(path, "bad_utf8");
    if (has_text(path, "README"))
        return;
    if (bad != (code != ERR_OK))
        fail_msg("%s: %s", path, code == ERR_OK ? "was decoded" : e.text);
    assert_true(code == ERR_OK || e.text[0] != 0);
    *refused += bad;
    batch_unref(&b);
}

static void visit_recorded(void *arg, const char *path, struct bytes content)
{
    (void)arg;
    if (!has_text(path, ".otlp"))
        return;
    struct batch *b;
    struct err e = {0};
    if (otlp_decode(content, NULL, &b, &e) != ERR_OK)
        fail_msg("%s: %s", path, e.text);
    batch_unref(&b);
}

static void visit_layouts(void *arg, const char *path, struct bytes content)
{
    (void)arg;
    struct batch *b;
    struct err e = {0};
    enum err_code code = otlp_decode(content, NULL, &b, &e);
    if (has_text(path, ".bin") || has_text(path, "sig-"))
        assert_int_equal(code == ERR_OK, has_text(path, "-1.10"));
    if (has_text(path, "ebpf-layout-1.10.bin")) {
        assert_int_equal(b->resource_count, 77);
        assert_int_equal(b->profile_count, 82);
        assert_int_equal(b->sample_count, 317);
        assert_int_equal(b->dictionary->string_count, 334);
    }
    batch_unref(&b);
}

static void test_corpus(void **state)
{
    (void)state;
    if (test_corpus_dir() == NULL)
        skip();
    size_t decoded = 0, refused = 0;
    test_each_corpus_file("otlp/official", visit_official, &decoded);
    assert_int_equal(decoded, 6);
    test_each_corpus_file("otlp/special", visit_special, &refused);
    assert_int_equal(refused, 11);
    assert_true(test_each_corpus_file("otlp/recorded", visit_recorded, NULL) >= 3);
    assert_true(test_each_corpus_file("otlp", visit_layouts, NULL) >= 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_order_and_spelling),
        cmocka_unit_test(test_bad_indices),
        cmocka_unit_test(test_first_index_past_the_end),
        cmocka_unit_test(test_missing_dictionary),
        cmocka_unit_test(test_empty_request),
        cmocka_unit_test(test_truncated_at_every_length),
        cmocka_unit_test(test_failing_allocator),
        cmocka_unit_test(test_bad_samples),
        cmocka_unit_test(test_timestamps_packed_and_not),
        cmocka_unit_test(test_element_zero),
        cmocka_unit_test(test_wrong_types_name_the_field),
        cmocka_unit_test(test_key_and_index),
        cmocka_unit_test(test_values_merge_as_protobuf_has_it),
        cmocka_unit_test(test_repeated_messages_join),
        cmocka_unit_test(test_many_duplicate_keys),
        cmocka_unit_test(test_broken_utf8_is_repaired),
        cmocka_unit_test(test_depth_limit),
        cmocka_unit_test(test_limits_are_named),
        cmocka_unit_test(test_references_do_not_multiply),
        cmocka_unit_test(test_entity_refs),
        cmocka_unit_test(test_half_a_payload_and_zero_id),
        cmocka_unit_test(test_response),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_corpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
