// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/pyroscope_ingest.h"
#include "codec/pyroscope_text.h"
#include "profile/stack.h"
#include "profile/validate.h"
#include "tests/unit/codec/text_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define RECORD_ROOT "\0\0\1" // no name, no value, one child

typedef enum err_code decoder(struct bytes data, const struct pyroscope_meaning *meaning,
                              const struct decode_options *options, struct batch **out, struct decode_report *report,
                              struct err *e);

static enum err_code as_lines(struct bytes data, struct bytes original, const struct decode_options *o,
                              struct batch **out, struct decode_report *r, struct err *e)
{
    (void)original;
    const struct pyroscope_meaning m = pyroscope_meaning_of(BYTES_LITERAL("app.alloc_objects"), 100);
    return pyroscope_lines_decode(data, &m, o, out, r, e);
}

static enum err_code as_folded(struct bytes data, struct bytes original, const struct decode_options *o,
                               struct batch **out, struct decode_report *r, struct err *e)
{
    (void)original;
    const struct pyroscope_meaning m = pyroscope_meaning_of(BYTES_LITERAL("app.alloc_objects"), 100);
    return pyroscope_folded_decode(data, &m, o, out, r, e);
}

static enum err_code as_trie(struct bytes data, struct bytes original, const struct decode_options *o,
                             struct batch **out, struct decode_report *r, struct err *e)
{
    (void)original;
    const struct pyroscope_meaning m = pyroscope_meaning_of(BYTES_LITERAL("app.alloc_objects"), 100);
    return pyroscope_trie_decode(data, &m, o, out, r, e);
}

static enum err_code as_tree(struct bytes data, struct bytes original, const struct decode_options *o,
                             struct batch **out, struct decode_report *r, struct err *e)
{
    (void)original;
    const struct pyroscope_meaning m = pyroscope_meaning_of(BYTES_LITERAL("app.alloc_objects"), 100);
    return pyroscope_tree_decode(data, &m, o, out, r, e);
}

static const struct format lines = {.name = "lines", .decode = as_lines},
                           folded = {.name = "folded", .decode = as_folded}, trie = {.name = "trie", .decode = as_trie},
                           tree = {.name = "tree", .decode = as_tree};

static void assert_reads(const struct format *f, struct bytes data, uint64_t bad, const char *want)
{
    struct decode_report r;
    struct batch *b = text_read(f, data, NULL, &r);
    char *got = text_folded(b, NULL);
    assert_string_equal(got, want);
    assert_int_equal(r.bad_lines, bad);
    free(got);
    batch_unref(&b);
}

static struct batch *read_as(decoder *decode, struct bytes data, const char *app, int64_t rate, struct decode_report *r)
{
    const struct pyroscope_meaning m = pyroscope_meaning_of(bytes_from_text(app), rate);
    const struct decode_options o = {.fallback_time_nanos = 1700000000000000000, .fallback_duration_nanos = 10};
    struct batch *b;
    struct err e = {0};
    *r = (struct decode_report){0};
    if (decode(data, &m, &o, &b, r, &e) != ERR_OK || batch_validate(b, &e) != ERR_OK)
        fail_msg("%s", e.text);
    return b;
}

// --- meaning ---

static void assert_meaning(const char *app, const char *service, const char *profile, const char *type,
                           const char *unit)
{
    const struct pyroscope_meaning m = pyroscope_meaning_of(bytes_from_text(app), 0);
    assert_true(bytes_equal_text(m.service, service));
    assert_string_equal(m.profile_type, profile);
    assert_string_equal(m.sample_type, type);
    assert_string_equal(m.sample_unit, unit);
    assert_null(m.period_type);
    assert_null(m.period_unit);
    assert_int_equal(m.period, 0);
    assert_false(m.scales);
}

