// SPDX-License-Identifier: Apache-2.0
// Exporters against peers that understand only some layouts: what they are sent, in which order, and what is remembered.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/otlp_check.h"
#include "codec/otlp_decode_layout.h"
#include "exporters/exporters.h"
#include "exporters/otlp_encode.h"
#include "exporters/otlp_layouts.h"
#include "net/grpc_message.h"
#include "tests/support/batch_text.h"
#include "tests/support/fake_env.h"
#include "tests/support/http2_peer.h"
#include "tests/support/random_batch.h"
#include "tests/support/raw_peer.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RAW = 1 << 24, MAX_STEPS = 16 };

#define WIRE_TYPE "grpc: error unmarshalling request: proto: wrong wireType = 2 for field LinkIndex"

static const struct http_header grpc_headers[] = {{"content-type", "application/grpc"}};
static const struct http_header ok_trailers[] = {{"grpc-status", "0"}},
                                unreadable_trailers[] = {{"grpc-status", "13"}, {"grpc-message", WIRE_TYPE}},
                                other_trailers[] = {{"grpc-status", "3"}, {"grpc-message", "cannot parse it, too"}},
                                invalid_trailers[] = {{"grpc-status", "3"}, {"grpc-message", "no service.name"}},
                                busy_trailers[] = {{"grpc-status", "14"}, {"grpc-message", "busy"}};
#define ANSWER(list)                                                                                                   \
    {.act = HTTP2_ANSWER,                                                                                              \
     .headers = grpc_headers,                                                                                          \
     .header_count = 1,                                                                                                \
     .trailers = (list),                                                                                               \
     .trailer_count = COUNT_OF(list)}
static const struct http2_step taken = {.act = HTTP2_ANSWER,
                                        .headers = grpc_headers,
                                        .header_count = 1,
                                        .body = "\0\0\0\0\0",
                                        .body_len = 5,
                                        .trailers = ok_trailers,
                                        .trailer_count = 1},
                               unreadable = ANSWER(unreadable_trailers), other = ANSWER(other_trailers),
                               invalid = ANSWER(invalid_trailers), busy = ANSWER(busy_trailers);

struct world {
    struct fake_env env;
    struct http2_peer *peer;
    struct fake_component out;
    struct batch *batch;
    struct http2_step steps[MAX_STEPS];
};

static void world_init(struct world *w, const char *keys)
{
    const struct random_batch_options plain = {.max_resources = 2,
                                               .max_scopes = 2,
                                               .max_profiles = 2,
                                               .max_samples = 9,
                                               .max_stack_depth = 5,
                                               .max_attributes = 2,
                                               .item_count = 3,
                                               .links = true};
    char yaml[512];
    struct err e = {0};
    *w = (struct world){.batch = random_batch(11, &plain)};
    assert_true(w->batch->sample_count > 0);
    fake_env_init(&w->env, 1);
    w->peer = http2_peer_create(&w->env.loop.uv, NULL);
    snprintf(yaml, sizeof yaml, "{endpoint: \"http://127.0.0.1:%d\", compression: none%s}", http2_peer_port(w->peer),
             keys);
    fake_component_init(&w->out, &w->env, KIND_EXPORTER, &otlp_grpc_exporter.module, yaml);
    assert_int_equal(fake_component_start(&w->out, &e), ERR_OK);
}

static void world_fini(struct world *w)
{
    fake_component_fini(&w->out);
    http2_peer_destroy(&w->peer);
    batch_unref(&w->batch);
    assert_int_equal(w->env.budget.used, 0);
    fake_env_fini(&w->env);
}

static void answers(struct world *w, const struct http2_step *const *steps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        w->steps[i] = *steps[i];
    http2_peer_script(w->peer, w->steps, count);
}
#define ANSWERS(w, ...)                                                                                                \
    answers((w), (const struct http2_step *const[]){__VA_ARGS__},                                                      \
            sizeof((const struct http2_step *const[]){__VA_ARGS__}) / sizeof(struct http2_step *))

static void assert_same_text(const struct batch *a, const struct batch *b)
{
    struct buf one, two;
    buf_init(&one, MAX_RAW);
    buf_init(&two, MAX_RAW);
    batch_text(a, &one);
    batch_text(b, &two);
    assert_true(one.len > 100 && bytes_equal(buf_bytes(&one), buf_bytes(&two)));
    buf_fini(&one);
    buf_fini(&two);
}

