// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_splice.h"

#include "base/mem.h"
#include "codec/otlp_writer.h"
#include "profile/value_copy.h"

enum { PART_OVERHEAD = 64 }; // tags and lengths of a part that is written anew

static bool is_entry(const struct key_value *a, const struct key_value *b)
{
    return bytes_equal(a->key, b->key) && value_equal(&a->value, &b->value);
}

// Is all that was there still there? Else the dictionary, where its texts may stand, would tell what was to be hidden.
// What stays keeps its order, so that each is looked for behind the one before; but few are put at another place.
static bool keeps_all(const struct key_value *before, uint32_t count, const struct key_value *now, uint32_t now_count)
{
    uint32_t at = 0;
    for (uint32_t i = 0, steps; i < count; i++, at++) {
        for (steps = 0; steps < now_count && !is_entry(&before[i], &now[at % now_count]); steps++)
            at++;
        if (steps == now_count)
            return false;
    }
    return true;
}

static bool resource_keeps_all(const struct resource *before, const struct resource *now)
{
    if (!keeps_all(before->attributes, before->attribute_count, now->attributes, now->attribute_count))
        return false;
    for (uint32_t i = 0; i < now->scope_count; i++) {
        const struct scope *old = before->scopes[i], *s = now->scopes[i];
        if (!keeps_all(old->attributes, old->attribute_count, s->attributes, s->attribute_count))
            return false;
    }
    return true;
}

static bool has_attributes(const struct otlp_origin *o)
{
    bool has = false;
    for (uint32_t i = 0; i < o->origin.resource_count && !has; i++) {
        const struct resource *r = o->origin.resources[i];
        has = r->attribute_count > 0;
        for (uint32_t s = 0; s < r->scope_count && !has; s++)
            has = r->scopes[s]->attribute_count > 0;
    }
    return has;
}

bool otlp_origin_serves(const struct otlp_origin *o, const struct otlp_emission *how)
{
    if (how->layout != OTLP_LAYOUT_CURRENT || how->zero_link) // otlp_check lets an empty Link 0 through only
        return false;
    return how->string_references ? o->references || !has_attributes(o) : !o->attribute_references;
}

bool otlp_can_splice(const struct batch *b, const struct otlp_emission *how)
{
    const struct otlp_origin *o = otlp_origin_of(b);
    if (o == NULL || !otlp_origin_serves(o, how) || b->resource_count != o->origin.resource_count)
        return false;
    for (uint32_t i = 0; o->references && i < b->resource_count; i++)
        if (!resource_keeps_all(o->origin.resources[i], b->resources[i]))
            return false;
    return true;
}

static bool is_inlined(const struct batch *b, const struct otlp_emission *how)
{
    return otlp_origin_of(b)->references && !how->string_references;
}

static bool is_written_anew(const struct batch *b, uint32_t resource, bool inlined)
{
    return inlined || !batch_resource_as_came(b, resource);
}

static size_t resource_size(const struct resource *r)
{
    size_t size = PART_OVERHEAD + key_values_bytes(r->attributes, r->attribute_count);
    for (uint32_t i = 0; i < r->scope_count; i++)
        size += PART_OVERHEAD + key_values_bytes(r->scopes[i]->attributes, r->scopes[i]->attribute_count);
    return size;
}

size_t otlp_splice_growth(const struct batch *b, const struct otlp_emission *how)
{
    size_t growth = 0;
    for (uint32_t i = 0; i < b->resource_count; i++)
        growth += is_written_anew(b, i, is_inlined(b, how)) ? resource_size(b->resources[i]) : 0;
    return growth;
}

// --- writing ---

struct splice {
    struct otlp_writer w;
    const struct batch *batch;
    bool inlined; // what names strings by index
};

static void copy_bytes(struct otlp_writer *w, const uint8_t *start, const uint8_t *end)
{
    size_t len = (size_t)(end - start);
    if (otlp_room(w, len))
        w->at = otlp_put_raw(w->at, start, len);
}

// Every field of `message` but those of number 1, as it came.
static void copy_other_fields(struct otlp_writer *w, struct bytes message)
{
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, message);
    for (const uint8_t *start = r.at; wire_next(&r, &f); start = r.at)
        if (f.number != 1)
            copy_bytes(w, start, r.at);
}

static void write_scope_profiles(struct splice *p, const struct scope *s, struct bytes message)
{
    struct otlp_open container =
        otlp_begin(&p->w, 2, message.len + key_values_bytes(s->attributes, s->attribute_count));
    otlp_write_scope(&p->w, s);
    copy_other_fields(&p->w, message);
    otlp_end(&p->w, container);
}

static void write_resource_profiles(struct splice *p, uint32_t resource, struct bytes message)
{
    const struct resource *res = p->batch->resources[resource];
    struct otlp_open container = otlp_begin(&p->w, 1, message.len + resource_size(res));
    struct wire_reader r;
    struct wire_field f;
    otlp_write_resource(&p->w, res);
    wire_reader_init(&r, message);
    uint32_t scope = 0;
    for (const uint8_t *start = r.at; wire_next(&r, &f); start = r.at) {
        if (f.number == 1)
            continue;
        if (f.number == 2 && (p->inlined || !batch_scope_as_came(p->batch, resource, scope)))
            write_scope_profiles(p, res->scopes[scope], f.bytes);
        else
            copy_bytes(&p->w, start, r.at);
        scope += f.number == 2;
    }
    otlp_end(&p->w, container);
}

// Runs of what did not change are copied at once.
static void write_request(struct splice *p, struct bytes request)
{
    struct wire_reader r;
    struct wire_field f;
    uint32_t resource = 0;
    wire_reader_init(&r, request);
    const uint8_t *copied = r.at;
    for (const uint8_t *start = r.at; wire_next(&r, &f) && !p->w.out->failed; start = r.at) {
        if (f.number != 1 || !is_written_anew(p->batch, resource++, p->inlined))
            continue;
        copy_bytes(&p->w, copied, start);
        write_resource_profiles(p, resource - 1, f.bytes);
        copied = r.at;
    }
    copy_bytes(&p->w, copied, r.at);
}

enum err_code otlp_splice(const struct batch *b, const struct otlp_emission *how, struct buf *out, struct err *e)
{
    struct bytes request = otlp_origin_request(otlp_origin_of(b));
    struct splice p = {.batch = b, .inlined = is_inlined(b, how)};
    size_t before = out->len, expected = request.len + otlp_splice_growth(b, how);
    otlp_writer_open(&p.w, out);
    if (out->max_bytes - out->len > expected) // a guess: what is too large shows when it is written
        otlp_room(&p.w, expected);
    write_request(&p, request);
    enum err_code code = otlp_writer_close(&p.w, e);
    if (code != ERR_OK)
        out->len = before;
    return code;
}
