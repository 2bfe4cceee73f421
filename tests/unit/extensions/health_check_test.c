// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extensions/extensions.h"
#include "tests/support/test_certs.h"
#include "tests/support/test_folder.h"
#include "tests/unit/extensions/pages.h"

#include <stdlib.h>

#define NOW_SECONDS 1700000000LL
#define FAILING_SECONDS 300

static int64_t now(const struct clock *c)
{
    (void)c;
    return NOW_SECONDS * NANOS_PER_SECOND;
}

static const struct clock stopped = {now, now};

struct rig {
    struct fake_env f;
    struct fake_component c;
    struct exporter_health exporters[2];
    int port;
};

static void begin(struct rig *r, const char *yaml)
{
    struct err e = {0};
    fake_env_init(&r->f, 1);
    r->f.env.clock = &stopped;
    r->f.health = (struct service_health){SERVICE_READY, (NOW_SECONDS - 90) * NANOS_PER_SECOND};
    r->exporters[0] = (struct exporter_health){.id = "otlp_http/eu",
                                               .queue = {.load = 3, .capacity = 1000, .unit = "requests", .bytes = 77}};
    r->exporters[1] = (struct exporter_health){.id = "debug", .queue = {.capacity = 1, .unit = "bytes"}};
    r->f.exporters = r->exporters;
    r->f.exporter_count = 2;
    fake_component_init(&r->c, &r->f, KIND_EXTENSION, &health_check_extension.module, yaml);
    assert_int_equal(fake_component_start(&r->c, &e), ERR_OK);
    const char *port = strstr(fake_env_log(&r->f), "port ");
    assert_non_null(port);
    r->port = (int)strtol(port + strlen("port "), NULL, 10);
}

static void end(struct rig *r)
{
    fake_component_fini(&r->c);
    fake_env_fini(&r->f);
}

static void fail_first(struct rig *r, bool refused, const char *error)
{
    struct queue_health *q = &r->exporters[0].queue;
    q->failing = true;
    q->refused = refused;
    q->failing_since_nanos = (NOW_SECONDS - FAILING_SECONDS) * NANOS_PER_SECOND;
    snprintf(q->error, sizeof q->error, "%s", error);
}

static void says_when_it_is_ready(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, "{endpoint: '127.0.0.1:0'}");
    struct page_answer a = page_get(&r.f, r.port, "/");
    assert_int_equal(a.status, 200);
    assert_string_equal(a.type, "application/json");
    assert_string_equal(
        a.body,
        "{\"status\":\"Server available\",\"state\":\"ready\",\"upSince\":\"2023-11-14T22:11:50Z\","
        "\"uptime\":\"90.0s\",\"exporters\":{"
        "\"otlp_http/eu\":{\"status\":\"ok\",\"queue\":{\"size\":3,\"capacity\":1000,\"unit\":\"requests\","
        "\"bytes\":77}},"
        "\"debug\":{\"status\":\"ok\",\"queue\":{\"size\":0,\"capacity\":1,\"unit\":\"bytes\",\"bytes\":0}}}}\n");
    assert_int_equal(page_get(&r.f, r.port, "/any/path").status, 200);
    r.f.health.phase = SERVICE_STARTING;
    a = page_get(&r.f, r.port, "/");
    assert_int_equal(a.status, 503);
    assert_non_null(strstr(a.body, "{\"status\":\"Server not available\",\"state\":\"starting\",\"exporters\":{"));
    r.f.health.phase = SERVICE_ENDING;
    r.f.exporter_count = 0;
    a = page_get(&r.f, r.port, "/");
    assert_int_equal(a.status, 503);
    assert_string_equal(a.body, "{\"status\":\"Server not available\",\"state\":\"draining\",\"exporters\":{}}\n");
    end(&r);
}

static void a_failing_exporter_is_told(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, "{endpoint: '127.0.0.1:0'}");
    fail_first(&r, false, "no \x1b[31m\"route\"\n");
    struct page_answer a = page_get(&r.f, r.port, "/");
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.body, "\"otlp_http/eu\":{\"status\":\"failing\",\"failingSince\":\"2023-11-14T22:08:20Z\","
                                   "\"failingFor\":\"300.0s\",\"lastError\":\"no \\\\x1b[31m\\\"route\\\"\\\\x0a\","));
    fail_first(&r, true, "401");
    a = page_get(&r.f, r.port, "/");
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.body, "\"status\":\"refused\""));
    end(&r);
}

