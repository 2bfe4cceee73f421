// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exporters/debug_print.h"
#include "exporters/exporters.h"
#include "profile/builder.h"
#include "tests/support/fake_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// A profile with three samples: inlined frames and a label; a link and an address; values only.
static struct batch *make_batch(int64_t big)
{
    struct err e;
    struct batch *batch;
    struct builder *b = builder_create(0);
    const struct key_value attributes[] = {{BYTES_LITERAL("service.name"), value_string(BYTES_LITERAL("sh\nop"))}};
    struct value main_thread = value_string(BYTES_LITERAL("main"));
    struct batch_function work = {.name = builder_string_text(b, "work"), .filename = builder_string_text(b, "a.go")};
    struct batch_function leaf = {.name = builder_string_text(b, "le\x1b[31maf")};
    struct batch_mapping libc = {.filename = builder_string_text(b, "libc.so")};
    struct batch_line lines[] = {{.function = builder_function(b, &leaf)},
                                 {.function = builder_function(b, &work), .line = 12}};
    uint32_t locations[] = {
        builder_location(b, &(struct batch_location){.address = 1}, lines, 2),
        builder_location(b, &(struct batch_location){.address = 0x1234, .mapping = builder_mapping(b, &libc)}, NULL, 0),
    };
    struct batch_link link = {.trace_id = {1, 2}, .span_id = {3}};
    uint32_t label = builder_attribute(b, builder_string_text(b, "thread"), 0, &main_thread);
    struct sample_writer samples;
    struct observation_writer observations;
    sample_writer_init(&samples, b);
    observation_writer_init(&observations, b);
    sample_writer_add(&samples, builder_stack(b, locations, 2), builder_attribute_set(b, &label, 1), 0);
    sample_writer_add(&samples, builder_stack(b, locations + 1, 1), 0, builder_link(b, &link));
    sample_writer_add(&samples, 0, 0, 0);
    observation_writer_add_value(&observations, 10);
    observation_writer_add_value(&observations, big);
    observation_writer_add_value(&observations, big);
    struct profile p = {.sample_type = {builder_string_text(b, "cpu"), builder_string_text(b, "nanoseconds")},
                        .time_nanos = 1700000000123456789u,
                        .duration_nanos = 10500000000u,
                        .period = 5,
                        .columns = sample_writer_take(&samples),
                        .observations = observation_writer_take(&observations)};
    p.period_type = p.sample_type;
    builder_resource(b, attributes, 1, 0, (struct bytes){NULL, 0});
    builder_scope(b, BYTES_LITERAL("scope"), BYTES_LITERAL("1"), NULL, 0, 0, (struct bytes){NULL, 0});
    builder_profile(b, &p);
    sample_writer_fini(&samples);
    observation_writer_fini(&observations);
    assert_int_equal(builder_finish(b, &batch, &e), ERR_OK);
    builder_destroy(&b);
    return batch;
}

static char *printed(struct batch *b, enum debug_verbosity verbosity, uint64_t max_samples)
{
    struct buf out;
    size_t len;
    buf_init(&out, 1 << 20);
    debug_print(b, verbosity, max_samples, &out);
    buf_add_byte(&out, '\0');
    assert_true(buf_ok(&out));
    batch_unref(&b);
    return (char *)buf_take(&out, &len);
}

static void assert_printed(struct batch *b, enum debug_verbosity verbosity, uint64_t max_samples, const char *expected)
{
    char *text = printed(b, verbosity, max_samples);
    assert_string_equal(text, expected);
    free(text);
}

static void basic_is_one_line(void **state)
{
    (void)state;
    char *text = printed(make_batch(1), DEBUG_BASIC, 100);
    const char *start = "profiles: resource profiles 1, profiles 1, samples 3, ";
    assert_int_equal(strncmp(text, start, strlen(start)), 0);
    assert_string_equal(text + strlen(text) - 11, " in memory\n");
    free(text);
}

static void normal_is_a_line_per_profile(void **state)
{
    (void)state;
    assert_printed(make_batch(16), DEBUG_NORMAL, 100,
                   "profile: service.name sh\\x0aop, cpu/nanoseconds, samples 3, total 42, time "
                   "2023-11-14T22:13:20.123Z, duration 10.500s\n");
}

static void totals_do_not_overflow(void **state)
{
    (void)state;
    char *text = printed(make_batch(INT64_MAX), DEBUG_NORMAL, 100);
    assert_non_null(strstr(text, ", total more than 9223372036854775807, "));
    free(text);
    text = printed(make_batch(INT64_MIN), DEBUG_NORMAL, 100);
    assert_non_null(strstr(text, ", total less than -9223372036854775808, "));
    free(text);
}

