// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log_line.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOON (1700000000LL * NANOS_PER_SECOND + 123456789) // 2023-11-14T22:13:20.123Z

static char out[LIMIT_LOG_LINE_BYTES + 1];

static const char *write_line(struct log_line line, enum log_encoding encoding)
{
    size_t len = log_line_write(&line, encoding, out);
    assert_true(len <= LIMIT_LOG_LINE_BYTES);
    out[len] = '\0';
    return out;
}

static void in_zone(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

static void console(void **state)
{
    (void)state;
    in_zone("UTC0");
    struct log_line line = {NOON, LOG_INFO, "receiver", "pprof/a", "12 files", 0};
    assert_string_equal(write_line(line, LOG_CONSOLE),
                        "2023-11-14T22:13:20.123+00:00\tinfo\treceiver/pprof/a\t12 files\n");
    line.id = NULL;
    line.level = LOG_ERROR;
    line.left_out = 7;
    assert_string_equal(write_line(line, LOG_CONSOLE), "2023-11-14T22:13:20.123+00:00\terror\treceiver\t12 files (7 "
                                                       "more like this were left out)\n");
}

static void json(void **state)
{
    (void)state;
    in_zone("UTC0");
    struct log_line line = {NOON, LOG_WARN, "exporter", "otlp_http", "say \"hi\"\\\n", 0};
    assert_string_equal(write_line(line, LOG_JSON),
                        "{\"ts\":\"2023-11-14T22:13:20.123+00:00\",\"level\":\"warn\",\"kind\":\"exporter\","
                        "\"id\":\"otlp_http\",\"msg\":\"say \\\"hi\\\"\\\\\\n\"}\n");
    line = (struct log_line){NOON, LOG_DEBUG, "service", NULL, "", UINT64_MAX};
    assert_string_equal(write_line(line, LOG_JSON),
                        "{\"ts\":\"2023-11-14T22:13:20.123+00:00\",\"level\":\"debug\",\"kind\":\"service\","
                        "\"msg\":\"\",\"left_out\":18446744073709551615}\n");
}

static void zones(void **state)
{
    (void)state;
    struct log_line line = {NOON, LOG_INFO, "k", NULL, "m", 0};
    in_zone("IST-5:30");
    assert_string_equal(write_line(line, LOG_CONSOLE), "2023-11-15T03:43:20.123+05:30\tinfo\tk\tm\n");
    in_zone("NST3:30");
    assert_string_equal(write_line(line, LOG_CONSOLE), "2023-11-14T18:43:20.123-03:30\tinfo\tk\tm\n");
    in_zone("UTC0");
    line.wall_nanos = -1;
    assert_string_equal(write_line(line, LOG_CONSOLE), "1969-12-31T23:59:59.999+00:00\tinfo\tk\tm\n");
}

static const char *message_as(const char *message, enum log_encoding encoding)
{
    write_line((struct log_line){NOON, LOG_INFO, "k", NULL, message, 0}, encoding);
    char *start = encoding == LOG_JSON ? strstr(out, "\"msg\":\"") + 7 : strstr(out, "\tk\t") + 3;
    out[strlen(out) - (encoding == LOG_JSON ? 3 : 1)] = '\0';
    return start;
}

static void what_could_steer_a_terminal_is_escaped(void **state)
{
    (void)state;
    assert_string_equal(message_as("a\tb\r\nc\x1b[31m\x7f", LOG_CONSOLE), "a\\tb\\r\\nc\\x1b[31m\\x7f");
    assert_string_equal(message_as("\xc2\x9b"
                                   "2J \u00a0",
                                   LOG_CONSOLE),
                        "\\x9b2J \u00a0");
    assert_string_equal(message_as("a\x01\xc2\x9b\x7f\t", LOG_JSON), "a\\u0001\\u009b\\u007f\\t");
}

static void broken_utf8_is_escaped(void **state)
{
    (void)state;
    assert_string_equal(message_as("\u00e9\xff\xe2\x82", LOG_CONSOLE), "\u00e9\\xff\\xe2\\x82");
    assert_string_equal(message_as("\u20ac\xff", LOG_JSON), "\u20ac\\\\xff");
}

static void long_messages_are_cut(void **state)
{
    (void)state;
    static char message[3 * LIMIT_LOG_LINE_BYTES];
    for (int shift = 0; shift < 3; shift++) {
        memset(message, 'a', (size_t)shift);
        for (size_t i = (size_t)shift; i + 4 < sizeof message; i += 3)
            memcpy(message + i, "\u20ac", 4);
        struct log_line line = {NOON, LOG_INFO, "k", "i", message, UINT64_MAX};
        write_line(line, LOG_JSON);
        assert_in_range(strlen(out), LIMIT_LOG_LINE_BYTES - 100, LIMIT_LOG_LINE_BYTES);
        assert_non_null(strstr(out, "\u20ac...\",\"left_out\":18446744073709551615}\n"));
        write_line(line, LOG_CONSOLE);
        assert_in_range(strlen(out), LIMIT_LOG_LINE_BYTES - 100, LIMIT_LOG_LINE_BYTES);
        assert_non_null(strstr(out, "\u20ac... (18446744073709551615 more like this were left out)\n"));
    }
    memset(message, '\x01', sizeof message - 1);
    write_line((struct log_line){NOON, LOG_INFO, message, message, message, 1}, LOG_JSON);
    assert_non_null(strstr(out, "\\u0001...\",\"left_out\":1}\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(console),
        cmocka_unit_test(json),
        cmocka_unit_test(zones),
        cmocka_unit_test(what_could_steer_a_terminal_is_escaped),
        cmocka_unit_test(broken_utf8_is_escaped),
        cmocka_unit_test(long_messages_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
