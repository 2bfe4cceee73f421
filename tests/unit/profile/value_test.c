// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/profile/fixture.h"

#include <math.h>

static char *printed(struct value v)
{
    struct buf out;
    buf_init(&out, 1000);
    value_print(&out, &v);
    buf_add_byte(&out, 0);
    return (char *)buf_take(&out, &(size_t){0});
}

static void assert_prints(struct value v, const char *text)
{
    char *got = printed(v);
    assert_string_equal(got, text);
    free(got);
}

static struct value text(const char *t)
{
    return value_string(bytes_from_text(t));
}

static struct value number(double d)
{
    return (struct value){.kind = VALUE_DOUBLE, .number = d};
}

static void prints_like_json(void **state)
{
    (void)state;
    assert_prints((struct value){0}, "");
    assert_prints(text("bare \"text\"\n"), "bare \"text\"\n");
    assert_prints(value_bool(true), "true");
    assert_prints(value_int(INT64_MIN), "-9223372036854775808");
    assert_prints(number(0.1), "0.1");
    assert_prints(number(1.0 / 3), "0.3333333333333333");
    assert_prints(number((double)NAN), "NaN");
    assert_prints(number(-(double)INFINITY), "-Infinity");
    assert_prints((struct value){.kind = VALUE_BYTES, .bytes = BYTES_LITERAL("ab")}, "YWI=");
    assert_prints((struct value){.kind = VALUE_BYTES, .bytes = BYTES_LITERAL("\xff\xfe\xfd")}, "//79");
    struct value items[] = {text("q\"\\\n\x01"), {0}, value_int(2), {.kind = VALUE_BYTES, .bytes = BYTES_LITERAL("a")}};
    assert_prints((struct value){.kind = VALUE_ARRAY, .count = 4, .items = items},
                  "[\"q\\\"\\\\\\n\\u0001\",null,2,\"YQ==\"]");
    struct key_value entries[] = {{BYTES_LITERAL("k"), value_bool(false)}, {BYTES_LITERAL("l"), items[2]}};
    assert_prints((struct value){.kind = VALUE_KVLIST, .count = 2, .entries = entries}, "{\"k\":false,\"l\":2}");
}

// Values that all differ from each other.
static size_t different_values(struct value *out)
{
    static struct value one, two, pair[2], swapped[2];
    static struct key_value a, b, entry_pair[2];
    one = value_int(1);
    two = value_string(BYTES_LITERAL("1"));
    pair[0] = swapped[1] = one;
    pair[1] = swapped[0] = two;
    a = (struct key_value){BYTES_LITERAL("a"), one};
    b = (struct key_value){BYTES_LITERAL("b"), one};
    entry_pair[0] = a;
    entry_pair[1] = b;
    struct value list[] = {
        {0},
        one,
        two,
        value_bool(true),
        value_bool(false),
        value_int(0),
        value_int(-1),
        number(0.0),
        number(-0.0),
        number((double)NAN),
        text(""),
        text("11"),
        {.kind = VALUE_BYTES, .bytes = BYTES_LITERAL("1")},
        {.kind = VALUE_BYTES},
        {.kind = VALUE_ARRAY},
        {.kind = VALUE_ARRAY, .count = 1, .items = pair},
        {.kind = VALUE_ARRAY, .count = 2, .items = pair},
        {.kind = VALUE_ARRAY, .count = 2, .items = swapped},
        {.kind = VALUE_KVLIST},
        {.kind = VALUE_KVLIST, .count = 1, .entries = &a},
        {.kind = VALUE_KVLIST, .count = 1, .entries = &b},
        {.kind = VALUE_KVLIST, .count = 2, .entries = entry_pair},
    };
    memcpy(out, list, sizeof list);
    return COUNT_OF(list);
}

static void equality_and_hash_agree(void **state)
{
    (void)state;
    struct value list[64];
    size_t count = different_values(list);
    struct arena arena;
    arena_init(&arena, 0);
    for (size_t i = 0; i < count; i++) {
        struct value copy;
        assert_true(value_copy(&arena, &list[i], &copy));
        assert_true(value_equal(&list[i], &copy));
        assert_true(value_hash(&list[i]) == value_hash(&copy));
        for (size_t j = 0; j < count; j++) {
            assert_int_equal(value_equal(&list[i], &list[j]), i == j);
            assert_int_equal(value_hash(&list[i]) == value_hash(&list[j]), i == j);
        }
    }
    arena_fini(&arena);
}

static void copies_are_deep(void **state)
{
    (void)state;
    char word[] = "word", key[] = "key";
    struct value inner = value_string(bytes_from_text(word));
    struct key_value entry = {bytes_from_text(key), {.kind = VALUE_ARRAY, .count = 1, .items = &inner}};
    struct arena arena;
    arena_init(&arena, 0);
    const struct key_value *copy;
    assert_true(key_values_copy(&arena, &entry, 1, &copy));
    word[0] = key[0] = 'X';
    inner = value_int(3);
    assert_true(bytes_equal_text(copy[0].key, "key"));
    assert_true(bytes_equal_text(copy[0].value.items[0].bytes, "word"));
    assert_true(key_values_copy(&arena, NULL, 0, &copy));
    assert_null(copy);
    arena_fini(&arena);
}

static bool copy_some(void *arg, struct err *e)
{
    (void)arg;
    static char large[2000];
    struct value items[] = {text("a"), {.kind = VALUE_BYTES, .bytes = {(const uint8_t *)large, sizeof large}}};
    struct key_value entries[] = {{BYTES_LITERAL("k"), {.kind = VALUE_ARRAY, .count = 2, .items = items}},
                                  {BYTES_LITERAL("l"), items[1]}};
    struct value v = {.kind = VALUE_KVLIST, .count = 2, .entries = entries}, copy;
    struct arena arena;
    arena_init(&arena, 0);
    bool ok = value_copy(&arena, &v, &copy);
    arena_fini(&arena);
    if (!ok)
        err_set(e, ERR_MEMORY, "no memory");
    return ok;
}

static void copying_survives_failing_memory(void **state)
{
    (void)state;
    run_with_failing_memory(copy_some, NULL);
}

static void finds_keys(void **state)
{
    (void)state;
    struct key_value list[] = {
        {BYTES_LITERAL("a"), value_int(1)}, {BYTES_LITERAL(""), value_int(2)}, {BYTES_LITERAL("a"), value_int(3)}};
    assert_ptr_equal(key_values_find(list, 3, BYTES_LITERAL("a")), &list[0]);
    assert_ptr_equal(key_values_find(list, 3, (struct bytes){NULL, 0}), &list[1]);
    assert_null(key_values_find(list, 3, BYTES_LITERAL("b")));
    assert_null(key_values_find(NULL, 0, BYTES_LITERAL("b")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_like_json), cmocka_unit_test(equality_and_hash_agree),
        cmocka_unit_test(copies_are_deep),  cmocka_unit_test(copying_survives_failing_memory),
        cmocka_unit_test(finds_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
