// SPDX-License-Identifier: Apache-2.0
// Inside processors/: `$1`, `${1}`, `$name`, `${name}` and `$$` in a replacement or a target, by the rules of Go's
// Regexp.Expand: a name is as long as it can be, so `$1x` is the group "1x" (which nobody has, so nothing); a `$` before
// anything else is a `$`.
#ifndef PROCESSORS_RELABEL_TEMPLATE_H
#define PROCESSORS_RELABEL_TEMPLATE_H

#include "processors/relabel_regex.h"

struct template_part {
    struct bytes text; // literally, if group is NO_GROUP
    uint32_t group;
    const uint32_t *same_name; // further groups of this name, up to a 0: the first that took part counts; NULL = none
};

enum { NO_GROUP = INT32_MAX, TEMPLATE_MAX_BYTES = 16 << 20 };

struct relabel_template {
    struct template_part *parts;
    size_t count;
};

// The text must outlive it.
void template_parse(struct arena *arena, struct bytes text, const struct relabel_regex *regex,
                    struct relabel_template *out);
// A result of one part is borrowed from the text or the groups, any other lives in the arena. ERR_LIMIT over
// TEMPLATE_MAX_BYTES.
enum err_code template_expand(const struct relabel_template *t, const struct bytes *groups, struct arena *arena,
                              struct bytes *out, struct err *e) MUST_USE;

#endif
