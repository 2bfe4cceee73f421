// SPDX-License-Identifier: Apache-2.0
#include "exporters/otlp_encode.h"
#include "exporters/otlp_layouts.h"

#include "base/mem.h"
#include "codec/otlp_decode_layout.h"
#include "codec/otlp_origin.h"
#include "exporters/request_record.h"
#include "exporters/request_split.h"
#include "profile/merge.h"
#include "profile/origin.h"

#define LARGEST_REQUEST ((size_t)INT32_MAX) // of protobuf

// --- one request ---

// What came in the form it is wanted in goes on as it is. False: it has to be made.
static bool copy_as_came(const struct otlp_exporter *x, const struct batch *batch, const struct otlp_emission *how,
                         size_t limit, struct record **out)
{
    struct bytes came;
    struct buf body;
    size_t raw_bytes;
    if (!otlp_body_as_came(batch, how, http_exporter_compression(x->http.settings), &came, &raw_bytes) ||
        raw_bytes > limit)
        return false;
    buf_init(&body, SIZE_MAX);
    buf_add(&body, came.data, came.len);
    bool good = buf_ok(&body);
    if (good)
        *out = request_record_of(&x->http, &body, raw_bytes);
    buf_fini(&body);
    return good;
}

// Stacks that profiles share are written in each up to 1.7: a small batch could become a very large request, only to be cut.
static size_t largest(enum otlp_layout layout, size_t limit)
{
    return layout < OTLP_LAYOUT_1_8 && limit < LARGEST_REQUEST / REQUEST_MOST_IN_VAIN ? limit * REQUEST_MOST_IN_VAIN
                                                                                      : LARGEST_REQUEST;
}

// ERR_LIMIT: the request would have *size_out bytes, more than the limit.
static enum err_code encode_new(struct otlp_exporter *x, const struct batch *batch, const struct otlp_emission *how,
                                size_t limit, struct record **out, size_t *size_out, struct err *e)
{
    struct buf raw;
    struct otlp_emission_report report;
    buf_init(&raw, largest(how->layout, limit));
    enum err_code rc = otlp_encode_as(batch, how, &raw, &report, e);
    *size_out = rc == ERR_LIMIT ? raw.max_bytes : raw.len;
    if (rc == ERR_OK && raw.len > limit)
        rc = err_set(e, ERR_LIMIT, "the request has %zu bytes, allowed are %zu", raw.len, limit);
    if (rc == ERR_OK)
        rc = request_record_make(&x->http, &raw, out, e);
    if (rc == ERR_OK)
        otlp_layouts_note_lost(x, how->layout, &report);
    buf_fini(&raw);
    return rc;
}

// A splitter of ours.
struct splitter {
    struct request_splitter base;
    struct otlp_exporter *exporter;
    enum otlp_layout layout;
};

static enum err_code encode_whole(const struct request_splitter *self, const struct batch *batch, struct record **out,
                                  size_t *size_out, struct err *e)
{
    const struct splitter *s = (const struct splitter *)self;
    const struct otlp_emission how = otlp_layouts_emission(s->exporter, s->layout);
    const size_t limit = self->limit.bytes;
    enum err_code rc = ERR_OK;
    *size_out = 0;
    if (!copy_as_came(s->exporter, batch, &how, limit, out))
        rc = encode_new(s->exporter, batch, &how, limit, out, size_out, e);
    if (rc != ERR_OK)
        return rc;
    (*out)->layout = s->layout;
    (*out)->profiles = batch->profile_count;
    (*out)->samples = batch->sample_count;
    (*out)->is_divisible = batch->resource_count > 1;
    return ERR_OK;
}

static struct splitter splitter_for(struct exporter *self)
{
    struct otlp_exporter *x = (struct otlp_exporter *)self;
    const struct request_limit limit = request_size_limit(&x->http);
    return (struct splitter){{&x->http, limit, encode_whole}, x, otlp_layouts_spoken(x)};
}

static bool takes_unread(struct exporter *self, const struct batch *batch)
{
    size_t most;
    const struct splitter s = splitter_for(self);
    const struct otlp_emission how = otlp_layouts_emission(s.exporter, s.layout);
    return !otlp_needs_profiles(batch, &how, &most) && most <= s.base.limit.bytes;
}

