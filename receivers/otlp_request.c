// SPDX-License-Identifier: Apache-2.0
#include "receivers/otlp_request.h"

#include "base/mem.h"
#include "codec/otlp_json.h"
#include "codec/otlp_origin.h"
#include "pipeline/claim.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    // Of memory for each byte of a body, while it is read: what is taken before, corrected when more is needed.
    MEMORY_PER_BYTE = 2,
    MEMORY_PER_COMPRESSED_BYTE = 8,
    MEMORY_AT_LEAST = 64 << 10,
    FIRST_ROOM = 16 << 10,
};

struct otlp_request {
    struct job job;
    struct loop_task task;
    struct otlp_listener *listener;
    struct http_exchange *exchange; // NULL: nobody waits for the answer
    struct otlp_request_options options;
    int64_t deadline_nanos; // 0 = none
    struct claim claim;
    uint8_t *body;
    size_t body_len;
    struct bytes payload; // of it
    bool begun;           // the body has come
    bool held;
    size_t too_large;               // the length a gRPC message says it has, when that is too much
    bool never;                     // there will never be room for the body
    struct server_attempt *attempt; // NULL: who sends it is known
    const char *challenge;          // of an attempt that failed
    _Atomic bool gone;              // the peer is: delivering would make a duplicate of what it sends again
    uint64_t samples;
    struct otlp_layout_finding layout;
    char sender[sizeof((struct http_peer *)NULL)->address];
    uint64_t rejected; // profiles that cannot be read; e says why the first
    enum otlp_fate fate;
    struct err e;
};

static struct otlp_receiver *receiver(const struct otlp_request *r)
{
    return r->listener->receiver;
}

static const struct component_env *env(const struct otlp_request *r)
{
    return receiver(r)->receiver.component.env;
}

static void count(const struct otlp_request *r, enum receiver_outcome outcome, uint64_t samples)
{
    unsigned transport = r->options.speech == OTLP_SPEAKS_GRPC ? OTLP_GRPC : OTLP_HTTP;
    receiver_count(&receiver(r)->receiver, transport, outcome, samples);
}

// --- loop thread ---

static size_t prefix_bytes(const struct otlp_request *r)
{
    return r->options.speech == OTLP_SPEAKS_GRPC ? GRPC_PREFIX_BYTES : 0;
}

static void end_request(struct otlp_request *r)
{
    struct otlp_receiver *receiver_of = receiver(r);
    claim_end(&r->claim);
    server_attempt_forget(&r->attempt);
    free(r->body);
    free(r);
    receiver_of->requests--;
    otlp_receiver_maybe_stopped(receiver_of);
}

static void answer(struct otlp_request *r, const struct otlp_outcome *outcome)
{
    struct http_exchange *x = r->exchange;
    r->exchange = NULL;
    if (x != NULL)
        otlp_answer(r->listener, x, r->options.speech, outcome);
}

static void answer_and_end(struct otlp_request *r, enum otlp_fate fate, const char *text)
{
    answer(r, &(struct otlp_outcome){.fate = fate, .text = text, .challenge = r->challenge});
    end_request(r);
}

// False: answered, the request may not come in.
static bool is_admitted(struct otlp_listener *l, struct http_exchange *x, enum otlp_speech speech,
                        struct server_attempt **attempt_out)
{
    struct server_auth *auth = l->receiver->auth[speech == OTLP_SPEAKS_GRPC ? OTLP_GRPC : OTLP_HTTP];
    struct auth_answer told;
    if (auth == NULL)
        return true;
    enum auth_result result = server_auth_check(auth, http_exchange_head(x), &told, attempt_out);
    struct otlp_outcome outcome = {.fate = OTLP_UNAUTHENTICATED, .text = told.reason, .challenge = told.challenge};
    if (result == AUTH_BUSY)
        outcome = (struct otlp_outcome){.fate = OTLP_BUSY, .text = told.reason};
    if (result == AUTH_REFUSED || result == AUTH_BUSY)
        otlp_answer(l, x, speech, &outcome);
    return result == AUTH_ACCEPTED || result == AUTH_SLOW;
}

void otlp_request_begin(struct otlp_listener *l, struct http_exchange *x, const struct otlp_request_options *options)
{
    struct server_attempt *attempt = NULL;
    if (!is_admitted(l, x, options->speech, &attempt))
        return;
    struct otlp_request *r = MEM_NEW(struct otlp_request);
    r->attempt = attempt;
    r->listener = l;
    r->exchange = x;
    r->options = *options;
    snprintf(r->sender, sizeof r->sender, "%s", http_exchange_head(x)->peer->address);
    r->claim.budget = env(r)->budget;
    l->receiver->requests++;
    if (options->timeout_nanos > 0)
        r->deadline_nanos = clock_monotonic_nanos(env(r)->clock) + options->timeout_nanos;
    http_exchange_set_context(x, r);
    http_exchange_take_body(x, options->max_bytes + prefix_bytes(r));
}

