// SPDX-License-Identifier: Apache-2.0
// A watch that several components share, from join to release.
#include "kube/kube_watch.h"
#include "net/http_server.h"
#include "tests/support/fake_env.h"
#include "tests/support/loop_step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PAGE = 500, MAX_REQUESTS = 64 };

struct fixture {
    struct fake_env env;
    struct http_server *server;
    char url[64];
    struct kube_watch_settings settings;
    struct component users[3];
    size_t pods; // that the API has
    char requests[MAX_REQUESTS][160];
    size_t request_count;
    struct http_exchange *watches[MAX_REQUESTS]; // that wait
    size_t watch_count;
    bool namespaces_forbidden;
    int left;
    bool closed;
};

// --- the API ---

static void answer(struct http_exchange *x, int status, struct buf *body)
{
    http_exchange_answer(x, &(struct http_answer){.status = status, .body = body});
}

static void add_pod(struct buf *out, size_t i)
{
    buf_add_format(
        out,
        "%s{\"metadata\":{\"name\":\"pod-%zu\",\"namespace\":\"shop\",\"uid\":\"uid-%zu\",\"labels\":{\"app\":"
        "\"web\",\"team\":\"a\",\"secret\":\"x\"},\"resourceVersion\":\"%zu\"},\"spec\":{\"nodeName\":\"n\"},"
        "\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.%zu.%zu\"}}",
        i % PAGE == 0 ? "" : ",", i, i, i + 1, i / 250, i % 250 + 1);
}

