// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/folded.h"
#include "tests/support/stack_at.h"
#include "tests/support/test_files.h"
#include "tests/unit/codec/text_fixture.h"

#include <stdio.h>

// What text reads as, written again; the report is left in *r.
static void assert_reads(struct bytes data, const struct decode_options *o, struct decode_report *r, const char *want)
{
    struct batch *b = text_read(&folded_format, data, o, r);
    char *got = text_folded(b, NULL);
    assert_string_equal(got, want);
    free(got);
    batch_unref(&b);
}

static void assert_folds(const char *text, const char *want)
{
    struct decode_report r;
    assert_reads(bytes_from_text(text), NULL, &r, want);
    assert_int_equal(r.bad_lines, 0);
}

static void assert_with(const struct folded_options *o, const char *text, const char *want)
{
    struct decode_report r;
    assert_reads(bytes_from_text(text), &(struct decode_options){.folded = *o}, &r, want);
}

static void equal_stacks_are_added_up(void **state)
{
    (void)state;
    struct decode_report r;
    struct batch *b = text_read(&folded_format, BYTES_LITERAL("a;b;c 1\na;b;c 1\na;b;d 4\na;b;c 3\na;b 5\n"), NULL, &r);
    const struct profile *p = text_profile(b, 0);
    assert_int_equal(r.samples, 3);
    assert_int_equal(r.sample_types, 1);
    assert_string_equal(r.format, "folded");
    assert_int_equal(p->columns->sample_count, 3);
    assert_int_equal(p->observations->values[0], 5); // in the order they come
    assert_int_equal(p->observations->values[1], 4);
    text_assert(b, p->sample_type.type, "samples");
    text_assert(b, p->sample_type.unit, "count");
    assert_int_equal(p->period, 1);
    const struct batch_location *leaf = stack_at(b->dictionary, p->columns->stacks[0], 0);
    const uint32_t function = b->dictionary->lines[leaf->line_start].function;
    text_assert(b, b->dictionary->functions[function].name, "c");
    batch_unref(&b);
}

static void line_ends_and_encodings(void **state) // B1, B2
{
    (void)state;
    static const char want[] = "a;b 5\na;b;c 1\n";
    struct decode_report r;
    assert_reads(BYTES_LITERAL("a;b;c 1\r\na;b 5"), NULL, &r, want);
    assert_reads(BYTES_LITERAL("\xef\xbb\xbf"
                               "a;b;c 1\na;b 5"),
                 NULL, &r, want);
    assert_reads(BYTES_LITERAL("\xff\xfe"
                               "a\0;\0b\0;\0c\0 \0001\0\r\0\n\0a\0;\0b\0 \0005\0"),
                 NULL, &r, want);
    assert_reads(BYTES_LITERAL("\xfe\xff\0a\0;\0b\0 \0005\0\n\0a\0;\0b\0;\0c\0 \0001"), NULL, &r, want);
    assert_int_equal(r.bad_lines + r.comment_lines, 0);
}

static void comments_and_junk_lines_are_counted(void **state) // B3, B6
{
    (void)state;
    struct decode_report r;
    assert_reads(BYTES_LITERAL("# x;y 1\n// z 2\n\n  \na;b 1\ninvalid line\nc;d\na;b 2\n"), NULL, &r, "a;b 3\n");
    assert_int_equal(r.comment_lines, 4);
    assert_int_equal(r.bad_lines, 2);
    assert_string_equal(r.first_bad.text, "line 6: it has no count at its end");
}

static void fractions_are_rounded(void **state) // B5
{
    (void)state;
    struct decode_report r;
    assert_reads(BYTES_LITERAL("a 31.23\nb 2.5\nc 0.499999999999\nd 6.\ne 7.000\nf .5\ng -2.5\n"), NULL, &r,
                 "a 31\nb 3\nc 0\nd 6\ne 7\nf 1\ng -3\n");
    assert_int_equal(r.rounded_values, 5);
    assert_int_equal(r.bad_lines, 0);
}