static enum err_code encode(const struct splitter *s, const struct batch *batch, struct record_list *out, struct err *e)
{
    struct record *r;
    size_t size;
    enum err_code rc = encode_whole(&s->base, batch, &r, &size, e);
    if (rc == ERR_OK)
        record_list_add(out, r);
    if (rc != ERR_LIMIT)
        return rc;
    struct batch *whole = batch_ref((struct batch *)(uintptr_t)batch); // counting it is no change
    rc = batch_open(&whole, otlp_default_limits.max_batch_bytes, e);
    if (rc == ERR_OK)
        rc = request_split(&s->base, whole, size, out, e);
    batch_unref(&whole);
    return rc;
}

static enum err_code encode_batch(struct exporter *self, const struct batch *batch, struct record_list *out,
                                  struct err *e)
{
    const struct splitter s = splitter_for(self);
    return encode(&s, batch, out, e);
}

// --- in place of a record ---

static enum err_code read_record(const struct record *r, struct batch **out, struct err *e)
{
    struct buf raw;
    struct bytes body;
    buf_init(&raw, SIZE_MAX);
    enum err_code rc = request_record_read(r, &raw, &body, e);
    if (rc == ERR_OK)
        rc = otlp_decode_layout(body, (enum otlp_layout)r->layout, &otlp_default_limits, out, NULL, e);
    buf_fini(&raw);
    return rc;
}

// In the layout that it was in.
static enum err_code split_record(struct splitter *s, const struct record *r, struct batch *whole,
                                  struct record_list *out, struct err *e)
{
    s->layout = (enum otlp_layout)r->layout;
    request_size_refused(&s->base.limit, r);
    return request_split(&s->base, whole, r->raw_bytes, out, e);
}

// Between resources, again and again until what the peer finds faulty is alone. In the layout that it was in.
static enum err_code halve_record(struct splitter *s, const struct record *r, struct batch *whole,
                                  struct record_list *out, struct err *e)
{
    const uint32_t middle = whole->resource_count / 2, ends[] = {0, middle, whole->resource_count};
    enum err_code rc = ERR_OK;
    s->layout = (enum otlp_layout)r->layout;
    for (size_t i = 0; rc == ERR_OK && i < 2; i++) {
        struct batch *half;
        rc = batch_select_resources(whole, ends[i], ends[i + 1] - ends[i], &half, e);
        if (rc != ERR_OK)
            break;
        rc = encode(s, half, out, e);
        batch_unref(&half);
    }
    return rc;
}

static void inherit(struct record *to, const struct record *from, const struct verdict *refusal)
{
    request_record_inherit(to, from, refusal);
    to->refused_layouts = refusal->unreadable ? otlp_layouts_refused(from) : from->refused_layouts;
    to->first_refusal =
        mem_copy_text(from->first_refusal == NULL && refusal->unreadable ? refusal->text : from->first_refusal);
}

static enum err_code replace(struct exporter *self, const struct record *r, const struct verdict *refusal,
                             struct record_list *out, struct err *e)
{
    struct batch *whole;
    struct splitter s = splitter_for(self);
    s.layout = otlp_layouts_after(s.exporter, r);
    if (refusal->unreadable && s.layout == OTLP_LAYOUT_AUTO)
        return err_set(e, ERR_INVALID, "the peer refuses it in each layout");
    enum err_code rc = read_record(r, &whole, e);
    if (rc != ERR_OK)
        return rc;
    if (refusal->too_large)
        rc = split_record(&s, r, whole, out, e);
    else if (refusal->faulty)
        rc = halve_record(&s, r, whole, out, e);
    else
        rc = encode(&s, whole, out, e);
    batch_unref(&whole);
    for (struct record *to = out->head; to != NULL; to = to->next)
        inherit(to, r, refusal);
    return rc;
}

const struct http_exporter_encoder otlp_encoder = {
    .encode = encode_batch,
    .takes_unread = takes_unread,
    .replace = replace,
    .size_key = "max_request_bytes",
    .size_allowed = "max_request_bytes allows",
};
