// SPDX-License-Identifier: Apache-2.0
#include "net/http_attempt.h"

#include "base/limits.h"
#include "base/mem.h"

enum { LINE_BYTES = 64 }; // of a request line or header, beside its texts

static const char *store(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = *at;
    memcpy(copy, text, size);
    *at += size;
    return copy;
}

static size_t texts_size(const struct http_request *request)
{
    size_t size = strlen(request->method) + strlen(request->url) + 2;
    for (size_t i = 0; i < request->header_count; i++)
        size += strlen(request->headers[i].name) + strlen(request->headers[i].value) + 2;
    return size;
}

void http_attempt_init(struct http_attempt *a, const struct http_request *request)
{
    char *at = a->storage = mem_alloc(texts_size(request));
    a->headers = mem_alloc((request->header_count + 1) * sizeof *a->headers);
    a->request = *request;
    a->request.method = store(&at, request->method);
    a->request.url = store(&at, request->url);
    a->request.headers = a->headers;
    for (size_t i = 0; i < request->header_count; i++) {
        CHECK(http_header_valid(request->headers[i].name, request->headers[i].value));
        a->headers[i].name = store(&at, request->headers[i].name);
        a->headers[i].value = store(&at, request->headers[i].value);
    }
    CHECK(url_parse(a->request.url, &a->url, NULL) == ERR_OK && a->url.user_info.data == NULL);
    if (a->request.max_response_bytes == 0)
        a->request.max_response_bytes = LIMIT_HTTP_RESPONSE_BYTES;
}

static void forget_answer(struct http_attempt *a)
{
    http1_response_fini(&a->h1);
    http2_stream_fini(&a->h2);
}

void http_attempt_fini(struct http_attempt *a)
{
    forget_answer(a);
    free(a->headers);
    free(a->storage);
}

void http_attempt_reset(struct http_attempt *a, enum http_protocol spoken)
{
    forget_answer(a);
    a->spoken = spoken;
    http2_stream_init(&a->h2, a->request.max_response_bytes);
    http1_response_init(&a->h1, strcmp(a->request.method, "HEAD") == 0, a->request.max_response_bytes);
    a->h1.sink = a->h2.sink = a->sink;
}

size_t http_attempt_head_bytes(const struct http_attempt *a)
{
    return texts_size(&a->request) + LINE_BYTES * (a->request.header_count + 4);
}

int http_attempt_status(const struct http_attempt *a)
{
    return a->spoken == HTTP_2 ? a->h2.status : http1_response_status(&a->h1);
}

void http_attempt_view(const struct http_attempt *a, struct http_response *out)
{
    if (a->spoken == HTTP_2)
        http2_stream_view(&a->h2, out);
    else
        http1_response_view(&a->h1, out);
}

const struct err *http_attempt_error(const struct http_attempt *a)
{
    return a->spoken == HTTP_2 ? &a->h2.error : &a->h1.error;
}
