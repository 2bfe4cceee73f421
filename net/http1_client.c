// SPDX-License-Identifier: Apache-2.0
#include "net/http1_client.h"

#include <strings.h>

static bool given(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (strcasecmp(request->headers[i].name, name) == 0)
            return true;
    return false;
}

// Framing is ours alone: a caller's length could cut the stream at another place.
static bool is_ours(const char *name)
{
    return strcasecmp(name, "Content-Length") == 0 || strcasecmp(name, "Transfer-Encoding") == 0;
}

static void write_request_line(struct buf *head, const struct http1_request_line *line, const char *method)
{
    char authority[URL_AUTHORITY_MAX];
    struct bytes target = line->url->target;
    buf_add_text(head, method);
    buf_add_byte(head, ' ');
    if (line->absolute_form) {
        buf_add_text(head, "http://");
        buf_add_text(head, url_authority(line->url, false, authority));
    }
    if (target.len == 0 || target.data[0] != '/')
        buf_add_byte(head, '/');
    buf_add(head, target.data, target.len);
    buf_add_text(head, " HTTP/1.1\r\n");
}

static void write_header(struct buf *head, const char *name, const char *value)
{
    buf_add_text(head, name);
    buf_add_text(head, ": ");
    buf_add_text(head, value);
    buf_add_text(head, "\r\n");
}

static bool has_length(const struct http_request *request)
{
    return request->body_prefix.len + request->body.len > 0 ||
           (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0);
}

void http1_request_write(struct buf *head, const struct http1_request_line *line, const struct http_request *request)
{
    char authority[URL_AUTHORITY_MAX];
    write_request_line(head, line, request->method);
    if (!given(request, "Host"))
        write_header(head, "Host", url_authority(line->url, false, authority));
    if (!given(request, "User-Agent"))
        write_header(head, "User-Agent", line->user_agent);
    if (line->proxy_authorization != NULL)
        write_header(head, "Proxy-Authorization", line->proxy_authorization);
    if (has_length(request))
        buf_add_format(head, "Content-Length: %zu\r\n", request->body_prefix.len + request->body.len);
    if (line->close && !given(request, "Connection"))
        write_header(head, "Connection", "close");
    for (size_t i = 0; i < request->header_count; i++)
        if (!is_ours(request->headers[i].name))
            write_header(head, request->headers[i].name, request->headers[i].value);
    buf_add_text(head, "\r\n");
}
