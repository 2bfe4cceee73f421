// SPDX-License-Identifier: Apache-2.0
// The first pass: Profile's own fields, the string table, and where the other tables lie.
#include "base/mem.h"
#include "codec/pprof_reader.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    FIELD_SAMPLE_TYPE = 1,
    FIELD_SAMPLE = 2,
    FIELD_MAPPING = 3,
    FIELD_LOCATION = 4,
    FIELD_FUNCTION = 5,
    FIELD_STRING = 6,
    FIELD_DROP_FRAMES = 7,
    FIELD_KEEP_FRAMES = 8,
    FIELD_TIME = 9,
    FIELD_DURATION = 10,
    FIELD_PERIOD_TYPE = 11,
    FIELD_PERIOD = 12,
    FIELD_COMMENT = 13,
    FIELD_DEFAULT_TYPE = 14,
    FIELD_DOC_URL = 15,
};

bool pprof_fail(struct pprof_reader *p, enum err_code code, const char *format, ...)
{
    if (p->code != ERR_OK)
        return false;
    p->code = code;
    char text[ERR_TEXT_MAX / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    err_set(p->e, code, "%s", text);
    if (p->place != NULL)
        err_prefix(p->e, "%s %u", p->place, p->place_number);
    return false;
}

bool pprof_no_memory(struct pprof_reader *p)
{
    return pprof_fail(p, ERR_MEMORY, "out of memory while reading a pprof profile");
}

bool pprof_damaged(struct pprof_reader *p, const struct wire_reader *r)
{
    if (r->error == wire_no_memory)
        return pprof_no_memory(p);
    return pprof_fail(p, ERR_INVALID, "damaged at its byte %zu: %s", wire_offset(r), r->error);
}

void pprof_header_fini(struct pprof_header *h)
{
    free(h->sample_types.items);
    free(h->strings.items);
    wire_list_fini(&h->comments);
}

// What is held beside the batch has bytes for each byte of a hostile file: it may be no larger than the batch.
static bool tables_fit(struct pprof_reader *p, size_t more_comments)
{
    const struct pprof_header *h = &p->header;
    const size_t max = p->limits->max_batch_bytes,
                 items = (size_t)h->mappings.count + h->locations.count + h->functions.count,
                 bytes = h->strings.capacity * (sizeof *h->strings.items + sizeof *p->string_ids) +
                         (h->comments.count + more_comments) * (sizeof *h->comments.items + sizeof(struct value)) +
                         items * (sizeof *p->locations.ids + sizeof *p->locations.values);
    if (max == 0 || bytes <= max)
        return true;
    if (p->report != NULL)
        p->report->batch_full = true;
    return pprof_fail(p, ERR_LIMIT, "max_batch_bytes: the tables of the profile take %zu bytes, allowed are %zu", bytes,
                      max);
}

static bool list_add(struct pprof_reader *p, struct pprof_bytes_list *l, struct bytes item)
{
    if (l->count == l->capacity) {
        void *items = l->items;
        if (!tables_fit(p, 0))
            return false;
        if (!mem_try_grow(&items, &l->capacity, l->count + 1, sizeof item, UINT32_MAX - 1))
            return pprof_no_memory(p);
        l->items = items;
    }
    l->items[l->count++] = item;
    return true;
}

static bool section_add(struct pprof_reader *p, struct pprof_section *s, const uint8_t *start, const uint8_t *end)
{
    if (s->count == 0)
        s->start = start;
    if (s->count == UINT32_MAX / 2)
        return pprof_fail(p, ERR_LIMIT, "a table has more than %u entries", UINT32_MAX / 2);
    s->end = end;
    s->count++;
    return true;
}

static bool sample_type_add(struct pprof_reader *p, struct bytes message)
{
    struct pprof_bytes_list *types = &p->header.sample_types;
    if (types->count == p->limits->max_sample_types)
        return pprof_fail(p, ERR_LIMIT, "max_sample_types: the profile has at least %zu sample types, allowed are %u",
                          types->count + 1, p->limits->max_sample_types);
    return list_add(p, types, message);
}

static bool sample_add(struct pprof_reader *p, const uint8_t *start, const uint8_t *end)
{
    struct pprof_section *s = &p->header.samples;
    if (s->count == p->limits->max_samples)
        return pprof_fail(p, ERR_LIMIT, "max_samples: the profile has at least %u samples, allowed are %u",
                          s->count + 1, p->limits->max_samples);
    return section_add(p, s, start, end);
}

static bool time_set(struct pprof_reader *p, uint64_t time)
{
    if (time != 0 && p->header.time_nanos != 0)
        return pprof_fail(p, ERR_INVALID,
                          "concatenated profiles: two times in one file; split them and send each alone");
    if (time != 0)
        p->header.time_nanos = (int64_t)time;
    return true;
}

static bool wrong_type(struct pprof_reader *p, const struct wire_field *f)
{
    return pprof_fail(p, ERR_INVALID, "not a pprof profile: field %u has wire type %d", f->number, (int)f->type);
}

static bool message_field(struct pprof_reader *p, const struct wire_field *f, const uint8_t *start, const uint8_t *end)
{
    struct pprof_header *h = &p->header;
    if (f->type != WIRE_LEN)
        return wrong_type(p, f);
    switch (f->number) {
    case FIELD_SAMPLE_TYPE:
        return sample_type_add(p, f->bytes);
    case FIELD_SAMPLE:
        return sample_add(p, start, end);
    case FIELD_MAPPING:
        return section_add(p, &h->mappings, start, end);
    case FIELD_LOCATION:
        return section_add(p, &h->locations, start, end);
    case FIELD_FUNCTION:
        return section_add(p, &h->functions, start, end);
    case FIELD_STRING:
        return list_add(p, &h->strings, f->bytes);
    default:
        h->period_type = f->bytes;
        return true;
    }
}

static bool number_field(struct pprof_reader *p, const struct wire_field *f)
{
    struct pprof_header *h = &p->header;
    if (f->type != WIRE_VARINT)
        return wrong_type(p, f);
    switch (f->number) {
    case FIELD_DROP_FRAMES:
        h->drop_frames = f->varint;
        return true;
    case FIELD_KEEP_FRAMES:
        h->keep_frames = f->varint;
        return true;
    case FIELD_TIME:
        return time_set(p, f->varint);
    case FIELD_DURATION:
        h->duration_nanos = (int64_t)f->varint;
        return true;
    case FIELD_PERIOD:
        h->period = (int64_t)f->varint;
        return true;
    case FIELD_DEFAULT_TYPE:
        h->default_sample_type = f->varint;
        return true;
    default:
        h->doc_url = f->varint;
        return true;
    }
}

static bool any_field(struct pprof_reader *p, struct wire_reader *r, const struct wire_field *f, const uint8_t *start)
{
    if (f->number <= FIELD_STRING || f->number == FIELD_PERIOD_TYPE)
        return message_field(p, f, start, r->at);
    if (f->number == FIELD_COMMENT)
        return tables_fit(p, f->type == WIRE_LEN ? f->bytes.len : 1) && wire_list_add(&p->header.comments, r, f, false);
    if (f->number <= FIELD_DOC_URL)
        return number_field(p, f);
    return true;
}

bool pprof_scan(struct pprof_reader *p, struct bytes data)
{
    struct wire_reader r;
    wire_reader_init(&r, data);
    struct wire_field f;
    const uint8_t *start = r.at;
    for (;; start = r.at) {
        struct bytes sample; // nearly all there is
        bool is_sample = wire_take_bytes(&r, FIELD_SAMPLE << 3 | WIRE_LEN, &sample);
        if (!is_sample && !wire_next(&r, &f))
            break;
        if (is_sample ? !sample_add(p, start, r.at) : !any_field(p, &r, &f, start))
            break;
    }
    if (r.error == wire_no_memory)
        return pprof_no_memory(p);
    if (r.error != NULL)
        return pprof_fail(p, ERR_INVALID, "not a pprof profile, or a damaged one: byte %zu: %s", wire_offset(&r),
                          r.error);
    return p->code == ERR_OK && tables_fit(p, 0);
}

struct pprof_items pprof_items_of(const struct pprof_section *s, uint32_t field)
{
    struct pprof_items i = {.field = field};
    wire_reader_init(&i.r, (struct bytes){s->start, s->count == 0 ? 0 : (size_t)(s->end - s->start)});
    return i;
}

bool pprof_items_search(struct pprof_items *i, struct bytes *message_out)
{
    struct wire_field f;
    while (wire_next(&i->r, &f)) {
        if (f.number == i->field) {
            *message_out = f.bytes;
            return true;
        }
    }
    return false;
}

bool pprof_read_numbers(struct pprof_reader *p, struct bytes message, uint64_t *numbers, uint32_t count)
{
    memset(numbers, 0, count * sizeof *numbers);
    struct wire_reader r;
    wire_reader_init(&r, message);
    while (r.at != r.end) {
        uint64_t tag = wire_varint(&r), number = (tag >> 3) - 1;
        struct wire_field f;
        if ((tag & 7) == WIRE_VARINT && number < count)
            numbers[number] = wire_varint(&r);
        else if (wire_value(&r, tag, &f) && f.number <= count)
            return pprof_fail(p, ERR_INVALID, "field %u has wire type %d", f.number, (int)f.type);
    }
    return r.error == NULL || pprof_damaged(p, &r);
}
