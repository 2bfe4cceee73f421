// SPDX-License-Identifier: Apache-2.0
#ifndef BASE_JSON_STRING_H
#define BASE_JSON_STRING_H

#include "base/buf.h"

// Text as a string of JSON, with quotes. Escaped is what must be, and U+2028/2029; broken UTF-8 is written as U+FFFD.
void json_put_string(struct buf *out, struct bytes text);

#endif
