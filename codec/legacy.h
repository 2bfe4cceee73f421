// SPDX-License-Identifier: Apache-2.0
// The profiles of before profile.proto: gperftools' binary CPU and text files, Go's debug=1 texts, jemalloc's heap_v2.
// A reader fills a struct legacy, whose rules (docs/formats/pprof_legacy.md) are those of google/pprof, and writes it
// as profile.proto; from there on the pprof reader has it. Internal to codec/ but for the three functions on top.
#ifndef CODEC_LEGACY_H
#define CODEC_LEGACY_H

#include "base/arena.h"
#include "base/index_table.h"
#include "codec/decode.h"
#include "codec/text_lines.h"

const char *legacy_describe(struct bytes data); // "a jemalloc heap profile"; NULL = none of these formats
bool legacy_recognise(struct bytes data);
// data is inflated. Any thread. As the decode of a struct format.
enum err_code legacy_decode(struct bytes data, struct bytes original, const struct decode_options *options,
                            struct batch **out, struct decode_report *report, struct err *e) MUST_USE;

// --- what the files that read them share ---

#define LEGACY_NONE UINT32_MAX
enum { LEGACY_MAX_TYPES = 4, LEGACY_FIRST_LINES = 20, LEGACY_NOT_SAMPLED = -1 };

struct legacy_type {
    struct bytes type, unit;
};

struct legacy_location {
    uint64_t address;
    uint32_t mapping, function; // LEGACY_NONE = unknown
    uint32_t id;                // from 1, in the order of the samples; 0 = in no stack
    int64_t line;
};

struct legacy_function {
    struct bytes name, file;
};

struct legacy_mapping {
    uint64_t start, limit, offset;
    struct bytes file, build_id;
};

struct legacy_sample {
    uint32_t first, count; // of frames
    int64_t block_bytes;   // average size of an object, where has_blocks
    int64_t values[LEGACY_MAX_TYPES];
};

struct legacy {
    const struct decode_limits *limits;
    struct decode_report *report;
    struct err *e;
    enum err_code code; // the first failure
    struct text_lines lines;
    bool is_text; // errors name the line

    struct legacy_type types[LEGACY_MAX_TYPES], period_type;
    uint32_t type_count;
    int64_t period, duration_nanos;
    bool has_blocks;
    const char *drop_frames, *keep_frames;

    struct legacy_location *locations; // one per address
    uint32_t *order;                   // of those that have an id: order[id - 1] is the location
    struct legacy_function *functions; // one per name
    struct legacy_mapping *mappings;
    struct legacy_sample *samples;
    uint32_t *frames; // locations, leaf first
    size_t location_count, location_capacity, order_count, function_count, function_capacity, mapping_count,
        mapping_capacity, sample_count, sample_capacity, frame_count, frame_capacity;
    size_t sample_start; // of the frames of the sample that is being read
    struct index_table location_table, function_table;
    struct arena texts;
};

// Keeps the first failure, with the line before it. Returns false, for `return legacy_fail(...)`.
bool legacy_fail(struct legacy *l, enum err_code code, const char *format, ...) PRINTF_LIKE(3, 4);
bool legacy_no_memory(struct legacy *l);
// The next line without its end; false at the end and after a failure.
bool legacy_line(struct legacy *l, struct bytes *line_out);

struct legacy_type legacy_type_of(const char *type, const char *unit);
void legacy_set_types(struct legacy *l, const char *const (*types)[2], uint32_t count); // type and unit of each
// Return addresses lie behind the call; minus one they lie in it.
enum legacy_adjust { LEGACY_AS_IS, LEGACY_CALLERS, LEGACY_ALL };
// Frames of the sample that is being read; legacy_sample ends it. values: type_count of them.
bool legacy_frame(struct legacy *l, uint64_t address, enum legacy_adjust adjust) MUST_USE;
bool legacy_addresses(struct legacy *l, struct bytes text, enum legacy_adjust adjust) MUST_USE;
bool legacy_sample(struct legacy *l, const int64_t *values, int64_t block_bytes) MUST_USE;
uint32_t legacy_find_location(const struct legacy *l, uint64_t address); // LEGACY_NONE = there is none
// The signal handler sees the leaf twice: by its registers and, less one, by the stack.
void legacy_drop_double_leaves(struct legacy *l);

