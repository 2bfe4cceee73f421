// SPDX-License-Identifier: Apache-2.0
#include "receivers/upload.h"

#include "base/mem.h"
#include "net/grpc_message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <uv.h>

enum {
    // Of memory for each byte of a body, while it is read: what is taken before, corrected when more is needed.
    MEMORY_PER_BYTE = 2,
    MEMORY_PER_COMPRESSED_BYTE = 8,
    MEMORY_AT_LEAST = 64 << 10,
    FIRST_ROOM = 16 << 10,
};

#define DEFAULT_RETRY_NANOS NANOS_PER_SECOND
#define RETRY_SPREAD_NANOS (3 * NANOS_PER_SECOND)

bool upload_encoding_named(const char *name, enum compression *out)
{
    static const struct {
        const char *name;
        enum compression kind;
    } names[] = {
        {"", COMPRESSION_NONE},        {"identity", COMPRESSION_NONE}, {"gzip", COMPRESSION_GZIP},
        {"x-gzip", COMPRESSION_GZIP},  {"zstd", COMPRESSION_ZSTD},     {"deflate", COMPRESSION_DEFLATE},
        {"zlib", COMPRESSION_DEFLATE}, {"snappy", COMPRESSION_SNAPPY}, {"x-snappy-framed", COMPRESSION_SNAPPY},
    };
    *out = COMPRESSION_NONE;
    for (size_t i = 0; name != NULL && i < COUNT_OF(names); i++) {
        if (strcasecmp(name, names[i].name) == 0) {
            *out = names[i].kind;
            return true;
        }
    }
    return name == NULL;
}

bool upload_encoding_of(const struct http_exchange *x, const char *header, enum compression *out)
{
    size_t count;
    const char *name = http_exchange_header(x, header, &count);
    return upload_encoding_named(name, out) && count <= 1;
}

int64_t upload_retry_delay(const struct upload_outcome *o, double unit)
{
    int64_t least = o->retry_after_nanos > 0 ? o->retry_after_nanos : DEFAULT_RETRY_NANOS;
    int64_t whole_seconds = (least + NANOS_PER_SECOND - 1) / NANOS_PER_SECOND * NANOS_PER_SECOND;
    return whole_seconds + (int64_t)(unit * (double)RETRY_SPREAD_NANOS);
}

struct sender upload_sender_of(const char *address)
{
    struct sender s;
    return ip_address_parse(bytes_from_text(address), &s.address) ? s : (struct sender){0};
}

static const struct component_env *env(const struct upload *u)
{
    return u->receiver->component.env;
}

static void count(const struct upload *u, enum receiver_outcome outcome, uint64_t samples)
{
    receiver_count(u->receiver, u->options.transport, outcome, samples);
}

// --- loop thread ---

static size_t prefix_bytes(const struct upload *u)
{
    return u->options.is_framed ? GRPC_PREFIX_BYTES : 0;
}

static void end_upload(struct upload *u)
{
    claim_end(&u->claim);
    server_attempt_forget(&u->attempt);
    free(u->body);
    u->kind->end(u);
}

static void answer(struct upload *u, const struct upload_outcome *outcome)
{
    struct http_exchange *x = u->exchange;
    u->exchange = NULL;
    if (x != NULL)
        u->kind->answer(u, x, outcome);
}

static void answer_and_end(struct upload *u, enum upload_fate fate, const char *text)
{
    answer(u, &(struct upload_outcome){.fate = fate, .text = text, .challenge = u->challenge});
    end_upload(u);
}

// For now: nothing is lost.
static void put_off(struct upload *u, const struct verdict *refusal)
{
    count(u, RECEIVER_REFUSED, 1);
    answer(u, &(struct upload_outcome){.fate = refusal->over_limit ? UPLOAD_OVER_LIMIT : UPLOAD_BUSY,
                                       .text = refusal->text,
                                       .retry_after_nanos = refusal->retry_after_nanos});
    end_upload(u);
}

// False: answered, the request may not come in.
static bool is_admitted(struct upload *u, struct server_auth *auth)
{
    struct auth_answer told;
    if (auth == NULL)
        return true;
    enum auth_result result = server_auth_check(auth, http_exchange_head(u->exchange), &told, &u->attempt);
    if (result != AUTH_REFUSED && result != AUTH_BUSY)
        return true;
    u->challenge = result == AUTH_REFUSED ? told.challenge : NULL;
    answer_and_end(u, result == AUTH_BUSY ? UPLOAD_BUSY : UPLOAD_UNAUTHENTICATED, told.reason);
    return false;
}

