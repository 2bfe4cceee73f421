// SPDX-License-Identifier: Apache-2.0
#include "exporters/pyroscope_writer.h"

#include "base/hash.h"
#include "base/text.h"
#include "codec/pprof.h"
#include "codec/pyroscope_push.h"
#include "exporters/pyroscope_upload.h"
#include "exporters/request_record.h"

#include <inttypes.h>

#define LARGEST_PROFILE ((size_t)INT32_MAX) // of protobuf

enum {
    // The parts of a record that the peer found too large are shifted by so much, each by another.
    LEAST_SHIFT_NANOS = 1000000,
    MOST_SHIFTS = 1000000000,
};

enum err_code pyroscope_no_memory(struct err *e)
{
    (void)err_set(e, ERR_MEMORY, "out of memory while encoding for Pyroscope");
    return ERR_MEMORY;
}

// --- labels ---

void pyroscope_writer_take_labels(struct pyroscope_writer *w, const struct pyroscope_labels *labels)
{
    w->labels = labels;
    w->label_bytes = 0;
    w->label_hash = 0;
    for (size_t i = 0; i < labels->count; i++) {
        const struct pyroscope_label *l = &labels->items[i];
        w->label_bytes += l->name.len + l->value.len;
        w->label_hash = hash_mix(w->label_hash, hash_bytes(l->name.data, l->name.len));
        w->label_hash = hash_mix(w->label_hash, hash_bytes(l->value.data, l->value.len));
    }
}

static void note_labels(struct pyroscope_exporter *x, const struct pyroscope_label_report *r)
{
    if (r->dropped == 0 && r->shortened == 0)
        return;
    metric_add(x->labels_dropped, (int64_t)r->dropped);
    metric_add(x->labels_shortened, (int64_t)r->shortened);
    if (!atomic_exchange(&x->labels_told, true))
        log_warn(&x->http.exporter.component.log,
                 "a series does not fit labels.max, max_name_bytes or max_value_bytes, or names collide: %" PRIu64
                 " of its labels are left out, %" PRIu64 " shortened; further ones are only counted",
                 r->dropped, r->shortened);
}

enum err_code pyroscope_writer_label(struct pyroscope_writer *w, const struct pyroscope_group *g,
                                     struct pyroscope_labels *labels, struct err *e)
{
    struct pyroscope_label_report report = {0};
    enum err_code rc =
        pyroscope_labels_of(g->batch, g->resource, g->scope, g->first, g->count, &w->x->labels, labels, &report, e);
    note_labels(w->x, &report);
    pyroscope_writer_take_labels(w, labels);
    return rc;
}

// --- one record ---

int64_t pyroscope_writer_time(const struct pyroscope_writer *w, const struct profile *p)
{
    const bool good = p->time_nanos != 0 && p->time_nanos <= (uint64_t)INT64_MAX - (uint64_t)(1LL << 60);
    return (good ? (int64_t)p->time_nanos : w->now_nanos) - (w->replaced != NULL ? w->replaced->time_shift : 0);
}

// A time that no other profile of this series has, as far as we know. False: out of memory.
static bool take_time(struct pyroscope_writer *w, int64_t *time, uint32_t *shift_out)
{
    const int64_t said = *time;
    if (w->replaced != NULL)
        *time += LEAST_SHIFT_NANOS + atomic_fetch_add(&w->x->shifts, 1) % MOST_SHIFTS;
    else if (!pyroscope_times_take(&w->times, w->label_hash, time))
        return false;
    *shift_out = (uint32_t)(*time - said);
    return true;
}

int64_t pyroscope_end(int64_t time, const struct profile *p)
{
    return time + (int64_t)(p->duration_nanos < 1ULL << 59 ? p->duration_nanos : 0);
}

static int64_t rate_of(const struct pyroscope_group *g)
{
    const struct profile *p = pyroscope_group_profile(g);
    const struct bytes unit = g->batch->dictionary->strings[p->period_type.unit];
    return p->period > 0 && bytes_equal_text(unit, "nanoseconds") ? NANOS_PER_SECOND / p->period : 0;
}

static enum err_code gzip_profile(const struct pyroscope_writer *w, struct buf *raw, struct err *e)
{
    struct buf packed;
    if (w->x->settings->profile_compression == COMPRESSION_NONE)
        return ERR_OK;
    buf_init(&packed, SIZE_MAX);
    enum err_code rc = worker_compressors_run(&w->x->profile_compressors, buf_bytes(raw), &packed, e);
    if (rc == ERR_OK) {
        buf_fini(raw);
        *raw = packed;
        buf_init(&packed, 0);
    }
    buf_fini(&packed);
    return rc;
}

static enum err_code push_record(struct pyroscope_writer *w, struct bytes profile, struct record **out, struct err *e)
{
    struct buf message;
    buf_init(&message, SIZE_MAX);
    pyroscope_push_encode(w->labels, profile, (struct bytes){NULL, 0}, &message);
    enum err_code rc = buf_ok(&message) ? request_record_make(&w->x->http, &message, out, e) : pyroscope_no_memory(e);
    buf_fini(&message);
    return rc;
}

