// SPDX-License-Identifier: Apache-2.0
#include "exporters/request_size.h"

enum {
    LEAST_PART_BYTES = 512,            // half of the smallest limit that may be set
    LEAST_DOUBTFUL_PART_BYTES = 65536, // of a refusal that may be a quota
};

static const struct metric_family too_large_family = {
    "profrelay_exporter_too_large_profile_samples",
    "Samples dropped because a request with one of them alone is too large.", METRIC_COUNTER};

void request_size_init(struct http_exporter *x)
{
    const struct component *c = &x->exporter.component;
    const struct metric_label label = {"exporter", c->id};
    atomic_init(&x->taken_bytes, SIZE_MAX);
    x->refused_bytes = SIZE_MAX;
    x->too_large = metrics_series(c->env->metrics, &too_large_family, &label, 1);
}

struct request_limit request_size_limit(const struct http_exporter *x)
{
    size_t taken = atomic_load_explicit(&x->taken_bytes, memory_order_relaxed);
    size_t allowed = (size_t)x->settings->max_bytes;
    return taken < allowed ? (struct request_limit){taken, "the peer takes about", taken}
                           : (struct request_limit){allowed, x->encoder->size_allowed, allowed};
}

void request_size_refused(struct request_limit *limit, const struct record *r)
{
    if (r->raw_bytes <= limit->bytes)
        *limit = (struct request_limit){r->raw_bytes - 1, "the peer refused one of", r->raw_bytes};
}

void request_size_blame(struct http_exporter *x, const struct record *r, bool no_doubt, struct verdict *v)
{
    v->too_large = r->raw_bytes / 2 >= (no_doubt ? LEAST_PART_BYTES : LEAST_DOUBTFUL_PART_BYTES);
    if (!no_doubt)
        return;
    if (r->raw_bytes < x->refused_bytes)
        x->refused_bytes = r->raw_bytes;
    if (r->raw_bytes <= atomic_load_explicit(&x->taken_bytes, memory_order_relaxed))
        atomic_store_explicit(&x->taken_bytes, SIZE_MAX, memory_order_relaxed);
}

void request_size_note(struct http_exporter *x, const struct record *r, const struct verdict *v)
{
    size_t taken = atomic_load_explicit(&x->taken_bytes, memory_order_relaxed);
    bool no_news = taken != SIZE_MAX && r->raw_bytes <= taken;
    if (v->kind > VERDICT_PARTIAL || !r->is_part || no_news || x->refused_bytes == SIZE_MAX ||
        r->raw_bytes >= x->refused_bytes)
        return;
    if (taken == SIZE_MAX)
        log_warn(
            &x->exporter.component.log,
            "the peer finds requests of %zu bytes (before compression) too large, but takes %zu: splitting to about "
            "that before sending from now on; set %s to the peer's limit",
            x->refused_bytes, r->raw_bytes, x->encoder->size_key);
    atomic_store_explicit(&x->taken_bytes, r->raw_bytes, memory_order_relaxed);
}
