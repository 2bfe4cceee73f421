// SPDX-License-Identifier: Apache-2.0
#include "tests/support/http_calls.h"
#include "tests/support/loop_step.h"

#include <stdio.h>
#include <stdlib.h>

enum { WATCHDOG_MS = 30 * 1000 };

static void on_watchdog(uv_timer_t *timer)
{
    (void)timer;
    fputs("the test hangs\n", stderr);
    abort();
}

void http_world_init(struct http_world *w, const struct http_client_options *options)
{
    struct err e = {0};
    CHECK(uv_loop_init(&w->loop) == 0);
    uv_timer_init(&w->loop, &w->watchdog);
    uv_timer_start(&w->watchdog, on_watchdog, WATCHDOG_MS, 0);
    enum err_code code = http_client_create(&w->loop, options, &w->client, &e);
    if (code != ERR_OK)
        fputs(e.text, stderr);
    CHECK(code == ERR_OK);
}

static void on_client_closed(void *arg)
{
    *(bool *)arg = true;
}

void http_world_fini(struct http_world *w)
{
    bool closed = w->client == NULL;
    http_client_close(&w->client, on_client_closed, &closed);
    CHECK(w->client == NULL);
    while (!closed)
        loop_step(&w->loop);
    uv_close((uv_handle_t *)&w->watchdog, NULL);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&w->loop) == 0);
}

static void on_done(void *arg, const struct http_response *response)
{
    struct call_result *r = arg;
    r->done++;
    r->outcome = response->outcome;
    r->status = response->status;
    buf_init(&r->body, SIZE_MAX / 2);
    buf_add(&r->body, response->body.data, response->body.len);
    snprintf(r->error, sizeof r->error, "%s", response->error ? response->error : "");
    const char *server = http_response_header(response, "server");
    snprintf(r->server, sizeof r->server, "%s", server ? server : "");
    r->may_have_been_processed = response->may_have_been_processed;
    r->reset_code = response->reset_code;
    r->trailers[0] = '\0';
    for (size_t i = 0, used = 0; i < response->trailer_count && used < sizeof r->trailers; i++)
        used += (size_t)snprintf(r->trailers + used, sizeof r->trailers - used, "%s: %s\n", response->trailers[i].name,
                                 response->trailers[i].value);
    if (r->then != NULL)
        r->then(r);
}

void http_world_send(struct http_world *w, const struct http_request *request, struct call_result *result)
{
    result->done = 0;
    result->call = http_client_send(w->client, request, on_done, result);
    CHECK(result->done == 0);
}

void http_world_wait(struct http_world *w, struct call_result *result)
{
    while (result->done == 0)
        loop_step(&w->loop);
}

void http_world_call(struct http_world *w, const struct http_request *request, struct call_result *result)
{
    http_world_send(w, request, result);
    http_world_wait(w, result);
}

void call_result_fini(struct call_result *result)
{
    buf_fini(&result->body);
}

char *loopback_url(char out[128], const char *scheme, int port, const char *path)
{
    snprintf(out, 128, "%s://127.0.0.1:%d%s", scheme, port, path);
    return out;
}
