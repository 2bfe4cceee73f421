// SPDX-License-Identifier: Apache-2.0
// Credentials and headers of the two exporters, with an authenticator that does as a test says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/compress.h"
#include "codec/otlp.h"
#include "exporters/exporters.h"
#include "net/authenticator.h"
#include "pipeline/authentication.h"
#include "profile/edit.h"
#include "tests/support/fake_env.h"
#include "tests/support/http2_peer.h"
#include "tests/support/random_batch.h"
#include "tests/support/raw_peer.h"

#include <stdio.h>
#include <string.h>

enum { MAX_RAW = 1 << 24 };

struct told {
    struct authenticator authenticator;
    unsigned renewed;
    bool changes;
    char token[16];
};

static void apply(struct authenticator *self, const char *const *values, struct header_set *headers)
{
    struct told *t = CONTAINER_OF(self, struct told, authenticator);
    header_set_put(headers, "authorization", t->token);
    for (size_t i = 0; i < self->attribute_count; i++)
        if (values[i] != NULL)
            header_set_put(headers, self->attributes[i], values[i]);
}

static bool renew(struct authenticator *self)
{
    struct told *t = CONTAINER_OF(self, struct told, authenticator);
    t->renewed++;
    if (t->changes)
        snprintf(t->token, sizeof t->token, "new");
    return t->changes;
}

static const struct authenticator_ops ops = {.apply = apply, .renew = renew};

struct world {
    struct fake_env env;
    struct told told;
    struct raw_peer *peer;
    struct fake_component out;
};

static void init_env(struct world *w)
{
    *w = (struct world){.told = {.authenticator = {.ops = &ops}, .token = "old"}};
    fake_env_init(&w->env, 1);
    w->env.authenticator = &w->told.authenticator;
    w->env.authenticator_roles = AUTH_ROLE_CLIENT;
}

static void start(struct world *w, const struct exporter_module *m, const char *scheme, int port, const char *more)
{
    struct err e = {0};
    char yaml[256];
    snprintf(yaml, sizeof yaml, "{endpoint: '%s127.0.0.1:%d', auth: {authenticator: x}%s}", scheme, port, more);
    fake_component_init(&w->out, &w->env, KIND_EXPORTER, &m->module, yaml);
    assert_int_equal(fake_component_start(&w->out, &e), ERR_OK);
}

static void init(struct world *w)
{
    init_env(w);
    w->peer = raw_peer_create(&w->env.loop.uv, NULL);
}

static void fini(struct world *w)
{
    fake_component_fini(&w->out);
    if (w->peer != NULL)
        raw_peer_destroy(&w->peer);
    assert_int_equal(w->env.budget.used, 0);
    fake_env_fini(&w->env);
}

#define WHO "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
#define TAKEN "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

// Each connection meets the next answer; the last one stays.
static struct verdict export(struct world *w, const char *answer)
{
    const struct raw_step steps[] = {{RAW_EXPECT, "\r\n\r\n", 0}, {RAW_SEND, answer, 0}};
    struct batch *b = random_batch(7, NULL);
    raw_peer_script(w->peer, steps, 2);
    struct verdict v = fake_export(&w->out, b);
    batch_unref(&b);
    return v;
}

static void refused_twice_is_refused(void **state)
{
    (void)state;
    struct world w;
    init(&w);
    w.told.changes = true;
    start(&w, &otlp_http_exporter, "http://", raw_peer_port(w.peer), "");
    struct verdict v = export(&w, WHO);
    assert_int_equal(v.kind, VERDICT_REFUSED);
    assert_non_null(strstr(v.text, "answers 401"));
    assert_int_equal(raw_peer_connections(w.peer), 2);
    assert_non_null(strstr(raw_peer_received(w.peer, 0), "authorization: old\r\n"));
    assert_non_null(strstr(raw_peer_received(w.peer, 1), "authorization: new\r\n"));
    assert_int_equal(w.told.renewed, 1);
    assert_null(strstr(fake_env_log(&w.env), "clear text")); // loopback
    fini(&w);
}

