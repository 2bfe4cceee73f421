// SPDX-License-Identifier: Apache-2.0
#include "exporters/debug_print.h"

#include "base/clean_text.h"
#include "base/text.h"
#include "profile/describe.h"
#include "profile/stack.h"

#include <inttypes.h>

enum { MAX_NUMBERS = 8, MAX_TIMESTAMPS = 3, TIME_DIGITS = 3 };

struct printer {
    const struct batch *batch;
    const struct dictionary *dictionary;
    struct buf *out;
    uint64_t samples_left;
};

__extension__ typedef __int128 wide;

// A sample with timestamps alone counts one for each.
static wide sample_sum(const struct observations *o, uint32_t sample)
{
    uint32_t start, count;
    wide sum = 0;
    observations_values(o, sample, &start, &count);
    for (uint32_t i = 0; i < count; i++)
        sum += o->values[start + i];
    if (count == 0) {
        observations_timestamps(o, sample, &start, &count);
        sum = count;
    }
    return sum;
}

static void add_total(struct buf *out, const struct observations *o)
{
    wide total = 0;
    for (uint32_t i = 0; i < o->sample_count; i++)
        total += sample_sum(o, i);
    if (total > INT64_MAX)
        buf_add_format(out, "more than %" PRId64, INT64_MAX);
    else if (total < INT64_MIN)
        buf_add_format(out, "less than %" PRId64, INT64_MIN);
    else
        buf_add_format(out, "%" PRId64, (int64_t)total);
}

// --- basic and normal ---

static void print_basic(const struct printer *p)
{
    char memory[32];
    buf_add_format(p->out,
                   "profiles: resource profiles %" PRIu32 ", profiles %" PRIu64 ", samples %" PRIu64 ", %s in memory\n",
                   p->batch->resource_count, p->batch->profile_count, p->batch->sample_count,
                   text_bytes(memory, sizeof memory, batch_memory_bytes(p->batch)));
}

static void print_line(const struct printer *p, const struct resource *r, const struct profile *profile)
{
    const struct key_value *service = key_values_find(r->attributes, r->attribute_count, BYTES_LITERAL("service.name"));
    buf_add_text(p->out, "profile: service.name ");
    if (service != NULL)
        describe_value(p->out, &service->value);
    else
        buf_add_text(p->out, "unknown");
    buf_add_text(p->out, ", ");
    describe_type(p->out, p->dictionary, profile->sample_type);
    buf_add_format(p->out, ", samples %" PRIu32 ", total ", profile->columns->sample_count);
    add_total(p->out, profile->observations);
    buf_add_text(p->out, ", time ");
    describe_time(p->out, profile->time_nanos, TIME_DIGITS);
    buf_add_text(p->out, ", duration ");
    describe_duration(p->out, profile->duration_nanos, TIME_DIGITS);
    buf_add_byte(p->out, '\n');
}

static void print_normal(const struct printer *p)
{
    for (uint32_t i = 0; i < p->batch->resource_count; i++) {
        const struct resource *r = p->batch->resources[i];
        for (uint32_t j = 0; j < r->scope_count; j++)
            for (uint32_t k = 0; k < r->scopes[j]->profile_count; k++)
                print_line(p, r, &r->scopes[j]->profiles[k]);
    }
}

// --- detailed ---

static void print_key_values(const struct printer *p, const char *indent, const struct key_value *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        buf_add_format(p->out, "%sattribute ", indent);
        describe_key_value(p->out, &list[i]);
        buf_add_byte(p->out, '\n');
    }
}

static void print_attribute_set(const struct printer *p, const char *head, uint32_t set)
{
    struct batch_range range = p->dictionary->attribute_sets[set];
    for (uint32_t i = 0; i < range.count; i++) {
        buf_add_text(p->out, head);
        describe_attribute(p->out, p->dictionary, p->dictionary->set_attributes[range.start + i]);
        buf_add_byte(p->out, '\n');
    }
}

static void print_frame(const struct printer *p, const struct batch_line *line, bool inlined)
{
    buf_add_text(p->out, "        ");
    describe_line(p->out, p->dictionary, line);
    buf_add_text(p->out, inlined ? " (inlined)\n" : "\n");
}

static void print_location(const struct printer *p, const struct batch_location *l)
{
    for (uint32_t i = 0; i < l->line_count; i++)
        print_frame(p, &p->dictionary->lines[l->line_start + i], i + 1 < l->line_count);
    if (l->line_count != 0)
        return;
    buf_add_format(p->out, "        0x%" PRIx64, l->address);
    if (l->mapping != 0) {
        buf_add_byte(p->out, ' ');
        clean_text_add(p->out, p->dictionary->strings[p->dictionary->mappings[l->mapping].filename]);
    }
    buf_add_byte(p->out, '\n');
}

