// SPDX-License-Identifier: Apache-2.0
#include "net/shared_server.h"

#include "tests/support/http_calls.h"
#include "tests/support/loop_step.h"
#include "tests/support/raw_client.h"
#include "tests/support/test_certs.h"
#include "tests/support/test_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

struct user {
    const char *name, *own, *like; // paths that begin with own are its own, and so on
    struct shared_server *server;
    bool keeps; // answers nothing
    int heads, aborts, problems, closed;
};

struct fixture {
    struct http_world world;
    struct shared_listener *all;
    struct test_folder folder;
    char path[256], endpoint[300];
    struct user a, b;
};

static bool begins(struct bytes path, const char *prefix)
{
    return prefix != NULL && path.len >= strlen(prefix) && memcmp(path.data, prefix, strlen(prefix)) == 0;
}

static enum shared_wish wish_of(const struct user *u, const struct http_head *head)
{
    return begins(head->path, u->own) ? SHARED_MINE : begins(head->path, u->like) ? SHARED_LIKE_MINE : SHARED_NOT_MINE;
}

// Each kind of user has a function of its own.
static enum shared_wish wish_a(void *arg, const struct http_exchange *x, const struct http_head *head)
{
    (void)x;
    return wish_of(arg, head);
}

static enum shared_wish wish_b(void *arg, const struct http_exchange *x, const struct http_head *head)
{
    assert_ptr_equal(http_exchange_head(x), head);
    return wish_of(arg, head);
}

static void on_head(void *arg, struct http_exchange *x, const struct http_head *head)
{
    struct user *u = arg;
    (void)head;
    u->heads++;
    http_exchange_take_body(x, 1024);
}

static void on_request(void *arg, struct http_exchange *x, uint8_t *body, size_t len)
{
    struct user *u = arg;
    char text[64];
    (void)len;
    free(body);
    snprintf(text, sizeof text, "from %s", u->name);
    if (!u->keeps)
        http_exchange_answer_text(x, 200, text, NULL, 0);
}

static void on_abort(void *arg, struct http_exchange *x)
{
    (void)x;
    ((struct user *)arg)->aborts++;
}

static void on_problem(void *arg, const struct http_peer *peer, const char *text)
{
    (void)peer, (void)text;
    ((struct user *)arg)->problems++;
}

static void on_closed(void *arg)
{
    ((struct user *)arg)->closed++;
}

static struct shared_server_user user_of(struct fixture *f, struct user *u)
{
    return (struct shared_server_user){
        .name = u->name,
        .paths = u->own,
        .wish = u == &f->b ? wish_b : wish_a,
        .options = {.endpoint = f->endpoint,
                    .handler = {.arg = u,
                                .on_head = on_head,
                                .on_request = on_request,
                                .on_abort = on_abort,
                                .on_problem = on_problem}},
    };
}

static void open_by(struct fixture *f, struct user *u, const struct shared_server_user *options)
{
    struct err e = {0};
    if (shared_server_open(&f->all, &f->world.loop, options, &u->server, &e) != ERR_OK)
        fail_msg("%s", e.text);
}

static void init(struct fixture *f)
{
    static const struct http_client_options plain;
    *f = (struct fixture){.a = {.name = "a", .own = "/a", .like = "/odd"}, .b = {.name = "b", .own = "/b"}};
    http_world_init(&f->world, &plain);
    test_folder_init(&f->folder);
    snprintf(f->endpoint, sizeof f->endpoint, "unix:%s", test_folder_path(&f->folder, "socket", f->path));
}

static void open_both(struct fixture *f)
{
    const struct shared_server_user a = user_of(f, &f->a), b = user_of(f, &f->b);
    open_by(f, &f->a, &a);
    open_by(f, &f->b, &b);
}

static void fini(struct fixture *f)
{
    struct user *users[] = {&f->a, &f->b};
    for (size_t i = 0; i < COUNT_OF(users); i++) {
        bool is_open = users[i]->server != NULL;
        int before = users[i]->closed;
        shared_server_close(&users[i]->server, on_closed, users[i]);
        assert_null(users[i]->server);
        if (is_open)
            assert_int_equal(users[i]->closed, before);
    }
    assert_null(f->all);
    test_folder_fini(&f->folder);
    http_world_fini(&f->world); // runs the loop to its end
}

static void is_answered(struct fixture *f, const char *request, const char *words)
{
    struct raw_client c;
    raw_client_connect_unix(&c, &f->world.loop, f->path);
    raw_client_send(&c, request);
    raw_client_wait(&c, words);
    assert_non_null(strstr(c.got, words));
    raw_client_close(&c);
}

