// SPDX-License-Identifier: Apache-2.0
#include "exporters/pyroscope_upload.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
static const char app_characters[] = LETTERS "_.-/", name_characters[] = LETTERS "_.",
                  query_characters[] = LETTERS "_.-~";

static bool is_among(uint8_t c, const char *characters)
{
    return c != '\0' && strchr(characters, c) != NULL;
}

// --- the name ---

// One '_' for each character that is none of these.
static void put_among(struct buf *out, struct bytes text, const char *characters)
{
    for (size_t i = 0, len; i < text.len; i += len) {
        const size_t valid = utf8_char_len((struct bytes){text.data + i, text.len - i});
        len = valid != 0 ? valid : 1;
        buf_add_byte(out, len == 1 && is_among(text.data[i], characters) ? text.data[i] : '_');
    }
}

static void put_value(struct buf *out, struct bytes text)
{
    for (size_t i = 0; i < text.len; i++)
        buf_add_byte(out, text.data[i] == ',' || text.data[i] == '}' ? '_' : text.data[i]);
}

static bool is_of_ingest(struct bytes name)
{
    const bool own = name.len >= 2 && memcmp(name.data, "__", 2) == 0;
    return bytes_equal_text(name, "__session_id__") ||
           (!own && !bytes_equal_text(name, "service_name") && !bytes_equal_text(name, "pyroscope_spy"));
}

// Is there a label with this name, as it is written, in the list from `start` on?
static bool has_name(struct bytes list, struct bytes name)
{
    for (size_t at = 0; at + name.len < list.len;) {
        if (memcmp(list.data + at, name.data, name.len) == 0 && list.data[at + name.len] == '=')
            return true;
        const uint8_t *comma = memchr(list.data + at, ',', list.len - at);
        if (comma == NULL)
            return false;
        at = (size_t)(comma - list.data) + 1;
    }
    return false;
}

static void put_label(struct buf *out, size_t list_start, struct bytes label_name, struct bytes value)
{
    struct buf name;
    buf_init(&name, SIZE_MAX);
    put_among(&name, label_name, name_characters);
    const struct bytes list = {out->data + list_start, out->len - list_start};
    if (!buf_ok(&name))
        out->failed = true;
    else if (name.len > 0 && !has_name(list, buf_bytes(&name))) {
        if (list.len > 0)
            buf_add_byte(out, ',');
        buf_add(out, name.data, name.len);
        buf_add_byte(out, '=');
        put_value(out, value);
    }
    buf_fini(&name);
}

// "app{k=v,k2=v2}"
static void put_name(const struct pyroscope_labels *labels, struct buf *out)
{
    const struct bytes service = pyroscope_labels_find(labels, "service_name");
    put_among(out, service, app_characters);
    const bool whole = bytes_equal(buf_bytes(out), service);
    buf_add_byte(out, '{');
    const size_t start = out->len;
    if (!whole)
        put_label(out, start, BYTES_LITERAL("service_name"), service);
    for (size_t i = 0; i < labels->count; i++)
        if (is_of_ingest(labels->items[i].name))
            put_label(out, start, labels->items[i].name, labels->items[i].value);
    buf_add_byte(out, '}');
}

// --- the query ---

static void put_encoded(struct buf *out, const char *key, struct bytes text)
{
    if (text.len == 0)
        return;
    buf_add_format(out, "%s%s=", out->len > 0 ? "&" : "", key);
    for (size_t i = 0; i < text.len; i++)
        if (is_among(text.data[i], query_characters))
            buf_add_byte(out, text.data[i]);
        else
            buf_add_format(out, "%%%02X", text.data[i]);
}

// Whole seconds as seconds, as SDKs send them; else nanoseconds: servers tell by the number of digits.
static void put_time(struct buf *out, const char *key, int64_t nanos)
{
    const int64_t second = NANOS_PER_SECOND;
    buf_add_format(out, "&%s=%" PRId64, key, nanos % second == 0 ? nanos / second : nanos);
}

void pyroscope_upload_query(const struct pyroscope_upload *u, struct buf *out)
{
    struct buf name;
    buf_init(&name, SIZE_MAX);
    put_name(u->labels, &name);
    if (!buf_ok(&name))
        out->failed = true;
    put_encoded(out, "name", buf_bytes(&name));
    put_time(out, "from", u->from_nanos);
    put_time(out, "until", u->until_nanos);
    put_encoded(out, "spyName", pyroscope_labels_find(u->labels, "pyroscope_spy"));
    put_encoded(out, "format", bytes_from_text(u->format));
    if (u->sample_rate > 0)
        buf_add_format(out, "&sampleRate=%" PRId64, u->sample_rate);
    put_encoded(out, "units", u->units);
    put_encoded(out, "aggregationType", u->aggregation_type);
    buf_fini(&name);
}

// --- the form ---

static bool holds(struct bytes data, const char *text)
{
    return data.len > 0 && memmem(data.data, data.len, text, strlen(text)) != NULL;
}

static void choose_boundary(struct bytes jfr, struct bytes labels, char out[PYROSCOPE_BOUNDARY_SIZE])
{
    struct hash128 hash = hash_content(jfr.data, jfr.len);
    do {
        snprintf(out, PYROSCOPE_BOUNDARY_SIZE, "profrelay%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
        hash.low++;
    } while (holds(jfr, out) || holds(labels, out));
}

// Only parts with a file name are seen.
static void put_part(struct buf *out, const char *boundary, const char *name, struct bytes data)
{
    buf_add_format(out,
                   "--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n"
                   "Content-Type: application/octet-stream\r\n\r\n",
                   boundary, name, name);
    buf_add(out, data.data, data.len);
    buf_add_text(out, "\r\n");
}

void pyroscope_upload_form(struct bytes jfr, struct bytes labels, char boundary_out[PYROSCOPE_BOUNDARY_SIZE],
                           struct buf *out)
{
    choose_boundary(jfr, labels, boundary_out);
    put_part(out, boundary_out, "jfr", jfr);
    if (labels.len > 0)
        put_part(out, boundary_out, "labels", labels);
    buf_add_format(out, "--%s--\r\n", boundary_out);
}

// --- the record ---

void pyroscope_upload_begin(struct bytes query, const char *content_type, struct buf *out)
{
    buf_add(out, query.data, query.len);
    buf_add_byte(out, '\0');
    buf_add(out, content_type, strlen(content_type) + 1);
}

struct pyroscope_upload_parts pyroscope_upload_read(struct bytes record)
{
    const char *query = (const char *)record.data, *type = query + strlen(query) + 1;
    const uint8_t *body = (const uint8_t *)type + strlen(type) + 1;
    return (struct pyroscope_upload_parts){query, type, {body, record.len - (size_t)(body - record.data)}};
}
