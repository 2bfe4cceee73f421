// SPDX-License-Identifier: Apache-2.0
// GET .../validate: are these credentials good? What a user tries with curl before the first profile is sent.
#include "base/json_string.h"
#include "base/mem.h"
#include "receivers/pyroscope.h"

enum { ANSWER_MAX_BYTES = 1024 };

// Credentials that only a worker can judge.
struct validation {
    struct job job;
    struct loop_task task;
    struct pyroscope_receiver *receiver;
    struct http_exchange *exchange; // NULL: nobody waits for the answer
    struct server_attempt *attempt;
    enum auth_result result;
    struct auth_answer told;
};

static void answer(struct http_exchange *x, enum auth_result result, const struct auth_answer *told)
{
    const bool valid = result == AUTH_ACCEPTED;
    struct http_header headers[] = {{"content-type", "application/json"}, {"www-authenticate", told->challenge}};
    struct buf body;
    buf_init(&body, ANSWER_MAX_BYTES);
    buf_add_format(&body, "{\"valid\":%s,", valid ? "true" : "false");
    buf_add_text(&body, valid ? "\"keyType\":" : "\"message\":");
    json_put_string(&body, bytes_from_text(valid ? told->key_type : told->reason));
    buf_add_text(&body, "}\n");
    http_exchange_answer(x, &(struct http_answer){
                                .status = valid                 ? 200
                                          : result == AUTH_BUSY ? 503
                                                                : 401,
                                .headers = headers,
                                .header_count = !valid && told->challenge != NULL ? 2 : 1,
                                .body = &body,
                            });
    buf_fini(&body);
}

// --- what only a worker can judge ---

static void end(struct loop_task *task)
{
    struct validation *v = CONTAINER_OF(task, struct validation, task);
    struct pyroscope_receiver *r = v->receiver;
    if (v->exchange != NULL)
        answer(v->exchange, v->result, &v->told);
    free(v);
    open_work_request_ended(&r->work);
}

static void verify(struct job *job)
{
    struct validation *v = CONTAINER_OF(job, struct validation, job);
    v->result = server_attempt_verify(&v->attempt, &v->told);
    v->task.run = end;
    loop_post(v->receiver->receiver.component.loop, &v->task);
}

// Nobody reads a body here, but only one that has come may be answered later.
static void on_request(void *arg, struct http_exchange *x, uint8_t *body, size_t len)
{
    struct validation *v = http_exchange_context(x);
    (void)arg;
    (void)len;
    free(body);
    v->exchange = x;
    v->job.run = verify;
    if (workers_try_submit(v->receiver->receiver.component.env->workers, &v->job))
        return;
    server_attempt_forget(&v->attempt);
    v->result = AUTH_BUSY;
    v->told.reason = "the workers have too much to do now";
    end(&v->task);
}

static void on_refuse(void *arg, struct http_exchange *x, int status, const char *text)
{
    struct validation *v = http_exchange_context(x);
    (void)arg;
    http_exchange_answer_text(x, status, text, NULL, 0);
    server_attempt_forget(&v->attempt);
    end(&v->task);
}

static void on_abort(void *arg, struct http_exchange *x)
{
    struct validation *v = http_exchange_context(x);
    const bool waits = v->exchange != NULL;
    (void)arg;
    v->exchange = NULL;
    if (waits) // the worker ends it
        return;
    server_attempt_forget(&v->attempt);
    end(&v->task);
}

static void begin_verify(struct pyroscope_receiver *r, struct http_exchange *x, struct server_attempt *attempt)
{
    static const struct http_server_handler handler = {
        .on_request = on_request, .on_refuse = on_refuse, .on_abort = on_abort};
    struct validation *v = MEM_NEW(struct validation);
    *v = (struct validation){.receiver = r, .attempt = attempt};
    r->work.requests++;
    http_exchange_set_handler(x, &handler);
    http_exchange_set_context(x, v);
    http_exchange_take_body(x, ANSWER_MAX_BYTES);
}

void pyroscope_answer_validate(struct pyroscope_receiver *r, struct http_exchange *x)
{
    struct auth_answer told = {.key_type = AUTH_KEY_SERVER};
    struct server_attempt *attempt = NULL;
    enum auth_result result =
        r->auth == NULL ? AUTH_ACCEPTED : server_auth_validate(r->auth, http_exchange_head(x), &told, &attempt);
    if (result == AUTH_SLOW)
        begin_verify(r, x, attempt);
    else
        answer(x, result, &told);
}
