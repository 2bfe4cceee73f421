// SPDX-License-Identifier: Apache-2.0
// Crafts pprof files for tests, good and bad: fields come out in the order of the calls.
#ifndef TESTS_SUPPORT_PPROF_BYTES_H
#define TESTS_SUPPORT_PPROF_BYTES_H

#include "codec/wire.h"

struct pprof_bytes {
    struct buf out;
    uint64_t strings; // written so far
};

struct test_label {
    const char *key, *text; // text NULL = a number
    int64_t number;
    const char *unit;
};

void pprof_bytes_init(struct pprof_bytes *p);
void pprof_bytes_fini(struct pprof_bytes *p);
// A new entry of the string table ("" is put first by itself, and is 0): its index.
uint64_t pprof_bytes_text(struct pprof_bytes *p, const char *text);
// Any number field of Profile, also 0.
void pprof_bytes_number(struct pprof_bytes *p, uint32_t field, uint64_t number);
// A message of numbers: fields 1..count.
void pprof_bytes_message(struct pprof_bytes *p, uint32_t field, const uint64_t *numbers, uint32_t count);

void pprof_bytes_type(struct pprof_bytes *p, const char *type, const char *unit);
void pprof_bytes_function(struct pprof_bytes *p, uint64_t id, const char *name);
void pprof_bytes_mapping(struct pprof_bytes *p, uint64_t id, const char *filename, const char *build_id);
// One line naming the function; 0 = no line.
void pprof_bytes_location(struct pprof_bytes *p, uint64_t id, uint64_t mapping, uint64_t address, uint64_t function);
// Lists of one number are not packed, as Go writes them.
void pprof_bytes_sample(struct pprof_bytes *p, const uint64_t *locations, uint32_t location_count,
                        const int64_t *values, uint32_t value_count, const struct test_label *labels,
                        uint32_t label_count);

// A whole small profile: two sample types, three functions and locations, one mapping, three samples (one
// repeated, one with labels and ids), time, duration, period, comment, drop and keep frames, doc url.
void pprof_bytes_small(struct pprof_bytes *p);

#endif
