// SPDX-License-Identifier: Apache-2.0
// What `profrelay import` tells a person: progress while it runs, the summary at the end.
#ifndef RECEIVERS_IMPORT_SUMMARY_H
#define RECEIVERS_IMPORT_SUMMARY_H

#include "receivers/import.h"

struct import_summary {
    bool dry_run, progress; // progress: a bar on stderr
    bool hint_age;          // say so when profiles are older than some backends take
    size_t found, ended;
    size_t outcomes[FILE_OUTCOME_COUNT];
    size_t skipped; // other files in a folder
    uint64_t profiles, samples, bytes;
    size_t complaints;
    bool old_seen;
    int64_t started_nanos, shown_nanos;
};

void import_summary_init(struct import_summary *s, bool dry_run, bool progress, bool hint_age);
// Calls back into s, on the loop's thread.
struct import_observer import_summary_observer(struct import_summary *s);
void import_summary_print(const struct import_summary *s);
// 0 only if everything arrived.
int import_summary_exit_code(const struct import_summary *s);

#endif