// The memory map and what follows from it, called once all samples are there: gives locations their ids and mappings.
// Passes over lines until the map begins; none begins: the locations get one mapping of everything.
bool legacy_read_maps_section(struct legacy *l, struct bytes line) MUST_USE; // line: the last that was read
bool legacy_read_maps(struct legacy *l) MUST_USE;                            // the rest is the map
bool legacy_begins_maps(struct bytes line);
bool legacy_settle(struct legacy *l) MUST_USE; // ids and mappings with what mappings there are

// The whole of one kind; header: its first line.
bool legacy_read_cpu(struct legacy *l, struct bytes data) MUST_USE;
bool legacy_is_cpu(struct bytes data);
bool legacy_read_heap(struct legacy *l, struct bytes header) MUST_USE;
bool legacy_read_jemalloc(struct legacy *l, struct bytes header) MUST_USE;
bool legacy_read_count(struct legacy *l, struct bytes header) MUST_USE;
bool legacy_is_count(struct bytes header);
bool legacy_read_contention(struct legacy *l, struct bytes header) MUST_USE;
bool legacy_read_thread(struct legacy *l, struct bytes header) MUST_USE;
bool legacy_read_java_heap(struct legacy *l, struct bytes header) MUST_USE;
bool legacy_read_java_contention(struct legacy *l) MUST_USE; // behind its header
bool legacy_read_java_symbols(struct legacy *l, struct bytes line) MUST_USE;

// A heap sample that was taken with the probability 1 - exp(-size / rate) stands for so many; rate 0 = not known.
void legacy_unsample(int64_t rate, int64_t *count, int64_t *bytes);
// "count: bytes [count: bytes]", in use and allocated; begins at text, which it moves on.
struct legacy_heap_counts {
    int64_t inuse_count, inuse_bytes, alloc_count, alloc_bytes;
};
bool legacy_take_heap_counts(struct bytes *text, struct legacy_heap_counts *out);
// A sample of them as the heap types of l are. rate may be LEGACY_NOT_SAMPLED.
bool legacy_heap_sample(struct legacy *l, const struct legacy_heap_counts *c, int64_t rate) MUST_USE;
void legacy_set_heap_types(struct legacy *l, bool has_alloc);
bool legacy_counts_alloc(const struct legacy_heap_counts *total); // says the line with the totals

// The expressions that google/pprof gives profiles of each kind.
extern const char legacy_drop_cpu[], legacy_drop_heap[], legacy_keep_heap[], legacy_drop_lock[];

// Writes profile.proto.
void legacy_write(const struct legacy *l, struct buf *out);

// --- text ---
// Each takes what it is named after from the front of *text, or nothing and gives false.
bool legacy_take(struct bytes *text, const char *literal);
bool legacy_take_digits(struct bytes *text, struct bytes *out);
bool legacy_take_int64(struct bytes *text, int64_t *out);                 // decimal, '-' allowed
bool legacy_take_hex(struct bytes *text, uint64_t *out, bool *too_large); // digits, either case
void legacy_take_spaces(struct bytes *text);                              // ' ' only
struct bytes legacy_take_word(struct bytes *text);                        // white space, then up to white space
struct bytes legacy_trim(struct bytes text);
struct bytes legacy_stack_text(struct bytes text); // its beginning that holds nothing but 0x numbers and spaces
bool legacy_is_space(uint8_t c);
bool legacy_begins(struct bytes text, const char *with);
bool legacy_find(struct bytes text, const char *what, size_t *at_out);
bool legacy_has(struct bytes text, const char *what);
bool legacy_is_blank(struct bytes line); // or a comment
// An integer as Go's ParseInt(text, 0, 64) has it: 0x, 0o, 0b and a leading 0 mean what they do there.
bool legacy_go_int64(struct bytes text, int64_t *out);
int64_t legacy_multiply(int64_t a, int64_t b); // stays at the limits

// A place among ranges: the first, in the order given, that holds the address.
struct legacy_range {
    uint64_t start, limit;
};
struct legacy_ranges {
    uint64_t *bounds;
    uint32_t *owners; // of [bounds[i], bounds[i + 1])
    size_t count;
};
bool legacy_ranges_build(struct legacy_ranges *r, const struct legacy_range *ranges, size_t count) MUST_USE;
void legacy_ranges_fini(struct legacy_ranges *r);
uint32_t legacy_ranges_find(const struct legacy_ranges *r, uint64_t address);

#endif
