// SPDX-License-Identifier: Apache-2.0
// What reads must be a valid batch whose JSON reads as the same again; passing over a text and reading it must agree on
// whether it is JSON.
#include "base/check.h"
#include "base/mem.h"
#include "codec/json.h"
#include "codec/otlp.h"
#include "codec/otlp_json.h"
#include "profile/validate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STARVED_MAX_ALLOCATIONS = 97 };

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

// With small limits, or where allocations fail from one on that the length chooses; the good profiles are kept.
static void check_starved(struct bytes input, bool limited)
{
    struct decode_limits limits = decode_default_limits;
    limits.max_samples = limits.max_stack_depth = limits.max_labels = 6;
    limits.max_batch_bytes = 8 << 10;
    const struct decode_options options = {.limits = limited ? &limits : NULL, .keep_good_profiles = true};
    struct decode_report report = {0};
    struct err e = {0};
    struct batch *b;
    struct buf out;
    buf_init(&out, input.len / 2);
    mem_fail_from(limited ? 0 : input.len % STARVED_MAX_ALLOCATIONS + 1);
    enum err_code code = otlp_json_decode(input, &options, &b, &report, &e);
    bool encoded = code == ERR_OK && otlp_json_encode(b, &out, NULL) == ERR_OK;
    mem_fail_from(0);
    CHECK((code == ERR_OK) == (b != NULL) && (code == ERR_OK || e.text[0] != 0));
    CHECK(!encoded || out.len <= input.len / 2);
    if (code == ERR_OK)
        CHECK(batch_validate(b, NULL) == ERR_OK);
    batch_unref(&b);
    buf_fini(&out);
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
    check_starved(input, true);
    check_starved(input, false);
    return 0;
}
