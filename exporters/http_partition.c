// SPDX-License-Identifier: Apache-2.0
#include "exporters/http_partition.h"

#include "base/mem.h"
#include "net/authenticator.h"
#include "profile/origin.h"

enum {
    MAX_VALUE_BYTES = 1024,
    // Each one has its share of the dictionary sought: their number must not be the sender's to choose.
    MAX_PARTS = 256,
};

struct part {
    const char **values; // as record.header_values
    size_t bytes;
    uint32_t first; // resource
};

struct partition {
    struct part items[MAX_PARTS];
    size_t count;
    uint32_t *part_of; // by resource
};

// --- attributes ---

static size_t authenticator_count(const struct http_exporter *x)
{
    return x->authenticator != NULL ? x->authenticator->attribute_count : 0;
}

static size_t attribute_count(const struct http_exporter *x)
{
    return authenticator_count(x) + (x->own_attribute != NULL);
}

static const char *attribute_at(const struct http_exporter *x, size_t i)
{
    return i < authenticator_count(x) ? x->authenticator->attributes[i] : x->own_attribute;
}

const char *http_partition_own_value(const struct http_exporter *x, const struct record *r)
{
    return x->own_attribute != NULL && r->header_values != NULL ? r->header_values[authenticator_count(x)] : NULL;
}

// --- values ---

// A header's value, and a metadata's of gRPC: printable ASCII.
static bool is_plain(struct bytes text)
{
    bool good = text.len <= MAX_VALUE_BYTES;
    for (size_t i = 0; good && i < text.len; i++)
        good = text.data[i] >= ' ' && text.data[i] <= '~';
    return good;
}

// Appends the value as text. False: it has none.
static bool print_attribute(const struct http_exporter *x, const struct resource *r, const char *key, struct buf *text)
{
    const struct key_value *found = key_values_find(r->attributes, r->attribute_count, bytes_from_text(key));
    size_t start = text->len;
    if (found == NULL || found->value.kind == VALUE_EMPTY)
        return false;
    if (found->value.kind < VALUE_ARRAY)
        value_print(text, &found->value);
    if (found->value.kind < VALUE_ARRAY && is_plain((struct bytes){text->data + start, text->len - start}))
        return true;
    text->len = start;
    log_warn(&x->exporter.component.log,
             "the resource attribute %s of a batch cannot be sent in a header: it is no text of at most %d printable "
             "characters",
             key, MAX_VALUE_BYTES);
    return false;
}

// One block: pointers, then texts. lens[i] < 0: none.
static const char **join_values(const ptrdiff_t *lens, size_t count, struct bytes text, size_t *bytes_out)
{
    size_t size = count * sizeof(char *) + text.len + count;
    char **values = mem_try_alloc(size);
    if (values == NULL)
        return NULL;
    char *at = (char *)(values + count);
    for (size_t i = 0; i < count; i++) {
        values[i] = lens[i] < 0 ? NULL : at;
        if (lens[i] < 0)
            continue;
        memcpy(at, text.data, (size_t)lens[i]);
        at[lens[i]] = '\0';
        at += lens[i] + 1;
        text = (struct bytes){text.data + lens[i], text.len - (size_t)lens[i]};
    }
    *bytes_out = size;
    return (const char **)values;
}

static const char **values_of(const struct http_exporter *x, const struct resource *r, size_t *bytes_out)
{
    const size_t count = attribute_count(x);
    struct buf text;
    ptrdiff_t *lens = mem_try_array(count, sizeof *lens);
    const char **values = NULL;
    buf_init(&text, SIZE_MAX);
    buf_add_byte(&text, '\0'); // never NULL
    for (size_t i = 0; lens != NULL && i < count; i++) {
        size_t start = text.len;
        lens[i] = print_attribute(x, r, attribute_at(x, i), &text) ? (ptrdiff_t)(text.len - start) : -1;
    }
    if (lens != NULL && buf_ok(&text))
        values = join_values(lens, count, (struct bytes){text.data + 1, text.len - 1}, bytes_out);
    free(lens);
    buf_fini(&text);
    return values;
}

static bool same_values(const char *const *a, const char *const *b, size_t count)
{
    bool same = true;
    for (size_t i = 0; same && i < count; i++)
        same = (a[i] == NULL) == (b[i] == NULL) && (a[i] == NULL || strcmp(a[i], b[i]) == 0);
    return same;
}

// --- parts ---

static enum err_code add_resource(const struct http_exporter *x, const struct resource *r, uint32_t index,
                                  struct partition *p, struct err *e)
{
    size_t bytes = 0, part = 0, count = attribute_count(x);
    const char **values = values_of(x, r, &bytes);
    if (values == NULL)
        return err_set(e, ERR_MEMORY, "no memory for the values of headers");
    while (part < p->count && !same_values(p->items[part].values, values, count))
        part++;
    p->part_of[index] = (uint32_t)part;
    if (part < p->count) {
        free(values);
        return ERR_OK;
    }
    if (part == MAX_PARTS) {
        free(values);
        return err_set(e, ERR_LIMIT, "its resources need more than the %d different headers that are allowed",
                       MAX_PARTS);
    }
    p->items[p->count++] = (struct part){values, bytes, index};
    return ERR_OK;
}