static void counts_may_be_negative(void **state) // A12
{
    (void)state;
    assert_folds("a;b -7\na;b 3\nc -9223372036854775808\nd 9223372036854775807\n",
                 "a;b -4\nc -9223372036854775808\nd 9223372036854775807\n");
}

static void counts_that_are_none(void **state) // B5
{
    (void)state;
    static const char *const counts[] = {"1e5",
                                         "0x10",
                                         "+1",
                                         "1,000",
                                         "-",
                                         ".",
                                         "1.2.3",
                                         "1-2",
                                         "--1",
                                         "NaN",
                                         "9223372036854775808",
                                         "99999999999999999999",
                                         "-9223372036854775809"};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        char text[64];
        struct decode_report r;
        snprintf(text, sizeof text, "a 1\nb %s\nc 2\n", counts[i]);
        assert_reads(bytes_from_text(text), NULL, &r, "a 1\nc 2\n");
        assert_int_equal(r.bad_lines, 1);
    }
}

static void sums_do_not_overflow(void **state)
{
    (void)state;
    struct decode_report r;
    assert_reads(BYTES_LITERAL("a 9223372036854775807\na 1\nb 1\na -1\n"), NULL, &r, "a 9223372036854775806\nb 1\n");
    assert_int_equal(r.bad_lines, 1);
    assert_string_equal(r.first_bad.text, "line 2: the counts of its stack add up to more than 64 bits hold");
}

static void two_counts_are_refused_by_name(void **state)
{
    (void)state;
    struct decode_report r;
    text_refuse(&folded_format, BYTES_LITERAL("a;b 3 4\na;c 1 2\n"), NULL, ERR_INVALID,
                "line 1: it ends in two counts (a difference of two profiles?)");
    assert_reads(BYTES_LITERAL("a;b 3 4\na;c 1\n"), NULL, &r, "a;c 1\n");
    assert_int_equal(r.bad_lines, 1);
    text_refuse(&folded_format, BYTES_LITERAL("P1;T1;f 1,0,-4096\n"), NULL, ERR_INVALID, "Austin's full mode");
}

static void a_missing_count_may_be_one(void **state) // B6
{
    (void)state;
    assert_with(&(struct folded_options){.missing_count_is_one = true}, "a;b\na;b\na;c d\na;b 3\n", "a;b 5\na;c d 1\n");
}

static void frames_hold_blanks(void **state) // B8
{
    (void)state;
    assert_folds("r;<Vec<T> as SpecExtend<T, I>>::from_iter;m@G_2.2.5 3\n",
                 "r;<Vec<T> as SpecExtend<T, I>>::from_iter;m@G_2.2.5 3\n");
    assert_folds("c;array::<impl Default for [T; _]>::default 19.0",
                 "c;array::<impl Default for [T; _]>::default 19\n");
    assert_folds("a b;c\td   \t 5  \n", "a b;c d 5\n");
    assert_folds("thread 3;run 4\n", "thread 3;run 4\n");
}

static void empty_frames_are_left_out(void **state)
{
    (void)state;
    assert_folds(";a;;b; 1\na;b 2\n", "a;b 3\n");
}

static void a_lone_number_is_an_unknown_stack(void **state) // B11
{
    (void)state;
    assert_folds("a;b 1\n 5\n6\n; 7\n", "[unknown] 18\na;b 1\n");
}

static void suffixes_stay_or_become_types(void **state) // B11
{
    (void)state;
    static const char text[] = "[t tid=9];a_[0];b_[j];c_[i];d_[1];e_[k];f_[x];_[k] 5\n";
    assert_folds(text, text);
    const struct decode_options o = {.folded.frame_suffixes_to_types = true};
    struct batch *b = text_read(&folded_format, bytes_from_text(text), &o, NULL);
    static const char *const types[] = {"", "", "kernel", "jvm", "jvm", "jvm", "jvm", ""}; // leaf first
    for (uint32_t i = 0; i < COUNT_OF(types); i++) {
        const struct batch_location *l = stack_at(b->dictionary, 1, i);
        const struct batch_range set = b->dictionary->attribute_sets[l->attribute_set];
        assert_int_equal(set.count, types[i][0] != '\0');
        if (set.count > 0) {
            const struct batch_attribute *a = &b->dictionary->attributes[b->dictionary->set_attributes[set.start]];
            text_assert(b, a->key, "profile.frame.type");
            assert_true(bytes_equal_text(a->value.bytes, types[i]));
        }
    }
    char *again = text_folded(b, NULL);
    assert_string_equal(again, "[t tid=9];a;b;c;d;e;f_[x];_[k] 5\n");
    free(again);
    batch_unref(&b);
}