// Request i was this batch in this layout; the header goes with the current one only.
static void assert_came(struct world *w, size_t i, enum otlp_layout layout)
{
    const struct http2_seen *seen = http2_peer_seen(w->peer, i);
    struct grpc_message message;
    struct batch *b;
    struct err e = {0};
    assert_int_equal(grpc_message_parse(buf_bytes(&seen->body), MAX_RAW, &message, &e), ERR_OK);
    if (otlp_decode_layout(message.payload, layout, NULL, &b, NULL, &e) != ERR_OK)
        fail_msg("request %zu is not %s: %s", i, otlp_layout_names[layout], e.text);
    assert_same_text(w->batch, b);
    assert_int_equal(strstr(seen->head, "\notlp-profiles-development-version: 1\n") != NULL,
                     layout == OTLP_LAYOUT_CURRENT);
    batch_unref(&b);
}

static void exported(struct world *w, enum verdict_kind kind, const char *words)
{
    struct verdict v = fake_export(&w->out, w->batch);
    assert_int_equal(v.kind, kind);
    if (strstr(v.text, words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, v.text);
}

static const enum otlp_layout from_new_to_old[] = {OTLP_LAYOUT_CURRENT, OTLP_LAYOUT_1_9, OTLP_LAYOUT_1_8,
                                                   OTLP_LAYOUT_1_7};

static void came_in_order(struct world *w, size_t first, size_t count)
{
    assert_int_equal(http2_peer_requests(w->peer), first + count);
    for (size_t i = 0; i < count; i++)
        assert_came(w, first + i, from_new_to_old[i]);
}

static void each_layout_by_its_name(void **state)
{
    (void)state;
    static const char *const names[] = {"current", "1.9", "1.8", "1.7"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct world w;
        char key[32];
        snprintf(key, sizeof key, ", layout: %s", names[i]);
        world_init(&w, key);
        ANSWERS(&w, &taken);
        exported(&w, VERDICT_OK, "");
        assert_came(&w, 0, from_new_to_old[i]);
        world_fini(&w);
    }
}

static void falls_back_and_remembers(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, ", layout: auto");
    ANSWERS(&w, &unreadable, &unreadable, &taken);
    exported(&w, VERDICT_OK, "");
    came_in_order(&w, 0, 3);
    exported(&w, VERDICT_OK, "");
    exported(&w, VERDICT_OK, "");
    assert_int_equal(http2_peer_requests(w.peer), 5);
    assert_came(&w, 3, OTLP_LAYOUT_1_8);
    assert_came(&w, 4, OTLP_LAYOUT_1_8);
    const char *log = fake_env_log(&w.env), *line = strstr(log, "does not understand layout current");
    assert_non_null(line);
    assert_non_null(strstr(line, "but 1.8"));
    assert_non_null(strstr(line, "wrong wireType"));
    assert_null(strstr(line + 1, "does not understand layout"));
    world_fini(&w);
}

// What it refuses in each layout it does not refuse for the layout: its first words count, and nothing is remembered.
static void refused_in_each_layout(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, ", layout: auto");
    ANSWERS(&w, &unreadable, &other, &other, &other, &unreadable, &invalid, &taken);
    exported(&w, VERDICT_REFUSED, "INTERNAL: " WIRE_TYPE);
    came_in_order(&w, 0, 4);
    exported(&w, VERDICT_REFUSED, "no service.name");
    came_in_order(&w, 4, 2);
    exported(&w, VERDICT_OK, "");
    assert_came(&w, 6, OTLP_LAYOUT_CURRENT);
    assert_null(strstr(fake_env_log(&w.env), "does not understand"));
    world_fini(&w);
}

// An upgraded peer is found again.
static void goes_forward_again(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, ", layout: auto");
    ANSWERS(&w, &unreadable, &taken, &unreadable, &taken);
    exported(&w, VERDICT_OK, "");
    exported(&w, VERDICT_OK, "");
    exported(&w, VERDICT_OK, "");
    assert_int_equal(http2_peer_requests(w.peer), 5);
    static const enum otlp_layout order[] = {OTLP_LAYOUT_CURRENT, OTLP_LAYOUT_1_9, OTLP_LAYOUT_1_9, OTLP_LAYOUT_CURRENT,
                                             OTLP_LAYOUT_CURRENT};
    for (size_t i = 0; i < COUNT_OF(order); i++)
        assert_came(&w, i, order[i]);
    world_fini(&w);
}

