// SPDX-License-Identifier: Apache-2.0
// The HTTP/2 session fed with a peer's bytes. The first three bytes choose the length of the pieces and whether we say
// goodbye; how many streams there are, the largest body, and when one is cancelled or sent later; which allocation fails.
#include "net/http2_client.h"

#include "base/limits.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    PARAMETERS = 3,
    STREAMS = 4,
    GOODBYE = 128,
    GOODBYE_PIECE = 2,
    BODY_UNIT_BYTES = 500,
    OUTPUT_MAX_BYTES = 256 << 10
};

struct run {
    struct http2_client *client;
    struct http2_stream streams[STREAMS];
    size_t with_client, done;
    bool first_gone; // taken or cancelled
};

static void submit(struct run *r, size_t i, size_t max_body_bytes)
{
    static const uint8_t body[300];
    static const struct http_header headers[] = {
        {"Authorization", "x"}, {"te", "trailers"}, {"Host", "other"}, {"TE", "gzip"}};
    struct url url;
    CHECK(url_parse(i == 2 ? "https://peer.example?query" : "https://peer.example/path", &url, NULL) == ERR_OK);
    struct http2_request how = {&url, "agent"};
    struct http_request request = {.method = i == 1 ? "HEAD" : "POST",
                                   .headers = headers,
                                   .header_count = i == 2 ? 4 : 2,
                                   .body = {body, i == 1 ? 0 : 300}};
    http2_stream_init(&r->streams[i], max_body_bytes);
    http2_client_submit(r->client, &r->streams[i], &how, &request);
    r->with_client++;
}

static size_t text_bytes(const struct http_header *headers, size_t count)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += strlen(headers[i].name) + strlen(headers[i].value);
    return total;
}

static void take_done(struct run *r)
{
    struct http_response view;
    for (struct http2_stream *s; (s = http2_client_take_done(r->client)) != NULL; r->done++) {
        CHECK(s->fate != HTTP2_PENDING);
        r->first_gone = r->first_gone || s == &r->streams[0];
        CHECK(s->fate == HTTP2_ANSWERED || (s->error.code != ERR_OK && s->error.text[0] != '\0'));
        CHECK(s->body.len <= s->body.max_bytes);
        if (s->fate != HTTP2_ANSWERED)
            continue;
        http2_stream_view(s, &view);
        CHECK(view.status >= 200 && view.status <= 999);
        CHECK(text_bytes(view.headers, view.header_count) + text_bytes(view.trailers, view.trailer_count) <=
              LIMIT_HTTP_HEADER_BYTES);
    }
}

static bool write_output(struct http2_client *c)
{
    struct buf out;
    struct err e;
    buf_init(&out, OUTPUT_MAX_BYTES);
    bool ok = http2_client_output(c, &out, &e);
    CHECK(out.len < OUTPUT_MAX_BYTES / 2);
    buf_fini(&out);
    return ok;
}

static void act(struct run *r, size_t piece, uint8_t how)
{
    size_t max_body = BODY_UNIT_BYTES * (size_t)(how >> 4);
    if (piece == (how & 3u) && !r->first_gone) {
        http2_client_cancel(r->client, &r->streams[0]);
        r->first_gone = true;
        r->done++;
    }
    if (piece == (how >> 2 & 3u) && r->with_client == STREAMS - 1 && http2_client_room(r->client) > 0)
        submit(r, STREAMS - 1, max_body);
    if (http2_client_settled(r->client))
        http2_client_ping(r->client);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < PARAMETERS)
        return 0;
    struct run r = {.client = http2_client_create("peer")};
    struct err e = {0};
    size_t step = data[0] % GOODBYE == 0 ? size : data[0] % GOODBYE;
    for (size_t i = 0; i < STREAMS - 1; i++)
        submit(&r, i, BODY_UNIT_BYTES * (size_t)(data[1] >> 4));
    bool ok = write_output(r.client);
    mem_fail_from(data[2]);
    for (size_t i = PARAMETERS, piece = 0; ok && i < size && !http2_client_finished(r.client); i += step, piece++) {
        ok = http2_client_feed(r.client, (struct bytes){data + i, size - i < step ? size - i : step}, &e);
        CHECK(ok || e.code != ERR_OK);
        act(&r, piece, data[1]);
        if (piece == GOODBYE_PIECE && (data[0] & GOODBYE) != 0)
            http2_client_goodbye(r.client);
        take_done(&r);
        CHECK(!http2_client_has_done(r.client));
        CHECK(http2_client_draining(r.client) || !http2_client_calm_down(r.client));
        ok = write_output(r.client) && ok;
    }
    mem_fail_from(0);
    http2_client_end(r.client, "the end");
    take_done(&r);
    CHECK(r.done == r.with_client && http2_client_active(r.client) == 0);
    http2_client_destroy(&r.client);
    for (size_t i = 0; i < r.with_client; i++)
        http2_stream_fini(&r.streams[i]);
    return 0;
}
