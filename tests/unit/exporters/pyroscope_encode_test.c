// SPDX-License-Identifier: Apache-2.0
// What the exporter `pyroscope` makes of batches. Requests are read by a reader of the test's own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/compress.h"
#include "codec/pprof.h"
#include "exporters/exporters.h"
#include "exporters/pyroscope_encode.h"
#include "exporters/pyroscope_upload.h"
#include "profile/merge.h"
#include "tests/support/batch_text.h"
#include "tests/support/fake_env.h"
#include "tests/support/pprof_bytes.h"
#include "tests/support/random_batch.h"

#include <inttypes.h>
#include <string.h>

struct world {
    struct fake_env env;
    struct fake_component out;
    struct pyroscope_exporter *exporter;
    struct record_list list;
    struct err e;
};

static void world_init(struct world *w, const char *more)
{
    char yaml[512];
    *w = (struct world){.e = {0}};
    fake_env_init(&w->env, 1);
    snprintf(yaml, sizeof yaml, "{endpoint: \"http://127.0.0.1:1\"%s}", more);
    fake_component_init(&w->out, &w->env, KIND_EXPORTER, &pyroscope_exporter.module, yaml);
    w->exporter = (struct pyroscope_exporter *)w->out.instance.component;
    record_list_init(&w->list);
}

static void world_fini(struct world *w)
{
    record_list_fini(&w->list);
    fake_component_fini(&w->out);
    fake_env_fini(&w->env);
}

static enum err_code try_encode(struct world *w, const struct batch *b)
{
    record_list_fini(&w->list);
    w->list.dropped_profiles = 0;
    return pyroscope_encoder.encode(&w->exporter->http.exporter, b, &w->list, &w->e);
}

static void encode(struct world *w, const struct batch *b)
{
    assert_int_equal(try_encode(w, b), ERR_OK);
}

static size_t record_count(const struct record *r)
{
    size_t n = 0;
    for (; r != NULL; r = r->next)
        n++;
    return n;
}

// --- a reader of protobuf ---

static uint64_t read_varint(struct bytes *b)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(b->len > 0 && shift < 64);
        const uint8_t byte = *b->data;
        *b = (struct bytes){b->data + 1, b->len - 1};
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
}

// A field with a length; all that PushRequest has. False: the end.
static bool read_field(struct bytes *message, uint64_t *number, struct bytes *value)
{
    if (message->len == 0)
        return false;
    const uint64_t tag = read_varint(message), len = read_varint(message);
    assert_int_equal(tag & 7, 2);
    assert_true(len <= message->len);
    *number = tag >> 3;
    *value = (struct bytes){message->data, len};
    *message = (struct bytes){message->data + len, message->len - len};
    return true;
}

struct series {
    struct {
        struct bytes name, value;
    } labels[64];
    size_t count;
    struct bytes profile;
};

static void read_label(struct bytes message, struct series *s)
{
    uint64_t number = 0;
    struct bytes value;
    assert_true(s->count < COUNT_OF(s->labels));
    while (read_field(&message, &number, &value))
        if (number == 1)
            s->labels[s->count].name = value;
        else
            s->labels[s->count].value = value;
    s->count++;
}

static struct series read_push(struct bytes request)
{
    uint64_t number = 0;
    struct bytes body = {NULL, 0}, value = {NULL, 0}, sample = {NULL, 0};
    struct series s = {.count = 0};
    assert_true(read_field(&request, &number, &body) && number == 1 && request.len == 0);
    while (read_field(&body, &number, &value))
        if (number == 1)
            read_label(value, &s);
        else
            sample = value;
    assert_true(read_field(&sample, &number, &s.profile) && number == 1 && sample.len == 0);
    return s;
}

static struct series series_of(const struct record *r)
{
    assert_int_equal(r->encoding, PYROSCOPE_PUSH);
    assert_int_equal(r->compression, COMPRESSION_NONE);
    return read_push((struct bytes){r->data, r->len});
}

static struct bytes label_of(const struct series *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (bytes_equal_text(s->labels[i].name, name))
            return s->labels[i].value;
    return (struct bytes){NULL, 0};
}

static struct batch *decode(struct bytes profile)
{
    struct batch *b;
    struct err e = {0};
    struct decode_report report;
    const struct decode_options options = {.limits = NULL};
    if (pprof_decode(profile, &options, &b, &report, &e) != ERR_OK)
        fail_msg("%s", e.text);
    return b;
}