static void leaf_first_is_turned_round(void **state)
{
    (void)state;
    assert_with(&(struct folded_options){.leaf_first = true}, "c;b;a 1\nb;a 2\n", "a;b 2\na;b;c 1\n");
}

static void counts_become_nanoseconds(void **state) // B15
{
    (void)state;
    struct decode_report r;
    struct decode_options o = {.folded.sample_rate = 100};
    struct batch *b = text_read(&folded_format, BYTES_LITERAL("a 3\nb 0.23\n"), &o, &r);
    const struct profile *p = text_profile(b, 0);
    assert_int_equal(p->observations->values[0], 30000000);
    assert_int_equal(p->observations->values[1], 2300000);
    assert_int_equal(r.rounded_values, 0);
    assert_int_equal(p->period, 10000000);
    text_assert(b, p->sample_type.type, "cpu");
    text_assert(b, p->sample_type.unit, "nanoseconds");
    text_assert(b, p->period_type.type, "cpu");
    batch_unref(&b);
    o.folded.sample_rate = 17;
    assert_reads(BYTES_LITERAL("a 1\nb 17\n"), &o, &r, "a 58823529\nb 1000000000\n");
    assert_true(r.rounded_values >= 1);
}

static void no_rate_overflows(void **state) // B15
{
    (void)state;
    struct decode_report r;
    const double bad[] = {-1, 4294967296.0 * 1e9, __builtin_nan(""), __builtin_inf(), 1e-300};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        text_refuse(&folded_format, BYTES_LITERAL("a 1"), &(struct decode_options){.folded.sample_rate = bad[i]},
                    ERR_INVALID, "sample rate");
    const struct decode_options slow = {.folded.sample_rate = 1e-9}, odd = {.folded.sample_rate = 0.7};
    assert_reads(BYTES_LITERAL("a 9\nb 10\n"), &slow, &r, "a 9000000000000000000\n");
    assert_int_equal(r.bad_lines, 1);
    assert_string_equal(r.first_bad.text, "line 2: its count times the period does not fit 64 bits");
    assert_reads(BYTES_LITERAL("a 7\nb 9223372036854775807\nc -9223372036854775807.9\n"), &odd, &r, "a 10000000000\n");
    assert_int_equal(r.bad_lines, 2);
}

static void type_and_unit_are_options(void **state)
{
    (void)state;
    const struct decode_options o = {.folded = {.sample_type = "alloc_space", .sample_unit = "bytes"}};
    struct batch *b = text_read(&folded_format, BYTES_LITERAL("a 1"), &o, NULL);
    text_assert(b, text_profile(b, 0)->sample_type.type, "alloc_space");
    text_assert(b, text_profile(b, 0)->sample_type.unit, "bytes");
    batch_unref(&b);
}

static void austin_says_what_it_counts(void **state)
{
    (void)state;
    static const struct {
        const char *mode, *type, *unit;
    } modes[] = {{"cpu", "cpu", "microseconds"},
                 {"wall", "wall", "microseconds"},
                 {"memory", "memory", "bytes"},
                 {"new", "samples", "count"}};
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        char text[128];
        snprintf(text, sizeof text, "# austin: 3.7.0\n# mode: %s\n\nP1;T1;f:g:1 5\n\n# duration: 4103550\n",
                 modes[i].mode);
        struct batch *b = text_read(&folded_format, bytes_from_text(text), NULL, NULL);
        const struct profile *p = text_profile(b, 0);
        text_assert(b, p->sample_type.type, modes[i].type);
        text_assert(b, p->sample_type.unit, modes[i].unit);
        assert_int_equal(p->duration_nanos, 4103550000);
        batch_unref(&b);
    }
}

