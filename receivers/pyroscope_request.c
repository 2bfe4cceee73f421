// SPDX-License-Identifier: Apache-2.0
// Uploads of Pyroscope's clients: POST /ingest and Push.
#include "base/mem.h"
#include "codec/pyroscope_ingest.h"
#include "codec/pyroscope_push.h"
#include "receivers/pyroscope.h"

#include <string.h>

enum {
    GZIP_WITHIN = 4 << 10,     // of a body: labels and heads of parts come before the profile
    MEMORY_PER_GZIP_BYTE = 40, // inflated, and what the batch takes while it grows
};

struct pyroscope_request {
    struct upload upload;
    struct pyroscope_receiver *receiver;
    struct connect_call call;     // Push
    struct pyroscope_query query; // /ingest
    struct arena texts;           // of the head, which may be gone before the worker is done
    struct bytes content_type, user_agent;
    struct key_value *attributes; // the receiver's and the tenant's; in texts
    uint32_t attribute_count;
    uint64_t repaired_times;
};

static struct pyroscope_request *request_create(struct pyroscope_receiver *r)
{
    struct pyroscope_request *q = MEM_NEW(struct pyroscope_request);
    arena_init(&q->texts, 0);
    q->receiver = r;
    r->work.requests++;
    return q;
}

static void request_destroy(struct pyroscope_request *q)
{
    struct pyroscope_receiver *r = q->receiver;
    pyroscope_query_fini(&q->query);
    arena_fini(&q->texts);
    free(q);
    open_work_request_ended(&r->work);
}

static struct bytes copy_header(struct pyroscope_request *q, const struct http_exchange *x, const char *name)
{
    const char *value = http_exchange_header(x, name, NULL);
    if (value == NULL)
        return (struct bytes){NULL, 0};
    return bytes_from_text(arena_copy_text(&q->texts, value, strlen(value)));
}

// The configuration's attributes, and the tenant as one more.
static void take_attributes(struct pyroscope_request *q, struct bytes tenant)
{
    const struct receiver *self = &q->receiver->receiver;
    const char *key = q->receiver->settings->tenant.attribute;
    uint32_t count = self->resource_attribute_count;
    q->attributes = arena_alloc(&q->texts, (count + 1) * sizeof *q->attributes);
    for (uint32_t i = 0; i < count; i++)
        q->attributes[i] = self->resource_attributes[i];
    q->attribute_count = count;
    if (tenant.len == 0 || key == NULL || key[0] == '\0')
        return;
    const char *text = arena_copy_text(&q->texts, (const char *)tenant.data, tenant.len);
    q->attributes[q->attribute_count++] = (struct key_value){
        .key = bytes_from_text(key), .value = {.kind = VALUE_STRING, .bytes = {(const uint8_t *)text, tenant.len}}};
}

// --- worker thread ---

static struct pyroscope_settings settings_for(const struct pyroscope_request *q, const struct decode_limits *limits)
{
    const struct pyroscope_receiver_settings *s = q->receiver->settings;
    return (struct pyroscope_settings){
        .limits = limits,
        .resource_attributes = q->attributes,
        .resource_attribute_count = q->attribute_count,
        .labels_to_scope = s->labels == PYROSCOPE_LABELS_TO_SCOPE,
        .pass_jfr = s->jfr == PYROSCOPE_JFR_PASS,
        .now_nanos = clock_wall_nanos(q->receiver->receiver.component.env->clock),
    };
}

struct reading {
    struct pyroscope_request *request;
    struct bytes body;
    bool is_push;
};

// What the body inflates to once more, inside, and the batch share what the claim has.
static struct decode_limits share_limits(const struct upload *u, const struct decode_limits *limits)
{
    struct decode_limits shared = *limits;
    size_t half = limits->max_batch_bytes / 2 + 1;
    shared.inflated_bytes_name = u->options.limit_name;
    shared.max_inflated_bytes = half < u->options.max_bytes ? half : u->options.max_bytes;
    shared.max_batch_bytes = half;
    return shared;
}

