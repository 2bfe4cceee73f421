// SPDX-License-Identifier: Apache-2.0
// Which connection a call goes to: round_robin, re-resolution, age, waiting for ready, what is kept idle.
#include "tests/support/fake_names.h"
#include "tests/support/http2_peer.h"
#include "tests/support/http_calls.h"
#include "tests/support/loop_step.h"
#include "tests/support/raw_peer.h"

#include "base/clock.h"
#include "base/mem.h"

#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define SHORT_NANOS (30 * NANOS_PER_MS)

enum { PEERS = 3 };

static const char *const addresses[PEERS] = {"127.0.0.1", "127.0.0.2", "127.0.0.3"};
static const struct http2_step ok_step = {.act = HTTP2_ANSWER, .body = "ok"};

struct fixture {
    struct http_client_options options;
    struct http_world world;
    struct http2_peer *peers[PEERS]; // on one port of several addresses
    int port;
    char url[128];
};

static void resolve_to(const char *const *list, size_t count)
{
    fake_names.count = count;
    fake_names.error = 0;
    for (size_t i = 0; i < count; i++)
        fake_names.addresses[i] = list[i];
}

static void add_peer(struct fixture *f, size_t i)
{
    f->peers[i] =
        http2_peer_create(&f->world.loop, &(struct http2_peer_options){.address = addresses[i], .port = f->port});
    assert_non_null(f->peers[i]);
    f->port = http2_peer_port(f->peers[i]);
    http2_peer_script(f->peers[i], &ok_step, 1);
}

static void start(struct fixture *f, size_t peers)
{
    fake_names.lookups = 0;
    f->options.protocol = HTTP_2;
    http_world_init(&f->world, &f->options);
    for (size_t i = 0; i < peers; i++)
        add_peer(f, i);
    snprintf(f->url, sizeof f->url, "http://service.example:%d/", f->port);
    resolve_to(addresses, peers);
}

static void stop(struct fixture *f)
{
    for (size_t i = 0; i < PEERS; i++)
        if (f->peers[i] != NULL)
            http2_peer_destroy(&f->peers[i]);
    http_world_fini(&f->world);
}

static struct http_request post(const struct fixture *f)
{
    return (struct http_request){.method = "POST", .url = f->url, .body = BYTES_LITERAL("body")};
}

static void call(struct fixture *f, struct call_result *r)
{
    struct http_request request = post(f);
    *r = (struct call_result){0};
    http_world_call(&f->world, &request, r);
}

static void call_succeeds(struct fixture *f)
{
    struct call_result r;
    call(f, &r);
    if (r.outcome != HTTP_ANSWERED)
        fail_msg("outcome %d: %s", r.outcome, r.error);
    call_result_fini(&r);
}

static void call_fails(struct fixture *f, const char *text)
{
    struct call_result r;
    call(f, &r);
    if (r.outcome != HTTP_CONNECT_FAILED || strstr(r.error, text) == NULL)
        fail_msg("outcome %d: %s", r.outcome, r.error);
    assert_false(r.may_have_been_processed);
    call_result_fini(&r);
}

static void steps(struct fixture *f, int count)
{
    for (int i = 0; i < count; i++)
        loop_step(&f->world.loop);
}

// Until every peer has its connection and has said SETTINGS.
static void warm_up(struct fixture *f, size_t peers)
{
    call_succeeds(f);
    for (size_t i = 0; i < peers; i++)
        while (http2_peer_connections(f->peers[i]) == 0)
            loop_step(&f->world.loop);
    steps(f, 20);
}

static void test_round_robin(void **state)
{
    (void)state;
    struct fixture f = {.options.round_robin = true};
    size_t before[PEERS];
    start(&f, PEERS);
    warm_up(&f, PEERS);
    for (size_t i = 0; i < PEERS; i++)
        before[i] = http2_peer_requests(f.peers[i]);
    for (int i = 0; i < 4 * PEERS; i++)
        call_succeeds(&f);
    for (size_t i = 0; i < PEERS; i++) {
        assert_int_equal(http2_peer_requests(f.peers[i]) - before[i], 4);
        assert_int_equal(http2_peer_connections(f.peers[i]), 1);
    }
    assert_int_equal(fake_names.lookups, 1);
    stop(&f);
}

static void test_pick_first(void **state)
{
    (void)state;
    struct fixture f = {0};
    start(&f, PEERS);
    for (int i = 0; i < 6; i++)
        call_succeeds(&f);
    assert_int_equal(http2_peer_requests(f.peers[0]), 6);
    assert_int_equal(http2_peer_connections(f.peers[1]), 0);
    stop(&f);
}

