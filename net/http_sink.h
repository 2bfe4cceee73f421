// SPDX-License-Identifier: Apache-2.0
// Inside of net/http_client.h: where the body of an answer goes that is not collected.
#ifndef NET_HTTP_SINK_H
#define NET_HTTP_SINK_H

#include "base/bytes.h"

struct http_sink {
    // First without data, when the head is there. false: no more of it. NULL = bodies are collected.
    bool (*take)(void *arg, struct bytes data);
    void *arg;
};

// Answers that say no are for the caller to read whole.
static inline bool http_sink_wants(const struct http_sink *s, int status)
{
    return s->take != NULL && status / 100 == 2;
}

#endif
