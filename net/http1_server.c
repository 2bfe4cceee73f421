// SPDX-License-Identifier: Apache-2.0
#include "net/http1_server.h"

#include "base/limits.h"

#include <strings.h>

enum { REQUEST_BODY_MAX_BYTES = 64 << 10 };

static struct http1_request *of(llhttp_t *p)
{
    return p->data;
}

static int refuse(struct http1_request *r, int status, const char *text)
{
    r->refusal = status;
    r->refusal_text = text;
    return HPE_USER;
}

static int headers_result(struct http1_request *r, bool ok)
{
    if (ok)
        return HPE_OK;
    return r->headers.no_memory ? refuse(r, 503, "out of memory") : refuse(r, 431, "the headers are too large");
}

static int on_url(llhttp_t *p, const char *at, size_t len)
{
    struct http1_request *r = of(p);
    if (!http1_headers_count_bytes(&r->headers, len))
        return refuse(r, 414, "the request target is too long");
    buf_add(&r->target, at, len);
    return headers_result(r, buf_ok(&r->target));
}

static int on_header_field(llhttp_t *p, const char *at, size_t len)
{
    return headers_result(of(p), http1_headers_field(&of(p)->headers, at, len));
}

static int on_header_value(llhttp_t *p, const char *at, size_t len)
{
    return headers_result(of(p), http1_headers_value(&of(p)->headers, at, len));
}

static int on_header_value_complete(llhttp_t *p)
{
    return headers_result(of(p), http1_headers_value_end(&of(p)->headers));
}

static int on_uncounted(llhttp_t *p, const char *at, size_t len)
{
    (void)at;
    return headers_result(of(p), http1_headers_count_bytes(&of(p)->headers, len));
}

static int check_framing(struct http1_request *r, const llhttp_t *p)
{
    const char *value;
    size_t hosts = http1_headers_find(&r->headers, "Host", &value);
    if (hosts > 1 || (hosts == 0 && p->http_minor == 1))
        return refuse(r, 400, "exactly one Host header is needed");
    size_t codings = http1_headers_find(&r->headers, "Transfer-Encoding", &value);
    if (codings > 0 && p->http_minor == 0)
        return refuse(r, 400, "Transfer-Encoding needs HTTP/1.1");
    if (codings > 1 || (codings == 1 && strcasecmp(value, "chunked") != 0))
        return refuse(r, 501, "only the transfer coding chunked is known");
    if ((p->flags & F_CONTENT_LENGTH) != 0 && p->content_length > REQUEST_BODY_MAX_BYTES)
        return refuse(r, 413, "the request body is larger than 65536 bytes");
    return HPE_OK;
}

static int on_headers_complete(llhttp_t *p)
{
    struct http1_request *r = of(p);
    const char *expect;
    r->headers.complete = true;
    if (p->http_major != 1 || p->http_minor > 1)
        return refuse(r, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    if (r->target.len == 0 || r->target.data[0] != '/')
        return refuse(r, 400, "the request target must begin with /");
    int code = check_framing(r, p);
    http1_headers_find(&r->headers, "Expect", &expect);
    r->expects_continue = expect != NULL && strcasecmp(expect, "100-continue") == 0 && p->http_minor == 1;
    return code;
}

static int on_body(llhttp_t *p, const char *at, size_t len)
{
    struct http1_request *r = of(p);
    (void)at;
    r->body_bytes += len;
    if (r->body_bytes > REQUEST_BODY_MAX_BYTES)
        return refuse(r, 413, "the request body is larger than 65536 bytes");
    return HPE_OK;
}

static int on_message_complete(llhttp_t *p)
{
    of(p)->keep_alive = llhttp_should_keep_alive(p) != 0 && p->upgrade == 0;
    return HPE_PAUSED;
}

static void start_parser(struct http1_request *r)
{
    llhttp_init(&r->parser, HTTP_REQUEST, &r->settings);
    r->parser.data = r;
}

void http1_request_init(struct http1_request *r)
{
    *r = (struct http1_request){0};
    http1_headers_init(&r->headers);
    buf_init(&r->target, LIMIT_HTTP_HEADER_BYTES);
    llhttp_settings_init(&r->settings);
    r->settings.on_url = on_url;
    r->settings.on_header_field = on_header_field;
    r->settings.on_header_value = on_header_value;
    r->settings.on_header_value_complete = on_header_value_complete;
    r->settings.on_headers_complete = on_headers_complete;
    r->settings.on_chunk_extension_name = on_uncounted;
    r->settings.on_chunk_extension_value = on_uncounted;
    r->settings.on_body = on_body;
    r->settings.on_message_complete = on_message_complete;
    start_parser(r);
}

void http1_request_fini(struct http1_request *r)
{
    http1_headers_fini(&r->headers);
    buf_fini(&r->target);
}

void http1_request_next(struct http1_request *r)
{
    http1_request_fini(r);
    http1_request_init(r);
}

// Whether a line of the head goes on in the next one (RFC 9112 §5.2); the parser joins them silently.
static bool is_folded(struct http1_request *r, struct bytes received)
{
    for (size_t i = 0; i < received.len && !r->head_scanned; i++) {
        uint8_t c = received.data[i];
        if (r->at_line_start && (c == ' ' || c == '\t'))
            return true;
        r->head_scanned = r->at_line_start && c == '\r';
        r->seen_line = r->seen_line || (c != '\r' && c != '\n');
        r->at_line_start = r->seen_line && c == '\n';
    }
    return false;
}

enum http1_state http1_request_feed(struct http1_request *r, struct bytes received, size_t *used_out)
{
    const char *at = (const char *)received.data;
    *used_out = 0;
    if (r->state != HTTP1_MORE || received.len == 0)
        return r->state;
    r->begun = true;
    llhttp_errno_t code = HPE_USER;
    if (is_folded(r, received))
        refuse(r, 400, "a folded header line is obsolete");
    else
        code = llhttp_execute(&r->parser, at, received.len);
    if (code == HPE_OK)
        return HTTP1_MORE;
    if (code == HPE_PAUSED || code == HPE_PAUSED_UPGRADE) {
        *used_out = (size_t)(llhttp_get_error_pos(&r->parser) - at);
        r->state = HTTP1_COMPLETE;
        return r->state;
    }
    if (r->refusal == 0)
        refuse(r, 400, "this is not a valid HTTP/1.1 request");
    r->state = HTTP1_FAILED;
    return r->state;
}

const char *http1_request_method(const struct http1_request *r)
{
    return llhttp_method_name((llhttp_method_t)r->parser.method);
}

const char *http1_reason(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 400:
        return "Bad Request";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 413:
        return "Content Too Large";
    case 414:
        return "URI Too Long";
    case 431:
        return "Request Header Fields Too Large";
    case 500:
        return "Internal Server Error";
    case 501:
        return "Not Implemented";
    case 503:
        return "Service Unavailable";
    case 505:
        return "HTTP Version Not Supported";
    default:
        return "Status";
    }
}