// One of the addresses answers nobody: calls go to the others, and it is not knocked at again and again.
static void test_one_address_is_dead(void **state)
{
    (void)state;
    struct fixture f = {.options.round_robin = true};
    start(&f, 2);
    resolve_to(addresses, 3);
    warm_up(&f, 2);
    for (int i = 0; i < 20; i++)
        call_succeeds(&f);
    assert_in_range(http2_peer_requests(f.peers[0]), 9, 12);
    assert_in_range(http2_peer_requests(f.peers[1]), 9, 12);
    stop(&f);
}

static void test_all_addresses_are_dead(void **state)
{
    (void)state;
    struct fixture f = {.options.round_robin = true};
    start(&f, 1);
    http2_peer_destroy(&f.peers[0]);
    resolve_to(addresses, 3);
    for (int i = 0; i < 3; i++)
        call_fails(&f, "connection refused");
    stop(&f);
}

static void test_unknown_name(void **state)
{
    (void)state;
    struct fixture f = {.options.round_robin = true};
    start(&f, 1);
    fake_names.error = EAI_NONAME;
    call_fails(&f, "resolve service.example: unknown host");
    call_fails(&f, "unknown host");
    assert_int_equal(fake_names.lookups, 2);
    fake_names.error = 0;
    call_succeeds(&f);
    stop(&f);
}

// A peer goes: its calls move over, the name is asked again, and the new address is used.
static void test_addresses_change(void **state)
{
    (void)state;
    struct fixture f = {.options = {.round_robin = true, .resolve_interval_nanos = SHORT_NANOS}};
    start(&f, PEERS);
    resolve_to(addresses, 2);
    warm_up(&f, 2);
    resolve_to(addresses + 1, 2); // the first has left the name
    while (http2_peer_requests(f.peers[2]) < 3)
        call_succeeds(&f);
    while (http2_peer_open_connections(f.peers[0]) > 0)
        loop_step(&f.world.loop);
    size_t first = http2_peer_requests(f.peers[0]);
    for (int i = 0; i < 6; i++)
        call_succeeds(&f);
    assert_int_equal(http2_peer_requests(f.peers[0]), first);
    assert_in_range(fake_names.lookups, 2, 20);
    // a look-up that fails leaves what is known
    fake_names.error = EAI_AGAIN;
    uint64_t until = uv_hrtime() + 2 * (uint64_t)SHORT_NANOS;
    while (uv_hrtime() < until)
        call_succeeds(&f);
    stop(&f);
}

static void test_close_while_resolving(void **state)
{
    (void)state;
    struct fixture f = {.options.round_robin = true};
    struct call_result r = {0};
    start(&f, 1);
    fake_names.waits = true;
    struct http_request request = post(&f);
    http_world_send(&f.world, &request, &r);
    sem_wait(&fake_names.asked);
    http_call_cancel(r.call);
    http_world_wait(&f.world, &r);
    assert_int_equal(r.outcome, HTTP_CANCELLED);
    assert_false(r.may_have_been_processed);
    call_result_fini(&r);
    sem_post(&fake_names.may_go);
    stop(&f);
    fake_names.waits = false;
}

static void test_timeout_while_resolving(void **state)
{
    (void)state;
    struct fixture f = {.options.round_robin = true};
    struct call_result r = {0};
    start(&f, 1);
    fake_names.waits = true;
    struct http_request request = post(&f);
    request.timeout_nanos = SHORT_NANOS;
    http_world_call(&f.world, &request, &r);
    assert_int_equal(r.outcome, HTTP_TIMED_OUT);
    assert_non_null(strstr(r.error, "not connected within"));
    call_result_fini(&r);
    sem_wait(&fake_names.asked);
    sem_post(&fake_names.may_go);
    stop(&f);
    fake_names.waits = false;
}

// A port that is bound, so that nobody else gets it, but that refuses connections.
static int hold_port(int *port_out)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port_out = ntohs(address.sin_port);
    return fd;
}

// wait_for_ready: the peer comes up later, the call goes through; without, it fails at once.
static void test_wait_for_ready(void **state)
{
    (void)state;
    struct fixture f = {0};
    struct call_result r = {0};
    int held = hold_port(&f.port);
    start(&f, 0);
    resolve_to(addresses, 1);
    struct http_request request = post(&f);
    request.wait_for_ready = true;
    http_world_send(&f.world, &request, &r);
    call_fails(&f, "connection refused");
    assert_int_equal(r.done, 0);
    add_peer(&f, 0);
    // one who does not wait is not held up by the other's back-off of a second, and takes it along
    struct call_result hasty = {0};
    struct http_request at_once = post(&f);
    at_once.timeout_nanos = NANOS_PER_SECOND / 2;
    http_world_call(&f.world, &at_once, &hasty);
    assert_int_equal(hasty.outcome, HTTP_ANSWERED);
    call_result_fini(&hasty);
    close(held);
    http_world_wait(&f.world, &r);
    assert_int_equal(r.outcome, HTTP_ANSWERED);
    call_result_fini(&r);
    stop(&f);
}

