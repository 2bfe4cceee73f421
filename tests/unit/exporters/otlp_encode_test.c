// SPDX-License-Identifier: Apache-2.0
// What the OTLP exporters make of batches that are too large for one request.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/compress.h"
#include "codec/otlp.h"
#include "exporters/exporters.h"
#include "exporters/otlp_encode.h"
#include "exporters/otlp_layouts.h"
#include "exporters/request_size.h"
#include "tests/support/batch_text.h"
#include "tests/support/fake_env.h"
#include "tests/support/random_batch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARTS = 4096, MAX_RAW = 1 << 26 };

struct world {
    struct fake_env env;
    struct fake_component out;
    struct otlp_exporter *exporter;
    struct record_list list;
    struct err e;
};

static void world_init(struct world *w, uint64_t max_request_bytes)
{
    char yaml[128];
    *w = (struct world){.e = {0}};
    fake_env_init(&w->env, 1);
    snprintf(yaml, sizeof yaml, "{endpoint: \"http://127.0.0.1:1\", compression: none, max_request_bytes: %" PRIu64 "}",
             max_request_bytes);
    fake_component_init(&w->out, &w->env, KIND_EXPORTER, &otlp_http_exporter.module, yaml);
    w->exporter = (struct otlp_exporter *)w->out.instance.component;
    record_list_init(&w->list);
}

static void world_fini(struct world *w)
{
    record_list_fini(&w->list);
    fake_component_fini(&w->out);
    fake_env_fini(&w->env);
}

static void encode(struct world *w, const struct batch *b)
{
    record_list_fini(&w->list);
    assert_int_equal(otlp_encoder.encode(&w->exporter->http.exporter, b, &w->list, &w->e), ERR_OK);
}

static int64_t dropped_samples(struct world *w)
{
    return metric_get(w->exporter->http.too_large);
}

// --- batches ---

struct maker {
    struct builder *builder;
    uint32_t type, unit;
};

static struct maker maker_begin(void)
{
    struct maker m = {.builder = builder_create(0)};
    m.type = builder_string_text(m.builder, "cpu");
    m.unit = builder_string_text(m.builder, "nanoseconds");
    return m;
}

static struct batch *maker_end(struct maker *m)
{
    struct batch *b;
    struct err e;
    assert_int_equal(builder_finish(m->builder, &b, &e), ERR_OK);
    builder_destroy(&m->builder);
    return b;
}

static void add_service(struct maker *m, const char *service)
{
    const struct key_value name = {BYTES_LITERAL("service.name"), value_string(bytes_from_text(service))};
    builder_resource(m->builder, &name, 1, 0, BYTES_LITERAL(""));
    builder_scope(m->builder, BYTES_LITERAL("test"), BYTES_LITERAL(""), NULL, 0, 0, BYTES_LITERAL(""));
}

// A stack with functions of its own, its names together so long.
static uint32_t add_stack(struct maker *m, const char *name, uint32_t frames, uint32_t name_bytes)
{
    uint32_t locations[64];
    char text[8192];
    assert_true(frames <= COUNT_OF(locations) && name_bytes < sizeof text - 64);
    for (uint32_t i = 0; i < frames; i++) {
        size_t used = (size_t)snprintf(text, sizeof text, "%s/%u/", name, i);
        memset(text + used, 'f', name_bytes);
        text[used + name_bytes] = '\0';
        const struct batch_function f = {.name = builder_string_text(m->builder, text)};
        const struct batch_line line = {.function = builder_function(m->builder, &f), .line = i + 1};
        const struct batch_location l = {.address = 0};
        locations[i] = builder_location(m->builder, &l, &line, 1);
    }
    return builder_stack(m->builder, locations, frames);
}

// count samples with the values 1, 2, ...; stacks as given, in turn.
static void add_profile(struct maker *m, uint32_t count, const uint32_t *stacks, uint32_t stack_count, size_t payload)
{
    struct sample_writer samples;
    struct observation_writer values;
    sample_writer_init(&samples, m->builder);
    observation_writer_init(&values, m->builder);
    for (uint32_t i = 0; i < count; i++) {
        sample_writer_add(&samples, stacks[i % stack_count], 0, 0);
        observation_writer_add_value(&values, (int64_t)i + 1);
    }
    uint8_t *bytes = mem_alloc(payload);
    struct profile p = {.sample_type = {m->type, m->unit},
                        .columns = sample_writer_take(&samples),
                        .observations = observation_writer_take(&values)};
    if (payload > 0) {
        p.original_payload = (struct bytes){bytes, payload};
        p.original_payload_format = BYTES_LITERAL("test");
    }
    builder_profile(m->builder, &p);
    sample_writer_fini(&samples);
    observation_writer_fini(&values);
    free(bytes);
}

