// SPDX-License-Identifier: Apache-2.0
// GET /metrics in Prometheus' text format. The service starts it from service.telemetry.
#include "base/mem.h"
#include "extensions/extensions.h"
#include "net/http_pages.h"

#include <stdio.h>
#include <stdlib.h>

struct metrics_page {
    struct extension extension;
    const struct endpoint_settings *settings;
    struct http_pages *pages;
};

static const struct field metrics_page_fields[] = {
    {.name = "endpoint",
     .type = FIELD_STRING,
     .offset = offsetof(struct endpoint_settings, endpoint),
     .default_text = "localhost:8888",
     .help = "HOST:PORT to listen on"},
    {.name = NULL},
};

static enum err_code create(struct extension *self, const void *settings, struct err *e)
{
    (void)e;
    ((struct metrics_page *)self)->settings = settings;
    return ERR_OK;
}

static void on_page(void *arg, const struct http_page_request *request, struct http_page *page)
{
    struct metrics_page *m = arg;
    if (!bytes_equal_text(request->path, "/metrics")) {
        page->status = 404;
        buf_add_text(&page->body, "There is nothing here; the metrics are at /metrics.\n");
        return;
    }
    page->content_type = "text/plain; version=0.0.4; charset=utf-8";
    metrics_write(m->extension.component.env->metrics, &page->body);
}

// HOST of the endpoint; an empty one listens everywhere.
static void log_address(const struct metrics_page *m)
{
    const char *endpoint = m->settings->endpoint;
    const char *colon = strrchr(endpoint, ':');
    int len = colon != NULL ? (int)(colon - endpoint) : (int)strlen(endpoint);
    log_info(&m->extension.component.log, "metrics at http://%.*s:%d/metrics", len != 0 ? len : 9,
             len != 0 ? endpoint : "localhost", http_pages_port(m->pages));
}

static enum err_code start(struct extension *self, struct err *e)
{
    struct metrics_page *m = (struct metrics_page *)self;
    const struct http_pages_options options = {.endpoint = m->settings->endpoint, .on_page = on_page, .arg = m};
    enum err_code rc = http_pages_create(&self->component.loop->uv, &options, &m->pages, e);
    if (rc == ERR_OK)
        log_address(m);
    return rc;
}

static void on_closed(void *arg)
{
    struct metrics_page *m = arg;
    component_stopped(&m->extension.component);
}

static void stop(struct extension *self)
{
    struct metrics_page *m = (struct metrics_page *)self;
    if (m->pages == NULL)
        component_stopped(&self->component);
    else
        http_pages_close(&m->pages, on_closed, m);
}

static void destroy(struct extension *self)
{
    (void)self;
}

const struct extension_module metrics_page_extension = {
    .module =
        {
            .type = "metrics_page",
            .help = "Shows our own metrics.",
            .settings_size = sizeof(struct endpoint_settings),
            .instance_size = sizeof(struct metrics_page),
            .fields = metrics_page_fields,
        },
    .create = create,
    .start = start,
    .stop = stop,
    .destroy = destroy,
};
