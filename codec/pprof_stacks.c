// SPDX-License-Identifier: Apache-2.0
// The location ids of samples become stacks. Most files number their locations 1, 2, 3 ... as the builder does, and
// then the ids in the file are the bytes of the stack: they are checked, marked as used and copied.
#include "base/mem.h"
#include "codec/pprof_reader.h"

#include <endian.h>

const uint8_t *pprof_varint_rest(const uint8_t *at, uint64_t *v)
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

bool pprof_bad_list(struct pprof_reader *p, const char *what)
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
    p->stack = builder_stack_room(p->builder, p->stack_size + extra);
    return p->stack != NULL;
}

// Where the mark of an id is: an id of two bytes has it where these point, less the bit that says there are two.
static inline size_t used_place(uint64_t id)
{
    return id + (id & ~(uint64_t)0x7f);
}

bool pprof_stacks_begin(struct pprof_reader *p)
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
    p->used_locations = mem_try_alloc(used_place(largest) + 1);
    if (p->used_locations == NULL)
        return pprof_no_memory(p);
    memset(p->used_locations, 0, used_place(largest) + 1);
    return true;
}

void pprof_stacks_end(struct pprof_reader *p)
{
    bool all = p->same_locations;
    for (uint64_t id = 1; all && id <= p->locations.max_id; id++)
        all = p->used_locations[used_place(id)];
    if (all)
        builder_every_location_used(p->builder);
}

static inline uint64_t load_le64(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return le64toh(v);
}

// Four ids of two bytes each, in 16-bit lanes.
#define LANES(x) ((uint64_t)(x) * 0x0001000100010001u)

// Large files have mostly ids of two bytes: while the next four are such, spelled as stacks spell them (the second
// byte is not 0) and below the last full 128 of the profile's, they are copied.
static inline const uint8_t *copy_quads(uint64_t ids, uint8_t *used, const uint8_t *at, const uint8_t *end,
                                        uint8_t **to)
{
    uint64_t limit = ids / 0x80 < 0x80 ? ids / 0x80 : 0x80; // the second byte is below it
    uint8_t *out = *to;
    for (; end - at >= 8; at += 8, out += 8) {
        uint64_t w = load_le64(at) ^ LANES(0x80);
        if (((w | (w + LANES((0x80 - limit) << 8)) | (w - LANES(0x100))) & LANES(0x8080)) != 0)
            break;
        memcpy(out, at, 8);
        used[w & 0xffff] = used[w >> 16 & 0xffff] = used[w >> 32 & 0xffff] = used[w >> 48] = 1;
    }
    *to = out;
    return at;
}

// One id of one or two bytes; what is more, not there or not spelled with the least bytes is left. Returns its size
// or 0.
static inline size_t copy_short(uint64_t ids, uint8_t *used, const uint8_t *at, uint8_t *to)
{
    size_t two = at[0] >> 7;
    uint32_t first = at[0], last = at[two], id = (first & 0x7f) | (last << 7 & -(uint32_t)two);
    if (last - 1 >= 0x7f || id > ids)
        return 0;
    to[0] = (uint8_t)first;
    to[two] = (uint8_t)last;
    used[used_place(id)] = 1;
    return 1 + two;
}

static bool put_location(struct pprof_reader *p, uint64_t id, uint8_t **to)
{
    uint32_t location = pprof_ids_find(&p->locations, id);
    if (location == PPROF_NONE)
        return no_location(p, id);
    if (p->same_locations)
        p->used_locations[used_place(id)] = 1;
    *to = stack_put(*to, location);
    return true;
}

static const uint8_t *put_next(struct pprof_reader *p, const uint8_t *at, uint8_t **to)
{
    uint64_t id;
    at = pprof_varint(at, &id);
    if (at == NULL)
        pprof_bad_list(p, "location ids");
    return at != NULL && put_location(p, id, to) ? at : NULL;
}

static const uint8_t *copy_list(struct pprof_reader *p, const uint8_t *at, const uint8_t *end, uint8_t *to)
{
    uint64_t ids = p->locations.max_id;
    uint8_t *used = p->used_locations;
    for (;;) {
        at = copy_quads(ids, used, at, end, &to);
        if (at == end)
            return to;
        size_t size = copy_short(ids, used, at, to);
        at += size;
        to += size;
        if (size == 0 && (at = put_next(p, at, &to)) == NULL)
            return NULL;
    }
}

// Ids that are looked up, four of two bytes each as long as there are such. The table must have an entry for every id
// of two bytes. Stops before the first id that is another or not there.
static const uint8_t *map_quads(const uint32_t *direct, const uint8_t *at, const uint8_t *end, uint8_t **to)
{
    uint8_t *out = *to;
    for (; end - at >= 8; at += 8) {
        uint64_t w = load_le64(at), ids = (w & LANES(0x007f)) | (w & LANES(0x7f00)) >> 1;
        if ((w & LANES(0x8080)) != LANES(0x0080))
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

static const uint8_t *map_list(struct pprof_reader *p, const uint8_t *at, const uint8_t *end, uint8_t *to)
{
    bool quads = p->locations.direct_count >= PPROF_TWO_BYTE_IDS;
    for (;;) {
        if (quads)
            at = map_quads(p->locations.direct, at, end, &to);
        if (at == end)
            return to;
        at = put_next(p, at, &to);
        if (at == NULL)
            return NULL;
    }
}

// A list of n bytes has n numbers at most, so room is made once; copied ids take no more than they do there.
bool pprof_stack_add_list(struct pprof_reader *p, struct bytes list)
{
    if (list.len == 0)
        return true;
    const uint8_t *at = list.data, *end = at + list.len;
    if (end[-1] >= 0x80)
        return pprof_bad_list(p, "location ids");
    if (!stack_room(p, p->same_locations ? list.len : list.len * p->location_id_size))
        return false;
    uint8_t *to = p->stack + p->stack_size;
    const uint8_t *filled = p->same_locations ? copy_list(p, at, end, to) : map_list(p, at, end, to);
    if (filled == NULL)
        return false;
    p->stack_size = (size_t)(filled - p->stack);
    return true;
}

bool pprof_stack_add(struct pprof_reader *p, uint64_t id)
{
    if (!stack_room(p, p->location_id_size))
        return false;
    uint8_t *to = p->stack + p->stack_size;
    if (!put_location(p, id, &to))
        return false;
    p->stack_size = (size_t)(to - p->stack);
    return true;
}
