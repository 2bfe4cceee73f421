// SPDX-License-Identifier: Apache-2.0
// What decodes must be a valid batch that encodes and decodes to as many profiles and samples. What is found to be in
// order must decode to what was counted; changed and written from its bytes it must say what it says changed and encoded.
#include "base/check.h"
#include "base/mem.h"
#include "codec/otlp.h"
#include "codec/otlp_check.h"
#include "codec/otlp_decode_layout.h"
#include "codec/otlp_origin.h"
#include "codec/otlp_status.h"
#include "profile/edit.h"
#include "profile/validate.h"
#include "tests/support/batch_text.h"

enum { MAX_BYTES = 1 << 30, STARVED_MAX_ALLOCATIONS = 97 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_small(const struct batch *b)
{
    return b->profile_count < 64 && b->sample_count * (b->dictionary->stack_byte_count + 1) < 4096 &&
           b->dictionary->bytes < 1 << 16;
}

// As text only when that is short.
static void check_same(const struct batch *a, const struct batch *b)
{
    struct buf ta, tb;
    CHECK(a->resource_count == b->resource_count);
    CHECK(a->profile_count == b->profile_count && a->sample_count == b->sample_count);
    if (!is_small(a))
        return;
    buf_init(&ta, MAX_BYTES);
    buf_init(&tb, MAX_BYTES);
    batch_text(a, &ta);
    batch_text(b, &tb);
    CHECK(bytes_equal(buf_bytes(&ta), buf_bytes(&tb)));
    buf_fini(&ta);
    buf_fini(&tb);
}

// What the batch says, encoded and decoded again.
static struct batch *again(const struct batch *b)
{
    struct buf out;
    struct batch *decoded;
    size_t most;
    buf_init(&out, MAX_BYTES);
    CHECK(otlp_encode(b, &out, NULL) == ERR_OK);
    CHECK(otlp_needs_profiles(b, &otlp_plain_emission, &most) || out.len <= most);
    CHECK(otlp_decode(buf_bytes(&out), NULL, &decoded, NULL) == ERR_OK);
    buf_fini(&out);
    return decoded;
}

static void check_again(const struct batch *b)
{
    struct batch *decoded = again(b);
    check_same(b, decoded);
    batch_unref(&decoded);
}

// The same in another layout or spelling, as the size chooses; 1.7 groups the values and timestamps of samples otherwise.
static void check_emitted(const struct batch *b, size_t choice)
{
    static const struct otlp_emission hows[] = {
        {.layout = OTLP_LAYOUT_1_7},
        {.layout = OTLP_LAYOUT_1_8},
        {.layout = OTLP_LAYOUT_1_9, .zero_link = true},
        {.layout = OTLP_LAYOUT_CURRENT, .string_references = true},
    };
    const struct otlp_emission *how = &hows[choice % COUNT_OF(hows)];
    struct buf out;
    struct batch *back;
    if (!is_small(b))
        return;
    buf_init(&out, MAX_BYTES);
    CHECK(otlp_encode_as(b, how, &out, NULL, NULL) == ERR_OK);
    CHECK(otlp_decode_layout(buf_bytes(&out), how->layout, NULL, &back, NULL, NULL) == ERR_OK);
    if (how->layout == OTLP_LAYOUT_1_7)
        CHECK(back->profile_count == b->profile_count && back->sample_count >= b->sample_count);
    else
        check_same(b, back);
    batch_unref(&back);
    buf_fini(&out);
}

static void check_decoded(struct bytes input, bool clean)
{
    struct batch *b;
    struct err e = {0};
    enum err_code code = otlp_decode(input, NULL, &b, &e);
    CHECK(code == ERR_OK || !clean);
    if (code == ERR_OK) {
        CHECK(batch_validate(b, NULL) == ERR_OK);
        check_again(b);
        check_emitted(b, input.len);
    } else {
        CHECK(b == NULL && e.text[0] != 0);
    }
    batch_unref(&b);
}

static bool check_clean(struct bytes input)
{
    struct otlp_index index;
    struct batch *b;
    if (!otlp_check(input, &otlp_default_limits, &index))
        return false;
    uint64_t profiles = 0, samples = 0;
    for (uint32_t i = 0; i < index.resource_count; i++) {
        profiles += index.counts[i].profiles;
        samples += index.counts[i].samples;
    }
    CHECK(otlp_decode(input, NULL, &b, NULL) == ERR_OK);
    CHECK(b->resource_count == index.resource_count && b->profile_count == profiles && b->sample_count == samples);
    batch_unref(&b);
    free(index.counts);
    return true;
}

static enum err_code add_one(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part, struct err *e)
{
    struct key_value **room = arg;
    (void)resource, (void)scope, (void)e;
    free(*room);
    *room = mem_alloc((part->count + 1) * sizeof **room);
    if (part->count > 0)
        memcpy(*room, part->list, part->count * sizeof **room);
    (*room)[part->count++] = (struct key_value){BYTES_LITERAL("\1added"), value_bool(true)};
    part->list = *room;
    return ERR_OK;
}

static void add(struct batch **b, bool of_scopes)
{
    struct key_value *room = NULL;
    const struct part_attributes_change change = {.of_scopes = of_scopes, .change = add_one, .arg = &room};
    CHECK(batch_change_part_attributes(b, &change, NULL) == ERR_OK);
    free(room);
}

// Only what is all there, with nothing by reference, goes on as it is.
static void check_unchanged(const struct batch *b, struct bytes input)
{
    struct bytes body;
    size_t raw;
    struct buf out;
    buf_init(&out, MAX_BYTES);
    CHECK(batch_as_came(b) && !otlp_body_as_came(b, &otlp_plain_emission, COMPRESSION_GZIP, &body, &raw));
    if (otlp_body_as_came(b, &otlp_plain_emission, COMPRESSION_NONE, &body, &raw)) {
        CHECK(raw == input.len && bytes_equal(body, input));
        CHECK(otlp_encode(b, &out, NULL) == ERR_OK && bytes_equal(buf_bytes(&out), input));
    }
    buf_fini(&out);
}

static void check_changed(const struct batch *unread, struct bytes input)
{
    struct batch *b = batch_ref((struct batch *)(uintptr_t)unread), *whole, *read;
    check_unchanged(b, input);
    CHECK(otlp_decode(input, NULL, &whole, NULL) == ERR_OK);
    for (int of_scopes = 0; of_scopes < 2; of_scopes++) {
        add(&b, of_scopes);
        add(&whole, of_scopes);
        read = again(b);
        CHECK(batch_validate(read, NULL) == ERR_OK);
        check_same(whole, read);
        batch_unref(&read);
    }
    CHECK(batch_open(&b, 0, NULL) == ERR_OK && batch_validate(b, NULL) == ERR_OK);
    check_same(whole, b);
    batch_unref(&whole);
    batch_unref(&b);
}

// As the receiver has it.
static void check_arrival(struct bytes input, bool clean)
{
    const struct decode_options options = {.keep_good_profiles = true};
    struct otlp_arrival a = {.buffer = mem_alloc(input.len + 1)};
    struct decode_report report = {0};
    struct err e = {0};
    struct batch *b;
    if (input.len > 0)
        memcpy(a.buffer, input.data, input.len);
    a.body = (struct bytes){a.buffer, input.len};
    buf_init(&a.inflated, 0);
    enum err_code code = otlp_arrive(&a, &options, &b, &report, &e);
    CHECK(code == ERR_OK || !clean);
    CHECK((code == ERR_OK) == (b != NULL) && (code == ERR_OK || e.text[0] != 0));
    if (b != NULL)
        CHECK(report.samples == b->sample_count && (report.rejected_profiles == 0 || b->profile_count > 0));
    if (b != NULL && batch_is_unread(b))
        check_changed(b, input);
    else if (b != NULL)
        check_again(b);
    batch_unref(&b);
    otlp_arrival_fini(&a);
}

// With small limits, or where allocations fail from one on that the length chooses.
static void check_starved(struct bytes input, bool limited)
{
    static const struct otlp_limits small = {.max_profiles = 2,
                                             .max_samples = 8,
                                             .max_stack_depth = 6,
                                             .max_attributes = 4,
                                             .max_value_depth = 3,
                                             .max_batch_bytes = 16 << 10};
    struct otlp_rejected rejected = {0};
    struct otlp_index index = {0};
    struct err e = {0};
    struct batch *b;
    struct buf out;
    const struct otlp_limits *limits = limited ? &small : &otlp_default_limits;
    buf_init(&out, input.len / 2);
    mem_fail_from(limited ? 0 : input.len % STARVED_MAX_ALLOCATIONS + 1);
    bool clean = otlp_check(input, limits, &index);
    enum err_code code = otlp_decode_good(input, limits, &b, &rejected, &e);
    bool encoded = code == ERR_OK && otlp_encode(b, &out, NULL) == ERR_OK;
    mem_fail_from(0);
    CHECK((code == ERR_OK) == (b != NULL) && (code == ERR_OK || e.text[0] != 0) &&
          (!encoded || out.len <= input.len / 2));
    CHECK(!limited || !clean || code == ERR_OK);
    if (code == ERR_OK)
        CHECK(batch_validate(b, NULL) == ERR_OK);
    batch_unref(&b);
    buf_fini(&out);
    free(index.counts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes input = {data, size}, message;
    int64_t rejected;
    int32_t status;
    bool clean = check_clean(input);
    check_decoded(input, clean);
    check_arrival(input, clean);
    check_starved(input, true);
    check_starved(input, false);
    (void)otlp_decode_response(input, &rejected, &message);
    (void)otlp_decode_status(input, &status, &message);
    (void)otlp_decode_retry_info(input, &rejected);
    return 0;
}
