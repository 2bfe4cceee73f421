// SPDX-License-Identifier: Apache-2.0
#include "net/grpc_client.h"

#include "base/base64.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/url.h"

#include <stdio.h>
#include <strings.h>

enum { OWN_HEADERS = 5, DEFAULT_TIMEOUT_SECONDS = 30, MESSAGE_MAX_BYTES = 64 << 10 };

struct grpc_call {
    struct http_call *http;
    uint8_t prefix[GRPC_PREFIX_BYTES];
    size_t max_response_bytes;
    struct buf message;
    uint8_t *details;
    void (*on_done)(void *arg, const struct grpc_response *response);
    void *arg;
};

// PROTOCOL-HTTP2.md, "HTTP2 Transport Mapping", errors.
static enum grpc_status status_of_reset(int64_t code)
{
    static const enum grpc_status statuses[] = {
        [0] = GRPC_INTERNAL,           [1] = GRPC_INTERNAL, [2] = GRPC_INTERNAL,  [3] = GRPC_INTERNAL,
        [4] = GRPC_INTERNAL,           [5] = GRPC_UNKNOWN,  [6] = GRPC_INTERNAL,  [7] = GRPC_UNAVAILABLE,
        [8] = GRPC_CANCELLED,          [9] = GRPC_INTERNAL, [10] = GRPC_INTERNAL, [11] = GRPC_RESOURCE_EXHAUSTED,
        [12] = GRPC_PERMISSION_DENIED,
    };
    if (code == HTTP2_NO_RESET)
        return GRPC_UNAVAILABLE;
    return code < (int64_t)COUNT_OF(statuses) ? statuses[code] : GRPC_UNKNOWN;
}

static enum grpc_status status_of_failure(const struct http_response *r)
{
    switch (r->outcome) {
    case HTTP_CANCELLED:
        return GRPC_CANCELLED;
    case HTTP_TIMED_OUT:
        return GRPC_DEADLINE_EXCEEDED;
    case HTTP_LOST:
        return r->may_have_been_processed ? status_of_reset(r->reset_code) : GRPC_UNAVAILABLE;
    case HTTP_ANSWERED:
    case HTTP_BAD_RESPONSE:
    case HTTP_CONNECT_FAILED:
        break;
    }
    if (r->error_code == ERR_LIMIT)
        return GRPC_RESOURCE_EXHAUSTED;
    return r->outcome == HTTP_CONNECT_FAILED ? GRPC_UNAVAILABLE : GRPC_INTERNAL;
}

static const char *find(const struct http_header *headers, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(headers[i].name, name) == 0)
            return headers[i].value;
    return NULL;
}

// In the trailers, or in the head of an answer that is nothing else.
static const char *trailer(const struct http_response *r, const char *name)
{
    if (r->trailer_count > 0 || r->body.len > 0)
        return find(r->trailers, r->trailer_count, name);
    return find(r->headers, r->header_count, name);
}

static bool is_grpc(const struct http_response *r)
{
    const char *type = http_response_header(r, "content-type");
    static const char name[] = "application/grpc";
    if (type == NULL || strncasecmp(type, name, sizeof name - 1) != 0)
        return false;
    char next = type[sizeof name - 1];
    return next == '\0' || next == '+' || next == ';' || next == ' ';
}

static void take_peers_message(struct grpc_call *call, const struct http_response *r)
{
    const char *message = trailer(r, "grpc-message");
    if (message != NULL)
        grpc_percent_decode(bytes_from_text(message), &call->message);
}

static void take_details(struct grpc_call *call, const struct http_response *r, struct grpc_response *out)
{
    const char *text = trailer(r, "grpc-status-details-bin");
    if (text == NULL || *text == '\0')
        return;
    call->details = mem_try_alloc(base64_decoded_max(strlen(text)));
    size_t len = 0;
    if (call->details != NULL && base64_decode(bytes_from_text(text), call->details, &len))
        out->details = (struct bytes){call->details, len};
}

static void take_body(struct grpc_call *call, const struct http_response *r, struct grpc_response *out)
{
    struct grpc_message message;
    struct err e = {0};
    const char *encoding = http_response_header(r, "grpc-encoding");
    enum err_code code = grpc_message_parse(r->body, call->max_response_bytes, &message, &e);
    if (code == ERR_OK && message.compressed && (encoding == NULL || strcasecmp(encoding, "identity") == 0))
        code = err_set(&e, ERR_INVALID, "the answer is compressed, and does not say with what");
    if (code != ERR_OK) {
        out->status = code == ERR_LIMIT ? GRPC_RESOURCE_EXHAUSTED : GRPC_INTERNAL;
        out->is_peers_status = false;
        buf_clear(&call->message);
        buf_add_text(&call->message, e.text);
        return;
    }
    out->body = message.payload;
    out->body_encoding = message.compressed ? encoding : NULL;
}

