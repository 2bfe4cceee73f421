// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/metrics.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const struct metric_family accepted = {"otelcol_receiver_accepted_profile_samples", "Samples taken in.",
                                              METRIC_COUNTER};
static const struct metric_family queue = {"otelcol_exporter_queue_size", "Size\nwith \\ and \"quotes\".",
                                           METRIC_GAUGE};
static const struct metric_family same_name = {"otelcol_exporter_queue_size", "Said elsewhere.", METRIC_GAUGE};

static void page_is(struct metrics *m, const char *expected)
{
    struct buf page;
    buf_init(&page, 1 << 20);
    metrics_write(m, &page);
    buf_add_byte(&page, '\0');
    assert_true(buf_ok(&page));
    assert_string_equal((char *)page.data, expected);
    buf_fini(&page);
}

static void the_page(void **state)
{
    (void)state;
    struct metrics *m = metrics_create();
    page_is(m, "");
    struct metric *b = metrics_series(m, &accepted, &(struct metric_label){"receiver", "pprof/b"}, 1);
    struct metric *a = metrics_series(m, &accepted, &(struct metric_label){"receiver", "pprof/a"}, 1);
    struct metric *q = metrics_series(m, &queue, NULL, 0);
    metric_add(a, 2);
    metric_add(a, 3);
    metric_add(b, INT64_MAX);
    metric_set(q, -7);
    assert_int_equal(metric_get(a), 5);
    page_is(m, "# HELP otelcol_exporter_queue_size Size\\nwith \\\\ and \"quotes\".\n"
               "# TYPE otelcol_exporter_queue_size gauge\n"
               "otelcol_exporter_queue_size -7\n"
               "# HELP otelcol_receiver_accepted_profile_samples Samples taken in.\n"
               "# TYPE otelcol_receiver_accepted_profile_samples counter\n"
               "otelcol_receiver_accepted_profile_samples{receiver=\"pprof/a\"} 5\n"
               "otelcol_receiver_accepted_profile_samples{receiver=\"pprof/b\"} 9223372036854775807\n");
    metrics_destroy(&m);
    assert_null(m);
    metrics_destroy(&m);
}

static void the_same_labels_are_the_same_series(void **state)
{
    (void)state;
    struct metrics *m = metrics_create();
    char value[] = "one";
    struct metric_label labels[] = {{"b", value}, {"a", "two"}};
    struct metric *first = metrics_series(m, &queue, labels, 2);
    struct metric_label turned[] = {{"a", "two"}, {"b", "one"}};
    assert_ptr_equal(metrics_series(m, &queue, turned, 2), first);
    assert_ptr_equal(metrics_series(m, &same_name, turned, 2), first);
    assert_ptr_not_equal(metrics_series(m, &queue, turned, 1), first);
    assert_ptr_not_equal(metrics_series(m, &accepted, turned, 2), first);
    value[0] = 'x'; // copied
    page_is(m, "# HELP otelcol_exporter_queue_size Size\\nwith \\\\ and \"quotes\".\n"
               "# TYPE otelcol_exporter_queue_size gauge\n"
               "otelcol_exporter_queue_size{a=\"two\"} 0\n"
               "otelcol_exporter_queue_size{a=\"two\",b=\"one\"} 0\n"
               "# HELP otelcol_receiver_accepted_profile_samples Samples taken in.\n"
               "# TYPE otelcol_receiver_accepted_profile_samples counter\n"
               "otelcol_receiver_accepted_profile_samples{a=\"two\",b=\"one\"} 0\n");
    metrics_destroy(&m);
}

static void line_is(const struct metric_label *labels, size_t count, const char *expected)
{
    static const struct metric_family family = {"x", "X.", METRIC_GAUGE};
    struct metrics *m = metrics_create();
    metrics_series(m, &family, labels, count);
    char page[256];
    snprintf(page, sizeof page, "# HELP x X.\n# TYPE x gauge\nx{%s} 0\n", expected);
    page_is(m, page);
    metrics_destroy(&m);
}

static void label_values_are_escaped(void **state)
{
    (void)state;
    line_is((struct metric_label[]){{"l", "a\\b\"c\nd"}}, 1, "l=\"a\\\\b\\\"c\\nd\"");
    line_is((struct metric_label[]){{"l", "\\\\\"\"\n\n"}}, 1, "l=\"\\\\\\\\\\\"\\\"\\n\\n\"");
    line_is((struct metric_label[]){{"l", ""}}, 1, "l=\"\"");
    line_is((struct metric_label[]){{"l", "\u00e9\xff\xe2\x82"}}, 1, "l=\"\u00e9\uFFFD\uFFFD\uFFFD\"");
}

