// SPDX-License-Identifier: Apache-2.0
// The server's side of net/tls.h: certificates, client certificates, reload. One thread per context.
#ifndef NET_TLS_SERVER_H
#define NET_TLS_SERVER_H

#include "net/tls.h"
#include "net/tls_parameters.h"

// The Collector's keys. Certificate and key are needed, each as a file or as PEM text.
struct tls_server_options {
    const char *cert_file, *cert_pem;
    const char *key_file, *key_pem;
    const char *client_ca_file; // set: clients must show a certificate that it signed
    struct tls_parameters parameters;
};

// The same files, texts and parameters.
bool tls_server_options_equal(const struct tls_server_options *a, const struct tls_server_options *b);

struct tls_server;

// Copies the options and loads the files: every error is told here.
enum err_code tls_server_create(const struct tls_server_options *options, struct tls_server **out,
                                struct err *e) MUST_USE;
void tls_server_destroy(struct tls_server **server); // after its sessions
// Loads all anew if a file changed (time, size or inode); new sessions use it. *changed_out tells. On an error (a
// half-written pair) the old ones stay in use, and it is told once until a file changes again.
enum err_code tls_server_reload(struct tls_server *t, bool *changed_out, struct err *e) MUST_USE;

// A session; what net/tls.h does with sessions works for it. alpn: the protocols in order of preference, a literal
// "h2,http/1.1" or NULL; a client that offers none of them gets none.
struct tls_session *tls_server_session(struct tls_server *t, const char *alpn);
// The verified client certificate's subject (RFC 2253), malloc'ed; NULL without one.
char *tls_session_subject(const struct tls_session *s);

#endif
