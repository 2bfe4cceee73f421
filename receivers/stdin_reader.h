// SPDX-License-Identifier: Apache-2.0
// Reads standard input as it comes and delivers its whole lines, a part at a time. What was read is kept until every
// peer has taken it; meanwhile no more is read than one part, so that the writer waits instead of losing.
#ifndef RECEIVERS_STDIN_READER_H
#define RECEIVERS_STDIN_READER_H

#include "receivers/profile_file.h"

enum { STDIN_STOP, STDIN_KEEP };

struct stdin_settings {
    int64_t interval_nanos; // what came in this time is one part
    uint64_t max_bytes;     // of a part
    int at_end;             // STDIN_STOP: the program drains and ends after the last part
};

struct stdin_reader;

// Begins to read. settings and options must outlive it. Loop thread, as everything here.
enum err_code stdin_reader_create(struct receiver *receiver, int fd, const struct stdin_settings *settings,
                                  const struct profile_file_options *options, struct stdin_reader **out,
                                  struct err *e) MUST_USE;
// Reads nothing more; whole lines that are there are delivered still. May be called twice.
void stdin_reader_close(struct stdin_reader *r);
// After close: waits for what is on its way, then calls on_stopped and is gone.
void stdin_reader_stop(struct stdin_reader *r, void (*on_stopped)(void *arg), void *arg);

#endif
