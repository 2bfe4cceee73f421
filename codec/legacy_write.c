// SPDX-License-Identifier: Apache-2.0
// An old profile as profile.proto.
#include "codec/legacy.h"
#include "codec/wire.h"

// Of message Profile.
enum { SAMPLE_TYPE = 1, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING, DROP_FRAMES, KEEP_FRAMES };
enum { DURATION_NANOS = 10, PERIOD_TYPE, PERIOD };

struct writer {
    struct buf *out;
    uint64_t string_count;
    uint64_t block_label; // "bytes"
};

static uint64_t put_text(struct writer *w, struct bytes text)
{
    wire_put_bytes(w->out, STRING, text);
    return w->string_count++;
}

static void put_type(struct writer *w, uint32_t field, const struct legacy_type *t)
{
    const uint64_t type = put_text(w, t->type), unit = put_text(w, t->unit);
    const size_t start = wire_begin(w->out, field);
    wire_put_uint(w->out, 1, type);
    wire_put_uint(w->out, 2, unit);
    wire_end(w->out, start);
}

static void put_expression(struct writer *w, uint32_t field, const char *text)
{
    if (text != NULL)
        wire_put_uint(w->out, field, put_text(w, bytes_from_text(text)));
}

static void put_header(struct writer *w, const struct legacy *l)
{
    (void)put_text(w, (struct bytes){0});
    w->block_label = put_text(w, BYTES_LITERAL("bytes"));
    for (uint32_t i = 0; i < l->type_count; i++)
        put_type(w, SAMPLE_TYPE, &l->types[i]);
    if (l->period_type.type.len > 0)
        put_type(w, PERIOD_TYPE, &l->period_type);
    put_expression(w, DROP_FRAMES, l->drop_frames);
    put_expression(w, KEEP_FRAMES, l->keep_frames);
    wire_put_uint(w->out, DURATION_NANOS, (uint64_t)l->duration_nanos);
    wire_put_uint(w->out, PERIOD, (uint64_t)l->period);
}

static void put_mapping(struct writer *w, const struct legacy_mapping *m, uint64_t id)
{
    const uint64_t file = put_text(w, m->file), build_id = put_text(w, m->build_id);
    const size_t start = wire_begin(w->out, MAPPING);
    wire_put_uint(w->out, 1, id);
    wire_put_uint(w->out, 2, m->start);
    wire_put_uint(w->out, 3, m->limit);
    wire_put_uint(w->out, 4, m->offset);
    wire_put_uint(w->out, 5, file);
    wire_put_uint(w->out, 6, build_id);
    wire_end(w->out, start);
}

static void put_function(struct writer *w, const struct legacy_function *f, uint64_t id)
{
    const uint64_t name = put_text(w, f->name), file = put_text(w, f->file);
    const size_t start = wire_begin(w->out, FUNCTION);
    wire_put_uint(w->out, 1, id);
    wire_put_uint(w->out, 2, name);
    wire_put_uint(w->out, 3, name);
    wire_put_uint(w->out, 4, file);
    wire_end(w->out, start);
}

static void put_location(struct writer *w, const struct legacy_location *at)
{
    const size_t start = wire_begin(w->out, LOCATION);
    wire_put_uint(w->out, 1, at->id);
    if (at->mapping != LEGACY_NONE)
        wire_put_uint(w->out, 2, (uint64_t)at->mapping + 1);
    wire_put_uint(w->out, 3, at->address);
    if (at->function != LEGACY_NONE) {
        const size_t line = wire_begin(w->out, 4);
        wire_put_uint(w->out, 1, (uint64_t)at->function + 1);
        wire_put_uint(w->out, 2, (uint64_t)at->line);
        wire_end(w->out, line);
    }
    wire_end(w->out, start);
}

static void put_sample(struct writer *w, const struct legacy *l, const struct legacy_sample *s)
{
    const size_t start = wire_begin(w->out, SAMPLE), stack = wire_begin(w->out, 1);
    for (uint32_t i = 0; i < s->count; i++)
        wire_put_varint(w->out, l->locations[l->frames[s->first + i]].id);
    wire_end(w->out, stack);
    const size_t values = wire_begin(w->out, 2);
    for (uint32_t i = 0; i < l->type_count; i++)
        wire_put_varint(w->out, (uint64_t)s->values[i]);
    wire_end(w->out, values);
    if (l->has_blocks) {
        const size_t label = wire_begin(w->out, 3);
        wire_put_uint(w->out, 1, w->block_label);
        wire_put_uint(w->out, 3, (uint64_t)s->block_bytes);
        wire_end(w->out, label);
    }
    wire_end(w->out, start);
}

void legacy_write(const struct legacy *l, struct buf *out)
{
    struct writer w = {.out = out};
    put_header(&w, l);
    for (size_t i = 0; i < l->mapping_count; i++)
        put_mapping(&w, &l->mappings[i], i + 1);
    for (size_t i = 0; i < l->function_count; i++)
        put_function(&w, &l->functions[i], i + 1);
    for (size_t i = 0; i < l->order_count; i++)
        put_location(&w, &l->locations[l->order[i]]);
    for (size_t i = 0; i < l->sample_count && buf_ok(out); i++)
        put_sample(&w, l, &l->samples[i]);
}
