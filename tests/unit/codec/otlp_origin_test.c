// SPDX-License-Identifier: Apache-2.0
// A request that goes on from its bytes says the same as one that was decoded, changed and encoded.
#include "otlp_clean.h"

#include "base/mem.h"
#include "codec/otlp_origin.h"
#include "codec/otlp_splice.h"
#include "profile/edit.h"
#include "profile/validate.h"
#include "tests/support/batch_text.h"
#include "tests/support/random_batch.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_BYTES = 1 << 24, SEEDS = 27 };

// --- requests and batches ---

static struct buf clean_request(const struct clean *c)
{
    struct buf in;
    buf_init(&in, MAX_BYTES);
    clean_write(&in, c);
    assert_true(buf_ok(&in));
    return in;
}

static struct buf random_request(uint64_t seed)
{
    struct buf in;
    struct random_batch_options small = random_batch_defaults;
    small.item_count = small.max_samples = 6;
    small.max_profiles = 2;
    struct batch *b = random_batch(seed, &small);
    buf_init(&in, MAX_BYTES);
    assert_int_equal(otlp_encode(b, &in, NULL), ERR_OK);
    batch_unref(&b);
    return in;
}

static struct otlp_arrival arrival_of(struct bytes request)
{
    struct otlp_arrival a = {.compression = COMPRESSION_NONE};
    a.buffer = mem_alloc(request.len + 1); // one byte in front, as a gRPC message has five
    if (request.len != 0)
        memcpy(a.buffer + 1, request.data, request.len);
    a.body = (struct bytes){a.buffer + 1, request.len};
    buf_init(&a.inflated, SIZE_MAX);
    return a;
}

static struct batch *arrive_with(struct bytes request, const struct decode_options *options)
{
    struct otlp_arrival a = arrival_of(request);
    struct decode_report report = {0};
    struct batch *b;
    struct err e = {0};
    if (otlp_arrive(&a, options, &b, &report, &e) != ERR_OK)
        fail_msg("%s", e.text);
    assert_int_equal(report.samples, b->sample_count);
    assert_int_equal(report.sample_types, b->profile_count);
    assert_int_equal(a.buffer == NULL, b->origin != NULL);
    otlp_arrival_fini(&a);
    return b;
}

static struct batch *arrive(struct bytes request)
{
    return arrive_with(request, &(struct decode_options){0});
}

static struct batch *arrive_unread(struct bytes request)
{
    struct batch *b = arrive(request);
    assert_true(batch_is_unread(b));
    return b;
}

static struct batch *decoded(struct bytes request)
{
    struct batch *b;
    struct err e = {0};
    if (otlp_decode(request, NULL, &b, &e) != ERR_OK || batch_validate(b, &e) != ERR_OK)
        fail_msg("%s", e.text);
    assert_null(b->origin);
    return b;
}

static struct buf encoded(const struct batch *b)
{
    struct buf out;
    struct err e = {0};
    buf_init(&out, MAX_BYTES);
    if (otlp_encode(b, &out, &e) != ERR_OK)
        fail_msg("%s", e.text);
    return out;
}

