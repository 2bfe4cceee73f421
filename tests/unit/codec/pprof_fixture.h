// SPDX-License-Identifier: Apache-2.0
// What the tests of pprof share.
#ifndef TESTS_UNIT_CODEC_PPROF_FIXTURE_H
#define TESTS_UNIT_CODEC_PPROF_FIXTURE_H

#include "codec/pprof.h"
#include "tests/support/pprof_bytes.h"

// Decodes what must be good, and valid.
struct batch *decode_good_with(struct bytes data, const struct decode_options *o, struct decode_report *r);
struct batch *decode_good(struct pprof_bytes *p);
// Decodes what must fail and sees that the error has this text; refuse also ends p.
void refuse_with(struct bytes data, const struct decode_options *o, enum err_code want, const char *text);
void refuse(struct pprof_bytes *p, const char *text);
const struct scope *scope_of(const struct batch *b);
const struct profile *profile_of(const struct batch *b, uint32_t i);
void assert_string(const struct batch *b, uint32_t id, const char *want);
// The attribute with this key in a set; NULL if it is not there.
const struct batch_attribute *attribute(const struct batch *b, uint32_t set, const char *key);
void assert_text_attribute(const struct batch *b, uint32_t set, const char *key, const char *want);
// Of a sample of the first profile.
uint32_t set_of(const struct batch *b, uint32_t sample);
uint32_t link_of(const struct batch *b, uint32_t sample);
// A file with one type and one location (id 1) with one function; a sample of it.
void begin(struct pprof_bytes *p);
void add_sample(struct pprof_bytes *p, uint64_t location, const struct test_label *labels, uint32_t count);

#endif