static void print_values(const struct printer *p, const struct observations *o, uint32_t sample)
{
    uint32_t start, count;
    observations_values(o, sample, &start, &count);
    for (uint32_t i = 0; i < count && i < MAX_NUMBERS; i++)
        buf_add_format(p->out, "%s%" PRId64, i == 0 ? ": " : ", ", o->values[start + i]);
    if (count > MAX_NUMBERS)
        buf_add_format(p->out, ", ... and %" PRIu32 " more", count - MAX_NUMBERS);
    buf_add_byte(p->out, '\n');
}

static void print_timestamps(const struct printer *p, const struct observations *o, uint32_t sample)
{
    uint32_t start, count;
    observations_timestamps(o, sample, &start, &count);
    for (uint32_t i = 0; i < count && i < MAX_TIMESTAMPS; i++) {
        buf_add_text(p->out, i == 0 ? "        at " : ", ");
        describe_time(p->out, o->timestamps[start + i], TIME_DIGITS);
    }
    if (count > MAX_TIMESTAMPS)
        buf_add_format(p->out, ", ... and %" PRIu32 " more", count - MAX_TIMESTAMPS);
    if (count != 0)
        buf_add_byte(p->out, '\n');
}

static void print_sample(const struct printer *p, const struct profile *profile, uint32_t i)
{
    const struct columns *c = profile->columns;
    buf_add_format(p->out, "      sample %" PRIu32, i + 1);
    print_values(p, profile->observations, i);
    print_timestamps(p, profile->observations, i);
    if (c->attribute_sets != NULL)
        print_attribute_set(p, "        label ", c->attribute_sets[i]);
    if (c->links != NULL && c->links[i] != 0) {
        buf_add_text(p->out, "        link: ");
        describe_link(p->out, &p->dictionary->links[c->links[i]]);
        buf_add_byte(p->out, '\n');
    }
    struct stack_reader r;
    uint32_t location;
    stack_reader_init(&r, p->dictionary, c->stacks == NULL ? 0 : c->stacks[i]);
    while (stack_next(&r, &location))
        print_location(p, &p->dictionary->locations[location]);
}

static void print_samples(struct printer *p, const struct profile *profile)
{
    uint32_t count = profile->columns->sample_count;
    uint32_t shown = count < p->samples_left ? count : (uint32_t)p->samples_left;
    for (uint32_t i = 0; i < shown && buf_ok(p->out); i++)
        print_sample(p, profile, i);
    if (shown < count)
        buf_add_format(p->out, "      ... and %" PRIu32 " more\n", count - shown);
    p->samples_left -= shown;
}

static void print_profile(struct printer *p, const struct profile *profile)
{
    buf_add_text(p->out, "    profile ");
    describe_type(p->out, p->dictionary, profile->sample_type);
    buf_add_text(p->out, "\n      time ");
    describe_time(p->out, profile->time_nanos, TIME_DIGITS);
    buf_add_text(p->out, ", duration ");
    describe_duration(p->out, profile->duration_nanos, TIME_DIGITS);
    if (profile->period_type.type != 0 || profile->period != 0) {
        buf_add_format(p->out, ", period %" PRId64 " ", profile->period);
        describe_type(p->out, p->dictionary, profile->period_type);
    }
    if (profile->has_profile_id) {
        buf_add_text(p->out, ", id ");
        describe_hex(p->out, profile->profile_id, sizeof profile->profile_id);
    }
    buf_add_format(p->out, "\n      samples %" PRIu32 ", total ", profile->columns->sample_count);
    add_total(p->out, profile->observations);
    buf_add_byte(p->out, '\n');
    print_attribute_set(p, "      attribute ", profile->attribute_set);
    print_samples(p, profile);
}

static void print_scope(struct printer *p, const struct scope *s)
{
    buf_add_text(p->out, "  scope ");
    clean_text_add(p->out, s->name);
    buf_add_byte(p->out, ' ');
    clean_text_add(p->out, s->version);
    buf_add_byte(p->out, '\n');
    print_key_values(p, "    ", s->attributes, s->attribute_count);
    for (uint32_t i = 0; i < s->profile_count && buf_ok(p->out); i++)
        print_profile(p, &s->profiles[i]);
}

static void print_detailed(struct printer *p)
{
    for (uint32_t i = 0; i < p->batch->resource_count; i++) {
        const struct resource *r = p->batch->resources[i];
        buf_add_format(p->out, "resource profiles %" PRIu32 " of %" PRIu32 "\n", i + 1, p->batch->resource_count);
        print_key_values(p, "  ", r->attributes, r->attribute_count);
        for (uint32_t j = 0; j < r->scope_count && buf_ok(p->out); j++)
            print_scope(p, r->scopes[j]);
    }
}

void debug_print(const struct batch *b, enum debug_verbosity verbosity, uint64_t max_samples, struct buf *out)
{
    struct printer p = {b, b->dictionary, out, max_samples};
    if (verbosity == DEBUG_BASIC)
        print_basic(&p);
    else if (verbosity == DEBUG_NORMAL)
        print_normal(&p);
    else
        print_detailed(&p);
}