static void open_ok(struct batch **b)
{
    struct err e = {0};
    if (batch_open(b, 0, &e) != ERR_OK || batch_validate(*b, &e) != ERR_OK)
        fail_msg("%s", e.text);
    assert_false(batch_is_unread(*b));
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

static bool as_came(const struct batch *b, enum compression compression, struct bytes expected)
{
    struct bytes body;
    size_t raw;
    if (!otlp_body_as_came(b, &otlp_plain_emission, compression, &body, &raw))
        return false;
    assert_true(bytes_equal(body, expected));
    return true;
}

static bool is_spliced(const struct batch *b)
{
    size_t most;
    return !otlp_needs_profiles(b, &otlp_plain_emission, &most);
}

static bool holds(struct bytes data, const char *text)
{
    return data.len >= strlen(text) && memmem(data.data, data.len, text, strlen(text)) != NULL;
}

// --- changes ---

enum { ADD = 1, REMOVE = 2, REPLACE = 3, DROP = 4, WAYS = 5 };

struct change {
    unsigned way;
    uint32_t step; // only every step-th resource
    struct key_value room[16];
};

// Every step-th resource, or its scopes.
static enum err_code change_part(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part,
                                 struct err *e)
{
    struct change *c = arg;
    (void)e;
    if (resource % c->step != 0)
        return ERR_OK;
    uint32_t n = part->count;
    assert_true(n + 1 < COUNT_OF(c->room));
    if (n > 0)
        memcpy(c->room, part->list, n * sizeof *part->list);
    if (c->way == ADD)
        c->room[n++] = (struct key_value){BYTES_LITERAL("added"), value_int((int64_t)scope << 40 | resource)};
    if (c->way == REMOVE && n > 0)
        memmove(c->room, c->room + 1, --n * sizeof *c->room);
    if (c->way == REPLACE && n > 0)
        c->room[0].value = value_string(BYTES_LITERAL("another"));
    part->dropped = c->way == DROP;
    part->list = c->room;
    part->count = n;
    return ERR_OK;
}

static enum err_code try_change(struct batch **b, unsigned way, bool of_scopes, uint32_t step, struct err *e)
{
    struct change c = {.way = way, .step = step};
    const struct part_attributes_change change = {.of_scopes = of_scopes, .change = change_part, .arg = &c};
    return way == 0 ? ERR_OK : batch_change_part_attributes(b, &change, e);
}

static void change(struct batch **b, unsigned way, bool of_scopes, uint32_t step)
{
    struct err e = {0};
    if (try_change(b, way, of_scopes, step, &e) != ERR_OK)
        fail_msg("%s", e.text);
}

// --- unchanged ---

static void check_unchanged(struct bytes request, const char *what)
{
    struct batch *b = arrive_unread(request), *whole = decoded(request);
    assert_int_equal(b->profile_count, whole->profile_count);
    assert_int_equal(b->sample_count, whole->sample_count);
    assert_true(batch_memory_bytes(b) >= request.len);
    for (int opened = 0; opened < 2; opened++) {
        assert_true(batch_as_came(b));
        assert_true(as_came(b, COMPRESSION_NONE, request));
        assert_false(as_came(b, COMPRESSION_GZIP, request));
        struct buf out = encoded(b);
        assert_true(bytes_equal(buf_bytes(&out), request));
        buf_fini(&out);
        if (!opened)
            open_ok(&b);
    }
    assert_same_text(b, whole, what);
    batch_unref(&b);
    batch_unref(&whole);
}

static void test_unchanged(void **state)
{
    (void)state;
    struct buf in = clean_request(&(struct clean){0});
    check_unchanged(buf_bytes(&in), "clean");
    buf_fini(&in);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        char what[32];
        snprintf(what, sizeof what, "seed %d", (int)seed);
        in = random_request(seed);
        check_unchanged(buf_bytes(&in), what);
        buf_fini(&in);
    }
}

// Fields nobody here knows, of every type, wherever nothing is written anew.
static void test_unknown_fields_travel(void **state)
{
    (void)state;
    const enum clean_place places[] = {A_MAPPING,    A_LINE,      A_LINK,    A_VALUE,          A_STACK,
                                       A_DICTIONARY, A_SAMPLE,    A_PROFILE, A_SCOPE_PROFILES, A_RESOURCE_PROFILES,
                                       A_REQUEST,    A_VALUE_TYPE};
    const struct bytes unknown = BYTES_LITERAL("\170\1"
                                               "\171\1\2\3\4\5\6\7\10"
                                               "\172\6future"
                                               "\175\1\2\3\4"
                                               "\202\20\3new");
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        struct buf in = clean_request(&(struct clean){.place = places[i], .extra = unknown});
        struct batch *b = arrive_unread(buf_bytes(&in));
        change(&b, ADD, false, 1);
        change(&b, ADD, true, 1);
        struct buf out = encoded(b);
        assert_non_null(memmem(out.data, out.len, unknown.data, unknown.len));
        buf_fini(&out);
        buf_fini(&in);
        batch_unref(&b);
    }
}

static struct buf gzipped(struct bytes request)
{
    struct compressor *c = compressor_create(COMPRESSION_GZIP, 0);
    struct buf out;
    buf_init(&out, MAX_BYTES);
    assert_int_equal(compressor_run(c, request, &out, NULL), ERR_OK);
    compressor_destroy(&c);
    return out;
}

