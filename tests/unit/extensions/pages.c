// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/extensions/pages.h"

#include "net/http_client.h"

static void on_answer(void *arg, const struct http_response *response)
{
    struct page_answer *a = arg;
    const char *type = http_response_header(response, "content-type");
    a->done = true;
    a->status = response->status;
    snprintf(a->type, sizeof a->type, "%s", type != NULL ? type : "");
    snprintf(a->body, sizeof a->body, "%.*s", (int)response->body.len, (const char *)response->body.data);
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

static struct page_answer get(struct fake_env *f, const char *url, const struct tls_client_options *tls)
{
    struct page_answer a = {.done = false};
    struct http_client_options options = {.max_connections = 1, .tls = *tls};
    struct http_client *client;
    struct err e = {0};
    bool closed = false;
    CHECK(http_client_create(&f->loop.uv, &options, &client, &e) == ERR_OK);
    const struct http_request request = {
        .method = "GET", .url = url, .timeout_nanos = 10 * NANOS_PER_SECOND, .max_response_bytes = 4096};
    http_client_send(client, &request, on_answer, &a);
    fake_env_run_until(f, is_true, &a.done);
    http_client_close(&client, set_true, &closed);
    fake_env_run_until(f, is_true, &closed);
    return a;
}

struct page_answer page_get(struct fake_env *f, int port, const char *path)
{
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", port, path);
    return get(f, url, &(struct tls_client_options){0});
}

struct page_answer page_get_tls(struct fake_env *f, int port, const char *path, const struct tls_client_options *tls)
{
    char url[128];
    snprintf(url, sizeof url, "https://127.0.0.1:%d%s", port, path);
    return get(f, url, tls);
}
