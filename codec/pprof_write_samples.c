// SPDX-License-Identifier: Apache-2.0
// Samples of a pprof file being written. The labels of an attribute set are encoded once and then copied.
#include "base/mem.h"
#include "base/text.h"
#include "codec/pprof_writer.h"
#include "profile/stack.h"

// Label: key 1, str 2, num 3, num_unit 4.
static void put_label(struct buf *to, uint64_t key, uint64_t text, int64_t number, uint64_t unit)
{
    size_t start = wire_begin(to, 3);
    wire_put_uint(to, 1, key);
    wire_put_uint(to, 2, text);
    wire_put_uint(to, 3, (uint64_t)number);
    wire_put_uint(to, 4, unit);
    wire_end(to, start);
}

// {"value": number, "unit": text}: how the decoder keeps numbers of one key with unlike units.
static bool number_with_unit(const struct value *v, int64_t *number, struct bytes *unit)
{
    if (v->kind != VALUE_KVLIST || v->count != 2)
        return false;
    const struct key_value *e = v->entries;
    if (!bytes_equal_text(e[0].key, "value") || e[0].value.kind != VALUE_INT || !bytes_equal_text(e[1].key, "unit") ||
        e[1].value.kind != VALUE_STRING)
        return false;
    *number = e[0].value.integer;
    *unit = e[1].value.bytes;
    return true;
}

static bool put_scalar(struct pprof_writer *w, uint64_t key, uint64_t unit, const struct value *v)
{
    struct buf *to = &w->labels;
    struct bytes own_unit;
    int64_t number;
    if (v->kind == VALUE_STRING && v->bytes.len > 0)
        put_label(to, key, pprof_put_text(w, v->bytes), 0, unit);
    else if (v->kind == VALUE_INT)
        put_label(to, key, 0, v->integer, unit);
    else if (v->kind == VALUE_BOOL)
        put_label(to, key, pprof_put_text(w, bytes_from_text(v->boolean ? "true" : "false")), 0, unit);
    else if (number_with_unit(v, &number, &own_unit))
        put_label(to, key, 0, number, pprof_put_text(w, own_unit));
    else
        return false;
    return true;
}

static uint32_t put_attribute(struct pprof_writer *w, const struct batch_attribute *a)
{
    uint64_t key = pprof_put_string(w, a->key), unit = pprof_put_string(w, a->unit);
    if (a->value.kind != VALUE_ARRAY)
        return a->value.kind == VALUE_KVLIST || !put_scalar(w, key, unit, &a->value);
    uint32_t lost = a->value.count == 0;
    for (uint32_t i = 0; i < a->value.count; i++)
        lost += !put_scalar(w, key, a->value.items[i].kind == VALUE_INT ? unit : 0, &a->value.items[i]);
    return lost;
}

static bool names_profile_id(const struct pprof_writer *w, const struct batch_attribute *a)
{
    return a->value.kind == VALUE_STRING && bytes_equal_text(a->value.bytes, "profile_id") &&
           bytes_equal_text(pprof_attribute_key(w, a), "pprof.link.label");
}

static struct pprof_set_labels encode_set(struct pprof_writer *w, uint32_t set)
{
    struct pprof_set_labels s = {.start = w->labels.len};
    for (uint32_t i = 0; i < w->d->attribute_sets[set].count; i++) {
        const struct batch_attribute *a = pprof_attribute_at(w, set, i);
        if (names_profile_id(w, a))
            s.span_is_profile_id = true;
        else
            s.lost += put_attribute(w, a);
    }
    s.len = w->labels.len - s.start;
    w->no_memory |= !buf_ok(&w->labels);
    return s;
}

static const struct pprof_set_labels *labels_of(struct pprof_writer *w, uint32_t set)
{
    static const struct pprof_set_labels none;
    void *sets = w->sets;
    if (w->set_labels[set] != PPROF_NONE)
        return &w->sets[w->set_labels[set]];
    if (!mem_try_grow(&sets, &w->set_capacity, w->set_count + 1, sizeof *w->sets, UINT32_MAX)) {
        w->no_memory = true;
        return &none;
    }
    w->sets = sets;
    w->sets[w->set_count] = encode_set(w, set);
    w->set_labels[set] = (uint32_t)w->set_count;
    return &w->sets[w->set_count++];
}

// Number of the string that is an id in hex; 0 when the id is all zero. The text lives in the writer's arena.
static uint32_t put_hex(struct pprof_writer *w, const uint8_t *id, size_t size)
{
    static const uint8_t none[16];
    if (memcmp(id, none, size) == 0)
        return 0;
    char *text = arena_try_alloc(&w->texts, 2 * size);
    if (text == NULL) {
        w->no_memory = true;
        return 0;
    }
    hex_encode((struct bytes){id, size}, text);
    return (uint32_t)pprof_put_text(w, (struct bytes){(const uint8_t *)text, 2 * size});
}

