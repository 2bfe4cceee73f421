// SPDX-License-Identifier: Apache-2.0
#include "codec/pyroscope_push.h"

#include "codec/pprof.h"
#include "codec/pyroscope_push_reader.h"
#include "codec/pyroscope_series.h"
#include "codec/wire.h"
#include "profile/merge.h"

struct push {
    const struct pyroscope_settings *settings;
    struct bytes user_agent;
    struct decode_report *report;
    struct err *e;
    enum err_code code;        // of the whole request; once it is set, nothing more is read
    struct decode_limits left; // for the profiles that are still to come
    struct buf inflated;       // of the current one
    struct batch *first;       // the only good one so far, or
    struct builder *builder;   // those up to now
    uint64_t samples, sample_types;
    uint32_t series, profile; // where it is, from 1
    bool room_is_out;
};

static bool is_message(const struct wire_field *f, uint32_t number)
{
    return f->number == number && f->type == WIRE_LEN;
}

// Once all is gone a byte remains: 0 would be no limit.
static void spend(size_t *left, size_t used)
{
    if (*left != 0)
        *left = used < *left ? *left - used : 1;
}

// --- what becomes of a profile ---

static void fail(struct push *p, const struct err *why)
{
    *p->e = *why;
    p->code = why->code;
}

static void reject(struct push *p, const struct err *why, uint32_t profiles)
{
    if (profiles == 0) // a series without any: nothing is lost
        return;
    if (p->report->rejected_profiles == 0)
        p->report->first_bad = *why;
    p->report->rejected_profiles += profiles;
}

// Joined one by one, so that never more than one lies beside what they become.
static void take(struct push *p, struct batch *b)
{
    p->samples += p->report->samples;
    p->sample_types += p->report->sample_types;
    p->left.max_samples -= (uint32_t)p->report->samples;
    spend(&p->left.max_batch_bytes, batch_memory_bytes(b));
    if (p->first == NULL && p->builder == NULL) {
        p->first = b;
        return;
    }
    if (p->builder == NULL) {
        p->builder = builder_create(p->settings->limits->max_batch_bytes);
        builder_add_batch(p->builder, p->first);
        batch_unref(&p->first);
    }
    builder_add_batch(p->builder, b);
    batch_unref(&b);
}

// For this one and those behind it. Where others took some of it before, the figures are those of all.
static enum err_code room_is_out(struct push *p, struct err *why, const char *what, size_t left, size_t allowed)
{
    p->room_is_out = true;
    if (left < allowed)
        err_set(why, ERR_LIMIT, "%s: the profiles up to here take more than the %zu bytes allowed for all of a request",
                what, allowed);
    return ERR_LIMIT;
}

static const char *limit_name(const struct decode_limits *l)
{
    return l->inflated_bytes_name != NULL ? l->inflated_bytes_name : "max_inflated_size";
}

static enum err_code inflate(struct push *p, struct bytes raw, struct bytes *out, struct err *why)
{
    buf_clear(&p->inflated);
    enum err_code code = decode_inflate(raw, &p->left, &p->inflated, out, p->report, why);
    spend(&p->left.max_inflated_bytes, code == ERR_OK ? out->len : p->inflated.len);
    return code;
}

static enum err_code decode(struct push *p, const struct pyroscope_attributes *attributes, struct bytes raw,
                            struct batch **out, struct err *why)
{
    const struct decode_limits left = p->left, *all = p->settings->limits;
    struct decode_options options = {
        .limits = &left, .now_nanos = p->settings->now_nanos, .fallback_time_nanos = p->settings->now_nanos};
    struct bytes inflated;
    enum err_code code = inflate(p, raw, &inflated, why);
    if (code == ERR_LIMIT)
        return room_is_out(p, why, limit_name(all), left.max_inflated_bytes, all->max_inflated_bytes);
    pyroscope_attributes_apply(attributes, &options);
    if (code == ERR_OK)
        code = pprof_decode_inflated(inflated, raw, &options, out, p->report, why);
    if (code == ERR_LIMIT && p->report->batch_full)
        return room_is_out(p, why, "memory", left.max_batch_bytes, all->max_batch_bytes);
    return code;
}

static void read_profile(struct push *p, const struct pyroscope_attributes *attributes, struct bytes raw)
{
    struct err why = {0};
    struct batch *b = NULL;
    enum err_code code = decode(p, attributes, raw, &b, &why);
    if (code == ERR_OK) {
        take(p, b);
        return;
    }
    err_prefix(&why, "series %u, profile %u", p->series, p->profile);
    if (code == ERR_UNSUPPORTED)
        err_set(&why, code, "%s; Push takes pprof only", why.text);
    if (p->room_is_out || code == ERR_MEMORY)
        fail(p, &why);
    else
        reject(p, &why, 1);
}

// --- messages ---

static struct bytes find_raw_profile(struct bytes sample)
{
    struct wire_reader r;
    struct wire_field f;
    struct bytes raw = {NULL, 0};
    wire_reader_init(&r, sample);
    while (wire_next(&r, &f))
        if (is_message(&f, PUSH_SAMPLE_RAW_PROFILE))
            raw = f.bytes;
    return raw;
}

static void read_samples(struct push *p, const struct pyroscope_attributes *attributes, struct bytes series)
{
    struct wire_reader r;
    struct wire_field f;
    p->profile = 0;
    wire_reader_init(&r, series);
    while (p->code == ERR_OK && wire_next(&r, &f)) {
        if (!is_message(&f, PUSH_SERIES_SAMPLES))
            continue;
        p->profile++;
        read_profile(p, attributes, find_raw_profile(f.bytes));
    }
}

