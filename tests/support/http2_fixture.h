// SPDX-License-Identifier: Apache-2.0
// A client over HTTP/2, its peer, and what is said of the calls; for the tests of net/http2_channel.c.
#ifndef TESTS_SUPPORT_HTTP2_FIXTURE_H
#define TESTS_SUPPORT_HTTP2_FIXTURE_H

#include "base/clock.h"
#include "tests/support/http2_peer.h"
#include "tests/support/http_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SHORT_NANOS (30 * NANOS_PER_MS)

struct fixture {
    struct http_client_options options;
    struct http_world world;
    struct http2_peer *peer;
    char url[128];
};

static const struct http_header ok_headers[] = {{"server", "peer"}, {"content-type", "text/plain"}};
static const struct http_header ok_trailers[] = {{"grpc-status", "0"}, {"grpc-message", "fine"}};
#define OK_PARTS                                                                                                       \
    .headers = ok_headers, .header_count = COUNT_OF(ok_headers), .trailers = ok_trailers,                              \
    .trailer_count = COUNT_OF(ok_trailers), .body = "ok"
static const struct http2_step ok_step = {.act = HTTP2_ANSWER, OK_PARTS};

static inline void start(struct fixture *f, const struct http2_peer_options *peer, const struct http2_step *steps,
                         size_t count)
{
    f->options.protocol = f->options.protocol == HTTP_1 ? HTTP_2 : f->options.protocol;
    http_world_init(&f->world, &f->options);
    f->peer = http2_peer_create(&f->world.loop, peer);
    http2_peer_script(f->peer, steps, count);
    bool tls = peer != NULL && peer->tls != NULL;
    loopback_url(f->url, tls ? "https" : "http", http2_peer_port(f->peer), "/path?q");
}

static inline void stop(struct fixture *f)
{
    http2_peer_destroy(&f->peer);
    http_world_fini(&f->world);
}

static inline struct http_request post(const struct fixture *f, const char *body)
{
    return (struct http_request){.method = "POST", .url = f->url, .body = bytes_from_text(body)};
}

static inline void begin(struct fixture *f, const char *body, struct call_result *r)
{
    struct http_request request = post(f, body);
    *r = (struct call_result){0};
    http_world_send(&f->world, &request, r);
}

static inline void call(struct fixture *f, const char *body, struct call_result *r)
{
    begin(f, body, r);
    http_world_wait(&f->world, r);
}

static inline void assert_ok(struct call_result *r)
{
    if (r->outcome != HTTP_ANSWERED || r->status != 200 || !bytes_equal_text(buf_bytes(&r->body), "ok"))
        fail_msg("outcome %d, status %d, %zu bytes, \"%s\"", r->outcome, r->status, r->body.len, r->error);
    call_result_fini(r);
}

static inline void assert_says(struct call_result *r, enum http_outcome outcome, bool processed, const char *text)
{
    if (r->outcome != outcome || r->may_have_been_processed != processed || strstr(r->error, text) == NULL)
        fail_msg("outcome %d, status %d, processed %d, \"%s\"; wanted %d, %d, \"%s\"", r->outcome, r->status,
                 r->may_have_been_processed, r->error, outcome, processed, text);
    call_result_fini(r);
}

static inline void assert_sent(const struct fixture *f, size_t i, const char *text)
{
    const struct http2_seen *seen = http2_peer_seen(f->peer, i);
    if (strstr(seen->head, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, seen->head);
}

static inline char *big_text(size_t len)
{
    char *text = malloc(len + 1);
    for (size_t i = 0; i < len; i++)
        text[i] = (char)('a' + i * 7 % 26);
    text[len] = '\0';
    return text;
}

#endif
