// SPDX-License-Identifier: Apache-2.0
// What stands in a header Authorization: RFC 9110 §11.6.2, RFC 7617 (Basic).
#ifndef EXTENSIONS_AUTHORIZATION_H
#define EXTENSIONS_AUTHORIZATION_H

#include "base/bytes.h"

// "SCHEME rest": the scheme is compared without case; an empty one is before everything. The rest has no spaces around it.
bool authorization_rest(const char *value, const char *scheme, struct bytes *rest_out);

enum { BASIC_MAX_BYTES = 1024 }; // of user and password together

struct basic_credentials {
    struct bytes user, password; // in room
    uint8_t room[BASIC_MAX_BYTES + 8];
};

// "Basic dXNlcjpwYXNzd29yZA==". In place: out must not be copied.
bool authorization_basic(const char *value, struct basic_credentials *out);

#endif