static void test_wait_for_ready_backs_off(void **state)
{
    (void)state;
    struct fixture f = {.options.round_robin = true};
    struct call_result r = {0};
    start(&f, 1);
    fake_names.error = EAI_AGAIN;
    struct http_request request = post(&f);
    request.wait_for_ready = true;
    http_world_send(&f.world, &request, &r);
    while (fake_names.lookups == 0)
        loop_step(&f.world.loop);
    uint64_t until = uv_hrtime() + 2 * (uint64_t)SHORT_NANOS;
    while (uv_hrtime() < until)
        loop_step(&f.world.loop);
    assert_int_equal(fake_names.lookups, 1);
    assert_int_equal(r.done, 0);
    http_call_cancel(r.call);
    http_world_wait(&f.world, &r);
    call_result_fini(&r);
    stop(&f);
}

// An old connection serves until its successor stands, then it goes; the name is resolved for it.
static void test_old_connections_are_replaced(void **state)
{
    (void)state;
    struct fixture f = {.options.max_age_nanos = SHORT_NANOS};
    start(&f, 2);
    call_succeeds(&f);
    assert_int_equal(fake_names.lookups, 1);
    resolve_to(addresses + 1, 1);
    while (http2_peer_requests(f.peers[1]) == 0)
        call_succeeds(&f);
    assert_in_range(fake_names.lookups, 2, 3);
    while (http2_peer_open_connections(f.peers[0]) > 0)
        loop_step(&f.world.loop);
    stop(&f);
}

// The same, when there is no successor to be had.
static void test_old_connections_are_better_than_none(void **state)
{
    (void)state;
    struct fixture f = {.options.max_age_nanos = SHORT_NANOS};
    start(&f, 1);
    call_succeeds(&f);
    fake_names.error = EAI_AGAIN;
    uint64_t until = uv_hrtime() + 3 * (uint64_t)SHORT_NANOS;
    while (uv_hrtime() < until)
        call_succeeds(&f);
    assert_int_equal(http2_peer_connections(f.peers[0]), 1);
    assert_in_range(fake_names.lookups, 2, 3);
    stop(&f);
}

#define OK_TEXT "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static const struct raw_step http1_answers[] = {
    {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0}, {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0},
    {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0}, {RAW_EXPECT, "body", 0}, {RAW_SEND, OK_TEXT, 0},
};

static struct raw_peer *start_http1(struct fixture *f)
{
    http_world_init(&f->world, &f->options);
    struct raw_peer *peer = raw_peer_create(&f->world.loop, NULL);
    raw_peer_script(peer, http1_answers, COUNT_OF(http1_answers));
    loopback_url(f->url, "http", raw_peer_port(peer), "/");
    return peer;
}

static void stop_http1(struct fixture *f, struct raw_peer *peer)
{
    raw_peer_destroy(&peer);
    http_world_fini(&f->world);
}

static void test_http1_close_after_each(void **state)
{
    (void)state;
    struct fixture f = {.options.close_after_each = true};
    struct raw_peer *peer = start_http1(&f);
    call_succeeds(&f);
    call_succeeds(&f);
    assert_int_equal(raw_peer_connections(peer), 2);
    assert_non_null(strstr(raw_peer_received(peer, 0), "\r\nConnection: close\r\n"));
    stop_http1(&f, peer);
}

static void test_http1_old_connections(void **state)
{
    (void)state;
    struct fixture f = {.options.max_age_nanos = 1};
    struct raw_peer *peer = start_http1(&f);
    call_succeeds(&f);
    steps(&f, 5);
    call_succeeds(&f);
    call_succeeds(&f);
    assert_in_range(raw_peer_connections(peer), 2, 3);
    stop_http1(&f, peer);
}

static void test_http1_few_idle(void **state)
{
    (void)state;
    enum { CALLS = 5 };
    struct fixture f = {.options.max_idle_connections = 2};
    struct call_result r[CALLS] = {0};
    struct raw_peer *peer = start_http1(&f);
    struct http_request request = post(&f);
    size_t open = 0;
    for (size_t i = 0; i < CALLS; i++)
        http_world_send(&f.world, &request, &r[i]);
    for (size_t i = 0; i < CALLS; i++) {
        http_world_wait(&f.world, &r[i]);
        assert_int_equal(r[i].outcome, HTTP_ANSWERED);
        call_result_fini(&r[i]);
    }
    steps(&f, 20);
    for (size_t i = 0; i < raw_peer_connections(peer); i++)
        open += !raw_peer_gone(peer, i);
    assert_int_equal(open, 2);
    stop_http1(&f, peer);
}