static struct bytes profile_bytes(const struct record *r)
{
    return r->encoding == PYROSCOPE_PUSH ? series_of(r).profile
                                         : pyroscope_upload_read((struct bytes){r->data, r->len}).body;
}

static uint64_t time_of(const struct record *r)
{
    struct batch *b = decode(profile_bytes(r));
    const uint64_t time = b->resources[0]->scopes[0]->profiles[0].time_nanos;
    batch_unref(&b);
    return time;
}

// --- batches ---

static struct batch *from_pprof(struct bytes data, const struct key_value *attributes, uint32_t count)
{
    struct batch *b;
    struct err e;
    struct decode_report report;
    const struct decode_options options = {.resource_attributes = attributes, .resource_attribute_count = count};
    assert_int_equal(pprof_decode(data, &options, &b, &report, &e), ERR_OK);
    return b;
}

static struct batch *small_batch(const char *service)
{
    const struct key_value name = {BYTES_LITERAL("service.name"), value_string(bytes_from_text(service))};
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    struct batch *b = from_pprof(buf_bytes(&p.out), &name, 1);
    pprof_bytes_fini(&p);
    return b;
}

static struct batch *merge(struct batch *const *batches, size_t count)
{
    struct batch *out;
    struct err e;
    assert_int_equal(batch_merge(batches, count, &out, &e), ERR_OK);
    return out;
}

// So many samples, each with a stack and a name of its own, at this time.
static struct batch *wide_batch(uint32_t samples, uint64_t time)
{
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_type(&p, "cpu", "nanoseconds");
    pprof_bytes_type(&p, "wall-clock", "nanoseconds");
    for (uint64_t i = 1; i <= samples; i++) {
        char name[64];
        const int64_t values[] = {(int64_t)i, (int64_t)i * 2};
        snprintf(name, sizeof name, "function_with_a_name_of_some_length_%" PRIu64, i);
        pprof_bytes_function(&p, i, name);
        pprof_bytes_location(&p, i, 0, 0, i);
        pprof_bytes_sample(&p, &i, 1, values, 2, NULL, 0);
    }
    pprof_bytes_number(&p, 9, time);
    struct batch *b = from_pprof(buf_bytes(&p.out), NULL, 0);
    pprof_bytes_fini(&p);
    return b;
}

// Values of the type that are in all records together.
static int64_t sum_of(const struct record *r, uint32_t type)
{
    int64_t sum = 0;
    for (; r != NULL; r = r->next) {
        struct batch *b = decode(profile_bytes(r));
        const struct observations *o = b->resources[0]->scopes[0]->profiles[type].observations;
        for (uint32_t i = 0; i < o->sample_count; i++)
            sum += o->values[i];
        batch_unref(&b);
    }
    return sum;
}

static void check_times_differ(const struct record *r)
{
    for (const struct record *a = r; a != NULL; a = a->next)
        for (const struct record *b = a->next; b != NULL; b = b->next)
            assert_int_not_equal(time_of(a), time_of(b));
}

static void check_wide(struct world *w, uint32_t samples)
{
    const int64_t sum = (int64_t)samples * (samples + 1) / 2;
    uint64_t told = 0;
    for (const struct record *r = w->list.head; r != NULL; r = r->next)
        told += r->samples;
    assert_int_equal(told, 2 * samples);
    // The last type of a pprof is its default, and so the first profile.
    assert_int_equal(sum_of(w->list.head, 0), 2 * sum);
    assert_int_equal(sum_of(w->list.head, 1), sum);
    check_times_differ(w->list.head);
}

// --- encode ---

