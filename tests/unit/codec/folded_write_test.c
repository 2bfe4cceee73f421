// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/mem.h"
#include "codec/folded.h"
#include "codec/frames.h"
#include "tests/unit/codec/text_fixture.h"

// A batch being built: one scope, profiles of one sample type each.
struct made {
    struct builder *b;
    struct sample_writer samples;
    struct observation_writer observations;
};

static void begin(struct made *m)
{
    const struct decode_options none = {0};
    m->b = builder_create(0);
    frames_begin(m->b, &none);
    sample_writer_init(&m->samples, m->b);
    observation_writer_init(&m->observations, m->b);
}

static uint32_t named(struct made *m, const char *name)
{
    return frame_location(m->b, &(struct frame){.name = bytes_from_text(name)});
}

// A sample of one location.
static void add(struct made *m, uint32_t location, int64_t value)
{
    sample_writer_add(&m->samples, builder_stack(m->b, &location, 1), 0, 0);
    observation_writer_add_value(&m->observations, value);
}

static void end_profile(struct made *m, const char *type, const char *unit)
{
    struct profile p = {.sample_type = {builder_string_text(m->b, type), builder_string_text(m->b, unit)}};
    p.columns = sample_writer_take(&m->samples);
    p.observations = observation_writer_take(&m->observations);
    builder_profile(m->b, &p);
}

static struct batch *finish(struct made *m)
{
    struct batch *b;
    struct err e = {0};
    sample_writer_fini(&m->samples);
    observation_writer_fini(&m->observations);
    if (builder_finish(m->b, &b, &e) != ERR_OK)
        fail_msg("%s", e.text);
    builder_destroy(&m->b);
    return b;
}

static void assert_written(struct batch *b, const char *type, const char *want, const struct encode_report *expected)
{
    struct buf out;
    struct err e = {0};
    struct encode_report report = {0};
    buf_init(&out, 1 << 20);
    const struct encode_options o = {.sample_type = bytes_from_text(type)};
    assert_int_equal(folded_encode(b, &o, &out, &report, &e), ERR_OK);
    buf_add_byte(&out, 0);
    assert_string_equal((char *)out.data, want);
    if (expected != NULL) {
        assert_true(bytes_equal(report.sample_type, expected->sample_type));
        assert_int_equal(report.sample_types, expected->sample_types);
        assert_int_equal(report.profiles, expected->profiles);
        assert_int_equal(report.lost, expected->lost);
    }
    buf_fini(&out);
}

static void assert_done(struct made *m, const char *want)
{
    end_profile(m, "samples", "count");
    struct batch *b = finish(m);
    assert_written(b, NULL, want, NULL);
    batch_unref(&b);
}

static void lines_are_sorted_and_merged(void **state)
{
    (void)state;
    struct made m;
    begin(&m);
    const uint32_t ab[] = {named(&m, "b"), named(&m, "a")};
    add(&m, named(&m, "z"), 1);
    sample_writer_add(&m.samples, builder_stack(m.b, ab, 2), 0, 0);
    observation_writer_add_value(&m.observations, 2);
    add(&m, named(&m, "z"), 3);
    add(&m, named(&m, "a b"), 4);                                                            // ' ' sorts before ';'
    add(&m, frame_location(m.b, &(struct frame){.name = BYTES_LITERAL("z"), .line = 7}), 5); // the same in text
    add(&m, named(&m, "a"), 0);
    assert_done(&m, "a 0\na b 4\na;b 2\nz 9\n");
}