static size_t memory_for(const struct otlp_request *r, size_t bytes)
{
    size_t limit = env(r)->budget->limit;
    size_t each = r->options.compression == COMPRESSION_NONE ? MEMORY_PER_BYTE : MEMORY_PER_COMPRESSED_BYTE;
    size_t wanted = bytes > limit / each ? limit : bytes * each + MEMORY_AT_LEAST;
    return wanted < limit ? wanted : limit;
}

// Bodies leave room to decode as many of them as there are workers: what has come shall not be refused.
static bool charge_body(struct otlp_request *r, size_t bytes)
{
    struct budget *b = env(r)->budget;
    size_t each = memory_for(r, bytes), half = b->limit / 2, workers = workers_count(env(r)->workers);
    size_t spare = each > half / workers ? half : each * workers;
    return claim_exactly(&r->claim, bytes + spare, NULL) == ERR_OK && claim_exactly(&r->claim, bytes, NULL) == ERR_OK;
}

// What a body will have in the end, as far as it is known.
static size_t wanted_room(const struct otlp_request *r, struct bytes so_far, size_t need)
{
    const struct http_head *head = http_exchange_head(r->exchange);
    size_t message = prefix_bytes(r) > 0 ? grpc_message_length(so_far) : 0;
    if (head->content_length >= 0)
        return need;
    if (message >= need)
        return message;
    return need < FIRST_ROOM ? FIRST_ROOM : need + need / 2;
}

size_t otlp_request_reserve(struct otlp_request *r, struct bytes so_far, size_t need)
{
    size_t most = r->options.max_bytes + prefix_bytes(r), room = wanted_room(r, so_far, need);
    r->never = need > env(r)->budget->limit / 2;
    if (prefix_bytes(r) > 0 && grpc_message_length(so_far) > most)
        r->too_large = grpc_message_length(so_far);
    if (r->never || r->too_large > 0)
        return 0;
    room = room < most ? room : most;
    if (charge_body(r, room))
        return room;
    return charge_body(r, need) ? need : 0;
}

static void run_worker(struct job *job);

// payload becomes the message in the body.
static enum err_code unwrap_message(struct otlp_request *r, struct err *e)
{
    struct grpc_message message;
    enum err_code rc = grpc_message_parse(r->payload, r->options.max_bytes, &message, e);
    if (rc != ERR_OK)
        return rc;
    if (message.compressed && r->options.compression == COMPRESSION_NONE)
        return err_set(e, ERR_INVALID, "the message is marked as compressed, but there is no grpc-encoding");
    r->payload = message.payload;
    if (!message.compressed)
        r->options.compression = COMPRESSION_NONE;
    return ERR_OK;
}

static void submit(struct otlp_request *r)
{
    r->job.run = run_worker;
    r->job.node.bytes = r->claim.bytes;
    if (workers_try_submit(env(r)->workers, &r->job))
        return;
    count(r, RECEIVER_REFUSED, 1);
    answer_and_end(r, OTLP_BUSY, "the workers have too much to do now");
}

void otlp_request_run(struct otlp_request *r, uint8_t *body, size_t len)
{
    struct err e;
    r->begun = true;
    r->body = body;
    r->body_len = len;
    r->payload = (struct bytes){body, len};
    enum err_code rc = prefix_bytes(r) > 0 ? unwrap_message(r, &e) : ERR_OK;
    if (rc != ERR_OK) {
        count(r, RECEIVER_FAILED, 1);
        answer_and_end(r, rc == ERR_LIMIT ? OTLP_TOO_LARGE : OTLP_INVALID, e.text);
    } else {
        submit(r);
    }
}

static void describe_size(const struct otlp_request *r, char *out, size_t size)
{
    int64_t declared = r->too_large > 0 ? (int64_t)r->too_large : http_exchange_head(r->exchange)->content_length;
    size_t allowed = r->never ? env(r)->budget->limit / 2 : r->options.max_bytes;
    const char *name = r->never ? "service.memory_limit" : r->options.limit_name;
    if (declared >= (int64_t)prefix_bytes(r))
        snprintf(out, size, "%s: the request has %" PRId64 " bytes, allowed are %zu", name,
                 declared - (int64_t)prefix_bytes(r), allowed);
    else
        snprintf(out, size, "%s: the request has more than the %zu bytes that are allowed", name, allowed);
}

