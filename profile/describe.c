// SPDX-License-Identifier: Apache-2.0
#include "profile/describe.h"

#include "base/clean_text.h"
#include "base/text.h"

#include <inttypes.h>
#include <time.h>

enum { MAX_VALUE_BYTES = 1 << 20, MAX_ID_BYTES = 32 };

static const uint64_t SECOND = 1000000000;

static void add_string(struct buf *out, const struct dictionary *d, uint32_t id)
{
    clean_text_add(out, d->strings[id]);
}

static void describe_printed(struct buf *out, const struct value *v, bool nested)
{
    const struct value list = {.kind = VALUE_ARRAY, .count = 1, .items = v};
    struct buf text;
    buf_init(&text, MAX_VALUE_BYTES);
    value_print(&text, nested ? &list : v);
    struct bytes all = buf_bytes(&text);
    if (nested && text.len >= 2) // without the brackets
        all = (struct bytes){all.data + 1, all.len - (buf_ok(&text) ? 2 : 1)};
    clean_text_add(out, all);
    if (!buf_ok(&text))
        buf_add_text(out, "...");
    buf_fini(&text);
}

void describe_value(struct buf *out, const struct value *v)
{
    describe_printed(out, v, false);
}

void describe_value_exactly(struct buf *out, const struct value *v)
{
    if (v->kind == VALUE_BYTES)
        buf_add_text(out, "bytes ");
    describe_printed(out, v, true);
}

void describe_key_value(struct buf *out, const struct key_value *entry)
{
    clean_text_add(out, entry->key);
    buf_add_text(out, ": ");
    describe_value(out, &entry->value);
}

void describe_attribute(struct buf *out, const struct dictionary *d, uint32_t attribute)
{
    const struct batch_attribute *a = &d->attributes[attribute];
    describe_key_value(out, &(struct key_value){d->strings[a->key], a->value});
    if (a->unit != 0) {
        buf_add_byte(out, ' ');
        add_string(out, d, a->unit);
    }
}

void describe_type(struct buf *out, const struct dictionary *d, struct value_type type)
{
    add_string(out, d, type.type);
    buf_add_byte(out, '/');
    add_string(out, d, type.unit);
}

void describe_function(struct buf *out, const struct dictionary *d, uint32_t function)
{
    const struct batch_function *f = &d->functions[function];
    const uint32_t name = f->name != 0 ? f->name : f->system_name;
    if (name != 0)
        add_string(out, d, name);
    else
        buf_add_text(out, "(no name)");
}

void describe_line(struct buf *out, const struct dictionary *d, const struct batch_line *line)
{
    const uint32_t file = d->functions[line->function].filename;
    describe_function(out, d, line->function);
    if (file == 0)
        return;
    buf_add_byte(out, ' ');
    add_string(out, d, file);
    if (line->line != 0)
        buf_add_format(out, ":%" PRId64, line->line);
}

void describe_hex(struct buf *out, const uint8_t *id, size_t len)
{
    char text[2 * MAX_ID_BYTES];
    CHECK(len <= MAX_ID_BYTES);
    hex_encode((struct bytes){id, len}, text);
    buf_add(out, text, 2 * len);
}

void describe_link(struct buf *out, const struct batch_link *link)
{
    buf_add_text(out, "trace ");
    describe_hex(out, link->trace_id, sizeof link->trace_id);
    buf_add_text(out, ", span ");
    describe_hex(out, link->span_id, sizeof link->span_id);
}

static unsigned fraction(uint64_t nanos, int digits)
{
    return (unsigned)(nanos % SECOND / (digits == 3 ? 1000000 : 1));
}

void describe_time(struct buf *out, uint64_t nanos, int digits)
{
    const time_t seconds = (time_t)(nanos / SECOND);
    struct tm t;
    char text[32] = "";
    if (nanos == 0) {
        buf_add_text(out, "unknown");
        return;
    }
    gmtime_r(&seconds, &t);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &t);
    buf_add_format(out, "%s.%0*uZ", text, digits, fraction(nanos, digits));
}

void describe_duration(struct buf *out, uint64_t nanos, int digits)
{
    buf_add_format(out, "%" PRIu64 ".%0*us", nanos / SECOND, digits, fraction(nanos, digits));
}