static void endings_tell_the_type(void **state)
{
    (void)state;
    static const char *const cases[][4] = {
        {"cpu", "process_cpu", "samples", "count"},
        {"itimer", "process_cpu", "samples", "count"},
        {"wall", "wall", "samples", "count"},
        {"seconds", "wall", "samples", "count"},
        {"milliseconds", "wall", "samples", "count"},
        {"microseconds", "wall", "samples", "count"},
        {"nanoseconds", "wall", "samples", "count"},
        {"inuse_objects", "memory", "inuse_objects", "count"},
        {"alloc_objects", "memory", "alloc_objects", "count"},
        {"inuse_space", "memory", "inuse_space", "bytes"},
        {"alloc_space", "memory", "alloc_space", "bytes"},
        {"bytes", "memory", "samples", "bytes"},
        {"goroutines", "goroutine", "goroutines", "count"},
        {"mutex_count", "mutex", "contentions", "count"},
        {"mutex_duration", "mutex", "delay", "nanoseconds"},
        {"block_count", "block", "contentions", "count"},
        {"lock_count", "block", "contentions", "count"},
        {"block_duration", "block", "delay", "nanoseconds"},
        {"lock_duration", "block", "delay", "nanoseconds"},
        {"alloc_in_new_tlab_objects", "memory", "alloc_in_new_tlab_objects", "count"},
        {"alloc_in_new_tlab_bytes", "memory", "alloc_in_new_tlab_bytes", "bytes"},
        {"alloc_outside_tlab_objects", "memory", "alloc_outside_tlab_objects", "count"},
        {"alloc_outside_tlab_bytes", "memory", "alloc_outside_tlab_bytes", "bytes"},
        {"live", "memory", "live", "count"},
        {"exceptions", "exceptions", "samples", "count"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char app[64];
        snprintf(app, sizeof app, "my.app.%s", cases[i][0]);
        assert_meaning(app, "my.app", cases[i][1], cases[i][2], cases[i][3]);
    }
}

static void other_endings_belong_to_the_name(void **state)
{
    (void)state;
    static const char *const names[] = {"my.service", "cpu", ".wall", "alloc_space", "a.", ".", "", "a.CPU", "a.cpu."};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_meaning(names[i], names[i], "process_cpu", "samples", "count");
    assert_meaning("..live", ".", "memory", "live", "count");
    assert_meaning("a.wall.cpu", "a.wall", "process_cpu", "samples", "count"); // only the last
}

static void rates_make_nanoseconds(void **state)
{
    (void)state;
    static const struct {
        int64_t rate, period;
    } cases[] = {{1, 1000000000}, {97, 10309278}, {100, 10000000}, {999999999, 1}, {1000000000, 1}, {INT64_MAX, 1}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct pyroscope_meaning m = pyroscope_meaning_of(BYTES_LITERAL("a.wall"), cases[i].rate);
        assert_true(m.scales);
        assert_int_equal(m.period, cases[i].period);
        assert_string_equal(m.sample_type, "wall");
        assert_string_equal(m.sample_unit, "nanoseconds");
        assert_string_equal(m.period_type, "cpu");
        assert_string_equal(m.period_unit, "nanoseconds");
    }
    assert_string_equal(pyroscope_meaning_of(BYTES_LITERAL("a.itimer"), 100).sample_type, "cpu");
    assert_false(pyroscope_meaning_of(BYTES_LITERAL("a"), -1).scales);
    assert_false(pyroscope_meaning_of(BYTES_LITERAL("a.alloc_space"), 100).scales);
}

static void assert_profile(const struct batch *b, const char *type, const char *unit, const char *period_type,
                           const char *period_unit, int64_t period)
{
    const struct profile *p = text_profile(b, 0);
    text_assert(b, p->sample_type.type, type);
    text_assert(b, p->sample_type.unit, unit);
    text_assert(b, p->period_type.type, period_type);
    text_assert(b, p->period_type.unit, period_unit);
    assert_int_equal(p->period, period);
    assert_int_equal(p->time_nanos, 1700000000000000000);
    assert_int_equal(p->duration_nanos, 10);
}

static void profiles_have_the_meaning(void **state)
{
    (void)state;
    static const struct {
        decoder *decode;
        struct bytes data;
    } cases[] = {{pyroscope_lines_decode, {(const uint8_t *)"a;b\na;b\n", 8}},
                 {pyroscope_folded_decode, {(const uint8_t *)"a;b 2", 5}},
                 {pyroscope_tree_decode, {(const uint8_t *)RECORD_ROOT "\1a\0\1\1b\2\0", 11}},
                 {pyroscope_trie_decode, {(const uint8_t *)RECORD_ROOT "\3a;b\2\0", 9}}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct decode_report r;
        struct batch *b = read_as(cases[i].decode, cases[i].data, "x.wall", 97, &r);
        assert_profile(b, "wall", "nanoseconds", "cpu", "nanoseconds", 10309278);
        assert_int_equal(text_sum(b, text_profile(b, 0), "b"), 2 * 10309278);
        assert_int_equal(r.samples, 1);
        assert_int_equal(r.sample_types, 1);
        batch_unref(&b);
        b = read_as(cases[i].decode, cases[i].data, "x.alloc_space", 97, &r);
        assert_profile(b, "alloc_space", "bytes", "", "", 0);
        assert_int_equal(text_sum(b, text_profile(b, 0), "b"), 2);
        batch_unref(&b);
        b = read_as(cases[i].decode, cases[i].data, "x", 0, &r);
        assert_profile(b, "samples", "count", "", "", 0);
        batch_unref(&b);
        b = read_as(cases[i].decode, cases[i].data, "x", INT64_MAX, &r);
        assert_int_equal(text_sum(b, text_profile(b, 0), NULL), 2); // not 0
        batch_unref(&b);
    }
}

// --- text ---

// Exactly `value` on a function of this name.
static void assert_value(const struct batch *b, const char *name, int64_t value)
{
    assert_int_equal(text_sum(b, text_profile(b, 0), name), value);
}

static void lines_are_stacks(void **state)
{
    (void)state;
    struct decode_report r;
    struct batch *b = text_read(&lines, BYTES_LITERAL("main;work 5\n\nmain;work 5\r\n#<Class>;x\n// y;z"), NULL, &r);
    assert_int_equal(b->sample_count, 3);
    assert_value(b, "work 5", 2);
    assert_value(b, "#<Class>", 1);
    assert_value(b, "// y", 1);
    assert_value(b, NULL, 4);
    assert_int_equal(r.bad_lines, 0);
    batch_unref(&b);
    text_refuse(&lines, BYTES_LITERAL("\n \n"), NULL, ERR_INVALID, "no stacks");
    text_fail_everywhere(&lines, BYTES_LITERAL("a;b\nc"));
}

static void counts_stand_behind_the_last_blank(void **state)
{
    (void)state;
    struct decode_report r;
    struct batch *b = text_read(&folded, BYTES_LITERAL("a;b 3\na;pool 7 4\na;b 1\n"), NULL, &r);
    assert_value(b, "b", 4);
    assert_value(b, "pool 7", 4);
    assert_value(b, "a", 8);
    batch_unref(&b);
    assert_reads(&folded, BYTES_LITERAL("a;b 3\na;b x\na\n"), 2, "a;b 3\n");
    assert_reads(&folded, BYTES_LITERAL("a;b -3"), 0, "a;b -3\n");
    text_refuse(&folded, BYTES_LITERAL("a;b\n"), NULL, ERR_INVALID, "line 1: it has no count");
}

// Servers stop at 64 KiB and lose what follows without a word.
static void long_lines_are_read_or_counted(void **state)
{
    (void)state;
    static const size_t lengths[] = {(64 << 10) + 1, (size_t)1 << 20, ((size_t)1 << 20) + 1};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        struct decode_report r;
        struct buf text;
        buf_init(&text, SIZE_MAX);
        while (text.len < lengths[i] - 2)
            buf_add_byte(&text, 'x');
        buf_add_text(&text, " 1\nbehind 2\n");
        struct batch *b = read_as(pyroscope_folded_decode, buf_bytes(&text), "a", 0, &r);
        assert_int_equal(r.bad_lines, lengths[i] > (size_t)1 << 20);
        assert_int_equal(text_sum(b, text_profile(b, 0), NULL), r.bad_lines == 0 ? 3 : 2);
        assert_int_equal(text_sum(b, text_profile(b, 0), "behind"), 2);
        batch_unref(&b);
        buf_fini(&text);
    }
}

