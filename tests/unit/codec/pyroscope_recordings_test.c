// SPDX-License-Identifier: Apache-2.0
// Recordings of real SDKs posting to /ingest give what an independent decoder found in them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include "codec/compress.h"
#include "codec/json.h"
#include "codec/pyroscope_ingest.h"
#include "codec/pyroscope_series.h"
#include "profile/validate.h"
#include "tests/support/test_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define NOW 1796000000000000000LL // after the last of them

// --- a request as it came over the wire ---

struct recording {
    struct bytes query, content_type;
    struct buf body; // without chunks and Content-Encoding
    bool is_ingest;
};

static struct bytes line_of(struct bytes *rest)
{
    const uint8_t *end = memmem(rest->data, rest->len, "\r\n", 2);
    assert_non_null(end);
    const struct bytes line = {rest->data, (size_t)(end - rest->data)};
    *rest = (struct bytes){end + 2, rest->len - line.len - 2};
    return line;
}

static bool header_is(struct bytes line, const char *name, struct bytes *value)
{
    const size_t n = strlen(name);
    if (line.len < n + 1 || strncasecmp((const char *)line.data, name, n) != 0 || line.data[n] != ':')
        return false;
    *value = (struct bytes){line.data + n + 1, line.len - n - 1};
    while (value->len > 0 && *value->data == ' ')
        *value = (struct bytes){value->data + 1, value->len - 1};
    return true;
}

static void read_target(struct recording *r, struct bytes line)
{
    const uint8_t *query = memchr(line.data, '?', line.len), *end = memrchr(line.data, ' ', line.len);
    static const char path[] = "/ingest";
    r->is_ingest = query != NULL && (size_t)(query - line.data) > sizeof path &&
                   memcmp(query - (sizeof path - 1), path, sizeof path - 1) == 0;
    if (r->is_ingest)
        r->query = (struct bytes){query + 1, (size_t)(end - query - 1)};
}

static void take_chunks(struct buf *out, struct bytes rest)
{
    size_t len;
    do {
        len = strtoul((const char *)line_of(&rest).data, NULL, 16);
        assert_true(len <= rest.len);
        buf_add(out, rest.data, len);
        rest = (struct bytes){rest.data + len, rest.len - len};
        (void)line_of(&rest);
    } while (len != 0);
}

static void inflate(struct buf *body)
{
    struct buf out;
    struct err e;
    buf_init(&out, SIZE_MAX);
    assert_int_equal(decompress(COMPRESSION_GZIP, buf_bytes(body), 0, "test", &out, &e), ERR_OK);
    buf_fini(body);
    *body = out;
}

static struct recording read_recording(struct bytes content)
{
    struct recording r = {.is_ingest = false};
    struct bytes rest = content, line = line_of(&rest), value;
    bool chunked = false, gzip = false;
    buf_init(&r.body, SIZE_MAX);
    read_target(&r, line);
    while ((line = line_of(&rest)).len != 0) {
        chunked = chunked || header_is(line, "transfer-encoding", &value);
        gzip = gzip || header_is(line, "content-encoding", &value);
        if (header_is(line, "content-type", &value))
            r.content_type = value;
    }
    if (chunked)
        take_chunks(&r.body, rest);
    else
        buf_add(&r.body, rest.data, rest.len);
    if (gzip)
        inflate(&r.body);
    return r;
}

// --- what its NAME.json expects ---

enum { MAX_TOTALS = 8, MAX_LABELS = 16 };

struct expected {
    struct arena texts;
    struct bytes name; // of the query
    struct bytes total_names[MAX_TOTALS];
    int64_t totals[MAX_TOTALS];
    size_t total_count;
    struct bytes keys[MAX_LABELS], values[MAX_LABELS]; // of samples; numbers as text
    size_t label_count;
    int64_t samples, time_nanos, duration_nanos, jfr_bytes;
    bool says_end; // its time is that of the end of its window
};

static void read_totals(struct json_reader *j, struct expected *x)
{
    assert_true(json_enter_object(j));
    while (json_next_member(j, &x->total_names[x->total_count])) {
        assert_true(json_int64(j, &x->totals[x->total_count++]));
        assert_true(x->total_count < MAX_TOTALS);
    }
}

static void read_labels(struct json_reader *j, struct expected *x)
{
    struct bytes key;
    assert_true(json_enter_object(j));
    while (json_next_member(j, &key)) {
        assert_true(json_enter_array(j));
        while (json_next_element(j)) {
            assert_true(x->label_count < MAX_LABELS);
            x->keys[x->label_count] = key;
            assert_true(json_number_text(j, &x->values[x->label_count]) || json_string(j, &x->values[x->label_count]));
            x->label_count++;
        }
    }
}

static void read_pprof(struct json_reader *j, struct expected *x)
{
    struct bytes key;
    assert_true(json_enter_object(j));
    while (json_next_member(j, &key)) {
        if (bytes_equal_text(key, "totals"))
            read_totals(j, x);
        else if (bytes_equal_text(key, "sample_labels"))
            read_labels(j, x);
        else if (bytes_equal_text(key, "samples"))
            assert_true(json_int64(j, &x->samples));
        else if (bytes_equal_text(key, "time_nanos"))
            assert_true(json_int64(j, &x->time_nanos));
        else if (bytes_equal_text(key, "duration_nanos"))
            assert_true(json_int64(j, &x->duration_nanos));
    }
}

