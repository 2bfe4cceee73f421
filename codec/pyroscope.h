// SPDX-License-Identifier: Apache-2.0
// What the two ways into a Pyroscope server, /ingest and Push, have in common: a series of labels and what we make of it.
// The mapping, both ways, is in docs/formats/pyroscope.md.
#ifndef CODEC_PYROSCOPE_H
#define CODEC_PYROSCOPE_H

#include "codec/decode.h"

struct pyroscope_label {
    struct bytes name, value;
};

// In the order of arrival. fini frees items and texts.
struct pyroscope_labels {
    struct pyroscope_label *items;
    size_t count, capacity;
    struct arena texts; // those that are not borrowed
};

enum {
    PYROSCOPE_MAX_LABELS = 256, // of a series
    PYROSCOPE_MAX_LABEL_NAME_BYTES = 1024,
    PYROSCOPE_MAX_LABEL_VALUE_BYTES = 64 << 10,
};

void pyroscope_labels_init(struct pyroscope_labels *l);
void pyroscope_labels_fini(struct pyroscope_labels *l);
// Borrows both texts. False: out of memory.
bool pyroscope_labels_add(struct pyroscope_labels *l, struct bytes name, struct bytes value) MUST_USE;
// The value of the last label of this name; NULL data = there is none.
struct bytes pyroscope_labels_find(const struct pyroscope_labels *l, const char *name);

// A profile as a client announces it.
struct pyroscope_series {
    struct pyroscope_labels labels; // with service_name, __name__, __session_id__, __delta__ ... where they were sent
    struct bytes app_name;          // of /ingest's name, before the braces; data NULL with Push
    struct bytes spy;               // spyName; len 0 = not said
    struct bytes user_agent;        // the request's; len 0 = none
};

// How a receiver wants it.
struct pyroscope_settings {
    const struct decode_limits *limits; // never NULL
    // Of the configuration and of the tenant; they win over labels of the same keys.
    const struct key_value *resource_attributes;
    uint32_t resource_attribute_count;
    bool labels_to_scope; // labels that are nothing special become attributes of the scope, not of the resource
    bool pass_jfr;        // a JFR upload becomes a profile with the recording as its original payload
    int64_t now_nanos;    // since 1970; for times that make no sense, and for "now-1h"
};

#endif