static void values_that_do_not_fit_are_passed_over(void **state)
{
    (void)state;
    static const char text[] = "a 9223372036854775807\nb 1";
    static const uint8_t data[] = "\0\0\3\1a\xff\xff\xff\xff\xff\xff\xff\xff\x7f\0\1b\1\0"
                                  "\1c\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0";
    struct decode_report r;
    struct batch *b = read_as(pyroscope_folded_decode, bytes_from_text(text), "a", 100, &r);
    assert_int_equal(text_sum(b, text_profile(b, 0), NULL), 10000000);
    assert_int_equal(r.bad_lines, 1);
    batch_unref(&b);
    b = read_as(pyroscope_tree_decode, (struct bytes){data, sizeof data - 1}, "a", 100, &r);
    assert_int_equal(text_sum(b, text_profile(b, 0), NULL), 10000000);
    assert_int_equal(r.bad_lines, 2);
    assert_string_equal(r.first_bad.text, "record 2: its value times the period does not fit 64 bits");
    batch_unref(&b);
    b = read_as(pyroscope_tree_decode, (struct bytes){data, sizeof data - 1}, "a", 0, &r);
    assert_int_equal(text_sum(b, text_profile(b, 0), "a"), INT64_MAX);
    assert_int_equal(r.bad_lines, 1);
    batch_unref(&b);
    static const uint8_t twice[] = "\0\0\2\1a\xff\xff\xff\xff\xff\xff\xff\xff\x7f\0\1a\1\0";
    b = read_as(pyroscope_tree_decode, (struct bytes){twice, sizeof twice - 1}, "a", 0, &r);
    assert_int_equal(text_sum(b, text_profile(b, 0), NULL), INT64_MAX);
    assert_string_equal(r.first_bad.text, "record 3: the values of its stack add up to more than 64 bits hold");
    batch_unref(&b);
}

