// SPDX-License-Identifier: Apache-2.0
#include "exporters/pyroscope_encode.h"

#include "codec/pprof.h"
#include "exporters/pyroscope_writer.h"
#include "profile/merge.h"

#include <inttypes.h>

enum { SHARED_DICTIONARY = 64 }; // so many profiles may share a dictionary, which is looked through for each

static const struct metric_family labels_dropped_family = {
    "profrelay_exporter_pyroscope_dropped_labels",
    "Labels left out: over labels.max, reserved, or of two that became one name the second.", METRIC_COUNTER};
static const struct metric_family labels_shortened_family = {
    "profrelay_exporter_pyroscope_shortened_labels",
    "Names and values of labels cut to labels.max_name_bytes and labels.max_value_bytes.", METRIC_COUNTER};
static const struct metric_family out_of_window_family = {
    "profrelay_exporter_pyroscope_out_of_window_profile_samples",
    "Samples dropped because max_age or max_ahead forbids their time.", METRIC_COUNTER};

void pyroscope_encode_init(struct pyroscope_exporter *x)
{
    const struct component *c = &x->http.exporter.component;
    const struct metric_label label = {"exporter", c->id};
    x->labels_dropped = metrics_series(c->env->metrics, &labels_dropped_family, &label, 1);
    x->labels_shortened = metrics_series(c->env->metrics, &labels_shortened_family, &label, 1);
    x->out_of_window = metrics_series(c->env->metrics, &out_of_window_family, &label, 1);
}

// Only this pprof, as a batch.
static enum err_code isolate(struct batch *b, uint32_t resource, uint32_t scope, uint32_t first, uint32_t count,
                             struct batch **out, struct err *e)
{
    struct batch *before = NULL, *rest = NULL, *after = NULL;
    const struct profile_position at = {resource, scope, first}, end = {0, 0, count};
    enum err_code rc = batch_split_at(b, at, &before, &rest, e);
    *out = NULL;
    if (rc == ERR_OK && (rest->resource_count > 1 || rest->resources[0]->scope_count > 1 ||
                         rest->resources[0]->scopes[0]->profile_count > count))
        rc = batch_split_at(rest, end, out, &after, e);
    else if (rc == ERR_OK)
        *out = batch_ref(rest);
    batch_unref(&before);
    batch_unref(&rest);
    batch_unref(&after);
    return rc;
}

static bool in_window(struct pyroscope_writer *w, const struct pyroscope_group *g)
{
    const struct pyroscope_exporter_settings *s = w->x->settings;
    const int64_t second = NANOS_PER_SECOND, age = w->now_nanos - pyroscope_writer_time(w, pyroscope_group_profile(g));
    const bool old = s->max_age_nanos > 0 && age > s->max_age_nanos;
    const bool ahead = s->max_ahead_nanos > 0 && -age > s->max_ahead_nanos;
    if (!old && !ahead)
        return true;
    const struct verdict v =
        old ? verdict_make(VERDICT_PARTIAL, "a profile is %" PRId64 " s old, max_age allows %" PRId64 " s; dropped",
                           age / second, s->max_age_nanos / second)
            : verdict_make(VERDICT_PARTIAL,
                           "a profile's time is %" PRId64 " s ahead, max_ahead allows %" PRId64 " s; dropped",
                           -age / second, s->max_ahead_nanos / second);
    log_warn(&w->x->http.exporter.component.log, "%s", v.text);
    metric_add(w->x->out_of_window, (int64_t)g->count * pyroscope_group_profile(g)->columns->sample_count);
    record_list_drop(w->out, v.text);
    w->out->dropped_profiles += g->count;
    return false;
}

static enum err_code split_group(struct pyroscope_writer *w, const struct pyroscope_group *g, uint32_t resource,
                                 uint32_t scope, size_t size, struct err *e)
{
    struct batch *alone;
    struct batch *b = (struct batch *)(uintptr_t)g->batch; // counting it is no change
    enum err_code rc = isolate(b, resource, scope, g->first, g->count, &alone, e);
    if (rc == ERR_OK)
        rc = request_split(&w->base, alone, size, w->out, e);
    batch_unref(&alone);
    return rc;
}

