// SPDX-License-Identifier: Apache-2.0
#include "net/http1_request.h"

#include "base/mem.h"

#include <strings.h>

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

static int on_url(llhttp_t *p, const char *at, size_t len)
{
    struct http1_request *r = of(p);
    if (!http1_headers_count_bytes(&r->headers, len))
        return refuse(r, 414, "the request target is too long");
    buf_add(&r->target, at, len);
    return buf_ok(&r->target) ? HPE_OK : refuse(r, 503, "out of memory");
}

static int check_transfer(struct http1_request *r, const llhttp_t *p)
{
    const char *value;
    size_t codings = http1_headers_find(&r->headers, "Transfer-Encoding", &value);
    if (codings > 0 && p->http_minor == 0)
        return refuse(r, 400, "Transfer-Encoding needs HTTP/1.1");
    if (codings > 1 || (codings == 1 && strcasecmp(value, "chunked") != 0))
        return refuse(r, 501, "only the transfer coding chunked is known");
    if ((p->flags & F_CONTENT_LENGTH) != 0 && p->content_length > INT64_MAX)
        return refuse(r, 413, "the request body is too large");
    bool chunked = codings == 1;
    r->content_length = chunked ? -1 : (p->flags & F_CONTENT_LENGTH) != 0 ? (int64_t)p->content_length : 0;
    r->has_body = r->content_length != 0;
    return HPE_OK;
}

static int check_host(struct http1_request *r, const llhttp_t *p)
{
    const char *value;
    size_t hosts = http1_headers_find(&r->headers, "Host", &value);
    if (hosts > 1 || (hosts == 0 && p->http_minor == 1))
        return refuse(r, 400, "exactly one Host header is needed");
    if (hosts == 1 && strpbrk(value, " \t/?#@,\\") != NULL)
        return refuse(r, 400, "the Host header is not a host");
    return HPE_OK;
}

static bool starts_with(struct bytes text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && strncasecmp((const char *)text.data, prefix, len) == 0;
}

// RFC 9112 §3.2: origin form, absolute form, "*" for OPTIONS.
static int check_target(struct http1_request *r, const llhttp_t *p)
{
    struct bytes t = buf_bytes(&r->target);
    if (p->method == HTTP_CONNECT)
        return refuse(r, 501, "CONNECT: this is not a proxy");
    r->path = t;
    if (t.len > 0 && t.data[0] == '/')
        return HPE_OK;
    if (bytes_equal_text(t, "*") && p->method == HTTP_OPTIONS)
        return HPE_OK;
    size_t at = starts_with(t, "http://") ? 7 : starts_with(t, "https://") ? 8 : 0;
    size_t end = at;
    while (end < t.len && t.data[end] != '/' && t.data[end] != '?')
        end++;
    r->authority = (struct bytes){t.data + at, end - at};
    r->path = end < t.len ? (struct bytes){t.data + end, t.len - end} : BYTES_LITERAL("/");
    if (at == 0 || r->authority.len == 0 || memchr(r->authority.data, '@', r->authority.len) != NULL)
        return refuse(r, 400, "the request target must begin with /");
    return HPE_OK;
}

static int check_expectation(struct http1_request *r, const llhttp_t *p)
{
    const char *value;
    if (http1_headers_find(&r->headers, "Expect", &value) == 0 || p->http_minor == 0)
        return HPE_OK;
    if (strcasecmp(value, "100-continue") != 0)
        return refuse(r, 417, "the only expectation known is 100-continue");
    r->expects_continue = r->has_body;
    return HPE_OK;
}

