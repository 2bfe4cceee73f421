// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "net/http_engine.h"

#include <strings.h>

enum { TEXT_ANSWER_MAX_BYTES = 4096 };

struct http_exchange *http_exchange_create(struct http_engine *engine)
{
    struct http_exchange *x = MEM_NEW(struct http_exchange);
    x->engine = engine;
    x->handler = engine->link->handler;
    x->head.content_length = -1;
    x->head.tls = engine->link->tls;
    x->head.peer = &engine->link->peer;
    http1_headers_init(&x->raw);
    buf_init(&x->target, engine->link->limits->max_header_bytes);
    return x;
}

static void free_head(struct http_exchange *x)
{
    bool complete = x->raw.complete;
    http1_headers_fini(&x->raw);
    x->raw.complete = complete;
    buf_fini(&x->target);
    free(x->list);
    x->list = NULL;
}

void http_exchange_destroy(struct http_exchange *x)
{
    x->dead = true;
    if (x->held)
        return;
    free_head(x);
    free(x->body);
    free(x);
}

// After a callback: whether it has ended the exchange.
static bool let_go(struct http_exchange *x)
{
    bool dead = x->dead;
    x->held = false;
    if (dead)
        http_exchange_destroy(x);
    return dead;
}

static void lower_names(struct http1_headers *h)
{
    for (size_t i = 0; i < h->count; i++)
        for (uint8_t *c = h->text.data + h->places[i].name; *c != '\0'; c++)
            if (*c >= 'A' && *c <= 'Z')
                *c = (uint8_t)(*c + 'a' - 'A');
}

bool http_exchange_index(struct http_exchange *x)
{
    struct http_head *head = &x->head;
    const char *host;
    lower_names(&x->raw);
    if (!http1_headers_list(&x->raw, &x->list))
        return false;
    // a client's pseudo headers stand before all others
    size_t skipped = 0;
    while (skipped < x->raw.count && x->list[skipped].name[0] == ':')
        skipped++;
    head->headers = x->list + skipped;
    head->header_count = x->raw.count - skipped;
    if (head->authority.len == 0 && (host = http_exchange_header(x, "host", NULL)) != NULL)
        head->authority = bytes_from_text(host);
    return true;
}

void http_exchange_split_target(struct http_exchange *x, struct bytes target)
{
    const uint8_t *mark = target.len > 0 ? memchr(target.data, '?', target.len) : NULL;
    size_t path_len = mark != NULL ? (size_t)(mark - target.data) : target.len;
    x->head.path = (struct bytes){target.data, path_len};
    x->head.query = mark != NULL ? (struct bytes){mark + 1, target.len - path_len - 1} : (struct bytes){NULL, 0};
}

// Room for need bytes, as much as the handler grants. Answers 0 or the status of a refusal.
static int make_room(struct http_exchange *x, size_t need)
{
    const struct http_server_handler *h = x->handler;
    if (need <= x->body_capacity)
        return 0;
    size_t capacity = need + need / 2;
    if (capacity > x->max_body)
        capacity = x->max_body;
    if (x->head.content_length >= 0)
        capacity = need;
    if (h->on_reserve != NULL)
        capacity = h->on_reserve(h->arg, x, (struct bytes){x->body, x->body_len}, need);
    if (capacity < need)
        return 503;
    uint8_t *grown = mem_try_realloc(x->body, capacity);
    if (grown == NULL)
        return 503;
    x->body = grown;
    x->body_capacity = capacity;
    return 0;
}

static int begin_body(struct http_exchange *x)
{
    int64_t declared = x->head.content_length;
    if (declared > 0 && (uint64_t)declared > x->max_body)
        return 413;
    return declared > 0 ? make_room(x, (size_t)declared) : 0;
}

static const char *refusal_text(int status)
{
    return status == 413 ? "the request body is larger than the limit" : "there is no memory for the request body now";
}

bool http_exchange_begin(struct http_exchange *x)
{
    const struct http_server_handler *h = x->handler;
    x->held = true;
    h->on_head(h->arg, x, &x->head);
    if (let_go(x))
        return false;
    CHECK(x->taken);
    int status = begin_body(x);
    if (status != 0)
        http_exchange_refuse(x, status, refusal_text(status));
    return status == 0;
}

// Of a stream: what is used makes room.
static void drop_used(struct http_exchange *x)
{
    x->body_len -= x->body_used;
    memmove(x->body, x->body + x->body_used, x->body_len);
    x->body_used = 0;
}

bool http_exchange_add(struct http_exchange *x, struct bytes piece)
{
    if (x->body_used > 0)
        drop_used(x);
    int status = piece.len > x->max_body - x->body_len ? 413 : make_room(x, x->body_len + piece.len);
    if (status != 0) {
        http_exchange_refuse(x, status, refusal_text(status));
        return false;
    }
    if (piece.len > 0)
        memcpy(x->body + x->body_len, piece.data, piece.len);
    x->body_len += piece.len;
    return true;
}

