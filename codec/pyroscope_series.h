// SPDX-License-Identifier: Apache-2.0
// Labels of a series <-> attributes of resource, scope and profile (docs/formats/pyroscope.md has the table).
#ifndef CODEC_PYROSCOPE_SERIES_H
#define CODEC_PYROSCOPE_SERIES_H

#include "codec/pyroscope.h"

// Attributes of a profile that keep what only Pyroscope knows, for the way back.
#define PYROSCOPE_ATTRIBUTE_PROFILE_TYPE "pyroscope.profile_type"  // __name__
#define PYROSCOPE_ATTRIBUTE_SESSION "pyroscope.session_id"         // __session_id__
#define PYROSCOPE_ATTRIBUTE_DELTA "pyroscope.delta"                // __delta__, as sent
#define PYROSCOPE_ATTRIBUTE_SPY "pyroscope.spy"                    // as sent
#define PYROSCOPE_ATTRIBUTE_DERIVED "pyroscope.derived_attributes" // keys of resource attributes that no label said
// Of a JFR recording that is handed on (its original payload, format "jfr").
#define PYROSCOPE_ATTRIBUTE_JFR_LABELS "pyroscope.jfr.labels"        // bytes: the labels part, as it came
#define PYROSCOPE_ATTRIBUTE_SAMPLE_RATE "pyroscope.sample_rate"      // int
#define PYROSCOPE_ATTRIBUTE_UNITS "pyroscope.units"                  // text
#define PYROSCOPE_ATTRIBUTE_AGGREGATION "pyroscope.aggregation_type" // text

// --- in ---

// What becomes of the labels. fini is due in every case.
struct pyroscope_attributes {
    struct arena texts;
    struct key_value *resource, *scope, *profile;
    uint32_t resource_count, scope_count, profile_count;
    struct bytes scope_name, scope_version;
};
// The texts of series and settings must outlive *out. profile_type: what the format tells where the series has no
// __name__ (NULL = nothing).
enum err_code pyroscope_attributes_make(const struct pyroscope_series *series, const char *profile_type,
                                        const struct pyroscope_settings *settings, struct pyroscope_attributes *out,
                                        struct err *e) MUST_USE;
void pyroscope_attributes_fini(struct pyroscope_attributes *a);
// Has a decoder give them to what it makes.
void pyroscope_attributes_apply(const struct pyroscope_attributes *a, struct decode_options *o);

// The __name__ of a pprof with these sample types (wall, process_cpu, memory, mutex, block, goroutine ...); names[i] is the
// display name where there is one. NULL = none of the known ones.
const char *pyroscope_profile_type_of(const struct bytes *names, size_t count);
// The same of profiles [first, first + count) of a scope, count > 0: their period type decides where a sample type says
// little ("samples").
const char *pyroscope_profile_type_of_batch(const struct batch *b, const struct scope *s, uint32_t first,
                                            uint32_t count);

// --- out ---

struct pyroscope_label_rename {
    const char *attribute, *label;
};
struct pyroscope_label_settings {
    const char *const *allow; // attributes of resource and scope that become labels; NULL = all
    size_t allow_count;
    const struct pyroscope_label_rename *rename; // applied after allow
    size_t rename_count;
    bool
        sanitize; // characters of names other than [a-zA-Z0-9_] become '_' (servers before 2.0); else only what no server takes
    // 30, 1024 and 2048 by default on servers; 0 = no limit. The labels that each series has count, too, and go first.
    uint32_t max_labels, max_name_bytes, max_value_bytes;
};
struct pyroscope_label_report {
    uint64_t dropped;   // over max_labels; of two that became one name the second (by its attribute's); reserved names
    uint64_t shortened; // names and values over their limit, cut between characters
};
// Labels of the profiles [first, first + count) of a scope, one pprof: __name__, service_name once, __delta__, __session_id__,
// pyroscope_spy and the attributes, sorted by name, every name once. count > 0; the batch is read. Initialises out, whose fini
// is due in every case; its texts are borrowed from the batch and settings or lie in out. Adds to *report. ERR_MEMORY only.
enum err_code pyroscope_labels_of(const struct batch *b, const struct resource *r, const struct scope *s,
                                  uint32_t first, uint32_t count, const struct pyroscope_label_settings *settings,
                                  struct pyroscope_labels *out, struct pyroscope_label_report *report,
                                  struct err *e) MUST_USE;
// The profile that a backend which keeps one sample type each shows: cpu (nanoseconds), wall, in-use bytes, allocated
// bytes, else the first. Index within [0, count).
uint32_t pyroscope_primary_profile(const struct batch *b, const struct scope *s, uint32_t first, uint32_t count);

#endif
