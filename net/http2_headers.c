// SPDX-License-Identifier: Apache-2.0
#include "net/http2_headers.h"

#include "base/mem.h"
#include "net/http_engine.h"

#include <inttypes.h>
#include <stdio.h>

enum { OWN_MAX = 3 };

static char *put(struct http2_headers *h, char *at, const char *name, const char *value)
{
    size_t name_len = strlen(name), value_len = strlen(value);
    uint8_t *name_at = (uint8_t *)at, *value_at = name_at + name_len;
    for (size_t i = 0; i < name_len; i++)
        name_at[i] = (uint8_t)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 'a' - 'A' : name[i]);
    if (value_len > 0)
        memcpy(value_at, value, value_len);
    h->nv[h->count++] = (nghttp2_nv){name_at, value_at, name_len, value_len, NGHTTP2_NV_FLAG_NONE};
    return at + name_len + value_len;
}

static bool init(struct http2_headers *h, const struct http_header *own, size_t own_count,
                 const struct http_header *headers, size_t count)
{
    size_t size = 1;
    for (size_t i = 0; i < own_count; i++)
        size += strlen(own[i].name) + strlen(own[i].value);
    for (size_t i = 0; i < count; i++)
        size += strlen(headers[i].name) + strlen(headers[i].value);
    *h = (struct http2_headers){.nv = mem_try_array(own_count + count + 1, sizeof *h->nv), .text = mem_try_alloc(size)};
    if (h->nv == NULL || h->text == NULL) {
        http2_headers_fini(h);
        return false;
    }
    char *at = h->text;
    for (size_t i = 0; i < own_count; i++)
        at = put(h, at, own[i].name, own[i].value);
    for (size_t i = 0; i < count; i++)
        if (http_answer_takes(&headers[i]))
            at = put(h, at, headers[i].name, headers[i].value);
    return true;
}

bool http2_headers_init(struct http2_headers *h, const struct http_header *headers, size_t count)
{
    *h = (struct http2_headers){0};
    return count == 0 || init(h, NULL, 0, headers, count);
}

bool http2_headers_init_answer(struct http2_headers *h, const struct http_answer *answer, int64_t length,
                               const char *date)
{
    char status[16], length_text[24];
    struct http_header own[OWN_MAX] = {{":status", status}, {"date", date}};
    size_t own_count = 2;
    snprintf(status, sizeof status, "%d", answer->status);
    if (length >= 0) {
        snprintf(length_text, sizeof length_text, "%" PRId64, length);
        own[own_count++] = (struct http_header){"content-length", length_text};
    }
    return init(h, own, own_count, answer->headers, answer->header_count);
}

void http2_headers_fini(struct http2_headers *h)
{
    free(h->nv);
    free(h->text);
    *h = (struct http2_headers){0};
}
