// SPDX-License-Identifier: Apache-2.0
// What a client hears: google.rpc.Status or ExportProfilesServiceResponse in its own encoding.
#include "base/mem.h"
#include "codec/otlp_status.h"
#include "receivers/otlp.h"

#include <inttypes.h>
#include <stdio.h>

enum { ANSWER_MAX_BYTES = 16 << 10, HEADERS_OF_OUR_OWN = 8 };

static const struct {
    int http;
    enum grpc_status grpc;
    const char *text; // where nobody says more
} fates[UPLOAD_FATES] = {
    [UPLOAD_TAKEN] = {200, GRPC_OK, NULL},
    [UPLOAD_INVALID] = {400, GRPC_INVALID_ARGUMENT, "the request is not valid"},
    [UPLOAD_UNREADABLE] = {400, GRPC_INVALID_ARGUMENT, "the request is not valid"},
    [UPLOAD_TOO_LARGE] = {413, GRPC_RESOURCE_EXHAUSTED, "the request is too large"},
    [UPLOAD_BUSY] = {503, GRPC_UNAVAILABLE, "there is too much to do now"},
    [UPLOAD_OVER_LIMIT] = {429, GRPC_RESOURCE_EXHAUSTED, "more is sent than is taken"},
    [UPLOAD_REFUSED] = {400, GRPC_INVALID_ARGUMENT, "the profiles were refused"},
    [UPLOAD_TOO_SLOW] = {408, GRPC_DEADLINE_EXCEEDED, "the request body came too slowly"},
    [UPLOAD_UNAUTHENTICATED] = {401, GRPC_UNAUTHENTICATED, "the credentials are missing or not known"},
    [UPLOAD_LATE] = {504, GRPC_DEADLINE_EXCEEDED, "the request's own timeout has passed"},
    [UPLOAD_NO_NAME] = {400, GRPC_INVALID_ARGUMENT, "the request is not valid"},
    [UPLOAD_NO_MEDIA_TYPE] = {415, GRPC_UNIMPLEMENTED, "this media type is not taken"},
    [UPLOAD_NO_ENCODING] = {415, GRPC_UNIMPLEMENTED, "this encoding is not taken; taken are " UPLOAD_ENCODINGS},
    [UPLOAD_NO_METHOD] = {405, GRPC_UNIMPLEMENTED, "this method is not taken: use POST"},
    [UPLOAD_NO_SUCH_PATH] = {404, GRPC_UNIMPLEMENTED, "there is nothing here"},
};

static int64_t retry_delay(const struct otlp_listener *l, const struct upload_outcome *o)
{
    return upload_retry_delay(o, random_unit(&l->receiver->random));
}

// --- HTTP ---

static bool origin_matches(struct bytes origin, const char *pattern)
{
    const char *star = strchr(pattern, '*');
    if (star == NULL)
        return bytes_equal_text(origin, pattern);
    size_t before = (size_t)(star - pattern), after = strlen(star + 1);
    return origin.len >= before + after && memcmp(origin.data, pattern, before) == 0 &&
           memcmp(origin.data + origin.len - after, star + 1, after) == 0;
}

// The origin a browser may show the answer to; NULL = none.
static const char *allowed_origin(const struct otlp_cors *cors, const struct http_exchange *x)
{
    const char *origin = http_exchange_header(x, "origin", NULL);
    for (size_t i = 0; origin != NULL && i < cors->allowed_origins.count; i++)
        if (origin_matches(bytes_from_text(origin), cors->allowed_origins.items[i]))
            return origin;
    return NULL;
}

struct head {
    struct http_header *items;
    size_t count;
    char retry_after[24], max_age[24];
    struct buf lists[2]; // of CORS
};

static void add(struct head *h, const char *name, const char *value)
{
    h->items[h->count++] = (struct http_header){name, value};
}

static const char *join(struct buf *out, const struct config_strings *list)
{
    buf_init(out, ANSWER_MAX_BYTES);
    for (size_t i = 0; i < list->count; i++)
        buf_add_format(out, "%s%s", i > 0 ? ", " : "", list->items[i]);
    buf_add_byte(out, '\0');
    return buf_ok(out) ? (const char *)out->data : "";
}

static void add_cors(struct head *h, const struct otlp_cors *cors, const struct http_exchange *x)
{
    const struct http_head *request = http_exchange_head(x);
    if (cors->allowed_origins.count == 0)
        return;
    add(h, "vary", "origin");
    const char *origin = allowed_origin(cors, x);
    if (origin == NULL)
        return;
    add(h, "access-control-allow-origin", origin);
    if (!bytes_equal_text(request->method, "OPTIONS")) {
        if (cors->exposed_headers.count > 0)
            add(h, "access-control-expose-headers", join(&h->lists[0], &cors->exposed_headers));
        return;
    }
    add(h, "access-control-allow-methods", "POST");
    if (cors->allowed_headers.count > 0)
        add(h, "access-control-allow-headers", join(&h->lists[1], &cors->allowed_headers));
    if (cors->max_age > 0) {
        snprintf(h->max_age, sizeof h->max_age, "%" PRId64, cors->max_age);
        add(h, "access-control-max-age", h->max_age);
    }
}

