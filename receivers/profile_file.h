// SPDX-License-Identifier: Apache-2.0
// One file of profiles on its way: read, known or not, decoded, delivered, answered. Used by the receiver that
// watches folders and by `profrelay import`.
#ifndef RECEIVERS_PROFILE_FILE_H
#define RECEIVERS_PROFILE_FILE_H

#include "codec/formats.h"
#include "receivers/known_files.h"
#include "receivers/path_attributes.h"
#include "receivers/receiver.h"

enum file_outcome {
    FILE_SENT,    // every peer took it
    FILE_PARTIAL, // taken, some profiles rejected for good
    FILE_GAVE_UP, // not delivered; may be offered again
    FILE_REFUSED, // a peer will never take it as it is
    FILE_INVALID, // not a profile, or over a limit
    FILE_UNREADABLE,
    FILE_CHANGED,    // grew while it was read: come back
    FILE_KNOWN,      // the same content was sent before
    FILE_IN_FLIGHT,  // the same content is on its way
    FILE_BUSY,       // no memory in the budget now: come back
    FILE_QUEUE_FULL, // a sending queue has no room now: come back
    FILE_OUTCOME_COUNT,
};

enum file_timestamp { TIMESTAMP_PROFILE, TIMESTAMP_FILE, TIMESTAMP_NOW };
extern const char *const file_timestamp_names[]; // for rows of type FIELD_ENUM

struct profile_file_options {
    struct decode_limits limits;
    const struct format *format;         // NULL = told from each file
    const struct format *const *allowed; // NULL-terminated; NULL = every format
    struct folded_options folded;
    const struct path_attributes *match; // over the receiver's resource attributes; NULL = none
    uint64_t max_file_bytes;
    int timestamp; // enum file_timestamp
    bool original_payload;
    bool dry_run; // decode only: the outcome is FILE_SENT
};

// The keys of a struct folded_options that lies at_ bytes into the settings of a receiver.
#define FOLDED_FIELDS(at_)                                                                                             \
    {.name = "sample_type",                                                                                            \
     .type = FIELD_STRING,                                                                                             \
     .offset = (at_) + offsetof(struct folded_options, sample_type),                                                   \
     .help = "what the counts are; default samples, with a sample_rate cpu"},                                          \
        {.name = "sample_unit",                                                                                        \
         .type = FIELD_STRING,                                                                                         \
         .offset = (at_) + offsetof(struct folded_options, sample_unit),                                               \
         .help = "of the counts; default count, with a sample_rate nanoseconds"},                                      \
        {.name = "sample_rate",                                                                                        \
         .type = FIELD_DOUBLE,                                                                                         \
         .offset = (at_) + offsetof(struct folded_options, sample_rate),                                               \
         .default_text = "0",                                                                                          \
         .min = 0,                                                                                                     \
         .max = 1e9,                                                                                                   \
         .unit = "Hz",                                                                                                 \
         .help = "counts become nanoseconds: count * 1e9 / sample_rate; 0 = counts stay"},                             \
        {.name = "leaf_first",                                                                                         \
         .type = FIELD_BOOL,                                                                                           \
         .offset = (at_) + offsetof(struct folded_options, leaf_first),                                                \
         .default_text = "false",                                                                                      \
         .help = "the frames of a line stand leaf first"},                                                             \
        {.name = "missing_count_is_one",                                                                               \
         .type = FIELD_BOOL,                                                                                           \
         .offset = (at_) + offsetof(struct folded_options, missing_count_is_one),                                      \
         .default_text = "false",                                                                                      \
         .help = "a line without a count is one sample instead of a bad line"},                                        \
        {.name = "frame_suffixes_to_types",                                                                            \
         .type = FIELD_BOOL,                                                                                           \
         .offset = (at_) + offsetof(struct folded_options, frame_suffixes_to_types),                                   \
         .default_text = "false",                                                                                      \
         .help = "_[j], _[k] ... behind a frame become its profile.frame.type"}

struct profile_file {
    // Given by the owner, before submit; all must live until on_outcome.
    struct receiver *receiver;
    const struct profile_file_options *options;
    struct known_files *known; // NULL = every content is new
    const char *path;
    struct bytes content;                    // data NULL = read from path; else this, borrowed, of identity.size bytes
    struct file_identity identity;           // as seen last; told anew on FILE_CHANGED
    int64_t duration_nanos;                  // of what it holds, where the format does not say; 0 = not known
    void (*on_held)(struct profile_file *f); // loop thread, at most once, before on_outcome; may be NULL
    void (*on_outcome)(struct profile_file *f); // loop thread, exactly once; f is the owner's again
    void *owner;
    // Told with the outcome.
    enum file_outcome outcome;
    struct err e;   // why, for everything but SENT and KNOWN
    bool unmatched; // options->match is not found in the path
    struct known_key key;
    struct decode_report report;
    uint64_t file_bytes, profiles, samples;
    int64_t profile_time_nanos; // of the first profile, as sent
    int64_t retry_after_nanos;  // GAVE_UP: what the peer asked for
    // Own.
    struct job job;
    struct loop_task task;
    bool held;
    const struct key_value *attributes; // while it is read and decoded
    uint32_t attribute_count;
};

// False = no room among the workers' jobs or in the memory budget: try later. Loop thread.
bool profile_file_submit(struct profile_file *f) MUST_USE;

// Logs what was lost or repaired when it was decoded.
void profile_file_log_report(const struct profile_file *f);

// "sent", "invalid", ...: for metrics and summaries.
const char *file_outcome_name(enum file_outcome outcome);

#endif
