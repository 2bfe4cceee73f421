// SPDX-License-Identifier: Apache-2.0
#include "exporters/otlp_encode.h"
#include "exporters/otlp_layouts.h"

#include "base/clean_text.h"
#include "base/mem.h"
#include "codec/otlp_decode_layout.h"
#include "codec/otlp_origin.h"
#include "profile/merge.h"
#include "profile/origin.h"

#include <inttypes.h>

enum {
    MOST_NAME_BYTES = 80,
    LEAST_PART_BYTES = 512,            // half of the smallest max_request_bytes
    LEAST_DOUBTFUL_PART_BYTES = 65536, // of a refusal that may be a quota
    SHARED_DICTIONARY = 64,            // so many parts may share a dictionary before they get their own
    MOST_IN_VAIN = 16,                 // times the whole: what requests that turn out too large may add up to
};
#define LARGEST_REQUEST ((size_t)INT32_MAX) // of protobuf

static const struct metric_family too_large_family = {
    "profrelay_exporter_too_large_profile_samples",
    "Samples dropped because a request with one of them alone is too large.", METRIC_COUNTER};

void otlp_encode_init(struct otlp_exporter *x)
{
    const struct component *c = &x->exporter.component;
    const struct metric_label label = {"exporter", c->id};
    atomic_init(&x->taken_bytes, SIZE_MAX);
    x->refused_bytes = SIZE_MAX;
    x->too_large = metrics_series(c->env->metrics, &too_large_family, &label, 1);
}

// --- one request ---

// raw becomes the body, compressed if so configured; raw is emptied.
static enum err_code make_body(struct otlp_exporter *x, struct buf *raw, struct buf *body, struct err *e)
{
    if (otlp_compression(x->settings) == COMPRESSION_NONE) {
        *body = *raw;
        buf_init(raw, 0);
        return ERR_OK;
    }
    return worker_compressors_run(&x->compressors, buf_bytes(raw), body, e);
}

// The body moves into the record.
static struct record *record_of(const struct otlp_exporter *x, const struct batch *batch, struct buf *body,
                                size_t raw_bytes)
{
    size_t len;
    uint8_t *data = buf_take(body, &len);
    struct record *r = record_create(data, len);
    r->compression = (unsigned)otlp_compression(x->settings);
    r->raw_bytes = raw_bytes;
    r->profiles = batch->profile_count;
    r->samples = batch->sample_count;
    return r;
}

static enum err_code make_record(struct otlp_exporter *x, const struct batch *batch, struct buf *raw,
                                 struct record **out, struct err *e)
{
    struct buf body;
    size_t raw_bytes = raw->len;
    buf_init(&body, SIZE_MAX);
    enum err_code rc = make_body(x, raw, &body, e);
    if (rc == ERR_OK)
        *out = record_of(x, batch, &body, raw_bytes);
    buf_fini(&body);
    return rc;
}

// What came in the form it is wanted in goes on as it is. False: it has to be made.
static bool copy_as_came(const struct otlp_exporter *x, const struct batch *batch, const struct otlp_emission *how,
                         size_t limit, struct record **out)
{
    struct bytes came;
    struct buf body;
    size_t raw_bytes;
    if (!otlp_body_as_came(batch, how, otlp_compression(x->settings), &came, &raw_bytes) || raw_bytes > limit)
        return false;
    buf_init(&body, SIZE_MAX);
    buf_add(&body, came.data, came.len);
    bool good = buf_ok(&body);
    if (good)
        *out = record_of(x, batch, &body, raw_bytes);
    buf_fini(&body);
    return good;
}

// Stacks that profiles share are written in each up to 1.7: a small batch could become a very large request, only to be cut.
static size_t largest(enum otlp_layout layout, size_t limit)
{
    return layout < OTLP_LAYOUT_1_8 && limit < LARGEST_REQUEST / MOST_IN_VAIN ? limit * MOST_IN_VAIN : LARGEST_REQUEST;
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
        rc = make_record(x, batch, &raw, out, e);
    if (rc == ERR_OK)
        otlp_layouts_note_lost(x, how->layout, &report);
    buf_fini(&raw);
    return rc;
}

static enum err_code encode_whole(struct otlp_exporter *x, const struct batch *batch, enum otlp_layout layout,
                                  size_t limit, struct record **out, size_t *size_out, struct err *e)
{
    const struct otlp_emission how = otlp_layouts_emission(x, layout);
    enum err_code rc = ERR_OK;
    *size_out = 0;
    if (!copy_as_came(x, batch, &how, limit, out))
        rc = encode_new(x, batch, &how, limit, out, size_out, e);
    if (rc == ERR_OK)
        (*out)->layout = layout;
    return rc;
}