static void test_a_profile_becomes_a_series(void **state)
{
    (void)state;
    struct world w;
    struct buf sent, came;
    world_init(&w, "");
    struct batch *b = small_batch("shop");
    encode(&w, b);
    assert_int_equal(record_count(w.list.head), 1);
    assert_int_equal(w.list.head->samples, b->sample_count);
    assert_int_equal(w.list.head->profiles, b->profile_count);
    const struct series s = series_of(w.list.head);
    assert_true(bytes_equal_text(label_of(&s, "service_name"), "shop"));
    assert_true(label_of(&s, "__name__").len > 0);
    for (size_t i = 1; i < s.count; i++)
        assert_true(bytes_compare(s.labels[i - 1].name, s.labels[i].name) < 0);
    assert_int_equal(compression_detect(s.profile), COMPRESSION_GZIP);
    // But for the resource it is the batch that it was.
    struct batch *back = decode(s.profile);
    struct batch *bare = small_batch("shop");
    buf_init(&sent, SIZE_MAX);
    buf_init(&came, SIZE_MAX);
    for (uint32_t p = 0; p < b->profile_count; p++)
        for (uint32_t i = 0; i < b->resources[0]->scopes[0]->profiles[p].columns->sample_count; i++) {
            sample_text(bare, &bare->resources[0]->scopes[0]->profiles[p], i, &sent);
            sample_text(back, &back->resources[0]->scopes[0]->profiles[p], i, &came);
        }
    assert_true(bytes_equal(buf_bytes(&sent), buf_bytes(&came)));
    buf_fini(&sent);
    buf_fini(&came);
    batch_unref(&bare);
    batch_unref(&back);
    batch_unref(&b);
    world_fini(&w);
}

static void test_dashes_of_sample_types(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, ", profile_compression: none");
    struct batch *b = wide_batch(3, 1760000000000000000);
    encode(&w, b);
    struct batch *back = decode(series_of(w.list.head).profile);
    const struct profile *p = back->resources[0]->scopes[0]->profiles;
    assert_true(bytes_equal_text(back->dictionary->strings[p[0].sample_type.type], "wall_clock"));
    check_wide(&w, 3);
    batch_unref(&back);
    batch_unref(&b);
    world_fini(&w);
}

static void test_one_time_is_there_once_for_a_series(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "");
    struct batch *a = small_batch("shop"), *other = small_batch("cart");
    struct batch *const all[] = {a, other, a, a};
    struct batch *b = merge(all, COUNT_OF(all));
    encode(&w, b);
    assert_int_equal(record_count(w.list.head), 4);
    const struct record *r = w.list.head;
    const uint64_t time = time_of(r);
    assert_int_equal(time_of(r->next), time); // another series
    assert_int_equal(time_of(r->next->next), time + 1);
    assert_int_equal(time_of(r->next->next->next), time + 2);
    batch_unref(&b);
    batch_unref(&a);
    batch_unref(&other);
    world_fini(&w);
}

static void test_a_time_that_is_not_known_is_now(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "");
    struct batch *b = wide_batch(2, 0);
    const int64_t before = clock_wall_nanos(w.env.env.clock);
    encode(&w, b);
    assert_true((int64_t)time_of(w.list.head) >= before);
    batch_unref(&b);
    world_fini(&w);
}

// More than share a dictionary: halved, and all there in order.
static void test_many_profiles(void **state)
{
    (void)state;
    enum { MANY = 300 };
    struct batch *list[MANY];
    struct world w;
    world_init(&w, ", profile_compression: none");
    for (uint32_t i = 0; i < MANY; i++) {
        char service[16];
        snprintf(service, sizeof service, "s%u", i);
        list[i] = small_batch(service);
    }
    struct batch *b = merge(list, MANY);
    encode(&w, b);
    assert_int_equal(record_count(w.list.head), MANY);
    uint32_t i = 0;
    const size_t len = w.list.head->len;
    for (const struct record *r = w.list.head; r != NULL; r = r->next, i++) {
        char service[16];
        const struct series s = series_of(r);
        snprintf(service, sizeof service, "s%u", i);
        assert_true(bytes_equal_text(label_of(&s, "service_name"), service));
        assert_true(r->len < len + 16); // nothing of the others
        batch_unref(&list[i]);
    }
    batch_unref(&b);
    world_fini(&w);
}

static void test_profiles_without_samples_say_nothing(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "");
    struct batch *b = wide_batch(0, 1760000000000000000);
    encode(&w, b);
    assert_null(w.list.head);
    assert_null(w.list.dropped);
    batch_unref(&b);
    world_fini(&w);
}

static void test_random_batches_keep_their_samples(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, ", labels: {max_value_bytes: 40}");
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct batch *b = random_batch(seed, NULL);
        uint64_t samples = 0;
        encode(&w, b);
        for (const struct record *r = w.list.head; r != NULL; r = r->next) {
            const struct series s = series_of(r);
            struct batch *back = decode(s.profile);
            assert_int_equal(back->sample_count, r->samples);
            samples += back->sample_count;
            for (size_t i = 0; i < s.count; i++)
                assert_true(s.labels[i].value.len <= 40 && s.labels[i].value.len > 0);
            batch_unref(&back);
        }
        if (samples != b->sample_count)
            fail_msg("seed %" PRIu64 ": %" PRIu64 " of %" PRIu64, seed, samples, b->sample_count);
        batch_unref(&b);
    }
    world_fini(&w);
}

