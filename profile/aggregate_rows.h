// SPDX-License-Identifier: Apache-2.0
// Inside profile/: the samples of profiles that are summed.
#ifndef PROFILE_AGGREGATE_ROWS_H
#define PROFILE_AGGREGATE_ROWS_H

#include "base/index_table.h"
#include "profile/batch.h"

struct row {
    uint32_t stack, attribute_set, link;
};

// What does not fit into the one sample of its row.
struct extra_value {
    uint32_t row;
    int64_t value;
};

// All zero is empty.
struct rows {
    struct index_table index;
    void *rows, *row_of; // struct row[]; uint32_t[], the row of each sample of the profiles placed last
    size_t row_capacity, row_of_capacity;
    uint32_t count;
    void *placed; // const struct columns *[]
    size_t placed_capacity, placed_count;
    struct columns *columns; // of the rows; NULL = not sealed yet
    void *values, *extras;   // int64_t[], of each row; struct extra_value[]
    size_t value_capacity, extra_capacity;
    uint32_t extra_count;
};

void rows_fini(struct rows *r);
// Sums these profiles into one of `like`, with references to columns and observations of its own. Sample types that follow
// each other and have their samples in common have so afterwards. False when out of memory, or of numbers for samples.
bool rows_sum(struct rows *r, const struct profile *const *profiles, size_t count, struct profile *sum_out) MUST_USE;

#endif