// --- several ---

struct part {
    struct part *next;
    struct batch *batch;
    uint64_t first_profile;      // its place among the profiles of the whole
    uint64_t dictionary_samples; // of the batch that its dictionary was made for
};

struct splitter {
    struct otlp_exporter *x;
    enum otlp_layout layout;
    size_t limit;
    const char *reason; // of the limit, for people, in front of a figure
    size_t figure;
    struct part *todo; // in order
    struct record_list *out;
    bool *sent;             // by profile of the whole: something of it is in a record
    uint64_t profile_count; // of the whole
    uint64_t max_samples;   // a part with more is cut before it is tried, as the last ones tell
    size_t in_vain, may_be_in_vain;
};

static void push(struct splitter *s, const struct part *p)
{
    struct part *top = MEM_NEW(struct part);
    *top = *p;
    top->next = s->todo;
    s->todo = top;
}

static struct part pop(struct splitter *s)
{
    struct part *top = s->todo, p = *top;
    s->todo = top->next;
    free(top);
    return p;
}

// As many samples as would nearly fill a request, if all are as large as those of b. What samples have in common is
// written in each part: after a request that was too large the guess is too high, after one that was not it is safe.
static uint64_t samples_that_fit(const struct splitter *s, const struct batch *b, size_t size)
{
    double wanted = 0.85 * (double)b->sample_count * (double)s->limit / (double)size;
    return wanted < 1 ? 1 : wanted < 1e18 ? (uint64_t)wanted : UINT64_MAX;
}

static void note_too_large(struct splitter *s, const struct batch *b, size_t size)
{
    uint64_t fit = samples_that_fit(s, b, size), half = b->sample_count / 2;
    s->max_samples = fit < half ? fit : half;
    s->in_vain += size;
}

static void note_fits(struct splitter *s, const struct batch *b, size_t size)
{
    uint64_t fit = samples_that_fit(s, b, size);
    if (fit > s->max_samples)
        s->max_samples = fit;
}

static struct bytes text_of(const struct batch *b, uint32_t string)
{
    return b->dictionary->strings[string];
}

static void add_clipped(struct buf *out, struct bytes text)
{
    clean_text_add(out, (struct bytes){text.data, text.len < MOST_NAME_BYTES ? text.len : MOST_NAME_BYTES});
}

// The first profile with samples, or the first of all; NULL: there is none.
static const struct profile *representative(const struct batch *b, const struct resource **resource_out)
{
    const struct profile *first = NULL;
    for (uint32_t r = 0; r < b->resource_count; r++) {
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++) {
            const struct scope *scope = b->resources[r]->scopes[s];
            for (uint32_t p = 0; p < scope->profile_count; p++) {
                const struct profile *profile = &scope->profiles[p];
                if (first != NULL && profile->columns->sample_count == 0)
                    continue;
                first = profile;
                *resource_out = b->resources[r];
                if (profile->columns->sample_count > 0)
                    return first;
            }
        }
    }
    return first;
}

// "1 samples of cpu/nanoseconds, service.name: shop"
static void add_name(struct buf *out, const struct batch *b)
{
    const struct resource *r = NULL;
    const struct profile *p = representative(b, &r);
    buf_add_format(out, "%" PRIu64 " %s", b->sample_count, b->sample_count == 1 ? "sample" : "samples");
    if (p == NULL)
        return;
    buf_add_text(out, " of ");
    add_clipped(out, text_of(b, p->sample_type.type));
    buf_add_text(out, "/");
    add_clipped(out, text_of(b, p->sample_type.unit));
    const struct key_value *name = key_values_find(r->attributes, r->attribute_count, BYTES_LITERAL("service.name"));
    buf_add_text(out, ", service.name: ");
    if (name != NULL && name->value.kind == VALUE_STRING)
        add_clipped(out, name->value.bytes);
}

// size 0 = not known.
static void drop(struct splitter *s, const struct batch *b, size_t size)
{
    struct buf text;
    buf_init(&text, VERDICT_TEXT_MAX * 4);
    if (size != 0)
        buf_add_format(&text, "too large: the request has %zu bytes, %s %zu; dropped: ", size, s->reason, s->figure);
    else
        buf_add_format(&text, "too large: parts are hardly smaller than the whole, %s %zu; dropped: ", s->reason,
                       s->figure);
    add_name(&text, b);
    buf_add_byte(&text, 0);
    const char *words = buf_ok(&text) ? (const char *)text.data : "too large";
    log_error(&s->x->exporter.component.log, "%s", words);
    metric_add(s->x->too_large, (int64_t)b->sample_count);
    record_list_drop(s->out, words);
    buf_fini(&text);
}

