// SPDX-License-Identifier: Apache-2.0
// Any bytes either are refused with a reason or give a valid batch, as trie and as tree, and as text. The first byte
// chooses the sample rate.
#include "codec/pyroscope_text.h"
#include "profile/validate.h"

#include <stdlib.h>

typedef enum err_code decoder(struct bytes data, const struct pyroscope_meaning *meaning,
                              const struct decode_options *options, struct batch **out, struct decode_report *report,
                              struct err *e);

static const struct decode_limits limits = {
    .max_samples = 1 << 16,
    .max_stack_depth = 256,
    .max_line_bytes = 4096,
    .max_batch_bytes = (size_t)64 << 20,
};

static void decode(decoder *as, struct bytes data, int64_t rate)
{
    const struct pyroscope_meaning m = pyroscope_meaning_of(BYTES_LITERAL("fuzz.wall"), rate);
    const struct decode_options o = {.limits = &limits};
    struct decode_report report = {0};
    struct err e = {0};
    struct batch *b = NULL;
    const enum err_code code = as(data, &m, &o, &b, &report, &e);
    CHECK((code == ERR_OK) == (b != NULL));
    CHECK(code == ERR_OK || (e.code == code && e.text[0] != '\0'));
    CHECK(b == NULL || batch_validate(b, &e) == ERR_OK);
    CHECK(b == NULL || (b->profile_count == 1 && report.samples == b->sample_count));
    CHECK(report.bad_lines == 0 || report.first_bad.text[0] != '\0');
    batch_unref(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t rates[] = {0, 1, 97, INT64_MAX};
    if (size == 0)
        return 0;
    const struct bytes body = {data + 1, size - 1};
    const int64_t rate = rates[data[0] & 3];
    (void)pyroscope_meaning_of(body, rate);
    decode(pyroscope_trie_decode, body, rate);
    decode(pyroscope_tree_decode, body, rate);
    decode(pyroscope_lines_decode, body, rate);
    decode(pyroscope_folded_decode, body, rate);
    return 0;
}
