// SPDX-License-Identifier: Apache-2.0
// Credentials of the OTLP exporters' requests: what the authenticator adds, and once more when the peer refuses it.
#ifndef EXPORTERS_OTLP_AUTH_H
#define EXPORTERS_OTLP_AUTH_H

#include "exporters/otlp_common.h"
#include "net/header_set.h"

// At start: finds the authenticator that the settings name, if they do. Requests go to url, or to a socket on this host.
enum err_code otlp_auth_start(struct otlp_exporter *x, const char *url, bool to_socket, struct err *e) MUST_USE;

// The headers of one attempt: the exporter's own, and what the authenticator makes of them. header_set_fini them.
void otlp_auth_headers(const struct otlp_exporter *x, const struct record *r, struct header_set *out);
// The peer has refused the credentials. True: they were read anew, and this attempt is to be made again at once; at most
// one time each.
bool otlp_auth_again(struct otlp_flight *f);

#endif
