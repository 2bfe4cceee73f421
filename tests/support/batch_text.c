// SPDX-License-Identifier: Apache-2.0
#include "tests/support/batch_text.h"

#include "base/check.h"
#include "base/mem.h"
#include "profile/stack.h"

#include <inttypes.h>
#include <stdlib.h>

static const size_t MAX_TEXT = (size_t)1 << 30;

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *take_text(struct buf *b)
{
    buf_add_byte(b, 0);
    CHECK(buf_ok(b));
    return (char *)buf_take(b, &(size_t){0});
}

// Quoted and escaped, by way of an array of one.
static void add_string(struct buf *out, struct bytes text)
{
    struct value v = value_string(text);
    value_print(out, &(struct value){.kind = VALUE_ARRAY, .count = 1, .items = &v});
}

static void add_id(struct buf *out, const struct dictionary *d, uint32_t string)
{
    add_string(out, d->strings[string]);
}

static void add_hex(struct buf *out, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        buf_add_format(out, "%02x", data[i]);
}

static void add_value(struct buf *out, const struct value *v)
{
    buf_add_format(out, "%d", (int)v->kind);
    value_print(out, &(struct value){.kind = VALUE_ARRAY, .count = 1, .items = v});
}

static char *attribute_text(const struct dictionary *d, uint32_t id)
{
    const struct batch_attribute *a = &d->attributes[id];
    struct buf out;
    buf_init(&out, MAX_TEXT);
    add_id(&out, d, a->key);
    buf_add_byte(&out, '=');
    add_value(&out, &a->value);
    add_id(&out, d, a->unit);
    return take_text(&out);
}

static void add_sorted(struct buf *out, char **lines, size_t count, const char *separator)
{
    if (count > 0)
        qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < count; i++) {
        buf_add_text(out, lines[i]);
        buf_add_text(out, separator);
        free(lines[i]);
    }
    free(lines);
}

static void add_set(struct buf *out, const struct dictionary *d, uint32_t set)
{
    struct batch_range range = d->attribute_sets[set];
    char **lines = mem_alloc((range.count + 1) * sizeof *lines);
    for (uint32_t i = 0; i < range.count; i++)
        lines[i] = attribute_text(d, d->set_attributes[range.start + i]);
    buf_add_byte(out, '{');
    add_sorted(out, lines, range.count, ",");
    buf_add_byte(out, '}');
}

static void add_key_values(struct buf *out, const struct key_value *list, uint32_t count)
{
    buf_add_byte(out, '{');
    for (uint32_t i = 0; i < count; i++) {
        add_string(out, list[i].key);
        buf_add_byte(out, '=');
        add_value(out, &list[i].value);
    }
    buf_add_byte(out, '}');
}

static void add_mapping(struct buf *out, const struct dictionary *d, uint32_t id)
{
    const struct batch_mapping *m = &d->mappings[id];
    buf_add_format(out, "map(%" PRIx64 "-%" PRIx64 "+%" PRIx64, m->memory_start, m->memory_limit, m->file_offset);
    add_id(out, d, m->filename);
    add_set(out, d, m->attribute_set);
    buf_add_byte(out, ')');
}

static void add_line(struct buf *out, const struct dictionary *d, const struct batch_line *l)
{
    const struct batch_function *f = &d->functions[l->function];
    add_id(out, d, f->name);
    add_id(out, d, f->system_name);
    add_id(out, d, f->filename);
    buf_add_format(out, "%" PRId64 ":%" PRId64 ":%" PRId64 " ", f->start_line, l->line, l->column);
}

static void add_location(struct buf *out, const struct dictionary *d, uint32_t id)
{
    const struct batch_location *l = &d->locations[id];
    buf_add_format(out, "<%" PRIx64 " ", l->address);
    if (l->mapping != 0)
        add_mapping(out, d, l->mapping);
    for (uint32_t i = 0; i < l->line_count; i++)
        add_line(out, d, &d->lines[l->line_start + i]);
    add_set(out, d, l->attribute_set);
    buf_add_byte(out, '>');
}

static void add_link(struct buf *out, const struct dictionary *d, uint32_t id)
{
    buf_add_text(out, " link ");
    add_hex(out, d->links[id].trace_id, sizeof d->links[id].trace_id);
    buf_add_byte(out, '/');
    add_hex(out, d->links[id].span_id, sizeof d->links[id].span_id);
}

static void add_observations(struct buf *out, const struct observations *o, uint32_t sample)
{
    uint32_t start, count;
    observations_values(o, sample, &start, &count);
    buf_add_text(out, " values");
    for (uint32_t i = 0; i < count; i++)
        buf_add_format(out, " %" PRId64, o->values[start + i]);
    observations_timestamps(o, sample, &start, &count);
    if (count > 0)
        buf_add_text(out, " at");
    for (uint32_t i = 0; i < count; i++)
        buf_add_format(out, " %" PRIu64, o->timestamps[start + i]);
}

