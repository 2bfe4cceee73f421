// SPDX-License-Identifier: Apache-2.0
// OTLP writes only the locations that samples use, and a mapping goes with the last of its locations. So that
// no mapping of the file goes, the locations that no sample uses must not come into the batch when a mapping has
// no others. That is rare: usually the first samples show that every mapping is in use, and the walk ends there.
#include "base/mem.h"
#include "codec/pprof_reader.h"

struct walk {
    const struct pprof_reader *p;
    uint8_t *wanted; // by mapping: has locations, but no sample with one so far
    uint32_t left;   // such mappings
    uint8_t *used;   // by the builder's location
};

static void use_location(struct walk *w, uint64_t id)
{
    uint32_t location = pprof_ids_find(&w->p->locations, id);
    if (location == PPROF_NONE)
        return; // pprof_read_samples will say so
    uint32_t mapping = w->p->location_mappings[location];
    w->used[location] = 1;
    w->left -= w->wanted[mapping];
    w->wanted[mapping] = 0;
}

static void walk_sample(struct walk *w, struct bytes message)
{
    struct wire_reader r, list;
    struct wire_field f;
    wire_reader_init(&r, message);
    while (wire_next(&r, &f)) {
        if (f.number == 1 && f.type == WIRE_VARINT)
            use_location(w, f.varint);
        if (f.number != 1 || f.type != WIRE_LEN)
            continue;
        wire_reader_init(&list, f.bytes);
        while (list.at != list.end && list.error == NULL)
            use_location(w, wire_varint(&list));
    }
}

static void walk_samples(struct walk *w)
{
    const struct pprof_ids *locations = &w->p->locations;
    for (uint32_t i = 0; i < locations->count; i++) {
        uint32_t mapping = w->p->location_mappings[locations->values[i]];
        w->left += mapping != 0 && !w->wanted[mapping];
        w->wanted[mapping] = mapping != 0;
    }
    struct pprof_items items = pprof_items_of(&w->p->header.samples, 2);
    struct bytes message;
    while (w->left > 0 && pprof_items_next(&items, &message))
        walk_sample(w, message);
}

static uint8_t *zeros_new(size_t count)
{
    uint8_t *zeros = mem_try_alloc(count);
    if (zeros != NULL)
        memset(zeros, 0, count);
    return zeros;
}

bool pprof_find_unused(struct pprof_reader *p, uint8_t **unused_out)
{
    uint32_t count = p->locations.count;
    struct walk w = {.p = p, .wanted = zeros_new((size_t)p->mappings.count + 1), .used = zeros_new((size_t)count + 1)};
    uint8_t *unused = NULL;
    bool good = w.wanted != NULL && w.used != NULL;
    if (good)
        walk_samples(&w);
    if (good && w.left > 0) {
        unused = mem_try_alloc(count);
        good = unused != NULL;
    }
    for (uint32_t i = 0; unused != NULL && i < count; i++)
        unused[i] = !w.used[p->locations.values[i]];
    free(w.wanted);
    free(w.used);
    *unused_out = unused;
    return good || pprof_no_memory(p);
}
