// SPDX-License-Identifier: Apache-2.0
#include "base/ip_address.h"

#include <arpa/inet.h>

bool ip_address_parse(struct bytes text, struct ip_address *out)
{
    char name[INET6_ADDRSTRLEN];
    *out = (struct ip_address){.bytes = {[10] = 0xFF, [11] = 0xFF}};
    if (text.len == 0 || text.len >= sizeof name || memchr(text.data, 0, text.len) != NULL)
        return false;
    memcpy(name, text.data, text.len);
    name[text.len] = 0;
    return inet_pton(AF_INET, name, out->bytes + 12) == 1 || inet_pton(AF_INET6, name, out->bytes) == 1;
}
