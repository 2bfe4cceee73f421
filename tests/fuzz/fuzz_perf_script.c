// SPDX-License-Identifier: Apache-2.0
// Any bytes either are refused with a reason or give a valid batch.
#include "codec/folded.h"
#include "codec/perf_script.h"
#include "profile/validate.h"

#include <stdlib.h>

static const struct decode_limits limits = {
    .max_sample_types = 8,
    .max_samples = 1 << 16,
    .max_stack_depth = 256,
    .max_line_bytes = 4096,
    .max_batch_bytes = (size_t)64 << 20,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct bytes text = {data, size};
    const struct decode_options o = {.limits = &limits};
    struct decode_report report = {0};
    struct err e = {0};
    struct batch *b = NULL;
    if (size == 0)
        return 0;
    (void)perf_script_recognise(text);
    enum err_code code = perf_script_decode(text, text, &o, &b, &report, &e);
    CHECK((code == ERR_OK) == (b != NULL));
    CHECK(code == ERR_OK || (e.code == code && e.text[0] != '\0'));
    if (b != NULL) {
        const struct encode_options folded = {0};
        struct encode_report written = {0};
        struct buf out;
        CHECK(batch_validate(b, &e) == ERR_OK && report.samples == b->sample_count);
        buf_init(&out, (size_t)1 << 30);
        code = folded_encode(b, &folded, &out, &written, &e);
        CHECK(code == ERR_OK || code == ERR_LIMIT);
        buf_fini(&out);
    }
    batch_unref(&b);
    return 0;
}
