// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_api.h"

#include "base/hash.h"

enum {
    PING_SECONDS = 30, // HTTP/2: a connection that died without a word is found out
    PING_TIMEOUT_SECONDS = 15,
};

const struct kube_timing kube_timing_default = {
    .retry = {.enabled = true,
              .initial_interval_nanos = NANOS_PER_SECOND,
              .max_interval_nanos = 30 * NANOS_PER_SECOND,
              .randomization_factor = 0.5,
              .multiplier = 2},
    .forbidden_nanos = 60 * NANOS_PER_SECOND,
    .healthy_nanos = 10 * NANOS_PER_SECOND,
    .stall_nanos = 30 * NANOS_PER_SECOND,
    .list_nanos = 300 * NANOS_PER_SECOND,
    .watch_seconds = 300,
};

int64_t kube_api_now(const struct kube_api *a)
{
    return clock_monotonic_nanos(a->clock);
}

static void on_reload(void *arg, const struct err *e)
{
    const struct kube_api *a = arg;
    if (e != NULL)
        log_warn(a->log, "what was read before stays in use: %s", e->text);
    else
        log_info(a->log, "certificates for the Kubernetes API have changed and are in use");
}

static enum err_code open_client(struct kube_api *a, struct err *e)
{
    struct http_client_options options = {
        .protocol = HTTP_BY_ALPN,
        .connect_timeout_nanos = a->timing.stall_nanos < 10 * NANOS_PER_SECOND ? a->timing.stall_nanos : 0,
        .keepalive = {.time_nanos = PING_SECONDS * NANOS_PER_SECOND,
                      .timeout_nanos = PING_TIMEOUT_SECONDS * NANOS_PER_SECOND},
        .proxy_url = a->access.proxy_url,
        .tls = a->access.tls,
        .on_reload = on_reload,
        .on_reload_arg = a,
    };
    return http_client_create(a->loop, &options, &a->http, e);
}

enum err_code kube_api_open(struct kube_api *a, uv_loop_t *loop, const struct kube_watch_settings *settings,
                            const struct clock *clock, const struct logger *log, struct err *e)
{
    *a = (struct kube_api){.loop = loop, .clock = clock, .log = log, .timing = kube_timing_default};
    int64_t now = kube_api_now(a);
    a->timing.stall_nanos = settings->api_timeout_nanos;
    random_init(&a->random, hash_bytes(&now, sizeof now)); // seeded: many of us start together
    kube_pace_init(&a->pace, settings->api_qps, settings->api_burst, now);
    enum err_code rc = kube_access_init(&a->access, settings, e);
    if (rc == ERR_OK)
        rc = open_client(a, e);
    if (rc != ERR_OK)
        kube_access_fini(&a->access);
    return rc;
}

void kube_api_close(struct kube_api *a, void (*on_closed)(void *arg), void *arg)
{
    http_client_close(&a->http, on_closed, arg);
    kube_access_fini(&a->access);
}

void kube_api_troubled(struct kube_api *a, const char *what)
{
    if (a->troubled++ > 0)
        return;
    a->troubled_since_nanos = kube_api_now(a);
    log_warn(a->log,
             "the Kubernetes API at %s does not serve: %s; what is known of the cluster stays in use, and it is asked "
             "again and again",
             a->access.server, what);
}

void kube_api_serves(struct kube_api *a)
{
    if (--a->troubled > 0)
        return;
    log_info(a->log, "the Kubernetes API at %s serves again, after %.0f s", a->access.server,
             (double)(kube_api_now(a) - a->troubled_since_nanos) / (double)NANOS_PER_SECOND);
}
