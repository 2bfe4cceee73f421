// SPDX-License-Identifier: Apache-2.0
#include "exporters/debug_print.h"

#include "base/clock.h"
#include "base/text.h"
#include "profile/stack.h"

#include <inttypes.h>
#include <time.h>

enum { MAX_NUMBERS = 8, MAX_TIMESTAMPS = 3, MAX_VALUE_BYTES = 1 << 20 };

struct printer {
    const struct batch *batch;
    const struct dictionary *dictionary;
    struct buf *out;
    uint64_t samples_left;
};

// C0, DEL and C1 (two bytes in UTF-8) steer terminals.
static size_t control_length(struct bytes text, size_t i)
{
    if (text.data[i] < 0x20 || text.data[i] == 0x7F)
        return 1;
    return text.data[i] == 0xC2 && i + 1 < text.len && text.data[i + 1] < 0xA0 ? 2 : 0;
}

static void add_text(struct buf *out, struct bytes text)
{
    size_t plain = 0;
    for (size_t i = 0; i < text.len; i++) {
        size_t control = control_length(text, i);
        if (control == 0)
            continue;
        buf_add(out, text.data + plain, i - plain);
        for (size_t c = 0; c < control; c++)
            buf_add_format(out, "\\x%02x", text.data[i + c]);
        i += control - 1;
        plain = i + 1;
    }
    if (text.len > plain)
        buf_add(out, text.data + plain, text.len - plain);
}

static struct bytes string_of(const struct printer *p, uint32_t id)
{
    return p->dictionary->strings[id];
}

static void add_string(const struct printer *p, uint32_t id)
{
    add_text(p->out, string_of(p, id));
}

static void add_value(struct buf *out, const struct value *v)
{
    struct buf text;
    buf_init(&text, MAX_VALUE_BYTES);
    value_print(&text, v);
    add_text(out, buf_bytes(&text));
    if (!buf_ok(&text))
        buf_add_text(out, "...");
    buf_fini(&text);
}

static void add_hex(struct buf *out, const uint8_t *id, size_t len)
{
    char text[64];
    hex_encode((struct bytes){id, len}, text);
    buf_add(out, text, 2 * len);
}

static void add_time(struct buf *out, uint64_t nanos)
{
    time_t seconds = (time_t)(nanos / NANOS_PER_SECOND);
    struct tm t;
    char text[32] = "";
    if (nanos == 0) {
        buf_add_text(out, "unknown");
        return;
    }
    gmtime_r(&seconds, &t);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &t);
    buf_add_format(out, "%s.%03uZ", text, (unsigned)(nanos % NANOS_PER_SECOND / NANOS_PER_MS));
}

static void add_duration(struct buf *out, uint64_t nanos)
{
    buf_add_format(out, "%" PRIu64 ".%03us", nanos / (uint64_t)NANOS_PER_SECOND,
                   (unsigned)(nanos % NANOS_PER_SECOND / NANOS_PER_MS));
}

static void add_type(const struct printer *p, struct value_type type)
{
    add_string(p, type.type);
    buf_add_byte(p->out, '/');
    add_string(p, type.unit);
}

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
        add_value(p->out, &service->value);
    else
        buf_add_text(p->out, "unknown");
    buf_add_text(p->out, ", ");
    add_type(p, profile->sample_type);
    buf_add_format(p->out, ", samples %" PRIu32 ", total ", profile->columns->sample_count);
    add_total(p->out, profile->observations);
    buf_add_text(p->out, ", time ");
    add_time(p->out, profile->time_nanos);
    buf_add_text(p->out, ", duration ");
    add_duration(p->out, profile->duration_nanos);
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
        add_text(p->out, list[i].key);
        buf_add_text(p->out, ": ");
        add_value(p->out, &list[i].value);
        buf_add_byte(p->out, '\n');
    }
}

static void print_attribute_set(const struct printer *p, const char *head, uint32_t set)
{
    struct batch_range range = p->dictionary->attribute_sets[set];
    for (uint32_t i = 0; i < range.count; i++) {
        const struct batch_attribute *a = &p->dictionary->attributes[p->dictionary->set_attributes[range.start + i]];
        buf_add_text(p->out, head);
        add_string(p, a->key);
        buf_add_text(p->out, ": ");
        add_value(p->out, &a->value);
        if (a->unit != 0) {
            buf_add_byte(p->out, ' ');
            add_string(p, a->unit);
        }
        buf_add_byte(p->out, '\n');
    }
}

static void print_frame(const struct printer *p, const struct batch_line *line, bool inlined)
{
    const struct batch_function *f = &p->dictionary->functions[line->function];
    uint32_t name = f->name != 0 ? f->name : f->system_name;
    buf_add_text(p->out, "        ");
    if (name != 0)
        add_string(p, name);
    else
        buf_add_text(p->out, "(no name)");
    if (f->filename != 0) {
        buf_add_byte(p->out, ' ');
        add_string(p, f->filename);
        if (line->line != 0)
            buf_add_format(p->out, ":%" PRId64, line->line);
    }
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
        add_string(p, p->dictionary->mappings[l->mapping].filename);
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
        add_time(p->out, o->timestamps[start + i]);
    }
    if (count > MAX_TIMESTAMPS)
        buf_add_format(p->out, ", ... and %" PRIu32 " more", count - MAX_TIMESTAMPS);
    if (count != 0)
        buf_add_byte(p->out, '\n');
}

static void print_link(const struct printer *p, uint32_t id)
{
    const struct batch_link *link = &p->dictionary->links[id];
    buf_add_text(p->out, "        link: trace ");
    add_hex(p->out, link->trace_id, sizeof link->trace_id);
    buf_add_text(p->out, ", span ");
    add_hex(p->out, link->span_id, sizeof link->span_id);
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
    if (c->links != NULL && c->links[i] != 0)
        print_link(p, c->links[i]);
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
    add_type(p, profile->sample_type);
    buf_add_text(p->out, "\n      time ");
    add_time(p->out, profile->time_nanos);
    buf_add_text(p->out, ", duration ");
    add_duration(p->out, profile->duration_nanos);
    if (profile->period_type.type != 0 || profile->period != 0) {
        buf_add_format(p->out, ", period %" PRId64 " ", profile->period);
        add_type(p, profile->period_type);
    }
    if (profile->has_profile_id) {
        buf_add_text(p->out, ", id ");
        add_hex(p->out, profile->profile_id, sizeof profile->profile_id);
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
    add_text(p->out, s->name);
    buf_add_byte(p->out, ' ');
    add_text(p->out, s->version);
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
