// SPDX-License-Identifier: Apache-2.0
// Inside detect/: what one detector is, and one run of it.
#ifndef DETECT_DETECTOR_H
#define DETECT_DETECTOR_H

#include "detect/detection.h"
#include "net/http_client.h"

struct detector_run;

struct detector {
    const char *name;
    const char *alias;              // another spelling; NULL = none
    const struct field *attributes; // rows of its switches; NULL = all it finds is wanted
    size_t switches;                // of them, in struct detect_settings
    // Loop thread. Ends with detector_end, perhaps from inside.
    void (*begin)(struct detector_run *r);
    // Ends what takes time: detector_end follows, perhaps from inside. NULL = begin always ends it.
    void (*cancel)(struct detector_run *r);
};

// By name; NULL = there is none.
const struct detector *detector_find(const char *name);
// What to do instead of a detector that only the Collector has; NULL = it has none of this name.
const char *detector_missing_remedy(const char *name);

enum { DETECTED_MAX_ATTRIBUTES = 128, DETECTED_MAX_TEXT_BYTES = 4096 };

struct detector_found {
    struct arena arena;
    struct key_value *list; // grows
    size_t capacity;
    uint32_t count;
};

struct detector_run {
    const struct detector *detector;
    struct detection *detection;
    const struct detect_settings *settings;
    struct detector_found found; // by this run
    bool pending, failed;
    void *state; // of the detector, while it is pending
    void (*on_end)(struct detector_run *r, const struct err *e);
};

// The variable's text; NULL when it is not set or empty.
const char *detector_env(const struct detector_run *r, const char *name);
uv_loop_t *detector_loop(const struct detector_run *r);
// The client for metadata services: connects within a second, never through a proxy. NULL with e set.
struct http_client *detector_http_client(struct detector_run *r, struct err *e);

// Adds an attribute if it is wanted, not empty, and not there yet. Broken UTF-8 is repaired, what is past
// DETECTED_MAX_TEXT_BYTES cut off. All are copied.
void detector_add(struct detector_run *r, const char *key, struct bytes text);
void detector_add_text(struct detector_run *r, const char *key, const char *text); // NULL = nothing
void detector_add_list(struct detector_run *r, const char *key, const char *const *texts, uint32_t count);
// Of the user's own: always wanted, the last of a key counts.
void detector_put(struct detector_run *r, struct bytes key, struct bytes text);
bool detector_wants(const struct detector_run *r, const char *key);
// e NULL = it went well, even if nothing was found.
void detector_end(struct detector_run *r, const struct err *e);

void detector_found_fini(struct detector_found *f);

extern const struct detector detector_env_variables, detector_system, detector_container, detector_k8s_downward,
    detector_k8s_api, detector_ec2, detector_gcp, detector_azure;

#endif