void upload_begin(struct upload *u, const struct upload_kind *kind, struct receiver *receiver, struct http_exchange *x,
                  const struct upload_options *options, struct server_auth *auth)
{
    struct verdict refusal;
    u->kind = kind;
    u->receiver = receiver;
    u->exchange = x;
    u->options = *options;
    u->claim.budget = env(u)->budget;
    snprintf(u->sender, sizeof u->sender, "%s", http_exchange_head(x)->peer->address);
    if (!is_admitted(u, auth))
        return;
    if (!consumer_has_room(receiver->next, &refusal)) { // before anything is read
        put_off(u, &refusal);
        return;
    }
    if (options->timeout_nanos > 0)
        u->deadline_nanos = clock_monotonic_nanos(env(u)->clock) + options->timeout_nanos;
    http_exchange_set_context(x, u);
    http_exchange_take_body(x, options->max_bytes + prefix_bytes(u));
}

static size_t memory_for(const struct upload *u, size_t bytes)
{
    size_t limit = env(u)->budget->limit;
    size_t each = u->options.compression == COMPRESSION_NONE ? MEMORY_PER_BYTE : MEMORY_PER_COMPRESSED_BYTE;
    size_t wanted = bytes > limit / each ? limit : bytes * each + MEMORY_AT_LEAST;
    return wanted < limit ? wanted : limit;
}

// Bodies leave room to decode as many of them as there are workers: what has come shall not be refused.
static bool charge_body(struct upload *u, size_t bytes)
{
    struct budget *b = env(u)->budget;
    size_t each = memory_for(u, bytes), half = b->limit / 2, workers = workers_count(env(u)->workers);
    size_t spare = each > half / workers ? half : each * workers;
    return claim_exactly(&u->claim, bytes + spare, NULL) == ERR_OK && claim_exactly(&u->claim, bytes, NULL) == ERR_OK;
}

// What a body will have in the end, as far as it is known.
static size_t wanted_room(const struct upload *u, struct bytes so_far, size_t need)
{
    const struct http_head *head = http_exchange_head(u->exchange);
    size_t message = prefix_bytes(u) > 0 ? grpc_message_length(so_far) : 0;
    if (head->content_length >= 0)
        return need;
    if (message >= need)
        return message;
    return need < FIRST_ROOM ? FIRST_ROOM : need + need / 2;
}

static size_t on_reserve(void *arg, struct http_exchange *x, struct bytes so_far, size_t need)
{
    (void)arg;
    struct upload *u = http_exchange_context(x);
    size_t most = u->options.max_bytes + prefix_bytes(u), room = wanted_room(u, so_far, need);
    u->never = need > env(u)->budget->limit / 2;
    if (prefix_bytes(u) > 0 && grpc_message_length(so_far) > most)
        u->too_large = grpc_message_length(so_far);
    if (u->never || u->too_large > 0)
        return 0;
    room = room < most ? room : most;
    if (charge_body(u, room))
        return room;
    return charge_body(u, need) ? need : 0;
}

static void run_worker(struct job *job);

// payload becomes the message in the body.
static enum err_code unwrap_message(struct upload *u, struct err *e)
{
    struct grpc_message message;
    enum err_code rc = grpc_message_parse(u->payload, u->options.max_bytes, &message, e);
    if (rc != ERR_OK)
        return rc;
    if (message.compressed && u->options.compression == COMPRESSION_NONE)
        return err_set(e, ERR_INVALID, "the message is marked as compressed, but there is no grpc-encoding");
    u->payload = message.payload;
    if (!message.compressed)
        u->options.compression = COMPRESSION_NONE;
    return ERR_OK;
}

static void submit(struct upload *u)
{
    u->job.run = run_worker;
    u->job.node.bytes = u->claim.bytes;
    if (workers_try_submit(env(u)->workers, &u->job))
        return;
    count(u, RECEIVER_REFUSED, 1);
    answer_and_end(u, UPLOAD_BUSY, "the workers have too much to do now");
}

static void on_request(void *arg, struct http_exchange *x, uint8_t *body, size_t len)
{
    (void)arg;
    struct upload *u = http_exchange_context(x);
    struct err e;
    u->begun = true;
    u->body = body;
    u->body_len = len;
    u->payload = (struct bytes){body, len};
    enum err_code rc = prefix_bytes(u) > 0 ? unwrap_message(u, &e) : ERR_OK;
    if (rc != ERR_OK) {
        count(u, RECEIVER_FAILED, 1);
        answer_and_end(u, rc == ERR_LIMIT ? UPLOAD_TOO_LARGE : UPLOAD_INVALID, e.text);
    } else {
        submit(u);
    }
}

