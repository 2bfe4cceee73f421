// SPDX-License-Identifier: Apache-2.0
// One kind's lists and watches against an API that misbehaves.
#include "tests/unit/kube/api_fixture.h"

#include "tests/support/http2_peer.h"
#include "tests/support/test_folder.h"

struct fixture {
    struct api_fixture api;
    struct kube_api client;
    struct kube_store *store;
    struct kube_reflector r;
    int changes;
    int closed;
    const char *path;
};

static void on_change(void *arg)
{
    ((struct fixture *)arg)->changes++;
}

static void init(struct fixture *f)
{
    *f = (struct fixture){.path = "/api/v1/pods?"};
    api_init(&f->api, NULL);
}

// With answers in place.
static void start_kind(struct fixture *f, enum kube_kind kind)
{
    struct err e = {0};
    enum err_code rc = kube_api_open(&f->client, &f->api.env.loop.uv, &f->api.settings, &clock_system, &f->api.log, &e);
    assert_string_equal(e.text, "");
    assert_int_equal(rc, ERR_OK);
    f->client.timing.retry.initial_interval_nanos = 2 * NANOS_PER_MS;
    f->client.timing.retry.max_interval_nanos = 20 * NANOS_PER_MS;
    f->client.timing.forbidden_nanos = 5 * NANOS_PER_MS;
    f->store = kube_store_create(&(struct kube_store_options){.keep_deleted_nanos = 0});
    struct kube_reflector_options options = {
        .api = &f->client,
        .store = f->store,
        .kind = kind,
        .path = f->path,
        .namespace_name = NULL,
        .metrics = f->api.env.env.metrics,
        .watch_id = "k8s_attributes",
        .on_change = on_change,
        .arg = f,
    };
    kube_reflector_init(&f->r, &options);
    kube_reflector_start(&f->r);
}

static void start(struct fixture *f)
{
    start_kind(f, KUBE_POD);
}

static void on_timer_closed(uv_handle_t *timer)
{
    struct kube_reflector *r = timer->data;
    ((struct fixture *)r->options.arg)->closed++;
}

static void on_api_closed(void *arg)
{
    ((struct fixture *)arg)->closed++;
}

static bool is_closed(void *arg)
{
    return ((struct fixture *)arg)->closed == 2;
}

static void stop(struct fixture *f)
{
    kube_reflector_stop(&f->r, on_timer_closed);
    kube_api_close(&f->client, on_api_closed, f);
    fake_env_run_until(&f->api.env, is_closed, f);
    kube_reflector_fini(&f->r);
    kube_store_destroy(&f->store);
    api_fini(&f->api);
}

static size_t pods(struct fixture *f)
{
    (void)kube_store_expire(f->store, INT64_MAX);
    struct kube_snapshot *s = kube_store_snapshot(f->store);
    size_t count = kube_snapshot_count(s, KUBE_POD);
    kube_snapshot_unref(&s);
    return count;
}

static bool has_pod(struct fixture *f, const char *name)
{
    struct kube_snapshot *s = kube_store_snapshot(f->store);
    bool found = kube_pod_by_name(s, BYTES_LITERAL("shop"), bytes_from_text(name)) != NULL;
    kube_snapshot_unref(&s);
    return found;
}

struct wish {
    struct fixture *f;
    int changes;
};

static bool has_changed(void *arg)
{
    const struct wish *w = arg;
    return w->f->changes >= w->changes;
}

static void run_until_changes(struct fixture *f, int changes)
{
    fake_env_run_until(&f->api.env, has_changed, &(struct wish){f, changes});
}

static int64_t requests(struct fixture *f, const char *kind, const char *outcome)
{
    static const struct metric_family family = {"profrelay_kubernetes_requests", "", METRIC_COUNTER};
    const struct metric_label labels[] = {{"watch", "k8s_attributes"}, {"kind", kind}, {"outcome", outcome}};
    return metric_get(metrics_series(f->api.env.env.metrics, &family, labels, 3));
}