// Anything else the peer says is no reason for another layout.
static void other_refusals_are_final(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, ", layout: auto");
    ANSWERS(&w, &invalid, &busy);
    exported(&w, VERDICT_REFUSED, "no service.name");
    exported(&w, VERDICT_RETRY, "busy");
    assert_int_equal(http2_peer_requests(w.peer), 2);
    world_fini(&w);
}

static void a_fixed_layout_stays(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "");
    ANSWERS(&w, &unreadable);
    exported(&w, VERDICT_REFUSED, "See layout)");
    assert_int_equal(http2_peer_requests(w.peer), 1);
    world_fini(&w);
}

// --- the words of peers ---

static void words_of_decoders(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        bool unreadable;
    } cases[] = {
        {"proto: wrong wireType = 2 for field LinkIndex", true},
        {"grpc: error unmarshalling request: unexpected EOF", true},
        {"proto: cannot parse invalid wire-format data", true},
        {"failed to decode Protobuf message: Profile.time_nanos: invalid wire type: LengthDelimited", true},
        {"resource_profiles[0]: values (field 2) has wire type varint, which OTLP profiles 1.9 does not use there",
         true},
        {"the request has the layout current of OTLP profiles (it is empty), which is not taken here; see the key "
         "layouts",
         true},
        {"Protocol message contained an invalid tag (zero).", true},
        {"invalid or unsupported otlp-profiles-development-version: supported version is 1", true},
        {"grpc: error unmarshalling request: string field contains invalid UTF-8", false},
        {"profile is missing a period type", false},
        {"missing service.name", false},
        {"", false},
    };
    struct world w;
    world_init(&w, ", layout: auto");
    const struct otlp_exporter *x = (const struct otlp_exporter *)w.out.instance.component;
    const struct record r = {.layout = OTLP_LAYOUT_CURRENT};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct verdict v = verdict_make(VERDICT_REFUSED, "x");
        if (otlp_layouts_blame(x, &r, cases[i].words, &v) != cases[i].unreadable || v.unreadable != cases[i].unreadable)
            fail_msg("%s", cases[i].words);
    }
    struct verdict later = verdict_make(VERDICT_RETRY, "x");
    assert_false(otlp_layouts_blame(x, &r, cases[0].words, &later));
    assert_false(later.unreadable);
    world_fini(&w);
}

// --- settings ---

static void references_and_links_as_asked(void **state)
{
    (void)state;
    struct world w;
    struct grpc_message message;
    struct otlp_index index;
    struct err e = {0};
    world_init(&w, ", string_references: indexed");
    ANSWERS(&w, &taken);
    exported(&w, VERDICT_OK, "");
    assert_came(&w, 0, OTLP_LAYOUT_CURRENT);
    const struct http2_seen *seen = http2_peer_seen(w.peer, 0);
    assert_int_equal(grpc_message_parse(buf_bytes(&seen->body), MAX_RAW, &message, &e), ERR_OK);
    assert_true(otlp_check(message.payload, &otlp_default_limits, &index));
    assert_true(index.references && !index.attribute_references);
    free(index.counts);
    world_fini(&w);
    world_init(&w, ", zero_link: zeros");
    ANSWERS(&w, &taken);
    exported(&w, VERDICT_OK, "");
    seen = http2_peer_seen(w.peer, 0);
    static const uint8_t zeros[] = {0x22, 28, 0x0a, 16, 0, 0,    0, 0, 0, 0, 0, 0, 0, 0, 0,
                                    0,    0,  0,    0,  0, 0x12, 8, 0, 0, 0, 0, 0, 0, 0, 0};
    assert_non_null(memmem(seen->body.data, seen->body.len, zeros, sizeof zeros));
    assert_came(&w, 0, OTLP_LAYOUT_CURRENT);
    world_fini(&w);
}

static void settings_that_do_not_fit(void **state)
{
    (void)state;
    struct fake_env env;
    void *settings;
    fake_env_init(&env, 1);
    char *text =
        fake_settings(&env, KIND_EXPORTER, &otlp_http_exporter.module,
                      "{endpoint: \"http://127.0.0.1:1\", layout: 1.9, string_references: indexed}", &settings);
    assert_non_null(strstr(text, "string_references: indexed is of 1.10 and later"));
    free(text);
    text = fake_settings(&env, KIND_EXPORTER, &otlp_http_exporter.module,
                         "{endpoint: \"http://127.0.0.1:1\", layout: \"1.10\", string_references: indexed}", &settings);
    assert_string_equal(text, "");
    free(text);
    fake_env_fini(&env);
}

