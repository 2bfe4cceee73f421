// SPDX-License-Identifier: Apache-2.0
#include "receivers/stdin_reader.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum {
    READ_BYTES = 64 << 10, // at a time
    RETRY_MS = 250,        // unless the peer asks for more
};

struct stdin_reader {
    struct receiver *receiver;
    int fd, old_flags; // uv_poll makes it non-blocking, for everyone who shares it
    const struct stdin_settings *settings;
    struct profile_file file; // the part on its way
    struct buf filling, sending;
    int64_t began_nanos; // wall clock: when the first byte of filling came
    uv_poll_t poll;
    uv_idle_t idle; // reads what cannot be polled: files, /dev/null
    uv_timer_t interval, retry;
    bool polls, ended, closed, on_way, skipping, tried_last, handles_closed;
    unsigned open_handles;
    void (*on_stopped)(void *arg);
    void *on_stopped_arg;
};

static void deliver(struct stdin_reader *r);
static void read_more(struct stdin_reader *r);
static void maybe_done(struct stdin_reader *r);
static void on_retry(uv_timer_t *timer);

static struct logger *logger(struct stdin_reader *r)
{
    return &r->receiver->component.log;
}

static bool is_full(const struct stdin_reader *r)
{
    return r->filling.len >= r->settings->max_bytes;
}

// --- reading ---

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status; // read() tells
    (void)events;
    read_more(poll->data);
}

static void on_idle(uv_idle_t *idle)
{
    read_more(idle->data);
}

static void pause_reading(struct stdin_reader *r)
{
    if (r->polls)
        uv_poll_stop(&r->poll);
    uv_idle_stop(&r->idle);
}

static void resume_reading(struct stdin_reader *r)
{
    if (r->ended || r->closed || is_full(r))
        return;
    if (r->polls)
        uv_poll_start(&r->poll, UV_READABLE, on_poll);
    else
        uv_idle_start(&r->idle, on_idle);
}

static void note_end(struct stdin_reader *r, int error)
{
    r->ended = true;
    pause_reading(r);
    uv_timer_stop(&r->interval);
    if (error != 0)
        log_error(logger(r), "standard input cannot be read: %s", strerror(error));
    else
        log_info(logger(r), "standard input has ended");
    deliver(r);
    maybe_done(r);
}

// Drops the rest of a line that did not fit into a part.
static void skip_line(struct stdin_reader *r)
{
    const uint8_t *line_end = memchr(r->filling.data, '\n', r->filling.len);
    size_t skipped = line_end == NULL ? r->filling.len : (size_t)(line_end - r->filling.data) + 1;
    r->skipping = line_end == NULL;
    r->filling.len -= skipped;
    memmove(r->filling.data, r->filling.data + skipped, r->filling.len);
}

static void read_more(struct stdin_reader *r)
{
    if (!buf_reserve(&r->filling, READ_BYTES)) {
        log_error(logger(r), "out of memory for standard input: waiting");
        r->filling.failed = false;
        pause_reading(r);
        return;
    }
    ssize_t n = read(r->fd, r->filling.data + r->filling.len, READ_BYTES);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        note_end(r, n < 0 ? errno : 0);
        return;
    }
    if (r->filling.len == 0)
        r->began_nanos = clock_wall_nanos(r->receiver->component.env->clock);
    r->filling.len += (size_t)n;
    if (r->skipping)
        skip_line(r);
    if (is_full(r)) {
        pause_reading(r);
        deliver(r);
    }
}

// --- delivering ---

static void submit(struct stdin_reader *r)
{
    if (!profile_file_submit(&r->file))
        uv_timer_start(&r->retry, on_retry, RETRY_MS, 0);
}

static void on_retry(uv_timer_t *timer)
{
    submit(timer->data);
}

static void retry_later(struct stdin_reader *r)
{
    int64_t asked = r->file.retry_after_nanos / NANOS_PER_MS;
    uv_timer_start(&r->retry, on_retry, asked > RETRY_MS ? (uint64_t)asked : RETRY_MS, 0);
}

static bool comes_again(const struct stdin_reader *r)
{
    enum file_outcome o = r->file.outcome;
    return o == FILE_GAVE_UP || o == FILE_BUSY || o == FILE_QUEUE_FULL;
}

static void tell(struct stdin_reader *r)
{
    if (r->file.outcome != FILE_SENT)
        log_warn(logger(r), "%" PRIu64 " bytes of standard input: %s: %s", r->file.identity.size,
                 file_outcome_name(r->file.outcome), r->file.e.text);
    else
        profile_file_log_report(&r->file);
}

static void on_outcome(struct profile_file *f)
{
    struct stdin_reader *r = f->owner;
    if (comes_again(r) && r->closed && !r->tried_last) {
        r->tried_last = true;
        submit(r);
        return;
    }
    if (comes_again(r) && !r->closed) {
        log_info(logger(r), "standard input waits: %s", f->e.text);
        retry_later(r);
        return;
    }
    tell(r);
    r->on_way = false;
    buf_clear(&r->sending);
    if (r->ended || r->closed || is_full(r))
        deliver(r);
    resume_reading(r);
    maybe_done(r);
}

