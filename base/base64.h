// SPDX-License-Identifier: Apache-2.0
// RFC 4648.
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/buf.h"

// The standard alphabet, padded.
void base64_encode(struct bytes raw, struct buf *out);
// Standard or URL-safe alphabet, padded or not, nothing else between; out gets at most base64_decoded_max bytes.
// False when text is no base64.
bool base64_decode(struct bytes text, uint8_t *out, size_t *len_out);

static inline size_t base64_decoded_max(size_t text_len)
{
    return text_len / 4 * 3 + 3;
}

#endif
