// SPDX-License-Identifier: Apache-2.0
// Any bytes either are refused with a reason or give a valid batch that can be written as pprof and read again.
#include "codec/formats.h"
#include "codec/pprof.h"
#include "profile/validate.h"

static const struct decode_limits limits = {
    .max_inflated_bytes = 4 << 20,
    .max_sample_types = 16,
    .max_samples = 1 << 16,
    .max_stack_depth = 4096,
    .max_labels = 64,
    .max_line_bytes = 1 << 16,
    .max_batch_bytes = (size_t)256 << 20,
};

static struct batch *decode(const struct format *f, struct bytes data)
{
    const struct decode_options o = {.limits = &limits};
    const struct format_choice choice = {.format = f};
    struct decode_report report;
    struct err e = {0};
    struct batch *b;
    const enum err_code code = format_decode(data, &choice, &o, &b, &report, &e);
    CHECK((code == ERR_OK) == (b != NULL));
    CHECK(code == ERR_OK || (e.code == code && e.text[0] != '\0'));
    CHECK(b == NULL || batch_validate(b, &e) == ERR_OK);
    return b;
}

static void write_again(const struct batch *b)
{
    const struct scope *s = b->resources[0]->scopes[0];
    struct buf out;
    struct err e;
    uint64_t lost;
    if (b->profile_count == 0)
        return;
    buf_init(&out, (size_t)1 << 30);
    CHECK(pprof_group(s, 0) == b->profile_count);
    CHECK(pprof_encode(b, s, 0, s->profile_count, &out, &lost, &e) == ERR_OK && lost == 0);
    struct batch *again = decode(&pprof_format, buf_bytes(&out));
    CHECK(again != NULL && again->sample_count == b->sample_count);
    CHECK(again->dictionary->mapping_count == b->dictionary->mapping_count);
    batch_unref(&again);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct batch *b = decode(&pprof_legacy_format, (struct bytes){data, size});
    if (b != NULL)
        write_again(b);
    batch_unref(&b);
    return 0;
}
