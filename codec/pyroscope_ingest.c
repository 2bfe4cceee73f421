// SPDX-License-Identifier: Apache-2.0
#include "codec/pyroscope_ingest.h"

#include "base/clock.h"
#include "codec/compress.h"
#include "codec/multipart.h"
#include "codec/pprof.h"
#include "codec/pyroscope_body.h"
#include "codec/pyroscope_series.h"
#include "codec/pyroscope_text.h"
#include "codec/speedscope.h"
#include "codec/text_lines.h"

enum { MAX_CONFIG_BYTES = 64 << 10, SHORTEST_TEXT = 4 };

// One body on its way.
struct ingest {
    const struct pyroscope_query *q;
    const struct pyroscope_settings *settings;
    struct decode_options options;
    struct pyroscope_meaning meaning;
    struct bytes original, data; // as it came, and inflated
    struct bytes config;         // the form's sample_type_config, inflated
    struct bytes jfr_labels;     // the form's labels, as they came
    bool is_form;
    struct buf storage, config_storage;
    struct batch **out;
    struct decode_report *report;
    struct err *e;
};

// Which time a profile gets: a pprof its own where that makes sense (it is exact, so that profiles of one window stay
// apart; one that is the end of its window becomes the start), else `from`, or `until` where only that was said; the
// formats without a time have the same, and until - from as their duration. Where the client says nothing that makes
// sense, it is the time of arrival.
static void set_options(struct ingest *in)
{
    const struct pyroscope_query *q = in->q;
    const int64_t said = q->from_nanos != 0 ? q->from_nanos : q->until_nanos;
    in->options.limits = in->settings->limits;
    in->options.now_nanos = in->settings->now_nanos;
    in->options.fallback_time_nanos = said != 0 ? said : in->settings->now_nanos;
    if (q->from_nanos != 0 && q->until_nanos > q->from_nanos)
        in->options.fallback_duration_nanos = q->until_nanos - q->from_nanos;
}

// --- a body of a known kind ---

typedef enum err_code meant_decode_fn(struct bytes data, const struct pyroscope_meaning *meaning,
                                      const struct decode_options *options, struct batch **out,
                                      struct decode_report *report, struct err *e);

static meant_decode_fn *const meant[] = {
    [PYROSCOPE_BODY_FOLDED] = pyroscope_folded_decode,
    [PYROSCOPE_BODY_LINES] = pyroscope_lines_decode,
    [PYROSCOPE_BODY_TRIE] = pyroscope_trie_decode,
    [PYROSCOPE_BODY_TREE] = pyroscope_tree_decode,
};

static enum err_code run_decoder(struct ingest *in, enum pyroscope_body body)
{
    switch (body) {
    case PYROSCOPE_BODY_PPROF:
        return pprof_decode_inflated(in->data, in->original, &in->options, in->out, in->report, in->e);
    case PYROSCOPE_BODY_JFR:
        return pyroscope_jfr_pass(in->q, in->original, in->jfr_labels, &in->options, in->out, in->report, in->e);
    case PYROSCOPE_BODY_SPEEDSCOPE: // its profiles have units of their own
        return speedscope_decode(in->data, in->original, &in->options, in->out, in->report, in->e);
    default:
        return meant[body](in->data, &in->meaning, &in->options, in->out, in->report, in->e);
    }
}

static enum err_code decode_with(struct ingest *in, enum pyroscope_body body, const struct pyroscope_series *series,
                                 const char *profile_type)
{
    struct pyroscope_attributes attributes;
    enum err_code code = pyroscope_attributes_make(series, profile_type, in->settings, &attributes, in->e);
    if (code == ERR_OK) {
        pyroscope_attributes_apply(&attributes, &in->options);
        code = run_decoder(in, body);
        if (code == ERR_INVALID || code == ERR_UNSUPPORTED)
            code = pyroscope_body_refuse(in->data, body, in->e);
    }
    pyroscope_attributes_fini(&attributes);
    return code;
}

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

