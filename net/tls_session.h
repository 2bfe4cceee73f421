// SPDX-License-Identifier: Apache-2.0
// What the client's and the server's side of TLS share; only they include this.
#ifndef NET_TLS_SESSION_H
#define NET_TLS_SESSION_H

#include "net/tls.h"

#include <openssl/ssl.h>

struct tls_session {
    SSL *ssl;
    struct bytes input;
    struct buf output;
    char name[256]; // what the certificate must be for
    bool goodbye_sent;
};

BIO_METHOD *tls_bio_method_create(void);
// A session over memory; the side it takes is the caller's to set. The method must outlive it.
struct tls_session *tls_session_attach(SSL_CTX *ctx, BIO_METHOD *method);
// The library's newest reason, or the system's error behind it; forgets them.
const char *tls_library_reason(void);
// For keys that want a password: there is none.
int tls_no_password(char *out, int size, int writing, void *arg);

#endif