void otlp_request_refuse(struct otlp_request *r, int status, const char *text)
{
    char size[256];
    enum otlp_fate fate = status == 413 || r->never || r->too_large > 0 ? OTLP_TOO_LARGE
                          : status == 408                               ? OTLP_TOO_SLOW
                          : status == 503                               ? OTLP_BUSY
                                                                        : OTLP_INVALID;
    if (fate == OTLP_TOO_LARGE)
        describe_size(r, size, sizeof size);
    if (fate == OTLP_BUSY)
        snprintf(size, sizeof size, "service.memory_limit of %zu bytes has no room for this request now",
                 env(r)->budget->limit);
    count(r, RECEIVER_REFUSED, 1);
    answer_and_end(r, fate, fate == OTLP_TOO_LARGE || fate == OTLP_BUSY ? size : text);
}

void otlp_request_abort(struct otlp_request *r)
{
    r->exchange = NULL;
    atomic_store(&r->gone, true);
    if (!r->begun)
        end_request(r);
}

static void run_failed(struct loop_task *task)
{
    struct otlp_request *r = CONTAINER_OF(task, struct otlp_request, task);
    answer_and_end(r, r->fate, r->e.text[0] != '\0' ? r->e.text : NULL);
}

// What is told once the rest is taken, since a request that was not comes again.
static void tell_taken(struct otlp_request *r)
{
    otlp_senders_note(receiver(r)->senders, r->sender, &r->layout);
    if (r->rejected == 0)
        return;
    count(r, RECEIVER_FAILED, r->rejected);
    log_warn(&receiver(r)->receiver.component.log, "%s: %" PRIu64 " of a request's profiles cannot be read: %s",
             r->sender, r->rejected, r->e.text);
}

static void on_verdict(void *arg, enum verdict_moment moment, const struct verdict *v)
{
    static const enum otlp_fate fates[] = {
        [VERDICT_OK] = OTLP_TAKEN,
        [VERDICT_PARTIAL] = OTLP_TAKEN,
        [VERDICT_RETRY] = OTLP_BUSY,
        [VERDICT_REFUSED] = OTLP_REFUSED,
    };
    struct otlp_request *r = arg;
    struct otlp_outcome outcome = {
        .fate = fates[v->kind],
        .text = v->kind != VERDICT_OK ? v->text
                : r->rejected > 0     ? r->e.text
                                      : NULL,
        .rejected = v->rejected_profiles + r->rejected,
        .retry_after_nanos = v->retry_after_nanos,
    };
    if (!r->held)
        count(r, outcome.fate == OTLP_TAKEN ? RECEIVER_ACCEPTED : RECEIVER_REFUSED, r->samples);
    if (!r->held && outcome.fate == OTLP_TAKEN)
        tell_taken(r);
    r->held = true;
    answer(r, &outcome);
    if (moment == MOMENT_FINAL)
        end_request(r);
}

// --- worker thread ---

static void fail(struct otlp_request *r, enum otlp_fate fate)
{
    r->fate = fate;
    r->task.run = run_failed;
    loop_post(receiver(r)->receiver.component.loop, &r->task);
}

static void fail_with(struct otlp_request *r, enum err_code rc)
{
    enum otlp_fate fate = rc == ERR_LIMIT ? OTLP_TOO_LARGE : rc == ERR_MEMORY ? OTLP_BUSY : OTLP_INVALID;
    count(r, rc == ERR_MEMORY ? RECEIVER_REFUSED : RECEIVER_FAILED, 1);
    if (rc != ERR_MEMORY)
        log_warn(&receiver(r)->receiver.component.log, "%s: a request is refused: %s", r->sender, r->e.text);
    fail(r, fate);
}

// Every byte that inflates is charged before it is there.
static enum err_code inflate(struct otlp_request *r, struct buf *out)
{
    for (;;) {
        size_t room = claim_room(&r->claim, r->body_len);
        bool bound = room < r->options.max_bytes;
        enum err_code rc = decompress(r->options.compression, r->payload, bound ? room : r->options.max_bytes,
                                      r->options.limit_name, out, &r->e);
        if (rc != ERR_LIMIT || !bound)
            return rc;
        buf_fini(out);
        buf_init(out, SIZE_MAX);
        rc = claim_more(&r->claim, CLAIM_TIMES, &r->e);
        if (rc != ERR_OK)
            return rc;
    }
}

