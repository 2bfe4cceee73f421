// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/pprof.h"
#include "exporters/exporters.h"
#include "tests/support/fake_env.h"
#include "tests/support/pprof_bytes.h"

static void everything_is_taken_and_nothing_sent(void **state)
{
    (void)state;
    struct fake_env f;
    struct fake_component c;
    struct err e = {0};
    struct pprof_bytes p;
    struct decode_report report;
    const struct decode_options options = {.limits = NULL};
    struct batch *b;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    assert_int_equal(pprof_decode(buf_bytes(&p.out), &options, &b, &report, &e), ERR_OK);
    fake_env_init(&f, 1);
    fake_component_init(&c, &f, KIND_EXPORTER, &nop_exporter.module, "{}");
    assert_int_equal(fake_component_start(&c, &e), ERR_OK);
    assert_int_equal(fake_export(&c, b).kind, VERDICT_OK);
    struct record_list records;
    record_list_init(&records);
    assert_int_equal(nop_exporter.encode((struct exporter *)c.instance.component, b, &records, &e), ERR_OK);
    assert_null(records.head);
    fake_component_fini(&c);
    fake_env_fini(&f);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void the_table_lists_all_types_and_aliases(void **state)
{
    (void)state;
    assert_ptr_equal(module_find(&exporters_table, "nop"), &nop_exporter.module);
    assert_ptr_equal(module_find(&exporters_table, "debug/x"), &debug_exporter.module);
    assert_ptr_equal(module_find(&exporters_table, "file"), &file_exporter.module);
    assert_ptr_equal(module_find(&exporters_table, "otlp_http/eu"), &otlp_http_exporter.module);
    assert_ptr_equal(module_find(&exporters_table, "otlphttp"), &otlp_http_exporter.module);
    assert_ptr_equal(module_find(&exporters_table, "otlp"), &otlp_grpc_exporter.module);
    assert_null(module_find(&exporters_table, "files"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_taken_and_nothing_sent),
        cmocka_unit_test(the_table_lists_all_types_and_aliases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
