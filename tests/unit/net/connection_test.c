// SPDX-License-Identifier: Apache-2.0
// Names with several addresses and a name service that is slow.
#include "net/connection.h"

#include "base/mem.h"
#include "tests/support/fake_names.h"
#include "tests/support/loop_step.h"
#include "tests/support/raw_peer.h"

#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { WATCHDOG_MS = 30 * 1000 };

struct fixture {
    uv_loop_t loop;
    uv_timer_t watchdog;
    struct raw_peer *peer;
    struct connection *connection;
    bool opened, ended, closed;
    struct err error;
    char data[64];
};

static void on_open(void *owner)
{
    struct fixture *f = owner;
    f->opened = true;
    (void)connection_write(f->connection, BYTES_LITERAL("ping"), (struct bytes){0});
}

static void on_data(void *owner, struct bytes data)
{
    struct fixture *f = owner;
    snprintf(f->data, sizeof f->data, "%.*s", BYTES_PRINT(data));
    connection_close(f->connection);
}

static void on_written(void *owner)
{
    (void)owner;
}

static void on_end(void *owner, const struct err *e)
{
    struct fixture *f = owner;
    f->ended = true;
    if (e != NULL)
        f->error = *e;
    connection_close(f->connection);
}

static void on_closed(void *owner)
{
    ((struct fixture *)owner)->closed = true;
}

static void on_watchdog(uv_timer_t *timer)
{
    (void)timer;
    fputs("the test hangs\n", stderr);
    abort();
}

static void start_with(struct fixture *f, const char *host, uint64_t timeout_ms)
{
    static const struct raw_step answers[] = {{RAW_EXPECT, "ping", 0}, {RAW_SEND, "pong", 0}};
    static const struct connection_events events = {
        .on_open = on_open, .on_data = on_data, .on_written = on_written, .on_end = on_end, .on_closed = on_closed};
    *f = (struct fixture){0};
    uv_loop_init(&f->loop);
    uv_timer_init(&f->loop, &f->watchdog);
    uv_timer_start(&f->watchdog, on_watchdog, WATCHDOG_MS, 0);
    f->peer = raw_peer_create(&f->loop, NULL);
    raw_peer_script(f->peer, answers, COUNT_OF(answers));
    struct connection_target target = {
        .host = host, .port = (uint16_t)raw_peer_port(f->peer), .connect_timeout_ms = timeout_ms};
    f->connection = connection_create(&f->loop, &target, &events, f);
}

static void start(struct fixture *f, uint64_t timeout_ms)
{
    start_with(f, "collector.example", timeout_ms);
}

static void stop(struct fixture *f)
{
    while (!f->closed)
        loop_step(&f->loop);
    raw_peer_destroy(&f->peer);
    uv_close((uv_handle_t *)&f->watchdog, NULL);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
}

static void answer_with(const char *first, const char *second, const char *third)
{
    const char *given[] = {first, second, third};
    fake_names.count = 0;
    fake_names.error = 0;
    fake_names.waits = false;
    for (size_t i = 0; i < COUNT_OF(given) && given[i] != NULL; i++)
        fake_names.addresses[fake_names.count++] = given[i];
}

static void test_addresses_in_turn(void **state)
{
    (void)state;
    struct fixture f;
    answer_with("::1", "127.0.0.2", "127.0.0.1"); // only the last one listens
    start(&f, 10000);
    stop(&f);
    assert_true(f.opened);
    assert_string_equal(f.data, "pong");
}

static void test_no_address_answers(void **state)
{
    (void)state;
    struct fixture f;
    char wanted[128];
    answer_with("127.0.0.2", "127.0.0.3", NULL);
    start(&f, 10000);
    snprintf(wanted, sizeof wanted, "connect to collector.example:%d: connection refused", raw_peer_port(f.peer));
    stop(&f);
    assert_false(f.opened);
    assert_string_equal(f.error.text, wanted);
}

// A listener nobody accepts from, with a full queue: the kernel drops what comes.
struct silent {
    int fds[4];
};

static void silent_open(struct silent *s, const char *address, int port)
{
    struct sockaddr_in to;
    uv_ip4_addr(address, port, &to);
    for (size_t i = 0; i < COUNT_OF(s->fds); i++) {
        s->fds[i] = socket(AF_INET, SOCK_STREAM | (i > 0 ? SOCK_NONBLOCK : 0), 0);
        if (i == 0)
            CHECK(bind(s->fds[0], (struct sockaddr *)&to, sizeof to) == 0 && listen(s->fds[0], 0) == 0);
        else
            (void)!connect(s->fds[i], (struct sockaddr *)&to, sizeof to);
    }
}

static void silent_close(struct silent *s)
{
    for (size_t i = 0; i < COUNT_OF(s->fds); i++)
        close(s->fds[i]);
}

static void test_silent_address_is_left(void **state)
{
    (void)state;
    struct fixture f;
    struct silent silent;
    answer_with("127.0.0.2", "127.0.0.1", NULL);
    start(&f, 400); // of which the silent one gets half
    silent_open(&silent, "127.0.0.2", raw_peer_port(f.peer));
    stop(&f);
    silent_close(&silent);
    assert_string_equal(f.data, "pong");
}

