// SPDX-License-Identifier: Apache-2.0
// What keeps a peer of HTTP/2 within bounds: a purse that pays for its idle frames, and the stream numbers it opened.
#ifndef NET_HTTP2_PURSE_H
#define NET_HTTP2_PURSE_H

#include <stdbool.h>
#include <stdint.h>

struct http2_purse_size {
    uint32_t capacity, per_second;
};

struct http2_purse {
    uint32_t tokens;
    uint64_t filled_ms;
};

static inline void http2_purse_fill(struct http2_purse *p, const struct http2_purse_size *size, uint64_t now_ms)
{
    *p = (struct http2_purse){size->capacity, now_ms};
}

static inline void http2_purse_earn(struct http2_purse *p, const struct http2_purse_size *size, uint64_t tokens)
{
    uint64_t room = size->capacity - p->tokens;
    p->tokens += (uint32_t)(tokens < room ? tokens : room);
}

// False when it is empty.
static inline bool http2_purse_pay(struct http2_purse *p, const struct http2_purse_size *size, uint64_t now_ms)
{
    uint64_t seconds = (now_ms - p->filled_ms) / 1000;
    if (seconds > 0) {
        http2_purse_earn(p, size, seconds < size->capacity ? seconds * size->per_second : size->capacity);
        p->filled_ms += seconds * 1000;
    }
    if (p->tokens == 0)
        return false;
    p->tokens--;
    return true;
}

// A client's PINGs, judged as gRPC's servers do: one that comes too early is a strike, the third ends the connection.
// Whatever it is sent clears the strikes.
enum { HTTP2_PING_STRIKES = 3 };

struct http2_pings {
    bool counted; // one has come since the last answer
    uint64_t last_ms;
    uint32_t strikes;
};

// True when it is one too many; only once.
static inline bool http2_pings_add(struct http2_pings *p, uint64_t now_ms, uint64_t least_ms)
{
    bool early = p->counted && now_ms - p->last_ms < least_ms;
    p->counted = true;
    p->last_ms = now_ms;
    p->strikes += early;
    return early && p->strikes == HTTP2_PING_STRIKES;
}

// Which of the last 64 client's stream numbers were really opened.
struct http2_ids {
    int32_t highest;
    uint64_t opened; // bit i: highest - 2 * i
};

// A HEADERS frame for a stream that is not open. False when its number was passed over before (RFC 9113 §5.1.1);
// numbers too old to tell, and one used before, are the library's affair.
static inline bool http2_ids_open(struct http2_ids *ids, int32_t id)
{
    if (id <= 0 || id % 2 == 0)
        return true;
    if (id > ids->highest) {
        uint32_t steps = ((uint32_t)id - (uint32_t)ids->highest + 1) / 2;
        ids->opened = (steps < 64 ? ids->opened << steps : 0) | 1;
        ids->highest = id;
        return true;
    }
    uint32_t age = (uint32_t)(ids->highest - id) / 2;
    return age >= 64 || (ids->opened >> age & 1) != 0;
}

#endif
