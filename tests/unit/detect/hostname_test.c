// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/detect/fixture.h"

#include "tests/support/fake_names.h"

#include <netdb.h>

// What the address is called; NULL = it has no name. Stands before libc's, as fake_names does.
static const char *reverse_name;

int getnameinfo(const struct sockaddr *address, socklen_t len, char *host, socklen_t host_size, char *service,
                socklen_t service_size, int flags)
{
    (void)address, (void)len, (void)service, (void)service_size, (void)flags;
    if (reverse_name == NULL)
        return EAI_NONAME;
    snprintf(host, host_size, "%s", reverse_name);
    return 0;
}

static int init_names(void **state)
{
    (void)state;
    reverse_name = NULL;
    fake_names.addresses[0] = "10.1.2.3";
    fake_names.count = 1;
    fake_names.canonical = NULL;
    fake_names.error = 0;
    fake_names.waits = false;
    return 0;
}

static void assert_name(const char *sources, const char *expected)
{
    struct detecting d;
    char yaml[256], text[256];
    detecting_init(&d);
    snprintf(yaml, sizeof yaml,
             "{detectors: [system], system: {hostname_sources: %s, resource_attributes: {os.type: {enabled: false}}}}",
             sources);
    snprintf(text, sizeof text, expected != NULL ? "{\"host.name\":\"%s\"}" : "{}", expected);
    assert_found(&d, yaml, NULL, text);
    if (expected == NULL)
        assert_logged(&d, "detector system: no host name by system.hostname_sources; add `os`");
    detecting_fini(&d);
}

static void kernel_name(char out[256])
{
    size_t size = 256;
    assert_int_equal(uv_os_gethostname(out, &size), 0);
}

static void sources_are_asked_in_order(void **state)
{
    char own[256];
    kernel_name(own);
    fake_names.canonical = "node-7.example.com.";
    reverse_name = "back.example.com";
    assert_name("[dns, os]", "node-7.example.com");
    assert_name("[cname]", "node-7.example.com");
    assert_name("[lookup]", "back.example.com");
    assert_name("[os, dns]", own);
    fake_names.canonical = "node-7"; // no domain
    assert_name("[dns, os]", "back.example.com");
    assert_name("[cname, lookup]", "back.example.com");
    reverse_name = "localhost.localdomain";
    assert_name("[dns, os]", own);
    assert_name("[lookup, os]", own);
    reverse_name = NULL;
    assert_name("[dns, os]", own);
    fake_names.canonical = NULL;
    assert_name("[cname, dns, lookup, os]", own);
    (void)init_names(state);
    fake_names.error = EAI_NONAME;
    assert_name("[dns, cname, lookup, os]", own);
    assert_name("[dns]", NULL);
}

// The system still thinks when the round is over, and when everything has ended.
static void a_slow_answer_is_not_waited_for(void **state)
{
    (void)state;
    struct detecting d;
    detecting_init(&d);
    CHECK(sem_init(&fake_names.asked, 0, 0) == 0 && sem_init(&fake_names.may_go, 0, 0) == 0);
    fake_names.waits = true;
    fake_names.canonical = "late.example.com";
    detecting_create(&d, "{detectors: [system, env], timeout: 5ms}", NULL);
    detection_start(d.detection);
    CHECK(sem_wait(&fake_names.asked) == 0);
    detecting_wait(&d);
    assert_known(&d, "{}");
    assert_logged(&d, "detector system: no answer within timeout (0.005s)");
    detecting_end(&d);
    fake_names.waits = false;
    CHECK(sem_post(&fake_names.may_go) == 0);
    detecting_fini(&d); // the loop ends only when the answer came, to nobody
}

static void it_may_stop_while_it_asks(void **state)
{
    (void)state;
    struct detecting d;
    detecting_init(&d);
    fake_names.waits = true;
    CHECK(sem_init(&fake_names.asked, 0, 0) == 0 && sem_init(&fake_names.may_go, 0, 0) == 0);
    detecting_create(&d, "{detectors: [system]}", NULL);
    detection_start(d.detection);
    CHECK(sem_wait(&fake_names.asked) == 0);
    detecting_end(&d);
    fake_names.waits = false;
    CHECK(sem_post(&fake_names.may_go) == 0);
    detecting_fini(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(sources_are_asked_in_order, init_names),
        cmocka_unit_test_setup(a_slow_answer_is_not_waited_for, init_names),
        cmocka_unit_test_setup(it_may_stop_while_it_asks, init_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
