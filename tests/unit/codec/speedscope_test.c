// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/speedscope.h"
#include "tests/support/stack_at.h"
#include "tests/support/test_files.h"
#include "tests/unit/codec/text_fixture.h"

#include <stdlib.h>

#define FRAMES                                                                                                         \
    "\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\",\"file\":\"b.c\",\"line\":7,\"col\":3},{\"name\":\"c\"," \
    "\"line\":null}]}"
#define SAMPLED(unit, samples, weights)                                                                                \
    "{\"type\":\"sampled\",\"name\":\"n\",\"unit\":\"" unit                                                            \
    "\",\"startValue\":0,\"endValue\":2.5,\"samples\":" samples ",\"weights\":" weights "}"
#define EVENTED(events)                                                                                                \
    "{\"events\":" events ",\"type\":\"evented\",\"unit\":\"none\",\"startValue\":0,\"endValue\":9,\"name\":\"n\"}"
#define FILE_OF(profiles) "{\"profiles\":[" profiles "]," FRAMES "}"
#define OPEN(at, frame) "{\"type\":\"O\",\"at\":" #at ",\"frame\":" #frame "}"
#define CLOSE(at, frame) "{\"type\":\"C\",\"at\":" #at ",\"frame\":" #frame "}"

static const char sampled[] = FILE_OF(SAMPLED("seconds", "[[0,1],[0,1,2],[0,1]]", "[0.5,1,1.0000000004]"));
static const char evented[] =
    FILE_OF(EVENTED("[" OPEN(0, 0) "," OPEN(1, 1) "," CLOSE(3, 1) "," OPEN(3, 1) "," CLOSE(4, 1) "," CLOSE(9, 0) "]"));

static struct batch *read_text(const char *text, struct decode_report *r)
{
    struct batch *b = text_read(&speedscope_format, bytes_from_text(text), NULL, r);
    assert_string_equal(r->format, "speedscope");
    return b;
}

static void refuse(const char *text, const char *why)
{
    text_refuse(&speedscope_format, bytes_from_text(text), NULL, ERR_INVALID, why);
}

static void samples_become_nanoseconds(void **state)
{
    (void)state;
    struct decode_report r;
    struct batch *b = read_text(sampled, &r);
    const struct dictionary *d = b->dictionary;
    const struct profile *p = text_profile(b, 0);
    text_assert(b, p->sample_type.type, "time");
    text_assert(b, p->sample_type.unit, "nanoseconds");
    assert_int_equal(p->duration_nanos, 2500000000);
    assert_int_equal(p->columns->sample_count, 2); // equal stacks are added up
    assert_int_equal(p->observations->values[0], 1500000000);
    assert_int_equal(p->observations->values[1], 1000000000);
    assert_int_equal(r.samples, 2);
    assert_int_equal(r.rounded_values, 0); // less than a nanosecond
    const struct batch_location *leaf = stack_at(d, p->columns->stacks[0], 0);
    const struct batch_line *line = &d->lines[leaf->line_start];
    text_assert(b, d->functions[line->function].name, "b");
    text_assert(b, d->functions[line->function].filename, "b.c");
    assert_int_equal(line->line, 7);
    assert_int_equal(line->column, 3);
    assert_int_equal(text_sum(b, p, "a"), 2500000000);
    batch_unref(&b);
}

static void events_become_self_values(void **state)
{
    (void)state;
    struct decode_report r;
    struct batch *b = read_text(evented, &r);
    char *got = text_folded(b, NULL);
    assert_string_equal(got, "a 6\na;b 3\n");
    text_assert(b, text_profile(b, 0)->sample_type.type, "samples");
    assert_int_equal(text_profile(b, 0)->duration_nanos, 0);
    free(got);
    batch_unref(&b);
}

static void rounding_keeps_the_sum(void **state)
{
    (void)state;
    struct decode_report r;
    struct batch *b = read_text(FILE_OF(SAMPLED("none", "[[0],[1],[2]]", "[0.4,0.4,0.4]")), &r);
    const int64_t *values = text_profile(b, 0)->observations->values;
    assert_int_equal(values[0], 0);
    assert_int_equal(values[1], 1);
    assert_int_equal(values[2], 0);
    assert_int_equal(r.rounded_values, 3);
    batch_unref(&b);
}

