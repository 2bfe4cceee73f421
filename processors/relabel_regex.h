// SPDX-License-Identifier: Apache-2.0
// Inside processors/: the expressions of relabel rules, as Prometheus compiles them with Go's regexp: the whole text must
// match and `.` takes line feeds, too. Text must be UTF-8. What most rules are (`(.*)`, `literal`, `prefix.*`, `a|b`) is
// matched without RE2.
#ifndef PROCESSORS_RELABEL_REGEX_H
#define PROCESSORS_RELABEL_REGEX_H

#include "base/arena.h"
#include "base/regex.h"

enum regex_tail { TAIL_NONE, TAIL_ANY, TAIL_SOME, TAIL_REGEX }; // nothing, .*, .+, ask RE2

struct regex_shape {
    struct bytes prefix;
    enum regex_tail tail;
};

struct relabel_regex {
    struct regex *regex;        // NULL if the shapes are all
    struct regex_shape *shapes; // alternatives
    size_t shape_count;
    uint32_t group_count;
    bool needs_regex; // a group may be something else than the tail
};

// Keeps its shapes in the arena. ERR_INVALID says what is wrong with it, without naming where it stands.
enum err_code relabel_regex_compile(struct arena *arena, struct bytes pattern, struct relabel_regex *out,
                                    struct err *e) MUST_USE;
void relabel_regex_fini(struct relabel_regex *r);

bool relabel_regex_matches(const struct relabel_regex *r, struct bytes text);
// groups has room for group_count + 1; [0] is the text, data NULL = took no part.
bool relabel_regex_match(const struct relabel_regex *r, struct bytes text, struct bytes *groups);
// The number of the first group of this name behind `after`, 0 if there is none.
uint32_t relabel_regex_group(const struct relabel_regex *r, struct bytes name, uint32_t after);

#endif
