// SPDX-License-Identifier: Apache-2.0
// What the tests of formats made of text share.
#ifndef TESTS_UNIT_CODEC_TEXT_FIXTURE_H
#define TESTS_UNIT_CODEC_TEXT_FIXTURE_H

#include "codec/formats.h"

// Decodes what must be good, and valid. o and r may be NULL.
struct batch *text_read(const struct format *f, struct bytes data, const struct decode_options *o,
                        struct decode_report *r);
// Decodes what must fail and sees that the error has this text.
void text_refuse(const struct format *f, struct bytes data, const struct decode_options *o, enum err_code want,
                 const char *text);
// The batch as folded stacks; type NULL = the default. free() it.
char *text_folded(const struct batch *b, const char *type);
// Through OTLP and back.
struct batch *text_through_otlp(const struct batch *b);
const struct profile *text_profile(const struct batch *b, uint32_t i);
void text_assert(const struct batch *b, uint32_t string, const char *want);
// What the values of a profile add up to: of all samples, or of those with a function of whose name this is a part.
int64_t text_sum(const struct batch *b, const struct profile *p, const char *name);
// Reads each of the lengths 0..data.len of it, and with each allocation failing: it is refused or gives a valid batch.
void text_cut_everywhere(const struct format *f, struct bytes data);
void text_fail_everywhere(const struct format *f, struct bytes data);
// A file of the corpus; free() the data.
struct bytes text_corpus_file(const char *path);

#endif