static enum err_code find_parts(const struct http_exporter *x, const struct batch *b, struct partition *p,
                                struct err *e)
{
    enum err_code rc = ERR_OK;
    p->part_of = mem_try_array(b->resource_count, sizeof *p->part_of);
    if (p->part_of == NULL)
        return err_set(e, ERR_MEMORY, "no memory to divide %u resources", b->resource_count);
    for (uint32_t i = 0; rc == ERR_OK && i < b->resource_count; i++)
        rc = add_resource(x, b->resources[i], i, p, e);
    return rc;
}

static void free_partition(struct partition *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->items[i].values);
    free(p->part_of);
    free(p);
}

static struct batch *batch_of_part(const struct batch *b, const struct partition *p, uint32_t part)
{
    struct resource **chosen = mem_try_array(b->resource_count, sizeof *chosen);
    uint32_t count = 0;
    if (chosen == NULL)
        return NULL;
    for (uint32_t i = p->items[part].first; i < b->resource_count; i++)
        if (p->part_of[i] == part)
            chosen[count++] = resource_ref(b->resources[i]);
    struct batch *out = batch_create(dictionary_ref(b->dictionary), chosen, count);
    free(chosen);
    return out;
}

// --- records ---

static enum err_code set_values(struct record *r, const char *const *values, size_t count, size_t bytes, struct err *e)
{
    char **copy = mem_try_alloc(bytes);
    if (copy == NULL)
        return err_set(e, ERR_MEMORY, "no memory for the values of headers");
    memcpy(copy, values, bytes);
    for (size_t i = 0; i < count; i++)
        if (values[i] != NULL)
            copy[i] = (char *)copy + (values[i] - (const char *)values);
    r->header_values = (const char **)copy;
    r->header_bytes = bytes;
    return ERR_OK;
}

// Of all records from *link on.
static enum err_code set_values_from(struct record **link, const char *const *values, size_t count, size_t bytes,
                                     struct err *e)
{
    enum err_code rc = ERR_OK;
    for (struct record *r = *link; rc == ERR_OK && r != NULL; r = r->next)
        rc = set_values(r, values, count, bytes, e);
    return rc;
}

static enum err_code encode_part(struct http_exporter *x, const struct batch *b, const struct part *p,
                                 struct record_list *out, struct err *e)
{
    struct record **link = out->tail;
    enum err_code rc = x->encoder->encode(&x->exporter, b, out, e);
    if (rc == ERR_OK)
        rc = set_values_from(link, p->values, attribute_count(x), p->bytes, e);
    return rc;
}

static enum err_code encode_parts(struct http_exporter *x, const struct batch *b, const struct partition *p,
                                  struct record_list *out, struct err *e)
{
    enum err_code rc = ERR_OK;
    CHECK(!batch_is_unread(b)); // see takes_unread
    for (uint32_t i = 0; rc == ERR_OK && i < p->count; i++) {
        struct batch *part = batch_of_part(b, p, i);
        rc = part != NULL ? encode_part(x, part, &p->items[i], out, e)
                          : err_set(e, ERR_MEMORY, "no memory to divide a batch");
        batch_unref(&part);
    }
    return rc;
}

enum err_code http_partition_encode(struct exporter *self, const struct batch *batch, struct record_list *out,
                                    struct err *e)
{
    struct http_exporter *x = (struct http_exporter *)self;
    if (attribute_count(x) == 0)
        return x->encoder->encode(self, batch, out, e);
    struct partition *p = MEM_NEW(struct partition);
    enum err_code rc = find_parts(x, batch, p, e);
    if (rc == ERR_OK && p->count == 1)
        rc = encode_part(x, batch, &p->items[0], out, e);
    else if (rc == ERR_OK && p->count == 0)
        rc = x->encoder->encode(self, batch, out, e);
    else if (rc == ERR_OK)
        rc = encode_parts(x, batch, p, out, e);
    free_partition(p);
    return rc;
}

static bool same_attribute(const struct resource *a, const struct resource *b, const char *key)
{
    const struct bytes name = bytes_from_text(key);
    const struct key_value *x = key_values_find(a->attributes, a->attribute_count, name);
    const struct key_value *y = key_values_find(b->attributes, b->attribute_count, name);
    return x == NULL || y == NULL ? x == y : value_equal(&x->value, &y->value);
}

// Then they are one part. (Values that differ may still give the same headers: then the batch is opened for nothing.)
static bool same_attributes(const struct http_exporter *x, const struct batch *b)
{
    for (uint32_t r = 1; r < b->resource_count; r++)
        for (size_t i = 0; i < attribute_count(x); i++)
            if (!same_attribute(b->resources[0], b->resources[r], attribute_at(x, i)))
                return false;
    return true;
}

bool http_partition_takes_unread(struct exporter *self, const struct batch *batch)
{
    const struct http_exporter *x = (const struct http_exporter *)self;
    return (attribute_count(x) == 0 || same_attributes(x, batch)) && x->encoder->takes_unread(self, batch);
}

enum err_code http_partition_replace(struct exporter *self, const struct record *r, const struct verdict *refusal,
                                     struct record_list *out, struct err *e)
{
    struct http_exporter *x = (struct http_exporter *)self;
    struct record **link = out->tail;
    enum err_code rc = x->encoder->replace(self, r, refusal, out, e);
    if (rc == ERR_OK && r->header_values != NULL)
        rc = set_values_from(link, r->header_values, attribute_count(x), r->header_bytes, e);
    return rc;
}