// A part writes its share of a dictionary, but looks through all of it: one that has little of it gets its own.
static enum err_code own_dictionary(struct part *p, struct err *e)
{
    if (p->batch->sample_count > p->dictionary_samples / SHARED_DICTIONARY)
        return ERR_OK;
    struct batch *own;
    struct builder *builder = builder_create(0);
    builder_add_batch(builder, p->batch);
    enum err_code rc = builder_finish(builder, &own, e);
    builder_destroy(&builder);
    if (rc != ERR_OK)
        return rc;
    batch_unref(&p->batch);
    p->batch = own;
    p->dictionary_samples = own->sample_count;
    return ERR_OK;
}

static enum err_code cut(struct splitter *s, const struct part *p, struct err *e)
{
    struct part first = *p, second = *p;
    enum err_code rc = batch_split_half(p->batch, &first.batch, &second.batch, e);
    if (rc != ERR_OK)
        return rc;
    second.first_profile += p->batch->profile_count - second.batch->profile_count;
    push(s, &second);
    push(s, &first);
    return ERR_OK;
}

static enum err_code try_part(struct splitter *s, struct part *p, struct err *e)
{
    size_t size;
    struct record *r;
    enum err_code rc = encode_whole(s->x, p->batch, s->layout, s->limit, &r, &size, e);
    if (rc == ERR_OK) {
        note_fits(s, p->batch, r->raw_bytes);
        record_list_add(s->out, r);
        memset(s->sent + p->first_profile, true, p->batch->profile_count);
    }
    if (rc != ERR_LIMIT)
        return rc;
    note_too_large(s, p->batch, size);
    if (p->batch->sample_count <= 1 || s->in_vain > s->may_be_in_vain) {
        drop(s, p->batch, size);
        return ERR_OK;
    }
    return cut(s, p, e);
}

static enum err_code work_off(struct splitter *s, struct err *e)
{
    enum err_code rc = ERR_OK;
    while (s->todo != NULL) {
        struct part p = pop(s);
        if (rc == ERR_OK && s->in_vain > s->may_be_in_vain)
            drop(s, p.batch, 0);
        else if (rc == ERR_OK && (rc = own_dictionary(&p, e)) == ERR_OK)
            rc = p.batch->sample_count > 1 && p.batch->sample_count > s->max_samples ? cut(s, &p, e)
                                                                                     : try_part(s, &p, e);
        batch_unref(&p.batch);
    }
    return rc;
}

static uint64_t count_lost(const struct splitter *s)
{
    uint64_t lost = 0;
    for (uint64_t i = 0; i < s->profile_count; i++)
        lost += !s->sent[i];
    return lost;
}

// size: of the request that is too large; it is not tried again.
static enum err_code encode_parts(struct splitter *s, struct batch *whole, size_t size, struct err *e)
{
    s->profile_count = whole->profile_count;
    s->may_be_in_vain = size > SIZE_MAX / MOST_IN_VAIN ? SIZE_MAX : size * MOST_IN_VAIN;
    s->sent = mem_try_alloc(whole->profile_count + 1);
    if (s->sent == NULL)
        return err_set(e, ERR_MEMORY, "out of memory while splitting a request");
    memset(s->sent, false, whole->profile_count);
    note_too_large(s, whole, size);
    const struct part all = {.batch = batch_ref(whole), .dictionary_samples = whole->sample_count};
    push(s, &all);
    enum err_code rc = work_off(s, e);
    if (rc == ERR_OK)
        s->out->dropped_profiles += count_lost(s);
    free(s->sent);
    return rc;
}

static struct splitter splitter_for(struct otlp_exporter *x, struct record_list *out)
{
    size_t taken = atomic_load_explicit(&x->taken_bytes, memory_order_relaxed);
    size_t allowed = (size_t)x->settings->max_request_bytes;
    size_t limit = taken < allowed ? taken : allowed;
    return (struct splitter){.x = x,
                             .out = out,
                             .layout = otlp_layouts_spoken(x),
                             .limit = limit,
                             .reason = taken < allowed ? "the peer takes about" : "max_request_bytes allows",
                             .figure = limit};
}

bool otlp_exporter_takes_unread(struct exporter *self, const struct batch *batch)
{
    size_t most;
    const struct splitter s = splitter_for((struct otlp_exporter *)self, NULL);
    const struct otlp_emission how = otlp_layouts_emission(s.x, s.layout);
    return !otlp_needs_profiles(batch, &how, &most) && most <= s.limit;
}

