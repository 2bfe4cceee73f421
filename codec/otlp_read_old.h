// SPDX-License-Identifier: Apache-2.0
// What layouts up to 1.7 need beside otlp_reader.h: units apart from attributes, stacks as ranges of a profile's list, several
// sample types in a profile, and in 1.5 tables in each profile. An index 0 is an element like others; what is not there is none.
#ifndef CODEC_OTLP_READ_OLD_H
#define CODEC_OTLP_READ_OLD_H

#include "codec/otlp_reader.h"

struct otlp_unit {
    uint32_t key, order, unit; // strings of the builder; of the same key the last counts
};

struct otlp_old {
    struct otlp_unit *units; // sorted
    size_t unit_count;
    struct bytes profile; // being read
    const struct otlp_place *place;
    struct otlp_ids locations; // its list
    struct value_type *types;  // its sample types, at least one
    size_t type_count, type_capacity;
    struct observation_writer *observations; // of each type
    size_t observation_count;
    uint64_t default_type;  // its field
    uint64_t stack_entries; // of all samples so far
    uint64_t spread_values; // of all samples of several types so far
    int64_t *spread;        // values of one sample over its timestamps
    size_t spread_capacity;
};

void otlp_old_fini(struct otlp_old *old);
// otlp_read_old_tables.c: those of the request (1.7), or of the profile being read (1.5).
void otlp_read_old_tables(struct otlp_reader *d);
// The unit of attributes with this key.
uint32_t otlp_old_unit(const struct otlp_reader *d, uint32_t key);

#endif