static void test_only_silent_addresses(void **state)
{
    (void)state;
    struct fixture f;
    struct silent silent;
    answer_with("127.0.0.2", NULL, NULL);
    start(&f, 40);
    silent_open(&silent, "127.0.0.2", raw_peer_port(f.peer));
    stop(&f);
    silent_close(&silent);
    assert_non_null(strstr(f.error.text, "no answer within 0.04 s"));
}

static void look_up_fails(int error, const char *wanted)
{
    struct fixture f;
    answer_with(NULL, NULL, NULL);
    fake_names.error = error;
    start(&f, 10000);
    stop(&f);
    assert_string_equal(f.error.text, wanted);
}

static void test_look_up_fails(void **state)
{
    (void)state;
    look_up_fails(EAI_NONAME, "resolve collector.example: unknown host");
    look_up_fails(EAI_AGAIN, "resolve collector.example: the name service does not answer");
    look_up_fails(EAI_FAIL, "resolve collector.example: permanent failure");
}

// A machine without a hosts file has a loopback all the same (RFC 6761).
static void test_localhost_is_not_looked_up(void **state)
{
    (void)state;
    struct fixture f;
    answer_with(NULL, NULL, NULL);
    fake_names.error = EAI_NONAME;
    start_with(&f, "LocalHost", 10000);
    stop(&f);
    assert_true(f.opened);
    assert_string_equal(f.data, "pong");
}

static void test_look_up_takes_too_long(void **state)
{
    (void)state;
    struct fixture f;
    answer_with("127.0.0.1", NULL, NULL);
    fake_names.waits = true;
    start(&f, 30);
    while (!f.ended)
        loop_step(&f.loop);
    assert_false(f.closed); // a thread still asks
    assert_non_null(strstr(f.error.text, "connect to collector.example:"));
    assert_non_null(strstr(f.error.text, "the name is not resolved within 0.03 s"));
    sem_post(&fake_names.may_go);
    stop(&f);
    assert_false(f.opened);
    sem_wait(&fake_names.asked);
}

static void test_close_while_a_thread_asks(void **state)
{
    (void)state;
    struct fixture f;
    answer_with("127.0.0.1", NULL, NULL);
    fake_names.waits = true;
    start(&f, 10000);
    uv_run(&f.loop, UV_RUN_NOWAIT);
    sem_wait(&fake_names.asked);
    connection_close(f.connection);
    uv_run(&f.loop, UV_RUN_NOWAIT);
    assert_false(f.closed);
    sem_post(&fake_names.may_go);
    stop(&f);
    assert_false(f.opened || f.ended);
}

static void test_close_while_it_waits_for_a_thread(void **state)
{
    (void)state;
    enum { MANY = 16 }; // more than libuv has threads
    struct fixture f[MANY];
    answer_with("127.0.0.1", NULL, NULL);
    fake_names.waits = true;
    for (size_t i = 0; i < MANY; i++) {
        start(&f[i], 10000);
        uv_run(&f[i].loop, UV_RUN_NOWAIT);
    }
    for (size_t i = 0; i < MANY; i++)
        connection_close(f[i].connection);
    for (size_t i = 0; i < MANY; i++)
        sem_post(&fake_names.may_go);
    for (size_t i = 0; i < MANY; i++) {
        stop(&f[i]);
        assert_false(f[i].opened || f[i].ended);
    }
}

static void test_close_at_once(void **state)
{
    (void)state;
    struct fixture f;
    answer_with("127.0.0.1", NULL, NULL);
    start(&f, 10000);
    connection_close(f.connection);
    assert_false(f.closed);
    stop(&f);
    assert_false(f.opened || f.ended);
}

static void test_close_between_addresses(void **state)
{
    (void)state;
    struct fixture f;
    answer_with("127.0.0.2", "127.0.0.1", NULL);
    // whatever the moment: after n turns of the loop
    for (int n = 1; n < 8; n++) {
        start(&f, 10000);
        for (int i = 0; i < n && !f.closed && f.data[0] == '\0'; i++)
            uv_run(&f.loop, UV_RUN_NOWAIT);
        if (f.data[0] == '\0')
            connection_close(f.connection);
        stop(&f);
        assert_false(f.ended);
    }
}

static int init_names(void **state)
{
    (void)state;
    return sem_init(&fake_names.asked, 0, 0) == 0 && sem_init(&fake_names.may_go, 0, 0) == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_in_turn),
        cmocka_unit_test(test_no_address_answers),
        cmocka_unit_test(test_silent_address_is_left),
        cmocka_unit_test(test_only_silent_addresses),
        cmocka_unit_test(test_look_up_fails),
        cmocka_unit_test(test_localhost_is_not_looked_up),
        cmocka_unit_test(test_look_up_takes_too_long),
        cmocka_unit_test(test_close_while_a_thread_asks),
        cmocka_unit_test(test_close_at_once),
        cmocka_unit_test(test_close_between_addresses),
        cmocka_unit_test(test_close_while_it_waits_for_a_thread),
    };
    return cmocka_run_group_tests(tests, init_names, NULL);
}
