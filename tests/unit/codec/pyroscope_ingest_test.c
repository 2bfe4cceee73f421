// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "codec/compress.h"
#include "codec/pyroscope_ingest.h"
#include "codec/pyroscope_series.h"
#include "profile/validate.h"
#include "tests/support/pprof_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define NOW 1795974816000000000LL // 2026-11-29
#define SECOND NANOS_PER_SECOND
#define WINDOW "&from=1795974800&until=1795974810"
#define FROM (1795974800 * SECOND)

static const char form[] = "multipart/form-data; boundary=x";

// One request and what became of it.
struct call {
    struct pyroscope_query query;
    struct pyroscope_settings settings;
    struct decode_report report;
    struct batch *batch;
    struct err e;
};

static enum err_code call(struct call *c, const char *query, const char *type, struct bytes body)
{
    c->settings.limits = c->settings.limits != NULL ? c->settings.limits : &decode_default_limits;
    c->settings.now_nanos = NOW;
    enum err_code code = pyroscope_query_parse(bytes_from_text(query), NOW, &c->query, &c->e);
    if (code == ERR_OK)
        code =
            pyroscope_ingest_decode(&c->query, bytes_from_text(type), body, &c->settings, &c->batch, &c->report, &c->e);
    mem_fail_from(0);
    struct err invalid;
    assert_int_equal(code == ERR_OK, c->batch != NULL);
    assert_true(code == ERR_OK || (c->e.code == code && c->e.text[0] != '\0'));
    if (code == ERR_OK && batch_validate(c->batch, &invalid) != ERR_OK)
        fail_msg("%s", invalid.text);
    return code;
}

static void end(struct call *c)
{
    batch_unref(&c->batch);
    pyroscope_query_fini(&c->query);
}

static void good(struct call *c, const char *query, const char *type, struct bytes body)
{
    if (call(c, query, type, body) != ERR_OK)
        fail_msg("%s", c->e.text);
}

static void bad(const char *query, const char *type, struct bytes body, enum err_code want, const char *why)
{
    struct call c = {0};
    if (call(&c, query, type, body) != want)
        fail_msg("%s: %s", query, c.e.text);
    if (strstr(c.e.text, why) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", why, c.e.text);
    end(&c);
}

static const struct profile *profile_at(const struct call *c, uint32_t i)
{
    assert_int_equal(c->batch->resource_count, 1);
    assert_true(i < c->batch->resources[0]->scopes[0]->profile_count);
    return &c->batch->resources[0]->scopes[0]->profiles[i];
}

static void expect_text(const struct call *c, uint32_t string, const char *want)
{
    const struct bytes got = c->batch->dictionary->strings[string];
    if (!bytes_equal_text(got, want))
        fail_msg("%.*s is not %s", BYTES_PRINT(got), want);
}

static int64_t sum(const struct profile *p)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < p->columns->sample_count; i++)
        total += p->observations->values[i];
    return total;
}

static const struct value *profile_attribute(const struct call *c, const char *key)
{
    const struct dictionary *d = c->batch->dictionary;
    const struct batch_range set = d->attribute_sets[profile_at(c, 0)->attribute_set];
    for (uint32_t i = 0; i < set.count; i++) {
        const struct batch_attribute *a = &d->attributes[d->set_attributes[set.start + i]];
        if (bytes_equal_text(d->strings[a->key], key))
            return &a->value;
    }
    return NULL;
}

static void expect_profile_attribute(const struct call *c, const char *key, const char *want)
{
    const struct value *v = profile_attribute(c, key);
    if (v == NULL || !bytes_equal_text(v->bytes, want))
        fail_msg("%s is not %s", key, want);
}

static void expect_resource(const struct call *c, const char *key, const char *want)
{
    const struct resource *r = c->batch->resources[0];
    const struct key_value *a = key_values_find(r->attributes, r->attribute_count, bytes_from_text(key));
    if (a == NULL || !bytes_equal_text(a->value.bytes, want))
        fail_msg("%s is not %s", key, want);
}