static enum err_code encode(struct splitter *s, const struct batch *batch, struct err *e)
{
    struct record *r;
    size_t size;
    enum err_code rc = encode_whole(s->x, batch, s->layout, s->limit, &r, &size, e);
    if (rc == ERR_OK)
        record_list_add(s->out, r);
    if (rc != ERR_LIMIT)
        return rc;
    struct batch *whole = batch_ref((struct batch *)(uintptr_t)batch); // counting it is no change
    rc = batch_open(&whole, otlp_default_limits.max_batch_bytes, e);
    if (rc == ERR_OK)
        rc = encode_parts(s, whole, size, e);
    batch_unref(&whole);
    return rc;
}

enum err_code otlp_exporter_encode(struct exporter *self, const struct batch *batch, struct record_list *out,
                                   struct err *e)
{
    struct splitter s = splitter_for((struct otlp_exporter *)self, out);
    return encode(&s, batch, e);
}

// --- in place of a record ---

static enum err_code read_record(const struct record *r, struct batch **out, struct err *e)
{
    struct buf raw;
    const struct bytes body = {r->data, r->len};
    if (r->compression == COMPRESSION_NONE)
        return otlp_decode_layout(body, (enum otlp_layout)r->layout, &otlp_default_limits, out, NULL, e);
    buf_init(&raw, SIZE_MAX);
    enum err_code rc = decompress((enum compression)r->compression, body, r->raw_bytes, "the request", &raw, e);
    if (rc == ERR_OK)
        rc = otlp_decode_layout(buf_bytes(&raw), (enum otlp_layout)r->layout, &otlp_default_limits, out, NULL, e);
    buf_fini(&raw);
    return rc;
}

// In the layout that it was in.
static enum err_code split_record(struct splitter *s, const struct record *r, struct batch *whole, struct err *e)
{
    s->layout = (enum otlp_layout)r->layout;
    if (r->raw_bytes <= s->limit) {
        s->limit = r->raw_bytes - 1;
        s->reason = "the peer refused one of";
        s->figure = r->raw_bytes;
    }
    return encode_parts(s, whole, r->raw_bytes, e);
}

static void inherit(struct record *to, const struct record *from, const struct verdict *refusal)
{
    to->is_part = from->is_part || refusal->too_large;
    to->refused_layouts = refusal->unreadable ? otlp_layouts_refused(from) : from->refused_layouts;
    to->first_refusal =
        mem_copy_text(from->first_refusal == NULL && refusal->unreadable ? refusal->text : from->first_refusal);
}

enum err_code otlp_exporter_replace(struct exporter *self, const struct record *r, const struct verdict *refusal,
                                    struct record_list *out, struct err *e)
{
    struct batch *whole;
    struct splitter s = splitter_for((struct otlp_exporter *)self, out);
    s.layout = otlp_layouts_after(s.x, r);
    if (refusal->unreadable && s.layout == OTLP_LAYOUT_AUTO)
        return err_set(e, ERR_INVALID, "the peer refuses it in each layout");
    enum err_code rc = read_record(r, &whole, e);
    if (rc != ERR_OK)
        return rc;
    rc = refusal->too_large ? split_record(&s, r, whole, e) : encode(&s, whole, e);
    batch_unref(&whole);
    for (struct record *to = out->head; to != NULL; to = to->next)
        inherit(to, r, refusal);
    return rc;
}

// --- what the peer takes ---

void otlp_blame_size(struct otlp_exporter *x, const struct record *r, bool no_doubt, struct verdict *v)
{
    v->too_large = r->raw_bytes / 2 >= (no_doubt ? LEAST_PART_BYTES : LEAST_DOUBTFUL_PART_BYTES);
    if (!no_doubt)
        return;
    if (r->raw_bytes < x->refused_bytes)
        x->refused_bytes = r->raw_bytes;
    if (r->raw_bytes <= atomic_load_explicit(&x->taken_bytes, memory_order_relaxed))
        atomic_store_explicit(&x->taken_bytes, SIZE_MAX, memory_order_relaxed);
}

void otlp_note_size(struct otlp_exporter *x, const struct record *r, const struct verdict *v)
{
    size_t taken = atomic_load_explicit(&x->taken_bytes, memory_order_relaxed);
    bool no_news = taken != SIZE_MAX && r->raw_bytes <= taken;
    if (v->kind > VERDICT_PARTIAL || !r->is_part || no_news || x->refused_bytes == SIZE_MAX ||
        r->raw_bytes >= x->refused_bytes)
        return;
    if (taken == SIZE_MAX)
        log_warn(
            &x->exporter.component.log,
            "the peer finds requests of %zu bytes (before compression) too large, but takes %zu: splitting to about "
            "that before sending from now on; set max_request_bytes to the peer's limit",
            x->refused_bytes, r->raw_bytes);
    atomic_store_explicit(&x->taken_bytes, r->raw_bytes, memory_order_relaxed);
}
