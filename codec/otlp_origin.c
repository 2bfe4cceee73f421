// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_origin.h"

#include "base/mem.h"
#include "codec/otlp_reader.h"
#include "codec/otlp_splice.h"

#include <stdlib.h>

struct bytes otlp_arrival_request(const struct otlp_arrival *a)
{
    return a->compression == COMPRESSION_NONE ? a->body : buf_bytes(&a->inflated);
}

void otlp_arrival_fini(struct otlp_arrival *a)
{
    free(a->buffer);
    buf_fini(&a->inflated);
    *a = (struct otlp_arrival){.compression = COMPRESSION_NONE};
}

static enum err_code read_origin(const struct origin *self, size_t max_bytes, struct batch **out, struct err *e)
{
    const struct otlp_origin *o = (const struct otlp_origin *)self;
    struct otlp_limits limits = o->limits;
    limits.max_batch_bytes = max_bytes;
    return otlp_decode(otlp_arrival_request(&o->arrival), &limits, out, e);
}

static void destroy_origin(struct origin *self)
{
    struct otlp_origin *o = (struct otlp_origin *)self;
    origin_fini(self);
    otlp_arrival_fini(&o->arrival);
    free(o);
}

static const struct origin_type otlp_origin_type = {read_origin, destroy_origin};

const struct otlp_origin *otlp_origin_of(const struct batch *b)
{
    return b->origin != NULL && b->origin->type == &otlp_origin_type ? (const struct otlp_origin *)b->origin : NULL;
}

struct bytes otlp_origin_request(const struct otlp_origin *o)
{
    return otlp_arrival_request(&o->arrival);
}

static struct resource **resources_of(const struct batch *b)
{
    struct resource **list = mem_try_array(b->resource_count, sizeof(struct resource *));
    for (uint32_t i = 0; list != NULL && i < b->resource_count; i++)
        list[i] = resource_ref(b->resources[i]);
    return list;
}

static size_t resources_bytes(const struct batch *b)
{
    return batch_memory_bytes(b) - b->dictionary->bytes;
}

// Gives back what is to spare, as far as that costs nothing.
static void shrink(struct otlp_arrival *a)
{
    size_t before = (size_t)(a->body.data - a->buffer);
    struct buf *b = &a->inflated;
    uint8_t *buffer = mem_try_realloc(a->buffer, before + a->body.len);
    if (buffer != NULL) {
        a->buffer = buffer;
        a->body.data = buffer + before;
    }
    uint8_t *data = b->capacity - b->len > b->len / 8 ? mem_try_realloc(b->data, b->len) : NULL;
    if (data != NULL) {
        b->data = data;
        b->capacity = b->len;
    }
}

// Takes over the index; not yet the arrival, which the caller needs when something fails.
static struct origin *new_origin(const struct otlp_limits *limits, struct otlp_index *index,
                                 const struct batch *containers)
{
    struct otlp_origin *o = mem_try_alloc(sizeof *o);
    struct resource **resources = o == NULL ? NULL : resources_of(containers);
    if (resources == NULL) {
        free(o);
        return NULL;
    }
    *o = (struct otlp_origin){
        .limits = *limits, .references = index->references, .attribute_references = index->attribute_references};
    CHECK(origin_init(&o->origin, &otlp_origin_type, resources, index->counts, containers->resource_count));
    o->origin.bytes = sizeof *o + index->resource_count * sizeof *index->counts + resources_bytes(containers);
    index->counts = NULL;
    return &o->origin;
}

static void take_arrival(struct otlp_origin *o, struct otlp_arrival *a)
{
    shrink(a);
    o->origin.bytes += a->inflated.capacity + a->body.len;
    o->arrival = *a;
    *a = (struct otlp_arrival){.compression = COMPRESSION_NONE};
}

// The unread batch of a request that is in order; NULL: it is not, or memory is out.
static struct batch *take_as_it_is(struct otlp_arrival *a, const struct decode_options *options)
{
    const struct otlp_limits limits = otlp_limits_of(options);
    struct otlp_index index;
    struct bytes request = otlp_arrival_request(a);
    if (!otlp_check(request, &limits, &index))
        return NULL;
    struct batch *containers = otlp_decode_containers(request, &limits, index.references);
    struct origin *o = containers == NULL ? NULL : new_origin(&limits, &index, containers);
    struct batch *b = o == NULL ? NULL : origin_batch(o);
    if (b != NULL && otlp_set_resource_attributes(options, &b, NULL) != ERR_OK)
        batch_unref(&b);
    if (b != NULL)
        take_arrival((struct otlp_origin *)o, a);
    origin_unref(&o);
    batch_unref(&containers);
    free(index.counts);
    return b;
}

enum err_code otlp_arrive(struct otlp_arrival *a, const struct decode_options *options, struct batch **out,
                          struct decode_report *report, struct err *e)
{
    struct otlp_layout_finding found;
    enum err_code code = otlp_admit_layout(otlp_arrival_request(a), options, &found, e);
    *out = NULL;
    if (code != ERR_OK)
        return code;
    if (found.layout == OTLP_LAYOUT_CURRENT && options->fallback_time_nanos == 0)
        *out = take_as_it_is(a, options);
    if (*out == NULL)
        return otlp_request_decode(otlp_arrival_request(a), &found, options, out, report, e);
    report->layout = found;
    report->samples = (*out)->sample_count;
    report->sample_types = (*out)->profile_count;
    return ERR_OK;
}

bool otlp_body_as_came(const struct batch *b, const struct otlp_emission *how, enum compression compression,
                       struct bytes *body_out, size_t *raw_bytes_out)
{
    const struct otlp_origin *o = otlp_origin_of(b);
    if (o == NULL || !otlp_origin_serves(o, how) || (o->references && !how->string_references) ||
        o->arrival.compression != compression || !batch_as_came(b))
        return false;
    *body_out = o->arrival.body;
    *raw_bytes_out = otlp_arrival_request(&o->arrival).len;
    return true;
}

bool otlp_needs_profiles(const struct batch *b, const struct otlp_emission *how, size_t *most_out)
{
    *most_out = 0;
    if (!otlp_can_splice(b, how))
        return true;
    *most_out = otlp_origin_request(otlp_origin_of(b)).len + otlp_splice_growth(b, how);
    return false;
}