static void describe_size(const struct upload *u, char *out, size_t size)
{
    int64_t declared = u->too_large > 0 ? (int64_t)u->too_large : http_exchange_head(u->exchange)->content_length;
    size_t allowed = u->never ? env(u)->budget->limit / 2 : u->options.max_bytes;
    const char *name = u->never ? "service.memory_limit" : u->options.limit_name;
    if (declared >= (int64_t)prefix_bytes(u))
        snprintf(out, size, "%s: the request has %" PRId64 " bytes, allowed are %zu", name,
                 declared - (int64_t)prefix_bytes(u), allowed);
    else
        snprintf(out, size, "%s: the request has more than the %zu bytes that are allowed", name, allowed);
}

static void on_refuse(void *arg, struct http_exchange *x, int status, const char *text)
{
    (void)arg;
    struct upload *u = http_exchange_context(x);
    char size[256];
    enum upload_fate fate = status == 413 || u->never || u->too_large > 0 ? UPLOAD_TOO_LARGE
                            : status == 408                               ? UPLOAD_TOO_SLOW
                            : status == 503                               ? UPLOAD_BUSY
                                                                          : UPLOAD_INVALID;
    if (fate == UPLOAD_TOO_LARGE) {
        describe_size(u, size, sizeof size);
        log_warn(&u->receiver->component.log, "%s: a request is refused: %s", u->sender, size);
    }
    if (fate == UPLOAD_BUSY)
        snprintf(size, sizeof size, "service.memory_limit of %zu bytes has no room for this request now",
                 env(u)->budget->limit);
    count(u, RECEIVER_REFUSED, 1);
    answer_and_end(u, fate, fate == UPLOAD_TOO_LARGE || fate == UPLOAD_BUSY ? size : text);
}

static void on_abort(void *arg, struct http_exchange *x)
{
    (void)arg;
    struct upload *u = http_exchange_context(x);
    u->exchange = NULL;
    atomic_store(&u->gone, true);
    if (!u->begun)
        end_upload(u);
}

static void run_failed(struct loop_task *task)
{
    struct upload *u = CONTAINER_OF(task, struct upload, task);
    answer_and_end(u, u->fate, u->e.text[0] != '\0' ? u->e.text : NULL);
}

// What is told once the rest is taken, since a request that was not comes again.
static void tell_taken(struct upload *u)
{
    if (u->kind->taken != NULL)
        u->kind->taken(u);
    if (u->rejected == 0)
        return;
    count(u, RECEIVER_FAILED, u->rejected);
    log_warn(&u->receiver->component.log, "%s: %" PRIu64 " of a request's profiles cannot be read: %s", u->sender,
             u->rejected, u->e.text);
}

static void on_verdict(void *arg, enum verdict_moment moment, const struct verdict *v)
{
    static const enum upload_fate fates[] = {
        [VERDICT_OK] = UPLOAD_TAKEN,
        [VERDICT_PARTIAL] = UPLOAD_TAKEN,
        [VERDICT_RETRY] = UPLOAD_BUSY,
        [VERDICT_REFUSED] = UPLOAD_REFUSED,
    };
    struct upload *u = arg;
    struct upload_outcome outcome = {
        .fate = v->kind == VERDICT_RETRY && v->over_limit ? UPLOAD_OVER_LIMIT : fates[v->kind],
        .text = v->kind != VERDICT_OK ? v->text
                : u->rejected > 0     ? u->e.text
                                      : NULL,
        .rejected = v->rejected_profiles + u->rejected,
        .retry_after_nanos = v->retry_after_nanos,
    };
    if (!u->held)
        count(u, outcome.fate == UPLOAD_TAKEN ? RECEIVER_ACCEPTED : RECEIVER_REFUSED, u->samples);
    if (!u->held && outcome.fate == UPLOAD_TAKEN)
        tell_taken(u);
    u->held = true;
    answer(u, &outcome);
    if (moment == MOMENT_FINAL)
        end_upload(u);
}

struct http_server_handler
upload_handler(void *arg, void (*on_head)(void *arg, struct http_exchange *x, const struct http_head *head),
               void (*on_problem)(void *arg, const struct http_peer *peer, const char *text))
{
    return (struct http_server_handler){
        .arg = arg,
        .on_head = on_head,
        .on_request = on_request,
        .on_reserve = on_reserve,
        .on_refuse = on_refuse,
        .on_abort = on_abort,
        .on_problem = on_problem,
    };
}

