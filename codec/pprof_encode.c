// SPDX-License-Identifier: Apache-2.0
// From a group of profiles to one pprof file: the fields around the samples.
#include "base/mem.h"
#include "base/text.h"
#include "codec/pprof_writer.h"

static bool one_value_each(const struct profile *p)
{
    const struct observations *o = p->observations;
    return o->sample_count == 0 || (o->values != NULL && o->value_ends == NULL && o->timestamps == NULL);
}

// Without samples there is nothing that would be shared.
static bool same_samples(const struct columns *a, const struct columns *b)
{
    return a == b || (a->sample_count == 0 && b->sample_count == 0);
}

static bool same_file(const struct profile *a, const struct profile *b)
{
    return same_samples(a->columns, b->columns) && a->time_nanos == b->time_nanos &&
           a->duration_nanos == b->duration_nanos && a->period == b->period &&
           a->period_type.type == b->period_type.type && a->period_type.unit == b->period_type.unit &&
           a->attribute_set == b->attribute_set;
}

uint32_t pprof_group(const struct scope *s, uint32_t first)
{
    if (first >= s->profile_count)
        return 0;
    const struct profile *p = &s->profiles[first];
    uint32_t n = 1;
    if (!one_value_each(p))
        return n;
    while (n < s->profile_count - first && same_file(p, p + n) && one_value_each(p + n))
        n++;
    return n;
}

uint64_t pprof_group_count(const struct batch *b)
{
    uint64_t count = 0;
    for (uint32_t r = 0; r < b->resource_count; r++)
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++)
            for (uint32_t first = 0, n; (n = pprof_group(b->resources[r]->scopes[s], first)) != 0; first += n)
                count++;
    return count;
}

struct comment {
    int64_t position;
    uint64_t string;
};

// Profile's own fields, numbers of strings where pprof wants them.
struct header {
    uint64_t drop_frames, keep_frames, doc_url, default_sample_type;
    int64_t time_nanos;
    struct comment *comments;
    size_t comment_count, comment_capacity;
    uint32_t *position; // position[t] = the profile that is sample type t
};

static void header_fini(struct header *h)
{
    free(h->comments);
    free(h->position);
}

static bool add_comment(struct pprof_writer *w, struct header *h, int64_t position, const struct value *v)
{
    void *comments = h->comments;
    if (v->kind != VALUE_STRING)
        return false;
    if (!mem_try_grow(&comments, &h->comment_capacity, h->comment_count + 1, sizeof *h->comments, UINT32_MAX)) {
        w->no_memory = true;
        return false;
    }
    h->comments = comments;
    h->comments[h->comment_count++] = (struct comment){position, pprof_put_text(w, v->bytes)};
    return true;
}

static void add_comments(struct pprof_writer *w, struct header *h, const struct value *v)
{
    if (v->kind != VALUE_ARRAY) {
        w->lost += !add_comment(w, h, 0, v);
        return;
    }
    for (uint32_t i = 0; i < v->count; i++)
        w->lost += !add_comment(w, h, i, &v->items[i]);
}

// "pprof.profile.comment.7", as the Collector's own translator spells the comments.
static bool numbered_comment(struct bytes key, int64_t *position)
{
    struct bytes prefix = BYTES_LITERAL("pprof.profile.comment.");
    char digits[20];
    size_t n = key.len - prefix.len;
    if (key.len <= prefix.len || n >= sizeof digits || memcmp(key.data, prefix.data, prefix.len) != 0)
        return false;
    memcpy(digits, key.data + prefix.len, n);
    digits[n] = '\0';
    return int64_parse(digits, position);
}

static int compare_comments(const void *left, const void *right)
{
    const struct comment *a = left, *b = right;
    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    return a->string < b->string ? -1 : a->string > b->string;
}

