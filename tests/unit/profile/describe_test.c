// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/profile/fixture.h"

#include "profile/describe.h"

static void assert_text(struct buf *out, const char *expected)
{
    buf_add_byte(out, 0);
    assert_true(buf_ok(out));
    assert_string_equal((const char *)out->data, expected);
    buf_fini(out);
    buf_init(out, 8 << 20);
}

static void values_are_harmless(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 8 << 20);
    const struct value text = value_string(BYTES_LITERAL("a\nb\"")),
                       raw = {.kind = VALUE_BYTES, .bytes = BYTES_LITERAL("\x01")};
    const struct value number = value_int(-5), nothing = {0};
    describe_value(&out, &text);
    assert_text(&out, "a\\x0ab\"");
    describe_value_exactly(&out, &text);
    assert_text(&out, "\"a\\nb\\\"\"");
    describe_value_exactly(&out, &raw);
    assert_text(&out, "bytes \"AQ==\"");
    describe_value_exactly(&out, &number);
    assert_text(&out, "-5");
    describe_value_exactly(&out, &nothing);
    assert_text(&out, "null");
    describe_key_value(&out, &(struct key_value){BYTES_LITERAL("k\x7f"), number});
    assert_text(&out, "k\\x7f: -5");
    buf_fini(&out);
}

static void long_values_are_cut(void **state)
{
    (void)state;
    const size_t size = 3 << 20;
    struct buf out;
    struct value v = {.kind = VALUE_STRING};
    uint8_t *text = malloc(size);
    assert_non_null(text);
    memset(text, 'x', size);
    v.bytes = (struct bytes){text, size};
    for (int exact = 0; exact < 2; exact++) {
        buf_init(&out, 8 << 20);
        (exact ? describe_value_exactly : describe_value)(&out, &v);
        assert_true(buf_ok(&out) && out.len < size);
        assert_memory_equal(out.data + out.len - 3, "...", 3);
        buf_fini(&out);
    }
    free(text);
}

static void times_have_the_digits_asked_for(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1000);
    describe_time(&out, 0, 3);
    assert_text(&out, "unknown");
    describe_time(&out, 1700000000012345678u, 3);
    assert_text(&out, "2023-11-14T22:13:20.012Z");
    describe_time(&out, 1700000000012345678u, 9);
    assert_text(&out, "2023-11-14T22:13:20.012345678Z");
    describe_time(&out, UINT64_MAX, 9);
    assert_text(&out, "2554-07-21T23:34:33.709551615Z");
    describe_duration(&out, 10500000000u, 3);
    assert_text(&out, "10.500s");
    describe_duration(&out, UINT64_MAX, 9);
    assert_text(&out, "18446744073.709551615s");
    buf_fini(&out);
}

static void lines_name_what_is_known(void **state)
{
    (void)state;
    struct buf out;
    struct builder *b = builder_create(0);
    const struct batch_function work = {.name = builder_string_text(b, "work"),
                                        .filename = builder_string_text(b, "a\x1b.go")},
                                raw = {.system_name = builder_string_text(b, "_Zw")}, unnamed = {.start_line = 1};
    const struct batch_line lines[] = {{.function = builder_function(b, &work), .line = 12},
                                       {.function = builder_function(b, &raw), .line = 3},
                                       {.function = builder_function(b, &unnamed)}};
    const struct value size = value_int(16);
    const uint32_t attribute =
        builder_attribute(b, builder_string_text(b, "size"), builder_string_text(b, "bytes"), &size);
    struct batch *batch = finish(b);
    const struct dictionary *d = batch->dictionary;
    buf_init(&out, 8 << 20);
    describe_line(&out, d, &lines[0]);
    assert_text(&out, "work a\\x1b.go:12");
    describe_line(&out, d, &lines[1]);
    assert_text(&out, "_Zw");
    describe_line(&out, d, &lines[2]);
    assert_text(&out, "(no name)");
    describe_attribute(&out, d, attribute);
    assert_text(&out, "size: 16 bytes");
    describe_link(&out, &(struct batch_link){.trace_id = {0xab}, .span_id = {1}});
    assert_text(&out, "trace ab000000000000000000000000000000, span 0100000000000000");
    buf_fini(&out);
    batch_unref(&batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_harmless),
        cmocka_unit_test(long_values_are_cut),
        cmocka_unit_test(times_have_the_digits_asked_for),
        cmocka_unit_test(lines_name_what_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
