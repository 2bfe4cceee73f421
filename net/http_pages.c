// SPDX-License-Identifier: Apache-2.0
#include "net/http_pages.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"

enum { CONNECTIONS = 64, STREAMS = 16, REQUEST_SECONDS = 10, IDLE_SECONDS = 60, BODY_MAX_BYTES = 64 << 10 };

struct http_pages {
    struct http_server *server;
    void (*on_page)(void *arg, const struct http_page_request *request, struct http_page *page);
    void *arg;
    void (*on_closed)(void *arg);
    void *on_closed_arg;
};

static void on_head(void *arg, struct http_exchange *x, const struct http_head *head)
{
    static const struct http_header allow = {"allow", "GET, HEAD"};
    (void)arg;
    if (bytes_equal_text(head->method, "GET") || bytes_equal_text(head->method, "HEAD"))
        http_exchange_take_body(x, BODY_MAX_BYTES);
    else
        http_exchange_answer_text(x, 405, "only GET and HEAD are allowed here", &allow, 1);
}

static void on_request(void *arg, struct http_exchange *x, uint8_t *body, size_t len)
{
    struct http_pages *p = arg;
    const struct http_head *head = http_exchange_head(x);
    struct http_page_request request = {head->method, head->path, head->query};
    struct http_page page = {.status = 200, .content_type = "text/plain; charset=utf-8"};
    (void)len;
    free(body);
    buf_init(&page.body, LIMIT_METRICS_PAGE_BYTES);
    p->on_page(p->arg, &request, &page);
    if (!buf_ok(&page.body)) {
        buf_fini(&page.body);
        http_exchange_answer_text(x, 500, "the page is too large or memory is out", NULL, 0);
        return;
    }
    struct http_header type = {"content-type", page.content_type};
    struct http_answer answer = {.status = page.status, .headers = &type, .header_count = 1, .body = &page.body};
    http_exchange_answer(x, &answer);
}

static void on_abort(void *arg, struct http_exchange *x)
{
    (void)arg;
    (void)x;
}

enum err_code http_pages_create(uv_loop_t *loop, const struct http_pages_options *o, struct http_pages **out,
                                struct err *e)
{
    struct http_pages *p = MEM_NEW(struct http_pages);
    int64_t request_nanos =
        o->request_timeout_nanos != 0 ? o->request_timeout_nanos : REQUEST_SECONDS * NANOS_PER_SECOND;
    struct http_server_options options = {
        .endpoint = o->endpoint,
        .tls = o->tls,
        .tls_reload_nanos = o->tls_reload_nanos,
        .max_connections = o->max_connections != 0 ? o->max_connections : CONNECTIONS,
        .max_streams = STREAMS,
        .header_timeout_nanos = request_nanos,
        .body_timeout_nanos = request_nanos,
        .idle_timeout_nanos = o->idle_timeout_nanos != 0 ? o->idle_timeout_nanos : IDLE_SECONDS * NANOS_PER_SECOND,
        .handler = {.arg = p, .on_head = on_head, .on_request = on_request, .on_abort = on_abort},
    };
    *out = NULL;
    p->on_page = o->on_page;
    p->arg = o->arg;
    enum err_code code = http_server_create(loop, &options, &p->server, e);
    if (code != ERR_OK)
        free(p);
    else
        *out = p;
    return code;
}

int http_pages_port(const struct http_pages *p)
{
    return http_server_port(p->server);
}

static void on_server_closed(void *arg)
{
    struct http_pages *p = arg;
    void (*on_closed)(void *) = p->on_closed;
    void *on_closed_arg = p->on_closed_arg;
    free(p);
    if (on_closed != NULL)
        on_closed(on_closed_arg);
}

void http_pages_close(struct http_pages **pages, void (*on_closed)(void *arg), void *arg)
{
    struct http_pages *p = *pages;
    if (p == NULL)
        return;
    *pages = NULL;
    p->on_closed = on_closed;
    p->on_closed_arg = arg;
    http_server_close(&p->server, on_server_closed, p);
}
