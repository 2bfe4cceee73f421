// SPDX-License-Identifier: Apache-2.0
// The PROXY protocol's header, versions 1 and 2 (haproxy's proxy-protocol.txt): who really connected.
#ifndef NET_PROXY_PROTOCOL_H
#define NET_PROXY_PROTOCOL_H

#include "base/bytes.h"

enum { PROXY_HEADER_MAX_BYTES = 16 + 1024 };

enum proxy_result { PROXY_MORE, PROXY_OK, PROXY_BAD };

struct proxy_source {
    char address[64]; // empty: the proxy speaks for itself (LOCAL, UNKNOWN)
    uint16_t port;
};

// received is all from the connection's first byte on. *used_out and *out are set with PROXY_OK. Never asks for more
// than PROXY_HEADER_MAX_BYTES.
enum proxy_result proxy_protocol_parse(struct bytes received, size_t *used_out, struct proxy_source *out);

#endif
