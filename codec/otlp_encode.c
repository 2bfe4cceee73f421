// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_emit.h"
#include "codec/otlp_splice.h"
#include "codec/otlp_writer.h"

#include "base/mem.h"

#include <stdlib.h>

static void write_dropped_count(struct otlp_writer *w, unsigned number, uint32_t count)
{
    if (otlp_room(w, 1 + OTLP_MAX_VARINT))
        w->at = otlp_put_uint(w->at, number, count);
}

void otlp_write_scope(struct otlp_writer *w, const struct scope *s)
{
    struct otlp_open scope = otlp_begin(w, 1, 0);
    otlp_text_field(w, 1, s->name);
    otlp_text_field(w, 2, s->version);
    for (uint32_t i = 0; i < s->attribute_count; i++)
        otlp_write_entry(w, 3, &s->attributes[i]);
    write_dropped_count(w, 4, s->dropped_attributes_count);
    otlp_end(w, scope);
}

static void write_scope_profiles(struct otlp_writer *w, const struct scope *s)
{
    struct otlp_open container = otlp_begin(w, 2, s->profile_count == 0 ? 0 : 1 << 14);
    otlp_write_scope(w, s);
    for (uint32_t i = 0; i < s->profile_count && !w->out->failed; i++)
        otlp_write_profile(w, &s->profiles[i]);
    otlp_text_field(w, 3, s->schema_url);
    otlp_end(w, container);
}

static void write_entity_ref(struct otlp_writer *w, struct bytes encoded)
{
    if (otlp_room(w, 1 + OTLP_MAX_VARINT + encoded.len))
        w->at = otlp_put_bytes(w->at, 3, encoded);
}

void otlp_write_resource(struct otlp_writer *w, const struct resource *r)
{
    struct otlp_open resource = otlp_begin(w, 1, r->attribute_count == 0 ? 0 : 0x80);
    for (uint32_t i = 0; i < r->attribute_count; i++)
        otlp_write_entry(w, 1, &r->attributes[i]);
    write_dropped_count(w, 2, r->dropped_attributes_count);
    for (uint32_t i = 0; i < r->entity_ref_count; i++)
        write_entity_ref(w, r->entity_refs[i]);
    otlp_end(w, resource);
}

static void write_resource_profiles(struct otlp_writer *w, const struct resource *r)
{
    struct otlp_open container = otlp_begin(w, 1, r->scope_count == 0 ? 0 : 1 << 14);
    otlp_write_resource(w, r);
    for (uint32_t i = 0; i < r->scope_count && !w->out->failed; i++)
        write_scope_profiles(w, r->scopes[i]);
    otlp_text_field(w, 3, r->schema_url);
    otlp_end(w, container);
}

const struct otlp_emission otlp_plain_emission = {.layout = OTLP_LAYOUT_CURRENT};

static void invert(const uint8_t *today, size_t count, uint8_t *numbers)
{
    for (size_t i = 1; i < count; i++)
        if (today[i] != 0)
            numbers[today[i]] = (uint8_t)i;
}

// Also once it failed there is something to forget.
static enum err_code prepare(struct otlp_writer *w, const struct batch *b, const struct otlp_emission *how,
                             struct err *e)
{
    const struct otlp_numbers *numbers = &otlp_numbers[how->layout];
    const uint32_t sets = b->dictionary->attribute_set_count;
    w->batch = b;
    w->how = how;
    invert(numbers->sample, sizeof numbers->sample, w->sample);
    invert(numbers->profile, sizeof numbers->profile, w->profile);
    buf_init(&w->sets.pool, UINT32_MAX - OTLP_SET_SLACK);
    enum err_code code = prune_init(&w->prune, b, e);
    if (code != ERR_OK)
        return code;
    w->sets.start_plus_one = mem_try_array(sets, sizeof(uint32_t));
    if (w->sets.start_plus_one == NULL || (how->layout < OTLP_LAYOUT_1_8 && !otlp_old_writer_init(w)) ||
        (how->string_references && how->layout == OTLP_LAYOUT_CURRENT && !otlp_texts_init(w)))
        return err_set(e, ERR_MEMORY, "out of memory while encoding an OTLP request");
    memset(w->sets.start_plus_one, 0, sets * sizeof(uint32_t));
    return ERR_OK;
}

