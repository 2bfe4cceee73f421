// SPDX-License-Identifier: Apache-2.0
// A server's engine without a socket: bytes in, bytes out, a clock that the test sets, a handler that notes.
#ifndef TESTS_SUPPORT_FAKE_LINK_H
#define TESTS_SUPPORT_FAKE_LINK_H

#include "net/http_engine.h"

enum { FAKE_WAITING_MAX = 256 };

struct fake_link {
    struct http_link link; // first
    struct http_limits limits;
    struct http_server_handler handler;
    struct http_engine *engine;
    uint64_t now_ms;
    struct buf out; // what the engine sent
    // What the handler does: "/refused" hears 503 before its body; others echo their body, or wait for fake_link_answer.
    size_t max_body;
    bool defers;
    bool streams;       // echoes in pieces (HTTP/2)
    size_t reserve_max; // on_reserve grants so much in total
    bool own_refusals;  // answers on_refuse itself, with 299
    const struct http_header *trailers;
    size_t trailer_count;
    // What it saw.
    int heads, requests, refusals, aborts;
    int last_refusal;
    char last[256]; // method path query authority body-length of the last request
    struct buf last_body;
    struct http_exchange *waiting[FAKE_WAITING_MAX];
    size_t waiting_count;
    uint8_t room[64 << 10];
};

// Limits are those of the server's defaults; change them before the first byte.
void fake_link_init(struct fake_link *f);
void fake_link_start(struct fake_link *f, struct http_engine *(*create)(struct http_link *link));
void fake_link_fini(struct fake_link *f);
// In pieces of step bytes, as far as the engine reads; then all it has to say goes to out. False when it stopped
// reading before the end.
bool fake_link_receive(struct fake_link *f, struct bytes data, size_t step);
void fake_link_pump(struct fake_link *f);
// Sets the clock; what is due expires.
void fake_link_at(struct fake_link *f, uint64_t now_ms);
void fake_link_answer(struct fake_link *f, size_t i, int status, const char *text); // the i-th waiting one
bool fake_link_finished(const struct fake_link *f);

#endif