static void the_strongest_wish_has_it(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    f.b.like = "/o";
    f.a.like = "/odd";
    open_both(&f);
    is_answered(&f, GET("/a"), "from a");
    is_answered(&f, GET("/b/c"), "from b");
    is_answered(&f, GET("/other"), "from b");   // who likes it
    is_answered(&f, GET("/odd"), "from a");     // both do: the first
    is_answered(&f, GET("/unknown"), "from a"); // nobody: the first
    f.b.own = "/odd";
    is_answered(&f, GET("/odd"), "from b");
    assert_int_equal(f.a.heads, 3);
    assert_int_equal(f.b.heads, 3);
    assert_int_equal(shared_server_port(f.b.server), 0);
    fini(&f);
    assert_int_equal(f.a.closed, 1);
    assert_int_equal(f.b.closed, 1);
}

static void paths_are_joined(void **state)
{
    (void)state;
    struct fixture f;
    char text[64], cut[4];
    init(&f);
    struct shared_server_user a = user_of(&f, &f.a), b = user_of(&f, &f.b);
    open_by(&f, &f.a, &a);
    shared_server_paths(f.a.server, text, sizeof text);
    assert_string_equal(text, "/a");
    open_by(&f, &f.b, &b);
    shared_server_paths(f.a.server, text, sizeof text);
    assert_string_equal(text, "/a; /b");
    shared_server_paths(f.b.server, text, sizeof text);
    assert_string_equal(text, "/b; /a");
    shared_server_paths(f.b.server, cut, sizeof cut);
    assert_string_equal(cut, "/b;");
    fini(&f);
}

static void paths_may_be_none(void **state)
{
    (void)state;
    struct fixture f;
    char text[64];
    init(&f);
    struct shared_server_user a = user_of(&f, &f.a), b = user_of(&f, &f.b);
    a.paths = NULL;
    open_by(&f, &f.a, &a);
    shared_server_paths(f.a.server, text, sizeof text);
    assert_string_equal(text, "");
    open_by(&f, &f.b, &b);
    shared_server_paths(f.a.server, text, sizeof text);
    assert_string_equal(text, "/b");
    fini(&f);
}

static void keep_one(struct fixture *f, struct raw_client *c, struct user *u, const char *request)
{
    u->keeps = true;
    raw_client_connect_unix(c, &f->world.loop, f->path);
    raw_client_send(c, request);
    while (u->heads == 0)
        loop_step(&f->world.loop);
}

static void the_first_close_ends_all(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client a, b;
    init(&f);
    open_both(&f);
    keep_one(&f, &a, &f.a, GET("/a"));
    keep_one(&f, &b, &f.b, GET("/b"));
    shared_server_drain(f.a.server);
    shared_server_drain(f.b.server);
    shared_server_drain(f.a.server);
    assert_int_equal(f.a.aborts + f.b.aborts, 0);
    shared_server_close(&f.b.server, on_closed, &f.b);
    assert_int_equal(f.a.aborts, 1);
    assert_int_equal(f.b.aborts, 1);
    assert_int_equal(f.b.closed, 0); // never from inside the first
    while (f.b.closed == 0)
        loop_step(&f.world.loop);
    shared_server_drain(f.a.server); // has no meaning any more
    assert_int_equal(f.a.closed, 0);
    shared_server_close(&f.a.server, on_closed, &f.a);
    assert_int_equal(f.a.closed, 1);
    raw_client_close(&a);
    raw_client_close(&b);
    fini(&f);
    assert_int_equal(f.a.closed + f.b.closed, 2);
}

static void a_closed_endpoint_can_be_opened_anew(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    open_both(&f);
    shared_server_close(&f.a.server, on_closed, &f.a);
    while (f.a.closed == 0)
        loop_step(&f.world.loop);
    const struct shared_server_user a = user_of(&f, &f.a);
    open_by(&f, &f.a, &a); // a server of its own: b's is closed
    is_answered(&f, GET("/b"), "from a");
    shared_server_close(&f.b.server, on_closed, &f.b);
    assert_int_equal(f.b.closed, 1);
    is_answered(&f, GET("/b"), "from a");
    fini(&f);
}

static void problems_are_told_once(void **state)
{
    (void)state;
    struct fixture f;
    struct raw_client c;
    init(&f);
    struct shared_server_user a = user_of(&f, &f.a), b = user_of(&f, &f.b);
    a.options.proxy_protocol = b.options.proxy_protocol = true;
    open_by(&f, &f.a, &a);
    open_by(&f, &f.b, &b);
    raw_client_connect_unix(&c, &f.world.loop, f.path);
    raw_client_send(&c, GET("/b"));
    raw_client_wait(&c, NULL);
    assert_int_equal(f.a.problems, 1);
    assert_int_equal(f.b.problems, 0);
    raw_client_close(&c);
    fini(&f);
}

static void is_refused(struct fixture *f, const struct shared_server_user *user, const char *words)
{
    struct err e = {0};
    struct shared_server *s;
    assert_int_equal(shared_server_open(&f->all, &f->world.loop, user, &s, &e), ERR_INVALID);
    assert_null(s);
    if (strstr(e.text, words) == NULL)
        fail_msg("%s", e.text);
    assert_non_null(strstr(e.text, "a listens on unix:/"));
}

