// SPDX-License-Identifier: Apache-2.0
// Any bytes either are refused with a reason or give a valid batch; what is written is read again. The first byte picks
// JSON, and which allocation fails.
#include "base/mem.h"
#include "codec/pyroscope_push.h"
#include "profile/validate.h"

#include <stdlib.h>

static const struct decode_limits limits = {
    .max_inflated_bytes = 1 << 20,
    .max_sample_types = 16,
    .max_samples = 1 << 12,
    .max_stack_depth = 4096,
    .max_labels = 64,
    .max_batch_bytes = (size_t)32 << 20,
};
static const struct pyroscope_settings settings = {.limits = &limits, .now_nanos = 1790000000000000000};

static struct batch *decode(struct bytes body, bool json, bool memory_may_fail)
{
    struct decode_report report;
    struct err e = {0};
    struct batch *b = NULL;
    enum err_code code =
        pyroscope_push_decode(body, json, BYTES_LITERAL("pyroscope-rs/pyspy/1.4.0"), &settings, &b, &report, &e);
    CHECK((code == ERR_OK) == (b != NULL));
    CHECK(code == ERR_OK || (e.code == code && e.text[0] != '\0'));
    CHECK(code != ERR_MEMORY || memory_may_fail);
    CHECK(code == ERR_OK || code == ERR_INVALID || code == ERR_LIMIT || code == ERR_MEMORY);
    CHECK((report.rejected_profiles > 0) == (report.first_bad.code != ERR_OK));
    if (b != NULL)
        CHECK(batch_validate(b, &e) == ERR_OK && b->resource_count + report.rejected_profiles <= PYROSCOPE_MAX_SERIES);
    return b;
}

// The bytes as a profile: whatever it is, the request around it is read.
static void write_and_read(struct bytes raw)
{
    struct pyroscope_label items[] = {{BYTES_LITERAL("service_name"), BYTES_LITERAL("s")},
                                      {BYTES_LITERAL("__name__"), BYTES_LITERAL("memory")}};
    const struct pyroscope_labels labels = {.items = items, .count = COUNT_OF(items)};
    struct buf out;
    buf_init(&out, SIZE_MAX);
    pyroscope_push_encode(&labels, raw, BYTES_LITERAL("id"), &out);
    CHECK(buf_ok(&out));
    struct batch *b = decode(buf_bytes(&out), false, false);
    CHECK(b == NULL || b->resource_count == 1);
    batch_unref(&b);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct bytes body = {data + 1, size - 1};
    bool json = (data[0] & 1) != 0;
    size_t fails = data[0] >> 1;
    mem_fail_from(fails);
    struct batch *b = decode(body, json, fails != 0);
    mem_fail_from(0);
    batch_unref(&b);
    if (fails == 0)
        write_and_read(body);
    return 0;
}