static void time_is_the_callers(void **state)
{
    (void)state;
    const struct decode_options o = {.fallback_time_nanos = 1700000000000000000};
    struct decode_report r;
    struct batch *b = text_read(&folded_format, BYTES_LITERAL("a 1"), &o, &r);
    assert_int_equal(text_profile(b, 0)->time_nanos, 1700000000000000000);
    assert_int_equal(r.guessed_time, 1);
    batch_unref(&b);
}

static void broken_utf8_is_repaired(void **state) // B17
{
    (void)state;
    struct decode_report r;
    assert_reads(BYTES_LITERAL("caf\xe9;\xe2\x82\xac;x 1\ncaf\xe9 2\n"), NULL, &r,
                 "caf\ufffd 2\ncaf\ufffd;\u20ac;x 1\n");
    assert_int_equal(r.repaired_utf8, 1);
}

static char *tall(uint32_t depth)
{
    struct buf text;
    size_t len;
    buf_init(&text, 1 << 20);
    for (uint32_t i = 0; i < depth; i++)
        buf_add_format(&text, "%sf%u", i > 0 ? ";" : "", i);
    buf_add(&text, " 1\n", 4);
    return (char *)buf_take(&text, &len);
}

static void deep_stacks_keep_their_leaf(void **state) // B14
{
    (void)state;
    struct decode_limits limits = decode_default_limits;
    limits.max_stack_depth = 4;
    struct decode_options o = {.limits = &limits};
    struct decode_report r;
    char *text = tall(5000), *four = tall(4);
    assert_folds(text, text);
    assert_reads(bytes_from_text(text), &o, &r, "[truncated];f4997;f4998;f4999 1\n");
    assert_int_equal(r.cut_stacks, 1);
    assert_reads(bytes_from_text(four), &o, &r, four);
    assert_int_equal(r.cut_stacks, 0);
    o.folded.leaf_first = true;
    assert_reads(bytes_from_text(text), &o, &r, "[truncated];f2;f1;f0 1\n");
    limits.max_stack_depth = 0;
    assert_reads(bytes_from_text(text), &o, &r, "[truncated] 1\n");
    free(text);
    free(four);
}

static void limits_hold(void **state)
{
    (void)state;
    struct decode_limits limits = decode_default_limits;
    struct decode_options o = {.limits = &limits};
    struct decode_report r;
    limits.max_line_bytes = 6;
    assert_reads(BYTES_LITERAL("a;b 1\na;b;c 2\nd;e 3\n"), &o, &r, "a;b 1\nd;e 3\n");
    assert_int_equal(r.bad_lines, 1);
    limits.max_samples = 2;
    text_refuse(&folded_format, BYTES_LITERAL("a 1\nb 1\nc 1\n"), &o, ERR_LIMIT, "max_samples");
    assert_reads(BYTES_LITERAL("a 1\nb 1\na 1\n"), &o, &r, "a 2\nb 1\n");
    limits.max_batch_bytes = 1000;
    text_refuse(&folded_format, BYTES_LITERAL("a 1\n"), &o, ERR_LIMIT, "");
}

static void what_it_is_instead_is_named(void **state) // B4
{
    (void)state;
    static const char perf[] = "busy 10027  1780.682189:   10101010 cpu-clock:pppH: \n\t     11be f+0x3d (/srv/busy)\n";
    text_refuse(&folded_format, bytes_from_text(perf), NULL, ERR_UNSUPPORTED, "text of perf script; line 1: ");
    text_refuse(&folded_format, BYTES_LITERAL("<html>no</html>"), NULL, ERR_UNSUPPORTED, "HTML");
    text_refuse(&folded_format, BYTES_LITERAL("some words\nmore words\n"), NULL, ERR_INVALID,
                "no line holds a stack as \"frame;frame count\"; line 1: it has no count at its end");
    text_refuse(&folded_format, BYTES_LITERAL("# nothing\n\n"), NULL, ERR_INVALID, "only comments and empty lines");
    text_refuse(&folded_format, BYTES_LITERAL(""), NULL, ERR_INVALID, "empty input");
}

