// SPDX-License-Identifier: Apache-2.0
#include "net/connect_protocol.h"

#include "base/clock.h"
#include "base/json_string.h"
#include "base/text.h"
#include "net/grpc_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

enum { ANSWER_MAX_BYTES = 16 << 10, TIMEOUT_DIGITS = 10, HEADERS = 4, WEB_TRAILERS_FLAG = 0x80 };

static const struct connect_call kinds[] = {
    {.framing = CONNECT_UNARY, .content_type = "application/proto"},
    {.framing = CONNECT_UNARY, .content_type = "application/json", .json = true},
    {.framing = CONNECT_GRPC, .content_type = "application/grpc"},
    {.framing = CONNECT_GRPC, .content_type = "application/grpc+proto"},
    {.framing = CONNECT_GRPC, .content_type = "application/grpc+json", .json = true},
    {.framing = CONNECT_GRPC_WEB, .content_type = "application/grpc-web"},
    {.framing = CONNECT_GRPC_WEB, .content_type = "application/grpc-web+proto"},
    {.framing = CONNECT_GRPC_WEB, .content_type = "application/grpc-web+json", .json = true},
};
#define ACCEPT_POST                                                                                                    \
    "application/proto, application/json, application/grpc, application/grpc+proto, application/grpc+json, "           \
    "application/grpc-web, application/grpc-web+proto, application/grpc-web+json"

static const struct {
    const char *name;
    int http_status;
} codes[] = {
    [GRPC_OK] = {"ok", 200},
    [GRPC_CANCELLED] = {"canceled", 499},
    [GRPC_UNKNOWN] = {"unknown", 500},
    [GRPC_INVALID_ARGUMENT] = {"invalid_argument", 400},
    [GRPC_DEADLINE_EXCEEDED] = {"deadline_exceeded", 504},
    [GRPC_NOT_FOUND] = {"not_found", 404},
    [GRPC_ALREADY_EXISTS] = {"already_exists", 409},
    [GRPC_PERMISSION_DENIED] = {"permission_denied", 403},
    [GRPC_RESOURCE_EXHAUSTED] = {"resource_exhausted", 429},
    [GRPC_FAILED_PRECONDITION] = {"failed_precondition", 400},
    [GRPC_ABORTED] = {"aborted", 409},
    [GRPC_OUT_OF_RANGE] = {"out_of_range", 400},
    [GRPC_UNIMPLEMENTED] = {"unimplemented", 501},
    [GRPC_INTERNAL] = {"internal", 500},
    [GRPC_UNAVAILABLE] = {"unavailable", 503},
    [GRPC_DATA_LOSS] = {"data_loss", 500},
    [GRPC_UNAUTHENTICATED] = {"unauthenticated", 401},
};

const char *connect_code_name(enum grpc_status status)
{
    CHECK((size_t)status < COUNT_OF(codes));
    return codes[status].name;
}

int connect_http_status(enum grpc_status status)
{
    CHECK((size_t)status < COUNT_OF(codes));
    return codes[status].http_status;
}

// --- requests ---

// A charset may be said, if it is UTF-8; other parameters mean nothing.
static bool has_other_charset(const char *parameters)
{
    const char *at = strcasestr(parameters, "charset=");
    if (at == NULL)
        return false;
    at += strlen("charset=");
    at += *at == '"';
    return strncasecmp(at, "utf-8", 5) != 0 || strchr("\"; \t", at[5]) == NULL;
}

static const struct connect_call *find_kind(const char *type)
{
    if (type == NULL)
        return NULL;
    size_t len = strcspn(type, "; \t");
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strlen(kinds[i].content_type) == len && strncasecmp(type, kinds[i].content_type, len) == 0)
            return has_other_charset(type + len) ? NULL : &kinds[i];
    return NULL;
}

static const char *find_encoding(const struct http_exchange *x, const struct connect_call *c)
{
    size_t count;
    const char *name =
        http_exchange_header(x, c->framing == CONNECT_UNARY ? "content-encoding" : "grpc-encoding", &count);
    bool is_identity = name == NULL || *name == '\0' || strcasecmp(name, "identity") == 0;
    return count > 1 ? "several encodings" : is_identity ? NULL : name;
}

// At most ten digits of milliseconds.
static bool parse_timeout_ms(const char *text, int64_t *nanos_out)
{
    size_t len = strspn(text, "0123456789");
    int64_t ms;
    if (len > TIMEOUT_DIGITS || text[len] != '\0' || !int64_parse(text, &ms))
        return false;
    *nanos_out = ms * NANOS_PER_MS;
    return true;
}

// NULL, or what is wrong with it.
static const char *read_timeout(const struct http_exchange *x, struct connect_call *c)
{
    bool is_unary = c->framing == CONNECT_UNARY;
    const char *text = http_exchange_header(x, is_unary ? "connect-timeout-ms" : "grpc-timeout", NULL);
    if (text == NULL)
        return NULL;
    if (!(is_unary ? parse_timeout_ms : grpc_timeout_parse)(text, &c->timeout_nanos))
        return is_unary ? "connect-timeout-ms is malformed" : "grpc-timeout is malformed";
    if (c->timeout_nanos == 0)
        c->timeout_nanos = 1; // it has passed
    return NULL;
}

static const char *check_version(const struct http_exchange *x, const struct connect_call *c)
{
    const char *version = http_exchange_header(x, "connect-protocol-version", NULL);
    bool good = c->framing != CONNECT_UNARY || version == NULL || strcmp(version, "1") == 0;
    return good ? NULL : "connect-protocol-version must be 1";
}

