// SPDX-License-Identifier: Apache-2.0
#include "receivers/otlp_request.h"

#include "base/mem.h"
#include "codec/otlp_json.h"
#include "codec/otlp_origin.h"

struct otlp_request {
    struct upload upload;
    struct otlp_listener *listener;
    enum otlp_speech speech;
    bool says_current;
    struct otlp_layout_finding layout;
};

static struct otlp_receiver *receiver(const struct otlp_request *r)
{
    return r->listener->receiver;
}

// The options' memory is what the claim has left beside the bytes of the request.
static enum err_code read_once(struct otlp_request *r, struct otlp_arrival *a, const struct decode_options *options,
                               struct batch **out, struct err *e)
{
    struct decode_report report = {0};
    enum err_code rc;
    if (r->speech == OTLP_SPEAKS_JSON)
        rc = otlp_json_decode(otlp_arrival_request(a), options, out, &report, e);
    else
        rc = otlp_arrive(a, options, out, &report, e);
    if (rc != ERR_OK)
        return rc;
    r->layout = report.layout;
    r->upload.rejected = report.rejected_profiles;
    if (report.rejected_profiles > 0)
        *e = report.first_bad;
    return ERR_OK;
}

struct reading {
    struct otlp_request *request;
    struct otlp_arrival *arrival;
};

static enum err_code decode(void *arg, const struct decode_limits *limits, struct batch **out, struct err *e)
{
    const struct reading *reading = arg;
    struct otlp_request *r = reading->request;
    struct otlp_layout_rules layouts = receiver(r)->layouts;
    layouts.hints.says_current = r->says_current;
    const struct decode_options options = {
        .limits = limits,
        .layouts = &layouts,
        .keep_good_profiles = true,
        .resource_attributes = r->upload.receiver->resource_attributes,
        .resource_attribute_count = r->upload.receiver->resource_attribute_count,
    };
    return read_once(r, reading->arrival, &options, out, e);
}

// The body goes to the arrival, and with it to the batch or to the end.
static enum err_code read_request(struct upload *u, struct batch **out)
{
    struct otlp_request *r = (struct otlp_request *)u;
    struct otlp_arrival a = {.buffer = u->body, .body = u->payload, .compression = u->options.compression};
    struct reading reading = {r, &a};
    enum err_code rc = ERR_OK;
    u->body = NULL;
    buf_init(&a.inflated, SIZE_MAX);
    if (a.compression != COMPRESSION_NONE)
        rc = upload_inflate(u, &a.inflated);
    if (rc == ERR_OK && otlp_arrival_request(&a).len == 0 && r->speech == OTLP_SPEAKS_JSON)
        rc = err_set(&u->e, ERR_INVALID, "the body is empty: not JSON");
    if (rc == ERR_OK)
        rc = upload_decode(u, a.inflated.capacity, decode, &reading, out);
    otlp_arrival_fini(&a);
    return rc;
}

static void answer_request(struct upload *u, struct http_exchange *x, const struct upload_outcome *outcome)
{
    const struct otlp_request *r = (struct otlp_request *)u;
    otlp_answer(r->listener, x, r->speech, outcome);
}

static void note_taken(struct upload *u)
{
    struct otlp_request *r = (struct otlp_request *)u;
    otlp_senders_note(receiver(r)->senders, u->sender, &r->layout);
}

static void end_request(struct upload *u)
{
    struct otlp_receiver *receiver_of = receiver((struct otlp_request *)u);
    free(u);
    open_work_request_ended(&receiver_of->work);
}

void otlp_request_begin(struct otlp_listener *l, struct http_exchange *x, const struct otlp_request_options *options)
{
    static const struct upload_kind kind = {read_request, answer_request, note_taken, end_request};
    struct otlp_request *r = MEM_NEW(struct otlp_request);
    r->listener = l;
    r->speech = options->speech;
    r->says_current = options->says_current;
    l->receiver->work.requests++;
    upload_begin(&r->upload, &kind, &l->receiver->receiver, x, &options->upload,
                 l->receiver->auth[options->upload.transport]);
}
