// SPDX-License-Identifier: Apache-2.0
// The parts of an absolute URL, as borrowed runs of its text.
#ifndef NET_URL_H
#define NET_URL_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdint.h>

enum { URL_HOST_MAX = 255, URL_AUTHORITY_MAX = URL_HOST_MAX + 16 };

struct url {
    bool tls; // https
    bool is_ipv6;
    uint16_t port;          // the scheme's unless given
    struct bytes user_info; // data is NULL when there is none
    struct bytes host;      // without brackets
    struct bytes target;    // path and query; may be empty or begin with '?'
};

// http and https only; no fragment. Errors name the part, never the user info.
enum err_code url_parse(const char *text, struct url *out, struct err *e) MUST_USE;

// "host:port", brackets around IPv6; without the port when it is the scheme's and !always_port. Returns out.
char *url_authority(const struct url *u, bool always_port, char out[URL_AUTHORITY_MAX]);
char *authority_format(const char *host, uint16_t port, char out[URL_AUTHORITY_MAX]);

// "host:port", "[::1]:port"; port 0..65535. host_out gets the host without brackets.
enum err_code endpoint_parse(const char *text, char host_out[URL_HOST_MAX + 1], uint16_t *port_out,
                             struct err *e) MUST_USE;

#endif
