// SPDX-License-Identifier: Apache-2.0
#include "net/http1_headers.h"

#include "base/limits.h"
#include "base/mem.h"

#include <strings.h>

// What ": " and CR LF add to each header on the wire, so that many empty ones are bounded too.
enum { HEADER_OVERHEAD_BYTES = 4 };

void http1_headers_init(struct http1_headers *h)
{
    *h = (struct http1_headers){0};
    http1_headers_limit(h, LIMIT_HTTP_HEADER_BYTES);
}

void http1_headers_limit(struct http1_headers *h, size_t max_bytes)
{
    h->max_bytes = max_bytes;
    // every name and value is terminated
    buf_init(&h->text, 2 * max_bytes);
}

void http1_headers_fini(struct http1_headers *h)
{
    buf_fini(&h->text);
    free(h->places);
    http1_headers_init(h);
}

void http1_headers_clear(struct http1_headers *h)
{
    buf_clear(&h->text);
    h->count = 0;
    h->in_value = h->complete = false;
}

bool http1_headers_count_bytes(struct http1_headers *h, size_t len)
{
    if (len > h->max_bytes - h->seen_bytes) {
        h->too_large = true;
        return false;
    }
    h->seen_bytes += len;
    return true;
}

static bool keep(struct http1_headers *h, const char *piece, size_t len)
{
    buf_add(&h->text, piece, len);
    if (!buf_ok(&h->text))
        h->no_memory = true;
    return buf_ok(&h->text);
}

static bool begin_header(struct http1_headers *h)
{
    void *places = h->places;
    if (!http1_headers_count_bytes(h, HEADER_OVERHEAD_BYTES))
        return false;
    if (!mem_try_grow(&places, &h->capacity, h->count + 1, sizeof *h->places, h->max_bytes)) {
        h->no_memory = true;
        return false;
    }
    h->places = places;
    h->places[h->count++] = (struct http1_header_place){h->text.len, 0};
    return true;
}

bool http1_headers_field(struct http1_headers *h, const char *piece, size_t len)
{
    if (!http1_headers_count_bytes(h, len))
        return false;
    if (h->complete)
        return true;
    bool begins = h->count == 0 || h->places[h->count - 1].value != 0;
    return (!begins || begin_header(h)) && keep(h, piece, len);
}

// The name ends where its value begins; a line without a name (": y") is no header.
static bool begin_value(struct http1_headers *h)
{
    if (h->in_value)
        return true;
    if (h->count == 0 || h->places[h->count - 1].value != 0 || h->places[h->count - 1].name == h->text.len ||
        !keep(h, "", 1))
        return false;
    h->places[h->count - 1].value = h->text.len;
    h->in_value = true;
    return true;
}

bool http1_headers_value(struct http1_headers *h, const char *piece, size_t len)
{
    if (!http1_headers_count_bytes(h, len))
        return false;
    return h->complete || (begin_value(h) && keep(h, piece, len));
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

bool http1_headers_value_end(struct http1_headers *h)
{
    if (h->complete)
        return true;
    if (!begin_value(h))
        return false;
    size_t value = h->places[h->count - 1].value;
    while (h->text.len > value && is_blank(h->text.data[h->text.len - 1]))
        h->text.len--;
    h->in_value = false;
    return keep(h, "", 1);
}

void http1_headers_explain(const struct http1_headers *h, struct err *e)
{
    if (h->no_memory)
        err_set(e, ERR_MEMORY, "out of memory");
    else if (h->too_large)
        err_set(e, ERR_LIMIT, "the response's headers are larger than %d bytes", LIMIT_HTTP_HEADER_BYTES);
}

static int on_field(llhttp_t *p, const char *at, size_t len)
{
    return http1_headers_field(p->data, at, len) ? HPE_OK : HPE_USER;
}

static int on_value(llhttp_t *p, const char *at, size_t len)
{
    return http1_headers_value(p->data, at, len) ? HPE_OK : HPE_USER;
}

static int on_value_complete(llhttp_t *p)
{
    return http1_headers_value_end(p->data) ? HPE_OK : HPE_USER;
}

static int on_uncounted(llhttp_t *p, const char *at, size_t len)
{
    (void)at;
    return http1_headers_count_bytes(p->data, len) ? HPE_OK : HPE_USER;
}

void http1_headers_listen(llhttp_settings_t *settings)
{
    settings->on_header_field = on_field;
    settings->on_header_value = on_value;
    settings->on_header_value_complete = on_value_complete;
    settings->on_chunk_extension_name = on_uncounted;
    settings->on_chunk_extension_value = on_uncounted;
}

const char *http1_headers_name_at(const struct http1_headers *h, size_t i)
{
    return (const char *)h->text.data + h->places[i].name;
}

const char *http1_headers_value_at(const struct http1_headers *h, size_t i)
{
    return (const char *)h->text.data + h->places[i].value;
}

bool http1_headers_list(const struct http1_headers *h, struct http_header **list_out)
{
    struct http_header *list = mem_try_array(h->count, sizeof *list);
    if (list == NULL)
        return false;
    for (size_t i = 0; i < h->count; i++)
        list[i] = (struct http_header){http1_headers_name_at(h, i), http1_headers_value_at(h, i)};
    *list_out = list;
    return true;
}

size_t http1_headers_find(const struct http1_headers *h, const char *name, const char **first_out)
{
    size_t found = 0;
    *first_out = NULL;
    for (size_t i = 0; i < h->count; i++)
        if (strcasecmp(http1_headers_name_at(h, i), name) == 0 && found++ == 0)
            *first_out = http1_headers_value_at(h, i);
    return found;
}

const char *http_response_header(const struct http_response *r, const char *name)
{
    for (size_t i = 0; i < r->header_count; i++)
        if (strcasecmp(r->headers[i].name, name) == 0)
            return r->headers[i].value;
    return NULL;
}

static bool is_token_byte(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

bool http_header_valid(const char *name, const char *value)
{
    if (*name == '\0')
        return false;
    for (; *name != '\0'; name++)
        if (!is_token_byte((unsigned char)*name))
            return false;
    for (; *value != '\0'; value++)
        if (((unsigned char)*value < ' ' && *value != '\t') || *value == 0x7F)
            return false;
    return true;
}
