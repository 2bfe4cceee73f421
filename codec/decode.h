// SPDX-License-Identifier: Apache-2.0
// What all readers of profiles have in common: limits, what the caller knows better, what was noticed on the way.
#ifndef CODEC_DECODE_H
#define CODEC_DECODE_H

#include "base/buf.h"
#include "base/err.h"
#include "codec/otlp_layout.h"
#include "profile/builder.h"

struct decode_limits {
    size_t max_inflated_bytes;       // 0 = no limit
    const char *inflated_bytes_name; // of the limit, for errors; NULL = max_inflated_size
    uint32_t max_sample_types;
    uint32_t max_samples;
    uint32_t max_stack_depth; // locations of one sample
    uint32_t max_labels;      // labels of one sample
    uint32_t max_line_bytes;  // of a line of text
    size_t max_batch_bytes;   // memory the decoded batch may take; 0 = no limit
};

extern const struct decode_limits decode_default_limits;

// What was repaired or noticed on the way; each counts occurrences.
struct decode_report {
    const char *format;          // "pprof": name of the format that was read, once it is known
    uint64_t repaired_utf8;      // strings with broken UTF-8 (field cases A28, B17)
    uint64_t repaired_functions; // functions paired by position, all ids 0 (.NET, A8)
    uint64_t repaired_time;      // time given in us, ms or s instead of ns (A23)
    uint64_t guessed_time;       // fallback_time_nanos taken, because the profile's was 0 or made no sense (A22)
    uint64_t unknown_mappings;   // locations naming a mapping that is not there (read as unknown mapping)
    uint64_t comment_lines;      // comments and empty lines of text formats
    uint64_t bad_lines;          // lines of text formats that say nothing we can read: passed over
    uint64_t rounded_values;     // fractions that became integers
    uint64_t cut_stacks;         // deeper than max_stack_depth; text formats keep the leaf's end under a marker frame
    uint64_t rejected_profiles;  // of OTLP, with keep_good_profiles, and of Push
    struct err first_bad;        // why the first bad line or profile was passed over; code ERR_OK = none was
    struct otlp_layout_finding layout; // of OTLP: of the last request; AUTO = there was none
    uint64_t samples, sample_types;
    bool batch_full;    // ERR_LIMIT: more than max_batch_bytes
    bool inflated_full; // ERR_LIMIT: more than max_inflated_bytes
    bool gzip, zstd;
};

// What folded stacks do not say themselves.
struct folded_options {
    const char *sample_type; // NULL = "samples", or "cpu" with a sample rate
    const char *sample_unit; // NULL = "count", or "nanoseconds" with a sample rate
    // NULL = cpu in nanoseconds with a sample rate, else as the sample type; "" = none
    const char *period_type, *period_unit;
    int64_t period;     // > 0: each count is worth so many units; 0 = the sample rate tells
    double sample_rate; // Hz, > 0: a count c becomes c * 1e9 / sample_rate nanoseconds; 0 = counts stay
    bool leaf_first;    // frames stand leaf first
    bool missing_count_is_one;
    bool no_counts;               // each line that is not empty is a stack as a whole, and counts 1
    bool blunt_counts;            // what stands behind the last blank is the count, also if a number stands before it
    bool frame_suffixes_to_types; // "_[j]", "_[k]" ...: cut off and kept as the location's profile.frame.type
};

// What the scope says of who recorded; nothing where the format says nothing itself and the caller knows nothing.
struct decode_scope {
    struct bytes name, version;
    const struct key_value *attributes; // keys unique
    uint32_t attribute_count;
};

struct decode_options {
    const struct decode_limits *limits; // NULL = defaults
    // Resource attributes of the batch that comes out (copied). A format that has its own (OTLP) keeps them, but for
    // those of the same keys.
    const struct key_value *resource_attributes;
    uint32_t resource_attribute_count;
    // Of the scope and of each profile that comes out (copied); keys unique. What the file says itself under the same key
    // stays. OTLP has scopes and profiles of its own and takes none of this.
    struct decode_scope scope;
    const struct key_value *profile_attributes;
    uint32_t profile_attribute_count;
    const struct otlp_layout_rules *layouts; // of OTLP; NULL = all may come in, none is assumed
    bool keep_good_profiles;    // of OTLP: one that cannot be read does not fail the others, see otlp_decode_good
    bool keep_original_payload; // put the file itself on the first profile, where OTLP has a name for the format
    // For profiles whose own time is 0 or before 1980 and cannot be repaired; 0 = leave it as it is. What a pprof
    // said is kept in the attribute pprof.profile.time_nanos, and restored when writing pprof.
    int64_t fallback_time_nanos;
    int64_t fallback_duration_nanos; // for formats that say none; 0 = not known
    bool force_fallback_time;        // use fallback_time_nanos whatever the profile says
    int64_t now_nanos;               // to judge what is plausible; 0 = no judging
    struct folded_options folded;
};

// builder_finish, and whether it was memory that did not suffice.
enum err_code decode_finish(struct builder *b, struct batch **out, struct decode_report *report,
                            struct err *e) MUST_USE;

// The time a profile gets that says `said` of itself (ns since 1970); counts in the report.
int64_t decode_time(const struct decode_options *o, int64_t said, struct decode_report *report);

// The attributes of a profile: its own (ids of the builder) and those of the options.
uint32_t decode_profile_attributes(const struct decode_options *o, struct builder *b, const uint32_t *own,
                                   uint32_t own_count);

static inline const struct decode_limits *decode_limits_of(const struct decode_options *o)
{
    return o->limits != NULL ? o->limits : &decode_default_limits;
}

// What a person should hear of a report: a call of tell for each thing. lost: the batch has less than the file.
typedef void decode_tell_fn(void *arg, bool lost, const char *text);
void decode_report_tell(const struct decode_report *r, decode_tell_fn *tell, void *arg);

// Notes a line that is passed over; line_number from 1.
void decode_bad_line(struct decode_report *report, uint64_t line_number, const char *format, ...) PRINTF_LIKE(3, 4);

// The bytes of a file as found (raw, gzip or zstd), inflated: *out is data itself or lies in storage, which the caller
// initialised and ends. ERR_LIMIT, ERR_INVALID (also for no bytes at all).
enum err_code decode_inflate(struct bytes data, const struct decode_limits *limits, struct buf *storage,
                             struct bytes *out, struct decode_report *report, struct err *e) MUST_USE;

#endif