static bool text_field(struct pprof_writer *w, struct header *h, struct bytes key, const struct value *v)
{
    uint64_t *to = NULL;
    if (bytes_equal_text(key, "pprof.profile.drop_frames"))
        to = &h->drop_frames;
    else if (bytes_equal_text(key, "pprof.profile.keep_frames"))
        to = &h->keep_frames;
    else if (bytes_equal_text(key, "pprof.profile.doc_url"))
        to = &h->doc_url;
    if (to == NULL || v->kind != VALUE_STRING)
        return false;
    *to = pprof_put_text(w, v->bytes);
    return true;
}

static void read_attribute(struct pprof_writer *w, struct header *h, const struct batch_attribute *a)
{
    struct bytes key = pprof_attribute_key(w, a);
    int64_t position;
    if (text_field(w, h, key, &a->value))
        return;
    if (bytes_equal_text(key, "pprof.profile.comment"))
        add_comments(w, h, &a->value);
    else if (bytes_equal_text(key, "pprof.profile.time_nanos") && a->value.kind == VALUE_INT)
        h->time_nanos = a->value.integer;
    else if (!numbered_comment(key, &position) || !add_comment(w, h, position, &a->value))
        w->lost++;
}

// The scope may say how the types stood in the original; it counts only when it fits this group.
static bool restore_order(const struct scope *s, struct header *h, uint32_t count)
{
    const struct key_value *order =
        key_values_find(s->attributes, s->attribute_count, BYTES_LITERAL("pprof.scope.sample_type_order"));
    if (order == NULL || order->value.kind != VALUE_ARRAY || order->value.count != count)
        return false;
    for (uint32_t k = 0; k < count; k++) {
        const struct value *v = &order->value.items[k];
        if (v->kind != VALUE_INT || v->integer < 0 || v->integer >= count || h->position[v->integer] != PPROF_NONE)
            return false;
        h->position[v->integer] = k;
    }
    return true;
}

static bool set_order(struct pprof_writer *w, const struct scope *s, struct header *h)
{
    size_t size = w->count * sizeof *h->position;
    h->position = mem_try_alloc(size);
    if (h->position == NULL) {
        w->no_memory = true;
        return false;
    }
    memset(h->position, 0xff, size);
    if (restore_order(s, h, w->count))
        return true;
    for (uint32_t t = 0; t < w->count; t++)
        h->position[t] = t;
    return false;
}

static struct bytes type_name(struct pprof_writer *w, struct bytes name)
{
    if (!w->how->plain_types || name.len == 0 || memchr(name.data, '-', name.len) == NULL)
        return name;
    uint8_t *plain = arena_try_alloc(&w->texts, name.len);
    if (plain == NULL) {
        w->no_memory = true;
        return name;
    }
    for (size_t i = 0; i < name.len; i++)
        plain[i] = name.data[i] == '-' ? '_' : name.data[i];
    return (struct bytes){plain, name.len};
}

// Without a word about it OTLP means the first profile, pprof the last type.
static void set_default(struct pprof_writer *w, const struct scope *s, struct header *h, bool ordered)
{
    const struct key_value *name =
        key_values_find(s->attributes, s->attribute_count, BYTES_LITERAL("pprof.scope.default_sample_type"));
    if (name != NULL && name->value.kind == VALUE_STRING)
        h->default_sample_type = pprof_put_text(w, type_name(w, name->value.bytes));
    else if (!ordered && w->count > 1)
        h->default_sample_type = pprof_put_text(w, type_name(w, w->d->strings[w->profiles->sample_type.type]));
}

static void read_header(struct pprof_writer *w, const struct scope *s, struct header *h)
{
    uint32_t set = w->profiles->attribute_set;
    h->time_nanos = (int64_t)w->profiles->time_nanos;
    for (uint32_t i = 0; i < w->d->attribute_sets[set].count; i++)
        read_attribute(w, h, pprof_attribute_at(w, set, i));
    if (w->how->time_nanos != 0)
        h->time_nanos = w->how->time_nanos;
    if (h->comment_count > 1)
        qsort(h->comments, h->comment_count, sizeof *h->comments, compare_comments);
    set_default(w, s, h, set_order(w, s, h));
}