static void test_compressed(void **state)
{
    (void)state;
    struct buf in = random_request(7), body = gzipped(buf_bytes(&in));
    struct otlp_arrival a = arrival_of(buf_bytes(&body));
    struct decode_report report = {0};
    struct batch *b;
    a.compression = COMPRESSION_GZIP;
    assert_int_equal(decompress(COMPRESSION_GZIP, a.body, 0, "", &a.inflated, NULL), ERR_OK);
    assert_int_equal(otlp_arrive(&a, &(struct decode_options){0}, &b, &report, NULL), ERR_OK);
    otlp_arrival_fini(&a);
    assert_true(as_came(b, COMPRESSION_GZIP, buf_bytes(&body)));
    assert_false(as_came(b, COMPRESSION_NONE, buf_bytes(&body)));
    struct buf out = encoded(b);
    assert_true(bytes_equal(buf_bytes(&out), buf_bytes(&in)));
    struct batch *whole = decoded(buf_bytes(&in));
    open_ok(&b);
    assert_same_text(b, whole, "gzip");
    batch_unref(&whole);
    batch_unref(&b);
    buf_fini(&out);
    buf_fini(&in);
    buf_fini(&body);
}

// --- changed ---

struct plan {
    unsigned resources, scopes; // ways
    uint32_t step;
    bool open_before, open_between;
};

static void apply(struct batch **b, const struct plan *p, bool opens)
{
    if (opens && p->open_before)
        open_ok(b);
    change(b, p->resources, false, p->step);
    if (opens && p->open_between && *b != NULL)
        open_ok(b);
    if (*b != NULL)
        change(b, p->scopes, true, p->step);
}

static void check_changed(struct bytes request, const struct plan *p)
{
    struct batch *b = arrive_unread(request), *whole = decoded(request);
    size_t most;
    apply(&b, p, true);
    apply(&whole, p, false);
    assert_int_equal(b == NULL, whole == NULL);
    if (b == NULL)
        return;
    assert_int_equal(b->profile_count, whole->profile_count);
    assert_int_equal(b->sample_count, whole->sample_count);
    struct buf out = encoded(b);
    struct batch *again = decoded(buf_bytes(&out));
    assert_same_text(again, whole, "changed");
    if (!otlp_needs_profiles(b, &otlp_plain_emission, &most))
        assert_true(out.len <= most);
    open_ok(&b);
    assert_same_text(b, whole, "changed and opened");
    batch_unref(&b);
    batch_unref(&whole);
    batch_unref(&again);
    buf_fini(&out);
}

enum { PLANS = WAYS * DROP * 4 };

static void check_plans(struct bytes request, unsigned first, unsigned step)
{
    for (unsigned i = first; i < PLANS; i += step) {
        const struct plan p = {.resources = i % WAYS,
                               .scopes = i / WAYS % DROP,
                               .step = 1 + i % 2,
                               .open_before = i / (WAYS * DROP) & 1,
                               .open_between = i / (WAYS * DROP) & 2};
        check_changed(request, &p);
    }
}

static void test_changed(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct buf in = clean_request(&(struct clean){.references = i & 1, .attribute_references = i & 2});
        check_plans(buf_bytes(&in), i, i == 0 ? 1 : 7);
        buf_fini(&in);
    }
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct buf in = random_request(seed);
        check_plans(buf_bytes(&in), (unsigned)seed - 1, SEEDS); // all together have seen each
        buf_fini(&in);
    }
}

static void test_what_did_not_change_is_copied(void **state)
{
    (void)state;
    struct buf in = clean_request(&(struct clean){0});
    struct batch *b = arrive_unread(buf_bytes(&in));
    change(&b, ADD, false, 2); // the first of two
    assert_true(batch_is_unread(b));
    assert_false(batch_as_came(b));
    assert_false(batch_resource_as_came(b, 0));
    assert_true(batch_resource_as_came(b, 1));
    assert_true(batch_scope_as_came(b, 0, 0));
    assert_true(is_spliced(b));
    assert_false(as_came(b, COMPRESSION_NONE, buf_bytes(&in)));
    struct buf out = encoded(b);
    size_t tail = in.len / 2; // dictionary and second resource
    assert_true(
        bytes_equal((struct bytes){out.data + out.len - tail, tail}, (struct bytes){in.data + in.len - tail, tail}));
    buf_fini(&out);
    change(&b, ADD, true, 2);
    assert_false(batch_scope_as_came(b, 0, 1));
    assert_true(batch_scope_as_came(b, 1, 1));
    batch_unref(&b);
    buf_fini(&in);
}