static void large_integers_are_exact(void **state)
{
    (void)state;
    struct decode_report r;
    struct batch *b =
        read_text(FILE_OF(EVENTED("[" OPEN(1700000000000000001, 0) "," CLOSE(1700000000000000008, 0) "]")), &r);
    assert_int_equal(text_profile(b, 0)->observations->values[0], 7);
    batch_unref(&b);
    b = read_text(FILE_OF(SAMPLED("bytes", "[[0]]", "[9007199254740993]")), &r);
    assert_int_equal(text_profile(b, 0)->observations->values[0], 9007199254740993);
    text_assert(b, text_profile(b, 0)->sample_type.unit, "bytes");
    batch_unref(&b);
}

static void units_have_their_factor(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {{FILE_OF(SAMPLED("nanoseconds", "[[0]]", "[3]")), 3},
                 {FILE_OF(SAMPLED("microseconds", "[[0]]", "[3]")), 3000},
                 {FILE_OF(SAMPLED("milliseconds", "[[0]]", "[3]")), 3000000},
                 {FILE_OF(SAMPLED("seconds", "[[0]]", "[3]")), 3000000000},
                 {FILE_OF(SAMPLED("none", "[[0]]", "[3]")), 3}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct decode_report r;
        struct batch *b = read_text(cases[i].text, &r);
        assert_int_equal(text_profile(b, 0)->observations->values[0], cases[i].value);
        batch_unref(&b);
    }
}

static const char *attribute_text(const struct batch *b, uint32_t set, const char *key)
{
    const struct dictionary *d = b->dictionary;
    const struct batch_range *s = &d->attribute_sets[set];
    for (uint32_t i = 0; i < s->count; i++) {
        const struct batch_attribute *a = &d->attributes[d->set_attributes[s->start + i]];
        if (bytes_equal_text(d->strings[a->key], key))
            return (const char *)a->value.bytes.data;
    }
    return NULL;
}

static void threads_are_profiles(void **state)
{
    (void)state;
    struct decode_report r;
    struct batch *b = read_text(FILE_OF(SAMPLED("none", "[[0]]", "[3]") "," SAMPLED("none", "[[0],[1]]", "[4,5]")), &r);
    assert_int_equal(b->profile_count, 2);
    assert_int_equal(r.samples, 3);
    assert_int_equal(text_profile(b, 0)->observations->values[0], 3);
    assert_int_equal(text_profile(b, 1)->observations->values[0], 4);
    assert_memory_equal(attribute_text(b, text_profile(b, 1)->columns->attribute_sets[1], "thread.name"), "n", 1);
    assert_memory_equal(attribute_text(b, text_profile(b, 1)->attribute_set, "profile_name"), "n", 1);
    batch_unref(&b);
    b = read_text(sampled, &r); // one profile, whose name is none of a thread
    assert_null(text_profile(b, 0)->columns->attribute_sets);
    batch_unref(&b);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    refuse("{\"profiles\":[]}", "no shared.frames");
    refuse("{" FRAMES "}", "it has no profiles");
    refuse("{\"shared\":{\"frames\":[{\"name\":\"a\"},{\"file\":\"x\"}]},\"profiles\":[]}",
           "frame 1 of shared.frames has no name");
    refuse(FILE_OF(SAMPLED("none", "[[0]]", "[1]") "," SAMPLED("none", "[[0],[0,3]]", "[1,1]")),
           "profile 1: sample 1: frame 3 is not in shared.frames, which has 3");
    refuse(FILE_OF(SAMPLED("none", "[[-1]]", "[1]")), "frame -1 is not");
    refuse(FILE_OF(SAMPLED("none", "[[0],[1]]", "[1]")), "profile 0: it has 2 samples, but 1 weights");
    refuse(FILE_OF(SAMPLED("none", "[[0]]", "[1,2,3]")), "it has 1 samples, but 3 weights");
    refuse(FILE_OF(SAMPLED("none", "[[0]]", "[-1]")), "weight 0 is less than 0");
    refuse(FILE_OF(SAMPLED("hours", "[[0]]", "[1]")), "its unit is not known");
    refuse(FILE_OF(SAMPLED("seconds", "[[0]]", "[1e30]")), "64 bits");
    refuse(FILE_OF("{\"type\":\"sampled\",\"unit\":\"none\",\"samples\":[]}"), "needs samples and weights");
    refuse(FILE_OF("{\"type\":\"evented\",\"unit\":\"none\"}"), "needs events");
    refuse(FILE_OF(EVENTED("[" OPEN(5, 0) "," OPEN(4, 1) "]")), "event 1 is earlier than the one before it");
    refuse(FILE_OF(EVENTED("[" OPEN(5, 0) "," OPEN(6, 1) "," CLOSE(7, 0) "]")),
           "event 2 closes frame 0, but frame 1 was opened last");
    refuse(FILE_OF(EVENTED("[" CLOSE(7, 0) "]")), "but none is open");
    refuse(FILE_OF(EVENTED("[" OPEN(5, 0) "]")), "1 frames are still open");
    refuse(FILE_OF(EVENTED("[" OPEN(5, 9) "]")), "event 0: frame 9 is not in shared.frames");
    refuse(FILE_OF(EVENTED("[{\"at\":1,\"frame\":1}]")), "event 0 needs a type");
    refuse(FILE_OF(EVENTED("[7]")), "line 1, column");
    refuse(FILE_OF("{\"type\":\"sampled\",\"samples\":{}}"), "its unit");
    refuse("{\"shared\"", "line 1, column");
}