static enum err_code decode(void *arg, const struct decode_limits *limits, struct batch **out, struct err *e)
{
    const struct reading *reading = arg;
    struct pyroscope_request *q = reading->request;
    const struct decode_limits shared = share_limits(&q->upload, limits);
    const struct pyroscope_settings settings = settings_for(q, &shared);
    struct decode_report report = {0};
    enum err_code rc;
    if (reading->is_push)
        rc = pyroscope_push_decode(reading->body, q->call.json, q->user_agent, &settings, out, &report, e);
    else
        rc = pyroscope_ingest_decode(&q->query, q->content_type, reading->body, &settings, out, &report, e);
    if (rc != ERR_OK) {
        bool for_want_of_memory =
            report.batch_full || (report.inflated_full && shared.max_inflated_bytes < q->upload.options.max_bytes);
        q->upload.limit_is_final = !for_want_of_memory;
        return rc;
    }
    q->repaired_times = report.repaired_time + report.guessed_time + q->query.repaired_times;
    q->upload.rejected = report.rejected_profiles;
    if (report.rejected_profiles > 0)
        *e = report.first_bad;
    return ERR_OK;
}

// Some say gzip of a body that is not, or is so inside.
static bool is_what_it_says(const struct upload *u)
{
    enum compression said = u->options.compression;
    return (said != COMPRESSION_GZIP && said != COMPRESSION_ZSTD) || compression_detect(u->payload) == said;
}

// JSON becomes protobuf, and texts with escapes become others: together at most so many times its size.
enum { JSON_COPIES = 2 };

static enum err_code charge_json(struct upload *u, size_t json_bytes, size_t *other)
{
    const size_t limit = u->claim.budget->limit, more = JSON_COPIES * json_bytes;
    *other += more;
    return claim_at_least(&u->claim, more < limit - u->claim.bytes ? u->claim.bytes + more : limit, &u->e);
}

// Most profiles are gzip inside the body. One that is read with too little memory is read again with more: a guess spares that,
// where there is room for it.
static void claim_for_gzip(struct upload *u, struct bytes body)
{
    static const uint8_t magic[] = {0x1f, 0x8b, 0x08};
    const size_t looked_at = body.len < GZIP_WITHIN ? body.len : GZIP_WITHIN;
    struct err no_room;
    if (looked_at == 0 || memmem(body.data, looked_at, magic, sizeof magic) == NULL)
        return;
    const enum err_code rc = claim_at_least(&u->claim, u->claim.bytes + MEMORY_PER_GZIP_BYTE * body.len, &no_room);
    (void)rc; // what is held stays, and may suffice
}

static enum err_code read_body(struct upload *u, bool is_push, struct batch **out)
{
    struct reading reading = {(struct pyroscope_request *)u, u->payload, is_push};
    struct buf inflated;
    enum err_code rc = ERR_OK;
    buf_init(&inflated, SIZE_MAX);
    if (u->options.compression != COMPRESSION_NONE && is_what_it_says(u)) {
        rc = upload_inflate(u, &inflated);
        reading.body = buf_bytes(&inflated);
    }
    size_t other = inflated.capacity;
    if (rc == ERR_OK)
        claim_for_gzip(u, reading.body);
    if (rc == ERR_OK && is_push && reading.request->call.json)
        rc = charge_json(u, reading.body.len, &other);
    if (rc == ERR_OK)
        rc = upload_decode(u, other, decode, &reading, out);
    buf_fini(&inflated);
    return rc;
}

static enum err_code read_ingest(struct upload *u, struct batch **out)
{
    return read_body(u, false, out);
}

static enum err_code read_push(struct upload *u, struct batch **out)
{
    return read_body(u, true, out);
}

// --- loop thread ---

static void answer_ingest(struct upload *u, struct http_exchange *x, const struct upload_outcome *outcome)
{
    pyroscope_answer(((struct pyroscope_request *)u)->receiver, x, outcome);
}

