// SPDX-License-Identifier: Apache-2.0
// Any bytes either are refused with a reason or give a valid batch that can be written and read again.
#include "codec/pprof.h"
#include "profile/validate.h"

#include <stdlib.h>

static const struct decode_limits limits = {
    .max_inflated_bytes = 4 << 20,
    .max_sample_types = 16,
    .max_samples = 1 << 16,
    .max_stack_depth = 4096,
    .max_labels = 64,
    .max_batch_bytes = (size_t)256 << 20,
};

static struct batch *decode(struct bytes data)
{
    struct decode_options o = {
        .limits = &limits, .now_nanos = 1760000000000000000, .fallback_time_nanos = 1750000000000000000};
    struct decode_report report;
    struct err e = {0};
    struct batch *b = NULL;
    enum err_code code = pprof_decode(data, &o, &b, &report, &e);
    CHECK((code == ERR_OK) == (b != NULL));
    CHECK(code == ERR_OK || (e.code == code && e.text[0] != '\0'));
    if (b != NULL)
        CHECK(batch_validate(b, &e) == ERR_OK);
    return b;
}

static void write_again(const struct batch *b, const struct scope *s)
{
    for (uint32_t first = 0, n; (n = pprof_group(s, first)) != 0; first += n) {
        struct buf out;
        struct err e;
        uint64_t lost;
        buf_init(&out, (size_t)1 << 30);
        CHECK(pprof_encode(b, s, first, n, &out, &lost, &e) == ERR_OK);
        struct batch *again = decode(buf_bytes(&out));
        CHECK(again != NULL && again->profile_count == n);
        CHECK(again->dictionary->mapping_count == b->dictionary->mapping_count); // also those no sample uses
        CHECK(again->sample_count == (uint64_t)n * s->profiles[first].columns->sample_count);
        batch_unref(&again);
        buf_fini(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)pprof_describe_other((struct bytes){data, size});
    struct batch *b = decode((struct bytes){data, size});
    if (b != NULL)
        write_again(b, b->resources[0]->scopes[0]);
    batch_unref(&b);
    return 0;
}