static void fill_head(struct head *h, const struct otlp_listener *l, const struct http_exchange *x,
                      const struct upload_outcome *o)
{
    const struct otlp_settings *s = l->receiver->settings;
    for (size_t i = 0; i < s->response_headers.count; i++)
        add(h, s->response_headers.items[i].name, s->response_headers.items[i].value);
    add_cors(h, &s->cors, x);
    if (o->fate == UPLOAD_NO_METHOD)
        add(h, "allow", "POST");
    if (o->challenge != NULL)
        add(h, "www-authenticate", o->challenge);
    if (o->fate == UPLOAD_NO_ENCODING)
        add(h, "accept-encoding", UPLOAD_ENCODINGS);
    if (upload_comes_again(o)) {
        int64_t seconds = retry_delay(l, o) / NANOS_PER_SECOND;
        snprintf(h->retry_after, sizeof h->retry_after, "%" PRId64, seconds);
        add(h, "retry-after", h->retry_after);
    }
}

static void write_response(const struct upload_outcome *o, bool json, struct buf *body)
{
    int64_t rejected = o->rejected > INT64_MAX ? INT64_MAX : (int64_t)o->rejected;
    (json ? otlp_response_encode_json : otlp_response_encode)(rejected, bytes_from_text(o->text), body);
}

static void write_body(const struct upload_outcome *o, enum otlp_speech speech, struct buf *body)
{
    bool json = speech == OTLP_SPEAKS_JSON;
    const char *text = o->text != NULL ? o->text : fates[o->fate].text;
    const struct otlp_status status = {
        .code = (int32_t)fates[o->fate].grpc,
        .message = bytes_from_text(text),
        .field = o->fate == UPLOAD_INVALID || o->fate == UPLOAD_UNREADABLE ? otlp_error_field(bytes_from_text(text))
                                                                           : (struct bytes){NULL, 0},
    };
    if (o->fate == UPLOAD_TAKEN)
        write_response(o, json, body);
    else if (speech == OTLP_SPEAKS_TEXT)
        buf_add_format(body, "%s\n", text);
    else
        (json ? otlp_status_encode_json : otlp_status_encode)(&status, body);
}

static void answer_http(const struct otlp_listener *l, struct http_exchange *x, enum otlp_speech speech,
                        const struct upload_outcome *o)
{
    static const char *const types[] = {
        [OTLP_SPEAKS_PROTO] = "application/x-protobuf",
        [OTLP_SPEAKS_JSON] = "application/json",
        [OTLP_SPEAKS_TEXT] = "text/plain; charset=utf-8",
    };
    struct head h = {0};
    struct buf body;
    size_t count = l->receiver->settings->response_headers.count + HEADERS_OF_OUR_OWN;
    h.items = mem_alloc(count * sizeof *h.items);
    buf_init(&body, ANSWER_MAX_BYTES);
    add(&h, "content-type", types[speech]);
    fill_head(&h, l, x, o);
    write_body(o, speech, &body);
    http_exchange_answer(
        x, &(struct http_answer){
               .status = fates[o->fate].http, .headers = h.items, .header_count = h.count, .body = &body});
    buf_fini(&body);
    buf_fini(&h.lists[0]);
    buf_fini(&h.lists[1]);
    free(h.items);
}

void otlp_answer_preflight(const struct otlp_listener *l, struct http_exchange *x)
{
    struct http_header items[HEADERS_OF_OUR_OWN];
    struct head h = {.items = items};
    add_cors(&h, &l->receiver->settings->cors, x);
    http_exchange_answer(x, &(struct http_answer){.status = 204, .headers = h.items, .header_count = h.count});
    buf_fini(&h.lists[0]);
    buf_fini(&h.lists[1]);
}

// --- gRPC ---

static void answer_grpc(const struct otlp_listener *l, struct http_exchange *x, const struct upload_outcome *o)
{
    struct buf message;
    buf_init(&message, ANSWER_MAX_BYTES);
    if (o->fate == UPLOAD_TAKEN)
        write_response(o, false, &message);
    otlp_answer_grpc(x, &(struct otlp_grpc_answer){
                            .status = fates[o->fate].grpc,
                            .text = o->text != NULL ? o->text : fates[o->fate].text,
                            .message = o->fate == UPLOAD_TAKEN ? &message : NULL,
                            .retry_delay_nanos = upload_comes_again(o) ? retry_delay(l, o) : 0,
                        });
    buf_fini(&message);
}

void otlp_answer(const struct otlp_listener *l, struct http_exchange *x, enum otlp_speech speech,
                 const struct upload_outcome *outcome)
{
    if (speech == OTLP_SPEAKS_GRPC)
        answer_grpc(l, x, outcome);
    else
        answer_http(l, x, speech, outcome);
}