// The options' memory is what the claim has left beside the bytes of the request.
static enum err_code read_once(struct otlp_request *r, struct otlp_arrival *a, const struct decode_options *options,
                               struct batch **out)
{
    struct decode_report report = {0};
    enum err_code rc;
    if (r->options.speech == OTLP_SPEAKS_JSON)
        rc = otlp_json_decode(otlp_arrival_request(a), options, out, &report, &r->e);
    else
        rc = otlp_arrive(a, options, out, &report, &r->e);
    if (rc != ERR_OK)
        return rc;
    r->layout = report.layout;
    r->rejected = report.rejected_profiles;
    if (r->rejected > 0)
        r->e = report.first_bad;
    return ERR_OK;
}

static enum err_code decode(struct otlp_request *r, struct otlp_arrival *a, struct batch **out)
{
    const struct receiver *self = &receiver(r)->receiver;
    struct otlp_layout_rules layouts = receiver(r)->layouts;
    layouts.hints.says_current = r->options.says_current;
    for (;;) {
        struct decode_limits limits = decode_default_limits;
        size_t room = claim_room(&r->claim, r->body_len + a->inflated.capacity);
        bool bound = limits.max_batch_bytes == 0 || room < limits.max_batch_bytes;
        limits.max_batch_bytes = bound ? room : limits.max_batch_bytes;
        const struct decode_options options = {
            .limits = &limits,
            .layouts = &layouts,
            .keep_good_profiles = true,
            .resource_attributes = self->resource_attributes,
            .resource_attribute_count = self->resource_attribute_count,
        };
        enum err_code rc = read_once(r, a, &options, out);
        if (rc != ERR_LIMIT || !bound)
            return rc;
        rc = claim_more(&r->claim, CLAIM_TIMES, &r->e);
        if (rc != ERR_OK)
            return rc;
    }
}

// The body goes to the arrival, and with it to the batch or to the end.
static enum err_code read_batch(struct otlp_request *r, struct batch **out)
{
    struct otlp_arrival a = {.buffer = r->body, .body = r->payload, .compression = r->options.compression};
    r->body = NULL;
    buf_init(&a.inflated, SIZE_MAX);
    enum err_code rc = claim_at_least(&r->claim, memory_for(r, r->body_len), &r->e);
    if (rc == ERR_OK && a.compression != COMPRESSION_NONE)
        rc = inflate(r, &a.inflated);
    if (rc == ERR_OK && otlp_arrival_request(&a).len == 0 && r->options.speech == OTLP_SPEAKS_JSON)
        rc = err_set(&r->e, ERR_INVALID, "the body is empty: not JSON");
    if (rc == ERR_OK)
        rc = decode(r, &a, out);
    otlp_arrival_fini(&a);
    return rc;
}

static void deliver(struct otlp_request *r, struct batch *batch)
{
    struct budget *b = env(r)->budget;
    size_t needed = batch_memory_bytes(batch);
    const struct waiter waiter = {
        .loop = receiver(r)->receiver.component.loop, .wants_held = true, .on_verdict = on_verdict, .arg = r};
    r->samples = batch->sample_count;
    if (claim_exactly(&r->claim, needed, &r->e) != ERR_OK) {
        batch_unref(&batch);
        fail_with(r, ERR_MEMORY);
        return;
    }
    r->claim.bytes = 0; // the delivery's now
    consumer_take(receiver(r)->receiver.next, delivery_create(batch, &waiter, b, needed));
}

static bool is_late(const struct otlp_request *r)
{
    return r->deadline_nanos != 0 && clock_monotonic_nanos(env(r)->clock) > r->deadline_nanos;
}

static bool is_refused(struct otlp_request *r)
{
    struct auth_answer told;
    if (r->attempt == NULL || server_attempt_verify(&r->attempt, &told) == AUTH_ACCEPTED)
        return false;
    r->challenge = told.challenge;
    (void)err_set(&r->e, ERR_INVALID, "%s", told.reason);
    return true;
}

static void run_worker(struct job *job)
{
    struct otlp_request *r = CONTAINER_OF(job, struct otlp_request, job);
    struct batch *batch = NULL;
    if (is_refused(r)) {
        fail(r, OTLP_UNAUTHENTICATED);
        return;
    }
    if (atomic_load(&r->gone) || is_late(r)) {
        fail(r, OTLP_LATE);
        return;
    }
    enum err_code rc = read_batch(r, &batch);
    if (rc != ERR_OK) {
        fail_with(r, rc);
    } else if (atomic_load(&r->gone) || batch->profile_count == 0) {
        batch_unref(&batch);
        r->e.text[0] = '\0'; // of an attempt that had too little memory
        fail(r, OTLP_TAKEN);
    } else {
        deliver(r, batch);
    }
}
