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
    free(p->used_locations);
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

// For so many ids more. False after a failure of the builder, which says why in the end.
static bool stack_room(struct pprof_reader *p, size_t extra)
{
    p->stack = builder_stack_room(p->builder, p->stack_size + extra * p->location_id_size);
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

// Four ids of two bytes each, in 16-bit lanes.
#define LANES(x) ((uint64_t)(x) * 0x0001000100010001u)

static inline bool are_quad(uint64_t w)
{
    return (w & LANES(0x8080)) == LANES(0x0080);
}

static inline uint64_t quad_ids(uint64_t w)
{
    return (w & LANES(0x007f)) | (w & LANES(0x7f00)) >> 1;
}

// The usual case, the ids are the builder's: while the next four have two bytes (large files have mostly such),
// are spelled as stacks spell them and are in the profile, they are copied.
static const uint8_t *copy_quads(struct pprof_reader *p, const uint8_t *at, const uint8_t *end, uint8_t **to)
{
    uint8_t *out = *to, *used = p->used_locations;
    uint64_t most = p->locations.max_id < PPROF_TWO_BYTE_IDS ? p->locations.max_id : PPROF_TWO_BYTE_IDS - 1;
    for (; end - at >= 8; at += 8, out += 8) {
        uint64_t w = load_le64(at), ids = quad_ids(w);
        uint64_t large_enough = ids + LANES(0x8000 - 0x80), too_large = ids + LANES(0x7fff - most);
        if (!are_quad(w) || (large_enough & ~too_large & LANES(0x8000)) != LANES(0x8000))
            break;
        memcpy(out, at, 8);
        used[ids & 0xffff] = used[ids >> 16 & 0xffff] = used[ids >> 32 & 0xffff] = used[ids >> 48] = 1;
    }
    *to = out;
    return at;
}

// Else they are looked up. The table must have an entry for every id of two bytes. Stops before the first id that
// is another or not there.
static const uint8_t *map_quads(const uint32_t *direct, const uint8_t *at, const uint8_t *end, uint8_t **to)
{
    uint8_t *out = *to;
    for (; end - at >= 8; at += 8) {
        uint64_t w = load_le64(at), ids = quad_ids(w);
        if (!are_quad(w))
            break;
        uint32_t a = direct[ids & 0xffff], b = direct[ids >> 16 & 0xffff], c = direct[ids >> 32 & 0xffff],
                 d = direct[ids >> 48];
        if ((a | b | c | d) == PPROF_NONE)
            break; // one of them: the builder's ids have fewer bits
        out = stack_put(stack_put(stack_put(stack_put(out, a), b), c), d);
    }
    *to = out;
    return at;
}

static bool put_location(struct pprof_reader *p, uint64_t id, uint8_t **to)
{
    if (p->same_locations && id - 1 < p->locations.max_id) {
        p->used_locations[id] = 1;
        *to = stack_put(*to, (uint32_t)id);
        return true;
    }
    uint32_t location = pprof_ids_find(&p->locations, id);
    if (location == PPROF_NONE)
        return no_location(p, id);
    *to = stack_put(*to, location);
    return true;
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
    uint8_t *to = p->stack + p->stack_size;
    while (at < end) {
        uint64_t id;
        if (p->same_locations)
            at = copy_quads(p, at, end, &to);
        else if (quads)
            at = map_quads(p->locations.direct, at, end, &to);
        if (at == end)
            break;
        at = varint_unchecked(at, &id);
        if (at == NULL)
            return bad_list(p, "location ids");
        if (!put_location(p, id, &to))
            return false;
    }
    p->stack_size = (size_t)(to - p->stack);
    return true;
}

static bool add_location(struct pprof_reader *p, uint64_t id)
{
    if (!stack_room(p, 1))
        return false;
    uint8_t *to = p->stack + p->stack_size;
    if (!put_location(p, id, &to))
        return false;
    p->stack_size = (size_t)(to - p->stack);
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
    uint32_t depth = p->stack_size > p->limits->max_stack_depth ? stack_count_ids(p->stack, p->stack_size) : 0;
    if (depth > p->limits->max_stack_depth)
        return pprof_fail(p, ERR_LIMIT, "max_stack_depth: it has %u locations, allowed are %u", depth,
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
    p->stack_size = p->value_count = 0;
    if (!read_fields(p, message) || !check_sample(p) ||
        !pprof_labels_take(p, &block->sets[block->count], &block->links[block->count]))
        return false;
    builder_stack_put(p->builder, (uint32_t)p->stack_size);
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

static bool compare_locations(struct pprof_reader *p)
{
    const struct pprof_ids *ids = &p->locations;
    uint32_t largest = 0;
    p->same_locations = true;
    for (uint32_t i = 0; i < ids->count; i++) {
        p->same_locations &= ids->ids[i] == ids->values[i];
        largest = ids->values[i] > largest ? ids->values[i] : largest;
    }
    p->location_id_size = stack_id_size(largest);
    if (!p->same_locations)
        return true;
    p->used_locations = mem_try_array((size_t)largest + 1, 1);
    if (p->used_locations == NULL)
        return pprof_no_memory(p);
    memset(p->used_locations, 0, (size_t)largest + 1);
    return true;
}

static void tell_used(struct pprof_reader *p)
{
    if (p->same_locations && memchr(p->used_locations + 1, 0, p->locations.max_id) == NULL)
        builder_every_location_used(p->builder);
}

bool pprof_read_samples(struct pprof_reader *p)
{
    if (!init_writers(p) || !compare_locations(p))
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
    tell_used(p);
    p->place = NULL;
    return true;
}
