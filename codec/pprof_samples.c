// SPDX-License-Identifier: Apache-2.0
// Samples: where decoding spends its time. Packed lists are decoded without a bounds check per byte: when a
// list's last byte ends a varint, none of its varints can run past the end.
#include "base/mem.h"
#include "codec/pprof_reader.h"

#include <endian.h>

void pprof_samples_fini(struct pprof_reader *p)
{
    if (p->samples.builder != NULL)
        sample_writer_fini(&p->samples);
    for (size_t i = 0; p->observations != NULL && i < p->header.sample_types.count; i++)
        observation_writer_fini(&p->observations[i]);
    free(p->observations);
    free(p->lines);
    free(p->values);
}

// The rest of a varint whose first byte is in *v; NULL when it has more than 64 bits.
static const uint8_t *varint_rest(const uint8_t *at, uint64_t *v)
{
    uint64_t sum = *v & 0x7f;
    for (unsigned shift = 7; shift < 70; shift += 7) {
        uint64_t byte = *at++;
        sum |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            *v = sum;
            return shift == 63 && byte > 1 ? NULL : at;
        }
    }
    return NULL;
}

static inline const uint8_t *varint_unchecked(const uint8_t *at, uint64_t *v)
{
    uint64_t first = *at++;
    *v = first;
    if (first < 0x80)
        return at;
    uint64_t second = *at;
    if (second < 0x80) {
        *v = (first & 0x7f) | second << 7;
        return at + 1;
    }
    return varint_rest(at, v);
}

static bool bad_list(struct pprof_reader *p, const char *what)
{
    return pprof_fail(p, ERR_INVALID, "its %s are damaged: a varint is cut off or has more than 64 bits", what);
}

static bool no_location(struct pprof_reader *p, uint64_t id)
{
    return pprof_fail(p, ERR_INVALID, "location id %llu is not in the profile", (unsigned long long)id);
}

// False after a failure of the builder, which says why in the end.
static bool stack_room(struct pprof_reader *p, size_t extra)
{
    p->stack = builder_stack_room(p->builder, p->depth + extra);
    return p->stack != NULL;
}

static bool grow_values(struct pprof_reader *p, size_t extra)
{
    void *values = p->values;
    if (!mem_try_grow(&values, &p->value_capacity, p->value_count + extra, sizeof *p->values, SIZE_MAX / 8))
        return pprof_no_memory(p);
    p->values = values;
    return true;
}

static inline uint64_t load_le64(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return le64toh(v);
}

// Large files have mostly ids of two bytes: while the next four are such, they are decoded at once. The
// table must have an entry for every such id. Stops before the first id that is another or not there.
static const uint8_t *add_quads(const uint32_t *direct, const uint8_t *at, const uint8_t *end, uint32_t **to)
{
    uint32_t *out = *to;
    for (; end - at >= 8; at += 8, out += 4) {
        uint64_t w = load_le64(at);
        if ((w & 0x8080808080808080u) != 0x0080008000800080u)
            break;
        uint64_t ids = (w & 0x007f007f007f007fu) | (w & 0x7f007f007f007f00u) >> 1;
        out[0] = direct[ids & 0xffff];
        out[1] = direct[ids >> 16 & 0xffff];
        out[2] = direct[ids >> 32 & 0xffff];
        out[3] = direct[ids >> 48];
        if ((out[0] | out[1] | out[2] | out[3]) == PPROF_NONE)
            break; // one of them: the builder's ids have fewer bits
    }
    *to = out;
    return at;
}

static const uint8_t *add_next(struct pprof_reader *p, const uint8_t *at, uint32_t *to)
{
    uint64_t id;
    at = varint_unchecked(at, &id);
    if (at == NULL) {
        bad_list(p, "location ids");
        return NULL;
    }
    *to = pprof_ids_find(&p->locations, id);
    if (*to == PPROF_NONE) {
        no_location(p, id);
        return NULL;
    }
    return at;
}

// A list of n bytes has n numbers at most, so room is made once.
static bool add_locations(struct pprof_reader *p, struct bytes list)
{
    if (list.len == 0)
        return true;
    const uint8_t *at = list.data, *end = at + list.len;
    if (end[-1] >= 0x80)
        return bad_list(p, "location ids");
    if (!stack_room(p, list.len))
        return false;
    bool quads = p->locations.direct_count >= PPROF_TWO_BYTE_IDS;
    uint32_t *to = p->stack + p->depth;
    while (at < end) {
        if (quads)
            at = add_quads(p->locations.direct, at, end, &to);
        if (at == end)
            break;
        at = add_next(p, at, to++);
        if (at == NULL)
            return false;
    }
    p->depth = (size_t)(to - p->stack);
    return true;
}

