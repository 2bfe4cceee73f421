// SPDX-License-Identifier: Apache-2.0
// An IP address, of either version.
#ifndef BASE_IP_ADDRESS_H
#define BASE_IP_ADDRESS_H

#include "base/bytes.h"

struct ip_address {
    uint8_t bytes[16]; // IPv4 as ::ffff:a.b.c.d (RFC 4291 §2.5.5.2)
};

// "10.1.2.3", "2001:db8::1"; false for everything else, *out is then of no use.
bool ip_address_parse(struct bytes text, struct ip_address *out);

#endif