static enum err_code read_label(struct bytes message, struct pyroscope_labels *labels, struct err *why)
{
    struct wire_reader r;
    struct wire_field f;
    struct pyroscope_label l = {{NULL, 0}, {NULL, 0}};
    wire_reader_init(&r, message);
    while (wire_next(&r, &f)) {
        if (is_message(&f, PUSH_LABEL_NAME))
            l.name = f.bytes;
        else if (is_message(&f, PUSH_LABEL_VALUE))
            l.value = f.bytes;
    }
    if (r.error != NULL)
        return err_set(why, ERR_INVALID, "label %zu: %s", labels->count + 1, r.error);
    if (labels->count == PYROSCOPE_MAX_LABELS)
        return err_set(why, ERR_LIMIT, "it has more than the %d labels allowed", PYROSCOPE_MAX_LABELS);
    return pyroscope_labels_add(labels, l.name, l.value) ? ERR_OK : err_set(why, ERR_MEMORY, "out of memory");
}

static enum err_code read_labels(struct bytes series, struct pyroscope_labels *labels, struct err *why)
{
    struct wire_reader r;
    struct wire_field f;
    enum err_code code = ERR_OK;
    wire_reader_init(&r, series);
    while (code == ERR_OK && wire_next(&r, &f))
        if (is_message(&f, PUSH_SERIES_LABELS))
            code = read_label(f.bytes, labels, why);
    if (r.error != NULL) // before anything of it is taken
        return err_set(why, ERR_INVALID, "%s at byte %zu of it", r.error, wire_offset(&r));
    return code;
}

// Of what can be read; a series that is damaged before its first one has one all the same.
static uint32_t count_samples(struct bytes series)
{
    struct wire_reader r;
    struct wire_field f;
    uint32_t count = 0;
    wire_reader_init(&r, series);
    while (wire_next(&r, &f))
        count += is_message(&f, PUSH_SERIES_SAMPLES);
    return count == 0 && r.error != NULL ? 1 : count;
}

static void read_series(struct push *p, struct bytes message)
{
    struct pyroscope_series series = {.user_agent = p->user_agent};
    struct pyroscope_attributes attributes;
    struct err why = {0};
    pyroscope_labels_init(&series.labels);
    enum err_code code = read_labels(message, &series.labels, &why);
    if (code == ERR_OK) {
        code = pyroscope_attributes_make(&series, NULL, p->settings, &attributes, &why);
        if (code == ERR_OK)
            read_samples(p, &attributes, message);
        pyroscope_attributes_fini(&attributes);
    }
    pyroscope_labels_fini(&series.labels);
    if (code == ERR_OK)
        return;
    err_prefix(&why, "series %u", p->series);
    if (code == ERR_MEMORY)
        fail(p, &why);
    else
        reject(p, &why, count_samples(message));
}

// --- the request ---

// Before any work: a request that is cut off, or too long, is refused as a whole.
static enum err_code check_request(struct bytes request, struct err *e)
{
    struct wire_reader r;
    struct wire_field f;
    uint64_t profiles = 0, series = 0;
    wire_reader_init(&r, request);
    while (wire_next(&r, &f)) {
        if (!is_message(&f, PUSH_REQUEST_SERIES))
            continue;
        series++;
        profiles += count_samples(f.bytes);
    }
    if (r.error != NULL)
        return err_set(e, ERR_INVALID, "not a PushRequest: %s at byte %zu", r.error, wire_offset(&r));
    if (profiles == 0)
        return err_set(e, ERR_INVALID, "no profiles received");
    uint64_t most = profiles > series ? profiles : series;
    if (most > PYROSCOPE_MAX_SERIES)
        return err_set(e, ERR_LIMIT, "the request has %llu %s, allowed are %d: push fewer at a time",
                       (unsigned long long)most, most == profiles ? "profiles" : "series", PYROSCOPE_MAX_SERIES);
    return ERR_OK;
}

static void read_request(struct push *p, struct bytes request)
{
    struct wire_reader r;
    struct wire_field f;
    p->code = check_request(request, p->e);
    wire_reader_init(&r, request);
    while (p->code == ERR_OK && wire_next(&r, &f)) {
        if (!is_message(&f, PUSH_REQUEST_SERIES))
            continue;
        p->series++;
        read_series(p, f.bytes);
    }
}

static enum err_code finish(struct push *p, struct batch **out)
{
    if (p->code == ERR_OK && p->builder != NULL)
        p->code = decode_finish(p->builder, out, p->report, p->e);
    else if (p->code == ERR_OK && p->first != NULL)
        *out = batch_ref(p->first);
    else if (p->code == ERR_OK)
        fail(p, &p->report->first_bad);
    if (p->code == ERR_UNSUPPORTED)
        p->code = p->e->code = ERR_INVALID;
    p->report->samples = p->samples;
    p->report->sample_types = p->sample_types;
    return p->code;
}

enum err_code pyroscope_push_decode(struct bytes body, bool json, struct bytes user_agent,
                                    const struct pyroscope_settings *settings, struct batch **out,
                                    struct decode_report *report, struct err *e)
{
    struct push p = {
        .settings = settings, .user_agent = user_agent, .report = report, .e = e, .left = *settings->limits};
    struct buf wire;
    *out = NULL;
    *report = (struct decode_report){.format = "pprof"};
    buf_init(&wire, SIZE_MAX);
    buf_init(&p.inflated, SIZE_MAX);
    if (json)
        p.code = pyroscope_push_from_json(body, &wire, e);
    if (p.code == ERR_OK)
        read_request(&p, json ? buf_bytes(&wire) : body);
    enum err_code code = finish(&p, out);
    batch_unref(&p.first);
    builder_destroy(&p.builder);
    buf_fini(&p.inflated);
    buf_fini(&wire);
    return code;
}
