// SPDX-License-Identifier: Apache-2.0
// Input: a query, a line feed, a Content-Type, a line feed, a body. It is refused with a reason or gives a valid batch.
#include "codec/pyroscope_ingest.h"
#include "profile/validate.h"

static const struct decode_limits limits = {
    .max_inflated_bytes = 4 << 20,
    .max_sample_types = 16,
    .max_samples = 1 << 16,
    .max_stack_depth = 64, // so small that it is reached
    .max_labels = 64,
    .max_line_bytes = 4096,
    .max_batch_bytes = (size_t)256 << 20,
};

static const struct pyroscope_settings settings = {
    .limits = &limits,
    .now_nanos = 1796000000000000000,
    .pass_jfr = true,
};

static struct bytes take_line(struct bytes *rest)
{
    const uint8_t *end = rest->len == 0 ? NULL : memchr(rest->data, '\n', rest->len);
    const struct bytes line = {rest->data, end == NULL ? rest->len : (size_t)(end - rest->data)};
    const size_t used = end == NULL ? line.len : line.len + 1;
    rest->data = used == 0 ? rest->data : rest->data + used;
    rest->len -= used;
    return line;
}

static void ingest(const struct pyroscope_query *q, struct bytes type, struct bytes body)
{
    struct decode_report report;
    struct batch *b;
    struct err e = {0};
    const enum err_code code = pyroscope_ingest_decode(q, type, body, &settings, &b, &report, &e);
    CHECK((code == ERR_OK) == (b != NULL));
    CHECK(code == ERR_OK || (e.code == code && e.text[0] != '\0'));
    if (b != NULL)
        CHECK(batch_validate(b, &e) == ERR_OK);
    batch_unref(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes rest = {data, size};
    const struct bytes query = take_line(&rest), type = take_line(&rest);
    struct pyroscope_query q;
    struct err e = {0};
    const enum err_code code = pyroscope_query_parse(query, settings.now_nanos, &q, &e);
    CHECK(code == ERR_OK || (code == ERR_INVALID && e.text[0] != '\0'));
    if (code == ERR_OK)
        ingest(&q, type, rest);
    pyroscope_query_fini(&q);
    return 0;
}
