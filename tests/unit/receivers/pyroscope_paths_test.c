// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "receivers/pyroscope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const prefixes_list[] = {"/", "/pyroscope", "/v1/profiles/pyroscope/"};

static enum pyroscope_route route(const char *path)
{
    const struct config_strings prefixes = {.items = prefixes_list, .count = COUNT_OF(prefixes_list)};
    return pyroscope_route_of(&prefixes, bytes_from_text(path));
}

static void test_routes(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        enum pyroscope_route route;
    } cases[] = {
        {"/ingest", PYROSCOPE_ROUTE_INGEST},
        {"//ingest", PYROSCOPE_ROUTE_INGEST}, // Node with an address that ends with a slash
        {"/pyroscope/ingest", PYROSCOPE_ROUTE_INGEST},
        {"/pyroscope//ingest", PYROSCOPE_ROUTE_INGEST},
        {"///pyroscope///ingest", PYROSCOPE_ROUTE_INGEST},
        {"/v1/profiles/pyroscope/ingest", PYROSCOPE_ROUTE_INGEST},
        {"/push.v1.PusherService/Push", PYROSCOPE_ROUTE_PUSH},
        {"//push.v1.PusherService/Push", PYROSCOPE_ROUTE_PUSH},
        {"/pyroscope/push.v1.PusherService//Push", PYROSCOPE_ROUTE_PUSH},
        {"/ready", PYROSCOPE_ROUTE_READY},
        {"/pyroscope/ready", PYROSCOPE_ROUTE_READY},
        {"/validate", PYROSCOPE_ROUTE_VALIDATE},
        {"/otlp/v1/validate", PYROSCOPE_ROUTE_VALIDATE},
        {"/pyroscope/validate", PYROSCOPE_ROUTE_VALIDATE},
        {"", PYROSCOPE_ROUTE_NONE},
        {"/", PYROSCOPE_ROUTE_NONE},
        {"/pyroscope", PYROSCOPE_ROUTE_NONE},
        {"/ingest/", PYROSCOPE_ROUTE_NONE},
        {"/ingest2", PYROSCOPE_ROUTE_NONE},
        {"/other/ingest", PYROSCOPE_ROUTE_NONE},
        {"/pyroscopeingest", PYROSCOPE_ROUTE_NONE},
        {"/pyroscope/otlp/v1/validate", PYROSCOPE_ROUTE_NONE},
        {"/Ingest", PYROSCOPE_ROUTE_NONE},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (route(cases[i].path) != cases[i].route)
            fail_msg("%s: %d, not %d", cases[i].path, (int)route(cases[i].path), (int)cases[i].route);
}

static void test_a_long_path(void **state)
{
    (void)state;
    char path[10000];
    memset(path, '/', sizeof path);
    snprintf(path + 9900, 100, "ingest"); // slashes do not count
    assert_int_equal(route(path), PYROSCOPE_ROUTE_INGEST);
    memset(path, 'a', 9000);
    assert_int_equal(route(path), PYROSCOPE_ROUTE_NONE);
}

static void test_only_configured_prefixes(void **state)
{
    (void)state;
    const struct config_strings one = {.items = &prefixes_list[1], .count = 1};
    assert_int_equal(pyroscope_route_of(&one, BYTES_LITERAL("/ingest")), PYROSCOPE_ROUTE_NONE);
    assert_int_equal(pyroscope_route_of(&one, BYTES_LITERAL("/pyroscope/ingest")), PYROSCOPE_ROUTE_INGEST);
}

static void test_paths_text(void **state)
{
    (void)state;
    const struct config_strings prefixes = {.items = prefixes_list, .count = 2};
    char *text = pyroscope_paths_text(&prefixes);
    assert_string_equal(text, "clients of Pyroscope send with POST to /ingest, /push.v1.PusherService/Push, "
                              "/pyroscope/ingest, /pyroscope/push.v1.PusherService/Push");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_a_long_path),
        cmocka_unit_test(test_only_configured_prefixes),
        cmocka_unit_test(test_paths_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
