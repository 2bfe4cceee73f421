// SPDX-License-Identifier: Apache-2.0
// One request that brings profiles: its body is taken within what the budget grants, inflated and read on a worker,
// delivered, and answered once every branch holds it. What the body is, and how a client is spoken to, the receiver knows.
#ifndef RECEIVERS_UPLOAD_H
#define RECEIVERS_UPLOAD_H

#include "codec/compress.h"
#include "codec/decode.h"
#include "pipeline/claim.h"
#include "receivers/receiver.h"
#include "receivers/server_auth.h"

// What became of it; each receiver has the codes of its protocols.
enum upload_fate {
    UPLOAD_TAKEN,
    UPLOAD_INVALID,
    UPLOAD_UNREADABLE, // a format that is not read
    UPLOAD_TOO_LARGE,
    UPLOAD_BUSY,       // the same again later
    UPLOAD_OVER_LIMIT, // so; it is the sender who sends too much
    UPLOAD_REFUSED,
    UPLOAD_TOO_SLOW,
    UPLOAD_UNAUTHENTICATED,
    UPLOAD_LATE,    // past the client's own timeout
    UPLOAD_NO_NAME, // it does not say what it is of
    UPLOAD_NO_MEDIA_TYPE,
    UPLOAD_NO_ENCODING,
    UPLOAD_NO_METHOD,
    UPLOAD_NO_SUCH_PATH,
    UPLOAD_FATES,
};

struct upload_outcome {
    enum upload_fate fate;
    const char *text;          // NULL = none
    uint64_t rejected;         // profiles, when TAKEN
    int64_t retry_after_nanos; // BUSY and OVER_LIMIT, at least; 0 = a second
    const char *challenge;     // UNAUTHENTICATED; for WWW-Authenticate
};

struct upload;

struct upload_kind {
    // Worker thread. *out may have no profiles: nothing is delivered then, and the request is taken. On failure u->e says why:
    // ERR_INVALID, ERR_UNSUPPORTED, ERR_LIMIT, ERR_MEMORY.
    enum err_code (*read)(struct upload *u, struct batch **out);
    // Loop thread. Ends the exchange.
    void (*answer)(struct upload *u, struct http_exchange *x, const struct upload_outcome *outcome);
    // Loop thread: it is held, for good. May be NULL.
    void (*taken)(struct upload *u);
    // Loop thread: the last call; frees what begins with u.
    void (*end)(struct upload *u);
};

struct upload_options {
    enum compression compression;
    unsigned transport; // of the receiver's module
    bool is_framed;     // a gRPC message: 5 bytes in front
    size_t max_bytes;   // of the message, as sent and inflated
    const char *limit_name;
    int64_t timeout_nanos; // the client's, from now; 0 = none
};

// The first member of a receiver's own request. The members below are for its kind.
struct upload {
    struct job job;
    struct loop_task task;
    const struct upload_kind *kind;
    struct receiver *receiver;
    struct http_exchange *exchange; // NULL: nobody waits for the answer
    struct upload_options options;
    struct claim claim;
    uint8_t *body; // malloc'ed; read may take it
    size_t body_len;
    struct bytes payload; // of the body: what is to be inflated and read
    uint64_t rejected;    // profiles that cannot be read, set by read; e says why the first
    bool limit_is_final;  // set by upload_decode_fn with ERR_LIMIT: more memory would not help
    char sender[sizeof((struct http_peer *)NULL)->address];
    struct err e;
    // Of upload.c.
    int64_t deadline_nanos; // 0 = none
    bool begun;             // the body has come
    bool held;
    size_t too_large;               // the length a framed message says it has, when that is too much
    bool never;                     // there will never be room for the body
    struct server_attempt *attempt; // NULL: who sends it is known
    const char *challenge;          // of an attempt that failed
    _Atomic bool gone;              // the peer is: delivering would make a duplicate of what it sends again
    uint64_t samples;
    enum upload_fate fate;
};

// In on_head. u is zeroed, and from here on lives until kind->end. Asks for the body, or answers why not. auth NULL =
// everybody may send. The exchange's handler is upload_handler's.
void upload_begin(struct upload *u, const struct upload_kind *kind, struct receiver *receiver, struct http_exchange *x,
                  const struct upload_options *options, struct server_auth *auth);

// Of a server whose requests are uploads: what is taken up in on_head goes on here.
struct http_server_handler
upload_handler(void *arg, void (*on_head)(void *arg, struct http_exchange *x, const struct http_head *head),
               void (*on_problem)(void *arg, const struct http_peer *peer, const char *text));

// In read: the payload inflated into out (initialised, empty), every byte charged before it is there; the payload itself
// if it is not compressed.
enum err_code upload_inflate(struct upload *u, struct buf *out) MUST_USE;
// In read: calls `decode` with limits that the claim allows, and again with more while it is these that do not suffice.
// other: bytes of the claim that are taken already, beside the body.
typedef enum err_code upload_decode_fn(void *arg, const struct decode_limits *limits, struct batch **out,
                                       struct err *e);
enum err_code upload_decode(struct upload *u, size_t other, upload_decode_fn *decode, void *arg, struct batch **out);

// The one value of a header that names an encoding. False: none we know.
bool upload_encoding_of(const struct http_exchange *x, const char *header, enum compression *out);
bool upload_encoding_named(const char *name, enum compression *out); // the value; NULL = none
#define UPLOAD_ENCODINGS "gzip, zstd, deflate, snappy, identity"

// Whether it is to come again, and hears when.
static inline bool upload_comes_again(const struct upload_outcome *o)
{
    return o->fate == UPLOAD_BUSY || o->fate == UPLOAD_OVER_LIMIT;
}

// Of a peer's address as text; unknown if it is none.
struct sender upload_sender_of(const char *address);

// The seconds of a Retry-After, in nanoseconds: at least outcome's, and spread, since all that are refused at once would
// come back at once. unit: random, [0, 1).
int64_t upload_retry_delay(const struct upload_outcome *o, double unit);

#endif