static void test_changed_twice_and_back(void **state)
{
    (void)state;
    struct buf in = random_request(3);
    struct batch *b = arrive_unread(buf_bytes(&in)), *whole = decoded(buf_bytes(&in));
    change(&b, ADD, false, 1);
    change(&b, REPLACE, false, 2);
    change(&whole, ADD, false, 1);
    change(&whole, REPLACE, false, 2);
    struct buf out = encoded(b);
    struct batch *again = decoded(buf_bytes(&out));
    assert_same_text(again, whole, "twice");
    batch_unref(&b);
    batch_unref(&whole);
    batch_unref(&again);
    buf_fini(&out);
    b = arrive_unread(buf_bytes(&in));
    whole = decoded(buf_bytes(&in));
    for (int i = 0; i < 4; i++) // of none; one more is added, and taken away again
        change(&b, REMOVE, false, 1);
    for (int i = 0; i < 4; i++)
        change(&whole, REMOVE, false, 1);
    change(&b, ADD, false, 1);
    change(&b, REMOVE, false, 1);
    out = encoded(b);
    again = decoded(buf_bytes(&out));
    assert_same_text(again, whole, "back");
    batch_unref(&b);
    batch_unref(&whole);
    batch_unref(&again);
    buf_fini(&out);
    buf_fini(&in);
}

static void test_dropped_resources_are_not_copied(void **state)
{
    (void)state;
    struct buf in = clean_request(&(struct clean){0});
    struct batch *b = arrive_unread(buf_bytes(&in));
    uint64_t samples = b->sample_count;
    change(&b, DROP, false, 2);
    assert_true(batch_is_unread(b));
    assert_int_equal(b->sample_count, samples / 2);
    assert_false(batch_as_came(b));
    assert_false(is_spliced(b));
    change(&b, DROP, false, 1);
    assert_null(b);
    buf_fini(&in);
}

// --- references to strings ---

static struct batch *arrive_references(void)
{
    struct buf in = clean_request(&(struct clean){.references = true});
    struct batch *b = arrive_unread(buf_bytes(&in));
    assert_false(as_came(b, COMPRESSION_NONE, buf_bytes(&in))); // not every backend reads them
    assert_true(batch_as_came(b));
    buf_fini(&in);
    return b;
}

static void assert_no_references(struct bytes request)
{
    struct otlp_index index;
    assert_true(otlp_check(request, &otlp_default_limits, &index));
    assert_false(index.references || index.attribute_references);
    free(index.counts);
}

static void test_references_are_inlined(void **state)
{
    (void)state;
    struct batch *b = arrive_references();
    for (int added = 0; added < 2; added++) {
        assert_true(is_spliced(b));
        struct buf out = encoded(b);
        assert_no_references(buf_bytes(&out));
        struct batch *again = decoded(buf_bytes(&out));
        const struct resource *r = again->resources[1];
        assert_true(bytes_equal_text(r->attributes[0].key, "key"));
        assert_true(bytes_equal_text(r->attributes[0].value.bytes, "s\xC3\xA9"
                                                                   "cret"));
        batch_unref(&again);
        buf_fini(&out);
        change(&b, ADD, false, 1);
    }
    batch_unref(&b);
}

static void test_what_is_removed_is_nowhere(void **state)
{
    (void)state;
    for (unsigned way = REMOVE; way <= REPLACE; way++) {
        for (int opened = 0; opened < 2; opened++) {
            struct batch *b = arrive_references();
            if (opened)
                open_ok(&b);
            change(&b, way, false, 1);
            assert_false(is_spliced(b));
            struct buf out = encoded(b);
            assert_false(holds(buf_bytes(&out), "s\xC3\xA9"
                                                "cret"));
            assert_no_references(buf_bytes(&out));
            buf_fini(&out);
            batch_unref(&b);
        }
    }
    struct batch *b = arrive_references(); // only one of the two that name it
    change(&b, REMOVE, false, 2);
    struct buf out = encoded(b);
    assert_true(holds(buf_bytes(&out), "s\xC3\xA9"
                                       "cret"));
    buf_fini(&out);
    batch_unref(&b);
}

