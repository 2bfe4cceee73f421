// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fake_clock {
    struct clock clock;
    int64_t now_nanos;
};

struct fixture {
    struct fake_clock time;
    char *text;
    size_t size;
    FILE *stream;
    struct log *log;
    struct logger logger;
};

static int64_t fake_wall(const struct clock *c)
{
    (void)c;
    return 1700000000LL * NANOS_PER_SECOND;
}

static int64_t fake_monotonic(const struct clock *c)
{
    return ((const struct fake_clock *)(const void *)c)->now_nanos;
}

static void open_log(struct fixture *f, unsigned burst, enum log_level level)
{
    setenv("TZ", "UTC0", 1);
    *f = (struct fixture){.time.clock = {fake_wall, fake_monotonic}};
    f->stream = open_memstream(&f->text, &f->size);
    f->log = log_create(&(struct log_options){
        .level = level, .stream = f->stream, .clock = &f->time.clock, .burst = burst, .period_nanos = 1000});
    f->logger = (struct logger){f->log, "receiver", "pprof/a"};
}

static void close_log(struct fixture *f)
{
    log_destroy(&f->log);
    assert_null(f->log);
    log_destroy(&f->log);
    fclose(f->stream);
    free(f->text);
}

static size_t count_lines(const struct fixture *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->size; i++)
        n += f->text[i] == '\n';
    return n;
}

// What the log says behind the time, which is always the same.
static void says(struct fixture *f, const char *expected)
{
    static const char stamp[] = "2023-11-14T22:13:20.000+00:00\t";
    const char *line = f->text;
    while (*expected != '\0') {
        size_t len = strcspn(expected, "\n") + 1;
        assert_int_equal(strncmp(line, stamp, strlen(stamp)), 0);
        line += strlen(stamp);
        if (strncmp(line, expected, len) != 0)
            fail_msg("expected %.*s in %s", (int)len, expected, line);
        line += len;
        expected += len;
    }
    assert_string_equal(line, "");
}

static void every_level_by_its_name(void **state)
{
    (void)state;
    struct fixture f;
    open_log(&f, 0, LOG_DEBUG);
    log_debug(&f.logger, "one");
    log_info(&f.logger, "%s %d", "two", 2);
    log_warn(&f.logger, "three");
    log_error(&f.logger, "four");
    log_write(&f.logger, LOG_OFF, "never");
    says(&f, "debug\treceiver/pprof/a\tone\ninfo\treceiver/pprof/a\ttwo 2\nwarn\treceiver/pprof/a\tthree\n"
             "error\treceiver/pprof/a\tfour\n");
    close_log(&f);
}

static void levels_and_encodings_change(void **state)
{
    (void)state;
    struct fixture f;
    open_log(&f, 0, LOG_WARN);
    log_info(&f.logger, "not this");
    log_set(f.log, LOG_INFO, LOG_JSON);
    log_info(&f.logger, "but this");
    log_debug(&f.logger, "not this");
    log_set(f.log, LOG_OFF, LOG_JSON);
    log_error(&f.logger, "not this");
    assert_string_equal(f.text, "{\"ts\":\"2023-11-14T22:13:20.000+00:00\",\"level\":\"info\",\"kind\":\"receiver\","
                                "\"id\":\"pprof/a\",\"msg\":\"but this\"}\n");
    close_log(&f);
}

static void loggers_without_names_or_sink(void **state)
{
    (void)state;
    struct fixture f;
    open_log(&f, 0, LOG_INFO);
    log_info(NULL, "nowhere");
    log_info((&(struct logger){NULL, "k", "i"}), "nowhere");
    log_info((&(struct logger){f.log, "exporter", NULL}), "a");
    log_info((&(struct logger){f.log, NULL, NULL}), "b");
    says(&f, "info\texporter\ta\ninfo\tservice\tb\n");
    close_log(&f);
}

static void keeps_errno(void **state)
{
    (void)state;
    struct fixture f;
    open_log(&f, 0, LOG_INFO);
    errno = ENOENT;
    log_info(&f.logger, "%s", strerror(errno));
    assert_int_equal(errno, ENOENT);
    says(&f, "info\treceiver/pprof/a\tNo such file or directory\n");
    close_log(&f);
}

static void repeat(struct fixture *f, const char *id, int count)
{
    struct logger l = {f->log, "receiver", id};
    for (int i = 0; i < count; i++)
        log_warn(&l, "file %d", i);
}

static void a_burst_passes_and_the_rest_is_counted(void **state)
{
    (void)state;
    struct fixture f;
    open_log(&f, 2, LOG_INFO);
    repeat(&f, "a", 5);
    says(&f, "warn\treceiver/a\tfile 0\nwarn\treceiver/a\tfile 1\n");
    f.time.now_nanos += 999;
    repeat(&f, "a", 1);
    assert_int_equal(count_lines(&f), 2);
    f.time.now_nanos += 1;
    repeat(&f, "a", 3);
    says(&f, "warn\treceiver/a\tfile 0\nwarn\treceiver/a\tfile 1\n"
             "warn\treceiver/a\tfile 0 (4 more like this were left out)\nwarn\treceiver/a\tfile 1\n");
    close_log(&f);
}