static struct buf zipped(enum compression how, struct bytes data)
{
    struct buf out;
    struct err e;
    struct compressor *c = compressor_create(how, 0);
    buf_init(&out, SIZE_MAX);
    assert_int_equal(compressor_run(c, data, &out, &e), ERR_OK);
    compressor_destroy(&c);
    return out;
}

static void add_part(struct buf *out, const char *name, struct bytes body)
{
    buf_add_format(out, "--x\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n\r\n", name, name);
    buf_add(out, body.data, body.len);
    buf_add_text(out, "\r\n");
}

// A form of up to three parts; those without a name are left out.
static struct buf form_of(const char *name, struct bytes body, const char *name2, struct bytes body2)
{
    struct buf out;
    buf_init(&out, SIZE_MAX);
    if (name != NULL)
        add_part(&out, name, body);
    if (name2 != NULL)
        add_part(&out, name2, body2);
    buf_add_text(&out, "--x--\r\n");
    return out;
}

static struct bytes small_pprof(struct pprof_bytes *p)
{
    pprof_bytes_init(p);
    pprof_bytes_small(p);
    return buf_bytes(&p->out);
}

// One type, one sample of value 5; time 0 = none is said.
static struct bytes pprof_with(struct pprof_bytes *p, const char *type, const char *unit, int64_t time)
{
    const uint64_t location = 1;
    const int64_t value = 5;
    pprof_bytes_init(p);
    pprof_bytes_type(p, type, unit);
    pprof_bytes_sample(p, &location, 1, &value, 1, NULL, 0);
    pprof_bytes_location(p, 1, 0, 0x10, 1);
    pprof_bytes_function(p, 1, "f");
    pprof_bytes_number(p, 9, (uint64_t)time);
    return buf_bytes(&p->out);
}

// --- pprof ---

static void pprof_is_read_from_all_ways_it_comes(void **state)
{
    (void)state;
    struct pprof_bytes p;
    const struct bytes raw = small_pprof(&p), none = {0};
    struct buf gzip = zipped(COMPRESSION_GZIP, raw), zstd = zipped(COMPRESSION_ZSTD, raw);
    struct buf parts = form_of("profile", buf_bytes(&gzip), NULL, none), plain = form_of("other", none, "profile", raw);
    const struct {
        const char *query, *type;
        struct bytes body;
    } ways[] = {
        {"name=app&format=pprof", "application/octet-stream", raw},
        {"name=app&format=pprof", "", buf_bytes(&gzip)},
        {"name=app&format=pprof", "binary/octet-stream", buf_bytes(&zstd)},
        {"name=app", "", raw},
        {"name=app", "application/octet-stream", buf_bytes(&gzip)},
        {"name=app&format=what", "text/plain", buf_bytes(&zstd)},
        {"name=app", "binary/octet-stream+pprof", raw},
        {"name=app", form, buf_bytes(&parts)},
        {"name=app&format=pprof", form, buf_bytes(&parts)},
        {"name=app&format=pprof", form, buf_bytes(&plain)},
        {"name=app&format=pprof", form, buf_bytes(&gzip)}, // not what its type says
        {"name=app&format=pprof", form, raw},
        {"name=app", form, buf_bytes(&gzip)},
    };
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct call c = {0};
        good(&c, ways[i].query, ways[i].type, ways[i].body);
        assert_int_equal(c.batch->profile_count, 2);
        assert_int_equal(profile_at(&c, 0)->columns->sample_count, 3);
        assert_string_equal(c.report.format, "pprof");
        expect_resource(&c, "service.name", "app");
        end(&c);
    }
    buf_fini(&plain);
    buf_fini(&parts);
    buf_fini(&zstd);
    buf_fini(&gzip);
    pprof_bytes_fini(&p);
}