static void test_inline_text_that_is_removed(void **state)
{
    (void)state;
    struct buf in = clean_request(&(struct clean){0});
    struct batch *b = arrive_unread(buf_bytes(&in));
    assert_true(holds(buf_bytes(&in), "shop"));
    change(&b, REMOVE, false, 1);
    assert_true(is_spliced(b));
    struct buf out = encoded(b);
    assert_false(holds(buf_bytes(&out), "shop"));
    assert_true(holds(buf_bytes(&out), "shared"));
    buf_fini(&out);
    buf_fini(&in);
    batch_unref(&b);
}

static void test_references_in_the_attribute_table(void **state)
{
    (void)state;
    struct buf in = clean_request(&(struct clean){.attribute_references = true});
    struct batch *b = arrive_unread(buf_bytes(&in));
    assert_false(is_spliced(b));
    assert_false(as_came(b, COMPRESSION_NONE, buf_bytes(&in)));
    struct buf out = encoded(b);
    assert_no_references(buf_bytes(&out));
    buf_fini(&out);
    buf_fini(&in);
    batch_unref(&b);
}

// Many attributes by reference: asking whether all are kept takes no quadratic time (4096 each, as many as may be).
static void test_many_references(void **state)
{
    (void)state;
    enum { COUNT = 4000, RESOURCES = 20 };
    struct buf in;
    buf_init(&in, MAX_BYTES);
    for (int i = 0; i < RESOURCES; i++) {
        size_t rp = wire_begin(&in, 1), r = wire_begin(&in, 1);
        for (uint64_t k = 1; k <= COUNT; k++) {
            size_t kv = wire_begin(&in, 1);
            wire_put_uint(&in, 3, k);
            wire_end(&in, kv);
        }
        wire_end(&in, r);
        wire_end(&in, rp);
    }
    size_t d = wire_begin(&in, 2);
    for (uint32_t table = 1; table <= 7; table++) {
        wire_put_bytes(&in, table, (struct bytes){NULL, 0});
        for (uint64_t k = 1; table == 5 && k <= COUNT; k++)
            wire_put_bytes(&in, 5, bytes_from_text((char[]){'k', (char)('0' + k / 64), (char)('0' + k % 64), 0}));
    }
    wire_end(&in, d);
    struct batch *b = arrive_unread(buf_bytes(&in));
    const struct key_value last = b->resources[0]->attributes[COUNT - 1];
    const struct decode_options options = {.resource_attributes = &last, .resource_attribute_count = 1};
    assert_true(is_spliced(b));
    struct batch *moved = arrive_with(buf_bytes(&in), &options); // one attribute, put behind all others
    assert_true(is_spliced(moved));
    batch_unref(&moved);
    batch_unref(&b);
    buf_fini(&in);
}

// --- not as they are ---

