// SPDX-License-Identifier: Apache-2.0
// What reads must be a valid batch whose JSON reads as the same again; passing over a text and reading it must agree on
// whether it is JSON.
#include "base/check.h"
#include "codec/json.h"
#include "codec/otlp.h"
#include "codec/otlp_json.h"
#include "profile/validate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct batch *b)
{
    static const struct decode_options no_options;
    struct decode_report report = {0};
    struct buf json, second;
    struct batch *again;
    buf_init(&json, (size_t)1 << 30);
    buf_init(&second, (size_t)1 << 30);
    CHECK(otlp_json_encode(b, &json, NULL) == ERR_OK);
    CHECK(otlp_json_decode(buf_bytes(&json), &no_options, &again, &report, NULL) == ERR_OK);
    CHECK(otlp_json_encode(again, &second, NULL) == ERR_OK);
    CHECK(again->sample_count == b->sample_count && again->profile_count == b->profile_count);
    CHECK(bytes_equal(buf_bytes(&json), buf_bytes(&second)) && report.repaired_utf8 == 0);
    batch_unref(&again);
    buf_fini(&json);
    buf_fini(&second);
}

static bool is_json(struct bytes input)
{
    struct json_reader r;
    struct arena arena;
    arena_init(&arena, 0);
    json_reader_init(&r, input, &arena, JSON_MAX_DEPTH);
    while (json_more(&r))
        json_skip(&r);
    bool good = json_result(&r, NULL) == ERR_OK;
    arena_fini(&arena);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct decode_options no_options;
    struct bytes input = {data, size};
    struct decode_report report = {0};
    struct batch *b;
    struct err e = {0};
    (void)otlp_json_recognise(input);
    bool good = is_json(input);
    if (otlp_json_decode(input, &no_options, &b, &report, &e) == ERR_OK) {
        CHECK(good && batch_validate(b, NULL) == ERR_OK);
        check_again(b);
    } else {
        CHECK(b == NULL && e.text[0] != 0);
    }
    batch_unref(&b);
    return 0;
}
