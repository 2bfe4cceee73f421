// SPDX-License-Identifier: Apache-2.0
#include "pipeline/resolve.h"

#include "base/mem.h"

#include <netdb.h>
#include <stdio.h>
#include <uv.h>

enum { PATIENCE_SECONDS = 5 };

struct question {
    uv_getaddrinfo_t request;
    const char *host; // of the plan
    bool answered;
    int status;
};

struct resolver {
    uv_loop_t loop;
    uv_timer_t timer;
    size_t waiting, count;
    struct question questions[];
};

static void on_answer(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct question *q = CONTAINER_OF(request, struct question, request);
    struct resolver *r = request->loop->data;
    uv_freeaddrinfo(found);
    q->answered = true;
    q->status = status;
    if (--r->waiting == 0)
        uv_close((uv_handle_t *)&r->timer, NULL);
}

static void on_timeout(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

static void ask(struct resolver *r, struct question *q)
{
    static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int status = uv_getaddrinfo(&r->loop, &q->request, on_answer, q->host, NULL, &hints);
    q->answered = status != 0;
    q->status = status;
    r->waiting += status == 0;
}

static void tell(const struct plan_host *h, const struct question *q)
{
    char text[512];
    if (!q->answered)
        snprintf(text, sizeof text, "the name \"%s\" has not been resolved within %d s", h->host, PATIENCE_SECONDS);
    else
        snprintf(text, sizeof text, "the name \"%s\" cannot be resolved: %s", h->host, uv_strerror(q->status));
    if (!q->answered || (q->status != UV_EAI_NONAME && q->status != UV_EAI_NODATA))
        config_warning(h->check.errors, h->check.at, "%s: %s: %s", h->check.name, h->key, text);
    else
        check_error(&h->check, h->key, "%s", text);
}

// A look-up that runs cannot be ended: what it will write to stays until the program ends.
static void finish(struct resolver *r)
{
    if (r->waiting > 0)
        return;
    CHECK(uv_loop_close(&r->loop) == 0);
    free(r);
}

void resolve_hosts(const struct plan *plan)
{
    if (plan->host_count == 0)
        return;
    struct resolver *r = mem_alloc(sizeof *r + plan->host_count * sizeof r->questions[0]);
    CHECK(uv_loop_init(&r->loop) == 0 && uv_timer_init(&r->loop, &r->timer) == 0);
    r->loop.data = r;
    CHECK(uv_timer_start(&r->timer, on_timeout, PATIENCE_SECONDS * 1000, 0) == 0);
    for (size_t i = 0; i < plan->host_count; i++) {
        r->questions[i].host = plan->hosts[i].host;
        ask(r, &r->questions[i]);
    }
    if (r->waiting == 0)
        uv_close((uv_handle_t *)&r->timer, NULL);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < plan->host_count; i++)
        if (!r->questions[i].answered || r->questions[i].status != 0)
            tell(&plan->hosts[i], &r->questions[i]);
    finish(r);
}
