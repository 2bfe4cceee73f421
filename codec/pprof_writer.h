// SPDX-License-Identifier: Apache-2.0
// What the files that write pprof share. Internal to codec/. First everything is numbered (pprof_number_items),
// then the messages are written in the order of their fields; the strings are numbered as they are met.
#ifndef CODEC_PPROF_WRITER_H
#define CODEC_PPROF_WRITER_H

#include "base/arena.h"
#include "base/index_table.h"
#include "codec/pprof.h"
#include "codec/wire.h"

#define PPROF_NONE UINT32_MAX

// The labels of an attribute set, encoded: a range of pprof_writer.labels.
struct pprof_set_labels {
    size_t start, len;
    uint32_t lost;
    bool span_is_profile_id; // the link's span id goes by the name of profile_id
};

struct pprof_link_texts { // strings of the file; 0 = that id is all zero
    uint32_t trace, span;
    uint32_t known;
};

struct pprof_writer {
    const struct dictionary *d;
    const struct profile *profiles; // of the group
    uint32_t count;
    const struct pprof_emission *how;
    struct buf *out;
    uint64_t lost;
    bool no_memory;
    // The file's strings. numbers[] by the dictionary's id, PPROF_NONE = not met yet.
    uint32_t *string_numbers;
    struct bytes *strings;
    size_t string_count, string_capacity;
    struct index_table string_table;
    // The file's ids by the dictionary's, 0 = not written.
    uint32_t *mapping_ids, *location_ids, *function_ids;
    uint32_t *set_labels; // by attribute set: place in sets, PPROF_NONE = not met yet
    struct pprof_set_labels *sets;
    size_t set_count, set_capacity;
    struct buf labels;
    struct pprof_link_texts *link_texts; // by link
    struct arena texts;                  // of them, and of types
};

bool pprof_writer_failed(const struct pprof_writer *w);
// The file's number of a text; 0 = "".
uint64_t pprof_put_text(struct pprof_writer *w, struct bytes text);
uint64_t pprof_put_string(struct pprof_writer *w, uint32_t id);
const struct batch_attribute *pprof_attribute_at(const struct pprof_writer *w, uint32_t set, uint32_t i);
struct bytes pprof_attribute_key(const struct pprof_writer *w, const struct batch_attribute *a);

void pprof_number_items(struct pprof_writer *w);
void pprof_write_mappings(struct pprof_writer *w);
void pprof_write_locations(struct pprof_writer *w);
void pprof_write_functions(struct pprof_writer *w);
void pprof_write_strings(struct pprof_writer *w);
// position[t] = the profile of the group that has the values of sample type t.
void pprof_write_samples(struct pprof_writer *w, const uint32_t *position);
void pprof_writer_fini(struct pprof_writer *w);

#endif