static void the_type_config_tells_block_from_mutex(void **state)
{
    (void)state;
    struct pprof_bytes p;
    const struct bytes pprof = pprof_with(&p, "contentions", "count", FROM);
    static const struct {
        const char *config, *want;
    } cases[] = {
        {"{\"contentions\":{\"units\":\"lock_samples\",\"display-name\":\"block_count\"},\"delay\":{}}", "block"},
        {"{\"contentions\":{\"display-name\":\"mutex_count\"}}", "mutex"},
        {"{\"contentions\":{\"display-name\":7},\"x\":[1,{}],\"y\":null}", "mutex"},
        {"{\"contentions\":{\"display-name\":\"block_count\"}", "mutex"}, // cut off
        {"", "mutex"},
        {"[object Object]", "mutex"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf gzip = zipped(COMPRESSION_GZIP, bytes_from_text(cases[i].config));
        struct buf body = form_of("profile", pprof, "sample_type_config",
                                  i % 2 == 0 ? bytes_from_text(cases[i].config) : buf_bytes(&gzip));
        struct call c = {0};
        good(&c, "name=app", form, buf_bytes(&body));
        expect_profile_attribute(&c, PYROSCOPE_ATTRIBUTE_PROFILE_TYPE, cases[i].want);
        end(&c);
        buf_fini(&body);
        buf_fini(&gzip);
    }
    struct call c = {0};
    good(&c, "name=app%7B__name__=own%7D", "", pprof);
    expect_resource(&c, "service.name", "own");
    end(&c);
    pprof_bytes_fini(&p);
}

static void a_pprof_has_its_own_time_where_it_makes_sense(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        int64_t said, want;
        uint64_t repaired, guessed;
    } cases[] = {
        {"name=a" WINDOW, FROM + 7, FROM + 7, 0, 0},
        {"name=a", FROM + 7, FROM + 7, 0, 0},
        {"name=a" WINDOW, 0, FROM, 0, 1},
        {"name=a" WINDOW, 15 * SECOND, FROM, 0, 1},
        {"name=a" WINDOW, -5, FROM, 0, 1},
        {"name=a" WINDOW, FROM / 1000, FROM, 1, 0}, // microseconds
        {"name=a" WINDOW, 4102444800 * SECOND, FROM, 0, 1},
        {"name=a&until=1795974810", 0, FROM + 10 * SECOND, 0, 1},
        {"name=a&from=0", 0, NOW, 0, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pprof_bytes p;
        struct call c = {0};
        good(&c, cases[i].query, "", pprof_with(&p, "cpu", "nanoseconds", cases[i].said));
        assert_int_equal(profile_at(&c, 0)->time_nanos, cases[i].want);
        assert_int_equal(c.report.repaired_time, cases[i].repaired);
        assert_int_equal(c.report.guessed_time, cases[i].guessed);
        end(&c);
        pprof_bytes_fini(&p);
    }
}

static void forms_without_a_profile_bring_nothing(void **state)
{
    (void)state;
    const struct bytes none = {0};
    struct buf bodies[] = {form_of(NULL, none, NULL, none), form_of("profile", none, NULL, none),
                           form_of("sample_type_config", BYTES_LITERAL("{}"), "other", BYTES_LITERAL("abc")),
                           form_of("profile", none, "prev_profile", none)};
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct call c = {0};
        good(&c, i % 2 == 0 ? "name=app" : "name=app&format=pprof", form, buf_bytes(&bodies[i]));
        assert_int_equal(c.batch->profile_count, 0);
        end(&c);
        buf_fini(&bodies[i]);
    }
}

static void bad_forms_are_told(void **state)
{
    (void)state;
    struct pprof_bytes p;
    const struct bytes pprof = small_pprof(&p);
    struct buf previous = form_of("profile", pprof, "prev_profile", pprof);
    struct buf cut = form_of("profile", (struct bytes){pprof.data, pprof.len - 3}, NULL, pprof);
    struct buf junk = form_of("profile", BYTES_LITERAL("<html><body>404</body></html>"), NULL, pprof);
    bad("name=a", form, buf_bytes(&previous), ERR_INVALID, "part prev_profile: ");
    bad("name=a&format=pprof", form, buf_bytes(&cut), ERR_INVALID, "part profile: ");
    bad("name=a", form, buf_bytes(&junk), ERR_INVALID, "part profile: not a pprof profile: it looks like HTML or XML");
    bad("name=a", form, BYTES_LITERAL("--y--"), ERR_INVALID, "the boundary of the Content-Type is not in the body");
    bad("name=a", "application/octet-stream", buf_bytes(&junk), ERR_INVALID, "the body looks like a form");
    buf_fini(&junk);
    buf_fini(&cut);
    buf_fini(&previous);
    pprof_bytes_fini(&p);
}