static void taken_needs_no_second(void **state)
{
    (void)state;
    struct world w;
    init(&w);
    start(&w, &otlp_http_exporter, "http://", raw_peer_port(w.peer), ", headers: {Authorization: own, x-a: b}");
    assert_int_equal(export(&w, TAKEN).kind, VERDICT_OK);
    assert_int_equal(w.told.renewed, 0);
    const char *text = raw_peer_received(w.peer, 0);
    assert_non_null(strstr(text, "authorization: old\r\n"));
    assert_null(strstr(text, "own"));
    assert_non_null(strstr(text, "x-a: b\r\n"));
    fini(&w);
}

static void grpc_is_tried_once_more(void **state)
{
    (void)state;
    static const struct http_header trailers[] = {{"grpc-status", "16"}};
    static const struct http_header headers[] = {{"content-type", "application/grpc"}};
    const struct http2_step step = {
        .act = HTTP2_ANSWER, .headers = headers, .header_count = 1, .trailers = trailers, .trailer_count = 1};
    struct world w;
    init_env(&w);
    w.told.changes = true;
    struct http2_peer *peer = http2_peer_create(&w.env.loop.uv, NULL);
    http2_peer_script(peer, &step, 1);
    start(&w, &otlp_grpc_exporter, "http://", http2_peer_port(peer), "");
    struct batch *b = random_batch(7, NULL);
    struct verdict v = fake_export(&w.out, b);
    batch_unref(&b);
    assert_int_equal(v.kind, VERDICT_REFUSED);
    assert_non_null(strstr(v.text, "UNAUTHENTICATED"));
    assert_int_equal(w.told.renewed, 1);
    assert_int_equal(http2_peer_requests(peer), 2);
    assert_non_null(strstr(http2_peer_seen(peer, 0)->head, "authorization: old\n"));
    assert_non_null(strstr(http2_peer_seen(peer, 1)->head, "authorization: new\n"));
    fake_component_fini(&w.out);
    http2_peer_destroy(&peer);
    fake_env_fini(&w.env);
}

