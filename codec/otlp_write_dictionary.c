// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_writer.h"
#include "profile/stack.h"

// tag and length, then up to twelve tags and varints: enough for every item but its lists
enum { ITEM_ROOM = 13 * (1 + OTLP_MAX_VARINT), LINE_ROOM = 4 * (1 + OTLP_MAX_VARINT) };

static size_t list_room(struct bytes list)
{
    return 1 + list.len + OTLP_SET_SLACK;
}

static uint8_t *put_set(uint8_t *to, unsigned number, struct bytes list)
{
    return list.len == 0 ? to : otlp_put_list(otlp_put_tag(to, number, WIRE_LEN), list);
}

static struct bytes set_list(struct otlp_writer *w, uint32_t set)
{
    return set == 0 ? (struct bytes){NULL, 0} : otlp_attribute_list(w, set);
}

static void write_mappings(struct otlp_writer *w)
{
    const struct dictionary *d = w->batch->dictionary;
    for (uint32_t i = 0; i < d->mapping_count; i++) {
        if (!prune_keeps(&w->prune.mappings, i))
            continue;
        const struct batch_mapping *m = &d->mappings[i];
        struct bytes list = set_list(w, m->attribute_set);
        if (!otlp_room(w, ITEM_ROOM + list_room(list)))
            return;
        uint8_t *body = otlp_small_begin(w->at, 1), *to = body;
        to = otlp_put_uint(to, 1, m->memory_start);
        to = otlp_put_uint(to, 2, m->memory_limit);
        to = otlp_put_uint(to, 3, m->file_offset);
        to = otlp_put_uint(to, 4, prune_id(&w->prune.strings, m->filename));
        w->at = otlp_small_end(body, put_set(to, 5, list));
    }
}

static uint8_t *put_line(const struct otlp_writer *w, uint8_t *to, const struct batch_line *line)
{
    uint8_t *body = otlp_small_begin(to, 3);
    to = otlp_put_uint(body, 1, prune_id(&w->prune.functions, line->function));
    to = otlp_put_uint(to, 2, (uint64_t)line->line);
    to = otlp_put_uint(to, 3, (uint64_t)line->column);
    return otlp_small_end(body, to);
}

static void write_locations(struct otlp_writer *w)
{
    const struct dictionary *d = w->batch->dictionary;
    for (uint32_t i = 0; i < d->location_count; i++) {
        if (!prune_keeps(&w->prune.locations, i))
            continue;
        const struct batch_location *l = &d->locations[i];
        struct bytes list = set_list(w, l->attribute_set);
        if (!otlp_room(w, ITEM_ROOM + list_room(list) + (size_t)l->line_count * LINE_ROOM))
            return;
        uint8_t *body = otlp_small_begin(w->at, 2), *to = body;
        to = otlp_put_uint(to, 1, prune_id(&w->prune.mappings, l->mapping));
        to = otlp_put_uint(to, 2, l->address);
        for (uint32_t k = 0; k < l->line_count; k++)
            to = put_line(w, to, &d->lines[l->line_start + k]);
        w->at = otlp_small_end(body, put_set(to, w->old != NULL ? 5 : 4, list));
    }
}

static void write_functions(struct otlp_writer *w)
{
    const struct dictionary *d = w->batch->dictionary;
    const struct prune_table *strings = &w->prune.strings;
    for (uint32_t i = 0; i < d->function_count; i++) {
        if (!prune_keeps(&w->prune.functions, i))
            continue;
        if (!otlp_room(w, ITEM_ROOM))
            return;
        const struct batch_function *f = &d->functions[i];
        uint8_t *body = otlp_small_begin(w->at, 3), *to = body;
        to = otlp_put_uint(to, 1, prune_id(strings, f->name));
        to = otlp_put_uint(to, 2, prune_id(strings, f->system_name));
        to = otlp_put_uint(to, 3, prune_id(strings, f->filename));
        w->at = otlp_small_end(body, otlp_put_uint(to, 4, (uint64_t)f->start_line));
    }
}

static uint8_t *put_link_id(uint8_t *to, unsigned number, const uint8_t *id, size_t size, bool is_zero_written)
{
    static const uint8_t zero[16];
    return !is_zero_written && memcmp(id, zero, size) == 0 ? to : otlp_put_bytes(to, number, (struct bytes){id, size});
}