static void json_says_left_out_as_a_number(void **state)
{
    (void)state;
    struct fixture f;
    open_log(&f, 1, LOG_INFO);
    log_set(f.log, LOG_INFO, LOG_JSON);
    repeat(&f, "a", 3);
    f.time.now_nanos += 1000;
    repeat(&f, "a", 1);
    assert_int_equal(count_lines(&f), 2);
    assert_non_null(strstr(f.text, ",\"msg\":\"file 0\",\"left_out\":2}\n"));
    close_log(&f);
}

static void each_message_of_each_component_has_its_own_burst(void **state)
{
    (void)state;
    struct fixture f;
    open_log(&f, 1, LOG_INFO);
    repeat(&f, "a", 2);
    repeat(&f, "b", 2);
    char same_id[] = "a"; // the text counts, not the address
    repeat(&f, same_id, 1);
    log_info((&(struct logger){f.log, "exporter", "a"}), "other");
    log_info((&(struct logger){f.log, "receiver", "a"}), "other too");
    says(&f,
         "warn\treceiver/a\tfile 0\nwarn\treceiver/b\tfile 0\ninfo\texporter/a\tother\ninfo\treceiver/a\tother too\n");
    close_log(&f);
}

static void no_burst_means_no_limit(void **state)
{
    (void)state;
    struct fixture f;
    open_log(&f, 0, LOG_INFO);
    repeat(&f, "a", 100);
    assert_int_equal(count_lines(&f), 100);
    close_log(&f);
}

static void destroy_says_what_is_left(void **state)
{
    (void)state;
    struct fixture f;
    open_log(&f, 1, LOG_INFO);
    char *gone = strdup("gone"); // the component is freed before the log
    repeat(&f, gone, 4);
    free(gone);
    log_info((&(struct logger){f.log, "service", NULL}), "once");
    log_destroy(&f.log);
    says(&f, "warn\treceiver/gone\tfile 0\ninfo\tservice\tonce\n"
             "warn\treceiver/gone\t3 more like \"file ...\" were left out\n");
    close_log(&f);
}

// Ten thousand components speak: memory stays, and every line is either there or counted somewhere.
static void the_table_is_bounded_and_loses_no_count(void **state)
{
    (void)state;
    struct fixture f;
    open_log(&f, 1, LOG_INFO);
    for (int i = 0; i < 10000; i++) {
        char id[16];
        snprintf(id, sizeof id, "c%d", i);
        f.time.now_nanos++;
        repeat(&f, id, 3);
    }
    log_destroy(&f.log);
    size_t written = 0, left_out = 0;
    for (char *line = f.text; *line != '\0'; line = strchr(line, '\n') + 1) {
        const char *message = strrchr(strndupa(line, strcspn(line, "\n")), '\t') + 1;
        if (strncmp(message, "file 0", 6) == 0)
            written++;
        else
            left_out += strtoul(message, NULL, 10);
    }
    assert_int_equal(written, 10000);
    assert_int_equal(left_out, 20000);
    close_log(&f);
}

static void defaults(void **state)
{
    (void)state;
    struct log *log = log_create(&(struct log_options){.level = LOG_OFF});
    log_error((&(struct logger){log, "k", NULL}), "not on the test's stderr");
    log_destroy(&log);
    struct fixture f;
    open_log(&f, 1, LOG_INFO);
    log_destroy(&f.log);
    f.log =
        log_create(&(struct log_options){.level = LOG_INFO, .stream = f.stream, .clock = &f.time.clock, .burst = 1});
    repeat(&f, "a", 2);
    f.time.now_nanos = 10 * NANOS_PER_SECOND - 1;
    repeat(&f, "a", 1);
    assert_int_equal(count_lines(&f), 1);
    f.time.now_nanos++;
    repeat(&f, "a", 1);
    assert_int_equal(count_lines(&f), 2);
    close_log(&f);
}

enum { THREADS = 4, LINES = 300 };

static void *write_lines(void *arg)
{
    struct fixture *f = arg;
    for (int i = 0; i < LINES; i++) {
        log_info(&f->logger, "%s", "a line that is whole");
        if (i % 50 == 0)
            log_set(f->log, LOG_INFO, LOG_CONSOLE);
    }
    return NULL;
}

static void threads_write_whole_lines(void **state)
{
    (void)state;
    struct fixture f;
    open_log(&f, 0, LOG_INFO);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines, &f), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(count_lines(&f), THREADS * LINES);
    static const char whole[] = "2023-11-14T22:13:20.000+00:00\tinfo\treceiver/pprof/a\ta line that is whole\n";
    for (size_t at = 0; at < f.size; at += strlen(whole))
        assert_memory_equal(f.text + at, whole, strlen(whole));
    close_log(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_by_its_name),
        cmocka_unit_test(levels_and_encodings_change),
        cmocka_unit_test(loggers_without_names_or_sink),
        cmocka_unit_test(keeps_errno),
        cmocka_unit_test(a_burst_passes_and_the_rest_is_counted),
        cmocka_unit_test(json_says_left_out_as_a_number),
        cmocka_unit_test(each_message_of_each_component_has_its_own_burst),
        cmocka_unit_test(no_burst_means_no_limit),
        cmocka_unit_test(destroy_says_what_is_left),
        cmocka_unit_test(the_table_is_bounded_and_loses_no_count),
        cmocka_unit_test(defaults),
        cmocka_unit_test(threads_write_whole_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