// Node gives its wall profiles the end of their window as their time; from and until are whole seconds.
static bool is_time_of_end(const struct pyroscope_query *q, const struct pyroscope_pprof *p)
{
    const int64_t slack = 2 * NANOS_PER_SECOND;
    return p->duration_nanos > 0 && q->from_nanos > 0 && q->until_nanos - q->from_nanos > slack && p->time_nanos > 0 &&
           distance(p->time_nanos, q->until_nanos) < slack &&
           distance(p->time_nanos - p->duration_nanos, q->from_nanos) < slack;
}

static enum err_code decode_pprof(struct ingest *in)
{
    struct pyroscope_pprof pprof;
    const int64_t now = in->settings->now_nanos, one_day = 86400 * NANOS_PER_SECOND;
    const enum err_code code = pyroscope_pprof_look(in->data, in->config, in->settings->limits, &pprof, in->e);
    if (code != ERR_OK)
        return code;
    // One from the future makes no sense either; of those from long ago decode_time knows.
    in->options.force_fallback_time = now > 0 && pprof.time_nanos > one_day && pprof.time_nanos - one_day > now;
    in->report->guessed_time += in->options.force_fallback_time;
    if (is_time_of_end(in->q, &pprof)) {
        in->options.force_fallback_time = true;
        in->options.fallback_time_nanos = pprof.time_nanos - pprof.duration_nanos;
    }
    return decode_with(in, PYROSCOPE_BODY_PPROF, &in->q->series, pprof.profile_type);
}

static enum err_code decode_jfr(struct ingest *in)
{
    if (in->settings->pass_jfr)
        return decode_with(in, PYROSCOPE_BODY_JFR, &in->q->series, NULL);
    return err_set(in->e, ERR_UNSUPPORTED,
                   "a JFR recording: JFR is not read yet; set `jfr: pass` here and send to a `pyroscope` exporter, "
                   "which hands it on as it came, or have the agent send OTLP (PYROSCOPE_FORMAT=otlp)");
}

static enum err_code decode_meant(struct ingest *in, enum pyroscope_body body)
{
    struct pyroscope_series series = in->q->series;
    in->meaning = pyroscope_meaning_of(series.app_name, in->q->sample_rate);
    series.app_name = in->meaning.service;
    const char *type = body == PYROSCOPE_BODY_SPEEDSCOPE ? NULL : in->meaning.profile_type;
    const enum err_code code = decode_with(in, body, &series, type);
    if (in->q->from_nanos != 0)
        in->report->guessed_time = 0; // they have no other
    return code;
}

// What is sure to be something else is not even tried: an unlucky reader might make sense of it.
static bool fits(struct ingest *in, enum pyroscope_body body)
{
    if (body == PYROSCOPE_BODY_PPROF)
        return true; // its reader is strict
    const enum pyroscope_body sniffed = pyroscope_body_sniff(in->data);
    if (body == PYROSCOPE_BODY_JFR || sniffed == PYROSCOPE_BODY_JFR || sniffed == PYROSCOPE_BODY_PPROF ||
        sniffed == PYROSCOPE_BODY_SPEEDSCOPE)
        return sniffed == body;
    return (body != PYROSCOPE_BODY_FOLDED && body != PYROSCOPE_BODY_LINES) || in->data.len < SHORTEST_TEXT ||
           text_is_probable(in->data);
}

static enum err_code decode_as(struct ingest *in, enum pyroscope_body body)
{
    if (body == PYROSCOPE_BODY_UNSAID)
        body = pyroscope_body_sniff(in->data);
    else if (!fits(in, body))
        return pyroscope_body_refuse(in->data, body, in->e);
    if (body == PYROSCOPE_BODY_UNSAID && in->is_form)
        body = PYROSCOPE_BODY_PPROF; // as every client means it
    if (body == PYROSCOPE_BODY_UNSAID)
        return pyroscope_body_refuse(in->data, body, in->e);
    in->report->format = pyroscope_body_name(body);
    if (body == PYROSCOPE_BODY_PPROF)
        return decode_pprof(in);
    return body == PYROSCOPE_BODY_JFR ? decode_jfr(in) : decode_meant(in, body);
}

// --- what comes around it ---

static enum err_code no_profiles(struct ingest *in)
{
    struct builder *b = builder_create(0);
    const enum err_code code = builder_finish(b, in->out, in->e);
    builder_destroy(&b);
    return code;
}

