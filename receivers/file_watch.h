// SPDX-License-Identifier: Apache-2.0
// Watches globs: looks again and again, sends what is new and complete, remembers what was taken. Loop thread.
#ifndef RECEIVERS_FILE_WATCH_H
#define RECEIVERS_FILE_WATCH_H

#include "receivers/profile_file.h"

enum { START_AT_BEGINNING, START_AT_END };
enum { AFTER_KEEP, AFTER_DELETE };

struct file_watch_settings {
    struct config_strings include, exclude;
    int64_t interval_nanos, initial_delay_nanos, settle_nanos, forget_nanos;
    int start_at, after;
    const char *match; // NULL = none
    struct profile_file_options options;
    int64_t max_sample_types, max_samples, max_stack_depth, max_labels; // as configured, for options.limits
    uint64_t max_line_bytes;
};

// The options with the limits as configured.
struct profile_file_options file_watch_options(const struct file_watch_settings *s,
                                               const struct format *const *allowed);

struct file_watch;

// Starts to look after initial_delay. settings, allowed and match (as profile_file_options has them) and known must
// outlive it.
struct file_watch *file_watch_create(struct receiver *receiver, const struct file_watch_settings *settings,
                                     const struct format *const *allowed, const struct path_attributes *match,
                                     struct known_files *known);
// Begins nothing new. May be called twice.
void file_watch_close(struct file_watch *w);
// After close: waits for every file on its way and every put, then calls on_stopped and is gone.
void file_watch_stop(struct file_watch *w, void (*on_stopped)(void *arg), void *arg);

#endif
