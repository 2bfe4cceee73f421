// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_link.h"

#include "base/mem.h"

#include <stdio.h>

enum { OUT_MAX_BYTES = 64 << 20 };

static struct fake_link *of(void *arg)
{
    return arg;
}

static uint64_t now_ms(const struct http_link *link)
{
    return ((const struct fake_link *)link)->now_ms;
}

static const char *date(struct http_link *link)
{
    (void)link;
    return "Sun, 06 Nov 1994 08:49:37 GMT";
}

static void wake(struct http_link *link)
{
    (void)link; // the test pumps
}

// Streams: says all that has come but for the last byte, which comes again; at the end all of it.
static size_t on_data(void *arg, struct http_exchange *x, struct bytes data, bool ended)
{
    struct fake_link *f = of(arg);
    size_t used = ended || data.len == 0 ? data.len : data.len - 1;
    struct buf out;
    buf_init(&out, OUT_MAX_BYTES);
    buf_add(&out, data.data, used);
    struct http_answer answer = {
        .status = 200, .body = &out, .trailers = f->trailers, .trailer_count = ended ? f->trailer_count : 0};
    if (ended) {
        f->requests++;
        http_exchange_answer(x, &answer);
    } else if (used > 0) {
        http_exchange_send(x, &answer);
    }
    return used;
}

static void on_drain(void *arg, struct http_exchange *x)
{
    (void)arg;
    if (x->streams)
        http_exchange_answer_text(x, 503, "the end", NULL, 0);
}

static void on_head(void *arg, struct http_exchange *x, const struct http_head *head)
{
    struct fake_link *f = of(arg);
    f->heads++;
    CHECK(http_exchange_head(x) == head);
    if (bytes_equal_text(head->path, "/refused"))
        http_exchange_answer_text(x, 503, "not now", NULL, 0);
    else if (f->streams)
        http_exchange_take_stream(x);
    else
        http_exchange_take_body(x, f->max_body);
}

static void on_request(void *arg, struct http_exchange *x, uint8_t *body, size_t len)
{
    struct fake_link *f = of(arg);
    const struct http_head *h = http_exchange_head(x);
    f->requests++;
    snprintf(f->last, sizeof f->last, "%.*s %.*s %.*s %.*s %zu", BYTES_PRINT(h->method), BYTES_PRINT(h->path),
             BYTES_PRINT(h->query), BYTES_PRINT(h->authority), len);
    buf_clear(&f->last_body);
    buf_add(&f->last_body, body, len);
    free(body);
    if (f->defers) {
        CHECK(f->waiting_count < FAKE_WAITING_MAX);
        f->waiting[f->waiting_count++] = x;
        return;
    }
    struct buf out;
    buf_init(&out, OUT_MAX_BYTES);
    buf_add(&out, f->last_body.data, f->last_body.len);
    struct http_answer answer = {
        .status = 200, .body = &out, .trailers = f->trailers, .trailer_count = f->trailer_count};
    http_exchange_answer(x, &answer);
}

static size_t on_reserve(void *arg, struct http_exchange *x, struct bytes so_far, size_t need)
{
    struct fake_link *f = of(arg);
    (void)x;
    CHECK(so_far.len <= need);
    return need <= f->reserve_max ? need : 0;
}

static void on_refuse(void *arg, struct http_exchange *x, int status, const char *text)
{
    struct fake_link *f = of(arg);
    f->refusals++;
    f->last_refusal = status;
    if (f->own_refusals)
        http_exchange_answer_text(x, 299, text, NULL, 0);
}

static void on_abort(void *arg, struct http_exchange *x)
{
    struct fake_link *f = of(arg);
    f->aborts++;
    for (size_t i = 0; i < f->waiting_count; i++)
        if (f->waiting[i] == x)
            f->waiting[i] = NULL;
}

void fake_link_init(struct fake_link *f)
{
    *f = (struct fake_link){
        .limits = {.max_streams = 100,
                   .max_header_bytes = 64 << 10,
                   .header_ms = 10000,
                   .body_ms = 60000,
                   .idle_ms = 300000,
                   .write_ms = 30000,
                   .ping_after_ms = HTTP_NEVER,
                   .ping_timeout_ms = 20000},
        .handler = {f, on_head, on_request, on_reserve, on_refuse, on_abort, NULL, on_data, on_drain},
        .link = {.now_ms = now_ms, .date = date, .wake = wake, .peer = {.address = "10.0.0.1"}},
        .now_ms = 1000000,
        .max_body = 1 << 20,
        .reserve_max = SIZE_MAX,
    };
    f->link.limits = &f->limits;
    f->link.handler = &f->handler;
    buf_init(&f->out, OUT_MAX_BYTES);
    buf_init(&f->last_body, OUT_MAX_BYTES);
}

void fake_link_start(struct fake_link *f, struct http_engine *(*create)(struct http_link *link))
{
    f->engine = create(&f->link);
    fake_link_pump(f);
}

void fake_link_fini(struct fake_link *f)
{
    f->engine->ops->abort(f->engine);
    f->engine->ops->destroy(f->engine);
    buf_fini(&f->out);
    buf_fini(&f->last_body);
}

void fake_link_pump(struct fake_link *f)
{
    for (size_t n; (n = f->engine->ops->produce(f->engine, f->room, sizeof f->room)) > 0;) {
        CHECK(n <= sizeof f->room);
        buf_add(&f->out, f->room, n);
    }
}

bool fake_link_receive(struct fake_link *f, struct bytes data, size_t step)
{
    for (size_t i = 0; i < data.len; i += step) {
        size_t n = data.len - i < step ? data.len - i : step;
        if (f->engine->ops->read_size(f->engine) == 0 || fake_link_finished(f))
            return false;
        uint8_t *copy = mem_alloc(n); // so that a sanitizer sees who keeps it
        memcpy(copy, data.data + i, n);
        f->engine->ops->receive(f->engine, (struct bytes){copy, n});
        free(copy);
        fake_link_pump(f);
    }
    return true;
}

void fake_link_at(struct fake_link *f, uint64_t at)
{
    f->now_ms = at;
    for (int i = 0; i < 1000 && f->engine->ops->deadline_ms(f->engine) <= at && !fake_link_finished(f); i++)
        f->engine->ops->expire(f->engine);
    fake_link_pump(f);
}

void fake_link_answer(struct fake_link *f, size_t i, int status, const char *text)
{
    CHECK(i < f->waiting_count && f->waiting[i] != NULL);
    struct http_exchange *x = f->waiting[i];
    f->waiting[i] = NULL;
    http_exchange_answer_text(x, status, text, NULL, 0);
    fake_link_pump(f);
}

bool fake_link_finished(const struct fake_link *f)
{
    return f->engine->ops->is_finished(f->engine);
}