// HTTP/2 in clear text through a proxy: a tunnel, even for http://, and the server may speak first in it.
static void test_tunnel_to_clear_http2(void **state)
{
    (void)state;
    struct fixture f = {.options = {.protocol = HTTP_2, .round_robin = true}};
    char proxy[64];
    fake_names.lookups = 0;
    http_world_init(&f.world, &f.options);
    f.peers[0] = http2_peer_create(&f.world.loop, &(struct http2_peer_options){.is_proxy = true});
    http2_peer_script(f.peers[0], &ok_step, 1);
    http_client_close(&f.world.client, NULL, NULL);
    snprintf(proxy, sizeof proxy, "http://me:secret@127.0.0.1:%d", http2_peer_port(f.peers[0]));
    f.options.proxy_url = proxy;
    assert_int_equal(http_client_create(&f.world.loop, &f.options, &f.world.client, NULL), ERR_OK);
    snprintf(f.url, sizeof f.url, "http://service.example/");
    call_succeeds(&f);
    call_succeeds(&f);
    assert_int_equal(http2_peer_connections(f.peers[0]), 1);
    assert_int_equal(fake_names.lookups, 0); // names are the proxy's affair
    assert_string_equal(http2_peer_connect_head(f.peers[0]),
                        "CONNECT service.example:80 HTTP/1.1\r\nHost: service.example:80\r\n"
                        "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n");
    stop(&f);
}

static void on_unix_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
    static char answer[] = OK_TEXT;
    uv_buf_t out = uv_buf_init(answer, sizeof answer - 1);
    if (n > 0 && memmem(b->base, (size_t)n, "body", 4) != NULL)
        assert_int_equal(uv_try_write(stream, &out, 1), (int)sizeof answer - 1);
    free(b->base);
}

static void on_unix_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)handle;
    *out = uv_buf_init(malloc(suggested), (unsigned)suggested);
}

static void on_unix_connection(uv_stream_t *listener, int status)
{
    uv_pipe_t *accepted = listener->data;
    assert_int_equal(status, 0);
    uv_pipe_init(listener->loop, accepted, 0);
    assert_int_equal(uv_accept(listener, (uv_stream_t *)accepted), 0);
    uv_read_start((uv_stream_t *)accepted, on_unix_alloc, on_unix_read);
}

static void test_unix_socket(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/profrelay-test-%d.sock", (int)getpid());
    setenv("HTTP_PROXY", "http://127.0.0.1:1", 1); // has no say here
    struct fixture f = {.options = {.unix_path = path}};
    uv_pipe_t listener, accepted;
    http_world_init(&f.world, &f.options);
    unsetenv("HTTP_PROXY");
    snprintf(f.url, sizeof f.url, "http://service.example/");
    call_fails(&f, path);
    uv_pipe_init(&f.world.loop, &listener, 0);
    listener.data = &accepted;
    assert_int_equal(uv_pipe_bind(&listener, path), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&listener, 4, on_unix_connection), 0);
    call_succeeds(&f);
    call_succeeds(&f);
    uv_close((uv_handle_t *)&accepted, NULL);
    uv_close((uv_handle_t *)&listener, NULL);
    struct err e = {0};
    struct http_client *none;
    char long_path[200] = {0};
    memset(long_path, 'p', sizeof long_path - 1);
    f.options.unix_path = long_path;
    assert_int_equal(http_client_create(&f.world.loop, &f.options, &none, &e), ERR_LIMIT);
    http_world_fini(&f.world);
}

static int prepare(void **state)
{
    (void)state;
    static const char *const names[] = {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unsetenv(names[i]);
    return sem_init(&fake_names.asked, 0, 0) == 0 && sem_init(&fake_names.may_go, 0, 0) == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_robin),
        cmocka_unit_test(test_pick_first),
        cmocka_unit_test(test_one_address_is_dead),
        cmocka_unit_test(test_all_addresses_are_dead),
        cmocka_unit_test(test_unknown_name),
        cmocka_unit_test(test_addresses_change),
        cmocka_unit_test(test_close_while_resolving),
        cmocka_unit_test(test_timeout_while_resolving),
        cmocka_unit_test(test_wait_for_ready),
        cmocka_unit_test(test_wait_for_ready_backs_off),
        cmocka_unit_test(test_old_connections_are_replaced),
        cmocka_unit_test(test_old_connections_are_better_than_none),
        cmocka_unit_test(test_http1_close_after_each),
        cmocka_unit_test(test_http1_old_connections),
        cmocka_unit_test(test_http1_few_idle),
        cmocka_unit_test(test_tunnel_to_clear_http2),
        cmocka_unit_test(test_unix_socket),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
