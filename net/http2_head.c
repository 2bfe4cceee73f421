// SPDX-License-Identifier: Apache-2.0
#include "net/http2_head.h"

#include "base/mem.h"

#include <stdio.h>
#include <strings.h>

enum { PSEUDO_HEADERS = 4, OWN_HEADERS = 2 };

static nghttp2_nv make_nv(const char *name, struct bytes value, bool secret)
{
    return (nghttp2_nv){.name = (uint8_t *)name,
                        .namelen = strlen(name),
                        .value = (uint8_t *)value.data,
                        .valuelen = value.len,
                        .flags = secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE};
}

// Of one connection (RFC 9113 §8.2.2), or written by us.
static bool is_dropped(const struct http_header *h)
{
    static const char *const names[] = {
        "Host", "Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "Content-Length"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcasecmp(h->name, names[i]) == 0)
            return true;
    return strcasecmp(h->name, "TE") == 0 && strcasecmp(h->value, "trailers") != 0;
}

// Must not come to lie in a table that is compared with later values (RFC 7541 §7.1).
static bool is_secret(const char *name)
{
    return strcasecmp(name, "Authorization") == 0 || strcasecmp(name, "Cookie") == 0;
}

static const char *given(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (strcasecmp(request->headers[i].name, name) == 0)
            return request->headers[i].value;
    return NULL;
}

static bool may_have_body(const char *method)
{
    return strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0;
}

static struct bytes make_path(const struct url *url, struct http2_head *head)
{
    struct bytes target = url->target;
    if (target.len > 0 && target.data[0] == '/')
        return target;
    head->path = mem_alloc(target.len + 2);
    head->path[0] = '/';
    if (target.len > 0)
        memcpy(head->path + 1, target.data, target.len);
    return (struct bytes){(const uint8_t *)head->path, target.len + 1};
}

void http2_head_init(struct http2_head *head, const struct http2_request *how, const struct http_request *request)
{
    *head = (struct http2_head){0};
    nghttp2_nv *nv = head->nv = mem_alloc((request->header_count + PSEUDO_HEADERS + OWN_HEADERS) * sizeof *nv);
    size_t n = 0, length = request->body_prefix.len + request->body.len;
    const char *host = given(request, "Host");
    if (host == NULL)
        host = url_authority(how->url, false, head->authority);
    nv[n++] = make_nv(":method", bytes_from_text(request->method), false);
    nv[n++] = make_nv(":scheme", bytes_from_text(how->url->tls ? "https" : "http"), false);
    nv[n++] = make_nv(":authority", bytes_from_text(host), false);
    nv[n++] = make_nv(":path", make_path(how->url, head), false);
    if (given(request, "User-Agent") == NULL)
        nv[n++] = make_nv("user-agent", bytes_from_text(how->user_agent), false);
    if (length > 0 || may_have_body(request->method)) {
        snprintf(head->length, sizeof head->length, "%zu", length);
        nv[n++] = make_nv("content-length", bytes_from_text(head->length), true);
    }
    for (size_t i = 0; i < request->header_count; i++) {
        const struct http_header *h = &request->headers[i];
        if (!is_dropped(h))
            nv[n++] = make_nv(h->name, bytes_from_text(h->value), is_secret(h->name));
    }
    head->count = n;
}

void http2_head_fini(struct http2_head *head)
{
    free(head->nv);
    free(head->path);
}