static void test_the_window(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, ", max_age: 1h, max_ahead: 10m");
    const uint64_t now = (uint64_t)clock_wall_nanos(w.env.env.clock), second = 1000000000;
    static const struct {
        int64_t seconds;
        bool good;
    } cases[] = {{0, true}, {-3500, true}, {-3700, false}, {500, true}, {700, false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct batch *b = wide_batch(2, now + (uint64_t)cases[i].seconds * second);
        encode(&w, b);
        assert_int_equal(record_count(w.list.head), cases[i].good);
        assert_int_equal(w.list.dropped_profiles, cases[i].good ? 0 : 2);
        batch_unref(&b);
    }
    assert_int_equal(metric_get(w.exporter->out_of_window), 8);
    assert_non_null(strstr(fake_env_log(&w.env), "3700 s old, max_age allows 3600 s"));
    assert_non_null(strstr(fake_env_log(&w.env), "max_ahead allows 600 s"));
    world_fini(&w);
}

// --- too large ---

static void test_too_many_bytes(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, ", max_profile_bytes: 8KiB, profile_compression: none");
    struct batch *b = wide_batch(1000, 1760000000000000000);
    encode(&w, b);
    assert_true(record_count(w.list.head) > 5 && record_count(w.list.head) < 30);
    for (const struct record *r = w.list.head; r != NULL; r = r->next)
        assert_true(series_of(r).profile.len <= 8192 && r->raw_bytes <= 8192);
    check_wide(&w, 1000);
    batch_unref(&b);
    world_fini(&w);
}

static void test_too_many_samples(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, ", max_profile_samples: 100");
    struct batch *b = wide_batch(1000, 1760000000000000000);
    encode(&w, b);
    assert_in_range(record_count(w.list.head), 10, 20);
    for (const struct record *r = w.list.head; r != NULL; r = r->next)
        assert_true(r->samples <= 200);
    check_wide(&w, 1000);
    batch_unref(&b);
    world_fini(&w);
}

// In the middle of others, which stay whole.
static void test_only_the_large_one_is_cut(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, ", max_profile_samples: 60");
    struct batch *small = small_batch("a"), *large = wide_batch(100, 1760000000000000000);
    struct batch *const all[] = {small, large, small};
    struct batch *b = merge(all, COUNT_OF(all));
    encode(&w, b);
    const struct record *r = w.list.head;
    const size_t count = record_count(r);
    assert_true(count >= 4);
    assert_int_equal(r->samples, small->sample_count);
    uint64_t samples = 0;
    for (; r->next != NULL; r = r->next)
        samples += r->samples;
    assert_int_equal(r->samples, small->sample_count);
    assert_int_equal(samples, small->sample_count + large->sample_count);
    batch_unref(&b);
    batch_unref(&small);
    batch_unref(&large);
    world_fini(&w);
}

static void test_a_sample_too_large_is_dropped(void **state)
{
    (void)state;
    static char name[4000];
    struct world w;
    struct pprof_bytes p;
    const uint64_t location = 1;
    const int64_t value = 1;
    world_init(&w, ", max_profile_bytes: 1KiB");
    memset(name, 'f', sizeof name - 1);
    pprof_bytes_init(&p);
    pprof_bytes_type(&p, "cpu", "nanoseconds");
    pprof_bytes_function(&p, 1, name);
    pprof_bytes_location(&p, 1, 0, 0, 1);
    pprof_bytes_sample(&p, &location, 1, &value, 1, NULL, 0);
    struct batch *b = from_pprof(buf_bytes(&p.out), NULL, 0);
    encode(&w, b);
    assert_null(w.list.head);
    assert_int_equal(w.list.dropped_profiles, 1);
    assert_non_null(strstr(w.list.dropped, "max_profile_bytes allows 1024"));
    pprof_bytes_fini(&p);
    batch_unref(&b);
    world_fini(&w);
}

// --- in place of a record ---

static const struct verdict too_large = {.kind = VERDICT_REFUSED, .too_large = true};

