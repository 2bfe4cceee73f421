// SPDX-License-Identifier: Apache-2.0
// The layout that is found must be one; what decodes, in whatever layout, must be a valid batch that encodes and decodes to as
// many profiles and samples.
#include "base/check.h"
#include "codec/otlp_decode_layout.h"
#include "profile/validate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct batch *b)
{
    struct buf out;
    struct batch *again;
    buf_init(&out, (size_t)1 << 30);
    CHECK(otlp_encode(b, &out, NULL) == ERR_OK);
    CHECK(otlp_decode(buf_bytes(&out), NULL, &again, NULL) == ERR_OK);
    CHECK(again->profile_count == b->profile_count && again->sample_count == b->sample_count);
    batch_unref(&again);
    buf_fini(&out);
}

static void decode(struct bytes input, enum otlp_layout layout)
{
    struct otlp_limits limits = otlp_default_limits;
    struct otlp_rejected rejected = {0};
    struct batch *b;
    struct err e = {0};
    limits.max_batch_bytes = (size_t)1 << 24;
    if (otlp_decode_layout(input, layout, &limits, &b, input.len % 2 == 1 ? &rejected : NULL, &e) == ERR_OK) {
        CHECK(batch_validate(b, NULL) == ERR_OK);
        check_again(b);
    } else {
        CHECK(b == NULL && e.text[0] != 0);
    }
    batch_unref(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes input = {data, size};
    struct otlp_layout_finding finding;
    struct err e = {0};
    const struct otlp_layout_hints hints = {.says_current = true};
    if (otlp_layout_find(input, NULL, &finding, &e) == ERR_OK) {
        CHECK(finding.layout > OTLP_LAYOUT_AUTO && finding.layout < OTLP_LAYOUTS && finding.evidence[0] != 0);
        CHECK(otlp_layout_find(input, &hints, &finding, &e) == ERR_OK);
    } else {
        CHECK(e.text[0] != 0);
    }
    for (int l = OTLP_LAYOUT_1_5; l < OTLP_LAYOUTS; l++)
        decode(input, (enum otlp_layout)l);
    return 0;
}
