// SPDX-License-Identifier: Apache-2.0
// Whole-buffer compression: gzip (RFC 1952, several members), zstd (RFC 8878, window at most 8 MiB as
// RFC 9659 asks), none; deflate (RFC 1950, or 1951 as some send it) and
// snappy (a block or frames) are only read. Output is always bounded.
#ifndef CODEC_COMPRESS_H
#define CODEC_COMPRESS_H

#include "base/buf.h"
#include "base/err.h"

enum compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD, COMPRESSION_DEFLATE, COMPRESSION_SNAPPY };

// By the magic bytes at the start; anything else is NONE.
enum compression compression_detect(struct bytes data);
// "gzip", "zstd", "none": also the HTTP content coding (none = identity). NULL-terminated list order is stable.
const char *compression_name(enum compression c);
// Of those that can be written.
bool compression_from_name(const char *name, enum compression *out);

// Inflates all members/frames of data into out (appended; out's max_bytes does not bound it). More than
// max_bytes of output is ERR_LIMIT naming limit_name and both figures; 0 = no limit. Damage is ERR_INVALID.
// NONE copies.
enum err_code decompress(enum compression c, struct bytes data, size_t max_bytes, const char *limit_name,
                         struct buf *out, struct err *e) MUST_USE;

// A reusable compressor: one per thread. level 0 = the default of the algorithm (gzip 1, zstd 3).
struct compressor;
struct compressor *compressor_create(enum compression kind, int level); // NULL when out of memory
void compressor_destroy(struct compressor **c);
// Appends the compressed form of data to out.
enum err_code compressor_run(struct compressor *c, struct bytes data, struct buf *out, struct err *e) MUST_USE;

#endif
