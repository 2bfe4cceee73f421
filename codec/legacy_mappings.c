// SPDX-License-Identifier: Apache-2.0
// What becomes of the memory map: parts are joined, the program comes first, locations find the mapping they lie in.
#include "base/mem.h"
#include "codec/legacy.h"

#define ALL_OF_MEMORY UINT64_MAX

static bool parts_of_one(const struct legacy_mapping *a, const struct legacy_mapping *b)
{
    return (a->file.len == 0 || b->file.len == 0 || bytes_equal(a->file, b->file)) &&
           (a->build_id.len == 0 || b->build_id.len == 0 || bytes_equal(a->build_id, b->build_id)) &&
           a->limit == b->start && (a->offset == 0 || b->offset == 0 || a->offset + (a->limit - a->start) == b->offset);
}

static void join_parts(struct legacy *l)
{
    size_t last = 0;
    for (size_t i = 1; i < l->mapping_count; i++) {
        struct legacy_mapping *a = &l->mappings[last];
        const struct legacy_mapping *b = &l->mappings[i];
        if (!parts_of_one(a, b)) {
            l->mappings[++last] = *b;
            continue;
        }
        a->limit = b->limit;
        a->file = b->file.len > 0 ? b->file : a->file;
        a->build_id = b->build_id.len > 0 ? b->build_id : a->build_id;
    }
    l->mapping_count = l->mapping_count > 0 ? last + 1 : 0;
}

// "libc.so", "libc.so.6", "libc.so_1"
static bool is_library(struct bytes file)
{
    size_t at;
    while (legacy_find(file, ".so", &at)) {
        file = (struct bytes){file.data + at + 3, file.len - at - 3};
        if (file.len == 0 || (file.len > 1 && (file.data[0] == '.' || file.data[0] == '_') && file.data[1] >= '0' &&
                              file.data[1] <= '9'))
            return true;
    }
    return false;
}

static void move_program_to_front(struct legacy *l)
{
    for (size_t i = 0; i < l->mapping_count; i++) {
        const struct legacy_mapping m = l->mappings[i];
        if (m.file.len == 0 || m.file.data[0] == '[' || is_library(m.file) || bytes_equal_text(m.file, "(deleted)"))
            continue;
        l->mappings[i] = l->mappings[0];
        l->mappings[0] = m;
        return;
    }
}

static void mend_program(struct legacy *l)
{
    struct legacy_mapping *m = l->mappings;
    if (l->mapping_count > 1 && legacy_begins(m->file, "/anon_hugepage") && m[0].limit == m[1].start)
        memmove(m, m + 1, --l->mapping_count * sizeof *m);
    if (l->mapping_count > 0 && m->start - m->offset == 0x400000) {
        m->start = 0x400000;
        m->offset = 0;
    }
}

// --- locations ---

static bool number_locations(struct legacy *l)
{
    if (l->location_count > 0 && (l->order = mem_try_array(l->location_count, sizeof *l->order)) == NULL)
        return legacy_no_memory(l);
    for (size_t i = 0; i < l->sample_count; i++) {
        for (uint32_t k = 0; k < l->samples[i].count; k++) {
            const uint32_t location = l->frames[l->samples[i].first + k];
            if (l->locations[location].id != 0)
                continue;
            l->order[l->order_count++] = location;
            l->locations[location].id = (uint32_t)l->order_count;
        }
    }
    return true;
}

struct finder {
    struct legacy *l;
    struct legacy_ranges inside; // of the mappings
    struct legacy_ranges before; // from where the file would begin up to where a mapping does
    uint32_t whole;              // the mapping of all of memory, LEGACY_NONE = not needed so far
};

static bool build_ranges(struct finder *f)
{
    const struct legacy *l = f->l;
    struct legacy_range *ranges = mem_try_array(l->mapping_count + 1, sizeof *ranges);
    if (ranges == NULL)
        return false;
    for (size_t i = 0; i < l->mapping_count; i++)
        ranges[i] = (struct legacy_range){l->mappings[i].start, l->mappings[i].limit};
    bool good = legacy_ranges_build(&f->inside, ranges, l->mapping_count);
    for (size_t i = 0; i < l->mapping_count; i++) {
        const struct legacy_mapping *m = &l->mappings[i];
        ranges[i] = (struct legacy_range){m->start - m->offset, m->start}; // one that wraps around is empty
    }
    good = good && legacy_ranges_build(&f->before, ranges, l->mapping_count);
    free(ranges);
    return good;
}

// Old programs wrote only the last part of a mapping that was split, and Go's none at all.
static bool find_mapping(struct finder *f, uint64_t address, uint32_t *out)
{
    struct legacy *l = f->l;
    *out = legacy_ranges_find(&f->inside, address);
    if (*out != LEGACY_NONE)
        return true;
    if (f->whole == LEGACY_NONE && (*out = legacy_ranges_find(&f->before, address)) != LEGACY_NONE) {
        struct legacy_mapping *m = &l->mappings[*out];
        m->start -= m->offset;
        m->offset = 0;
        return true;
    }
    if (f->whole == LEGACY_NONE) {
        void *mappings = l->mappings;
        if (!mem_try_grow(&mappings, &l->mapping_capacity, l->mapping_count + 1, sizeof *l->mappings, UINT32_MAX - 1))
            return false;
        l->mappings = mappings;
        f->whole = (uint32_t)l->mapping_count++;
        l->mappings[f->whole] = (struct legacy_mapping){.limit = ALL_OF_MEMORY};
    }
    *out = f->whole;
    return true;
}

static bool find_mappings(struct legacy *l)
{
    struct finder f = {.l = l, .whole = LEGACY_NONE};
    bool good = build_ranges(&f);
    for (size_t i = 0; good && i < l->order_count; i++) {
        struct legacy_location *at = &l->locations[l->order[i]];
        if (at->address != 0 && at->function == LEGACY_NONE)
            good = find_mapping(&f, at->address, &at->mapping);
    }
    legacy_ranges_fini(&f.inside);
    legacy_ranges_fini(&f.before);
    return good || legacy_no_memory(l);
}

bool legacy_settle(struct legacy *l)
{
    join_parts(l);
    move_program_to_front(l);
    mend_program(l);
    return number_locations(l) && find_mappings(l);
}