void http_exchange_complete(struct http_exchange *x)
{
    const struct http_server_handler *h = x->handler;
    uint8_t *body = x->body;
    size_t len = x->body_len;
    x->body = NULL;
    x->body_len = x->body_capacity = 0;
    if (len == 0) {
        free(body);
        body = NULL;
    }
    h->on_request(h->arg, x, body, len);
}

size_t http_exchange_feed(struct http_exchange *x, bool ended)
{
    size_t left = x->body_len - x->body_used;
    struct bytes data = {left > 0 ? x->body + x->body_used : NULL, left};
    x->held = true;
    size_t used = x->handler->on_data(x->handler->arg, x, data, ended);
    CHECK(used <= left);
    x->body_used += used;
    (void)let_go(x);
    return used;
}

void http_exchange_drain(struct http_exchange *x)
{
    if (x->handler->on_drain != NULL)
        x->handler->on_drain(x->handler->arg, x);
}

void http_exchange_refuse(struct http_exchange *x, int status, const char *text)
{
    const struct http_server_handler *h = x->handler;
    x->held = true;
    if (h->on_refuse != NULL)
        h->on_refuse(h->arg, x, status, text);
    if (!let_go(x))
        http_exchange_answer_text(x, status, text, NULL, 0);
}

void http_exchange_abort(struct http_exchange *x)
{
    const struct http_server_handler *h = x->handler;
    h->on_abort(h->arg, x);
    http_exchange_destroy(x);
}

void http_exchange_take_body(struct http_exchange *x, size_t max_bytes)
{
    x->taken = true;
    x->max_body = max_bytes;
}

void http_exchange_take_stream(struct http_exchange *x)
{
    CHECK(x->head.version == HTTP_VERSION_2 && x->handler->on_data != NULL && x->handler->on_refuse != NULL);
    http_exchange_take_body(x, HTTP_STREAM_KEPT_BYTES);
    x->streams = true;
}

void http_exchange_set_handler(struct http_exchange *x, const struct http_server_handler *handler)
{
    CHECK(!x->taken);
    x->handler = handler;
}

void http_exchange_send(struct http_exchange *x, const struct http_answer *piece)
{
    struct http_engine *engine = x->engine;
    CHECK(engine->ops->send != NULL && piece->trailer_count == 0);
    engine->ops->send(engine, x, piece);
    if (piece->body != NULL)
        buf_fini(piece->body);
    free_head(x);
    x->head =
        (struct http_head){.version = x->head.version, .tls = x->head.tls, .content_length = -1, .peer = x->head.peer};
    engine->link->wake(engine->link);
}

void http_exchange_answer(struct http_exchange *x, const struct http_answer *answer)
{
    struct http_engine *engine = x->engine;
    CHECK(answer->status >= 200 && answer->status <= 599);
    engine->ops->answer(engine, x, answer);
    if (answer->body != NULL)
        buf_fini(answer->body);
    http_exchange_destroy(x);
    engine->link->wake(engine->link);
}

void http_exchange_answer_text(struct http_exchange *x, int status, const char *text, const struct http_header *extra,
                               size_t extra_count)
{
    struct http_header headers[8] = {{"content-type", "text/plain; charset=utf-8"}};
    struct buf body;
    CHECK(extra_count < COUNT_OF(headers));
    for (size_t i = 0; i < extra_count; i++)
        headers[i + 1] = extra[i];
    buf_init(&body, TEXT_ANSWER_MAX_BYTES);
    buf_add_format(&body, "%s\n", text);
    struct http_answer answer = {.status = status, .headers = headers, .header_count = extra_count + 1, .body = &body};
    http_exchange_answer(x, &answer);
}

const struct http_head *http_exchange_head(const struct http_exchange *x)
{
    return &x->head;
}

const char *http_exchange_header(const struct http_exchange *x, const char *name, size_t *count_out)
{
    const char *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < x->head.header_count; i++)
        if (strcmp(x->head.headers[i].name, name) == 0 && count++ == 0)
            first = x->head.headers[i].value;
    if (count_out != NULL)
        *count_out = count;
    return first;
}

void http_exchange_set_context(struct http_exchange *x, void *context)
{
    x->context = context;
}

void *http_exchange_context(const struct http_exchange *x)
{
    return x->context;
}

// What is ours, and what belongs to a connection (RFC 9113 §8.2.2).
static const char *const own_headers[] = {"connection",       "content-length",    "date",   "keep-alive",
                                          "proxy-connection", "transfer-encoding", "upgrade"};

bool http_answer_takes(const struct http_header *header)
{
    for (size_t i = 0; i < COUNT_OF(own_headers); i++)
        if (strcasecmp(header->name, own_headers[i]) == 0)
            return false;
    return http_header_valid(header->name, header->value);
}

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {200, "OK"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

const char *http_reason(int status)
{
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Status";
}
