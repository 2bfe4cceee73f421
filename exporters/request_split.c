// SPDX-License-Identifier: Apache-2.0
#include "exporters/request_split.h"

#include "base/clean_text.h"
#include "base/mem.h"
#include "profile/merge.h"

#include <inttypes.h>

enum {
    MOST_NAME_BYTES = 80,
    SHARED_DICTIONARY = 64, // so many parts may share a dictionary before they get their own
};

struct part {
    struct part *next;
    struct batch *batch;
    uint64_t first_profile;      // its place among the profiles of the whole
    uint64_t dictionary_samples; // of the batch that its dictionary was made for
};

struct splitter {
    const struct request_splitter *how;
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
    double wanted = 0.85 * (double)b->sample_count * (double)s->how->limit.bytes / (double)size;
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
        buf_add_format(&text, "too large: the request has %zu bytes, %s %zu; dropped: ", size, s->how->limit.reason,
                       s->how->limit.figure);
    else
        buf_add_format(&text,
                       "too large: parts are hardly smaller than the whole, %s %zu; dropped: ", s->how->limit.reason,
                       s->how->limit.figure);
    add_name(&text, b);
    buf_add_byte(&text, 0);
    const char *words = buf_ok(&text) ? (const char *)text.data : "too large";
    log_error(&s->how->x->exporter.component.log, "%s", words);
    metric_add(s->how->x->too_large, (int64_t)b->sample_count);
    record_list_drop(s->out, words);
    buf_fini(&text);
}

// A part writes its share of a dictionary, but looks through all of it: one that has little of it gets its own.
static enum err_code own_dictionary(struct part *p, struct err *e)
{
    if (p->batch->sample_count > p->dictionary_samples / SHARED_DICTIONARY)
        return ERR_OK;
    enum err_code rc = batch_own_dictionary(&p->batch, e);
    if (rc == ERR_OK)
        p->dictionary_samples = p->batch->sample_count;
    return rc;
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
    enum err_code rc = s->how->encode(s->how, p->batch, &r, &size, e);
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

enum err_code request_split(const struct request_splitter *how, struct batch *whole, size_t size,
                            struct record_list *out, struct err *e)
{
    struct splitter s = {.how = how,
                         .out = out,
                         .profile_count = whole->profile_count,
                         .may_be_in_vain =
                             size > SIZE_MAX / REQUEST_MOST_IN_VAIN ? SIZE_MAX : size * REQUEST_MOST_IN_VAIN};
    s.sent = mem_try_alloc(whole->profile_count + 1);
    if (s.sent == NULL)
        return err_set(e, ERR_MEMORY, "out of memory while splitting a request");
    memset(s.sent, false, whole->profile_count);
    note_too_large(&s, whole, size);
    const struct part all = {.batch = batch_ref(whole), .dictionary_samples = whole->sample_count};
    push(&s, &all);
    enum err_code rc = work_off(&s, e);
    if (rc == ERR_OK)
        out->dropped_profiles += count_lost(&s);
    free(s.sent);
    return rc;
}