// Several profiles, in a unit that is no profile type: the sample rate is not for them.
static void speedscope_has_its_own_units(void **state) // C18
{
    (void)state;
    static const char file[] =
        "{\"$schema\":\"https://www.speedscope.app/"
        "file-format-schema.json\",\"shared\":{\"frames\":[{\"name\":\"a\"}]},"
        "\"profiles\":[{\"type\":\"sampled\",\"name\":\"x\",\"unit\":\"seconds\",\"samples\":[[0]],\"weights\":[3]},"
        "{\"type\":\"sampled\",\"name\":\"y\",\"unit\":\"seconds\",\"samples\":[[0]],\"weights\":[0.5]}]}";
    const struct pyroscope_settings settings = {.limits = &decode_default_limits};
    struct pyroscope_query q;
    struct decode_report r;
    struct err e = {0};
    struct batch *b;
    assert_int_equal(pyroscope_query_parse(BYTES_LITERAL("name=app&format=speedscope&sampleRate=97"), 0, &q, &e),
                     ERR_OK);
    if (pyroscope_ingest_decode(&q, (struct bytes){0}, bytes_from_text(file), &settings, &b, &r, &e) != ERR_OK)
        fail_msg("%s", e.text);
    assert_int_equal(b->profile_count, 2);
    assert_int_equal(text_sum(b, text_profile(b, 0), "a"), 3000000000);
    assert_int_equal(text_sum(b, text_profile(b, 1), "a"), 500000000);
    text_assert(b, text_profile(b, 1)->sample_type.unit, "nanoseconds");
    batch_unref(&b);
    pyroscope_query_fini(&q);
}

// --- trie and tree ---

#define TRIE RECORD_ROOT "\2ab\0\2\1c\1\0\1d\2\0"
#define TREE RECORD_ROOT "\1a\0\2\1b\1\0\1c\2\0"