static void test_repeated_keys_are_decoded(void **state)
{
    (void)state;
    const struct clean cases[] = {
        {.place = A_RESOURCE, .extra = BYTES_LITERAL("\12\22\12\14service.name\22\2\20\1")},
        {.place = A_RESOURCE, .extra = BYTES_LITERAL("\12\6\12\0\22\2\20\1\12\6\12\0\22\2\20\1")},
        {.place = A_SCOPE, .extra = BYTES_LITERAL("\32\7\12\1a\22\2\30\1")},
        {.place = A_RESOURCE, .extra = BYTES_LITERAL("\12\6\30\3\22\2\20\1"), .references = true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf in = clean_request(&cases[i]);
        struct batch *b = arrive(buf_bytes(&in)), *whole = decoded(buf_bytes(&in));
        assert_false(batch_is_unread(b));
        assert_same_text(b, whole, "repeated keys");
        batch_unref(&b);
        batch_unref(&whole);
        buf_fini(&in);
    }
}

// Index 0, written out, is no reference; once it was followed without the table.
static void test_index_zero_of_a_key(void **state)
{
    (void)state;
    struct buf in = clean_request(&(struct clean){.place = A_KEY_VALUE, .extra = BYTES_LITERAL("\30\0")});
    struct batch *b = arrive_unread(buf_bytes(&in));
    assert_true(bytes_equal_text(b->resources[0]->attributes[0].key, "service.name"));
    batch_unref(&b);
    buf_fini(&in);
}

static void test_resource_attributes_of_the_options(void **state)
{
    (void)state;
    struct buf in = clean_request(&(struct clean){0});
    const struct key_value from = {BYTES_LITERAL("from"), value_string(BYTES_LITERAL("here"))};
    const struct decode_options options = {.resource_attributes = &from, .resource_attribute_count = 1};
    struct batch *b = arrive_with(buf_bytes(&in), &options);
    assert_true(batch_is_unread(b));
    struct buf out = encoded(b);
    struct batch *again = decoded(buf_bytes(&out));
    for (uint32_t r = 0; r < again->resource_count; r++)
        assert_non_null(key_values_find(again->resources[r]->attributes, again->resources[r]->attribute_count,
                                        BYTES_LITERAL("from")));
    batch_unref(&again);
    batch_unref(&b);
    buf_fini(&out);
    const struct decode_options timed = {.fallback_time_nanos = 1};
    b = arrive_with(buf_bytes(&in), &timed);
    assert_false(batch_is_unread(b));
    batch_unref(&b);
    buf_fini(&in);
}

static void test_bad_requests_stay_with_the_caller(void **state)
{
    (void)state;
    struct buf in = clean_request(&(struct clean){.place = A_STACK, .extra = BYTES_LITERAL("\10\143")});
    struct otlp_arrival a = arrival_of(buf_bytes(&in));
    struct decode_report report = {0};
    struct batch *b;
    struct err e = {0};
    assert_int_equal(otlp_arrive(&a, &(struct decode_options){0}, &b, &report, &e), ERR_INVALID);
    assert_null(b);
    assert_non_null(strstr(e.text, "location_indices 99"));
    assert_true(bytes_equal(otlp_arrival_request(&a), buf_bytes(&in)));
    otlp_arrival_fini(&a);
    buf_fini(&in);
}

// --- limits and memory ---

static void test_opening_is_bounded(void **state)
{
    (void)state;
    struct buf in = random_request(5);
    struct batch *b = arrive_unread(buf_bytes(&in)), *before = b, *whole = decoded(buf_bytes(&in));
    struct err e = {0};
    assert_int_equal(batch_open(&b, 500, &e), ERR_LIMIT);
    assert_ptr_equal(b, before);
    assert_true(batch_is_unread(b) && as_came(b, COMPRESSION_NONE, buf_bytes(&in)));
    open_ok(&b);
    assert_same_text(b, whole, "opened at the second try");
    batch_unref(&b);
    batch_unref(&whole);
    buf_fini(&in);
}

static void test_arriving_is_bounded(void **state)
{
    (void)state;
    struct buf in = random_request(5);
    struct decode_limits limits = decode_default_limits;
    const struct decode_options options = {.limits = &limits};
    struct otlp_arrival a = arrival_of(buf_bytes(&in));
    enum err_code code = ERR_LIMIT;
    size_t refused = 0;
    for (limits.max_batch_bytes = 1; code == ERR_LIMIT; limits.max_batch_bytes *= 2) {
        struct decode_report report = {0};
        struct batch *b;
        struct err e = {0};
        code = otlp_arrive(&a, &options, &b, &report, &e);
        assert_true(code == ERR_OK || code == ERR_LIMIT);
        refused += code == ERR_LIMIT;
        if (code == ERR_OK)
            assert_true(b->profile_count > 0);
        batch_unref(&b);
    }
    assert_true(refused > 5);
    otlp_arrival_fini(&a);
    buf_fini(&in);
}

static void test_arriving_without_memory(void **state)
{
    (void)state;
    const struct key_value from = {BYTES_LITERAL("from"), value_string(BYTES_LITERAL("here"))};
    const struct decode_options options = {.resource_attributes = &from, .resource_attribute_count = 1};
    struct buf in = clean_request(&(struct clean){.references = true});
    for (size_t n = 1;; n++) {
        struct otlp_arrival a = arrival_of(buf_bytes(&in));
        struct decode_report report = {0};
        struct batch *b;
        struct err e = {0};
        mem_fail_from(n);
        enum err_code code = otlp_arrive(&a, &options, &b, &report, &e);
        mem_fail_from(0);
        if (code != ERR_OK)
            assert_true(bytes_equal(otlp_arrival_request(&a), buf_bytes(&in))); // else a next try would read nothing
        otlp_arrival_fini(&a);
        if (code == ERR_OK) {
            assert_int_equal(b->profile_count, 4); // and never an answer that all is well with less
            batch_unref(&b);
            assert_true(n > 20);
            break;
        }
        assert_int_equal(code, ERR_MEMORY);
        assert_null(b);
    }
    buf_fini(&in);
}

// The n-th allocation fails, n = 1, 2, ...; not even one that fails alone loses the profiles.
static void test_working_without_memory(void **state)
{
    (void)state;
    struct buf in = clean_request(&(struct clean){.references = true});
    for (unsigned opens = 0; opens < 2; opens++) {
        bool good = false;
        for (size_t n = 1; !good; n++) {
            struct batch *b = arrive_unread(buf_bytes(&in));
            struct buf out;
            struct err e = {0};
            buf_init(&out, MAX_BYTES);
            mem_fail_from(n);
            good = try_change(&b, ADD, false, 2, &e) == ERR_OK && try_change(&b, ADD, true, 1, &e) == ERR_OK &&
                   (!opens || batch_open(&b, 0, &e) == ERR_OK) && otlp_encode(b, &out, &e) == ERR_OK;
            mem_fail_from(0);
            assert_true(good || e.code == ERR_MEMORY);
            assert_int_equal(b->profile_count, 4);
            batch_unref(&b);
            buf_fini(&out);
        }
    }
    buf_fini(&in);
}

static void test_output_is_bounded(void **state)
{
    (void)state;
    struct buf in = clean_request(&(struct clean){.references = true}), out;
    struct batch *b = arrive_unread(buf_bytes(&in));
    change(&b, ADD, false, 1);
    struct buf whole = encoded(b);
    for (size_t max = 0; max < whole.len; max++) {
        struct err e = {0};
        buf_init(&out, max);
        assert_int_equal(otlp_encode(b, &out, &e), ERR_LIMIT);
        assert_int_equal(out.len, 0);
        buf_fini(&out);
    }
    buf_init(&out, whole.len);
    assert_int_equal(otlp_encode(b, &out, NULL), ERR_OK);
    buf_fini(&out);
    buf_fini(&whole);
    buf_fini(&in);
    batch_unref(&b);
}

// --- threads ---

static void *open_and_encode(void *arg)
{
    struct batch *b = arg;
    CHECK(batch_open(&b, 0, NULL) == ERR_OK);
    struct buf out;
    buf_init(&out, MAX_BYTES);
    CHECK(otlp_encode(b, &out, NULL) == ERR_OK && batch_as_came(b));
    buf_fini(&out);
    return b;
}

static void test_several_threads_open(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    struct buf in = random_request(9);
    struct batch *b = arrive_unread(buf_bytes(&in));
    pthread_t threads[THREADS];
    void *opened[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_and_encode, batch_ref(b)), 0);
    change(&b, ADD, false, 1); // as another pipeline would meanwhile
    assert_true(batch_is_unread(b));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], &opened[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        struct batch *each = opened[i];
        assert_ptr_equal(each->dictionary, ((struct batch *)opened[0])->dictionary); // the bytes are read once
        if (i > 0)
            batch_unref(&each);
    }
    struct batch *first = opened[0];
    batch_unref(&first);
    batch_unref(&b);
    buf_fini(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unchanged),
        cmocka_unit_test(test_unknown_fields_travel),
        cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_what_did_not_change_is_copied),
        cmocka_unit_test(test_changed_twice_and_back),
        cmocka_unit_test(test_dropped_resources_are_not_copied),
        cmocka_unit_test(test_references_are_inlined),
        cmocka_unit_test(test_what_is_removed_is_nowhere),
        cmocka_unit_test(test_inline_text_that_is_removed),
        cmocka_unit_test(test_references_in_the_attribute_table),
        cmocka_unit_test(test_many_references),
        cmocka_unit_test(test_repeated_keys_are_decoded),
        cmocka_unit_test(test_index_zero_of_a_key),
        cmocka_unit_test(test_resource_attributes_of_the_options),
        cmocka_unit_test(test_bad_requests_stay_with_the_caller),
        cmocka_unit_test(test_opening_is_bounded),
        cmocka_unit_test(test_arriving_is_bounded),
        cmocka_unit_test(test_arriving_without_memory),
        cmocka_unit_test(test_working_without_memory),
        cmocka_unit_test(test_output_is_bounded),
        cmocka_unit_test(test_several_threads_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