static void names_cannot_break_lines(void **state) // B9
{
    (void)state;
    struct made m;
    begin(&m);
    add(&m, named(&m, "sh -c 'a;b'"), 1);
    add(&m, named(&m, "x\ny\r\tz\x7f\x1b[0m"), 2);
    add(&m, named(&m, "worker 3"), 4); // would be read as a count
    add(&m, named(&m, "v 1.5"), 5);
    add(&m, named(&m, "7"), 6);
    add(&m, named(&m, "#<Class:X>"), 7); // a comment
    add(&m, named(&m, "//anon"), 8);
    add(&m, named(&m, "/bin/sh"), 9);
    const uint32_t blanks[] = {named(&m, " leaf "), named(&m, " \t"), named(&m, " mid "), named(&m, " root ")};
    sample_writer_add(&m.samples, builder_stack(m.b, blanks, 4), 0, 0);
    observation_writer_add_value(&m.observations, 10);
    end_profile(&m, "samples", "count");
    struct batch *b = finish(&m);
    assert_written(b, NULL,
                   " #<Class:X> 7\n //anon 8\n/bin/sh 9\n7 6\nroot ; mid ;[unknown]; leaf 10\nsh -c 'a|b' 1\nv_1.5 "
                   "5\nworker_3 4\nx y  z  [0m 2\n",
                   NULL);
    char *text = text_folded(b, NULL);
    struct decode_report r;
    struct batch *again = text_read(&folded_format, bytes_from_text(text), NULL, &r);
    assert_int_equal(r.bad_lines + r.comment_lines, 0);
    char *last = text_folded(again, NULL);
    assert_string_equal(last, text);
    free(text);
    free(last);
    batch_unref(&b);
    batch_unref(&again);
}

static void locations_without_functions_have_names(void **state)
{
    (void)state;
    struct made m;
    begin(&m);
    add(&m, frame_location(m.b, &(struct frame){.module = BYTES_LITERAL("/lib/libc.so.6"), .address = 0xBEEF}), 1);
    add(&m, frame_location(m.b, &(struct frame){.module = BYTES_LITERAL("[vdso]"), .address = 0}), 2);
    add(&m, frame_location(m.b, &(struct frame){.address = UINT64_MAX}), 3);
    add(&m, 0, 4);
    sample_writer_add(&m.samples, 0, 0, 0); // no stack
    observation_writer_add_value(&m.observations, 5);
    const struct batch_function only_file = {.filename = builder_string_text(m.b, "x.py")};
    const struct batch_line lines[] = {{.function = builder_function(m.b, &only_file)}};
    add(&m, builder_location(m.b, &(struct batch_location){0}, lines, 1), 6);
    assert_done(&m, "0xffffffffffffffff 3\n[unknown] 9\n[vdso] 2\nlibc.so.6+0xbeef 1\nx.py 6\n");
}

static void inlined_calls_are_frames(void **state)
{
    (void)state;
    struct made m;
    begin(&m);
    const struct batch_function f[] = {{.name = builder_string_text(m.b, "inner")},
                                       {.system_name = builder_string_text(m.b, "_Z5outerv")}};
    const struct batch_line lines[] = {{.function = builder_function(m.b, &f[0])},
                                       {.function = builder_function(m.b, &f[1])}};
    add(&m, builder_location(m.b, &(struct batch_location){.address = 1}, lines, 2), 1);
    assert_done(&m, "_Z5outerv;inner 1\n");
}

static void one_type_is_written_of_all_profiles(void **state)
{
    (void)state;
    struct made m;
    begin(&m);
    add(&m, named(&m, "a"), 1);
    end_profile(&m, "cpu", "nanoseconds");
    add(&m, named(&m, "a"), 10);
    end_profile(&m, "alloc", "bytes");
    add(&m, named(&m, "a"), 100);
    end_profile(&m, "cpu", "nanoseconds");
    add(&m, named(&m, "a"), 1000);
    end_profile(&m, "cpu", "seconds"); // is something else
    struct batch *b = finish(&m);
    assert_written(
        b, NULL, "a 101\n",
        &(struct encode_report){.sample_type = BYTES_LITERAL("cpu"), .sample_types = 2, .profiles = 2, .lost = 0});
    assert_written(
        b, "alloc", "a 10\n",
        &(struct encode_report){.sample_type = BYTES_LITERAL("alloc"), .sample_types = 2, .profiles = 1, .lost = 0});
    struct buf out;
    struct err e = {0};
    buf_init(&out, 100);
    struct encode_report report = {0};
    const struct encode_options o = {.sample_type = BYTES_LITERAL("wall")};
    assert_int_equal(folded_encode(b, &o, &out, &report, &e), ERR_INVALID);
    assert_string_equal(e.text, "there is no sample type wall; there are: cpu, alloc");
    buf_fini(&out);
    batch_unref(&b);
}