// http-grpc-status-mapping.md: what answered was not a gRPC service.
static void judge_without_status(struct grpc_call *call, const struct http_response *r, struct grpc_response *out)
{
    out->status = r->status == 200 ? GRPC_UNKNOWN : grpc_status_of_http(r->status);
    if (r->status != 200)
        buf_add_format(&call->message, "no gRPC answer, but HTTP status %d", r->status);
    else
        buf_add_text(&call->message, is_grpc(r) ? "the answer has no grpc-status" : "the answer is not gRPC");
}

static void judge_answer(struct grpc_call *call, const struct http_response *r, struct grpc_response *out)
{
    const char *status = trailer(r, "grpc-status");
    if (status == NULL || !grpc_status_parse(status, &out->status)) {
        judge_without_status(call, r, out);
        return;
    }
    out->is_peers_status = true;
    take_peers_message(call, r);
    take_details(call, r, out);
    if (out->status == GRPC_OK)
        take_body(call, r, out);
}

static void on_http_done(void *arg, const struct http_response *r)
{
    struct grpc_call *call = arg;
    struct grpc_response out = {
        .outcome = r->outcome, .may_have_been_processed = r->may_have_been_processed, .http = r};
    if (r->outcome == HTTP_ANSWERED) {
        judge_answer(call, r, &out);
    } else {
        out.status = status_of_failure(r);
        buf_add_text(&call->message, r->error);
    }
    buf_add_byte(&call->message, '\0');
    out.message = buf_ok(&call->message) ? (const char *)call->message.data : "";
    call->on_done(call->arg, &out);
    buf_fini(&call->message);
    free(call->details);
    free(call);
}

static size_t fill_headers(struct http_header *headers, const struct grpc_request *request, const char *timeout)
{
    size_t n = 0;
    headers[n++] = (struct http_header){"te", "trailers"};
    headers[n++] = (struct http_header){"content-type", "application/grpc"};
    headers[n++] = (struct http_header){"grpc-timeout", timeout};
    if (request->encoding != NULL)
        headers[n++] = (struct http_header){"grpc-encoding", request->encoding};
    headers[n++] = (struct http_header){"grpc-accept-encoding",
                                        request->accept_encoding != NULL ? request->accept_encoding : "identity"};
    for (size_t i = 0; i < request->metadata_count; i++)
        headers[n++] = request->metadata[i];
    return n;
}

static char *make_url(const struct grpc_request *request)
{
    const char *host = strstr(request->origin, "://");
    size_t scheme = host != NULL ? (size_t)(host - request->origin) + 3 : 0;
    size_t len = scheme + strcspn(request->origin + scheme, "/?"), size = len + strlen(request->path) + 1;
    char *url = mem_alloc(size);
    snprintf(url, size, "%.*s%s", (int)len, request->origin, request->path);
    return url;
}

struct grpc_call *grpc_client_send(struct http_client *c, const struct grpc_request *request,
                                   void (*on_done)(void *arg, const struct grpc_response *response), void *arg)
{
    CHECK(request->message.len <= UINT32_MAX && request->path[0] == '/');
    struct grpc_call *call = MEM_NEW(struct grpc_call);
    struct http_header *headers = mem_alloc((request->metadata_count + OWN_HEADERS) * sizeof *headers);
    int64_t timeout = request->timeout_nanos > 0 ? request->timeout_nanos : DEFAULT_TIMEOUT_SECONDS * 1000000000LL;
    char timeout_text[GRPC_TIMEOUT_SIZE], *url = make_url(request);
    grpc_timeout_format(timeout, timeout_text);
    call->on_done = on_done;
    call->arg = arg;
    call->max_response_bytes = request->max_response_bytes ? request->max_response_bytes : LIMIT_HTTP_RESPONSE_BYTES;
    buf_init(&call->message, MESSAGE_MAX_BYTES);
    grpc_prefix_write(request->encoding != NULL, (uint32_t)request->message.len, call->prefix);
    struct http_request http = {
        .method = "POST",
        .url = url,
        .headers = headers,
        .header_count = fill_headers(headers, request, timeout_text),
        .body_prefix = {call->prefix, GRPC_PREFIX_BYTES},
        .body = request->message,
        .timeout_nanos = timeout,
        .max_response_bytes = call->max_response_bytes + GRPC_PREFIX_BYTES,
        .wait_for_ready = request->wait_for_ready,
    };
    call->http = http_client_send(c, &http, on_http_done, call);
    free(headers);
    free(url);
    return call;
}

void grpc_call_cancel(struct grpc_call *call)
{
    http_call_cancel(call->http);
}