static void test_pages_then_events(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    api_list(&f.api, OK LIST("10", "next page/", POD("a", "1") "," POD("b", "2")));
    api_list(&f.api, OK LIST("10", "", POD("c", "3")));
    api_watch(&f.api, OK EVENT("ADDED", POD("d", "11")) EVENT("DELETED", POD("a", "12")) BOOKMARK("20"));
    start(&f);
    run_until_changes(&f, 3);
    assert_asked(&f.api, 0, "GET /api/v1/pods?limit=500&resourceVersion=0 HTTP/1.1\r\n");
    assert_asked(&f.api, 0, "\r\nAccept: application/json\r\n");
    assert_asked(&f.api, 1, "GET /api/v1/pods?limit=500&continue=next%20page%2F HTTP/1.1\r\n");
    assert_asked(&f.api, 2, "GET /api/v1/pods?watch=1&allowWatchBookmarks=true&resourceVersion=10&timeoutSeconds=");
    assert_int_equal(pods(&f), 3);
    assert_true(has_pod(&f, "d"));
    assert_false(has_pod(&f, "a"));
    assert_true(f.r.answered);
    assert_int_equal(requests(&f, "pods", "ok"), 2);
    stop(&f);
}

// Ended or cut, a watch goes on from the newest version that was told.
static void test_watch_goes_on(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    api_list(&f.api, OK LIST("10", "", ""));
    api_answer(&f.api, OK BOOKMARK("20"), RAW_CLOSE);
    api_answer(&f.api,
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n" EVENT("ADDED",
                                                                                    POD("d", "31")) "{\"type\":\"MODI",
               RAW_CUT);
    api_answer(&f.api, NULL, RAW_CUT);
    api_watch(&f.api, OK);
    start(&f);
    api_run_until(&f.api, 5);
    assert_asked(&f.api, 2, "resourceVersion=20&");
    assert_asked(&f.api, 3, "resourceVersion=31&");
    assert_asked(&f.api, 4, "resourceVersion=31&");
    assert_true(has_pod(&f, "d"));
    while (f.r.health.troubled)
        loop_step(&f.api.env.loop.uv);
    assert_logged(&f.api, "serves again", true);
    stop(&f);
}

static void test_gone(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    api_list(&f.api, OK LIST("10", "", POD("a", "1")));
    api_answer(&f.api, STATUS("410 Gone") FAILURE("410", "too old"), RAW_CLOSE);
    api_list(&f.api, OK LIST("30", "", POD("b", "2")));
    api_answer(&f.api, OK EVENT("ERROR", FAILURE("410", "too old resource version")), RAW_EXPECT);
    api_list(&f.api, OK LIST("40", "page2", POD("c", "2")));
    api_list(&f.api, STATUS("410 Gone") FAILURE("410", "continue expired"));
    api_list(&f.api, OK LIST("50", "", POD("d", "2")));
    api_watch(&f.api, OK);
    start(&f);
    api_run_until(&f.api, 8);
    assert_asked(&f.api, 2, "GET /api/v1/pods?limit=500 HTTP/1.1\r\n");
    assert_asked(&f.api, 4, "GET /api/v1/pods?limit=500 HTTP/1.1\r\n");
    assert_asked(&f.api, 5, "GET /api/v1/pods?limit=500&continue=page2 HTTP/1.1\r\n");
    assert_asked(&f.api, 6, "GET /api/v1/pods? HTTP/1.1\r\n"); // pages are too slow: all at once
    assert_asked(&f.api, 7, "resourceVersion=50&");
    assert_int_equal(pods(&f), 1);
    assert_true(has_pod(&f, "d"));
    assert_int_equal(requests(&f, "pods", "gone"), 3);
    assert_logged(&f.api, "does not serve", false);
    stop(&f);
}