static int on_headers_complete(llhttp_t *p)
{
    struct http1_request *r = of(p);
    r->headers.complete = true;
    if (p->http_major != 1 || p->http_minor > 1)
        return refuse(r, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    int code = check_host(r, p);
    if (code == HPE_OK)
        code = check_transfer(r, p);
    if (code == HPE_OK)
        code = check_target(r, p);
    if (code == HPE_OK)
        code = check_expectation(r, p);
    if (code != HPE_OK)
        return code;
    p->upgrade = 0; // Upgrade is ignored (RFC 9110 §7.8)
    r->is_old = p->http_minor == 0;
    r->keep_alive = llhttp_should_keep_alive(p) != 0;
    return HPE_PAUSED;
}

static int on_body(llhttp_t *p, const char *at, size_t len)
{
    struct http1_request *r = of(p);
    if (r->on_body != NULL)
        r->on_body(r->arg, (struct bytes){(const uint8_t *)at, len});
    return HPE_OK;
}

static int on_message_complete(llhttp_t *p)
{
    (void)p;
    return HPE_PAUSED;
}

void http1_request_init(struct http1_request *r, size_t max_header_bytes, void (*sink)(void *arg, struct bytes piece),
                        void *arg)
{
    *r = (struct http1_request){.on_body = sink, .arg = arg};
    http1_headers_init(&r->headers);
    http1_headers_limit(&r->headers, max_header_bytes);
    buf_init(&r->target, max_header_bytes);
    llhttp_settings_init(&r->settings);
    http1_headers_listen(&r->settings);
    r->settings.on_url = on_url;
    r->settings.on_headers_complete = on_headers_complete;
    r->settings.on_body = on_body;
    r->settings.on_message_complete = on_message_complete;
    llhttp_init(&r->parser, HTTP_REQUEST, &r->settings);
    r->parser.data = r;
}

void http1_request_fini(struct http1_request *r)
{
    http1_headers_fini(&r->headers);
    buf_fini(&r->target);
}

void http1_request_next(struct http1_request *r)
{
    size_t max_bytes = r->headers.max_bytes;
    http1_request_fini(r);
    http1_request_init(r, max_bytes, r->on_body, r->arg);
}

// What the parser lets pass: a line of the head that goes on in the next one (RFC 9112 §5.2), an LF alone that ends
// the head (§2.2), more than one space between the words of the first line (§3).
static bool is_sloppy(struct http1_request *r, struct bytes received)
{
    for (size_t i = 0; i < received.len && !r->head_scanned; i++) {
        uint8_t c = received.data[i];
        if (r->at_line_start && (c == ' ' || c == '\t'))
            return refuse(r, 400, "a folded header line is obsolete") != 0;
        if (r->at_line_start && c == '\n')
            return refuse(r, 400, "the empty line behind the headers lacks its CR") != 0;
        r->spaces += !r->past_line && c == ' ';
        if (r->spaces > 2)
            return refuse(r, 400, "the request line has a space too many") != 0;
        r->past_line = r->past_line || (r->seen_line && c == '\n');
        r->head_scanned = r->at_line_start && c == '\r';
        r->seen_line = r->seen_line || (c != '\r' && c != '\n');
        r->at_line_start = r->seen_line && c == '\n';
    }
    return false;
}

// Not even a method unknown to the parser: what came is no request line of any version (RFC 9112 §3).
static bool is_nonsense(const struct http1_request *r, struct bytes received)
{
    static const char mark[] = " HTTP/1.";
    return llhttp_get_errno(&r->parser) == HPE_INVALID_METHOD &&
           memmem(received.data, received.len, mark, sizeof mark - 1) == NULL;
}

static enum http1_event bad(struct http1_request *r, struct bytes received)
{
    if (r->refusal == 0 && is_nonsense(r, received))
        refuse(r, HTTP1_NOT_HTTP, "the peer does not speak HTTP/1.1");
    if (r->refusal == 0 && r->headers.no_memory)
        refuse(r, 503, "out of memory");
    else if (r->refusal == 0 && r->headers.too_large)
        refuse(r, 431, "the headers are too large");
    else if (r->refusal == 0)
        refuse(r, 400, "this is not a valid HTTP/1.1 request");
    return HTTP1_REQUEST_BAD;
}

enum http1_event http1_request_feed(struct http1_request *r, struct bytes *received)
{
    const char *at = (const char *)received->data;
    if (r->refusal != 0)
        return HTTP1_REQUEST_BAD;
    if (received->len == 0 && !r->paused)
        return HTTP1_REQUEST_MORE;
    r->begun = true;
    if (is_sloppy(r, *received))
        return HTTP1_REQUEST_BAD;
    bool was_head = r->headers.complete;
    if (r->paused)
        llhttp_resume(&r->parser);
    r->paused = false;
    llhttp_errno_t code = llhttp_execute(&r->parser, at, received->len);
    if (code == HPE_OK) {
        *received = (struct bytes){NULL, 0};
        return HTTP1_REQUEST_MORE;
    }
    if (code != HPE_PAUSED)
        return bad(r, *received);
    size_t used = (size_t)(llhttp_get_error_pos(&r->parser) - at);
    *received = (struct bytes){received->data + used, received->len - used};
    r->paused = true;
    return was_head ? HTTP1_REQUEST_END : HTTP1_REQUEST_HEAD;
}

const char *http1_request_method(const struct http1_request *r)
{
    return llhttp_method_name((llhttp_method_t)r->parser.method);
}
