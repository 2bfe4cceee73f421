// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/authenticator.h"
#include "pipeline/authentication.h"
#include "receivers/receivers.h"
#include "receivers/server_auth.h"
#include "tests/support/fake_env.h"

#include <stdio.h>
#include <string.h>

// An authenticator that does as it is told.
struct told {
    struct authenticator authenticator;
    enum auth_result check, verify;
    unsigned verified, forgotten;
    const char *key_type; // of a refusal
};

static enum auth_result answer(const struct told *t, enum auth_result result, struct auth_answer *out)
{
    *out = (struct auth_answer){
        .reason = result == AUTH_BUSY ? "busy" : "unknown", .challenge = "Test", .key_type = t->key_type};
    if (result == AUTH_ACCEPTED)
        snprintf(out->identity, sizeof out->identity, "alice");
    return result;
}

static enum auth_result check(struct authenticator *self, const struct http_header *headers, size_t count,
                              struct auth_answer *out)
{
    (void)headers, (void)count;
    const struct told *t = CONTAINER_OF(self, struct told, authenticator);
    return answer(t, t->check, out);
}

static enum auth_result verify(struct authenticator *self, struct auth_attempt *attempt, struct auth_answer *out)
{
    struct told *t = CONTAINER_OF(self, struct told, authenticator);
    assert_null(attempt);
    t->verified++;
    return answer(t, t->verify, out);
}

static void forget(struct authenticator *self, struct auth_attempt *attempt)
{
    (void)attempt;
    CONTAINER_OF(self, struct told, authenticator)->forgotten++;
}

static const struct authenticator_ops ops = {.check = check, .verify = verify, .forget = forget};

struct world {
    struct fake_env env;
    struct clock clock;
    int64_t now_nanos;
    struct told told;
    struct component component;
    struct server_auth *auth;
    struct http_peer peer;
};

static int64_t read_clock(const struct clock *c)
{
    return CONTAINER_OF(c, const struct world, clock)->now_nanos;
}

static void init(struct world *w)
{
    struct err e = {0};
    *w = (struct world){
        .told = {.authenticator = {.ops = &ops}}, .peer = {.address = "10.0.0.1"}, .clock = {read_clock, read_clock}};
    fake_env_init(&w->env, 1);
    w->env.env.clock = &w->clock;
    w->component = (struct component){.id = "otlp", .log = {w->env.log, "receiver", "otlp"}, .env = &w->env.env};
    assert_int_not_equal(server_auth_create(&w->component, "x", "grpc", &w->auth, &e), ERR_OK);
    assert_string_equal(e.text, "there is no x");
    w->env.authenticator = &w->told.authenticator;
    w->env.authenticator_roles = AUTH_ROLE_SERVER;
    assert_int_equal(server_auth_create(&w->component, "x", "grpc", &w->auth, &e), ERR_OK);
}

static void fini(struct world *w)
{
    server_auth_destroy(&w->auth);
    fake_env_fini(&w->env);
}

static enum auth_result ask(struct world *w, enum auth_result told, struct server_attempt **attempt)
{
    const struct http_head head = {.peer = &w->peer};
    struct auth_answer a;
    w->told.check = told;
    return server_auth_check(w->auth, &head, &a, attempt);
}

static void count_is(struct world *w, const char *labels, const char *number)
{
    char line[256];
    struct buf page;
    buf_init(&page, 1 << 20);
    metrics_write(w->env.env.metrics, &page);
    buf_add_byte(&page, '\0');
    snprintf(line, sizeof line, "profrelay_receiver_unauthenticated_requests{%s} %s\n", labels, number);
    if (strstr((const char *)page.data, line) == NULL)
        fail_msg("no %s in %s", line, (const char *)page.data);
    buf_fini(&page);
}

static unsigned lines_with(struct world *w, const char *words)
{
    unsigned n = 0;
    for (const char *at = fake_env_log(&w->env); (at = strstr(at, words)) != NULL; at++)
        n++;
    return n;
}