static bool refuse_head(struct http_exchange *x)
{
    const struct http_head *head = http_exchange_head(x);
    const struct connect_call *kind = find_kind(http_exchange_header(x, "content-type", NULL));
    if (!bytes_equal_text(head->method, "POST"))
        http_exchange_answer_text(x, 405, "this method needs POST", &(struct http_header){"allow", "POST"}, 1);
    else if (kind == NULL)
        http_exchange_answer_text(x, 415, "unsupported media type, supported: " ACCEPT_POST,
                                  &(struct http_header){"accept-post", ACCEPT_POST}, 1);
    else if (kind->framing == CONNECT_GRPC && head->version == HTTP_VERSION_1_0)
        http_exchange_answer_text(x, 505, "gRPC needs HTTP/1.1 or HTTP/2", NULL, 0);
    else
        return false;
    return true;
}

bool connect_call_begin(struct http_exchange *x, struct connect_call *out)
{
    if (refuse_head(x))
        return false;
    *out = *find_kind(http_exchange_header(x, "content-type", NULL));
    out->encoding = find_encoding(x, out);
    const char *why = check_version(x, out);
    why = why != NULL ? why : read_timeout(x, out);
    if (why != NULL)
        connect_answer(x, out, &(struct connect_answer){.status = GRPC_INVALID_ARGUMENT, .text = why});
    return why == NULL;
}

// --- answers ---

struct answer_head {
    struct http_header items[HEADERS + COUNT_OF(((struct grpc_trailers *)NULL)->items)];
    size_t count;
    char retry_after[24];
};

static void add(struct answer_head *h, const char *name, const char *value)
{
    if (value != NULL)
        h->items[h->count++] = (struct http_header){name, value};
}

static void fill_head(struct answer_head *h, const struct connect_call *c, const struct connect_answer *a)
{
    bool is_unary = c->framing == CONNECT_UNARY;
    h->count = 0;
    add(h, "content-type", is_unary && a->status != GRPC_OK ? "application/json" : c->content_type);
    add(h, is_unary ? "accept-encoding" : "grpc-accept-encoding", a->accept_encoding);
    add(h, "www-authenticate", a->challenge);
    if (a->retry_after_nanos <= 0)
        return;
    int64_t seconds = (a->retry_after_nanos - 1) / NANOS_PER_SECOND + 1;
    snprintf(h->retry_after, sizeof h->retry_after, "%" PRId64, seconds);
    add(h, "retry-after", h->retry_after);
}

static void put_message(const struct connect_call *c, const struct connect_answer *a, struct buf *body)
{
    struct bytes message = c->json && a->message.len == 0 ? BYTES_LITERAL("{}") : a->message;
    if (c->framing == CONNECT_UNARY)
        buf_add(body, message.data, message.len);
    else
        grpc_message_write(message, body);
}

static void answer_unary(struct http_exchange *x, const struct connect_answer *a, struct answer_head *h,
                         struct buf *body)
{
    int status = a->http_status != 0 && a->status != GRPC_OK ? a->http_status : connect_http_status(a->status);
    if (a->status != GRPC_OK) {
        buf_add_format(body, "{\"code\":\"%s\",\"message\":", connect_code_name(a->status));
        json_put_string(body, bytes_from_text(a->text));
        buf_add_byte(body, '}');
    }
    http_exchange_answer(
        x, &(struct http_answer){.status = status, .headers = h->items, .header_count = h->count, .body = body});
}

static void answer_grpc(struct http_exchange *x, const struct grpc_trailers *t, struct answer_head *h, struct buf *body)
{
    http_exchange_answer(x, &(struct http_answer){.status = 200,
                                                  .headers = h->items,
                                                  .header_count = h->count,
                                                  .body = body,
                                                  .trailers = t->items,
                                                  .trailer_count = t->count});
}

static void put_web_trailers(const struct grpc_trailers *t, struct buf *body)
{
    size_t start = body->len;
    buf_add(body, (const uint8_t[GRPC_PREFIX_BYTES]){0}, GRPC_PREFIX_BYTES);
    for (size_t i = 0; i < t->count; i++)
        buf_add_format(body, "%s: %s\r\n", t->items[i].name, t->items[i].value);
    if (!buf_ok(body))
        return;
    grpc_prefix_write(false, (uint32_t)(body->len - start - GRPC_PREFIX_BYTES), body->data + start);
    body->data[start] = WEB_TRAILERS_FLAG;
}

// Trailers without a message stand among the headers.
static void answer_web(struct http_exchange *x, const struct grpc_trailers *t, struct answer_head *h, struct buf *body)
{
    if (body->len > 0)
        put_web_trailers(t, body);
    else
        for (size_t i = 0; i < t->count; i++)
            add(h, t->items[i].name, t->items[i].value);
    http_exchange_answer(
        x, &(struct http_answer){.status = 200, .headers = h->items, .header_count = h->count, .body = body});
}

void connect_answer(struct http_exchange *x, const struct connect_call *c, const struct connect_answer *a)
{
    struct answer_head h;
    struct grpc_trailers trailers;
    struct buf body;
    fill_head(&h, c, a);
    buf_init(&body, a->message.len + ANSWER_MAX_BYTES);
    if (a->status == GRPC_OK)
        put_message(c, a, &body);
    grpc_trailers_init(&trailers, a->status, a->text, a->details);
    if (c->framing == CONNECT_UNARY)
        answer_unary(x, a, &h, &body);
    else
        (c->framing == CONNECT_GRPC ? answer_grpc : answer_web)(x, &trailers, &h, &body);
    grpc_trailers_fini(&trailers);
    buf_fini(&body);
}