// --- the other formats ---

static const char trie[] = "\0\0\1\2ab\0\2\1c\1\0\1d\2\0"; // abc 1, abd 2
static const char tree[] = "\0\0\1\1a\0\2\1b\1\0\1c\2\0";  // a;b 1, a;c 2
#define SPEEDSCOPE                                                                                                     \
    "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":{\"frames\":[{\"name\":\"a\"}]},"  \
    "\"profiles\":[{\"type\":\"sampled\",\"name\":\"n\",\"unit\":\"none\",\"startValue\":0,\"endValue\":3,\"samples\"" \
    ":[[0]],\"weights\":[3]}]}"

static void formats_are_said_typed_or_told_by_content(void **state)
{
    (void)state;
    const struct {
        const char *query, *type;
        struct bytes body;
        const char *format;
        int64_t sum;
    } ways[] = {
        {"name=app&format=folded&sampleRate=0", "", BYTES_LITERAL("a;b 1\na;c 2\n"), "folded", 3},
        {"name=app&format=groups&sampleRate=0", "text/plain", BYTES_LITERAL("a 3"), "folded", 3},
        {"name=app&sampleRate=0", "text/plain", BYTES_LITERAL("a;b 1\na;c 2\n"), "folded", 3},
        {"name=app&format=collapsed&sampleRate=0", "binary/octet-stream", BYTES_LITERAL("a;b 3\n"), "folded", 3},
        {"name=app&sampleRate=100", "", BYTES_LITERAL("a;b 3\n"), "folded", 30000000},
        {"name=app", "", BYTES_LITERAL("a;b 3\n"), "folded", 30000000},
        {"name=app&format=lines&sampleRate=0", "", BYTES_LITERAL("a;b\na;b\na;c\n"), "lines", 3},
        {"name=app&format=trie&sampleRate=0", "", {(const uint8_t *)trie, sizeof trie - 1}, "trie", 3},
        {"name=app&sampleRate=0", "binary/octet-stream+trie", {(const uint8_t *)trie, sizeof trie - 1}, "trie", 3},
        {"name=app&format=tree&sampleRate=0", "", {(const uint8_t *)tree, sizeof tree - 1}, "tree", 3},
        {"name=app&sampleRate=0", "Binary/Octet-Stream+Tree; a=b", {(const uint8_t *)tree, sizeof tree - 1}, "tree", 3},
        {"name=app&format=speedscope", "application/json", BYTES_LITERAL(SPEEDSCOPE), "speedscope", 3},
        {"name=app", "", BYTES_LITERAL(SPEEDSCOPE), "speedscope", 3},
    };
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct buf gzip = zipped(COMPRESSION_GZIP, ways[i].body),
                   part = form_of("profile", ways[i].body, NULL, ways[i].body);
        struct call calls[3] = {0};
        good(&calls[0], ways[i].query, ways[i].type, ways[i].body);
        good(&calls[1], ways[i].query, ways[i].type, buf_bytes(&gzip));
        const bool typed = strncasecmp(ways[i].type, "binary/octet-stream+", 20) == 0; // a form has the other type
        if (!typed)
            good(&calls[2], ways[i].query, form, buf_bytes(&part));
        for (size_t k = 0; k < (typed ? 2 : 3); k++) {
            assert_int_equal(calls[k].batch->profile_count, 1);
            assert_int_equal(sum(profile_at(&calls[k], 0)), ways[i].sum);
            assert_string_equal(calls[k].report.format, ways[i].format);
            expect_resource(&calls[k], "service.name", "app");
        }
        for (size_t k = 0; k < 3; k++)
            end(&calls[k]);
        buf_fini(&part);
        buf_fini(&gzip);
    }
}