// Link 0 is an empty message unless the zero-filled spelling is wanted: some checkers refuse that.
static void write_links(struct otlp_writer *w)
{
    const struct dictionary *d = w->batch->dictionary;
    for (uint32_t i = 0; i < d->link_count; i++) {
        if (!prune_keeps(&w->prune.links, i))
            continue;
        if (!otlp_room(w, ITEM_ROOM))
            return;
        const struct batch_link *l = &d->links[i];
        bool zeros = i == 0 && w->how->zero_link;
        uint8_t *body = otlp_small_begin(w->at, 4);
        uint8_t *to = put_link_id(body, 1, l->trace_id, sizeof l->trace_id, zeros);
        w->at = otlp_small_end(body, put_link_id(to, 2, l->span_id, sizeof l->span_id, zeros));
    }
}

static void write_strings(struct otlp_writer *w)
{
    const struct dictionary *d = w->batch->dictionary;
    for (uint32_t i = 0; i < d->string_count; i++) {
        if (!prune_keeps(&w->prune.strings, i))
            continue;
        if (!otlp_room(w, 1 + OTLP_MAX_VARINT + d->strings[i].len))
            return;
        w->at = otlp_put_bytes(w->at, 5, d->strings[i]);
    }
    if (w->texts != NULL)
        otlp_write_more_texts(w);
}

static bool is_scalar(const struct value *v)
{
    return v->kind != VALUE_ARRAY && v->kind != VALUE_KVLIST;
}

static void write_attributes(struct otlp_writer *w)
{
    const struct dictionary *d = w->batch->dictionary;
    for (uint32_t i = 0; i < d->attribute_count; i++) {
        if (!prune_keeps(&w->prune.attributes, i))
            continue;
        const struct batch_attribute *a = &d->attributes[i];
        struct otlp_open item = otlp_begin(w, 6, is_scalar(&a->value) ? 0 : 0x80);
        if (!otlp_room(w, ITEM_ROOM))
            return;
        w->at = otlp_put_uint(w->at, 1, prune_id(&w->prune.strings, a->key));
        if (a->value.kind != VALUE_EMPTY)
            otlp_write_value(w, 2, &a->value);
        if (!otlp_room(w, ITEM_ROOM))
            return;
        w->at = otlp_put_uint(w->at, 3, prune_id(&w->prune.strings, a->unit));
        otlp_end(w, item);
    }
}

// The tags and lengths before the ids of a stack.
static size_t stack_head_size(size_t size)
{
    size_t list_head = 1 + otlp_varint_size(size);
    return 1 + otlp_varint_size(list_head + size) + list_head;
}

static uint8_t *put_stack_head(uint8_t *to, size_t size)
{
    to = otlp_put_varint(otlp_put_tag(to, 7, WIRE_LEN), 1 + otlp_varint_size(size) + size);
    return otlp_put_varint(otlp_put_tag(to, 1, WIRE_LEN), size);
}

// New numbers are no larger than the old ones, so the ids get shorter at most: then they move up to a shorter head.
static uint8_t *put_renumbered(uint8_t *to, const uint32_t *new_ids, struct stack_reader *r)
{
    size_t room = stack_head_size((size_t)(r->end - r->at));
    uint8_t *ids = to + room, *end = ids;
    uint32_t location;
    while (stack_next(r, &location))
        end = stack_put(end, new_ids[location]);
    size_t size = (size_t)(end - ids), head = stack_head_size(size);
    if (head < room)
        memmove(to + head, ids, size);
    return put_stack_head(to, size) + size;
}

static void write_stack(struct otlp_writer *w, uint32_t stack)
{
    struct stack_reader r;
    stack_reader_init(&r, w->batch->dictionary, stack);
    size_t size = (size_t)(r.end - r.at);
    if (!otlp_room(w, 2 * (1 + OTLP_MAX_VARINT) + size))
        return;
    if (w->prune.locations.new_ids != NULL)
        w->at = put_renumbered(w->at, w->prune.locations.new_ids, &r);
    else
        w->at = otlp_put_raw(put_stack_head(w->at, size), r.at, size);
}

static void write_stacks(struct otlp_writer *w)
{
    const struct dictionary *d = w->batch->dictionary;
    for (uint32_t i = 0; i < d->stack_count; i++) {
        if (!prune_keeps(&w->prune.stacks, i))
            continue;
        if (d->stacks[i].count == 0)
            otlp_empty_field(w, 7);
        else
            write_stack(w, i);
    }
}

void otlp_write_dictionary(struct otlp_writer *w)
{
    struct otlp_open dictionary = otlp_begin(w, 2, 1 << 14);
    write_mappings(w);
    write_locations(w);
    write_functions(w);
    write_links(w);
    write_strings(w);
    if (w->old != NULL) {
        otlp_write_old_attributes(w);
    } else {
        write_attributes(w);
        write_stacks(w);
    }
    otlp_end(w, dictionary);
}