static void recognised_by_content(void **state)
{
    (void)state;
    static const char *const folded[] = {"a;b 1",
                                         "\xef\xbb\xbf# c\n\na;b 1.5\r\n",
                                         "main 5\nmain;a 5\n",
                                         "{closure};f 1\n",
                                         "[t tid=1];f 1\n",
                                         "a;b 1 2\n",
                                         "a;b 1\nbad\na;c 2\n"};
    static const char *const others[] = {"a b\nc;d 1\n",
                                         "main 5\n",
                                         "x;y",
                                         "{\"a\": 1}",
                                         "goroutine profile: total 5\n",
                                         "heap profile:  1: 2 [ 3: 4] @ heap/5\n",
                                         "INFO queue; size 7\nINFO started; pid 123\n",
                                         "a;b 1\nx\ny\nz\n"};
    for (size_t i = 0; i < COUNT_OF(folded); i++)
        assert_ptr_equal(format_recognise(bytes_from_text(folded[i]), NULL), &folded_format);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_ptr_not_equal(format_recognise(bytes_from_text(others[i]), NULL), &folded_format);
    assert_ptr_equal(format_recognise(BYTES_LITERAL("main 5\n"), "x/out.folded.gz"), &folded_format);
    assert_ptr_equal(format_recognise(BYTES_LITERAL("main 5\n"), "x/out.collapsed"), &folded_format);
}

static const char small[] = "# c\na;b_[k];c 1\r\na;b 2.5\n\njunk\n7\na;b;caf\xe9 99999999999999999999\na;d -3";

static void cut_and_failing(void **state)
{
    (void)state;
    text_cut_everywhere(&folded_format, bytes_from_text(small));
    text_fail_everywhere(&folded_format, bytes_from_text(small));
    text_fail_everywhere(&folded_format, BYTES_LITERAL("\xff\xfe"
                                                       "a\0 \0001\0"));
}

// --- the corpus ---

struct expected {
    const char *file;
    uint64_t samples /* different stacks */, comments, bad, rounded;
    int64_t sum;
    const char *names[4];
    int64_t through[4];
};

static const struct expected corpus[] = {
    {"recorded/pyspy-raw.txt",
     8,
     0,
     0,
     0,
     518,
     {"waiting_thread", "burn_eighty", "alloc_kept", "burn_twenty"},
     {19, 375, 1, 121}},
    {"recorded/pyspy-raw-native.txt", 8, 0, 0, 0, 407, {"waiting_thread", "burn_twenty", "burn_eighty"}, {21, 72, 314}},
    {"recorded/austin-mem.txt", 5, 8, 0, 0, 5304320, {"burn_eighty", "alloc_kept"}, {3371008, 110592}},
    {"recorded/austin-cpu.txt",
     12,
     7,
     0,
     0,
     4753858,
     {"burn_eighty", "burn_twenty", "waiting_thread", "alloc_kept"},
     {3040597, 927388, 711265, 17477}},
    {"recorded/async-profiler-cpu.collapsed",
     10,
     0,
     0,
     0,
     191,
     {"allocGarbage", "burnTwenty", "burnEighty", "contend"},
     {4, 44, 139, 1}},
    {"recorded/async-profiler-ann-threads-sig.collapsed",
     8,
     0,
     0,
     0,
     121,
     {"burnEighty", "burnTwenty", "allocGarbage", "contend"},
     {89, 28, 1, 1}},
    {"recorded/async-profiler-lock-total.collapsed", 1, 0, 0, 0, 4976722848, {"contend"}, {4976722848}},
    {"simple.txt", 3, 0, 0, 0, 14, {";", "c"}, {0, 5}},
    {"simple-crlf.txt", 3, 0, 0, 0, 14, {"\r"}, {0}},
    {"simple-utf16-le.txt", 3, 0, 0, 0, 14, {"\r"}, {0}},
    {"simple-with-invalids.txt", 3, 2, 1, 0, 14, {"invalid"}, {0}},
    {"tall.txt", 1, 0, 0, 0, 1, {"z"}, {1}},
    {"inferno-before.txt", 8, 0, 0, 0, 65, {"fsnotify_[k]"}, {33}},
    {"inferno-bad_before.txt", 7, 0, 1, 0, 54, {"__fdget"}, {0}},
    {"inferno-fractional.txt", 6, 0, 0, 5, 334, {"noploop"}, {277}},
    {"inferno-with-space.txt", 6, 0, 0, 5, 334, {"core::array"}, {19}},
    {"inferno-tricky-stack.txt", 1, 0, 0, 0, 3, {"SpecExtend<T, I>"}, {3}},
    {"inferno-flames.txt", 205, 0, 0, 0, 598400, {NULL}, {0}},
    {"inferno-async-profiler-collapsed-part.txt", 30, 0, 0, 0, 3279, {NULL}, {0}},
};

