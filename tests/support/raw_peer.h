// SPDX-License-Identifier: Apache-2.0
// A TCP peer on loopback that does what a script says: for everything a decent HTTP server would not do.
#ifndef TESTS_SUPPORT_RAW_PEER_H
#define TESTS_SUPPORT_RAW_PEER_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

enum raw_step_kind {
    RAW_EXPECT,        // waits until text has come (since the last expectation)
    RAW_SEND,          // sends text, `repeat` times (0 = once)
    RAW_SEND_BYTEWISE, // sends text, one write per byte
    RAW_START_TLS,     // from here on the connection is TLS
    RAW_CLOSE,         // orderly, of TLS too
    RAW_CUT,           // closes without TLS's goodbye
    RAW_RESET,         // RST
    RAW_STOP_READING,
};

struct raw_step {
    enum raw_step_kind kind;
    const char *text;
    size_t repeat;
};

struct raw_peer;

// tls is used by RAW_START_TLS, borrowed, may be NULL.
struct raw_peer *raw_peer_create(uv_loop_t *loop, SSL_CTX *tls);
int raw_peer_port(const struct raw_peer *p);
// The next connection without a script gets this one; connections beyond the last script repeat it. At its
// end a script hangs: reads and says nothing. Steps are borrowed.
void raw_peer_script(struct raw_peer *p, const struct raw_step *steps, size_t count);
size_t raw_peer_connections(const struct raw_peer *p);             // accepted so far
const char *raw_peer_received(const struct raw_peer *p, size_t i); // decrypted, terminated
size_t raw_peer_received_len(const struct raw_peer *p, size_t i);
bool raw_peer_gone(const struct raw_peer *p, size_t i); // the other side has closed connection i
// Closes everything; runs the loop until that is done.
void raw_peer_destroy(struct raw_peer **p);

#endif