static void names_of_a_trie_are_pieces(void **state)
{
    (void)state;
    assert_reads(&trie, BYTES_LITERAL(TRIE), 0, "abc 1\nabd 2\n");
    assert_reads(&trie, BYTES_LITERAL(RECORD_ROOT "\1a\1\2\2;b\2\1\2;c\3\0\3x;y\4\0"), 0,
                 "a 1\na;b 2\na;b;c 3\nax;y 4\n");
    assert_reads(&trie, BYTES_LITERAL(RECORD_ROOT "\1a\1\2\2;b\2\1\2;c\3\0\0\4\0"), 0, "a 5\na;b 2\na;b;c 3\n");
    assert_reads(&trie, BYTES_LITERAL(RECORD_ROOT "\5;a;;b\1\1\1;\2\0"), 0, "a;b 3\n"); // empty frames are none
    assert_reads(&trie, BYTES_LITERAL("\1a\1\1\1b\1\0"), 0, "a 1\nab 1\n");             // a root with a name
    assert_reads(&trie, BYTES_LITERAL("\0\3\1\1;\4\0"), 0, "[unknown] 7\n");
}

static void pieces_may_end_inside_a_character(void **state)
{
    (void)state;
    struct decode_report r;
    struct batch *b = text_read(&trie, BYTES_LITERAL(RECORD_ROOT "\3a;\xc3\0\2\1\xa9\1\0\2\xb6z\2\0"), NULL, &r);
    char *got = text_folded(b, NULL);
    assert_string_equal(got, "a;\u00e9 1\na;\u00f6z 2\n");
    assert_int_equal(r.repaired_utf8, 0);
    free(got);
    batch_unref(&b);
}

static void names_of_a_tree_are_frames(void **state)
{
    (void)state;
    assert_reads(&tree, BYTES_LITERAL(TREE), 0, "a;b 1\na;c 2\n");
    assert_reads(&tree, BYTES_LITERAL("\0\0\2\1a\5\1\1b\1\1\1a\2\0\1c\3\0"), 0, "a 5\na;b 1\na;b;a 2\nc 3\n");
    struct decode_report r;
    struct batch *b = text_read(&tree, BYTES_LITERAL(RECORD_ROOT "\3a;b\1\0"), NULL, &r);
    assert_int_equal(stack_depth(b->dictionary, text_profile(b, 0)->columns->stacks[0]), 1);
    batch_unref(&b);
}

static void nothing_is_a_profile_without_samples(void **state)
{
    (void)state;
    struct decode_report r;
    struct batch *b = text_read(&tree, BYTES_LITERAL("\0\0\0"), NULL, &r);
    assert_int_equal(b->profile_count, 1);
    assert_int_equal(b->sample_count, 0);
    batch_unref(&b);
    b = read_as(pyroscope_trie_decode, (struct bytes){0}, "a", 0, &r);
    assert_int_equal(b->sample_count, 0);
    batch_unref(&b);
}

