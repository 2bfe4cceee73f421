// SPDX-License-Identifier: Apache-2.0
#include "net/http1_client.h"

#include "base/mem.h"
#include "net/http_content.h"

#include <inttypes.h>
#include <strings.h>

static struct http1_response *of(llhttp_t *p)
{
    return p->data;
}

static int refuse(struct http1_response *r, enum err_code code, const char *what)
{
    err_set(&r->error, code, "%s", what);
    return HPE_USER;
}

static int on_status(llhttp_t *p, const char *at, size_t len)
{
    (void)at;
    return http1_headers_count_bytes(&of(p)->headers, len) ? HPE_OK : HPE_USER;
}

static int refuse_length(struct http1_response *r, uint64_t length)
{
    err_set(&r->error, ERR_LIMIT, "the response's body has %" PRIu64 " bytes, allowed are %zu", length,
            r->body.max_bytes);
    return HPE_USER;
}

static bool is_interim(const llhttp_t *p)
{
    return p->status_code / 100 == 1;
}

// Whatever length these claim (RFC 9112 §6.3).
static bool has_no_body(const struct http1_response *r, const llhttp_t *p)
{
    return r->no_body || is_interim(p) || p->status_code == 204 || p->status_code == 304;
}

static bool list_headers(struct http1_response *r)
{
    bool ok = r->list != NULL || http1_headers_list(&r->headers, &r->list);
    if (!ok)
        err_set(&r->error, ERR_MEMORY, "out of memory");
    return ok;
}

static int feed_sink(struct http1_response *r, struct bytes data)
{
    return r->sink.take(r->sink.arg, data) ? HPE_OK : refuse(r, ERR_CANCELLED, "nobody wants the rest of the response");
}

static int begin_stream(struct http1_response *r)
{
    r->streams = true;
    if (!http_content_is_plain(&r->headers))
        return refuse(r, ERR_UNSUPPORTED, "the response is compressed, although nobody asked for that");
    return list_headers(r) ? feed_sink(r, (struct bytes){0}) : HPE_USER;
}

static int on_headers_complete(llhttp_t *p)
{
    struct http1_response *r = of(p);
    const char *coding;
    size_t codings = http1_headers_find(&r->headers, "Transfer-Encoding", &coding);
    r->headers.complete = true;
    if (p->http_major != 1 || p->http_minor > 1 || p->status_code < 100 || p->status_code > 999)
        return refuse(r, ERR_INVALID, "the peer does not speak HTTP/1.1");
    if (p->status_code == 101)
        return refuse(r, ERR_INVALID, "the peer switched protocols without being asked");
    if (codings > 0 && (codings > 1 || strcasecmp(coding, "chunked") != 0 || p->http_minor == 0))
        return refuse(r, ERR_UNSUPPORTED, "the response has a Transfer-Encoding other than chunked");
    if (!is_interim(p))
        r->status = p->status_code;
    if (has_no_body(r, p))
        return 1;
    r->end_is_fine = llhttp_message_needs_eof(p) != 0;
    if (http_sink_wants(&r->sink, r->status))
        return begin_stream(r);
    if ((p->flags & F_CONTENT_LENGTH) != 0) {
        if (p->content_length > r->body.max_bytes)
            return refuse_length(r, p->content_length);
        buf_reserve(&r->body, (size_t)p->content_length);
    }
    return HPE_OK;
}

static int on_body(llhttp_t *p, const char *at, size_t len)
{
    struct http1_response *r = of(p);
    if (r->streams)
        return feed_sink(r, (struct bytes){(const uint8_t *)at, len});
    buf_add(&r->body, at, len);
    if (buf_ok(&r->body))
        return HPE_OK;
    if (r->body.too_large)
        return refuse_length(r, (uint64_t)r->body.len + len);
    return refuse(r, ERR_MEMORY, "out of memory");
}

static int on_message_complete(llhttp_t *p)
{
    of(p)->keep_alive = llhttp_should_keep_alive(p) != 0;
    return HPE_PAUSED;
}

static void start_parser(struct http1_response *r)
{
    llhttp_init(&r->parser, HTTP_RESPONSE, &r->settings);
    r->parser.data = r;
}

void http1_response_init(struct http1_response *r, bool no_body, size_t max_body_bytes)
{
    *r = (struct http1_response){.no_body = no_body};
    http1_headers_init(&r->headers);
    buf_init(&r->body, max_body_bytes);
    llhttp_settings_init(&r->settings);
    http1_headers_listen(&r->settings);
    r->settings.on_status = on_status;
    r->settings.on_headers_complete = on_headers_complete;
    r->settings.on_body = on_body;
    r->settings.on_message_complete = on_message_complete;
    start_parser(r);
}

void http1_response_fini(struct http1_response *r)
{
    http1_headers_fini(&r->headers);
    buf_fini(&r->body);
    free(r->list);
    r->list = NULL;
}

static enum http1_state complete(struct http1_response *r)
{
    bool ok = list_headers(r) && http_content_decode(&r->headers, &r->body, &r->error);
    r->state = ok ? HTTP1_COMPLETE : HTTP1_FAILED;
    return r->state;
}

static enum http1_state fail(struct http1_response *r)
{
    if (r->error.code == ERR_OK)
        http1_headers_explain(&r->headers, &r->error);
    if (r->error.code == ERR_OK)
        err_set(&r->error, ERR_INVALID, "the peer's answer is not HTTP/1.1 (%s)", llhttp_get_error_reason(&r->parser));
    r->state = HTTP1_FAILED;
    return r->state;
}

enum http1_state http1_response_feed(struct http1_response *r, struct bytes received)
{
    r->any_byte = r->any_byte || received.len > 0;
    if (r->state != HTTP1_MORE)
        return r->state;
    const char *at = (const char *)received.data, *end = at + received.len;
    while (at < end) {
        llhttp_errno_t code = llhttp_execute(&r->parser, at, (size_t)(end - at));
        if (code == HPE_OK)
            return HTTP1_MORE;
        if (code != HPE_PAUSED)
            return fail(r);
        at = llhttp_get_error_pos(&r->parser);
        if (!is_interim(&r->parser)) {
            r->keep_alive = r->keep_alive && at == end;
            return complete(r);
        }
        http1_headers_clear(&r->headers);
        if (!http1_headers_count_bytes(&r->headers, 16))
            return fail(r);
        start_parser(r);
    }
    return HTTP1_MORE;
}

enum http1_state http1_response_end(struct http1_response *r)
{
    if (r->state != HTTP1_MORE)
        return r->state;
    r->keep_alive = false;
    if (r->end_is_fine)
        return complete(r);
    err_set(&r->error, ERR_IO, "connection closed before the response was complete");
    r->state = HTTP1_FAILED;
    return r->state;
}

void http1_response_view(const struct http1_response *r, struct http_response *out)
{
    *out = (struct http_response){.outcome = HTTP_ANSWERED,
                                  .status = r->parser.status_code,
                                  .headers = r->list,
                                  .header_count = r->headers.count,
                                  .body = buf_bytes(&r->body)};
}
