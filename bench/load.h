// SPDX-License-Identifier: Apache-2.0
// A closed loop of OTLP requests, made beforehand, over blocking sockets: a thread per connection, one request at a
// time on each. What is refused for now (429, 503, UNAVAILABLE, RESOURCE_EXHAUSTED) may be sent again after a pause.
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

struct load {
    int port;
    bool grpc;
    unsigned connections;
    struct bytes body;
    const char *encoding;     // NULL = none
    const char *path;         // HTTP; NULL = that of profiles
    const char *content_type; // HTTP; NULL = that of OTLP
    bool sends_again;         // what was refused, until it is taken
    unsigned pause_ms;        // before that, half of it more or less
    uint64_t requests;        // in all; 0 = no bound
    bool once;                // one of each connection
    double seconds;           // no new ones after that; 0 = no bound
};

struct load_result {
    uint64_t taken, refused, other; // other: any status that is none of the above, or a lost connection
    uint64_t unfinished;            // refused to the last
    int other_status;               // one of those; 0 = the connection
    double seconds;                 // from the first to the last
    double p50_ms, p99_ms;          // of those that were taken, from (last) sending to answer
};

void load_run(const struct load *l, struct load_result *out);

#endif