static struct batch *services_with_own_code(uint32_t services, uint32_t samples)
{
    struct maker m = maker_begin();
    for (uint32_t s = 0; s < services; s++) {
        char name[32];
        uint32_t stacks[20];
        snprintf(name, sizeof name, "service-%u", s);
        add_service(&m, name);
        for (uint32_t i = 0; i < COUNT_OF(stacks); i++) {
            char code[64];
            snprintf(code, sizeof code, "%s/%u", name, i);
            stacks[i] = add_stack(&m, code, 10, 20);
        }
        add_profile(&m, samples, stacks, COUNT_OF(stacks), 0);
    }
    return maker_end(&m);
}

// --- what came of them ---

static struct batch *decoded(const struct record *r)
{
    struct batch *b;
    struct err e;
    assert_int_equal(otlp_decode((struct bytes){r->data, r->len}, &otlp_default_limits, &b, &e), ERR_OK);
    assert_int_equal(b->sample_count, r->samples);
    assert_int_equal(b->profile_count, r->profiles);
    return b;
}

// All of the records together say what the batch says, each within the limit. How many there are.
static size_t assert_whole(const struct record_list *list, struct batch *whole, size_t limit)
{
    static struct batch *parts[MAX_PARTS];
    size_t count = 0;
    for (const struct record *r = list->head; r != NULL; r = r->next) {
        assert_in_range(r->raw_bytes, 1, limit);
        assert_int_equal(r->raw_bytes, r->len);
        assert_true(count < MAX_PARTS);
        parts[count++] = decoded(r);
    }
    char *wanted = batch_lines(&whole, 1), *got = batch_lines(parts, count);
    assert_string_equal(got, wanted);
    free(wanted);
    free(got);
    for (size_t i = 0; i < count; i++)
        batch_unref(&parts[i]);
    return count;
}

static size_t total_bytes(const struct record_list *list)
{
    size_t total = 0;
    for (const struct record *r = list->head; r != NULL; r = r->next)
        total += r->raw_bytes;
    return total;
}

static size_t whole_size(const struct batch *b)
{
    struct buf raw;
    struct err e;
    buf_init(&raw, MAX_RAW);
    assert_int_equal(otlp_encode(b, &raw, &e), ERR_OK);
    size_t size = raw.len;
    buf_fini(&raw);
    return size;
}

// --- before sending ---

static void parts_make_the_whole(void **state)
{
    (void)state;
    struct random_batch_options options = random_batch_defaults;
    options.max_samples = 40;
    options.item_count = 60;
    options.payloads = false; // a cut drops them
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct batch *b = random_batch(seed, &options);
        size_t size = whole_size(b);
        static const unsigned shares[] = {1, 2, 3, 10};
        for (size_t i = 0; i < COUNT_OF(shares); i++) {
            struct world w;
            size_t limit = size / shares[i];
            if (limit < 4096)
                continue;
            world_init(&w, limit);
            encode(&w, b);
            assert_null(w.list.dropped);
            size_t count = assert_whole(&w.list, b, limit);
            assert_true(shares[i] == 1 ? count == 1 : count >= shares[i]);
            world_fini(&w);
        }
        batch_unref(&b);
    }
}

static void each_part_has_its_own_dictionary(void **state)
{
    (void)state;
    struct batch *b = services_with_own_code(16, 60);
    size_t size = whole_size(b), limit = size / 10;
    struct world w;
    world_init(&w, limit);
    encode(&w, b);
    size_t count = assert_whole(&w.list, b, limit);
    assert_in_range(count, 10, 20);
    assert_true(total_bytes(&w.list) < size + size / 2);
    world_fini(&w);
    batch_unref(&b);
}

// So many that parts leave the dictionary of the whole.
static void very_many_parts(void **state)
{
    (void)state;
    struct batch *b = services_with_own_code(20, 40);
    struct world w;
    world_init(&w, 2048);
    encode(&w, b);
    assert_null(w.list.dropped);
    assert_in_range(assert_whole(&w.list, b, 2048), 100, MAX_PARTS);
    world_fini(&w);
    batch_unref(&b);
}