static void read_part(struct json_reader *j, struct expected *x)
{
    struct bytes key, name = {0};
    int64_t bytes = 0;
    assert_true(json_enter_object(j));
    while (json_next_member(j, &key)) {
        if (bytes_equal_text(key, "name"))
            assert_true(json_string(j, &name));
        else if (bytes_equal_text(key, "bytes"))
            assert_true(json_int64(j, &bytes));
        else if (bytes_equal_text(key, "pprof"))
            read_pprof(j, x);
    }
    if (bytes_equal_text(name, "jfr"))
        x->jfr_bytes = bytes;
}

static void read_what(struct json_reader *j, struct expected *x)
{
    struct bytes key;
    assert_true(json_enter_object(j));
    while (json_next_member(j, &key)) {
        if (bytes_equal_text(key, "pprof")) {
            read_pprof(j, x);
        } else if (bytes_equal_text(key, "parts")) {
            assert_true(json_enter_array(j));
            while (json_next_element(j))
                read_part(j, x);
        }
    }
}

static void read_request(struct json_reader *j, struct expected *x)
{
    struct bytes key;
    assert_true(json_enter_object(j));
    while (json_next_member(j, &key)) {
        if (!bytes_equal_text(key, "query"))
            continue;
        assert_true(json_enter_object(j));
        while (json_next_member(j, &key))
            if (bytes_equal_text(key, "name"))
                assert_true(json_string(j, &x->name));
    }
}

static void read_expected(struct expected *x, struct bytes text)
{
    struct json_reader j;
    struct bytes key;
    *x = (struct expected){.samples = 0};
    arena_init(&x->texts, 0);
    json_reader_init(&j, text, &x->texts, 64);
    assert_true(json_enter_object(&j));
    while (json_next_member(&j, &key)) {
        if (bytes_equal_text(key, "request"))
            read_request(&j, x);
        else if (bytes_equal_text(key, "expected"))
            read_what(&j, x);
    }
    json_end(&j);
    assert_int_equal(json_result(&j, NULL), ERR_OK);
}

// --- the batch ---

static const struct scope *scope_of(const struct batch *b)
{
    assert_int_equal(b->resource_count, 1);
    assert_int_equal(b->resources[0]->scope_count, 1);
    return b->resources[0]->scopes[0];
}

static void expect_total(const struct batch *b, const struct profile *p, const struct expected *x)
{
    const struct bytes *strings = b->dictionary->strings;
    char name[128];
    int64_t sum = 0;
    snprintf(name, sizeof name, "%.*s/%.*s", BYTES_PRINT(strings[p->sample_type.type]),
             BYTES_PRINT(strings[p->sample_type.unit]));
    for (uint32_t i = 0; i < p->columns->sample_count; i++)
        sum += p->observations->values[i];
    for (size_t i = 0; i < x->total_count; i++) {
        if (bytes_equal_text(x->total_names[i], name)) {
            assert_int_equal(sum, x->totals[i]);
            return;
        }
    }
    fail_msg("%s is not expected", name);
}

static bool has_link(const struct dictionary *d, struct bytes span)
{
    for (uint32_t i = 1; i < d->link_count; i++) {
        char hex[16];
        hex_encode((struct bytes){d->links[i].span_id, 8}, hex);
        if (bytes_equal((struct bytes){(const uint8_t *)hex, sizeof hex}, span))
            return true;
    }
    return false;
}

static bool has_attribute(const struct dictionary *d, struct bytes key, struct bytes value)
{
    for (uint32_t i = 1; i < d->attribute_count; i++) {
        struct buf text;
        buf_init(&text, SIZE_MAX);
        value_print(&text, &d->attributes[i].value);
        const bool found = bytes_equal(d->strings[d->attributes[i].key], key) && bytes_equal(buf_bytes(&text), value);
        buf_fini(&text);
        if (found)
            return true;
    }
    return false;
}

static void expect_resource(const struct batch *b, struct bytes key, struct bytes value)
{
    const struct resource *r = b->resources[0];
    const struct key_value *a = key_values_find(r->attributes, r->attribute_count, key);
    const struct bytes got = a != NULL ? a->value.bytes : (struct bytes){0};
    if (!bytes_equal(got, value))
        fail_msg("%.*s is %.*s, not %.*s", BYTES_PRINT(key), BYTES_PRINT(got), BYTES_PRINT(value));
}

static void expect_label(const struct batch *b, struct bytes name, struct bytes value)
{
    if (bytes_equal_text(name, "__session_id__"))
        assert_true(has_attribute(b->dictionary, bytes_from_text(PYROSCOPE_ATTRIBUTE_SESSION), value));
    else if (bytes_equal_text(name, "otel.scope.name"))
        assert_true(bytes_equal(scope_of(b)->name, value));
    else if (bytes_equal_text(name, "otel.scope.version"))
        assert_true(bytes_equal(scope_of(b)->version, value));
    else
        expect_resource(b, bytes_equal_text(name, "service_name") ? bytes_from_text("service.name") : name, value);
}

