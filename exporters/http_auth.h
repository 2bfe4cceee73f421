// SPDX-License-Identifier: Apache-2.0
// Credentials of an exporter's requests: what the authenticator adds, and once more when the peer refuses it.
#ifndef EXPORTERS_HTTP_AUTH_H
#define EXPORTERS_HTTP_AUTH_H

#include "exporters/http_exporter.h"

// At start: finds the authenticator that the settings name, if they do. Requests go to url, or to a socket on this host.
enum err_code http_auth_start(struct http_exporter *x, const char *url, bool to_socket, struct err *e) MUST_USE;

// Has the authenticator add to the headers of one attempt.
void http_auth_add(const struct http_exporter *x, const struct record *r, struct header_set *headers);
// The peer has refused the credentials. True: they were read anew, and this attempt is to be made again at once; at most
// one time each.
bool http_auth_again(struct http_flight *f);

#endif