static enum err_code add_group(struct pyroscope_writer *w, const struct pyroscope_group *g, uint32_t resource,
                               uint32_t scope, struct err *e)
{
    struct pyroscope_labels labels;
    struct record *r = NULL;
    size_t size = 0;
    enum err_code rc = pyroscope_writer_label(w, g, &labels, e);
    if (rc == ERR_OK)
        rc = pyroscope_write(w, g, &r, &size, e);
    if (rc == ERR_OK)
        record_list_add(w->out, r);
    if (rc == ERR_LIMIT)
        rc = split_group(w, g, resource, scope, size, e);
    pyroscope_labels_fini(&labels);
    return rc;
}

// --- a batch ---

// Profiles without samples have nothing to tell, but for recordings.
static enum err_code add_recordings(struct pyroscope_writer *w, const struct pyroscope_group *g, struct err *e)
{
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < g->count; i++) {
        const struct pyroscope_group one = {g->batch, g->resource, g->scope, g->first + i, 1};
        if (pyroscope_is_recording(pyroscope_group_profile(&one)) && in_window(w, &one))
            rc = pyroscope_add_recording(w, &one, e);
    }
    return rc;
}

static enum err_code add_any(struct pyroscope_writer *w, struct pyroscope_group g, uint32_t resource, uint32_t scope,
                             struct err *e)
{
    if (pyroscope_group_profile(&g)->columns->sample_count == 0)
        return add_recordings(w, &g, e);
    if (w->x->settings->primary_type == PYROSCOPE_PRIMARY_TYPE) {
        g.first += pyroscope_primary_profile(g.batch, g.scope, g.first, g.count);
        g.count = 1;
    }
    return in_window(w, &g) ? add_group(w, &g, resource, scope, e) : ERR_OK;
}

static enum err_code add_resource(struct pyroscope_writer *w, const struct batch *b, uint32_t resource, struct err *e)
{
    const struct resource *r = b->resources[resource];
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; i < r->scope_count; i++)
        for (uint32_t first = 0, n; rc == ERR_OK && (n = pprof_group(r->scopes[i], first)) != 0; first += n)
            rc = add_any(w, (struct pyroscope_group){b, r, r->scopes[i], first, n}, resource, i, e);
    return rc;
}

static struct profile_position group_at(const struct batch *b, uint64_t index)
{
    for (uint32_t r = 0; r < b->resource_count; r++)
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++)
            for (uint32_t first = 0, n; (n = pprof_group(b->resources[r]->scopes[s], first)) != 0; first += n)
                if (index-- == 0)
                    return (struct profile_position){r, s, first};
    CHECK(false);
}

static enum err_code add_batch(struct pyroscope_writer *w, struct batch *b, struct err *e);

static enum err_code add_own(struct pyroscope_writer *w, struct batch **b, struct err *e)
{
    enum err_code rc = batch_own_dictionary(b, e);
    return rc == ERR_OK ? add_batch(w, *b, e) : rc;
}

// Each profile has the dictionary looked through: many are halved first, each half with what it needs. So the depth is the
// logarithm of their number.
static enum err_code add_batch(struct pyroscope_writer *w, struct batch *b, struct err *e)
{
    const uint64_t groups = pprof_group_count(b);
    struct batch *first, *second;
    enum err_code rc = ERR_OK;
    for (uint32_t r = 0; groups <= SHARED_DICTIONARY && rc == ERR_OK && r < b->resource_count; r++)
        rc = add_resource(w, b, r, e);
    if (groups <= SHARED_DICTIONARY)
        return rc;
    rc = batch_split_at(b, group_at(b, groups / 2), &first, &second, e);
    if (rc != ERR_OK)
        return rc;
    rc = add_own(w, &first, e);
    if (rc == ERR_OK)
        rc = add_own(w, &second, e);
    batch_unref(&first);
    batch_unref(&second);
    return rc;
}

static enum err_code encode(struct exporter *self, const struct batch *batch, struct record_list *out, struct err *e)
{
    struct pyroscope_writer w;
    pyroscope_writer_init(&w, self, out);
    enum err_code rc = add_batch(&w, (struct batch *)(uintptr_t)batch, e); // counting it is no change
    pyroscope_writer_fini(&w);
    return rc;
}

const struct http_exporter_encoder pyroscope_encoder = {
    .encode = encode,
    .replace = pyroscope_replace,
    .size_key = "max_profile_bytes",
    .size_allowed = "max_profile_bytes allows",
};