static void clear_text_is_warned_of(void **state)
{
    (void)state;
    static const struct {
        const struct exporter_module *module;
        const char *yaml;
        bool warned;
    } cases[] = {
        {&otlp_http_exporter, "{endpoint: 'http://192.0.2.1:1', auth: {authenticator: x}}", true},
        {&otlp_http_exporter, "{endpoint: 'http://localhost:1', auth: {authenticator: x}}", false},
        {&otlp_http_exporter, "{endpoint: 'http://[::1]:1', auth: {authenticator: x}}", false},
        {&otlp_http_exporter, "{endpoint: 'https://192.0.2.1:1', auth: {authenticator: x}}", false},
        {&otlp_http_exporter, "{endpoint: 'http://192.0.2.1:1'}", false},
        {&otlp_grpc_exporter, "{endpoint: 'name.invalid:1', tls: {insecure: true}, auth: {authenticator: x}}", true},
        {&otlp_grpc_exporter, "{endpoint: '192.0.2.1:1', auth: {authenticator: x}}", false},
        {&otlp_grpc_exporter, "{endpoint: 'unix:/s', auth: {authenticator: x}}", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        struct err e = {0};
        init_env(&w);
        fake_component_init(&w.out, &w.env, KIND_EXPORTER, &cases[i].module->module, cases[i].yaml);
        assert_int_equal(fake_component_start(&w.out, &e), ERR_OK);
        if ((strstr(fake_env_log(&w.env), "in clear text") != NULL) != cases[i].warned)
            fail_msg("%s: %s", cases[i].yaml, fake_env_log(&w.env));
        fini(&w);
    }
}

// --- records apart by attributes ---

// What the i-th resource has of x-dataset and x-number.
struct wanted {
    const char *const *datasets; // NULL = none
    size_t count;
    struct key_value pairs[2];
};

static enum err_code change(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part, struct err *e)
{
    (void)scope, (void)e;
    struct wanted *w = arg;
    const char *dataset = w->datasets[resource % w->count];
    w->pairs[0] = (struct key_value){BYTES_LITERAL("x-number"), value_int(7)};
    w->pairs[1] = (struct key_value){BYTES_LITERAL("x-dataset"), value_string(bytes_from_text(dataset))};
    part->list = w->pairs;
    part->count = dataset != NULL ? 2 : 1;
    return ERR_OK;
}

static struct batch *batch_of(const char *const *datasets, size_t count, uint32_t least)
{
    struct random_batch_options options = random_batch_defaults;
    struct wanted w = {.datasets = datasets, .count = count};
    const struct part_attributes_change c = {.change = change, .arg = &w};
    struct err e;
    struct batch *b = NULL;
    options.max_resources = least + 2;
    for (uint64_t seed = 1; b == NULL || b->resource_count < least; seed++) {
        batch_unref(&b);
        b = random_batch(seed, &options);
    }
    assert_int_equal(batch_change_part_attributes(&b, &c, &e), ERR_OK);
    return b;
}

static const char *const asked[] = {"x-dataset", "x-number", "x-none"};

static void ask_for_attributes(struct world *w)
{
    w->told.authenticator.attributes = asked;
    w->told.authenticator.attribute_count = 3;
}

static enum err_code encode(struct world *w, const struct batch *b, struct record_list *out, struct err *e)
{
    struct exporter *x = (struct exporter *)w->out.instance.component;
    record_list_init(out);
    return x->module->encode(x, b, out, e);
}

// Every resource in it has this dataset; answers how many profiles there are.
static uint64_t check_record(const struct record *r, const char *dataset)
{
    struct batch *b;
    struct err e;
    struct buf raw;
    buf_init(&raw, MAX_RAW);
    assert_int_equal(decompress(COMPRESSION_GZIP, (struct bytes){r->data, r->len}, MAX_RAW, "test", &raw, &e), ERR_OK);
    assert_int_equal(otlp_decode(buf_bytes(&raw), &otlp_default_limits, &b, &e), ERR_OK);
    for (uint32_t i = 0; i < b->resource_count; i++) {
        const struct resource *one = b->resources[i];
        const struct key_value *found =
            key_values_find(one->attributes, one->attribute_count, BYTES_LITERAL("x-dataset"));
        assert_int_equal(found != NULL, dataset != NULL);
        assert_true(found == NULL || bytes_equal_text(found->value.bytes, dataset));
    }
    uint64_t count = b->profile_count;
    assert_int_equal(count, r->profiles);
    batch_unref(&b);
    buf_fini(&raw);
    return count;
}

static void values_make_records(void **state)
{
    (void)state;
    static const char *const datasets[] = {"one", NULL, "two", "one"};
    struct world w;
    struct record_list list;
    struct err e;
    uint64_t profiles = 0;
    size_t count = 0;
    init(&w);
    ask_for_attributes(&w);
    start(&w, &otlp_http_exporter, "http://", raw_peer_port(w.peer), "");
    struct batch *b = batch_of(datasets, 4, 4);
    assert_int_equal(encode(&w, b, &list, &e), ERR_OK);
    for (const struct record *r = list.head; r != NULL; r = r->next, count++) {
        const char *dataset = r->header_values[0];
        assert_int_equal(dataset != NULL, datasets[count] != NULL);
        assert_true(dataset == NULL || strcmp(dataset, datasets[count]) == 0);
        assert_string_equal(r->header_values[1], "7");
        assert_null(r->header_values[2]);
        assert_true(r->header_bytes > 0 && record_bytes(r) == r->len + r->header_bytes);
        profiles += check_record(r, dataset);
    }
    assert_int_equal(count, 3);
    assert_int_equal(profiles, b->profile_count);
    record_list_fini(&list);
    batch_unref(&b);
    fini(&w);
}

static void one_value_makes_one_record(void **state)
{
    (void)state;
    static const char *const datasets[] = {"one"};
    struct world w;
    init(&w);
    ask_for_attributes(&w);
    start(&w, &otlp_http_exporter, "http://", raw_peer_port(w.peer), "");
    struct batch *b = batch_of(datasets, 1, 4);
    struct record_list list;
    struct err e;
    assert_int_equal(encode(&w, b, &list, &e), ERR_OK);
    assert_ptr_equal(list.head->next, NULL);
    assert_int_equal(check_record(list.head, "one"), b->profile_count);
    record_list_fini(&list);
    const struct raw_step steps[] = {{RAW_EXPECT, "\r\n\r\n", 0}, {RAW_SEND, TAKEN, 0}};
    raw_peer_script(w.peer, steps, 2);
    assert_int_equal(fake_export(&w.out, b).kind, VERDICT_OK);
    assert_non_null(strstr(raw_peer_received(w.peer, 0), "x-dataset: one\r\n"));
    assert_non_null(strstr(raw_peer_received(w.peer, 0), "x-number: 7\r\n"));
    batch_unref(&b);
    fini(&w);
}

static void parts_keep_their_values(void **state)
{
    (void)state;
    static const char *const datasets[] = {"one"};
    struct world w;
    init(&w);
    ask_for_attributes(&w);
    start(&w, &otlp_http_exporter, "http://", raw_peer_port(w.peer), "");
    struct batch *b = batch_of(datasets, 1, 4);
    struct record_list whole, parts;
    struct err e = {0};
    size_t count = 0;
    assert_int_equal(encode(&w, b, &whole, &e), ERR_OK);
    record_list_init(&parts);
    struct exporter *x = (struct exporter *)w.out.instance.component;
    const struct verdict refusal = {.kind = VERDICT_REFUSED, .too_large = true};
    assert_int_equal(x->module->replace(x, whole.head, &refusal, &parts, &e), ERR_OK);
    record_list_fini(&whole);
    for (const struct record *r = parts.head; r != NULL; r = r->next, count++) {
        assert_string_equal(r->header_values[0], "one");
        assert_string_equal(r->header_values[1], "7");
        assert_null(r->header_values[2]);
    }
    assert_true(count >= 2);
    record_list_fini(&parts);
    batch_unref(&b);
    fini(&w);
}

static void values_that_no_header_holds(void **state)
{
    (void)state;
    static const char *const datasets[] = {"line\nend", "\xc3\xbc", "", "x"};
    struct world w;
    init(&w);
    ask_for_attributes(&w);
    start(&w, &otlp_http_exporter, "http://", raw_peer_port(w.peer), "");
    struct batch *b = batch_of(datasets, 4, 4);
    struct record_list list;
    struct err e;
    assert_int_equal(encode(&w, b, &list, &e), ERR_OK);
    assert_null(list.head->header_values[0]);
    assert_string_equal(list.head->next->header_values[0], "");
    assert_string_equal(list.head->next->next->header_values[0], "x");
    assert_null(list.head->next->next->next);
    assert_non_null(strstr(fake_env_log(&w.env), "x-dataset of a batch cannot be sent in a header"));
    record_list_fini(&list);
    batch_unref(&b);
    fini(&w);
}

static void values_are_bounded(void **state)
{
    (void)state;
    static char texts[300][8];
    static const char *datasets[300];
    for (size_t i = 0; i < 300; i++) {
        snprintf(texts[i], sizeof texts[i], "%zu", i);
        datasets[i] = texts[i];
    }
    struct world w;
    init(&w);
    ask_for_attributes(&w);
    start(&w, &otlp_http_exporter, "http://", raw_peer_port(w.peer), "");
    struct batch *b = batch_of(datasets, 300, 260);
    struct record_list list;
    struct err e;
    assert_int_equal(encode(&w, b, &list, &e), ERR_LIMIT);
    assert_non_null(strstr(e.text, "more than the 256 different headers"));
    record_list_fini(&list);
    batch_unref(&b);
    fini(&w);
}

static void no_memory(void **state)
{
    (void)state;
    static const char *const datasets[] = {"one", "two"};
    struct world w;
    struct record_list list;
    struct err e;
    init(&w);
    ask_for_attributes(&w);
    start(&w, &otlp_http_exporter, "http://", raw_peer_port(w.peer), "");
    struct batch *b = batch_of(datasets, 2, 2);
    enum err_code rc = ERR_MEMORY;
    for (size_t n = 1; rc == ERR_MEMORY; n++) {
        mem_fail_from(n);
        rc = encode(&w, b, &list, &e);
        mem_fail_from(0);
        record_list_fini(&list);
        assert_true(n < 10000);
    }
    assert_int_equal(rc, ERR_OK);
    batch_unref(&b);
    fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_twice_is_refused), cmocka_unit_test(taken_needs_no_second),
        cmocka_unit_test(grpc_is_tried_once_more),  cmocka_unit_test(clear_text_is_warned_of),
        cmocka_unit_test(values_make_records),      cmocka_unit_test(one_value_makes_one_record),
        cmocka_unit_test(parts_keep_their_values),  cmocka_unit_test(values_that_no_header_holds),
        cmocka_unit_test(values_are_bounded),       cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
