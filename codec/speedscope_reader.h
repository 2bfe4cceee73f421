// SPDX-License-Identifier: Apache-2.0
// What the files that read speedscope share. Internal to codec/.
#ifndef CODEC_SPEEDSCOPE_READER_H
#define CODEC_SPEEDSCOPE_READER_H

#include "base/arena.h"
#include "base/index_table.h"
#include "codec/frame_stack.h"
#include "codec/frames.h"
#include "codec/json.h"
#include "codec/speedscope.h"

enum { SPEEDSCOPE_MAX_DEPTH = 64 };

// A stack of the present profile and what its samples weigh in the file's unit.
struct speedscope_row {
    uint32_t stack;
    long double weight;
};

// Which row of which profile (counted from 1) a stack of the builder has.
struct speedscope_place {
    uint32_t profile, row;
};

// Of evented profiles: what was ever open as a tree, and what is now. All zero is an empty one.
struct speedscope_tree {
    struct speedscope_node *nodes;
    struct speedscope_level *levels; // root first
    size_t node_capacity, level_capacity;
    uint32_t node_count, level_count;
    struct index_table index;
};

struct speedscope_reader {
    const struct decode_options *options;
    struct decode_report *report;
    struct err *e;
    enum err_code code; // the first failure
    uint32_t max_samples;
    struct builder *builder;
    struct arena texts;
    struct frame_stack stack;
    uint32_t *frames; // of the file: the builder's location
    uint32_t *open;   // frames of the present sample, root first
    struct speedscope_place *places;
    struct speedscope_row *rows;
    struct speedscope_tree tree;
    size_t frame_count, frame_capacity, open_count, open_capacity, place_count, place_capacity, row_count, row_capacity;
    uint32_t profile; // the present one, counted from 0
    uint32_t profile_count;
};

// What a profile says, its lists still unread.
struct speedscope_profile {
    struct bytes type, name, unit;
    long double start, end;
    bool has_start, has_end, has_samples, has_weights, has_events;
    struct json_reader samples, weights, events; // each before its list
};

// Keeps the first failure. Returns false, for `return speedscope_fail(...)`. Inside a profile its number comes first.
bool speedscope_fail(struct speedscope_reader *r, enum err_code code, const char *format, ...) PRINTF_LIKE(3, 4);
bool speedscope_no_memory(struct speedscope_reader *r);
// Has this piece of JSON failed? Then so has all.
bool speedscope_json_good(struct speedscope_reader *r, const struct json_reader *j) MUST_USE;
bool speedscope_number(struct json_reader *j, long double *out) MUST_USE; // exact where it is an integer of 64 bits

// A number that stands for a frame; what and number name the place.
bool speedscope_check_frame(struct speedscope_reader *r, int64_t frame, const char *what, uint64_t number) MUST_USE;
// Adds to what a stack weighs. Equal stacks of a profile are one row. Stack 0: the builder failed.
bool speedscope_add_weight(struct speedscope_reader *r, uint32_t stack, long double weight) MUST_USE;
void speedscope_tree_fini(struct speedscope_tree *t);

// Fills rows; the frames must be known.
bool speedscope_read_sampled(struct speedscope_reader *r, struct speedscope_profile *p) MUST_USE;
bool speedscope_read_evented(struct speedscope_reader *r, struct speedscope_profile *p) MUST_USE;

#endif