static void refusals_are_counted_and_told_once(void **state)
{
    (void)state;
    struct world w;
    struct server_attempt *attempt = NULL;
    init(&w);
    assert_int_equal(ask(&w, AUTH_ACCEPTED, &attempt), AUTH_ACCEPTED);
    assert_int_equal(lines_with(&w, "10.0.0.1: a request of alice"), 1); // for debugging
    for (int i = 0; i < 5; i++)
        assert_int_equal(ask(&w, AUTH_REFUSED, &attempt), AUTH_REFUSED);
    assert_int_equal(ask(&w, AUTH_BUSY, &attempt), AUTH_BUSY);
    assert_int_equal(lines_with(&w, "is refused"), 1);
    assert_int_equal(lines_with(&w, "10.0.0.1: a request is refused: unknown"), 1);
    snprintf(w.peer.address, sizeof w.peer.address, "10.0.0.2");
    assert_int_equal(ask(&w, AUTH_REFUSED, &attempt), AUTH_REFUSED);
    assert_int_equal(lines_with(&w, "10.0.0.2: a request is refused"), 1);
    count_is(&w, "reason=\"unknown\",receiver=\"otlp\",transport=\"grpc\"", "6");
    count_is(&w, "reason=\"busy\",receiver=\"otlp\",transport=\"grpc\"", "1");
    assert_null(attempt);
    fini(&w);
}

static void slow_ones_are_verified_or_forgotten(void **state)
{
    (void)state;
    struct world w;
    struct auth_answer a;
    struct server_attempt *attempt = NULL;
    init(&w);
    server_attempt_forget(&attempt);
    assert_int_equal(ask(&w, AUTH_SLOW, &attempt), AUTH_SLOW);
    w.told.verify = AUTH_ACCEPTED;
    assert_int_equal(server_attempt_verify(&attempt, &a), AUTH_ACCEPTED);
    assert_null(attempt);
    assert_int_equal(ask(&w, AUTH_SLOW, &attempt), AUTH_SLOW);
    w.told.verify = AUTH_REFUSED;
    assert_int_equal(server_attempt_verify(&attempt, &a), AUTH_REFUSED);
    assert_string_equal(a.challenge, "Test");
    assert_int_equal(lines_with(&w, "10.0.0.1: a request is refused: unknown"), 1);
    assert_int_equal(ask(&w, AUTH_SLOW, &attempt), AUTH_SLOW);
    server_attempt_forget(&attempt);
    assert_null(attempt);
    assert_int_equal(w.told.verified, 2);
    assert_int_equal(w.told.forgotten, 1);
    fini(&w);
}

static void recovery_is_told_once(void **state)
{
    (void)state;
    struct world w;
    struct server_attempt *attempt = NULL;
    init(&w);
    for (unsigned hour = 1; hour <= 3; hour++) {
        (void)ask(&w, AUTH_ACCEPTED, &attempt);
        assert_int_equal(lines_with(&w, "accepted again"), hour - 1);
        for (int i = 0; i < 5; i++) { // who has both kinds in use does not fill the log
            (void)ask(&w, AUTH_REFUSED, &attempt);
            (void)ask(&w, AUTH_REFUSED, &attempt);
            (void)ask(&w, AUTH_ACCEPTED, &attempt);
            assert_int_equal(lines_with(&w, "10.0.0.1: a request is refused"), hour);
            assert_int_equal(lines_with(&w, "10.0.0.1: accepted again"), hour);
        }
        w.now_nanos += 3600 * NANOS_PER_SECOND;
    }
    snprintf(w.peer.address, sizeof w.peer.address, "10.0.0.2"); // never refused
    (void)ask(&w, AUTH_ACCEPTED, &attempt);
    assert_int_equal(lines_with(&w, "10.0.0.2: accepted again"), 0);
    fini(&w);
}