static void check_file(const struct expected *x, const struct batch *b, const struct decode_report *r)
{
    const struct profile *p = text_profile(b, 0);
    assert_int_equal(r->bad_lines, x->bad);
    assert_int_equal(r->comment_lines, x->comments);
    assert_int_equal(r->rounded_values, x->rounded);
    assert_int_equal(r->samples, x->samples);
    assert_int_equal(text_sum(b, p, NULL), x->sum);
    for (size_t i = 0; i < COUNT_OF(x->names) && x->names[i] != NULL; i++)
        assert_int_equal(text_sum(b, p, x->names[i]), x->through[i]);
}

// Through OTLP and back nothing changes, and each file is recognised.
static void corpus_reads_as_its_readme_says(void **state)
{
    (void)state;
    if (test_corpus_dir() == NULL)
        skip();
    for (size_t i = 0; i < COUNT_OF(corpus); i++) {
        char path[256];
        struct decode_report r;
        snprintf(path, sizeof path, "folded/%s", corpus[i].file);
        const struct bytes data = text_corpus_file(path);
        print_message("%s\n", path);
        assert_ptr_equal(format_recognise(data, NULL), &folded_format);
        struct batch *b = text_read(&folded_format, data, NULL, &r), *arrived = text_through_otlp(b);
        check_file(&corpus[i], b, &r);
        char *before = text_folded(b, NULL), *after = text_folded(arrived, NULL);
        assert_string_equal(before, after);
        struct batch *again = text_read(&folded_format, bytes_from_text(after), NULL, &r);
        char *last = text_folded(again, NULL);
        assert_string_equal(before, last);
        free(before);
        free(after);
        free(last);
        batch_unref(&b);
        batch_unref(&arrived);
        batch_unref(&again);
        free((void *)data.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_stacks_are_added_up),
        cmocka_unit_test(line_ends_and_encodings),
        cmocka_unit_test(comments_and_junk_lines_are_counted),
        cmocka_unit_test(fractions_are_rounded),
        cmocka_unit_test(counts_may_be_negative),
        cmocka_unit_test(counts_that_are_none),
        cmocka_unit_test(sums_do_not_overflow),
        cmocka_unit_test(two_counts_are_refused_by_name),
        cmocka_unit_test(a_missing_count_may_be_one),
        cmocka_unit_test(frames_hold_blanks),
        cmocka_unit_test(empty_frames_are_left_out),
        cmocka_unit_test(a_lone_number_is_an_unknown_stack),
        cmocka_unit_test(suffixes_stay_or_become_types),
        cmocka_unit_test(leaf_first_is_turned_round),
        cmocka_unit_test(counts_become_nanoseconds),
        cmocka_unit_test(no_rate_overflows),
        cmocka_unit_test(type_and_unit_are_options),
        cmocka_unit_test(austin_says_what_it_counts),
        cmocka_unit_test(time_is_the_callers),
        cmocka_unit_test(broken_utf8_is_repaired),
        cmocka_unit_test(deep_stacks_keep_their_leaf),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(what_it_is_instead_is_named),
        cmocka_unit_test(recognised_by_content),
        cmocka_unit_test(cut_and_failing),
        cmocka_unit_test(corpus_reads_as_its_readme_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
