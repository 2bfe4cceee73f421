// SPDX-License-Identifier: Apache-2.0
#include "net/http1_client.h"

#include "base/limits.h"
#include "base/mem.h"

#include <inttypes.h>
#include <libdeflate.h>
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

static int headers_result(struct http1_response *r, bool ok)
{
    if (ok)
        return HPE_OK;
    if (r->headers.no_memory)
        return refuse(r, ERR_MEMORY, "out of memory");
    err_set(&r->error, ERR_LIMIT, "the response's headers are larger than %d bytes", LIMIT_HTTP_HEADER_BYTES);
    return HPE_USER;
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
    if ((p->flags & F_CONTENT_LENGTH) != 0) {
        if (p->content_length > r->body.max_bytes)
            return refuse_length(r, p->content_length);
        buf_reserve(&r->body, (size_t)p->content_length);
    }
    r->end_is_fine = llhttp_message_needs_eof(p) != 0;
    return HPE_OK;
}

static int on_body(llhttp_t *p, const char *at, size_t len)
{
    struct http1_response *r = of(p);
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
    r->settings.on_status = on_uncounted;
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

void http1_response_fini(struct http1_response *r)
{
    http1_headers_fini(&r->headers);
    buf_fini(&r->body);
    free(r->list);
    r->list = NULL;
}

// Room for more than there was, at most the limit's.
static bool grow(struct buf *out)
{
    size_t room = out->max_bytes - out->len, more = 2 * out->capacity - out->len + 4096;
    if (out->capacity >= out->max_bytes)
        out->failed = out->too_large = true;
    return buf_reserve(out, more < room ? more : room);
}

// Inflates all members behind each other; false when damaged, or larger than out may be.
static bool inflate(struct bytes in, struct buf *out)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    CHECK(d != NULL);
    bool ok = grow(out);
    while (ok && in.len > 0) {
        size_t used = 0, written = 0;
        enum libdeflate_result result = libdeflate_gzip_decompress_ex(d, in.data, in.len, out->data + out->len,
                                                                      out->capacity - out->len, &used, &written);
        if (result == LIBDEFLATE_SUCCESS) {
            in = (struct bytes){in.data + used, in.len - used};
            out->len += written;
        } else {
            ok = result == LIBDEFLATE_INSUFFICIENT_SPACE && grow(out);
        }
    }
    libdeflate_free_decompressor(d);
    return ok;
}

static bool decode_content(struct http1_response *r)
{
    const char *coding;
    if (http1_headers_find(&r->headers, "Content-Encoding", &coding) != 1 || r->body.len == 0 ||
        (strcasecmp(coding, "gzip") != 0 && strcasecmp(coding, "x-gzip") != 0))
        return true;
    struct buf plain;
    buf_init(&plain, r->body.max_bytes);
    if (inflate(buf_bytes(&r->body), &plain)) {
        buf_fini(&r->body);
        r->body = plain;
        return true;
    }
    if (plain.too_large)
        err_set(&r->error, ERR_LIMIT, "the response's body inflates to more than %zu bytes", plain.max_bytes);
    else if (plain.failed)
        err_set(&r->error, ERR_MEMORY, "out of memory");
    else
        err_set(&r->error, ERR_INVALID, "the response's body is not the gzip it claims to be");
    buf_fini(&plain);
    return false;
}

static bool list_headers(struct http1_response *r)
{
    r->list = mem_try_array(r->headers.count, sizeof *r->list);
    if (r->list == NULL) {
        err_set(&r->error, ERR_MEMORY, "out of memory");
        return false;
    }
    for (size_t i = 0; i < r->headers.count; i++)
        r->list[i] =
            (struct http_header){http1_headers_name_at(&r->headers, i), http1_headers_value_at(&r->headers, i)};
    return true;
}

static enum http1_state complete(struct http1_response *r)
{
    r->state = list_headers(r) && decode_content(r) ? HTTP1_COMPLETE : HTTP1_FAILED;
    return r->state;
}

static enum http1_state fail(struct http1_response *r)
{
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
        if (headers_result(r, http1_headers_count_bytes(&r->headers, 16)) != HPE_OK)
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