static void forget(struct otlp_writer *w)
{
    otlp_old_writer_fini(w);
    otlp_texts_fini(w);
    prune_fini(&w->prune);
    free(w->sets.start_plus_one);
    buf_fini(&w->sets.pool);
}

static size_t share(const struct prune_table *t, uint32_t count, size_t bytes)
{
    return count == 0 ? 0 : (size_t)((double)bytes * t->kept / count);
}

static size_t profiles_size(const struct batch *b)
{
    size_t size = 0;
    for (uint32_t r = 0; r < b->resource_count; r++)
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++)
            for (uint32_t p = 0; p < b->resources[r]->scopes[s]->profile_count; p++)
                size += 128 + b->resources[r]->scopes[s]->profiles[p].original_payload.len;
    return size + b->sample_count * OTLP_SAMPLE_BYTES;
}

// About what will be written, rather more than less: growing on the way copies everything.
static size_t expected_size(const struct otlp_writer *w)
{
    const struct dictionary *d = w->batch->dictionary;
    const struct prune *p = &w->prune;
    return profiles_size(w->batch) +
           share(&p->stacks, d->stack_count, d->stack_byte_count + d->stack_count * (size_t)4) +
           share(&p->locations, d->location_count, d->location_count * (size_t)12 + d->line_count * (size_t)8) +
           p->functions.kept * (size_t)14 + share(&p->strings, d->string_count, d->arena.total_bytes) +
           (p->strings.kept + p->attributes.kept) * (size_t)8;
}

static void write_batch(struct otlp_writer *w)
{
    w->by_index = w->texts != NULL;
    size_t expected = expected_size(w);
    if (w->out->max_bytes - w->out->len > expected) // a guess: what is too large shows when it is written
        otlp_room(w, expected);
    for (uint32_t i = 0; i < w->batch->resource_count && !w->out->failed; i++)
        write_resource_profiles(w, w->batch->resources[i]);
    w->by_index = false;
    otlp_write_dictionary(w);
}

// One with its profiles and its dictionary.
static enum err_code encode_read(const struct batch *b, const struct otlp_emission *how, struct buf *out,
                                 struct otlp_emission_report *report, struct err *e)
{
    size_t before = out->len;
    struct otlp_writer w;
    otlp_writer_open(&w, out);
    w.report = report;
    enum err_code code = prepare(&w, b, how, e);
    if (code == ERR_OK) {
        write_batch(&w);
        code = otlp_writer_close(&w, e);
    }
    if (code != ERR_OK)
        out->len = before;
    forget(&w);
    return code;
}

enum err_code otlp_encode_as(const struct batch *b, const struct otlp_emission *how, struct buf *out,
                             struct otlp_emission_report *report, struct err *e)
{
    struct otlp_emission_report nobody_asks;
    CHECK(how->layout >= OTLP_LAYOUT_1_7 && how->layout <= OTLP_LAYOUT_CURRENT);
    report = report == NULL ? &nobody_asks : report;
    report->lost = 0;
    report->first[0] = '\0';
    if (b->resource_count == 0)
        return ERR_OK;
    if (otlp_can_splice(b, how))
        return otlp_splice(b, how, out, e);
    struct batch *read = batch_ref((struct batch *)(uintptr_t)b);
    enum err_code code = batch_open(&read, 0, e);
    if (code == ERR_OK)
        code = encode_read(read, how, out, report, e);
    batch_unref(&read);
    return code;
}

enum err_code otlp_encode(const struct batch *b, struct buf *out, struct err *e)
{
    return otlp_encode_as(b, &otlp_plain_emission, out, NULL, e);
}
