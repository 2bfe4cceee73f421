// SPDX-License-Identifier: Apache-2.0
// Logs on stderr, console or JSON. Every line names its component. Each message (component + format) is
// limited to a burst per period; what was left out is counted and said with the next line that passes.
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/check.h"
#include "base/clock.h"

#include <stdbool.h>
#include <stdio.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF };
enum log_encoding { LOG_CONSOLE, LOG_JSON };

struct log; // the sink: one per process, shared by all threads

struct log_options {
    enum log_level level;
    enum log_encoding encoding;
    FILE *stream;              // not closed by us; NULL = stderr
    const struct clock *clock; // NULL = clock_system
    unsigned burst;            // lines per message and period that pass; 0 = all
    int64_t period_nanos;      // 0 = 10 s
};

struct log *log_create(const struct log_options *options);
// At most 256 messages are counted at a time; what one that makes room still counts is said first.
void log_destroy(struct log **log); // says what is still counted as left out
// Changes what passes from now on; any thread.
void log_set(struct log *log, enum log_level level, enum log_encoding encoding);

// Who speaks: copied by value, `kind` and `id` must outlive it. A NULL sink drops the line.
struct logger {
    struct log *sink;
    const char *kind; // "receiver", "exporter", "service", ...
    const char *id;   // "pprof/a"
};

// Any thread; blocks for one write(2) at most; keeps errno. Control characters and broken UTF-8 are escaped.
// The format must be a string literal: its address identifies the message for rate limiting.
void log_write(const struct logger *l, enum log_level level, const char *format, ...) PRINTF_LIKE(3, 4);

#define log_debug(l, ...) log_write((l), LOG_DEBUG, __VA_ARGS__)
#define log_info(l, ...) log_write((l), LOG_INFO, __VA_ARGS__)
#define log_warn(l, ...) log_write((l), LOG_WARN, __VA_ARGS__)
#define log_error(l, ...) log_write((l), LOG_ERROR, __VA_ARGS__)

#endif
