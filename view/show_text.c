// SPDX-License-Identifier: Apache-2.0
// The dump: one fact a line, indented by what it belongs to. Attributes are in the order of their keys and mappings in
// that of their files, so that the text does not depend on how a dictionary is numbered.
#include "base/clean_text.h"
#include "base/mem.h"
#include "profile/describe.h"
#include "profile/stack.h"
#include "view/path_base.h"
#include "view/stack_sums.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { TIME_DIGITS = 9 };

struct dump {
    const struct dictionary *dictionary;
    struct buf *out;
};

static void dump_text(const struct dump *p, const char *head, struct bytes text)
{
    if (text.len == 0)
        return;
    buf_add_text(p->out, head);
    clean_text_add(p->out, text);
}

static void dump_count(const struct dump *p, const char *head, uint32_t count)
{
    if (count != 0)
        buf_add_format(p->out, "%s%" PRIu32 "\n", head, count);
}

// --- attributes ---

static void dump_attribute(const struct dump *p, const char *head, const struct key_value *entry, struct bytes unit)
{
    dump_text(p, head, entry->key);
    if (entry->key.len == 0)
        buf_add_text(p->out, head);
    buf_add_text(p->out, ": ");
    describe_value_exactly(p->out, &entry->value);
    dump_text(p, " ", unit);
    buf_add_byte(p->out, '\n');
}

static int compare_attributes(const void *a, const void *b, void *arg)
{
    const struct dictionary *d = arg;
    return bytes_compare(d->strings[d->attributes[*(const uint32_t *)a].key],
                         d->strings[d->attributes[*(const uint32_t *)b].key]);
}

static void dump_set(const struct dump *p, const char *head, uint32_t set)
{
    const struct batch_range range = p->dictionary->attribute_sets[set];
    if (range.count == 0)
        return;
    uint32_t *ids = mem_try_array(range.count, sizeof *ids);
    if (ids == NULL) {
        p->out->failed = true;
        return;
    }
    memcpy(ids, p->dictionary->set_attributes + range.start, range.count * sizeof *ids);
    qsort_r(ids, range.count, sizeof *ids, compare_attributes, (void *)p->dictionary);
    for (uint32_t i = 0; i < range.count; i++) {
        const struct batch_attribute *a = &p->dictionary->attributes[ids[i]];
        const struct key_value entry = {p->dictionary->strings[a->key], a->value};
        dump_attribute(p, head, &entry, p->dictionary->strings[a->unit]);
    }
    free(ids);
}

static int compare_key_values(const void *a, const void *b)
{
    return bytes_compare((*(const struct key_value *const *)a)->key, (*(const struct key_value *const *)b)->key);
}