static struct pprof_link_texts link_texts(struct pprof_writer *w, uint32_t link)
{
    struct pprof_link_texts *t = &w->link_texts[link];
    if (!t->known) {
        t->trace = put_hex(w, w->d->links[link].trace_id, 16);
        t->span = put_hex(w, w->d->links[link].span_id, 8);
        t->known = true;
    }
    return *t;
}

static void put_link(struct pprof_writer *w, uint32_t link, bool span_is_profile_id)
{
    struct pprof_link_texts t = link_texts(w, link);
    const char *span_key = span_is_profile_id ? "profile_id" : "span_id";
    if (t.trace != 0)
        put_label(w->out, pprof_put_text(w, bytes_from_text("trace_id")), t.trace, 0, 0);
    if (t.span != 0)
        put_label(w->out, pprof_put_text(w, bytes_from_text(span_key)), t.span, 0, 0);
}

static void put_labels(struct pprof_writer *w, uint32_t set, uint32_t link)
{
    const struct pprof_set_labels *s = labels_of(w, set);
    w->lost += s->lost;
    if (s->len > 0 && !w->no_memory)
        buf_add(w->out, w->labels.data + s->start, s->len);
    if (link != 0)
        put_link(w, link, s->span_is_profile_id);
}

// Room for all the ids at once, where there is that much; else they are put one by one.
static void put_location_ids(struct pprof_writer *w, uint32_t stack)
{
    struct buf *out = w->out;
    struct stack_reader r;
    uint32_t location;
    stack_reader_init(&r, w->d, stack);
    size_t most = STACK_ID_BYTES * (size_t)(r.end - r.at);
    if (most > out->max_bytes - out->len || !buf_reserve(out, most)) {
        while (stack_next(&r, &location))
            wire_put_varint(out, w->location_ids[location]);
        return;
    }
    uint8_t *to = out->data + out->len;
    while (stack_next(&r, &location))
        to = stack_put(to, w->location_ids[location]);
    out->len = (size_t)(to - out->data);
}

static void put_stack(struct pprof_writer *w, uint32_t stack)
{
    struct stack_reader r;
    uint32_t location;
    stack_reader_init(&r, w->d, stack);
    if (!stack_next(&r, &location))
        return;
    if (r.at == r.end) { // the only one
        wire_put_uint(w->out, 1, w->location_ids[location]);
        return;
    }
    size_t start = wire_begin(w->out, 1);
    put_location_ids(w, stack);
    wire_end(w->out, start);
}

static int64_t add_saturating(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

// pprof has one value per sample and no timestamps: values are summed, timestamps alone count 1 each.
static int64_t one_value(struct pprof_writer *w, const struct observations *o, uint32_t sample)
{
    uint32_t start, count, first_time, times;
    observations_values(o, sample, &start, &count);
    observations_timestamps(o, sample, &first_time, &times);
    w->lost += times;
    if (count == 0)
        return times;
    int64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum = add_saturating(sum, o->values[start + i]);
    return sum;
}

static int64_t sample_value(struct pprof_writer *w, const struct observations *o, uint32_t sample)
{
    bool plain = o->values != NULL && o->value_ends == NULL && o->timestamps == NULL;
    return plain ? o->values[sample] : one_value(w, o, sample);
}

// Also a value of 0 is written: their number must be that of the sample types.
static void put_values(struct pprof_writer *w, const uint32_t *position, uint32_t sample)
{
    size_t start = 0;
    if (w->count == 1)
        wire_put_tag(w->out, 2, WIRE_VARINT);
    else
        start = wire_begin(w->out, 2);
    for (uint32_t t = 0; t < w->count; t++)
        wire_put_varint(w->out, (uint64_t)sample_value(w, w->profiles[position[t]].observations, sample));
    if (w->count != 1)
        wire_end(w->out, start);
}

void pprof_write_samples(struct pprof_writer *w, const uint32_t *position)
{
    const struct columns *c = w->profiles->columns;
    for (uint32_t i = 0; !pprof_writer_failed(w) && i < c->sample_count; i++) {
        size_t start = wire_begin(w->out, 2);
        put_stack(w, c->stacks != NULL ? c->stacks[i] : 0);
        put_values(w, position, i);
        put_labels(w, c->attribute_sets != NULL ? c->attribute_sets[i] : 0, c->links != NULL ? c->links[i] : 0);
        wire_end(w->out, start);
    }
}