static void settings_must_be_the_same(void **state)
{
    (void)state;
    struct fixture f;
    const char *const curves[] = {"X25519"};
    init(&f);
    struct shared_server_user a = user_of(&f, &f.a), b = user_of(&f, &f.b);
    a.options.max_connections = 5;
    a.options.idle_timeout_nanos = -1;
    open_by(&f, &f.a, &a);
    is_refused(&f, &a, "for the same requests: give them different endpoints");
    b.options.max_connections = 6;
    is_refused(&f, &b, "with another max_connections: give both the same");
    b.options.max_connections = 5;
    b.options.idle_timeout_nanos = 1;
    is_refused(&f, &b, "idle_timeout");
    b.options.idle_timeout_nanos = 0;
    b.options.proxy_protocol = true;
    is_refused(&f, &b, "proxy_protocol");
    b.options.proxy_protocol = false;
    b.options.protocols = HTTP_SERVE_1;
    is_refused(&f, &b, "protocols");
    b.options.protocols = 0;
    b.options.tls = &(struct tls_server_options){.cert_file = "x"};
    is_refused(&f, &b, "tls");
    b.options.tls = &(struct tls_server_options){.parameters = {.curves = curves, .curve_count = 1}};
    is_refused(&f, &b, "tls");
    b.options.tls = NULL;
    open_by(&f, &f.b, &b);
    fini(&f);
}

static void tls_may_be_shared(void **state)
{
    (void)state;
    struct fixture f;
    struct test_ca ca;
    char cert[256], key[256], copy[256];
    init(&f);
    test_ca_init(&ca);
    test_folder_path(&f.folder, "cert", cert);
    test_folder_path(&f.folder, "key", key);
    test_write_certificate(&ca, cert, key);
    snprintf(copy, sizeof copy, "%s", cert);
    struct tls_server_options ours = {.cert_file = cert, .key_file = key, .parameters = {.min_version = "1.2"}};
    struct tls_server_options theirs = {.cert_file = copy, .key_file = key, .parameters = {.min_version = "1.3"}};
    struct shared_server_user a = user_of(&f, &f.a), b = user_of(&f, &f.b);
    a.options.tls = &ours;
    b.options.tls = &theirs;
    open_by(&f, &f.a, &a);
    is_refused(&f, &b, "tls");
    theirs.parameters.min_version = "1.2";
    open_by(&f, &f.b, &b);
    test_ca_fini(&ca);
    fini(&f);
}

// Who has no wish takes the other's, whoever came first.
static void limits_are_joined(void **state)
{
    (void)state;
    struct fixture f;
    char request[2048], filler[1500] = "";
    init(&f);
    struct shared_server_user a = user_of(&f, &f.a), b = user_of(&f, &f.b);
    memset(filler, 'x', sizeof filler - 1);
    snprintf(request, sizeof request, "GET /a HTTP/1.1\r\nHost: h\r\nX: %s\r\n\r\n", filler);
    open_by(&f, &f.a, &a);
    is_answered(&f, request, "from a");
    b.options.max_header_bytes = 1024;
    open_by(&f, &f.b, &b);
    is_answered(&f, request, " 431 ");
    fini(&f);
}

static void chosen_ports_are_not_shared(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    assert_true(shared_server_may_share("localhost:4040"));
    assert_true(shared_server_may_share("unix:/x:0"));
    assert_false(shared_server_may_share("[::1]:0"));
    snprintf(f.endpoint, sizeof f.endpoint, "127.0.0.1:0");
    open_both(&f);
    assert_int_not_equal(shared_server_port(f.a.server), shared_server_port(f.b.server));
    fini(&f);
}

static void an_endpoint_that_cannot_be_had(void **state)
{
    (void)state;
    struct fixture f;
    struct err e = {0};
    init(&f);
    snprintf(f.endpoint, sizeof f.endpoint, "unix:/%0200d", 0);
    const struct shared_server_user a = user_of(&f, &f.a);
    assert_int_equal(shared_server_open(&f.all, &f.world.loop, &a, &f.a.server, &e), ERR_INVALID);
    assert_null(f.a.server);
    assert_null(f.all);
    fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_strongest_wish_has_it),
        cmocka_unit_test(paths_are_joined),
        cmocka_unit_test(paths_may_be_none),
        cmocka_unit_test(the_first_close_ends_all),
        cmocka_unit_test(a_closed_endpoint_can_be_opened_anew),
        cmocka_unit_test(problems_are_told_once),
        cmocka_unit_test(settings_must_be_the_same),
        cmocka_unit_test(tls_may_be_shared),
        cmocka_unit_test(limits_are_joined),
        cmocka_unit_test(chosen_ports_are_not_shared),
        cmocka_unit_test(an_endpoint_that_cannot_be_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