static void dump_key_values(const struct dump *p, const char *head, const struct key_value *list, uint32_t count)
{
    const struct key_value **sorted = mem_try_array(count, sizeof(struct key_value *));
    if (sorted == NULL) {
        p->out->failed = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = &list[i];
    if (count > 0)
        qsort(sorted, count, sizeof(struct key_value *), compare_key_values);
    for (uint32_t i = 0; i < count; i++)
        dump_attribute(p, head, sorted[i], (struct bytes){0});
    free(sorted);
}

// --- mappings ---

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_mappings(const void *a, const void *b, void *arg)
{
    const struct dictionary *d = arg;
    const struct batch_mapping *x = &d->mappings[*(const uint32_t *)a], *y = &d->mappings[*(const uint32_t *)b];
    int order = bytes_compare(d->strings[x->filename], d->strings[y->filename]);
    order = order != 0 ? order : compare_numbers(x->memory_start, y->memory_start);
    order = order != 0 ? order : compare_numbers(x->memory_limit, y->memory_limit);
    return order != 0 ? order : compare_numbers(x->file_offset, y->file_offset);
}

static void dump_mapping(const struct dump *p, const struct batch_mapping *m)
{
    buf_add_text(p->out, "mapping");
    dump_text(p, " ", p->dictionary->strings[m->filename]);
    buf_add_format(p->out, " 0x%" PRIx64 "-0x%" PRIx64 " offset 0x%" PRIx64 "\n", m->memory_start, m->memory_limit,
                   m->file_offset);
    dump_set(p, "  attribute ", m->attribute_set);
}

static void dump_mappings(const struct dump *p)
{
    const struct dictionary *d = p->dictionary;
    uint32_t *ids = mem_try_array(d->mapping_count, sizeof *ids);
    if (ids == NULL) {
        p->out->failed = true;
        return;
    }
    for (uint32_t i = 1; i < d->mapping_count; i++) // element 0 is none
        ids[i - 1] = i;
    qsort_r(ids, d->mapping_count - 1, sizeof *ids, compare_mappings, (void *)d);
    for (uint32_t i = 0; i + 1 < d->mapping_count; i++)
        dump_mapping(p, &d->mappings[ids[i]]);
    free(ids);
}

// --- samples ---

// "work a.go:12:3 from line 10 = _ZN4workEv"
static void dump_line(const struct dump *p, const struct batch_line *line)
{
    const struct batch_function *f = &p->dictionary->functions[line->function];
    buf_add_text(p->out, "        ");
    describe_function(p->out, p->dictionary, line->function);
    if (f->filename != 0 || line->line != 0 || line->column != 0)
        dump_text(p, " ", f->filename != 0 ? p->dictionary->strings[f->filename] : BYTES_LITERAL("?"));
    if (line->line != 0 || line->column != 0)
        buf_add_format(p->out, ":%" PRId64, line->line);
    if (line->column != 0)
        buf_add_format(p->out, ":%" PRId64, line->column);
    if (f->start_line != 0)
        buf_add_format(p->out, " from line %" PRId64, f->start_line);
    if (f->system_name != f->name && f->name != 0)
        dump_text(p, " = ", p->dictionary->strings[f->system_name]);
}

// What a location is beside its lines.
static void dump_place(const struct dump *p, const struct batch_location *l, bool has_lines)
{
    if (l->address != 0 || !has_lines)
        buf_add_format(p->out, "%s0x%" PRIx64, has_lines ? " " : "        ", l->address);
    const struct bytes module = p->dictionary->strings[p->dictionary->mappings[l->mapping].filename];
    if (module.len > 0) {
        buf_add_text(p->out, " [");
        clean_text_add(p->out, path_base(module));
        buf_add_byte(p->out, ']');
    }
    buf_add_byte(p->out, '\n');
    dump_set(p, "          attribute ", l->attribute_set);
}

static void dump_location(const struct dump *p, const struct batch_location *l)
{
    for (uint32_t i = 0; i < l->line_count; i++) {
        dump_line(p, &p->dictionary->lines[l->line_start + i]);
        if (i + 1 < l->line_count)
            buf_add_text(p->out, " (inlined)\n");
    }
    dump_place(p, l, l->line_count > 0);
}

static void dump_observations(const struct dump *p, const struct observations *o, uint32_t sample)
{
    uint32_t start, count;
    observations_values(o, sample, &start, &count);
    for (uint32_t i = 0; i < count; i++)
        buf_add_format(p->out, " %" PRId64, o->values[start + i]);
    buf_add_byte(p->out, '\n');
    observations_timestamps(o, sample, &start, &count);
    for (uint32_t i = 0; i < count; i++) {
        buf_add_text(p->out, i == 0 ? "        at " : " ");
        describe_time(p->out, o->timestamps[start + i], TIME_DIGITS);
    }
    if (count > 0)
        buf_add_byte(p->out, '\n');
}

static void dump_sample(const struct dump *p, const struct profile *profile, uint32_t i)
{
    const struct columns *c = profile->columns;
    struct stack_reader r;
    uint32_t location;
    buf_add_text(p->out, "      sample");
    dump_observations(p, profile->observations, i);
    if (c->attribute_sets != NULL)
        dump_set(p, "        label ", c->attribute_sets[i]);
    if (c->links != NULL && c->links[i] != 0) {
        buf_add_text(p->out, "        link: ");
        describe_link(p->out, &p->dictionary->links[c->links[i]]);
        buf_add_byte(p->out, '\n');
    }
    stack_reader_init(&r, p->dictionary, c->stacks[i]);
    while (stack_next(&r, &location) && buf_ok(p->out))
        dump_location(p, &p->dictionary->locations[location]);
}

// --- profiles, scopes, resources ---

static void dump_facts(const struct dump *p, const struct profile *profile)
{
    buf_add_text(p->out, "      time ");
    describe_time(p->out, profile->time_nanos, TIME_DIGITS);
    buf_add_text(p->out, ", duration ");
    describe_duration(p->out, profile->duration_nanos, TIME_DIGITS);
    buf_add_byte(p->out, '\n');
    if (profile->period_type.type != 0 || profile->period_type.unit != 0 || profile->period != 0) {
        buf_add_format(p->out, "      period %" PRId64 " ", profile->period);
        describe_type(p->out, p->dictionary, profile->period_type);
        buf_add_byte(p->out, '\n');
    }
    if (profile->has_profile_id) {
        buf_add_text(p->out, "      id ");
        describe_hex(p->out, profile->profile_id, sizeof profile->profile_id);
        buf_add_byte(p->out, '\n');
    }
    if (profile->original_payload_format.len > 0) {
        dump_text(p, "      original payload ", profile->original_payload_format);
        buf_add_format(p->out, ", %zu bytes\n", profile->original_payload.len);
    }
    dump_set(p, "      attribute ", profile->attribute_set);
    dump_count(p, "      dropped attributes ", profile->dropped_attributes_count);
}

static void dump_profile(const struct dump *p, const struct profile *profile)
{
    const uint32_t count = profile->columns->sample_count;
    int64_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total = sum_saturated(total, sample_value(profile->observations, i));
    buf_add_text(p->out, "    profile ");
    describe_type(p->out, p->dictionary, profile->sample_type);
    buf_add_byte(p->out, '\n');
    dump_facts(p, profile);
    buf_add_format(p->out, "      samples %" PRIu32 ", total %" PRId64 "\n", count, total);
    for (uint32_t i = 0; i < count && buf_ok(p->out); i++)
        dump_sample(p, profile, i);
}

static void dump_scope(const struct dump *p, const struct scope *s)
{
    buf_add_text(p->out, "  scope");
    dump_text(p, " ", s->name);
    dump_text(p, " ", s->version);
    dump_text(p, " schema ", s->schema_url);
    buf_add_byte(p->out, '\n');
    dump_key_values(p, "    attribute ", s->attributes, s->attribute_count);
    dump_count(p, "    dropped attributes ", s->dropped_attributes_count);
    for (uint32_t i = 0; i < s->profile_count && buf_ok(p->out); i++)
        dump_profile(p, &s->profiles[i]);
}

static void dump_resource(const struct dump *p, const struct resource *r)
{
    buf_add_text(p->out, "resource");
    dump_text(p, " schema ", r->schema_url);
    buf_add_byte(p->out, '\n');
    dump_key_values(p, "  attribute ", r->attributes, r->attribute_count);
    dump_count(p, "  dropped attributes ", r->dropped_attributes_count);
    for (uint32_t i = 0; i < r->entity_ref_count; i++) {
        buf_add_text(p->out, "  entity ");
        describe_value_exactly(p->out, &(struct value){.kind = VALUE_BYTES, .bytes = r->entity_refs[i]});
        buf_add_byte(p->out, '\n');
    }
    for (uint32_t i = 0; i < r->scope_count && buf_ok(p->out); i++)
        dump_scope(p, r->scopes[i]);
}

void show_print(const struct batch *b, struct buf *out)
{
    const struct dump p = {b->dictionary, out};
    dump_mappings(&p);
    for (uint32_t i = 0; i < b->resource_count && buf_ok(out); i++)
        dump_resource(&p, b->resources[i]);
}