static void write_type(struct pprof_writer *w, uint32_t field, struct bytes name, struct value_type type)
{
    size_t start = wire_begin(w->out, field);
    wire_put_uint(w->out, 1, pprof_put_text(w, name));
    wire_put_uint(w->out, 2, pprof_put_string(w, type.unit));
    wire_end(w->out, start);
}

static void write_comments(struct pprof_writer *w, const struct header *h)
{
    if (h->comment_count == 0)
        return;
    size_t start = wire_begin(w->out, 13);
    for (size_t i = 0; i < h->comment_count; i++)
        wire_put_varint(w->out, h->comments[i].string);
    wire_end(w->out, start);
}

static void write_header(struct pprof_writer *w, const struct header *h)
{
    const struct profile *p = w->profiles;
    wire_put_uint(w->out, 7, h->drop_frames);
    wire_put_uint(w->out, 8, h->keep_frames);
    wire_put_uint(w->out, 9, (uint64_t)h->time_nanos);
    wire_put_uint(w->out, 10, p->duration_nanos);
    if (p->period_type.type != 0 || p->period_type.unit != 0)
        write_type(w, 11, w->d->strings[p->period_type.type], p->period_type);
    wire_put_uint(w->out, 12, (uint64_t)p->period);
    write_comments(w, h);
    wire_put_uint(w->out, 14, h->default_sample_type);
    wire_put_uint(w->out, 15, h->doc_url);
}

static void write_file(struct pprof_writer *w, const struct header *h)
{
    for (uint32_t t = 0; t < w->count; t++) {
        const struct value_type type = w->profiles[h->position[t]].sample_type;
        write_type(w, 1, type_name(w, w->d->strings[type.type]), type);
    }
    pprof_write_samples(w, h->position);
    pprof_write_mappings(w);
    pprof_write_locations(w);
    pprof_write_functions(w);
    pprof_put_string(w, w->profiles->period_type.type);
    pprof_put_string(w, w->profiles->period_type.unit);
    pprof_write_strings(w);
    write_header(w, h);
}

static enum err_code result(const struct pprof_writer *w, struct err *e)
{
    if (w->out->too_large)
        return err_set(e, ERR_LIMIT, "the profile as pprof takes more than the %zu bytes allowed", w->out->max_bytes);
    if (pprof_writer_failed(w))
        return err_set(e, ERR_MEMORY, "out of memory while writing a pprof profile");
    return ERR_OK;
}

enum err_code pprof_encode_as(const struct batch *b, const struct scope *s, uint32_t first, uint32_t count,
                              const struct pprof_emission *how, struct buf *out, uint64_t *lost_out, struct err *e)
{
    CHECK(count > 0 && first < s->profile_count && count <= s->profile_count - first);
    struct pprof_writer w = {
        .d = b->dictionary, .profiles = &s->profiles[first], .count = count, .how = how, .out = out};
    struct header h = {.comments = NULL};
    for (uint32_t i = 1; i < count; i++)
        CHECK(same_samples(w.profiles[i].columns, w.profiles->columns));
    size_t start = out->len;
    buf_init(&w.labels, SIZE_MAX / 2);
    arena_init(&w.texts, 0);
    pprof_number_items(&w);
    if (!w.no_memory)
        read_header(&w, s, &h);
    if (!w.no_memory)
        write_file(&w, &h);
    enum err_code code = result(&w, e);
    if (code != ERR_OK)
        out->len = start;
    if (lost_out != NULL)
        *lost_out = w.lost;
    header_fini(&h);
    pprof_writer_fini(&w);
    return code;
}

enum err_code pprof_encode(const struct batch *b, const struct scope *s, uint32_t first, uint32_t count,
                           struct buf *out, uint64_t *lost_out, struct err *e)
{
    static const struct pprof_emission as_it_is = {.plain_types = false};
    return pprof_encode_as(b, s, first, count, &as_it_is, out, lost_out, e);
}