static void test_forbidden(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    f.path = "/apis/apps/v1/replicasets?";
    api_list(&f.api, STATUS("403 Forbidden") FAILURE("403", "user x cannot list replicasets"));
    api_list(&f.api, STATUS("403 Forbidden") FAILURE("403", "user x cannot list replicasets"));
    api_list(&f.api, OK LIST_OF("PartialObjectMetadataList", "10", "", ""));
    api_watch(&f.api, OK);
    start_kind(&f, KUBE_REPLICASET);
    run_until_changes(&f, 1);
    assert_true(f.r.answered); // who waits for pods is not kept
    api_run_until(&f.api, 4);
    assert_asked(&f.api, 0,
                 "Accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
    assert_asked(&f.api, 3, "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
    assert_logged(
        &f.api,
        "the Kubernetes API forbids to list replicasets: HTTP 403: user x cannot list replicasets. The account "
        "needs the rule {apiGroups: [\"apps\"], resources: [\"replicasets\"], verbs: [\"list\", \"watch\"]} "
        "in its ClusterRole; it is asked again within",
        true);
    assert_logged(&f.api, "the Kubernetes API serves replicasets now", true);
    assert_logged(&f.api, "does not serve", false);
    stop(&f);
}

// The API is back, and says that it forgot where we were: it is well, so nothing is waited for.
static void test_gone_after_an_outage(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    api_list(&f.api, OK LIST("10", "", POD("a", "1")));
    api_answer(&f.api, NULL, RAW_CUT);
    api_answer(&f.api, STATUS("410 Gone") FAILURE("410", "too old"), RAW_CLOSE);
    api_list(&f.api, OK LIST("30", "", POD("b", "2")));
    api_answer(&f.api, STATUS("410 Gone") FAILURE("410", "too old"), RAW_CLOSE);
    start(&f);
    while (f.r.health.troubled == NULL)
        loop_step(&f.api.env.loop.uv);
    f.r.retry.interval_nanos = 3600 * NANOS_PER_SECOND; // as after a long time without it
    run_until_changes(&f, 2);
    assert_true(has_pod(&f, "b"));
    while (requests(&f, "pods", "gone") < 2)
        loop_step(&f.api.env.loop.uv);
    assert_true(uv_timer_get_due_in(&f.r.timer) > 1000000); // again: then it waits
    stop(&f);
}

// An API that has just started forbids what it permits a moment later; what is not permitted is asked for seldom.
static void test_forbidden_for_a_moment(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    for (int i = 0; i < 5; i++)
        api_list(&f.api, STATUS("403 Forbidden"));
    start(&f);
    f.client.timing.forbidden_nanos = 3600 * NANOS_PER_SECOND;
    while (requests(&f, "pods", "forbidden") < 5)
        loop_step(&f.api.env.loop.uv);
    assert_true(uv_timer_get_due_in(&f.r.timer) > 3000000);
    assert_false(f.r.answered); // without pods nothing is known
    stop(&f);
}

// Only one of both is permitted: this is told once, and does not make a list again and again.
static void test_watch_is_forbidden(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    for (int i = 0; i < 5; i++) {
        api_list(&f.api, OK LIST("10", "", POD("a", "1")));
        api_list(&f.api, STATUS("403 Forbidden"));
    }
    start(&f);
    f.client.timing.forbidden_nanos = 3600 * NANOS_PER_SECOND;
    while (requests(&f, "pods", "forbidden") < 5)
        loop_step(&f.api.env.loop.uv);
    assert_true(uv_timer_get_due_in(&f.r.timer) > 3000000);
    assert_true(has_pod(&f, "a"));
    const char *first = strstr(fake_env_log(&f.api.env), "forbids to watch pods");
    assert_non_null(first);
    assert_null(strstr(first + 1, "forbids"));
    assert_logged(&f.api, "serves pods now", false);
    stop(&f);
}

static void test_nothing_is_acceptable(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    api_list(&f.api, STATUS("406 Not Acceptable"));
    start_kind(&f, KUBE_REPLICASET);
    while (f.r.health.troubled == NULL)
        loop_step(&f.api.env.loop.uv);
    assert_true(requests(&f, "replicasets", "not_acceptable") >= 2);
    stop(&f);
}

static void test_metadata_alone_is_not_to_be_had(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    f.path = "/apis/apps/v1/replicasets?";
    api_list(&f.api, STATUS("406 Not Acceptable"));
    api_list(&f.api, OK LIST_OF("ReplicaSetList", "10", "", ""));
    api_watch(&f.api, OK);
    start_kind(&f, KUBE_REPLICASET);
    api_run_until(&f.api, 3);
    assert_asked(&f.api, 1, "Accept: application/json\r\n");
    stop(&f);
}

static void test_lists_that_fail(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum raw_step_kind then;
        const char *logged, *outcome;
    } cases[] = {
        {NULL, RAW_CUT, "closed before the response was complete", "lost"},
        {NULL, RAW_EXPECT, "nothing of the response came for 0.04s", "lost"},
        {OK "{\"kind\":\"PodList\",\"items\":[", RAW_EXPECT, "nothing of the response came for 0.04s", "lost"},
        {OK "{\"kind\":\"PodList\",\"items\":[" POD("a", "1") ",{\"metad", RAW_CLOSE, "list of pods: ", "invalid"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n" LIST("1", "", ""), RAW_CUT, "closed before", "lost"},
        {OK "<html>log in here</html>", RAW_CLOSE, "list of pods: ", "invalid"},
        {OK LIST_OF("ServiceList", "1", "", ""), RAW_CLOSE, "kind is not PodList", "invalid"},
        {STATUS("500 Internal Server Error") FAILURE("500", "etcd is away"), RAW_CLOSE, "HTTP 500: etcd is away",
         "refused"},
        {STATUS("502 Bad Gateway") "<html>", RAW_CLOSE, "list of pods: HTTP 502; what", "refused"},
        {STATUS("302 Found"), RAW_CLOSE, "HTTP 302: a redirect; is this the address of the API?", "refused"},
        {STATUS("400 Bad Request") FAILURE("400", "field label not supported: x"), RAW_CLOSE,
         "HTTP 400: field label not supported: x", "refused"},
        {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\nxyz", RAW_CLOSE, "is compressed",
         "lost"},
        {"SSH-2.0-OpenSSH_9\r\n", RAW_CLOSE, "not HTTP/1.1", "lost"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f;
        init(&f);
        if (cases[i].then == RAW_EXPECT)
            f.api.settings.api_timeout_nanos = 40 * NANOS_PER_MS;
        api_answer(&f.api, cases[i].text, cases[i].then);
        api_list(&f.api, OK LIST("10", "", POD("b", "1")));
        api_watch(&f.api, OK);
        start(&f);
        run_until_changes(&f, 1);
        assert_logged(&f.api, cases[i].logged, true);
        assert_logged(&f.api, "serves again", true);
        assert_int_equal(requests(&f, "pods", cases[i].outcome), 1);
        assert_int_equal(pods(&f), 1);
        assert_true(has_pod(&f, "b"));
        stop(&f);
    }
}

// A watch that says nonsense: what was missed is not known, so all is listed anew.
static void test_watches_that_fail(void **state)
{
    (void)state;
    static const char *const texts[] = {
        OK EVENT("ADDED", POD("x", "11")) "nonsense",
        OK EVENT("ADDED", "{\"kind\":\"Service\",\"metadata\":{\"name\":\"s\",\"uid\":\"u\"}}"),
        OK "{\"type\":\"ADDED\",\"object\":[]}\n",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct fixture f;
        init(&f);
        api_list(&f.api, OK LIST("10", "", ""));
        api_watch(&f.api, texts[i]);
        api_list(&f.api, OK LIST("20", "", POD("b", "1")));
        api_watch(&f.api, OK);
        start(&f);
        api_run_until(&f.api, 4);
        assert_asked(&f.api, 2, "GET /api/v1/pods?limit=500 HTTP");
        assert_asked(&f.api, 3, "resourceVersion=20&");
        assert_int_equal(pods(&f), 1);
        stop(&f);
    }
}

// One that is silent for too long may be dead: another goes on in its place, and nobody is told.
static void test_watch_that_hangs(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    f.api.settings.api_timeout_nanos = 10 * NANOS_PER_MS;
    api_list(&f.api, OK LIST("10", "", ""));
    api_watch(&f.api, OK BOOKMARK("15"));
    api_watch(&f.api, OK);
    start(&f);
    api_run_until(&f.api, 3);
    assert_asked(&f.api, 2, "resourceVersion=15&");
    assert_logged(&f.api, "does not serve", false);
    stop(&f);
}

static void test_retry_after(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    api_list(&f.api, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nConnection: close\r\n\r\n");
    start(&f);
    while (!f.r.health.troubled)
        loop_step(&f.api.env.loop.uv);
    assert_true(uv_timer_get_due_in(&f.r.timer) > 6000);
    assert_int_equal(requests(&f, "pods", "busy"), 1);
    stop(&f); // while it backs off
}

// Failing again and again, it asks ever more seldom, and says so once.
static void test_back_off(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    api_list(&f.api, STATUS("503 Service Unavailable"));
    start(&f);
    while (f.r.retry.attempts < 6)
        loop_step(&f.api.env.loop.uv);
    assert_int_equal(f.r.retry.interval_nanos, 20 * NANOS_PER_MS);
    const char *log = fake_env_log(&f.api.env), *first = strstr(log, "does not serve");
    assert_non_null(first);
    assert_null(strstr(first + 1, "does not serve"));
    stop(&f);
}

static void test_pace(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    f.api.settings.api_burst = 1;
    f.api.settings.api_qps = 0.1;
    api_list(&f.api, OK LIST("10", "", ""));
    start(&f);
    run_until_changes(&f, 1);
    while (uv_timer_get_due_in(&f.r.timer) < 1000)
        loop_step(&f.api.env.loop.uv);
    assert_int_equal(raw_peer_connections(f.api.peer), 1);
    stop(&f);
}

static void test_stop_while_it_lists(void **state)
{
    (void)state;
    struct fixture f;
    init(&f);
    api_watch(&f.api, OK "{\"kind\":\"PodList\",\"items\":[" POD("a", "1") ",");
    start(&f);
    while (!f.r.accepted)
        loop_step(&f.api.env.loop.uv);
    stop(&f);
    init(&f);
    start(&f); // and before anything was asked
    stop(&f);
}

// --- credentials ---

struct account {
    struct test_folder folder;
    struct test_ca ca;
};

static void write_text(const struct account *a, const char *name, const char *text)
{
    test_folder_write(&a->folder, name, bytes_from_text(text));
}

static void account_init(struct account *a)
{
    test_folder_init(&a->folder);
    test_ca_init(&a->ca);
    write_text(a, "token", "old-token");
    write_text(a, "ca.crt", a->ca.pem);
}

static void account_fini(struct account *a)
{
    test_ca_fini(&a->ca);
    test_folder_fini(&a->folder);
}

static void use_account(struct fixture *f, const struct account *a)
{
    f->api.settings.auth_type = KUBE_AUTH_SERVICE_ACCOUNT;
    f->api.settings.service_account_folder = a->folder.path;
}

// A token that has run out is read again at once. No token is ever in a log.
static void test_unauthorized(void **state)
{
    (void)state;
    struct fixture f;
    struct account a;
    init(&f);
    account_init(&a);
    use_account(&f, &a);
    api_list(&f.api, STATUS("401 Unauthorized") FAILURE("401", "Unauthorized"));
    api_list(&f.api, STATUS("401 Unauthorized") FAILURE("401", "Unauthorized"));
    api_list(&f.api, OK LIST("10", "", ""));
    api_answer(&f.api, STATUS("401 Unauthorized"), RAW_CLOSE);
    api_watch(&f.api, OK);
    start(&f);
    while (!f.r.health.troubled)
        loop_step(&f.api.env.loop.uv);
    write_text(&a, "token", "new-token");
    api_run_until(&f.api, 4);
    write_text(&a, "token", "newest-token\n");
    api_run_until(&f.api, 5);
    assert_asked(&f.api, 0, "\r\nAuthorization: Bearer old-token\r\n");
    assert_asked(&f.api, 1, "\r\nAuthorization: Bearer old-token\r\n");
    assert_asked(&f.api, 2, "\r\nAuthorization: Bearer new-token\r\n");
    assert_asked(&f.api, 4, "\r\nAuthorization: Bearer newest-token\r\n");
    assert_int_equal(requests(&f, "pods", "unauthorized"), 3);
    assert_logged(&f.api, "HTTP 401: Unauthorized: the token or certificate is not valid", true);
    assert_logged(&f.api, "-token", false);
    stop(&f);
    account_fini(&a);
}

static void use_certificate(SSL_CTX *to, const struct test_ca *ca)
{
    SSL_CTX *from = test_server_context(ca, "IP:127.0.0.1", 1);
    assert_int_equal(SSL_CTX_use_certificate(to, SSL_CTX_get0_certificate(from)), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(to, SSL_CTX_get0_privatekey(from)), 1);
    SSL_CTX_free(from);
}

// The server has another certificate, of another authority; then we have that authority, too.
static void test_certificates_rotate(void **state)
{
    (void)state;
    struct fixture f = {.path = "/api/v1/pods?"};
    struct account a;
    struct test_ca next;
    account_init(&a);
    test_ca_init(&next);
    SSL_CTX *tls = test_server_context(&a.ca, "IP:127.0.0.1", 1);
    api_init(&f.api, tls);
    use_account(&f, &a);
    api_list(&f.api, OK LIST("10", "", ""));
    api_answer(&f.api, OK, RAW_CLOSE);
    api_list(&f.api, STATUS("500 Never"));
    api_watch(&f.api, OK);
    start(&f);
    api_run_until(&f.api, 2);
    use_certificate(tls, &next);
    while (!f.r.health.troubled)
        loop_step(&f.api.env.loop.uv);
    write_text(&a, "ca.crt", next.pem);
    while (f.r.health.troubled)
        loop_step(&f.api.env.loop.uv);
    assert_logged(&f.api, "certificates for the Kubernetes API have changed and are in use", true);
    assert_logged(&f.api, "serves again", true);
    stop(&f);
    SSL_CTX_free(tls);
    test_ca_fini(&next);
    account_fini(&a);
}

static int choose_http2(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
                        unsigned int in_len, void *arg)
{
    (void)ssl, (void)in, (void)in_len, (void)arg;
    *out = (const unsigned char *)"h2";
    *out_len = 2;
    return SSL_TLSEXT_ERR_OK;
}

// As a real server does: over TLS, ALPN chooses HTTP/2, and one connection is enough.
static void test_http2(void **state)
{
    (void)state;
    static const struct http2_step steps[] = {
        {.act = HTTP2_ANSWER, .body = LIST("10", "next", POD("a", "1"))},
        {.act = HTTP2_ANSWER, .body = LIST("10", "", POD("b", "2"))},
        {.act = HTTP2_BEGIN_ONLY, .body = EVENT("ADDED", POD("c", "11")) EVENT("ADDED", POD("d", "12"))},
    };
    struct fixture f;
    struct account a;
    init(&f);
    account_init(&a);
    use_account(&f, &a);
    SSL_CTX *tls = test_server_context(&a.ca, "IP:127.0.0.1", 1);
    SSL_CTX_set_alpn_select_cb(tls, choose_http2, NULL);
    struct http2_peer *peer = http2_peer_create(&f.api.env.loop.uv, &(struct http2_peer_options){.tls = tls});
    http2_peer_script(peer, steps, 3);
    snprintf(f.api.url, sizeof f.api.url, "https://127.0.0.1:%d", http2_peer_port(peer));
    start(&f);
    run_until_changes(&f, 2);
    assert_true(has_pod(&f, "c"));
    assert_int_equal(http2_peer_connections(peer), 1);
    assert_non_null(strstr(http2_peer_seen(peer, 2)->head, "authorization: Bearer old-token\n"));
    assert_string_equal(f.r.resource_version, "11");
    http2_peer_cut(peer);
    while (http2_peer_requests(peer) < 4)
        loop_step(&f.api.env.loop.uv);
    assert_non_null(strstr(http2_peer_seen(peer, 3)->head, "resourceVersion=11&"));
    http2_peer_destroy(&peer);
    stop(&f);
    SSL_CTX_free(tls);
    account_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_then_events),
        cmocka_unit_test(test_watch_goes_on),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_forbidden),
        cmocka_unit_test(test_gone_after_an_outage),
        cmocka_unit_test(test_forbidden_for_a_moment),
        cmocka_unit_test(test_watch_is_forbidden),
        cmocka_unit_test(test_nothing_is_acceptable),
        cmocka_unit_test(test_metadata_alone_is_not_to_be_had),
        cmocka_unit_test(test_lists_that_fail),
        cmocka_unit_test(test_watches_that_fail),
        cmocka_unit_test(test_watch_that_hangs),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_back_off),
        cmocka_unit_test(test_pace),
        cmocka_unit_test(test_stop_while_it_lists),
        cmocka_unit_test(test_unauthorized),
        cmocka_unit_test(test_certificates_rotate),
        cmocka_unit_test(test_http2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
