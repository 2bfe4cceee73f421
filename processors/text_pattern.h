// SPDX-License-Identifier: Apache-2.0
// Inside processors/: a text to look for, as the Collector's `match_type` says: equal, or an expression found anywhere.
#ifndef PROCESSORS_TEXT_PATTERN_H
#define PROCESSORS_TEXT_PATTERN_H

#include "base/regex.h"

enum text_pattern_type { TEXT_STRICT, TEXT_REGEXP };
extern const char *const text_pattern_types[]; // "strict", "regexp"

struct text_pattern {
    bool any; // takes whatever comes
    struct bytes text;
    struct regex *regex; // NULL = equal
};

// text (borrowed) NULL = any. After a failure there is nothing to end, but fini may be called.
enum err_code text_pattern_init(int type, const char *text, struct text_pattern *out, struct err *e) MUST_USE;
void text_pattern_fini(struct text_pattern *p);

static inline bool text_pattern_takes(const struct text_pattern *p, struct bytes text)
{
    if (p->any)
        return true;
    return p->regex != NULL ? regex_search(p->regex, text, NULL, 0) : bytes_equal(p->text, text);
}

#endif