static void other_types_are_refused_by_name(void **state)
{
    (void)state;
    text_refuse(&speedscope_format, BYTES_LITERAL(FILE_OF("{\"type\":\"graph\",\"unit\":\"none\"}")), NULL,
                ERR_UNSUPPORTED, "neither \"sampled\" nor \"evented\"");
}

static void limits_are_kept(void **state)
{
    (void)state;
    struct decode_limits limits = decode_default_limits;
    const struct decode_options o = {.limits = &limits};
    limits.max_samples = 1;
    text_refuse(&speedscope_format, bytes_from_text(sampled), &o, ERR_LIMIT, "max_samples");
    limits.max_samples = 2;
    limits.max_stack_depth = 2;
    struct decode_report r;
    struct batch *b = text_read(&speedscope_format, bytes_from_text(sampled), &o, &r);
    assert_int_equal(r.cut_stacks, 1);
    batch_unref(&b);
    limits.max_batch_bytes = 100;
    text_refuse(&speedscope_format, bytes_from_text(sampled), &o, ERR_LIMIT, "100");
}

// The root's end of what is open stays, whatever opens below it.
static void deep_events_are_cut(void **state)
{
    (void)state;
    static const char deep[] = FILE_OF(EVENTED("[" OPEN(0, 0) "," OPEN(1, 1) "," OPEN(2, 2) "," OPEN(4, 0) "," CLOSE(
        7, 0) "," CLOSE(9, 2) "," OPEN(9, 1) "," CLOSE(10, 1) "," CLOSE(11, 1) "," CLOSE(12, 0) "]"));
    static const struct {
        uint32_t max_depth;
        uint64_t cut;
        const char *want;
    } cases[] = {
        {4, 0, "a 2\na;b 2\na;b;b 1\na;b;c 4\na;b;c;a 3\n"},
        {3, 1, "a 2\na;b 2\na;b;[truncated] 3\na;b;b 1\na;b;c 4\n"},
        {2, 1, "a 2\na;[truncated] 8\na;b 2\n"},
        {1, 1, "[truncated] 10\na 2\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct decode_limits limits = decode_default_limits;
        const struct decode_options o = {.limits = &limits};
        struct decode_report r;
        limits.max_stack_depth = cases[i].max_depth;
        struct batch *b = text_read(&speedscope_format, bytes_from_text(deep), &o, &r);
        char *got = text_folded(b, NULL);
        assert_string_equal(got, cases[i].want);
        assert_int_equal(r.cut_stacks, cases[i].cut);
        free(got);
        batch_unref(&b);
    }
}

// A tree of all that was open is shared by the profiles; their values are not.
static void evented_profiles_stay_apart(void **state)
{
    (void)state;
    struct decode_report r;
    struct batch *b = read_text(FILE_OF(EVENTED("[" OPEN(0, 0) "," CLOSE(2, 0) "]") "," EVENTED(
                                    "[" OPEN(5, 0) "," OPEN(6, 1) "," CLOSE(7, 1) "," CLOSE(9, 0) "]")),
                                &r);
    assert_int_equal(text_sum(b, text_profile(b, 0), NULL), 2);
    assert_int_equal(text_sum(b, text_profile(b, 1), NULL), 4);
    assert_int_equal(text_profile(b, 1)->columns->sample_count, 2);
    batch_unref(&b);
}

static void is_recognised_by_schema_or_keys(void **state)
{
    (void)state;
    assert_true(speedscope_recognise(bytes_from_text(sampled)));
    assert_true(
        speedscope_recognise(BYTES_LITERAL(" {\"$schema\": \"https://www.speedscope.app/file-format-schema.json\"}")));
    assert_false(speedscope_recognise(BYTES_LITERAL("{\"profiles\":[]}")));
    assert_false(speedscope_recognise(BYTES_LITERAL("{\"a\":{\"shared\":{},\"profiles\":[]}}")));
    assert_false(speedscope_recognise(BYTES_LITERAL("[\"shared\", \"profiles\"]")));
    assert_false(speedscope_recognise(BYTES_LITERAL("https://www.speedscope.app/file-format-schema.json")));
    assert_false(speedscope_recognise((struct bytes){0}));
    assert_ptr_equal(format_of_path("x.speedscope.json"), &speedscope_format);
}

static void cut_and_without_memory(void **state)
{
    (void)state;
    text_cut_everywhere(&speedscope_format, bytes_from_text(sampled));
    text_cut_everywhere(&speedscope_format, bytes_from_text(evented));
    text_fail_everywhere(&speedscope_format, bytes_from_text(sampled));
    text_fail_everywhere(&speedscope_format, bytes_from_text(evented));
}

static struct batch *read_corpus(const char *path)
{
    const struct bytes data = text_corpus_file(path);
    struct decode_report r;
    struct batch *b = text_read(NULL, data, NULL, &r);
    assert_string_equal(r.format, "speedscope");
    free((void *)data.data);
    return b;
}

// The figures are those of expected.json beside the files, in nanoseconds.
static void assert_sums(const struct batch *b, uint32_t profile, int64_t total, const char *function, int64_t through)
{
    const struct profile *p = text_profile(b, profile);
    const int64_t got = text_sum(b, p, function);
    assert_int_equal(text_sum(b, p, NULL) / 1000, total / 1000);
    assert_in_range(got, through - 1000, through + 1000);
}

static void corpus_reads_as_it_says(void **state)
{
    (void)state;
    if (test_corpus_dir() == NULL)
        skip();
    struct batch *b = read_corpus("speedscope/simple.speedscope.json");
    char *got = text_folded(b, NULL);
    assert_string_equal(got, "a;b 5\na;b;c 5\na;b;d 4\n");
    free(got);
    batch_unref(&b);
    b = read_corpus("speedscope/two-sampled.speedscope.json");
    assert_int_equal(b->profile_count, 2);
    assert_sums(b, 1, 14000000000, "d", 4000000000);
    batch_unref(&b);
    b = read_corpus("speedscope/duplicates.speedscope.json");
    assert_int_equal(b->profile_count, 3);
    assert_int_equal(text_profile(b, 2)->duration_nanos, 52000000000);
    assert_sums(b, 2, 14000000000, "c", 5000000000);
    batch_unref(&b);
}

static void recorded_profiles_read_as_expected(void **state)
{
    (void)state;
    if (test_corpus_dir() == NULL)
        skip();
    struct batch *b = read_corpus("speedscope/recorded/pyspy-speedscope.json");
    assert_int_equal(b->profile_count, 2);
    assert_sums(b, 0, 3980000000, "burn_eighty", 3230000000);
    assert_sums(b, 0, 3980000000, "burn_twenty", 730000000);
    assert_sums(b, 0, 3980000000, "alloc_kept", 20000000);
    assert_sums(b, 1, 180000000, "waiting_thread", 180000000);
    batch_unref(&b);
    b = read_corpus("speedscope/recorded/pyinstrument-speedscope.json");
    assert_int_equal(b->profile_count, 1);
    assert_sums(b, 0, 4087101304, "burn_eighty", 3030910000);
    assert_sums(b, 0, 4087101304, "burn_twenty", 407566000);
    assert_int_equal(text_profile(b, 0)->duration_nanos, 4089281082);
    batch_unref(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_become_nanoseconds),
        cmocka_unit_test(events_become_self_values),
        cmocka_unit_test(rounding_keeps_the_sum),
        cmocka_unit_test(large_integers_are_exact),
        cmocka_unit_test(units_have_their_factor),
        cmocka_unit_test(threads_are_profiles),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(other_types_are_refused_by_name),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(deep_events_are_cut),
        cmocka_unit_test(evented_profiles_stay_apart),
        cmocka_unit_test(is_recognised_by_schema_or_keys),
        cmocka_unit_test(cut_and_without_memory),
        cmocka_unit_test(corpus_reads_as_it_says),
        cmocka_unit_test(recorded_profiles_read_as_expected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