// Moves the whole lines, at the end everything, from filling to sending.
static bool cut_part(struct stdin_reader *r)
{
    const uint8_t *last = r->filling.len == 0 ? NULL : memrchr(r->filling.data, '\n', r->filling.len);
    size_t whole = last == NULL ? 0 : (size_t)(last - r->filling.data) + 1;
    if (r->ended)
        whole = r->filling.len;
    if (whole == 0 && is_full(r)) {
        log_warn(logger(r), "a line of standard input has more than stdin.max_size, %" PRIu64 " bytes: passed over",
                 r->settings->max_bytes);
        r->skipping = true;
        buf_clear(&r->filling);
        resume_reading(r);
    }
    if (whole == 0)
        return false;
    struct buf rest = r->sending;
    buf_add(&rest, r->filling.data + whole, r->filling.len - whole);
    if (!buf_ok(&rest)) {
        r->sending = rest;
        buf_clear(&r->sending);
        return false;
    }
    r->sending = r->filling;
    r->sending.len = whole;
    r->filling = rest;
    return true;
}

static void deliver(struct stdin_reader *r)
{
    if (r->on_way || !cut_part(r))
        return;
    r->on_way = true;
    r->file.content = buf_bytes(&r->sending);
    r->file.identity = (struct file_identity){.size = r->sending.len, .mtime_nanos = r->began_nanos};
    int64_t now = clock_wall_nanos(r->receiver->component.env->clock);
    r->file.duration_nanos = now > r->began_nanos ? now - r->began_nanos : 0;
    r->began_nanos = now;
    submit(r);
    resume_reading(r);
}

static void on_interval(uv_timer_t *timer)
{
    deliver(timer->data);
    resume_reading(timer->data); // also where memory was out
}

// --- life ---

static void add_handle(struct stdin_reader *r, uv_handle_t *handle)
{
    handle->data = r;
    r->open_handles++;
}

enum err_code stdin_reader_create(struct receiver *receiver, int fd, const struct stdin_settings *settings,
                                  const struct profile_file_options *options, struct stdin_reader **out, struct err *e)
{
    uv_loop_t *loop = &receiver->component.loop->uv;
    *out = NULL;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return err_set(e, ERR_IO, "stdin: standard input is closed: %s", strerror(errno));
    struct stdin_reader *r = MEM_NEW(struct stdin_reader);
    int poll_error = uv_poll_init(loop, &r->poll, fd);
    if (poll_error != 0 && poll_error != UV_EPERM) { // that is a file
        free(r);
        return err_set(e, ERR_IO, "stdin: standard input cannot be read%s: %s",
                       poll_error == UV_EEXIST ? ", because another receiver does; keep stdin: in one of them" : "",
                       uv_strerror(poll_error));
    }
    r->receiver = receiver;
    r->fd = fd;
    r->old_flags = flags;
    r->settings = settings;
    r->file = (struct profile_file){
        .receiver = receiver, .options = options, .path = "standard input", .on_outcome = on_outcome, .owner = r};
    buf_init(&r->filling, SIZE_MAX);
    buf_init(&r->sending, SIZE_MAX);
    r->polls = poll_error == 0;
    CHECK(uv_idle_init(loop, &r->idle) == 0);
    CHECK(uv_timer_init(loop, &r->interval) == 0);
    CHECK(uv_timer_init(loop, &r->retry) == 0);
    if (r->polls)
        add_handle(r, (uv_handle_t *)&r->poll);
    add_handle(r, (uv_handle_t *)&r->idle);
    add_handle(r, (uv_handle_t *)&r->interval);
    add_handle(r, (uv_handle_t *)&r->retry);
    uint64_t interval_ms = (uint64_t)(settings->interval_nanos / NANOS_PER_MS);
    uv_timer_start(&r->interval, on_interval, interval_ms, interval_ms);
    resume_reading(r);
    *out = r;
    return ERR_OK;
}

void stdin_reader_close(struct stdin_reader *r)
{
    if (r->closed)
        return;
    r->closed = true;
    pause_reading(r);
    uv_timer_stop(&r->interval);
    if (r->on_way && uv_is_active((uv_handle_t *)&r->retry)) { // one last try
        uv_timer_stop(&r->retry);
        r->tried_last = true;
        submit(r);
    }
    deliver(r);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct stdin_reader *r = handle->data;
    if (--r->open_handles != 0)
        return;
    void (*on_stopped)(void *) = r->on_stopped;
    void *arg = r->on_stopped_arg;
    fcntl(r->fd, F_SETFL, r->old_flags);
    buf_fini(&r->filling);
    buf_fini(&r->sending);
    free(r);
    on_stopped(arg);
}

// Everything was delivered, or we are told to go.
static void maybe_done(struct stdin_reader *r)
{
    const struct component_env *env = r->receiver->component.env;
    if (r->on_way)
        return;
    if (r->ended && !r->closed && r->settings->at_end == STDIN_STOP)
        env->request_stop(env->service, 0);
    if (r->on_stopped == NULL || r->handles_closed)
        return;
    r->handles_closed = true;
    if (r->polls)
        uv_close((uv_handle_t *)&r->poll, on_handle_closed);
    uv_close((uv_handle_t *)&r->idle, on_handle_closed);
    uv_close((uv_handle_t *)&r->interval, on_handle_closed);
    uv_close((uv_handle_t *)&r->retry, on_handle_closed);
}

void stdin_reader_stop(struct stdin_reader *r, void (*on_stopped)(void *arg), void *arg)
{
    stdin_reader_close(r);
    r->on_stopped = on_stopped;
    r->on_stopped_arg = arg;
    maybe_done(r);
}