static void label_names_become_valid_and_single(void **state)
{
    (void)state;
    line_is((struct metric_label[]){{"service.name", "a"}}, 1, "service_name=\"a\"");
    line_is((struct metric_label[]){{"1st-\u00e9", "a"}}, 1, "_st___=\"a\"");
    line_is((struct metric_label[]){{"a.b", "first"}, {"z", "1"}, {"a_b", "second"}}, 3, "a_b=\"first\",z=\"1\"");
}

static int64_t read_number(void *arg)
{
    return *(int *)arg;
}

static void computed_gauges(void **state)
{
    (void)state;
    struct metrics *m = metrics_create();
    int one = 1, two = 2;
    const char *head = "# HELP otelcol_exporter_queue_size Size\\nwith \\\\ and \"quotes\".\n"
                       "# TYPE otelcol_exporter_queue_size gauge\n";
    char page[512];
    metrics_series_read(m, &queue, NULL, 0, read_number, &one);
    snprintf(page, sizeof page, "%s%s", head, "otelcol_exporter_queue_size 1\n");
    page_is(m, page);
    metrics_series_read(m, &queue, NULL, 0, read_number, &two);
    two = 22;
    snprintf(page, sizeof page, "%s%s", head, "otelcol_exporter_queue_size 22\n");
    page_is(m, page);
    metrics_series_read(m, &queue, NULL, 0, NULL, NULL);
    page_is(m, ""); // no head without a series
    metric_set(metrics_series(m, &queue, NULL, 0), 3);
    snprintf(page, sizeof page, "%s%s", head, "otelcol_exporter_queue_size 3\n");
    page_is(m, page);
    metrics_destroy(&m);
}

static void a_page_that_does_not_fit(void **state)
{
    (void)state;
    struct metrics *m = metrics_create();
    metrics_series(m, &queue, NULL, 0);
    struct buf page;
    buf_init(&page, 40);
    metrics_write(m, &page);
    assert_true(page.too_large);
    buf_fini(&page);
    metrics_destroy(&m);
}

static void many_series_stay_sorted(void **state)
{
    (void)state;
    struct metrics *m = metrics_create();
    enum { COUNT = 500 };
    struct metric *series[COUNT];
    char value[16];
    for (int i = 0; i < COUNT; i++) {
        int n = i * 271 % COUNT;
        snprintf(value, sizeof value, "%03d", n);
        series[n] = metrics_series(m, &accepted, &(struct metric_label){"l", value}, 1);
        metric_set(series[n], n);
    }
    struct buf page;
    buf_init(&page, 1 << 20);
    metrics_write(m, &page);
    buf_add_byte(&page, '\0');
    const char *at = strchr(strchr((char *)page.data, '\n') + 1, '\n') + 1;
    for (int n = 0; n < COUNT; n++) {
        char line[128];
        int len = snprintf(line, sizeof line, "otelcol_receiver_accepted_profile_samples{l=\"%03d\"} %d\n", n, n);
        assert_memory_equal(at, line, (size_t)len);
        at += len;
    }
    assert_string_equal(at, "");
    buf_fini(&page);
    metrics_destroy(&m);
}

enum { THREADS = 4, ROUNDS = 500 };

static void *count_and_register(void *arg)
{
    struct metrics *m = arg;
    static int number = 5;
    for (int i = 0; i < ROUNDS; i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", i % 50);
        metric_add(metrics_series(m, &accepted, &(struct metric_label){"l", value}, 1), 1);
        metrics_series_read(m, &queue, &(struct metric_label){"l", value}, 1, read_number, &number);
        if (i % 100 == 0) {
            struct buf page;
            buf_init(&page, 1 << 20);
            metrics_write(m, &page);
            buf_fini(&page);
        }
    }
    return NULL;
}

static void threads_count_register_and_read(void **state)
{
    (void)state;
    struct metrics *m = metrics_create();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_and_register, m), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    int64_t total = 0;
    for (int i = 0; i < 50; i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", i);
        total += metric_get(metrics_series(m, &accepted, &(struct metric_label){"l", value}, 1));
    }
    assert_int_equal(total, THREADS * ROUNDS);
    metrics_destroy(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page),
        cmocka_unit_test(the_same_labels_are_the_same_series),
        cmocka_unit_test(label_values_are_escaped),
        cmocka_unit_test(label_names_become_valid_and_single),
        cmocka_unit_test(computed_gauges),
        cmocka_unit_test(a_page_that_does_not_fit),
        cmocka_unit_test(many_series_stay_sorted),
        cmocka_unit_test(threads_count_register_and_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
