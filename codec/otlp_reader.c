// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_reader.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { PLACE_DEPTH = 12 };

void otlp_print_place(char *text, size_t size, const struct otlp_place *at)
{
    const struct otlp_place *chain[PLACE_DEPTH];
    size_t n = 0, len = 0;
    for (; at != NULL && n < PLACE_DEPTH; at = at->parent)
        chain[n++] = at;
    text[0] = 0;
    while (n-- > 0 && len < size) {
        const char *dot = len == 0 ? "" : ".";
        int w = chain[n]->index == OTLP_NO_INDEX
                    ? snprintf(text + len, size - len, "%s%s", dot, chain[n]->name)
                    : snprintf(text + len, size - len, "%s%s[%" PRIu64 "]", dot, chain[n]->name, chain[n]->index);
        len += (size_t)w;
    }
}

void otlp_fail(struct otlp_reader *d, const struct otlp_place *at, enum err_code code, const char *format, ...)
{
    if (d->code != ERR_OK)
        return;
    char place[OTLP_PLACE_TEXT], text[512];
    otlp_print_place(place, sizeof place, at);
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    d->code = err_set(d->e, code, "%s%s%s", place, place[0] ? ": " : "", text);
}

void otlp_fail_memory(struct otlp_reader *d)
{
    otlp_fail(d, NULL, ERR_MEMORY, "out of memory while decoding an OTLP request of %zu bytes", d->data.len);
}

static const char *type_name(enum wire_type type)
{
    static const char *const names[] = {"varint", "fixed64", "length-delimited", "group", "group", "fixed32"};
    return (size_t)type < COUNT_OF(names) ? names[type] : "unknown";
}

void otlp_wrong_type(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f, const char *name)
{
    bool current = d->layout == OTLP_LAYOUT_CURRENT;
    otlp_fail(d, at, ERR_INVALID, "%s (field %" PRIu32 ") has wire type %s, which OTLP profiles %s %s", name, f->number,
              type_name(f->type), current ? "1.10 and later" : otlp_layout_names[d->layout],
              current ? "do not use there" : "does not use there");
}

void otlp_message_end(struct otlp_reader *d, const struct otlp_place *at, const struct wire_reader *r)
{
    if (r->error == NULL)
        return;
    if (r->error == wire_no_memory)
        otlp_fail_memory(d);
    else
        otlp_fail(d, at, ERR_INVALID, "%s (at byte %td of the request)", r->error, r->at - d->data.data);
}

void otlp_bad_index(struct otlp_reader *d, const struct otlp_place *at, const char *name, uint64_t index,
                    enum otlp_table table)
{
    // An int32 may come sign-extended to 64 bits or cut to 32.
    int64_t shown = index <= UINT32_MAX && index > INT32_MAX ? (int32_t)(uint32_t)index : (int64_t)index;
    otlp_fail(d, at, ERR_INVALID, "%s %" PRId64 " is not below %" PRIu32, name, shown, d->tables[table].length);
}

uint64_t otlp_fixed64(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f, const char *name)
{
    if (f->type == WIRE_FIXED64)
        return f->varint;
    otlp_wrong_type(d, at, f, name);
    return 0;
}

static bool reserve_ids(struct otlp_reader *d, size_t extra)
{
    if (extra <= d->ids.capacity - d->ids.count)
        return true;
    void *items = d->ids.items;
    bool ok = mem_try_grow(&items, &d->ids.capacity, d->ids.count + extra, sizeof(uint32_t), UINT32_MAX);
    d->ids.items = items;
    if (!ok)
        otlp_fail_memory(d);
    return ok;
}

static uint32_t max_entries(const struct otlp_reader *d, enum otlp_table table)
{
    return table == OTLP_LOCATIONS ? d->limits->max_stack_depth : d->limits->max_attributes;
}

// d->ids never holds more than max_entries.
static bool too_many(struct otlp_reader *d, const struct otlp_place *at, const char *name, enum otlp_table table,
                     size_t more)
{
    uint32_t max = max_entries(d, table);
    if (more <= max - d->ids.count)
        return false;
    otlp_fail(d, at, ERR_LIMIT, "%s has %zu entries, %s allows %" PRIu32, name, d->ids.count + more,
              table == OTLP_LOCATIONS ? "max_stack_depth" : "max_attributes", max);
    return true;
}

static inline uint64_t next_index(struct wire_reader *r)
{
    if (r->end - r->at >= 2 && r->at[0] >= 0x80 && r->at[1] < 0x80) { // two bytes: most, in large tables
        uint64_t index = (uint64_t)(r->at[0] & 0x7f) | (uint64_t)r->at[1] << 7;
        r->at += 2;
        return index;
    }
    return wire_varint(r);
}

// Room for `list`; its varints are counted only when its bytes alone do not prove that they are few enough.
static bool prepare_packed(struct otlp_reader *d, const struct otlp_place *at, struct bytes list, const char *name,
                           enum otlp_table table)
{
    size_t most = list.len;
    if (most > max_entries(d, table) - d->ids.count) {
        most = wire_count_varints(list);
        if (too_many(d, at, name, table, most))
            return false;
    }
    return reserve_ids(d, most + 1); // one more: the last one may be cut off
}

static void packed_indices(struct otlp_reader *d, const struct otlp_place *at, struct bytes list, const char *name,
                           enum otlp_table table)
{
    if (!prepare_packed(d, at, list, name, table))
        return;
    const struct otlp_id_map *map = &d->tables[table];
    uint32_t *to = d->ids.items + d->ids.count;
    struct wire_reader r;
    wire_reader_init(&r, list);
    while (r.at != r.end) {
        uint64_t index = next_index(&r);
        if (index >= map->length) {
            otlp_bad_index(d, at, name, index, table);
            return;
        }
        *to++ = map->ids[index];
    }
    otlp_message_end(d, at, &r);
    if (d->code == ERR_OK)
        d->ids.count = (size_t)(to - d->ids.items);
}

void otlp_add_id(struct otlp_reader *d, const struct otlp_place *at, const char *name, uint32_t id,
                 enum otlp_table table)
{
    if (d->code == ERR_OK && !too_many(d, at, name, table, 1) && reserve_ids(d, 1))
        d->ids.items[d->ids.count++] = id;
}

void otlp_indices(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f, const char *name,
                  enum otlp_table table)
{
    if (f->type == WIRE_LEN) {
        packed_indices(d, at, f->bytes, name, table);
        return;
    }
    otlp_add_id(d, at, name, otlp_index(d, at, f, name, table), table);
}

uint32_t otlp_attribute_set(struct otlp_reader *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->ids.count; i++)
        if (d->ids.items[i] != 0)
            d->ids.items[n++] = d->ids.items[i];
    d->ids.count = n;
    return n == 0 || d->code != ERR_OK ? 0 : builder_attribute_set(d->builder, d->ids.items, (uint32_t)n);
}

struct bytes otlp_text(struct otlp_reader *d, struct arena *arena, struct bytes text)
{
    if (utf8_valid(text))
        return text;
    size_t len = utf8_repair(text, NULL);
    uint8_t *repaired = arena_try_alloc(arena, len);
    if (repaired == NULL) {
        otlp_fail_memory(d);
        return (struct bytes){NULL, 0};
    }
    return (struct bytes){repaired, utf8_repair(text, repaired)};
}