// --- over HTTP ---

#define HTTP_400                                                                                                       \
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 30\r\n\r\nproto: wrong wireType = 2 for "
#define HTTP_200 "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static void over_http(void **state)
{
    (void)state;
    static const struct raw_step steps[] = {{RAW_EXPECT, "\r\n\r\n", 0}, {RAW_SEND, HTTP_400, 0}, {RAW_CLOSE, NULL, 0}},
                                 then[] = {{RAW_EXPECT, "\r\n\r\n", 0}, {RAW_SEND, HTTP_200, 0}, {RAW_CLOSE, NULL, 0}};
    struct fake_env env;
    struct fake_component out;
    char yaml[128];
    struct err e = {0};
    struct batch *b = random_batch(7, NULL);
    fake_env_init(&env, 1);
    struct raw_peer *peer = raw_peer_create(&env.loop.uv, NULL);
    raw_peer_script(peer, steps, COUNT_OF(steps));
    raw_peer_script(peer, then, COUNT_OF(then));
    snprintf(yaml, sizeof yaml, "{endpoint: \"http://127.0.0.1:%d\", layout: auto}", raw_peer_port(peer));
    fake_component_init(&out, &env, KIND_EXPORTER, &otlp_http_exporter.module, yaml);
    assert_int_equal(fake_component_start(&out, &e), ERR_OK);
    assert_int_equal(fake_export(&out, b).kind, VERDICT_OK);
    assert_int_equal(raw_peer_connections(peer), 2);
    assert_non_null(strstr(raw_peer_received(peer, 0), "otlp-profiles-development-version: 1"));
    assert_null(strstr(raw_peer_received(peer, 1), "otlp-profiles-development-version"));
    fake_component_fini(&out);
    raw_peer_destroy(&peer);
    batch_unref(&b);
    fake_env_fini(&env);
}

// --- records ---

// A record is read in the layout it has, and its parts have the same.
static void parts_keep_the_layout(void **state)
{
    (void)state;
    const struct verdict too_large = {.kind = VERDICT_REFUSED, .too_large = true};
    struct fake_env env;
    struct fake_component out;
    struct record_list whole, parts;
    struct err e = {0};
    uint64_t samples = 0;
    const struct random_batch_options many = {.max_resources = 6,
                                              .max_scopes = 3,
                                              .max_profiles = 4,
                                              .max_samples = 60,
                                              .max_stack_depth = 9,
                                              .max_attributes = 2,
                                              .item_count = 60};
    struct batch *b = random_batch(5, &many);
    fake_env_init(&env, 1);
    fake_component_init(&out, &env, KIND_EXPORTER, &otlp_http_exporter.module,
                        "{endpoint: \"http://127.0.0.1:1\", layout: 1.7, compression: zstd}");
    struct exporter *x = (struct exporter *)out.instance.component;
    record_list_init(&whole);
    record_list_init(&parts);
    assert_int_equal(x->module->encode(x, b, &whole, &e), ERR_OK);
    assert_int_equal(whole.head->layout, OTLP_LAYOUT_1_7);
    assert_int_equal(x->module->replace(x, whole.head, &too_large, &parts, &e), ERR_OK);
    assert_non_null(parts.head->next);
    for (const struct record *r = parts.head; r != NULL; r = r->next) {
        assert_int_equal(r->layout, OTLP_LAYOUT_1_7);
        assert_true(r->is_part);
        samples += r->samples;
    }
    assert_int_equal(samples, b->sample_count);
    const struct otlp_exporter *otlp = (const struct otlp_exporter *)x;
    assert_true(metric_get(otlp->layout_lost) > 0);
    assert_non_null(strstr(fake_env_log(&env), "layout 1.7 cannot hold all of a batch"));
    record_list_fini(&parts);
    record_list_fini(&whole);
    fake_component_fini(&out);
    batch_unref(&b);
    fake_env_fini(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_layout_by_its_name),  cmocka_unit_test(falls_back_and_remembers),
        cmocka_unit_test(refused_in_each_layout),   cmocka_unit_test(goes_forward_again),
        cmocka_unit_test(other_refusals_are_final), cmocka_unit_test(a_fixed_layout_stays),
        cmocka_unit_test(words_of_decoders),        cmocka_unit_test(references_and_links_as_asked),
        cmocka_unit_test(settings_that_do_not_fit), cmocka_unit_test(over_http),
        cmocka_unit_test(parts_keep_the_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