static void text_takes_window_and_meaning_from_the_query(void **state)
{
    (void)state;
    struct call c = {0};
    good(&c, "name=my.app.alloc_space%7Bregion=eu%7D" WINDOW, "", BYTES_LITERAL("a;b 1\n"));
    const struct profile *p = profile_at(&c, 0);
    assert_int_equal(p->time_nanos, FROM);
    assert_int_equal(p->duration_nanos, 10 * SECOND);
    assert_int_equal(c.report.guessed_time, 0);
    expect_text(&c, p->sample_type.type, "alloc_space");
    expect_text(&c, p->sample_type.unit, "bytes");
    expect_profile_attribute(&c, PYROSCOPE_ATTRIBUTE_PROFILE_TYPE, "memory");
    expect_resource(&c, "service.name", "my.app");
    expect_resource(&c, "region", "eu");
    end(&c);
    struct call without = {0};
    good(&without, "name=a", "", BYTES_LITERAL("a;b 1\n"));
    assert_int_equal(profile_at(&without, 0)->time_nanos, NOW);
    assert_int_equal(profile_at(&without, 0)->duration_nanos, 0);
    assert_int_equal(without.report.guessed_time, 1);
    end(&without);
    struct call idle = {0};
    good(&idle, "name=a&format=folded", "", (struct bytes){0});
    assert_int_equal(idle.batch->profile_count, 0);
    end(&idle);
}

static void what_a_body_is_not_is_told(void **state)
{
    (void)state;
    struct pprof_bytes p;
    const struct bytes pprof = small_pprof(&p);
    struct buf gzip = zipped(COMPRESSION_GZIP, pprof);
    bad("name=a", "", (struct bytes){0}, ERR_INVALID, "the body is empty");
    bad("name=a&format=folded", "", pprof, ERR_INVALID,
        "the body looks like a pprof profile, but was read as format=folded; send format=pprof");
    bad("name=a&format=lines", "", buf_bytes(&gzip), ERR_INVALID, "send format=pprof");
    bad("name=a&format=trie", "", pprof, ERR_INVALID, "send format=pprof");
    bad("name=a", "binary/octet-stream+tree", pprof, ERR_INVALID, "send format=pprof");
    bad("name=a&format=pprof", "", BYTES_LITERAL("a;b 1\n"), ERR_INVALID,
        "the body looks like folded stacks, but was read as format=pprof; send format=folded");
    bad("name=a&format=speedscope", "", BYTES_LITERAL("a;b 1\n"), ERR_INVALID, "send format=folded");
    bad("name=a&format=jfr", "", pprof, ERR_INVALID, "but was read as format=jfr; send format=pprof");
    bad("name=a&format=jfr", "", BYTES_LITERAL("\1\2\3\4\5"), ERR_INVALID,
        "the body looks like binary data of no known format, but was read as format=jfr");
    bad("name=a", "", BYTES_LITERAL("\1\2\3\4\5"), ERR_INVALID,
        "the body looks like binary data of no known format; say what it is with format=pprof, jfr,");
    bad("name=a&format=folded", "", BYTES_LITERAL("\1\2\3\4\5"), ERR_INVALID, "binary data of no known format");
    bad("name=a", "", BYTES_LITERAL("\177ELF\2\1\1"), ERR_INVALID, "looks like an ELF binary");
    bad("name=a", "", BYTES_LITERAL("{\"a\":1}"), ERR_INVALID, "looks like JSON");
    bad("name=a", "text/plain;charset=UTF-8", BYTES_LITERAL("[object FormData]"), ERR_INVALID,
        "update the SDK (@pyroscope/nodejs");
    bad("name=a&format=pprof", "", BYTES_LITERAL("[object FormData]"), ERR_INVALID, "update the SDK");
    bad("name=a&format=folded", "", BYTES_LITERAL("[object FormData]"), ERR_INVALID, "update the SDK");
    bad("name=a&format=pprof", "", (struct bytes){pprof.data, pprof.len - 3}, ERR_INVALID, "damaged");
    buf_fini(&gzip);
    pprof_bytes_fini(&p);
}