static void all_shapes_of_observations_count(void **state)
{
    (void)state;
    struct made m;
    begin(&m);
    const uint32_t a = named(&m, "a"), stack = builder_stack(m.b, &a, 1);
    const uint64_t times[] = {1, 2, 3};
    const int64_t values[] = {10, 20, 30};
    const struct value text = value_string(BYTES_LITERAL("v"));
    const uint32_t attribute = builder_attribute(m.b, builder_string_text(m.b, "k"), 0, &text);
    const struct batch_link link = {.trace_id = {1}};
    sample_writer_add(&m.samples, stack, builder_attribute_set(m.b, &attribute, 1), builder_link(m.b, &link));
    observation_writer_add(&m.observations, NULL, 0, times, 3);
    sample_writer_add(&m.samples, stack, 0, 0);
    observation_writer_add(&m.observations, values, 3, times, 3);
    sample_writer_add(&m.samples, stack, 0, 0);
    observation_writer_add(&m.observations, values, 1, NULL, 0);
    end_profile(&m, "samples", "count");
    struct batch *b = finish(&m);
    assert_written(
        b, NULL, "a 73\n",
        &(struct encode_report){.sample_type = BYTES_LITERAL("samples"), .sample_types = 1, .profiles = 1, .lost = 8});
    batch_unref(&b);
}

static void sums_that_do_not_fit_are_an_error(void **state)
{
    (void)state;
    struct made m;
    begin(&m);
    add(&m, named(&m, "a"), INT64_MAX);
    add(&m, frame_location(m.b, &(struct frame){.name = BYTES_LITERAL("a"), .line = 1}), 1);
    end_profile(&m, "samples", "count");
    struct batch *b = finish(&m);
    struct buf out;
    struct err e = {0};
    struct encode_report report = {0};
    buf_init(&out, 1000);
    assert_int_equal(folded_encode(b, &(struct encode_options){.layout = OTLP_LAYOUT_AUTO}, &out, &report, &e),
                     ERR_LIMIT);
    assert_non_null(strstr(e.text, "64 bits"));
    buf_fini(&out);
    batch_unref(&b);
}

static void nothing_is_written_of_nothing(void **state)
{
    (void)state;
    struct made m;
    begin(&m);
    struct batch *b = finish(&m);
    assert_written(b, NULL, "", &(struct encode_report){.lost = 0});
    batch_unref(&b);
}

static void too_little_room_and_memory(void **state)
{
    (void)state;
    struct batch *b = text_read(&folded_format, BYTES_LITERAL("a;b;c 1\nd;e;f 2\ng;h 3\n"), NULL, NULL);
    struct buf out;
    struct err e = {0};
    enum err_code code = ERR_MEMORY;
    for (size_t room = 0; room < 22; room++) {
        struct encode_report report = {0};
        buf_init(&out, room);
        assert_int_equal(folded_encode(b, &(struct encode_options){.layout = OTLP_LAYOUT_AUTO}, &out, &report, &e),
                         ERR_LIMIT);
        char allowed[64];
        snprintf(allowed, sizeof allowed, "than the %zu bytes allowed", room);
        assert_non_null(strstr(e.text, allowed));
        buf_fini(&out);
    }
    for (size_t n = 1; code != ERR_OK; n++) {
        struct encode_report report = {0};
        buf_init(&out, 1000);
        mem_fail_from(n);
        code = folded_encode(b, &(struct encode_options){.layout = OTLP_LAYOUT_AUTO}, &out, &report, &e);
        mem_fail_from(0);
        assert_true(code == ERR_OK || (code == ERR_MEMORY && e.code == code));
        buf_fini(&out);
    }
    batch_unref(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_sorted_and_merged),
        cmocka_unit_test(names_cannot_break_lines),
        cmocka_unit_test(locations_without_functions_have_names),
        cmocka_unit_test(inlined_calls_are_frames),
        cmocka_unit_test(one_type_is_written_of_all_profiles),
        cmocka_unit_test(all_shapes_of_observations_count),
        cmocka_unit_test(sums_that_do_not_fit_are_an_error),
        cmocka_unit_test(nothing_is_written_of_nothing),
        cmocka_unit_test(too_little_room_and_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
