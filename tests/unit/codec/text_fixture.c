// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/otlp.h"
#include "profile/stack.h"
#include "profile/validate.h"
#include "tests/support/test_files.h"
#include "tests/unit/codec/text_fixture.h"

#include <stdio.h>

static enum err_code decode(const struct format *f, struct bytes data, const struct decode_options *o,
                            struct decode_report *r, struct batch **out, struct err *e)
{
    return format_decode(data, &(struct format_choice){.format = f}, o, out, r, e);
}

struct batch *text_read(const struct format *f, struct bytes data, const struct decode_options *o,
                        struct decode_report *r)
{
    struct batch *b;
    struct err e = {0};
    if (decode(f, data, o, r, &b, &e) != ERR_OK)
        fail_msg("%s", e.text);
    if (batch_validate(b, &e) != ERR_OK)
        fail_msg("%s", e.text);
    return b;
}

void text_refuse(const struct format *f, struct bytes data, const struct decode_options *o, enum err_code want,
                 const char *text)
{
    struct batch *b;
    struct err e = {0};
    assert_int_equal(decode(f, data, o, NULL, &b, &e), want);
    assert_null(b);
    if (strstr(e.text, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, e.text);
}

char *text_folded(const struct batch *b, const char *type)
{
    struct buf out;
    struct err e = {0};
    struct encode_report report = {0};
    const struct encode_options o = {.sample_type = bytes_from_text(type)};
    size_t len;
    buf_init(&out, (size_t)1 << 26);
    if (folded_format.encode(b, &o, &out, &report, &e) != ERR_OK)
        fail_msg("%s", e.text);
    buf_add_byte(&out, 0);
    return (char *)buf_take(&out, &len);
}

struct batch *text_through_otlp(const struct batch *b)
{
    struct buf request;
    struct batch *arrived;
    struct err e = {0};
    buf_init(&request, (size_t)1 << 30);
    assert_int_equal(otlp_encode(b, &request, &e), ERR_OK);
    if (otlp_decode(buf_bytes(&request), NULL, &arrived, &e) != ERR_OK)
        fail_msg("%s", e.text);
    buf_fini(&request);
    return arrived;
}

const struct profile *text_profile(const struct batch *b, uint32_t i)
{
    assert_true(i < b->resources[0]->scopes[0]->profile_count);
    return &b->resources[0]->scopes[0]->profiles[i];
}

void text_assert(const struct batch *b, uint32_t string, const char *want)
{
    char got[256];
    snprintf(got, sizeof got, "%.*s", BYTES_PRINT(b->dictionary->strings[string]));
    assert_string_equal(got, want);
}

static bool location_has(const struct dictionary *d, uint32_t location, const char *name)
{
    const struct batch_location *l = &d->locations[location];
    for (uint32_t i = 0; i < l->line_count; i++) {
        const struct bytes text = d->strings[d->functions[d->lines[l->line_start + i].function].name];
        if (text.len > 0 && memmem(text.data, text.len, name, strlen(name)) != NULL)
            return true;
    }
    return false;
}

static bool stack_has(const struct dictionary *d, uint32_t stack, const char *name)
{
    struct stack_reader r;
    uint32_t location;
    stack_reader_init(&r, d, stack);
    while (stack_next(&r, &location))
        if (location_has(d, location, name))
            return true;
    return false;
}

int64_t text_sum(const struct batch *b, const struct profile *p, const char *name)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < p->columns->sample_count; i++)
        if (name == NULL || stack_has(b->dictionary, p->columns->stacks[i], name))
            sum += p->observations->values[i];
    return sum;
}

static bool reads(const struct format *f, struct bytes data)
{
    struct batch *b;
    struct err e = {0};
    const enum err_code code = decode(f, data, NULL, NULL, &b, &e);
    mem_fail_from(0);
    assert_int_equal(code == ERR_OK, b != NULL);
    assert_int_equal(code, e.code);
    if (b != NULL)
        assert_int_equal(batch_validate(b, &e), ERR_OK);
    batch_unref(&b);
    return code == ERR_OK;
}

void text_cut_everywhere(const struct format *f, struct bytes data)
{
    for (size_t len = 0; len <= data.len; len++) {
        uint8_t *copy = mem_try_alloc(len + 1); // so that a read behind the end is seen
        memcpy(copy + 1, data.data, len);
        const bool good = reads(f, (struct bytes){copy + 1, len});
        assert_true(good || len < data.len);
        free(copy);
    }
}

void text_fail_everywhere(const struct format *f, struct bytes data)
{
    for (size_t n = 1;; n++) {
        mem_fail_from(n);
        if (reads(f, data))
            break;
        assert_true(n < 10000);
    }
}

struct bytes text_corpus_file(const char *path)
{
    char full[4096];
    snprintf(full, sizeof full, "%s/%s", test_corpus_dir(), path);
    return test_read_file(full);
}
