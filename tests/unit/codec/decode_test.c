// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/formats.h"
#include "tests/support/pprof_bytes.h"

static void note(void *arg, bool lost, const char *text)
{
    buf_add_format(arg, "%s%s\n", lost ? "! " : "", text);
}

static void is_told(const struct decode_report *r, const char *expected)
{
    struct buf text;
    buf_init(&text, 1 << 16);
    decode_report_tell(r, note, &text);
    buf_add_byte(&text, 0);
    assert_string_equal((const char *)text.data, expected);
    buf_fini(&text);
}

static void what_was_noticed_is_told(void **state)
{
    (void)state;
    struct decode_report r = {.comment_lines = 9, .samples = 9};
    is_told(&r, "");
    r.rounded_values = 2;
    r.cut_stacks = 3;
    is_told(&r, "! stacks that are too deep and were cut at the root's end: 3\nfractions that were rounded: 2\n");
    r = (struct decode_report){.repaired_utf8 = 1};
    decode_bad_line(&r, 7, "it has no %s", "count");
    decode_bad_line(&r, 8, "another");
    is_told(&r, "! lines passed over: 2, the first: line 7: it has no count\ntexts that are not UTF-8, repaired: 1\n");
}

// --- what the options say of scope and profiles ---

#define TEXT(text) {(const uint8_t *)(text), sizeof(text) - 1}

static const struct key_value scope_extra[] = {
    {TEXT("rate"), {.kind = VALUE_INT, .integer = 97}},
    {TEXT("pprof.scope.default_sample_type"), {.kind = VALUE_STRING, .bytes = TEXT("none")}},
};
static const struct key_value profile_extra[] = {
    {TEXT("pyroscope.delta"), {.kind = VALUE_STRING, .bytes = TEXT("false")}},
    {TEXT("profile_name"), {.kind = VALUE_STRING, .bytes = TEXT("ours")}},
};
static const struct decode_options extra = {
    .scope = {TEXT("agent"), TEXT("1.2"), scope_extra, 2},
    .profile_attributes = profile_extra,
    .profile_attribute_count = 2,
};

static struct batch *read_extra(const struct format *f, struct bytes data)
{
    struct decode_report report = {0};
    struct batch *b = NULL;
    struct err e;
    const struct format_choice choice = {.format = f};
    assert_int_equal(format_decode(data, &choice, &extra, &b, &report, &e), ERR_OK);
    return b;
}

static void is_text_of_set(const struct batch *b, uint32_t set, const char *key, const char *want)
{
    const struct dictionary *d = b->dictionary;
    for (uint32_t i = 0; i < d->attribute_sets[set].count; i++) {
        const struct batch_attribute *a = &d->attributes[d->set_attributes[d->attribute_sets[set].start + i]];
        if (bytes_equal_text(d->strings[a->key], key)) {
            assert_true(bytes_equal_text(a->value.bytes, want));
            return;
        }
    }
    fail_msg("no attribute %s", key);
}

static void is_extra(struct batch *b, const char *profile_name, const char *default_type)
{
    const struct scope *s = b->resources[0]->scopes[0];
    assert_true(bytes_equal_text(s->name, "agent"));
    assert_true(bytes_equal_text(s->version, "1.2"));
    assert_int_equal(key_values_find(s->attributes, s->attribute_count, scope_extra[0].key)->value.integer, 97);
    const struct key_value *type = key_values_find(s->attributes, s->attribute_count, scope_extra[1].key);
    assert_true(bytes_equal_text(type->value.bytes, default_type));
    assert_true(s->profile_count > 0);
    for (uint32_t i = 0; i < s->profile_count; i++) {
        is_text_of_set(b, s->profiles[i].attribute_set, "pyroscope.delta", "false");
        is_text_of_set(b, s->profiles[i].attribute_set, "profile_name", profile_name);
    }
    batch_unref(&b);
}

static void scope_and_profiles_get_what_the_options_say(void **state)
{
    (void)state;
    static const struct {
        const struct format *format;
        const char *text, *profile_name;
    } rows[] = {
        {&folded_format, "a;b 3\n", "ours"},
        {&perf_script_format, "prog 1 1.0: 1 cycles:\n\tff f (/lib)\n\n", "ours"},
        {&pprof_legacy_format, "goroutine profile: total 1\n1 @ 0x1\n", "ours"},
        {&speedscope_format,
         "{\"$schema\":\"https://www.speedscope.app/"
         "file-format-schema.json\",\"shared\":{\"frames\":[{\"name\":\"f\"}]},"
         "\"profiles\":[{\"type\":\"sampled\",\"name\":\"theirs\",\"unit\":\"none\",\"startValue\":0,\"endValue\":1,"
         "\"samples\":[[0]],\"weights\":[1]}]}",
         "theirs"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        is_extra(read_extra(rows[i].format, bytes_from_text(rows[i].text)), rows[i].profile_name, "none");
}

static void what_a_pprof_says_itself_stays(void **state)
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    is_extra(read_extra(&pprof_format, buf_bytes(&p.out)), "ours", "none");
    pprof_bytes_number(&p, 14, pprof_bytes_text(&p, "cpu"));
    struct batch *b = read_extra(&pprof_format, buf_bytes(&p.out));
    is_text_of_set(b, b->resources[0]->scopes[0]->profiles[0].attribute_set, "pprof.profile.drop_frames", "drop.*");
    is_extra(b, "ours", "cpu");
    pprof_bytes_fini(&p);
}

static void otlp_takes_none_of_it(void **state)
{
    (void)state;
    struct batch *b = NULL;
    struct decode_report report = {0};
    struct encode_report encoded = {0};
    const struct encode_options none = {0};
    struct buf wire;
    struct err e;
    const struct format_choice choice = {.format = &folded_format};
    assert_int_equal(format_decode(BYTES_LITERAL("a;b 3\n"), &choice, NULL, &b, &report, &e), ERR_OK);
    buf_init(&wire, SIZE_MAX);
    assert_int_equal(otlp_proto_format.encode(b, &none, &wire, &encoded, &e), ERR_OK);
    batch_unref(&b);
    b = read_extra(&otlp_proto_format, buf_bytes(&wire));
    const struct scope *s = b->resources[0]->scopes[0];
    assert_int_equal(s->name.len + s->attribute_count, 0);
    assert_int_equal(s->profiles[0].attribute_set, 0);
    batch_unref(&b);
    buf_fini(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_noticed_is_told),
        cmocka_unit_test(scope_and_profiles_get_what_the_options_say),
        cmocka_unit_test(what_a_pprof_says_itself_stays),
        cmocka_unit_test(otlp_takes_none_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