static struct bytes cut_at(struct bytes *rest, char c)
{
    const uint8_t *at = memchr(rest->data, c, rest->len);
    const struct bytes before = {rest->data, at == NULL ? rest->len : (size_t)(at - rest->data)};
    const size_t used = at == NULL ? rest->len : before.len + 1;
    *rest = (struct bytes){rest->data + used, rest->len - used};
    return before;
}

// The recordings have no commas or braces in values.
static void expect_name(const struct batch *b, struct bytes name)
{
    bool named = false;
    const struct bytes app = cut_at(&name, '{');
    struct bytes labels = cut_at(&name, '}');
    while (labels.len > 0) {
        struct bytes value = cut_at(&labels, ',');
        const struct bytes key = cut_at(&value, '=');
        named = named || bytes_equal_text(key, "service_name");
        expect_label(b, key, value);
    }
    if (!named)
        expect_label(b, BYTES_LITERAL("service_name"), app);
}

static void expect_batch(const struct batch *b, const struct expected *x)
{
    const struct scope *s = scope_of(b);
    struct err e;
    assert_int_equal(batch_validate(b, &e), ERR_OK);
    expect_name(b, x->name);
    if (x->jfr_bytes != 0) {
        assert_int_equal(s->profiles[0].original_payload.len, x->jfr_bytes);
        return;
    }
    assert_int_equal(s->profile_count, x->total_count);
    for (uint32_t i = 0; i < s->profile_count; i++) {
        const struct profile *p = &s->profiles[i];
        expect_total(b, p, x);
        assert_int_equal(p->columns->sample_count, x->samples);
        assert_int_equal(p->time_nanos, x->time_nanos - (x->says_end ? x->duration_nanos : 0));
        assert_int_equal(p->duration_nanos, x->duration_nanos);
    }
    for (size_t i = 0; i < x->label_count; i++)
        assert_true(bytes_equal_text(x->keys[i], "span_id") ? has_link(b->dictionary, x->values[i])
                                                            : has_attribute(b->dictionary, x->keys[i], x->values[i]));
}

// What a server calls them; of a file whose name says it.
static void expect_type(const struct batch *b, const char *path)
{
    static const char *const types[][2] = {
        {"block", "block"},       {"mutex", "mutex"}, {"go/default-cpu", "process_cpu"},
        {"heap", "memory"},       {"wall", "wall"},   {"goroutine-leak", "goroutine_leak"},
        {"python", "process_cpu"}};
    if (strstr(path, "/java/") != NULL)
        return;
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (strstr(path, types[i][0]) != NULL) {
            const struct bytes key = bytes_from_text(PYROSCOPE_ATTRIBUTE_PROFILE_TYPE);
            assert_true(has_attribute(b->dictionary, key, bytes_from_text(types[i][1])));
            return;
        }
    }
}

static void check(struct recording *r, const struct expected *x, const char *path)
{
    const struct pyroscope_settings settings = {.limits = &decode_default_limits, .now_nanos = NOW, .pass_jfr = true};
    struct pyroscope_query q;
    struct decode_report report;
    struct batch *b = NULL;
    struct err e = {0};
    assert_int_equal(pyroscope_query_parse(r->query, NOW, &q, &e), ERR_OK);
    assert_int_equal(q.repaired_times, 0);
    if (pyroscope_ingest_decode(&q, r->content_type, buf_bytes(&r->body), &settings, &b, &report, &e) != ERR_OK)
        fail_msg("%s", e.text);
    assert_int_equal(report.repaired_time + report.guessed_time + report.repaired_utf8, 0);
    expect_batch(b, x);
    expect_type(b, path);
    batch_unref(&b);
    pyroscope_query_fini(&q);
}

static void visit(void *arg, const char *path, struct bytes content)
{
    char json[4096];
    const size_t len = strlen(path);
    struct expected x;
    if (len < 5 || strcmp(path + len - 5, ".http") != 0)
        return;
    struct recording r = read_recording(content);
    if (r.is_ingest) {
        print_message("%s\n", path);
        snprintf(json, sizeof json, "%.*s.json", (int)(len - 5), path);
        const struct bytes text = test_read_file(json);
        read_expected(&x, text);
        x.says_end = strstr(path, "/node/") != NULL && strstr(path, "wall") != NULL;
        check(&r, &x, path);
        arena_fini(&x.texts);
        free((void *)text.data);
        ++*(int *)arg;
    }
    buf_fini(&r.body);
}

static void recordings_give_what_they_state(void **state)
{
    (void)state;
    static const struct {
        const char *folder;
        int requests;
    } folders[] = {{"pyroscope/go", 10}, {"pyroscope/node", 9}, {"pyroscope/python", 1}, {"pyroscope/java", 6}};
    if (test_corpus_dir() == NULL)
        skip();
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        int requests = 0;
        (void)test_each_corpus_file(folders[i].folder, visit, &requests);
        assert_int_equal(requests, folders[i].requests);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recordings_give_what_they_state)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
