// SPDX-License-Identifier: Apache-2.0
// Any bytes either are refused with a reason or give a valid batch without negative values.
#include "codec/formats.h"
#include "codec/speedscope.h"
#include "profile/validate.h"

static const struct decode_limits limits = {
    .max_inflated_bytes = 4 << 20,
    .max_samples = 1 << 16,
    .max_stack_depth = 32, // so small that it is reached
    .max_batch_bytes = (size_t)256 << 20,
};

static void check_values(const struct profile *p)
{
    CHECK(p->columns->sample_count == p->observations->sample_count);
    for (uint32_t i = 0; i < p->columns->sample_count; i++)
        CHECK(p->observations->values[i] >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct decode_options o = {.limits = &limits};
    const struct bytes input = {data, size};
    struct decode_report report = {0};
    struct err e = {0};
    struct batch *b;
    (void)speedscope_recognise(input);
    const enum err_code code = speedscope_decode(input, input, &o, &b, &report, &e);
    CHECK((code == ERR_OK) == (b != NULL));
    CHECK(code == ERR_OK || (e.code == code && e.text[0] != '\0'));
    if (b != NULL) {
        CHECK(batch_validate(b, &e) == ERR_OK);
        for (uint32_t i = 0; i < b->profile_count; i++)
            check_values(&b->resources[0]->scopes[0]->profiles[i]);
    }
    batch_unref(&b);
    return 0;
}
