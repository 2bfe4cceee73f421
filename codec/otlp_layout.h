// SPDX-License-Identifier: Apache-2.0
// The wire layouts that OTLP profiles have had (opentelemetry-proto releases 1.4 to 1.11), and telling them apart.
// Nearly every release moved fields, so that one release's bytes often parse as another's, with other meaning.
#ifndef CODEC_OTLP_LAYOUT_H
#define CODEC_OTLP_LAYOUT_H

#include "base/bytes.h"
#include "base/err.h"

enum otlp_layout {
    OTLP_LAYOUT_AUTO, // not known yet
    OTLP_LAYOUT_1_5,  // 1.4 and 1.5: the tables lie in each profile
    OTLP_LAYOUT_1_7,
    OTLP_LAYOUT_1_8,
    OTLP_LAYOUT_1_9,
    OTLP_LAYOUT_CURRENT, // 1.10 and newer
    OTLP_LAYOUTS,
};

// "1.5", "1.7", "1.8", "1.9", "current"; names for configuration, messages and metrics. "1.4" and "1.10", "1.11" are known
// as others of the same.
extern const char *const otlp_layout_names[OTLP_LAYOUTS + 1]; // NULL-terminated, [0] is "auto"
bool otlp_layout_from_name(const char *name, enum otlp_layout *out);

struct otlp_layout_finding {
    enum otlp_layout layout;
    char evidence[256]; // one sentence: which field of which message said so
};

struct otlp_layout_hints {
    bool says_current;        // the request's header otlp-profiles-development-version is 1
    enum otlp_layout assumed; // when the bytes leave more than one; AUTO: nothing
};

// Which layout a request in protobuf is written in. It is the one under which every message is legal: right wire types,
// indices within their tables, counts that fit. Where two are, further signs decide (otlp-profiles.md 1.5), then the hints;
// what is still open is refused: ERR_INVALID with a sentence that names both layouts and the setting. ERR_INVALID too for
// layouts that cannot be read (1.3, 1.6), by name, and for bytes that are none. Linear; nothing is allocated but a few
// bytes per attribute.
enum err_code otlp_layout_find(struct bytes request, const struct otlp_layout_hints *hints,
                               struct otlp_layout_finding *out, struct err *e) MUST_USE;

// Which layouts may come in, for decode_options.
struct otlp_layout_rules {
    struct otlp_layout_hints hints;
    bool refused[OTLP_LAYOUTS];
};

#endif