static enum err_code ingest_payload(struct ingest *in, struct bytes payload, enum pyroscope_body body)
{
    in->original = payload;
    if (payload.len == 0 && (body == PYROSCOPE_BODY_FOLDED || body == PYROSCOPE_BODY_LINES))
        return no_profiles(in); // of a program that did nothing
    if (payload.len == 0)
        return err_set(in->e, ERR_INVALID, "the body is empty");
    const enum err_code code =
        decode_inflate(payload, in->settings->limits, &in->storage, &in->data, in->report, in->e);
    return code == ERR_OK ? decode_as(in, body) : code;
}

// One that cannot be read says nothing, see pyroscope_pprof_look.
static enum err_code take_config(struct ingest *in, const struct multipart_part *part)
{
    const struct decode_limits limits = {.max_inflated_bytes = MAX_CONFIG_BYTES};
    struct decode_report unwanted;
    const enum err_code code =
        part == NULL ? ERR_INVALID
                     : decode_inflate(part->body, &limits, &in->config_storage, &in->config, &unwanted, in->e);
    if (code == ERR_INVALID || code == ERR_LIMIT)
        in->config = (struct bytes){0};
    return code == ERR_MEMORY ? code : ERR_OK;
}

static enum err_code ingest_form(struct ingest *in, const struct multipart *form)
{
    const struct multipart_part *profile = multipart_find(form, "profile"), *jfr = multipart_find(form, "jfr");
    const struct multipart_part *previous = multipart_find(form, "prev_profile");
    const struct multipart_part *labels = multipart_find(form, "labels");
    const bool is_jfr = jfr != NULL && (in->q->format == PYROSCOPE_BODY_JFR || profile == NULL);
    const struct multipart_part *part = is_jfr ? jfr : profile;
    if (previous != NULL && previous->body.len != 0)
        return err_set(
            in->e, ERR_INVALID,
            "part prev_profile: profiles to be subtracted from each other are not read; update the SDK, which "
            "then sends differences itself");
    if (part == NULL || part->body.len == 0)
        return no_profiles(in);
    in->is_form = true;
    enum err_code code = take_config(in, multipart_find(form, "sample_type_config"));
    if (code != ERR_OK)
        return code;
    *in->e = (struct err){0};
    in->jfr_labels = labels != NULL ? labels->body : (struct bytes){0};
    code = ingest_payload(in, part->body, is_jfr ? PYROSCOPE_BODY_JFR : in->q->format);
    if (code != ERR_OK && code != ERR_UNSUPPORTED)
        err_prefix(in->e, "part %s", is_jfr ? "jfr" : "profile");
    return code;
}

// A profile that only its Content-Type calls a form.
static bool is_bare(struct bytes body)
{
    const enum pyroscope_body sniffed = pyroscope_body_sniff(body);
    return compression_detect(body) != COMPRESSION_NONE || sniffed == PYROSCOPE_BODY_PPROF ||
           sniffed == PYROSCOPE_BODY_JFR;
}

static enum err_code ingest_body(struct ingest *in, struct bytes content_type, struct bytes body)
{
    struct multipart form;
    const enum pyroscope_body said = in->q->format;
    if (!multipart_is(content_type))
        return ingest_payload(in, body, said != PYROSCOPE_BODY_UNSAID ? said : pyroscope_body_of_type(content_type));
    const enum err_code code = multipart_parse(content_type, body, &form, in->e);
    if (code == ERR_OK)
        return ingest_form(in, &form);
    if (code != ERR_INVALID || !is_bare(body))
        return code;
    *in->e = (struct err){0};
    return ingest_payload(in, body, said);
}

enum err_code pyroscope_ingest_decode(const struct pyroscope_query *q, struct bytes content_type, struct bytes body,
                                      const struct pyroscope_settings *settings, struct batch **out,
                                      struct decode_report *report, struct err *e)
{
    struct ingest in = {.q = q, .settings = settings, .out = out, .report = report, .e = e};
    *out = NULL;
    *report = (struct decode_report){0};
    *e = (struct err){0};
    set_options(&in);
    buf_init(&in.storage, SIZE_MAX);
    buf_init(&in.config_storage, SIZE_MAX);
    const enum err_code code = ingest_body(&in, content_type, body);
    buf_fini(&in.storage);
    buf_fini(&in.config_storage);
    return code;
}
