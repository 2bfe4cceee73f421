// SPDX-License-Identifier: Apache-2.0
// Apache's MD5 hash of passwords ("$apr1$SALT$HASH", htpasswd -m): a thousand rounds of MD5, under a millisecond.
#ifndef EXTENSIONS_APR1_H
#define EXTENSIONS_APR1_H

#include "base/bytes.h"

enum { APR1_SALT_MAX = 8, APR1_HASH_CHARS = 22 };

// out: the part behind the salt, terminated.
void apr1_hash(struct bytes password, struct bytes salt, char out[APR1_HASH_CHARS + 1]);

#endif