// Also hours after the failure, and by a worker's verdict.
static void recovery_may_come_late(void **state)
{
    (void)state;
    struct world w;
    struct auth_answer a;
    struct server_attempt *attempt = NULL;
    init(&w);
    (void)ask(&w, AUTH_REFUSED, &attempt);
    w.now_nanos += 10 * 3600 * NANOS_PER_SECOND;
    assert_int_equal(ask(&w, AUTH_SLOW, &attempt), AUTH_SLOW);
    assert_int_equal(lines_with(&w, "accepted again"), 0);
    w.told.verify = AUTH_ACCEPTED;
    assert_int_equal(server_attempt_verify(&attempt, &a), AUTH_ACCEPTED);
    assert_int_equal(lines_with(&w, "10.0.0.1: accepted again"), 1);
    fini(&w);
}

static void many_clients_take_no_memory(void **state)
{
    (void)state;
    struct world w;
    struct server_attempt *attempt = NULL;
    init(&w);
    for (int i = 0; i < 2000; i++) {
        snprintf(w.peer.address, sizeof w.peer.address, "10.1.%d.%d", i / 256, i % 256);
        (void)ask(&w, AUTH_REFUSED, &attempt);
    }
    count_is(&w, "reason=\"unknown\",receiver=\"otlp\",transport=\"grpc\"", "2000");
    (void)ask(&w, AUTH_ACCEPTED, &attempt); // the last one is still known
    assert_int_equal(lines_with(&w, "10.1.7.207: accepted again"), 1);
    fini(&w);
}

static enum auth_result validate(struct world *w, enum auth_result told, const char *key_type,
                                 struct server_attempt **attempt, struct auth_answer *a)
{
    const struct http_head head = {.peer = &w->peer};
    w->told.check = told;
    w->told.key_type = key_type;
    return server_auth_validate(w->auth, &head, a, attempt);
}

static void validation_leaves_no_trace(void **state)
{
    (void)state;
    struct world w;
    struct auth_answer a;
    struct server_attempt *attempt = NULL;
    init(&w);
    assert_int_equal(validate(&w, AUTH_ACCEPTED, AUTH_KEY_SERVER, &attempt, &a), AUTH_ACCEPTED);
    assert_string_equal(a.key_type, AUTH_KEY_SERVER);
    assert_int_equal(validate(&w, AUTH_REFUSED, AUTH_KEY_BROWSER, &attempt, &a), AUTH_ACCEPTED);
    assert_string_equal(a.key_type, AUTH_KEY_BROWSER);
    assert_int_equal(validate(&w, AUTH_BUSY, NULL, &attempt, &a), AUTH_BUSY);
    assert_int_equal(validate(&w, AUTH_REFUSED, NULL, &attempt, &a), AUTH_REFUSED);
    assert_string_equal(a.reason, "unknown");
    assert_null(attempt);
    for (int i = 0; i < 2; i++) {
        w.told.verify = AUTH_REFUSED;
        assert_int_equal(validate(&w, AUTH_SLOW, NULL, &attempt, &a), AUTH_SLOW);
        w.told.key_type = i == 0 ? NULL : AUTH_KEY_BROWSER;
        assert_int_equal(server_attempt_verify(&attempt, &a), i == 0 ? AUTH_REFUSED : AUTH_ACCEPTED);
    }
    assert_int_equal(lines_with(&w, "10.0.0.1"), 0);
    struct buf page;
    buf_init(&page, 1 << 20);
    metrics_write(w.env.env.metrics, &page);
    buf_add_byte(&page, '\0');
    assert_null(strstr((const char *)page.data, "profrelay_receiver_unauthenticated_requests{"));
    buf_fini(&page);
    fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_are_counted_and_told_once),
        cmocka_unit_test(slow_ones_are_verified_or_forgotten),
        cmocka_unit_test(recovery_is_told_once),
        cmocka_unit_test(recovery_may_come_late),
        cmocka_unit_test(many_clients_take_no_memory),
        cmocka_unit_test(validation_leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
