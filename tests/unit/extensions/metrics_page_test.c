// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extensions/extensions.h"
#include "tests/unit/extensions/pages.h"

#include <stdio.h>
#include <stdlib.h>

static int port_in_log(struct fake_env *f)
{
    const char *line = strstr(fake_env_log(f), "metrics at http://127.0.0.1:");
    assert_non_null(line);
    char *end;
    long port = strtol(line + strlen("metrics at http://127.0.0.1:"), &end, 10);
    assert_int_equal(strncmp(end, "/metrics", 8), 0);
    assert_in_range(port, 1, 65535);
    return (int)port;
}

static void the_page_shows_the_metrics(void **state)
{
    (void)state;
    static const struct metric_family family = {"profrelay_test_total", "Tests.", METRIC_COUNTER};
    struct fake_env f;
    struct fake_component c;
    struct err e = {0};
    fake_env_init(&f, 1);
    metric_add(metrics_series(f.env.metrics, &family, NULL, 0), 42);
    fake_component_init(&c, &f, KIND_EXTENSION, &metrics_page_extension.module, "{endpoint: '127.0.0.1:0'}");
    assert_int_equal(fake_component_start(&c, &e), ERR_OK);
    int port = port_in_log(&f);
    struct page_answer a = page_get(&f, port, "/metrics");
    assert_int_equal(a.status, 200);
    assert_string_equal(a.type, "text/plain; version=0.0.4; charset=utf-8");
    assert_non_null(strstr(a.body, "profrelay_test_total 42\n"));
    a = page_get(&f, port, "/metrics?x=1");
    assert_int_equal(a.status, 200);
    a = page_get(&f, port, "/");
    assert_int_equal(a.status, 404);
    assert_non_null(strstr(a.body, "/metrics"));
    fake_component_fini(&c);
    fake_env_fini(&f);
}

static void a_taken_port_is_an_error(void **state)
{
    (void)state;
    struct fake_env f;
    struct fake_component first, second;
    struct err e = {0};
    char yaml[64];
    fake_env_init(&f, 1);
    fake_component_init(&first, &f, KIND_EXTENSION, &metrics_page_extension.module, "{endpoint: '127.0.0.1:0'}");
    assert_int_equal(fake_component_start(&first, &e), ERR_OK);
    snprintf(yaml, sizeof yaml, "{endpoint: '127.0.0.1:%d'}", port_in_log(&f));
    fake_component_init(&second, &f, KIND_EXTENSION, &metrics_page_extension.module, yaml);
    assert_int_not_equal(fake_component_start(&second, &e), ERR_OK);
    assert_non_null(strstr(e.text, "127.0.0.1"));
    fake_component_fini(&second);
    fake_component_fini(&first);
    fake_env_fini(&f);
}

static void it_is_not_in_the_table(void **state)
{
    (void)state;
    assert_null(module_find(&extensions_table, "metrics_page"));
    assert_ptr_equal(module_find(&extensions_table, "file_storage/a"), &file_storage_extension.module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_shows_the_metrics),
        cmocka_unit_test(a_taken_port_is_an_error),
        cmocka_unit_test(it_is_not_in_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