static struct batch *one_fat_sample(bool is_profile_of_its_own)
{
    struct maker m = maker_begin();
    add_service(&m, "shop");
    const uint32_t stacks[] = {add_stack(&m, "thin", 1, 10), add_stack(&m, "fat", 2, 2000)};
    if (is_profile_of_its_own) {
        add_profile(&m, 5, stacks, 1, 0);
        add_profile(&m, 1, stacks + 1, 1, 0);
    } else {
        add_profile(&m, 2, stacks, 2, 0);
    }
    return maker_end(&m);
}

static void check_fat_sample(bool own_profile, uint64_t arriving, uint64_t rejected)
{
    struct batch *b = one_fat_sample(own_profile);
    struct world w;
    uint64_t samples = 0;
    world_init(&w, 2048);
    encode(&w, b);
    for (const struct record *r = w.list.head; r != NULL; r = r->next)
        samples += r->samples;
    assert_int_equal(samples, arriving);
    assert_int_equal(dropped_samples(&w), 1);
    const struct verdict v = record_list_verdict(&w.list);
    assert_int_equal(v.kind, VERDICT_PARTIAL);
    assert_int_equal(v.rejected_profiles, rejected);
    assert_non_null(strstr(v.text, " bytes, max_request_bytes allows 2048; dropped: 1 sample of cpu/nanoseconds, "
                                   "service.name: shop"));
    assert_non_null(strstr(fake_env_log(&w.env), v.text));
    // Several batches may go into one list.
    assert_int_equal(otlp_encoder.encode(&w.exporter->http.exporter, b, &w.list, &w.e), ERR_OK);
    assert_int_equal(w.list.dropped_profiles, 2 * rejected);
    world_fini(&w);
    batch_unref(&b);
}

static void a_sample_too_large_is_named(void **state)
{
    (void)state;
    check_fat_sample(false, 1, 0); // its profile arrives without it
    check_fat_sample(true, 5, 1);
}

// Names from outside neither forge lines nor push the figures out of sight.
static void names_are_harmless(void **state)
{
    (void)state;
    char service[600];
    memset(service, 'x', sizeof service);
    memcpy(service, "a\nERROR \x1b[2J", 12);
    service[sizeof service - 1] = '\0';
    struct maker m = maker_begin();
    add_service(&m, service);
    const uint32_t stack = add_stack(&m, "fat", 2, 2000);
    add_profile(&m, 1, &stack, 1, 0);
    struct batch *b = maker_end(&m);
    struct world w;
    world_init(&w, 1024);
    encode(&w, b);
    assert_null(w.list.head);
    assert_null(strpbrk(w.list.dropped, "\n\x1b"));
    assert_non_null(strstr(w.list.dropped, "allows 1024"));
    assert_non_null(strstr(w.list.dropped, "service.name: a\\x0aERROR"));
    assert_true(strlen(w.list.dropped) < VERDICT_TEXT_MAX);
    world_fini(&w);
    batch_unref(&b);
}

// What has no samples cannot be cut; what is cut has lost its payload.
static void payloads(void **state)
{
    (void)state;
    struct maker m = maker_begin();
    add_service(&m, "a");
    add_profile(&m, 0, NULL, 1, 5000);
    struct batch *empty = maker_end(&m);
    m = maker_begin();
    add_service(&m, "b");
    const uint32_t stack = add_stack(&m, "thin", 1, 10);
    add_profile(&m, 2, &stack, 1, 5000);
    struct batch *two = maker_end(&m);
    struct world w;
    world_init(&w, 2048);
    encode(&w, empty);
    assert_null(w.list.head);
    assert_int_equal(w.list.dropped_profiles, 1);
    assert_non_null(strstr(w.list.dropped, "dropped: 0 samples of cpu/nanoseconds, service.name: a"));
    encode(&w, two);
    assert_null(w.list.dropped);
    assert_whole(&w.list, two, 2048);
    assert_int_equal(dropped_samples(&w), 0);
    world_fini(&w);
    batch_unref(&empty);
    batch_unref(&two);
}

