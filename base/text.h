// SPDX-License-Identifier: Apache-2.0
// Small things about text: UTF-8, hex, numbers with units, "did you mean".
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/bytes.h"
#include "base/check.h"
#include "base/glob.h"

// RFC 3629: no surrogates, no overlong forms, nothing above U+10FFFF.
bool utf8_valid(struct bytes text);
// The length of the character that text begins with; 0 when it is broken or text is empty.
size_t utf8_char_len(struct bytes text);
// The code point of one whole character.
uint32_t utf8_code_point(struct bytes character);
// Writes text to out with each bad byte replaced by U+FFFD; returns the length written, at most 3 * len.
// out may be NULL to measure.
size_t utf8_repair(struct bytes text, uint8_t *out);

// Lower-case hex; out gets 2 * len characters, no terminator.
void hex_encode(struct bytes raw, char *out);
// Strictly lower-case hex of exactly 2 * raw_len characters; false otherwise.
bool hex_decode_lower(struct bytes text, uint8_t *raw, size_t raw_len);

// %XX, of either case, becomes the byte it stands for, in place; false (and half done) for a % without two digits behind it.
bool percent_decode(char *text, size_t *len);

// "5s", "300ms", "1h30m", "1.5h", "0": Go's duration syntax; a bare integer is nanoseconds, as in the Collector.
bool duration_parse(const char *text, int64_t *nanos_out);
// "64MiB", "1.5GiB", "10KB", "4096": bytes; K/M/G/T with B are powers of 1000, KiB.. of 1024. Case does not
// matter, one space before the unit may stand.
bool size_parse(const char *text, uint64_t *bytes_out);
// Decimal int64 with optional sign; the whole text must be used.
bool int64_parse(const char *text, int64_t *value_out);

// The name in candidates nearest to `name` by edit distance (a swap of neighbours is one edit), the first of
// equals; NULL if none is near (distance > 1 + len/3, or nothing kept). Case does not matter, '-' and '_' are equal.
const char *text_suggest(const char *name, const char *const *candidates, size_t count);

// "1.4 MB", "812 B": for people. Returns out.
char *text_bytes(char *out, size_t out_size, uint64_t bytes);
// "1 sample", "0 samples": a noun that takes an s. TEXT_COUNT is one for the arguments of a printf.
char *text_count(char *out, size_t out_size, uint64_t count, const char *noun);
#define TEXT_COUNT(count, noun) text_count((char[48]){0}, 48, (count), (noun))

#endif