static bool add_location(struct pprof_reader *p, uint64_t id)
{
    uint32_t location = pprof_ids_find(&p->locations, id);
    if (location == PPROF_NONE)
        return no_location(p, id);
    if (!stack_room(p, 1))
        return false;
    p->stack[p->depth++] = location;
    return true;
}

static bool add_values(struct pprof_reader *p, struct bytes list)
{
    if (list.len == 0)
        return true;
    const uint8_t *at = list.data, *end = at + list.len;
    if (end[-1] >= 0x80)
        return bad_list(p, "values");
    if (p->value_count + list.len > p->value_capacity && !grow_values(p, list.len))
        return false;
    while (at < end) {
        uint64_t value;
        at = varint_unchecked(at, &value);
        if (at == NULL)
            return bad_list(p, "values");
        p->values[p->value_count++] = (int64_t)value;
    }
    return true;
}

static bool add_value(struct pprof_reader *p, uint64_t value)
{
    if (p->value_count == p->value_capacity && !grow_values(p, 1))
        return false;
    p->values[p->value_count++] = (int64_t)value;
    return true;
}

static bool sample_field(struct pprof_reader *p, const struct wire_field *f)
{
    switch (f->number << 3 | f->type) {
    case 1 << 3 | WIRE_LEN:
        return add_locations(p, f->bytes);
    case 1 << 3 | WIRE_VARINT:
        return add_location(p, f->varint);
    case 2 << 3 | WIRE_LEN:
        return add_values(p, f->bytes);
    case 2 << 3 | WIRE_VARINT:
        return add_value(p, f->varint);
    case 3 << 3 | WIRE_LEN:
        return pprof_label_add(p, f->bytes);
    default:
        return f->number > 3 || pprof_fail(p, ERR_INVALID, "field %u has wire type %d", f->number, (int)f->type);
    }
}

static bool read_fields(struct pprof_reader *p, struct bytes message)
{
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, message);
    if (wire_take_bytes(&r, 1 << 3 | WIRE_LEN, &f.bytes) && !add_locations(p, f.bytes))
        return false;
    if (wire_take_bytes(&r, 2 << 3 | WIRE_LEN, &f.bytes) && !add_values(p, f.bytes))
        return false;
    while (wire_next(&r, &f)) {
        if (!sample_field(p, &f))
            return false;
    }
    return r.error == NULL || pprof_damaged(p, &r);
}

static bool check_sample(struct pprof_reader *p)
{
    size_t types = p->header.sample_types.count;
    if (p->value_count != types)
        return pprof_fail(p, ERR_INVALID, "it has %zu values, but the profile has %zu sample types", p->value_count,
                          types);
    if (p->depth > p->limits->max_stack_depth)
        return pprof_fail(p, ERR_LIMIT, "max_stack_depth: it has %zu locations, allowed are %u", p->depth,
                          p->limits->max_stack_depth);
    return true;
}

static void end_block(struct pprof_reader *p)
{
    struct pprof_sample_block *block = &p->block;
    uint32_t stacks[BUILDER_STACK_BLOCK];
    builder_stacks_take(p->builder, stacks);
    for (uint32_t i = 0; i < block->count; i++)
        sample_writer_add(&p->samples, stacks[i], block->sets[i], block->links[i]);
    block->count = 0;
}

static bool read_sample(struct pprof_reader *p, struct bytes message)
{
    struct pprof_sample_block *block = &p->block;
    p->depth = p->value_count = 0;
    if (!read_fields(p, message) || !check_sample(p) ||
        !pprof_labels_take(p, &block->sets[block->count], &block->links[block->count]))
        return false;
    builder_stack_put(p->builder, (uint32_t)p->depth);
    for (size_t i = 0; i < p->value_count; i++)
        observation_writer_add_value(&p->observations[i], p->values[i]);
    if (++block->count == BUILDER_STACK_BLOCK)
        end_block(p);
    return true;
}

static bool init_writers(struct pprof_reader *p)
{
    size_t types = p->header.sample_types.count;
    sample_writer_init(&p->samples, p->builder);
    sample_writer_expect(&p->samples, p->header.samples.count);
    p->observations = mem_try_array(types, sizeof *p->observations);
    if (p->observations == NULL)
        return pprof_no_memory(p);
    for (size_t i = 0; i < types; i++) {
        observation_writer_init(&p->observations[i], p->builder);
        observation_writer_expect(&p->observations[i], p->header.samples.count);
    }
    return true;
}

bool pprof_read_samples(struct pprof_reader *p)
{
    if (!init_writers(p))
        return false;
    struct pprof_items items = pprof_items_of(&p->header.samples, 2);
    struct bytes message;
    p->place = "sample";
    for (p->place_number = 0; pprof_items_next(&items, &message); p->place_number++) {
        if (!read_sample(p, message))
            return false;
        if (p->place_number % 1024 == 1023 && builder_failed(p->builder))
            return false; // builder_finish says why
    }
    end_block(p);
    p->place = NULL;
    return true;
}