// Splits the first record, then the first of its parts, and so on.
static void check_replace(const char *settings, uint32_t samples)
{
    struct world w;
    world_init(&w, settings);
    struct batch *b = wide_batch(samples, 1760000000000000000);
    encode(&w, b);
    assert_int_equal(record_count(w.list.head), 1);
    for (int i = 0; i < 5; i++) {
        struct record *whole = w.list.head;
        struct record_list parts;
        record_list_init(&parts);
        assert_int_equal(pyroscope_encoder.replace(&w.exporter->http.exporter, whole, &too_large, &parts, &w.e),
                         ERR_OK);
        assert_true(record_count(parts.head) >= 2);
        *parts.tail = whole->next;
        if (whole->next == NULL)
            w.list.tail = parts.tail;
        w.list.head = record_list_take(&parts);
        record_destroy(&whole);
        assert_true(w.list.head->is_part);
    }
    check_wide(&w, samples);
    batch_unref(&b);
    world_fini(&w);
}

static void test_a_refused_record_is_cut(void **state)
{
    (void)state;
    check_replace("", 1000);
    check_replace(", profile_compression: none", 1000);
    check_replace(", api: ingest", 1000);
}

static void check_same_series(const char *settings)
{
    struct world w;
    struct record_list parts;
    world_init(&w, settings);
    struct batch *b = wide_batch(200, 1760000000000000000);
    encode(&w, b);
    record_list_init(&parts);
    assert_int_equal(pyroscope_encoder.replace(&w.exporter->http.exporter, w.list.head, &too_large, &parts, &w.e),
                     ERR_OK);
    struct buf whole, part;
    struct err e;
    buf_init(&whole, SIZE_MAX);
    assert_int_equal(
        decompress(COMPRESSION_GZIP, (struct bytes){w.list.head->data, w.list.head->len}, 0, "x", &whole, &e), ERR_OK);
    const struct series s = read_push(buf_bytes(&whole));
    for (const struct record *r = parts.head; r != NULL; r = r->next) {
        buf_init(&part, SIZE_MAX);
        assert_int_equal(decompress(COMPRESSION_GZIP, (struct bytes){r->data, r->len}, 0, "x", &part, &e), ERR_OK);
        const struct series t = read_push(buf_bytes(&part));
        assert_int_equal(t.count, s.count);
        for (size_t i = 0; i < s.count; i++)
            assert_true(bytes_equal(s.labels[i].name, t.labels[i].name) &&
                        bytes_equal(s.labels[i].value, t.labels[i].value));
        buf_fini(&part);
    }
    buf_fini(&whole);
    record_list_fini(&parts);
    batch_unref(&b);
    world_fini(&w);
}

static void test_the_parts_are_the_same_series(void **state)
{
    (void)state;
    check_same_series(", compression: gzip");
    check_same_series(", compression: gzip, profile_compression: none");
}

// --- recordings ---

static uint32_t put_attribute(struct builder *b, const char *key, struct value v)
{
    return builder_attribute(b, builder_string_text(b, key), 0, &v);
}

// Two recordings of one second and a profile without anything, as pprof_group would take them together.
static struct batch *recordings(void)
{
    struct builder *b = builder_create(0);
    struct batch *out;
    struct err e;
    const struct key_value name = {BYTES_LITERAL("service.name"), value_string(BYTES_LITERAL("java"))};
    builder_resource(b, &name, 1, 0, BYTES_LITERAL(""));
    builder_scope(b, BYTES_LITERAL(""), BYTES_LITERAL(""), NULL, 0, 0, BYTES_LITERAL(""));
    const uint32_t attributes[] = {
        put_attribute(b, PYROSCOPE_ATTRIBUTE_JFR_LABELS,
                      (struct value){.kind = VALUE_BYTES, .bytes = BYTES_LITERAL("L")}),
        put_attribute(b, PYROSCOPE_ATTRIBUTE_SAMPLE_RATE, value_int(50)),
        put_attribute(b, PYROSCOPE_ATTRIBUTE_UNITS, value_string(BYTES_LITERAL("samples"))),
    };
    const uint32_t set = builder_attribute_set(b, attributes, COUNT_OF(attributes));
    for (int i = 0; i < 3; i++) {
        struct sample_writer samples;
        struct observation_writer values;
        sample_writer_init(&samples, b);
        observation_writer_init(&values, b);
        struct profile p = {.time_nanos = 1795974691000000000, .duration_nanos = 8000000000, .attribute_set = set};
        if (i != 1) {
            p.original_payload_format = BYTES_LITERAL("jfr");
            p.original_payload = i == 0 ? BYTES_LITERAL("FLR one") : BYTES_LITERAL("FLR two");
        }
        p.columns = sample_writer_take(&samples);
        p.observations = observation_writer_take(&values);
        builder_profile(b, &p);
        sample_writer_fini(&samples);
        observation_writer_fini(&values);
    }
    assert_int_equal(builder_finish(b, &out, &e), ERR_OK);
    builder_destroy(&b);
    return out;
}

