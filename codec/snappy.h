// SPDX-License-Identifier: Apache-2.0
// Snappy (google/snappy format_description.txt, framing_format.txt), read only: a block, or frames of them. The checksums
// of frames are not looked at: what carries them has its own. Internal to compress.c.
#ifndef CODEC_SNAPPY_H
#define CODEC_SNAPPY_H

#include "base/buf.h"
#include "base/err.h"

enum snappy_result { SNAPPY_OK, SNAPPY_DAMAGED, SNAPPY_TOO_LARGE, SNAPPY_NO_MEMORY };

// Appends at most max_bytes to out.
enum snappy_result snappy_inflate(struct bytes data, size_t max_bytes, struct buf *out) MUST_USE;

#endif
