// SPDX-License-Identifier: Apache-2.0
// Inside processors/: what each rule does, in the log: a line for each rule. A rule has a limit of lines of its own in the
// log, so that long lists are seen whole.
#ifndef PROCESSORS_RELABEL_TRACE_H
#define PROCESSORS_RELABEL_TRACE_H

#include "base/buf.h"
#include "base/log.h"
#include "processors/relabel_rules.h"

struct relabel_trace {
    struct buf before;
};

// Both do nothing when the logger is NULL.
void relabel_trace_begin(struct relabel_trace *t, const struct logger *log, const struct relabel_run *run);
void relabel_trace_end(struct relabel_trace *t, const struct logger *log, size_t index, const struct relabel_rule *rule,
                       const struct relabel_run *run);

#endif