static void a_failing_exporter_may_count(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        bool refused;
        int status;
    } cases[] = {
        {"include_recoverable_errors: true", false, 500},
        {"include_recoverable_errors: true, recovery_duration: 301s", false, 200},
        {"include_recoverable_errors: true", true, 200},
        {"include_permanent_errors: true", true, 500},
        {"include_permanent_errors: true", false, 200},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rig r;
        char yaml[256];
        snprintf(yaml, sizeof yaml, "{endpoint: '127.0.0.1:0', component_health: {%s}}", cases[i].keys);
        begin(&r, yaml);
        assert_int_equal(page_get(&r.f, r.port, "/").status, 200);
        fail_first(&r, cases[i].refused, "x");
        struct page_answer a = page_get(&r.f, r.port, "/");
        assert_int_equal(a.status, cases[i].status);
        assert_true((strstr(a.body, "Server not available") != NULL) == (cases[i].status != 200));
        end(&r);
    }
}

static void words_and_place_are_chosen(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, "{endpoint: '127.0.0.1:0', path: /h, response_body: {healthy: fine, unhealthy: not now}}");
    struct page_answer a = page_get(&r.f, r.port, "/h?x");
    assert_string_equal(a.body, "fine");
    assert_string_equal(a.type, "text/plain; charset=utf-8");
    a = page_get(&r.f, r.port, "/");
    assert_int_equal(a.status, 404);
    assert_non_null(strstr(a.body, "/h"));
    r.f.health.phase = SERVICE_ENDING;
    a = page_get(&r.f, r.port, "/h");
    assert_int_equal(a.status, 503);
    assert_string_equal(a.body, "not now");
    end(&r);
    begin(&r, "{http: {endpoint: '127.0.0.1:0'}}");
    assert_int_equal(page_get(&r.f, r.port, "/status").status, 200);
    assert_int_equal(page_get(&r.f, r.port, "/").status, 404);
    end(&r);
}

static void it_speaks_tls(void **state)
{
    (void)state;
    struct rig r;
    struct test_ca ca;
    struct test_folder folder;
    char cert[256], key[256], yaml[1024];
    test_ca_init(&ca);
    test_folder_init(&folder);
    test_write_certificate(&ca, test_folder_path(&folder, "cert.pem", cert), test_folder_path(&folder, "key.pem", key));
    snprintf(yaml, sizeof yaml, "{endpoint: '127.0.0.1:0', tls: {cert_file: %s, key_file: %s}}", cert, key);
    begin(&r, yaml);
    const struct tls_client_options tls = {.ca_pem = ca.pem, .server_name = "client.example"};
    assert_int_equal(page_get_tls(&r.f, r.port, "/", &tls).status, 200);
    assert_int_equal(page_get(&r.f, r.port, "/").status, 400); // "use https"
    end(&r);
    test_folder_fini(&folder);
    test_ca_fini(&ca);
}

static void settings_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *says;
    } cases[] = {
        {"{path: h}", "path: must begin with /"},
        {"{http: {status: {path: h}}}", "http.status.path: must begin with /"},
        {"{tls: {cert_file: /no.pem, key_file: /no.key}}", "tls: "},
        {"{http: {tls: {cert_file: /no.pem, key_file: /no.key}}}", "http.tls: "},
        {"{endpoint: ''}", "endpoint: is empty"},
        {"{endpoint: 'localhost'}", "endpoint: the port is missing"},
        {"{endpoint: ':99999'}", "endpoint: port \"99999\" is not a number in 0..65535"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fake_env f;
        void *settings;
        fake_env_init(&f, 1);
        char *said = fake_settings(&f, KIND_EXTENSION, &health_check_extension.module, cases[i].yaml, &settings);
        assert_non_null(strstr(said, cases[i].says));
        free(said);
        fake_env_fini(&f);
    }
    assert_ptr_equal(module_find(&extensions_table, "health_check/a"), &health_check_extension.module);
    assert_ptr_equal(module_find(&extensions_table, "healthcheckv2"), &health_check_extension.module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_when_it_is_ready),
        cmocka_unit_test(a_failing_exporter_is_told),
        cmocka_unit_test(a_failing_exporter_may_count),
        cmocka_unit_test(words_and_place_are_chosen),
        cmocka_unit_test(it_speaks_tls),
        cmocka_unit_test(settings_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