static const char *const detailed_head =
    "resource profiles 1 of 1\n"
    "  attribute service.name: sh\\x0aop\n"
    "  scope scope 1\n"
    "    profile cpu/nanoseconds\n"
    "      time 2023-11-14T22:13:20.123Z, duration 10.500s, period 5 cpu/nanoseconds\n"
    "      samples 3, total 42\n"
    "      sample 1: 10\n"
    "        label thread: main\n"
    "        le\\x1b[31maf (inlined)\n"
    "        work a.go:12\n"
    "        0x1234 libc.so\n";

static void detailed_shows_everything(void **state)
{
    (void)state;
    char expected[2048];
    snprintf(expected, sizeof expected,
             "%s      sample 2: 16\n"
             "        link: trace 01020000000000000000000000000000, span 0300000000000000\n"
             "        0x1234 libc.so\n"
             "      sample 3: 16\n",
             detailed_head);
    assert_printed(make_batch(16), DEBUG_DETAILED, 100, expected);
    assert_printed(make_batch(16), DEBUG_DETAILED, 3, expected);
}

static void detailed_is_bounded(void **state)
{
    (void)state;
    char expected[2048];
    snprintf(expected, sizeof expected, "%s      ... and 2 more\n", detailed_head);
    assert_printed(make_batch(16), DEBUG_DETAILED, 1, expected);
}

static void timestamps_count_one_each(void **state)
{
    (void)state;
    struct err e;
    struct batch *batch;
    struct builder *b = builder_create(0);
    const uint64_t times[] = {1000000000u, 2000000000u, 3000000000u, 4000000000u, 5000000000u};
    struct sample_writer samples;
    struct observation_writer observations;
    sample_writer_init(&samples, b);
    observation_writer_init(&observations, b);
    sample_writer_add(&samples, 0, 0, 0);
    observation_writer_add(&observations, NULL, 0, times, 5);
    struct profile p = {.columns = sample_writer_take(&samples),
                        .observations = observation_writer_take(&observations)};
    builder_resource(b, NULL, 0, 0, (struct bytes){NULL, 0});
    builder_scope(b, (struct bytes){NULL, 0}, (struct bytes){NULL, 0}, NULL, 0, 0, (struct bytes){NULL, 0});
    builder_profile(b, &p);
    sample_writer_fini(&samples);
    observation_writer_fini(&observations);
    assert_int_equal(builder_finish(b, &batch, &e), ERR_OK);
    builder_destroy(&b);
    assert_printed(batch, DEBUG_DETAILED, 100,
                   "resource profiles 1 of 1\n"
                   "  scope  \n"
                   "    profile /\n"
                   "      time unknown, duration 0.000s\n"
                   "      samples 1, total 5\n"
                   "      sample 1\n"
                   "        at 1970-01-01T00:00:01.000Z, 1970-01-01T00:00:02.000Z, 1970-01-01T00:00:03.000Z, ... and 2 "
                   "more\n");
}

// stdout is a file for the time of one export.
static char *exported(const char *yaml)
{
    static char text[4096];
    struct fake_env f;
    struct fake_component c;
    struct err e = {0};
    struct batch *b = make_batch(16);
    FILE *file = tmpfile();
    assert_non_null(file);
    fake_env_init(&f, 1);
    fake_component_init(&c, &f, KIND_EXPORTER, &debug_exporter.module, yaml);
    assert_int_equal(fake_component_start(&c, &e), ERR_OK);
    fflush(stdout);
    int old = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    struct verdict v = fake_export(&c, b);
    dup2(old, STDOUT_FILENO);
    close(old);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_int_equal(v.kind, VERDICT_OK);
    batch_unref(&b);
    fake_component_fini(&c);
    fake_env_fini(&f);
    return text;
}

static void the_settings_decide(void **state)
{
    (void)state;
    assert_int_equal(strncmp(exported("{}"), "profiles: ", 10), 0);
    assert_int_equal(strncmp(exported("{verbosity: normal}"), "profile: ", 9), 0);
    assert_non_null(strstr(exported("{verbosity: detailed, max_samples: 1}"), "... and 2 more\n"));
}

static void the_collectors_keys_are_accepted(void **state)
{
    (void)state;
    struct fake_env f;
    void *settings;
    fake_env_init(&f, 1);
    char *text = fake_settings(&f, KIND_EXPORTER, &debug_exporter.module,
                               "{sampling_initial: 5, sampling_thereafter: 200, use_internal_logger: false,"
                               " output_paths: [stdout]}",
                               &settings);
    assert_non_null(strstr(text, "warning: "));
    assert_non_null(strstr(text, "output_paths"));
    free(text);
    fake_env_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(basic_is_one_line),      cmocka_unit_test(normal_is_a_line_per_profile),
        cmocka_unit_test(totals_do_not_overflow), cmocka_unit_test(detailed_shows_everything),
        cmocka_unit_test(detailed_is_bounded),    cmocka_unit_test(timestamps_count_one_each),
        cmocka_unit_test(the_settings_decide),    cmocka_unit_test(the_collectors_keys_are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
