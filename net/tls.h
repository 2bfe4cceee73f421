// SPDX-License-Identifier: Apache-2.0
// TLS over memory: bytes in, bytes out, no sockets. One thread per context.
#ifndef NET_TLS_H
#define NET_TLS_H

#include "net/http_client.h"

struct tls_context; // options, and OpenSSL's context once it is needed
struct tls_session;

enum tls_result {
    TLS_OK,    // handshake done; data read or written
    TLS_MORE,  // needs more input
    TLS_ENDED, // the peer said goodbye
    TLS_FAILED,
};

// Copies the options; OpenSSL is not touched yet.
struct tls_context *tls_context_create(const struct tls_client_options *options);
// Loads files and certificates unless done already; may be called again after a failure.
enum err_code tls_context_prepare(struct tls_context *t, struct err *e) MUST_USE;
// Loads all anew if a file changed (time, size or inode); new sessions use it. *changed_out tells. On an error (a
// half-written pair) the old ones stay in use, and it is told once until a file changes again. Nothing before prepare.
enum err_code tls_context_reload(struct tls_context *t, bool *changed_out, struct err *e) MUST_USE;
void tls_context_destroy(struct tls_context **t); // after its sessions

// A client session with host (a name or an address). alpn names protocols ("h2,http/1.1") or is NULL. Prepares the context.
enum err_code tls_session_create(struct tls_context *t, const char *host, const char *alpn, struct tls_session **out,
                                 struct err *e) MUST_USE;
void tls_session_destroy(struct tls_session **s);

// Received bytes; borrowed until the next tls_handshake or tls_read answers TLS_MORE.
void tls_session_feed(struct tls_session *s, struct bytes received);
enum tls_result tls_session_handshake(struct tls_session *s, struct err *e) MUST_USE;
enum tls_result tls_session_read(struct tls_session *s, uint8_t *data, size_t size, size_t *len_out,
                                 struct err *e) MUST_USE;
// All of data is taken (at most 16 KiB at a time) or the session has failed.
enum tls_result tls_session_write(struct tls_session *s, struct bytes data, struct err *e) MUST_USE;
void tls_session_goodbye(struct tls_session *s);
// What must go to the peer; the caller takes it from the buffer.
struct buf *tls_session_output(struct tls_session *s);
// The protocol the peer chose; empty without one.
struct bytes tls_session_alpn(const struct tls_session *s);

#endif