// Cutting up what every sample needs whole helps nobody and must not take for ever.
static void what_cutting_does_not_help(void **state)
{
    (void)state;
    struct maker m = maker_begin();
    add_service(&m, "a");
    const uint32_t stack = add_stack(&m, "shared", 64, 1000);
    add_profile(&m, 100000, &stack, 1, 0);
    struct batch *b = maker_end(&m);
    struct world w;
    world_init(&w, 32768);
    mem_fail_from(0);
    encode(&w, b);
    assert_true(mem_fail_count() < 20000);
    assert_null(w.list.head);
    assert_int_equal(w.list.dropped_profiles, 1);
    assert_int_equal(dropped_samples(&w), 100000);
    world_fini(&w);
    batch_unref(&b);
}

static void without_memory(void **state)
{
    (void)state;
    struct batch *b = services_with_own_code(1, 20);
    struct world w;
    enum err_code rc = ERR_MEMORY;
    size_t n = 0;
    world_init(&w, 4096);
    while (rc != ERR_OK) {
        record_list_fini(&w.list);
        mem_fail_from(++n);
        rc = otlp_encoder.encode(&w.exporter->http.exporter, b, &w.list, &w.e);
        mem_fail_from(0);
        if (rc != ERR_OK)
            assert_int_equal(rc, ERR_MEMORY);
    }
    assert_true(n > 100);
    assert_whole(&w.list, b, 4096);
    world_fini(&w);
    batch_unref(&b);
}

// --- when the peer says "too large" ---

static const struct verdict too_large = {.kind = VERDICT_REFUSED, .too_large = true};

static void split(struct world *w, const struct record *r, struct record_list *out)
{
    record_list_init(out);
    assert_int_equal(otlp_encoder.replace(&w->exporter->http.exporter, r, &too_large, out, &w->e), ERR_OK);
    for (const struct record *part = out->head; part != NULL; part = part->next) {
        assert_true(part->is_part);
        assert_true(part->raw_bytes < r->raw_bytes);
    }
}

static void a_record_becomes_smaller_ones(void **state)
{
    (void)state;
    struct batch *b = services_with_own_code(3, 100);
    struct world w;
    struct record_list parts;
    world_init(&w, 1 << 20);
    encode(&w, b);
    split(&w, w.list.head, &parts);
    assert_null(parts.dropped);
    assert_in_range(assert_whole(&parts, b, w.list.head->raw_bytes), 2, 3);
    record_list_fini(&parts);
    world_fini(&w);
    batch_unref(&b);
}

// What one resource has wrong must not cost the others: halves of halves, until it is alone.
static void a_faulty_record_is_cut_between_resources(void **state)
{
    (void)state;
    static const struct verdict faulty = {.kind = VERDICT_REFUSED, .faulty = true};
    struct batch *b = services_with_own_code(3, 10);
    struct world w;
    struct record_list parts;
    world_init(&w, 1 << 20);
    encode(&w, b);
    assert_true(w.list.head->is_divisible);
    record_list_init(&parts);
    assert_int_equal(otlp_encoder.replace(&w.exporter->http.exporter, w.list.head, &faulty, &parts, &w.e), ERR_OK);
    const struct record *one = parts.head, *two = one->next;
    assert_null(two->next);
    assert_int_equal(one->profiles + two->profiles, b->profile_count);
    assert_true(one->was_cut && two->was_cut);
    assert_false(one->is_divisible || one->is_part || two->is_part);
    assert_true(two->is_divisible);
    assert_int_equal(assert_whole(&parts, b, 1 << 20), 2);
    record_list_fini(&parts);
    world_fini(&w);
    batch_unref(&b);
}

static void a_record_of_one_sample_is_dropped(void **state)
{
    (void)state;
    struct maker m = maker_begin();
    add_service(&m, "shop");
    const uint32_t stack = add_stack(&m, "fat", 2, 2000);
    add_profile(&m, 1, &stack, 1, 0);
    struct batch *b = maker_end(&m);
    struct world w;
    struct record_list parts;
    world_init(&w, 1 << 20);
    encode(&w, b);
    split(&w, w.list.head, &parts);
    assert_null(parts.head);
    assert_int_equal(parts.dropped_profiles, 1);
    assert_int_equal(dropped_samples(&w), 1);
    assert_non_null(strstr(parts.dropped, "the peer refused one of"));
    assert_non_null(strstr(parts.dropped, "cpu/nanoseconds, service.name: shop"));
    record_list_fini(&parts);
    world_fini(&w);
    batch_unref(&b);
}