static void cut_data_is_refused_or_noted(void **state)
{
    (void)state;
    text_cut_everywhere(&trie, BYTES_LITERAL(TRIE));
    text_cut_everywhere(&tree, BYTES_LITERAL(TREE));
    assert_reads(&tree, BYTES_LITERAL(RECORD_ROOT "\1a\0\2\1b\1\0"), 1, "a;b 1\n");
    text_refuse(&tree, BYTES_LITERAL(RECORD_ROOT "\1a\0\2\1b\1"), NULL, ERR_INVALID,
                "record 3, at byte 7: varint is cut off");
    text_refuse(&tree, BYTES_LITERAL(RECORD_ROOT "\2a"), NULL, ERR_INVALID, "record 2, at byte 3: its name runs past");
    text_refuse(&tree, BYTES_LITERAL(RECORD_ROOT "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), NULL, ERR_INVALID,
                "its name runs past");
    text_refuse(&trie, BYTES_LITERAL("\0\0\0 and more"), NULL, ERR_INVALID,
                "9 bytes stand behind the last of 1 records");
    text_refuse(&trie, BYTES_LITERAL("\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), NULL, ERR_INVALID,
                "varint has more than 64 bits");
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    text_fail_everywhere(&trie, BYTES_LITERAL(TRIE));
    text_fail_everywhere(&tree, BYTES_LITERAL(TREE));
}

// --- hostile ones ---

// `count` records, each the one child of the one before.
static struct buf chain(uint32_t count, const char *name, uint8_t value, uint8_t children)
{
    struct buf data;
    buf_init(&data, SIZE_MAX);
    for (uint32_t i = 0; i < count; i++) {
        buf_add_byte(&data, (uint8_t)strlen(name));
        buf_add_text(&data, name);
        buf_add_byte(&data, value);
        buf_add_byte(&data, i + 1 < count ? children : 0);
    }
    return data;
}

static void assert_limit(decoder *decode, struct buf *data, const struct decode_limits *limits, const char *text)
{
    const struct pyroscope_meaning m = pyroscope_meaning_of(BYTES_LITERAL("a"), 0);
    const struct decode_options o = {.limits = limits};
    struct decode_report r = {0};
    struct batch *b;
    struct err e = {0};
    assert_int_equal(decode(buf_bytes(data), &m, &o, &b, &r, &e), ERR_LIMIT);
    assert_null(b);
    if (strstr(e.text, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, e.text);
    buf_fini(data);
}

static const struct decode_limits small = {.max_samples = 1000, .max_stack_depth = 100, .max_batch_bytes = 1 << 20};

static void limits_are_named(void **state)
{
    (void)state;
    struct buf data = chain(2000, "a", 1, 1);
    struct decode_limits many = small;
    many.max_batch_bytes = 0;
    assert_limit(pyroscope_trie_decode, &data, &many, "max_samples: more than 1000");
    data = chain(20000, "a", 0, 1); // a long name that many records share, each adding the same to it
    data.data[data.len - 1] = 0x7f;
    for (int i = 0; i < 0x7f; i++)
        buf_add(&data, "\1b\1\0", 4);
    assert_limit(pyroscope_trie_decode, &data, &small,
                 "max_batch_bytes: the stacks of the records take more than 1048576 bytes");
    data = chain(100000, "a", 0, 2);
    assert_limit(pyroscope_tree_decode, &data, &small, "max_batch_bytes: the way to record");
    data = chain((1 << 20) + 2, "", 0, 2);
    assert_limit(pyroscope_tree_decode, &data, &many, "is below more than 1048576 records");
    data = chain((1 << 20) + 2, "a", 0, 1);
    assert_limit(pyroscope_tree_decode, &data, &many, "is below more than 1048576 frames");
}

// Without a value nothing of it is kept, and each record is the last of its parent.
static void long_chains_take_no_memory(void **state)
{
    (void)state;
    struct buf data = chain(100000, "a;", 0, 1);
    struct decode_report r;
    data.data[data.len - 2] = 1;
    struct batch *b = read_as(pyroscope_trie_decode, buf_bytes(&data), "a", 0, &r);
    assert_int_equal(r.cut_stacks, 1);
    assert_int_equal(b->sample_count, 1);
    assert_int_equal(text_sum(b, text_profile(b, 0), "[truncated]"), 1);
    batch_unref(&b);
    buf_fini(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endings_tell_the_type),
        cmocka_unit_test(other_endings_belong_to_the_name),
        cmocka_unit_test(rates_make_nanoseconds),
        cmocka_unit_test(profiles_have_the_meaning),
        cmocka_unit_test(lines_are_stacks),
        cmocka_unit_test(counts_stand_behind_the_last_blank),
        cmocka_unit_test(long_lines_are_read_or_counted),
        cmocka_unit_test(values_that_do_not_fit_are_passed_over),
        cmocka_unit_test(speedscope_has_its_own_units),
        cmocka_unit_test(names_of_a_trie_are_pieces),
        cmocka_unit_test(pieces_may_end_inside_a_character),
        cmocka_unit_test(names_of_a_tree_are_frames),
        cmocka_unit_test(nothing_is_a_profile_without_samples),
        cmocka_unit_test(cut_data_is_refused_or_noted),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(limits_are_named),
        cmocka_unit_test(long_chains_take_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