static void list_pods(struct fixture *f, struct http_exchange *x, const struct http_head *head)
{
    struct buf body;
    size_t first = 0;
    const char *at = memmem(head->query.data, head->query.len, "continue=", 9);
    if (at != NULL)
        first = strtoul(at + 9, NULL, 10);
    buf_init(&body, 64 << 20);
    buf_add_text(&body, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[");
    for (size_t i = first; i < f->pods && i < first + PAGE; i++)
        add_pod(&body, i);
    buf_add_text(&body, "],\"metadata\":{\"resourceVersion\":\"9000\"");
    if (first + PAGE < f->pods)
        buf_add_format(&body, ",\"continue\":\"%zu\"", first + PAGE);
    buf_add_text(&body, "}}");
    answer(x, 200, &body);
}

static void list_namespaces(struct fixture *f, struct http_exchange *x)
{
    struct buf body;
    buf_init(&body, 4096);
    buf_add_text(&body,
                 f->namespaces_forbidden
                     ? "{\"kind\":\"Status\",\"code\":403,\"message\":\"no\"}"
                     : "{\"kind\":\"PartialObjectMetadataList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":"
                       "[{\"metadata\":{\"name\":\"shop\",\"uid\":\"ns\",\"labels\":{\"team\":\"a\"}}}]}");
    answer(x, f->namespaces_forbidden ? 403 : 200, &body);
}

static void on_head(void *arg, struct http_exchange *x, const struct http_head *head)
{
    struct fixture *f = arg;
    if (f->request_count < MAX_REQUESTS)
        snprintf(f->requests[f->request_count++], sizeof f->requests[0], "%.*s?%.*s", BYTES_PRINT(head->path),
                 BYTES_PRINT(head->query));
    if (memmem(head->query.data, head->query.len, "watch=1", 7) != NULL)
        http_exchange_take_body(x, 0);
    else if (bytes_equal_text(head->path, "/api/v1/namespaces"))
        list_namespaces(f, x);
    else
        list_pods(f, x, head);
}

static void on_request(void *arg, struct http_exchange *x, uint8_t *body, size_t len)
{
    struct fixture *f = arg;
    (void)len;
    free(body);
    f->watches[f->watch_count++] = x;
}

static void on_abort(void *arg, struct http_exchange *x)
{
    struct fixture *f = arg;
    (void)x;
    f->watch_count = 0;
}

static size_t asked(const struct fixture *f, const char *text)
{
    size_t n = 0;
    for (size_t i = 0; i < f->request_count; i++)
        n += strstr(f->requests[i], text) != NULL;
    return n;
}

// --- the fixture ---

static void init(struct fixture *f, size_t pods)
{
    static const char *const ids[] = {"k8s_attributes", "k8s_attributes/b", "k8s_attributes/c"};
    struct err e = {0};
    *f = (struct fixture){.pods = pods};
    fake_env_init(&f->env, 1);
    struct http_server_options options = {
        .endpoint = "127.0.0.1:0",
        .handler = {.arg = f, .on_head = on_head, .on_request = on_request, .on_abort = on_abort},
    };
    assert_int_equal(http_server_create(&f->env.loop.uv, &options, &f->server, &e), ERR_OK);
    snprintf(f->url, sizeof f->url, "http://127.0.0.1:%d", http_server_port(f->server));
    f->settings = (struct kube_watch_settings){
        .auth_type = KUBE_AUTH_NONE,
        .endpoint = f->url,
        .api_qps = 1000,
        .api_burst = 1000,
        .api_timeout_nanos = 10 * NANOS_PER_SECOND,
        .pod_delete_grace_nanos = 60 * NANOS_PER_SECOND,
    };
    for (size_t i = 0; i < COUNT_OF(f->users); i++)
        f->users[i] = (struct component){
            .kind = "processor",
            .id = ids[i],
            .log = {f->env.log, "processor", ids[i]},
            .loop = &f->env.loop,
            .env = &f->env.env,
        };
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static void fini(struct fixture *f)
{
    assert_null(f->env.watches);
    http_server_close(&f->server, on_closed, &f->closed);
    while (!f->closed)
        loop_step(&f->env.loop.uv);
    fake_env_fini(&f->env);
}

static void on_left(void *arg)
{
    ((struct fixture *)arg)->left++;
}

static void leave(struct fixture *f, struct kube_watch *w, size_t user)
{
    kube_watch_leave(w, &f->users[user], on_left, f);
}

static void leave_all(struct fixture *f, struct kube_watch *w)
{
    f->left = 0;
    leave(f, w, 0);
    while (f->left == 0)
        loop_step(&f->env.loop.uv);
    kube_watch_release(w);
}

static bool keeps_text(void *arg, enum kube_kind kind, enum kube_map map, struct bytes key)
{
    (void)kind;
    return map == KUBE_LABELS && bytes_equal_text(key, arg);
}

static struct kube_watch *join(struct fixture *f, size_t user, const char *label, enum kube_kind kind)
{
    struct kube_needs needs = {.keep = {keeps_text, (void *)(uintptr_t)label}};
    needs.kinds[kind] = true;
    return kube_watch_join(&f->users[user], &f->settings, &needs);
}

static void start(struct kube_watch *w)
{
    struct err e = {0};
    enum err_code rc = kube_watch_start(w, &e);
    assert_string_equal(e.text, "");
    assert_int_equal(rc, ERR_OK);
}

static bool is_synced(void *arg)
{
    return kube_watch_synced(arg);
}

static void assert_logged(struct fixture *f, const char *text)
{
    if (strstr(fake_env_log(&f->env), text) == NULL)
        fail_msg("\"%s\" is not in the log:\n%s", text, fake_env_log(&f->env));
}

static void assert_pods(struct kube_watch *w, size_t count)
{
    struct kube_snapshot *s = kube_watch_snapshot(w);
    assert_non_null(s);
    assert_int_equal(kube_snapshot_count(s, KUBE_POD), count);
    kube_snapshot_unref(&s);
}

static int64_t metric(struct fixture *f, const char *name, const char *kind)
{
    const struct metric_family family = {name, "", METRIC_GAUGE};
    const struct metric_label labels[] = {{"watch", "k8s_attributes"}, {"kind", kind}};
    return metric_get(metrics_series(f->env.env.metrics, &family, labels, kind != NULL ? 2 : 1));
}

static void assert_page(struct fixture *f, const char *text, bool wanted)
{
    struct buf page;
    buf_init(&page, 1 << 20);
    metrics_write(f->env.env.metrics, &page);
    buf_add_byte(&page, '\0');
    if ((strstr((const char *)page.data, text) != NULL) != wanted)
        fail_msg("\"%s\" is %son the page:\n%s", text, wanted ? "not " : "", (const char *)page.data);
    buf_fini(&page);
}

// --- tests ---

// One watch for those who ask for the same, with what all of them need.
static void test_two_users(void **state)
{
    (void)state;
    struct fixture f;
    bool found;
    struct bytes value;
    init(&f, 1);
    struct kube_watch *w = join(&f, 0, "app", KUBE_POD);
    assert_ptr_equal(w, join(&f, 1, "team", KUBE_NAMESPACE));
    f.settings.namespace_name = "other";
    struct kube_watch *other = join(&f, 2, "app", KUBE_POD);
    assert_ptr_not_equal(w, other);
    assert_null(kube_watch_snapshot(w));
    assert_false(kube_watch_synced(w));
    start(w);
    start(w);
    fake_env_run_until(&f.env, is_synced, w);
    assert_int_equal(asked(&f, "/api/v1/pods?limit"), 1);
    assert_int_equal(asked(&f, "/api/v1/namespaces?limit"), 1);
    struct kube_snapshot *s = kube_watch_snapshot(w);
    const struct kube_object *pod = kube_pod_by_uid(s, BYTES_LITERAL("uid-0"));
    assert_non_null(pod);
    found = kube_object_find(pod, KUBE_LABELS, "app", &value) && kube_object_find(pod, KUBE_LABELS, "team", &value);
    assert_true(found);
    assert_false(kube_object_find(pod, KUBE_LABELS, "secret", &value));
    assert_non_null(kube_object_by_name(s, KUBE_NAMESPACE, (struct bytes){0}, BYTES_LITERAL("shop")));
    kube_snapshot_unref(&s);
    assert_int_equal(metric(&f, "profrelay_kubernetes_objects", "pods"), 1);
    assert_page(&f, "profrelay_kubernetes_last_event_age_seconds{kind=\"pods\",watch=\"k8s_attributes\"} 0", true);
    assert_logged(&f, "is known: 1 pods");

    leave(&f, w, 0); // who stays has it still
    assert_int_equal(f.left, 1);
    leave(&f, w, 1);
    while (f.left < 2)
        loop_step(&f.env.loop.uv);
    assert_page(&f, "profrelay_kubernetes_last_event_age_seconds{", false);
    assert_pods(w, 1);
    kube_watch_release(w);
    kube_watch_release(w);
    leave(&f, other, 2); // was never started
    assert_int_equal(f.left, 3);
    kube_watch_release(other);
    fini(&f);
}

// What is not permitted does not keep the pods.
static void test_synced_without_namespaces(void **state)
{
    (void)state;
    struct fixture f;
    init(&f, 3);
    f.namespaces_forbidden = true;
    struct kube_watch *w = join(&f, 0, "app", KUBE_NAMESPACE);
    start(w);
    fake_env_run_until(&f.env, is_synced, w);
    assert_pods(w, 3);
    assert_logged(&f, "forbids to list namespaces: HTTP 403: no. The account needs the rule");
    leave_all(&f, w);
    fini(&f);
}

struct wish {
    struct kube_watch *watch;
    size_t pods;
};

static bool has_pods(void *arg)
{
    const struct wish *wish = arg;
    struct kube_snapshot *s = kube_watch_snapshot(wish->watch);
    size_t count = kube_snapshot_count(s, KUBE_POD);
    kube_snapshot_unref(&s);
    return count == wish->pods;
}

// The old picture serves until the new list is complete; who holds it keeps it.
static void test_relist(void **state)
{
    (void)state;
    struct fixture f;
    init(&f, 2);
    struct kube_watch *w = join(&f, 0, "app", KUBE_POD);
    start(w);
    fake_env_run_until(&f.env, is_synced, w);
    struct kube_snapshot *before = kube_watch_snapshot(w);
    while (f.watch_count == 0)
        loop_step(&f.env.loop.uv);
    f.pods = 1200;
    http_exchange_answer_text(f.watches[--f.watch_count], 410, "gone", NULL, 0);
    fake_env_run_until(&f.env, has_pods, &(struct wish){w, 1200});
    assert_int_equal(kube_snapshot_count(before, KUBE_POD), 2);
    assert_int_equal(asked(&f, "continue="), 2);
    kube_snapshot_unref(&before);
    leave_all(&f, w);
    fini(&f);
}

static void test_5000_pods(void **state)
{
    (void)state;
    struct fixture f;
    init(&f, 5000);
    struct kube_watch *w = join(&f, 0, "app", KUBE_POD);
    start(w);
    fake_env_run_until(&f.env, is_synced, w);
    assert_pods(w, 5000);
    assert_int_equal(asked(&f, "/api/v1/pods?limit=500"), 10);
    int64_t bytes = metric(&f, "profrelay_kubernetes_bytes", NULL);
    if (bytes <= 0 || bytes > 5000 * 2000)
        fail_msg("%lld bytes", (long long)bytes);
    assert_int_equal(f.env.budget.used, bytes);
    leave_all(&f, w);
    assert_int_equal(f.env.budget.used, 0);
    fini(&f);
}

// More than there is room for: it is there all the same, and told once.
static void test_budget(void **state)
{
    (void)state;
    struct fixture f;
    init(&f, 1200);
    f.env.budget.limit = 100 << 10;
    struct kube_watch *w = join(&f, 0, "app", KUBE_POD);
    start(w);
    fake_env_run_until(&f.env, is_synced, w);
    assert_pods(w, 1200);
    assert_true(f.env.budget.used > f.env.budget.limit);
    assert_logged(&f, "of the 102.4 KB that service.memory_limit allows: watch less of it (filter.node,");
    leave_all(&f, w);
    assert_int_equal(f.env.budget.used, 0);
    fini(&f);
}

static void test_start_fails(void **state)
{
    (void)state;
    struct fixture f;
    struct err e = {0};
    init(&f, 0);
    f.settings.node_from_env_var = "NO_SUCH_NODE_NAME";
    struct kube_watch *w = join(&f, 0, "app", KUBE_POD);
    assert_int_equal(kube_watch_start(w, &e), ERR_INVALID);
    assert_non_null(strstr(e.text, "filter.node_from_env_var: NO_SUCH_NODE_NAME is not set"));
    setenv("NO_SUCH_NODE_NAME", "n1,metadata.name=x\r\nHost: y", 1);
    assert_int_equal(kube_watch_start(w, &e), ERR_INVALID);
    assert_non_null(strstr(e.text, "NO_SUCH_NODE_NAME is not a node's name"));
    setenv("NO_SUCH_NODE_NAME", "n1", 1);
    start(w);
    fake_env_run_until(&f.env, is_synced, w);
    assert_int_equal(asked(&f, "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1&limit=500"), 1);
    unsetenv("NO_SUCH_NODE_NAME");
    leave_all(&f, w);

    f.settings.auth_type = KUBE_AUTH_SERVICE_ACCOUNT;
    f.settings.service_account_folder = "/nonexistent";
    f.settings.node_from_env_var = NULL;
    w = join(&f, 0, "app", KUBE_POD);
    assert_int_not_equal(kube_watch_start(w, &e), ERR_OK);
    assert_non_null(strstr(e.text, "/nonexistent/token: No such file"));
    leave_all(&f, w);
    fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_users), cmocka_unit_test(test_synced_without_namespaces),
        cmocka_unit_test(test_relist),    cmocka_unit_test(test_5000_pods),
        cmocka_unit_test(test_budget),    cmocka_unit_test(test_start_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