static void test_recordings_go_to_ingest(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, ", compression: gzip");
    struct batch *b = recordings();
    encode(&w, b);
    assert_int_equal(record_count(w.list.head), 2);
    const struct record *first = w.list.head, *second = first->next;
    const struct pyroscope_upload_parts one = pyroscope_upload_read((struct bytes){first->data, first->len}),
                                        two = pyroscope_upload_read((struct bytes){second->data, second->len});
    assert_int_equal(first->encoding, PYROSCOPE_INGEST);
    assert_int_equal(first->compression, COMPRESSION_NONE);
    assert_string_equal(one.query,
                        "name=java%7B%7D&from=1795974691&until=1795974699&format=jfr&sampleRate=50&units=samples");
    // The same second is another nanosecond.
    assert_string_equal(two.query, "name=java%7B%7D&from=1795974691000000001&until=1795974699000000001&format=jfr"
                                   "&sampleRate=50&units=samples");
    assert_non_null(memmem(one.body.data, one.body.len, "\r\n\r\nFLR one\r\n--", 15));
    assert_non_null(memmem(one.body.data, one.body.len, "name=\"labels\"", 13));
    assert_non_null(memmem(two.body.data, two.body.len, "\r\n\r\nFLR two\r\n--", 15));
    assert_int_equal(strncmp(one.content_type, "multipart/form-data; boundary=", 30), 0);
    struct record_list parts;
    record_list_init(&parts);
    assert_int_equal(pyroscope_encoder.replace(&w.exporter->http.exporter, first, &too_large, &parts, &w.e),
                     ERR_UNSUPPORTED);
    batch_unref(&b);
    world_fini(&w);
}

// --- memory ---

static void test_encoding_without_memory(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, ", max_profile_samples: 20");
    struct batch *small = small_batch("a"), *large = wide_batch(50, 1760000000000000000), *jfr = recordings();
    struct batch *const all[] = {small, large, jfr};
    struct batch *b = merge(all, COUNT_OF(all));
    enum err_code rc = ERR_MEMORY;
    size_t n = 1;
    for (; rc != ERR_OK; n++) {
        mem_fail_from(n);
        rc = try_encode(&w, b);
        mem_fail_from(0);
        if (rc != ERR_OK)
            assert_int_equal(rc, ERR_MEMORY);
    }
    assert_true(n > 20);
    assert_true(record_count(w.list.head) > 4);
    rc = ERR_MEMORY;
    const struct record *first = w.list.head;
    for (n = 1; rc != ERR_OK; n++) {
        struct record_list parts;
        record_list_init(&parts);
        mem_fail_from(n);
        rc = pyroscope_encoder.replace(&w.exporter->http.exporter, first, &too_large, &parts, &w.e);
        mem_fail_from(0);
        record_list_fini(&parts);
        if (rc != ERR_OK)
            assert_int_equal(rc, ERR_MEMORY);
    }
    batch_unref(&b);
    batch_unref(&small);
    batch_unref(&large);
    batch_unref(&jfr);
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_profile_becomes_a_series),
        cmocka_unit_test(test_dashes_of_sample_types),
        cmocka_unit_test(test_one_time_is_there_once_for_a_series),
        cmocka_unit_test(test_a_time_that_is_not_known_is_now),
        cmocka_unit_test(test_many_profiles),
        cmocka_unit_test(test_profiles_without_samples_say_nothing),
        cmocka_unit_test(test_random_batches_keep_their_samples),
        cmocka_unit_test(test_the_window),
        cmocka_unit_test(test_too_many_bytes),
        cmocka_unit_test(test_too_many_samples),
        cmocka_unit_test(test_only_the_large_one_is_cut),
        cmocka_unit_test(test_a_sample_too_large_is_dropped),
        cmocka_unit_test(test_a_refused_record_is_cut),
        cmocka_unit_test(test_the_parts_are_the_same_series),
        cmocka_unit_test(test_recordings_go_to_ingest),
        cmocka_unit_test(test_encoding_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