static void answer_push(struct upload *u, struct http_exchange *x, const struct upload_outcome *outcome)
{
    const struct pyroscope_request *q = (struct pyroscope_request *)u;
    pyroscope_answer_push(q->receiver, x, &q->call, outcome);
}

static void note_taken(struct upload *u)
{
    const struct pyroscope_request *q = (struct pyroscope_request *)u;
    metric_add(q->receiver->repaired_times, (int64_t)q->repaired_times);
}

static void end_request(struct upload *u)
{
    request_destroy((struct pyroscope_request *)u);
}

static struct upload_options options_for(const struct pyroscope_receiver *r)
{
    return (struct upload_options){
        .max_bytes = (size_t)r->settings->max_body_bytes,
        .limit_name = "max_request_body_size",
    };
}

// False: *outcome says why not.
static bool take_tenant(struct pyroscope_request *q, const struct http_exchange *x, struct upload_outcome *outcome)
{
    struct bytes tenant;
    const char *why;
    if (!tenant_of(x, &q->receiver->settings->tenant, &tenant, &why)) {
        *outcome = (struct upload_outcome){.fate = UPLOAD_UNAUTHENTICATED, .text = why};
        return false;
    }
    take_attributes(q, tenant);
    return true;
}

static bool take_query(struct pyroscope_request *q, struct bytes query, struct upload_outcome *outcome, struct err *e)
{
    int64_t now = clock_wall_nanos(q->receiver->receiver.component.env->clock);
    if (pyroscope_query_parse(query, now, &q->query, e) == ERR_OK)
        return true;
    *outcome = (struct upload_outcome){.fate = UPLOAD_NO_NAME, .text = e->text};
    return false;
}

// Many of these clients say nothing of what they hear: somebody has to.
static void note_refusal(struct pyroscope_receiver *r, const struct http_exchange *x, const struct upload_outcome *o)
{
    receiver_count(&r->receiver, 0, RECEIVER_REFUSED, 1);
    log_warn(&r->receiver.component.log, "%s: a request is refused: %s", http_exchange_head(x)->peer->address,
             o->text != NULL ? o->text : "its encoding is none of " UPLOAD_ENCODINGS);
}

void pyroscope_begin_ingest(struct pyroscope_receiver *r, struct http_exchange *x, const struct http_head *head)
{
    static const struct upload_kind kind = {read_ingest, answer_ingest, note_taken, end_request};
    struct pyroscope_request *q = request_create(r);
    struct upload_options options = options_for(r);
    struct upload_outcome outcome = {.fate = UPLOAD_NO_ENCODING};
    struct err e;
    q->content_type = copy_header(q, x, "content-type");
    if (!upload_encoding_of(x, "content-encoding", &options.compression) || !take_tenant(q, x, &outcome) ||
        !take_query(q, head->query, &outcome, &e)) {
        note_refusal(r, x, &outcome);
        pyroscope_answer(r, x, &outcome);
        request_destroy(q);
        return;
    }
    q->query.series.user_agent = copy_header(q, x, "user-agent");
    upload_begin(&q->upload, &kind, &r->receiver, x, &options, r->auth);
}

void pyroscope_begin_push(struct pyroscope_receiver *r, struct http_exchange *x)
{
    static const struct upload_kind kind = {read_push, answer_push, note_taken, end_request};
    struct connect_call call;
    if (!connect_call_begin(x, &call))
        return;
    struct pyroscope_request *q = request_create(r);
    struct upload_options options = options_for(r);
    struct upload_outcome outcome = {.fate = UPLOAD_NO_ENCODING};
    q->call = call;
    q->user_agent = copy_header(q, x, "user-agent");
    options.is_framed = connect_prefix_bytes(&call) > 0;
    options.timeout_nanos = call.timeout_nanos;
    if (!upload_encoding_named(call.encoding, &options.compression) || !take_tenant(q, x, &outcome)) {
        note_refusal(r, x, &outcome);
        pyroscope_answer_push(r, x, &call, &outcome);
        request_destroy(q);
        return;
    }
    upload_begin(&q->upload, &kind, &r->receiver, x, &options, r->auth);
}
