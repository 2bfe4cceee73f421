// SPDX-License-Identifier: Apache-2.0
// What decodes must be a valid batch that encodes and decodes to as many profiles and samples.
#include "base/check.h"
#include "codec/otlp.h"
#include "codec/otlp_status.h"
#include "profile/validate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct batch *b)
{
    struct buf out;
    struct batch *again;
    buf_init(&out, (size_t)1 << 30);
    CHECK(otlp_encode(b, &out, NULL) == ERR_OK);
    CHECK(otlp_decode(buf_bytes(&out), NULL, &again, NULL) == ERR_OK);
    CHECK(again->resource_count == b->resource_count);
    CHECK(again->profile_count == b->profile_count);
    CHECK(again->sample_count == b->sample_count);
    batch_unref(&again);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes input = {data, size}, message;
    struct batch *b;
    struct err e = {0};
    int64_t rejected;
    int32_t status;
    if (otlp_decode(input, NULL, &b, &e) == ERR_OK) {
        CHECK(batch_validate(b, NULL) == ERR_OK);
        check_again(b);
    } else {
        CHECK(b == NULL && e.text[0] != 0);
    }
    batch_unref(&b);
    (void)otlp_decode_response(input, &rejected, &message);
    (void)otlp_decode_status(input, &status, &message);
    (void)otlp_decode_retry_info(input, &rejected);
    return 0;
}