static void damaged_records_do_no_harm(void **state)
{
    (void)state;
    static uint8_t garbage[] = {0x0a, 0xff, 0xff, 0xff, 0x7f, 1, 2, 3};
    struct record r = {
        .data = garbage, .len = sizeof garbage, .raw_bytes = sizeof garbage, .layout = OTLP_LAYOUT_CURRENT};
    struct world w;
    struct record_list parts;
    world_init(&w, 1 << 20);
    record_list_init(&parts);
    for (unsigned c = COMPRESSION_NONE; c <= COMPRESSION_SNAPPY; c++) {
        r.compression = c;
        assert_int_not_equal(otlp_encoder.replace(&w.exporter->http.exporter, &r, &too_large, &parts, &w.e), ERR_OK);
        assert_null(parts.head);
    }
    world_fini(&w);
}

static struct record tried(size_t raw_bytes, bool is_part)
{
    return (struct record){.raw_bytes = raw_bytes, .is_part = is_part};
}

static bool refuse(struct world *w, size_t raw_bytes, bool no_doubt)
{
    struct verdict v = verdict_make(VERDICT_REFUSED, "too large");
    const struct record r = tried(raw_bytes, false);
    request_size_blame(&w->exporter->http, &r, no_doubt, &v);
    return v.too_large;
}

static void take(struct world *w, size_t raw_bytes, bool is_part)
{
    const struct verdict ok = {.kind = VERDICT_OK};
    const struct record r = tried(raw_bytes, is_part);
    request_size_note(&w->exporter->http, &r, &ok);
}

static size_t most_bytes(struct world *w, const struct batch *b)
{
    size_t most = 0;
    encode(w, b);
    for (const struct record *r = w->list.head; r != NULL; r = r->next)
        most = r->raw_bytes > most ? r->raw_bytes : most;
    return most;
}

static void what_the_peer_takes_is_remembered(void **state)
{
    (void)state;
    struct batch *b = services_with_own_code(10, 500);
    size_t size = whole_size(b);
    struct world w;
    world_init(&w, 1 << 20);
    assert_true(refuse(&w, size, true));
    take(&w, size / 8, false); // was never too large: says nothing
    assert_int_equal(most_bytes(&w, b), size);
    take(&w, size / 4, true);
    assert_in_range(most_bytes(&w, b), size / 16, size / 4);
    take(&w, size / 2, true); // and more
    assert_in_range(most_bytes(&w, b), size / 4 + 1, size / 2);
    take(&w, size / 8, true); // no reason to take less
    assert_in_range(most_bytes(&w, b), size / 4 + 1, size / 2);
    const char *line = strstr(fake_env_log(&w.env), "set max_request_bytes");
    assert_non_null(line);
    assert_null(strstr(line + 1, "set max_request_bytes"));
    // A peer that takes less than before.
    assert_true(refuse(&w, size / 3, true));
    take(&w, size / 6, true);
    assert_in_range(most_bytes(&w, b), size / 32, size / 6);
    world_fini(&w);
    batch_unref(&b);
}

// What may be a quota teaches nothing, and is not answered with a storm of small requests.
static void quotas(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, 1 << 20);
    assert_true(refuse(&w, 128 << 10, false));
    assert_false(refuse(&w, (128 << 10) - 1, false));
    assert_true(refuse(&w, 2048, true));
    assert_false(refuse(&w, 1023, true));
    world_fini(&w);
    world_init(&w, 1 << 20);
    assert_true(refuse(&w, 1 << 20, false));
    take(&w, 1 << 19, true);
    assert_null(strstr(fake_env_log(&w.env), "max_request_bytes"));
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_make_the_whole),
        cmocka_unit_test(each_part_has_its_own_dictionary),
        cmocka_unit_test(very_many_parts),
        cmocka_unit_test(a_sample_too_large_is_named),
        cmocka_unit_test(names_are_harmless),
        cmocka_unit_test(payloads),
        cmocka_unit_test(what_cutting_does_not_help),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(a_record_becomes_smaller_ones),
        cmocka_unit_test(a_faulty_record_is_cut_between_resources),
        cmocka_unit_test(a_record_of_one_sample_is_dropped),
        cmocka_unit_test(damaged_records_do_no_harm),
        cmocka_unit_test(what_the_peer_takes_is_remembered),
        cmocka_unit_test(quotas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