void sample_text(const struct batch *b, const struct profile *p, uint32_t sample, struct buf *out)
{
    const struct dictionary *d = b->dictionary;
    const struct columns *c = p->columns;
    struct stack_reader r;
    uint32_t location;
    stack_reader_init(&r, d, c->stacks[sample]);
    while (stack_next(&r, &location))
        add_location(out, d, location);
    add_set(out, d, c->attribute_sets != NULL ? c->attribute_sets[sample] : 0);
    if (c->links != NULL && c->links[sample] != 0)
        add_link(out, d, c->links[sample]);
    add_observations(out, p->observations, sample);
}

static void add_type(struct buf *out, const struct dictionary *d, struct value_type t)
{
    add_id(out, d, t.type);
    add_id(out, d, t.unit);
}

static void add_profile(struct buf *out, const struct dictionary *d, const struct profile *p)
{
    buf_add_text(out, "profile ");
    add_type(out, d, p->sample_type);
    buf_add_format(out, " time %" PRIu64 "+%" PRIu64 " period %" PRId64, p->time_nanos, p->duration_nanos, p->period);
    add_type(out, d, p->period_type);
    if (p->has_profile_id)
        add_hex(out, p->profile_id, sizeof p->profile_id);
    buf_add_format(out, " dropped %u ", p->dropped_attributes_count);
    add_set(out, d, p->attribute_set);
}

static void add_payload(struct buf *out, const struct profile *p)
{
    if (p->original_payload_format.len == 0)
        return;
    add_string(out, p->original_payload_format);
    add_hex(out, p->original_payload.data, p->original_payload.len);
}

static void add_scope(struct buf *out, const struct scope *s)
{
    buf_add_text(out, "scope ");
    add_string(out, s->name);
    add_string(out, s->version);
    add_string(out, s->schema_url);
    add_key_values(out, s->attributes, s->attribute_count);
    buf_add_format(out, " dropped %u ", s->dropped_attributes_count);
}

static void add_resource(struct buf *out, const struct resource *r)
{
    buf_add_text(out, "resource ");
    add_string(out, r->schema_url);
    add_key_values(out, r->attributes, r->attribute_count);
    for (uint32_t i = 0; i < r->entity_ref_count; i++) {
        buf_add_text(out, " entity ");
        add_hex(out, r->entity_refs[i].data, r->entity_refs[i].len);
    }
    buf_add_format(out, " dropped %u ", r->dropped_attributes_count);
}

static void text_of_profile(const struct batch *b, const struct profile *p, struct buf *out)
{
    add_profile(out, b->dictionary, p);
    add_payload(out, p);
    buf_add_byte(out, '\n');
    for (uint32_t i = 0; i < p->columns->sample_count; i++) {
        sample_text(b, p, i, out);
        buf_add_byte(out, '\n');
    }
}

static void text_of_scope(const struct batch *b, const struct scope *s, struct buf *out)
{
    add_scope(out, s);
    buf_add_byte(out, '\n');
    for (uint32_t i = 0; i < s->profile_count; i++)
        text_of_profile(b, &s->profiles[i], out);
}

void batch_text(const struct batch *b, struct buf *out)
{
    for (uint32_t r = 0; r < b->resource_count; r++) {
        add_resource(out, b->resources[r]);
        buf_add_byte(out, '\n');
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++)
            text_of_scope(b, b->resources[r]->scopes[s], out);
    }
}

struct line_list {
    void *lines; // char *[]
    size_t count, capacity;
};

static void push_line(struct line_list *l, char *line)
{
    CHECK(mem_try_grow(&l->lines, &l->capacity, l->count + 1, sizeof line, SIZE_MAX / sizeof line));
    ((char **)l->lines)[l->count++] = line;
}

static void lines_of_profile(const struct batch *b, struct bytes before, const struct profile *p, struct line_list *l)
{
    uint32_t n = p->columns->sample_count;
    for (uint32_t i = 0; i < (n == 0 ? 1 : n); i++) {
        struct buf line;
        buf_init(&line, MAX_TEXT);
        buf_add(&line, before.data, before.len);
        add_profile(&line, b->dictionary, p);
        if (n == 0)
            buf_add_text(&line, " no samples");
        else
            sample_text(b, p, i, &line);
        push_line(l, take_text(&line));
    }
}

static void lines_of_scope(const struct batch *b, const struct resource *r, const struct scope *s, struct line_list *l)
{
    struct buf before;
    buf_init(&before, MAX_TEXT);
    add_resource(&before, r);
    add_scope(&before, s);
    for (uint32_t i = 0; i < s->profile_count; i++)
        lines_of_profile(b, buf_bytes(&before), &s->profiles[i], l);
    buf_fini(&before);
}

char *batch_lines(struct batch *const *batches, size_t count)
{
    struct line_list l = {0};
    for (size_t i = 0; i < count; i++) {
        for (uint32_t r = 0; r < batches[i]->resource_count; r++) {
            const struct resource *resource = batches[i]->resources[r];
            for (uint32_t s = 0; s < resource->scope_count; s++)
                lines_of_scope(batches[i], resource, resource->scopes[s], &l);
        }
    }
    struct buf out;
    buf_init(&out, MAX_TEXT);
    add_sorted(&out, l.lines, l.count, "\n");
    return take_text(&out);
}