// --- worker thread ---

static void fail(struct upload *u, enum upload_fate fate)
{
    u->fate = fate;
    u->task.run = run_failed;
    loop_post(u->receiver->component.loop, &u->task);
}

static void fail_with(struct upload *u, enum err_code rc)
{
    enum upload_fate fate = rc == ERR_LIMIT         ? UPLOAD_TOO_LARGE
                            : rc == ERR_MEMORY      ? UPLOAD_BUSY
                            : rc == ERR_UNSUPPORTED ? UPLOAD_UNREADABLE
                                                    : UPLOAD_INVALID;
    count(u, rc == ERR_MEMORY ? RECEIVER_REFUSED : RECEIVER_FAILED, 1);
    if (rc != ERR_MEMORY)
        log_warn(&u->receiver->component.log, "%s: a request is refused: %s", u->sender, u->e.text);
    fail(u, fate);
}

enum err_code upload_inflate(struct upload *u, struct buf *out)
{
    for (;;) {
        size_t room = claim_room(&u->claim, u->body_len);
        bool bound = room < u->options.max_bytes;
        enum err_code rc = decompress(u->options.compression, u->payload, bound ? room : u->options.max_bytes,
                                      u->options.limit_name, out, &u->e);
        if (rc != ERR_LIMIT || !bound)
            return rc;
        buf_fini(out);
        buf_init(out, SIZE_MAX);
        rc = claim_more(&u->claim, CLAIM_TIMES, &u->e);
        if (rc != ERR_OK)
            return rc;
    }
}

enum err_code upload_decode(struct upload *u, size_t other, upload_decode_fn *decode, void *arg, struct batch **out)
{
    for (;;) {
        struct decode_limits limits = decode_default_limits;
        size_t room = claim_room(&u->claim, u->body_len + other);
        bool bound = limits.max_batch_bytes == 0 || room < limits.max_batch_bytes;
        limits.max_batch_bytes = bound ? room : limits.max_batch_bytes;
        enum err_code rc = decode(arg, &limits, out, &u->e);
        if (rc != ERR_LIMIT || !bound || u->limit_is_final)
            return rc;
        rc = claim_more(&u->claim, CLAIM_TIMES, &u->e);
        if (rc != ERR_OK)
            return rc;
    }
}

static void deliver(struct upload *u, struct batch *batch)
{
    struct budget *b = env(u)->budget;
    size_t needed = batch_memory_bytes(batch);
    const struct waiter waiter = {.sender = upload_sender_of(u->sender),
                                  .loop = u->receiver->component.loop,
                                  .wants_held = true,
                                  .on_verdict = on_verdict,
                                  .arg = u};
    u->samples = batch->sample_count;
    free(u->body); // the batch has copied or taken what it needs, and may wait long
    u->body = NULL;
    if (claim_exactly(&u->claim, needed, &u->e) != ERR_OK) {
        batch_unref(&batch);
        fail_with(u, ERR_MEMORY);
        return;
    }
    u->claim.bytes = 0; // the delivery's now
    consumer_take(u->receiver->next, delivery_create(batch, &waiter, b, needed));
}

static bool is_late(const struct upload *u)
{
    return u->deadline_nanos != 0 && clock_monotonic_nanos(env(u)->clock) > u->deadline_nanos;
}

static bool is_refused(struct upload *u)
{
    struct auth_answer told;
    if (u->attempt == NULL || server_attempt_verify(&u->attempt, &told) == AUTH_ACCEPTED)
        return false;
    u->challenge = told.challenge;
    (void)err_set(&u->e, ERR_INVALID, "%s", told.reason);
    return true;
}

static void run_worker(struct job *job)
{
    struct upload *u = CONTAINER_OF(job, struct upload, job);
    struct batch *batch = NULL;
    if (is_refused(u)) {
        fail(u, UPLOAD_UNAUTHENTICATED);
        return;
    }
    if (atomic_load(&u->gone) || is_late(u)) {
        fail(u, UPLOAD_LATE);
        return;
    }
    enum err_code rc = claim_at_least(&u->claim, memory_for(u, u->body_len), &u->e);
    if (rc == ERR_OK)
        rc = u->kind->read(u, &batch);
    if (rc != ERR_OK) {
        fail_with(u, rc);
    } else if (atomic_load(&u->gone) || batch->profile_count == 0) {
        batch_unref(&batch);
        u->e.text[0] = '\0'; // of an attempt that had too little memory
        fail(u, UPLOAD_TAKEN);
    } else {
        deliver(u, batch);
    }
}