static void limits_are_named(void **state)
{
    (void)state;
    static const struct decode_limits limits = {.max_inflated_bytes = 1000,
                                                .max_samples = 2,
                                                .max_sample_types = 8,
                                                .max_stack_depth = 64,
                                                .max_labels = 8,
                                                .max_line_bytes = 100};
    static const uint8_t zeros[5000];
    struct buf gzip = zipped(COMPRESSION_GZIP, (struct bytes){zeros, sizeof zeros});
    struct buf part = form_of("profile", buf_bytes(&gzip), NULL, buf_bytes(&gzip));
    struct pprof_bytes p;
    const struct bytes pprof = small_pprof(&p);
    const struct {
        const char *type;
        struct bytes body;
        const char *why;
    } cases[] = {
        {"", buf_bytes(&gzip), "inflates to at least 1001 bytes, allowed are 1000"},
        {form, buf_bytes(&part), "part profile: max_inflated_size"},
        {"binary/octet-stream+pprof", pprof, "max_samples: the profile has at least 3 samples, allowed are 2"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct call c = {.settings = {.limits = &limits}};
        assert_int_equal(call(&c, "name=a", cases[i].type, cases[i].body), ERR_LIMIT);
        if (strstr(c.e.text, cases[i].why) == NULL)
            fail_msg("\"%s\" is not in \"%s\"", cases[i].why, c.e.text);
        end(&c);
    }
    pprof_bytes_fini(&p);
    buf_fini(&part);
    buf_fini(&gzip);
}

// --- JFR ---

#define JFR BYTES_LITERAL("FLR\0\0\2\0\0rest")
#define JFR_QUERY "name=app%7Bregion=eu%7D&sampleRate=100&units=samples&aggregationType=sum&spyName=javaspy" WINDOW

static void jfr_is_refused_with_a_way_out(void **state)
{
    (void)state;
    struct buf body = form_of("jfr", JFR, "labels", BYTES_LITERAL("L"));
    bad(JFR_QUERY "&format=jfr", form, buf_bytes(&body), ERR_UNSUPPORTED,
        "a JFR recording: JFR is not read yet; set `jfr: pass`");
    bad(JFR_QUERY, form, buf_bytes(&body), ERR_UNSUPPORTED, "PYROSCOPE_FORMAT=otlp");
    bad(JFR_QUERY, "", JFR, ERR_UNSUPPORTED, "JFR is not read yet");
    buf_fini(&body);
}

static void jfr_is_passed_on_as_it_came(void **state)
{
    (void)state;
    struct buf gzip = zipped(COMPRESSION_GZIP, JFR), labels = zipped(COMPRESSION_GZIP, BYTES_LITERAL("labels"));
    struct buf body = form_of("labels", buf_bytes(&labels), "jfr", buf_bytes(&gzip));
    struct call c = {.settings = {.pass_jfr = true}};
    good(&c, JFR_QUERY "&format=jfr", form, buf_bytes(&body));
    const struct profile *p = profile_at(&c, 0);
    assert_int_equal(c.batch->profile_count, 1);
    assert_int_equal(p->columns->sample_count, 0);
    assert_true(bytes_equal_text(p->original_payload_format, "jfr"));
    assert_true(bytes_equal(p->original_payload, buf_bytes(&gzip)));
    assert_int_equal(p->time_nanos, FROM);
    assert_int_equal(p->duration_nanos, 10 * SECOND);
    const struct value *v = profile_attribute(&c, PYROSCOPE_ATTRIBUTE_JFR_LABELS);
    assert_int_equal(v->kind, VALUE_BYTES);
    assert_true(bytes_equal(v->bytes, buf_bytes(&labels)));
    assert_int_equal(profile_attribute(&c, PYROSCOPE_ATTRIBUTE_SAMPLE_RATE)->integer, 100);
    expect_profile_attribute(&c, PYROSCOPE_ATTRIBUTE_UNITS, "samples");
    expect_profile_attribute(&c, PYROSCOPE_ATTRIBUTE_AGGREGATION, "sum");
    expect_profile_attribute(&c, PYROSCOPE_ATTRIBUTE_SPY, "javaspy");
    expect_resource(&c, "service.name", "app");
    expect_resource(&c, "region", "eu");
    end(&c);
    struct call raw = {.settings = {.pass_jfr = true}};
    good(&raw, "name=app", "application/octet-stream", JFR);
    assert_true(bytes_equal(profile_at(&raw, 0)->original_payload, JFR));
    assert_null(profile_attribute(&raw, PYROSCOPE_ATTRIBUTE_SAMPLE_RATE));
    assert_null(profile_attribute(&raw, PYROSCOPE_ATTRIBUTE_JFR_LABELS));
    end(&raw);
    struct call other = {.settings = {.pass_jfr = true}};
    assert_int_equal(call(&other, "name=a&format=jfr", "", BYTES_LITERAL("a;b 1\n")), ERR_INVALID);
    end(&other);
    buf_fini(&body);
    buf_fini(&labels);
    buf_fini(&gzip);
}

// --- under attack ---

static void read_cut(const char *query, const char *type, struct bytes whole)
{
    for (size_t n = 0; n <= whole.len; n++) {
        struct call c = {.settings = {.pass_jfr = true}};
        uint8_t *copy = malloc(n + 1);
        memcpy(copy, whole.data, n);
        const enum err_code code = call(&c, query, type, (struct bytes){copy, n});
        assert_true(n < whole.len || code == ERR_OK);
        end(&c);
        free(copy);
    }
}

static void read_without_memory(const char *query, const char *type, struct bytes body)
{
    enum err_code code = ERR_MEMORY;
    for (size_t n = 1; code != ERR_OK; n++) {
        struct call c = {.settings = {.pass_jfr = true}};
        mem_fail_from(n);
        code = call(&c, query, type, body);
        assert_true(code == ERR_OK || code == ERR_MEMORY);
        assert_in_range(n, 1, 10000);
        end(&c);
    }
}

static void every_cut_and_every_failing_allocation(void **state)
{
    (void)state;
    struct pprof_bytes p;
    const struct bytes pprof = small_pprof(&p), config = BYTES_LITERAL("{\"cpu\":{\"display-name\":\"\\u0063pu\"}}");
    struct buf gzip = zipped(COMPRESSION_GZIP, pprof);
    struct buf raw_form = form_of("profile", pprof, "sample_type_config", config);
    struct buf gzip_form = form_of("profile", buf_bytes(&gzip), NULL, config);
    struct buf jfr_form = form_of("jfr", JFR, "labels", BYTES_LITERAL("L"));
    const struct {
        const char *query, *type;
        struct bytes body;
    } calls[] = {
        {"name=a%7Bk=v%7D", form, buf_bytes(&raw_form)},
        {"name=a" WINDOW, form, buf_bytes(&gzip_form)},
        {JFR_QUERY, form, buf_bytes(&jfr_form)},
        {"name=a", "", pprof},
        {"name=a.cpu", "", BYTES_LITERAL("a;b 1\na;c 2\n")},
        {"name=a&format=trie", "", {(const uint8_t *)trie, sizeof trie - 1}},
        {"name=a&format=tree", "", {(const uint8_t *)tree, sizeof tree - 1}},
        {"name=a&format=speedscope", "", BYTES_LITERAL(SPEEDSCOPE)},
    };
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        read_cut(calls[i].query, calls[i].type, calls[i].body);
        read_without_memory(calls[i].query, calls[i].type, calls[i].body);
    }
    buf_fini(&jfr_form);
    buf_fini(&gzip_form);
    buf_fini(&raw_form);
    buf_fini(&gzip);
    pprof_bytes_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pprof_is_read_from_all_ways_it_comes),
        cmocka_unit_test(the_type_config_tells_block_from_mutex),
        cmocka_unit_test(a_pprof_has_its_own_time_where_it_makes_sense),
        cmocka_unit_test(forms_without_a_profile_bring_nothing),
        cmocka_unit_test(bad_forms_are_told),
        cmocka_unit_test(formats_are_said_typed_or_told_by_content),
        cmocka_unit_test(text_takes_window_and_meaning_from_the_query),
        cmocka_unit_test(what_a_body_is_not_is_told),
        cmocka_unit_test(limits_are_named),
        cmocka_unit_test(jfr_is_refused_with_a_way_out),
        cmocka_unit_test(jfr_is_passed_on_as_it_came),
        cmocka_unit_test(every_cut_and_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