struct record *pyroscope_record_of(struct buf *data)
{
    size_t len;
    if (!buf_ok(data))
        return NULL;
    uint8_t *bytes = buf_take(data, &len);
    return record_create(bytes, len);
}

// Never compressed as a whole: servers do not look at Content-Encoding there.
static enum err_code upload_record(const struct pyroscope_writer *w, const struct pyroscope_upload *u,
                                   struct bytes profile, struct record **out, struct err *e)
{
    struct buf data, query;
    buf_init(&data, SIZE_MAX);
    buf_init(&query, SIZE_MAX);
    if (w->replaced != NULL)
        buf_add(&query, w->query.data, w->query.len);
    else
        pyroscope_upload_query(u, &query);
    pyroscope_upload_begin(buf_bytes(&query), "application/octet-stream", &data);
    buf_add(&data, profile.data, profile.len);
    *out = buf_ok(&query) ? pyroscope_record_of(&data) : NULL;
    buf_fini(&query);
    buf_fini(&data);
    return *out != NULL ? ERR_OK : pyroscope_no_memory(e);
}

static enum err_code make_record(struct pyroscope_writer *w, const struct pyroscope_group *g, int64_t time,
                                 struct buf *raw, struct record **out, struct err *e)
{
    const struct pyroscope_upload upload = {
        .labels = w->labels,
        .format = "pprof",
        .from_nanos = time,
        .until_nanos = pyroscope_end(time, pyroscope_group_profile(g)),
        .sample_rate = rate_of(g),
    };
    const size_t raw_bytes = raw->len + w->label_bytes;
    enum err_code rc = gzip_profile(w, raw, e);
    if (rc == ERR_OK)
        rc = w->api == PYROSCOPE_PUSH ? push_record(w, buf_bytes(raw), out, e)
                                      : upload_record(w, &upload, buf_bytes(raw), out, e);
    if (rc != ERR_OK)
        return rc;
    (*out)->encoding = w->api;
    (*out)->raw_bytes = raw_bytes;
    (*out)->profiles = g->count;
    (*out)->samples = (uint64_t)g->count * pyroscope_group_profile(g)->columns->sample_count;
    return ERR_OK;
}

// As many bytes as would be too large by as much as the samples are too many.
static enum err_code too_many_samples(const struct pyroscope_writer *w, uint32_t samples, size_t *size_out,
                                      struct err *e)
{
    const uint64_t max = (uint64_t)w->x->settings->max_profile_samples;
    const double size = (double)w->base.limit.bytes * (double)samples / (double)max;
    *size_out = (size_t)size + 1;
    return err_set(e, ERR_LIMIT, "max_profile_samples: it has %u samples, allowed are %" PRIu64, samples, max);
}

enum err_code pyroscope_write(struct pyroscope_writer *w, const struct pyroscope_group *g, struct record **out,
                              size_t *size_out, struct err *e)
{
    const uint32_t samples = pyroscope_group_profile(g)->columns->sample_count;
    const size_t limit = w->base.limit.bytes;
    int64_t time = pyroscope_writer_time(w, pyroscope_group_profile(g));
    struct buf raw;
    uint32_t shift;
    if (samples > w->x->settings->max_profile_samples)
        return too_many_samples(w, samples, size_out, e);
    if (!take_time(w, &time, &shift))
        return pyroscope_no_memory(e);
    const struct pprof_emission how = {.plain_types = true, .time_nanos = time};
    buf_init(&raw, LARGEST_PROFILE);
    enum err_code rc = pprof_encode_as(g->batch, g->scope, g->first, g->count, &how, &raw, NULL, e);
    *size_out = rc == ERR_LIMIT ? LARGEST_PROFILE : raw.len + w->label_bytes;
    if (rc == ERR_OK && *size_out > limit)
        rc = err_set(e, ERR_LIMIT, "the profile has %zu bytes, allowed are %zu", *size_out, limit);
    if (rc == ERR_OK)
        rc = make_record(w, g, time, &raw, out, e);
    if (rc == ERR_OK)
        (*out)->time_shift = shift;
    buf_fini(&raw);
    return rc;
}

// --- the whole ---

// As the splitter has it: a batch of one pprof.
static enum err_code write_part(const struct request_splitter *self, const struct batch *batch, struct record **out,
                                size_t *size_out, struct err *e)
{
    const struct scope *s = batch->resources[0]->scopes[0];
    const struct pyroscope_group g = {batch, batch->resources[0], s, 0, s->profile_count};
    return pyroscope_write((struct pyroscope_writer *)(uintptr_t)self, &g, out, size_out, e);
}

void pyroscope_writer_init(struct pyroscope_writer *w, struct exporter *self, struct record_list *out)
{
    struct pyroscope_exporter *x = (struct pyroscope_exporter *)self;
    *w = (struct pyroscope_writer){
        .base = {.x = &x->http, .limit = request_size_limit(&x->http), .encode = write_part},
        .x = x,
        .out = out,
        .now_nanos = clock_wall_nanos(self->component.env->clock),
        .api = (enum pyroscope_api)x->settings->api,
    };
    pyroscope_times_init(&w->times);
}

void pyroscope_writer_fini(struct pyroscope_writer *w)
{
    pyroscope_times_fini(&w->times);
}
