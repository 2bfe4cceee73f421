// SPDX-License-Identifier: Apache-2.0
#include "bench/load.h"

#include "base/mem.h"
#include "bench/bench.h"
#include "bench/http2_frames.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    STACK_BYTES = 128 << 10,
    ANSWER_MAX_BYTES = 16 << 10,
    FRAMES_AT_ONCE = 64,
    // A block of trailers that says OK holds no more than the status.
    SHORT_TRAILERS = 16,
    STATUS_LOST = 0,
    STATUS_OK = 200,
    STATUS_BUSY = 503,
    STATUS_BAD = 500,
};

#define EXPORT_PATH "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

struct shared {
    const struct load *load;
    struct buf head;    // HTTP: of the request; gRPC: its block of headers
    struct buf message; // gRPC: with its prefix
    double begin;
    _Atomic uint64_t left;
};

struct client {
    struct shared *shared;
    pthread_t thread;
    struct load_result result;
    float *times_ms;
    size_t times, room;
    uint64_t random;
    int fd;
    // HTTP/2
    struct frame_reader *reader;
    struct buf heads; // of a request's frames
    uint32_t stream;
    int64_t window, stream_window, first_window;
};

// Requests.

static void make_http(const struct load *l, struct buf *head)
{
    buf_add_format(head, "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: bench\r\n",
                   l->path != NULL ? l->path : "/v1development/profiles", l->port);
    buf_add_format(head, "Content-Type: %s\r\nContent-Length: %zu\r\n",
                   l->content_type != NULL ? l->content_type : "application/x-protobuf", l->body.len);
    if (l->encoding != NULL)
        buf_add_format(head, "Content-Encoding: %s\r\n", l->encoding);
    buf_add_text(head, "\r\n");
}

static void make_grpc(const struct load *l, struct buf *head, struct buf *message)
{
    uint32_t len = (uint32_t)l->body.len;
    const uint8_t prefix[] = {l->encoding != NULL, (uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                              (uint8_t)len};
    buf_add_byte(head, 0x83); // :method POST
    buf_add_byte(head, 0x86); // :scheme http
    hpack_put(head, 4, NULL, l->path != NULL ? l->path : EXPORT_PATH);
    hpack_put(head, 1, NULL, "127.0.0.1");
    hpack_put(head, 31, NULL, "application/grpc");
    hpack_put(head, 0, "te", "trailers");
    hpack_put(head, 58, NULL, "bench");
    if (l->encoding != NULL)
        hpack_put(head, 0, "grpc-encoding", l->encoding);
    buf_add(message, prefix, sizeof prefix);
    buf_add(message, l->body.data, l->body.len);
}

// HTTP/1.1.

static int read_http_answer(struct client *c, bool *close_out)
{
    char head[ANSWER_MAX_BYTES];
    size_t len = 0;
    char *end = NULL;
    while (end == NULL) {
        ssize_t n = recv(c->fd, head + len, sizeof head - 1 - len, 0);
        if (n <= 0)
            return STATUS_LOST;
        len += (size_t)n;
        head[len] = '\0';
        end = strstr(head, "\r\n\r\n");
        if (end == NULL && len == sizeof head - 1)
            return STATUS_LOST;
    }
    const char *length = strcasestr(head, "content-length:");
    size_t wanted = (size_t)(end + 4 - head) + (length != NULL ? strtoull(length + 15, NULL, 10) : 0);
    int status = (int)strtol(head + 9, NULL, 10);
    *close_out = strcasestr(head, "connection: close") != NULL;
    while (len < wanted) {
        ssize_t n = recv(c->fd, head, wanted - len < sizeof head ? wanted - len : sizeof head, 0);
        if (n <= 0)
            return STATUS_LOST;
        len += (size_t)n;
    }
    return status;
}

// False: the answer is there before all was sent, or nobody takes the rest.
static bool send_http(struct client *c)
{
    struct bytes head = buf_bytes(&c->shared->head), body = c->shared->load->body;
    struct iovec parts[2] = {{(void *)(uintptr_t)head.data, head.len}, {(void *)(uintptr_t)body.data, body.len}};
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        ssize_t n = sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        struct pollfd p = {c->fd, POLLIN | POLLOUT, 0};
        if (n < 0 && (errno != EAGAIN || poll(&p, 1, -1) < 0 || (p.revents & POLLIN) != 0))
            return false;
        for (size_t i = 0, left = n > 0 ? (size_t)n : 0; i < 2; i++) {
            size_t used = left < parts[i].iov_len ? left : parts[i].iov_len;
            parts[i] = (struct iovec){(char *)parts[i].iov_base + used, parts[i].iov_len - used};
            left -= used;
        }
    }
    return true;
}

static void close_connection(struct client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

static int http_request(struct client *c)
{
    bool ends = false, sent = send_http(c);
    int status = read_http_answer(c, &ends);
    if (!sent || ends || status == STATUS_LOST)
        close_connection(c);
    return status;
}

// gRPC.

static void on_settings(struct client *c, const struct frame *f)
{
    if ((f->flags & FLAG_ACK) != 0)
        return;
    for (size_t i = 0; i + 6 <= f->len; i += 6)
        if (f->payload[i + 1] == SETTING_WINDOW) {
            int64_t value = frame_uint32(f->payload + i + 2);
            c->stream_window += value - c->first_window;
            c->first_window = value;
        }
    struct buf ack;
    buf_init(&ack, FRAME_HEAD_BYTES);
    frame_put(&ack, FRAME_SETTINGS, FLAG_ACK, 0, (struct bytes){NULL, 0});
    socket_send_all(c->fd, buf_bytes(&ack));
    buf_fini(&ack);
}

static void on_window(struct client *c, const struct frame *f)
{
    uint32_t increment = frame_uint32(f->payload);
    if (f->stream == 0)
        c->window += increment;
    else if (f->stream == c->stream)
        c->stream_window += increment;
}

static int grpc_status(const struct frame *f)
{
    bool ok = f->len <= SHORT_TRAILERS && f->len >= 2 && memcmp(f->payload + f->len - 2, "\x01\x30", 2) == 0;
    // 8 and 14 have one and two digits; the text that follows makes no difference
    return ok ? STATUS_OK : STATUS_BUSY;
}

// Takes one frame. The status once the answer is complete; -1 before.
static int grpc_step(struct client *c)
{
    struct frame f;
    if (!frame_read(c->reader, &f))
        return STATUS_LOST;
    if (f.type == FRAME_SETTINGS)
        on_settings(c, &f);
    else if (f.type == FRAME_WINDOW_UPDATE && f.len == 4)
        on_window(c, &f);
    else if (f.type == FRAME_GOAWAY)
        return STATUS_LOST;
    else if (f.type == FRAME_RST_STREAM && f.stream == c->stream)
        return STATUS_BAD;
    else if (f.type == FRAME_HEADERS && f.stream == c->stream && (f.flags & FLAG_END_STREAM) != 0)
        return grpc_status(&f);
    return -1;
}

static struct bytes payload_of(const struct shared *s, size_t frame)
{
    if (frame == 0)
        return buf_bytes(&s->head);
    size_t at = (frame - 1) * FRAME_MAX_BYTES, left = s->message.len - at;
    return (struct bytes){s->message.data + at, left < FRAME_MAX_BYTES ? left : FRAME_MAX_BYTES};
}

static size_t frame_count(const struct shared *s)
{
    return 1 + (s->message.len + FRAME_MAX_BYTES - 1) / FRAME_MAX_BYTES;
}

static void make_heads(struct client *c)
{
    size_t count = frame_count(c->shared);
    buf_init(&c->heads, SIZE_MAX / 2);
    for (size_t i = 0; i < count; i++)
        frame_put_head(&c->heads, i == 0 ? FRAME_HEADERS : FRAME_DATA,
                       i == 0           ? FLAG_END_HEADERS
                       : i + 1 == count ? FLAG_END_STREAM
                                        : 0,
                       0, payload_of(c->shared, i).len);
    CHECK(buf_ok(&c->heads));
}

// Sends frames from number `at` on, as many as the windows allow; how many, -1 when the connection is gone.
static int send_frames(struct client *c, size_t at)
{
    struct iovec parts[2 * FRAMES_AT_ONCE];
    size_t n = 0, bytes = 0, count = frame_count(c->shared);
    for (; n < FRAMES_AT_ONCE && at + n < count; n++) {
        struct bytes payload = payload_of(c->shared, at + n);
        int64_t cost = at + n == 0 ? 0 : (int64_t)payload.len;
        uint8_t *head = c->heads.data + (at + n) * FRAME_HEAD_BYTES;
        if (cost > c->window || cost > c->stream_window)
            break;
        c->window -= cost;
        c->stream_window -= cost;
        frame_set_stream(head, c->stream);
        parts[2 * n] = (struct iovec){head, FRAME_HEAD_BYTES};
        parts[2 * n + 1] = (struct iovec){(void *)(uintptr_t)payload.data, payload.len};
        bytes += FRAME_HEAD_BYTES + payload.len;
    }
    return n == 0 || socket_send_parts(c->fd, parts, 2 * n) ? (int)n : -1;
}

static void give_up_stream(struct client *c)
{
    static const uint8_t cancel[4] = {0, 0, 0, 8};
    struct buf out;
    buf_init(&out, FRAME_MAX_BYTES);
    frame_put(&out, FRAME_RST_STREAM, 0, c->stream, (struct bytes){cancel, sizeof cancel});
    socket_send_all(c->fd, buf_bytes(&out));
    buf_fini(&out);
}

static int grpc_request(struct client *c)
{
    size_t at = 0, count = frame_count(c->shared);
    int status = -1;
    c->stream += c->stream == 0 ? 1 : 2;
    c->stream_window = c->first_window;
    while (at < count && status < 0) {
        int n = send_frames(c, at);
        if (n < 0)
            return STATUS_LOST;
        at += (size_t)n;
        if (n == 0)
            status = grpc_step(c);
    }
    if (at < count && status != STATUS_LOST)
        give_up_stream(c);
    while (status < 0)
        status = grpc_step(c);
    if (status == STATUS_LOST)
        close_connection(c);
    return status;
}

static bool grpc_greet(struct client *c)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    struct buf out;
    buf_init(&out, FRAME_MAX_BYTES);
    buf_add_text(&out, preface);
    frame_put_setting(&out, SETTING_TABLE_SIZE, 0);
    frame_put_window(&out, 0, WINDOW_MAX_BYTES - WINDOW_BYTES);
    bool ok = socket_send_all(c->fd, buf_bytes(&out));
    buf_fini(&out);
    c->reader->fd = c->fd;
    c->reader->at = c->reader->len = 0;
    c->stream = 0;
    c->window = c->first_window = WINDOW_BYTES;
    return ok;
}

// Connections.

static bool open_connection(struct client *c)
{
    const struct load *l = c->shared->load;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)l->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(c->fd >= 0);
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(c->fd, (struct sockaddr *)&address, sizeof address) == 0 && (!l->grpc || grpc_greet(c)))
        return true;
    close_connection(c);
    return false;
}

static void sleep_ms(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

static uint32_t next_random(struct client *c)
{
    c->random = c->random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(c->random >> 32);
}

static void note_time(struct client *c, double seconds)
{
    if (c->times == c->room) {
        c->room = c->room == 0 ? 1024 : 2 * c->room;
        c->times_ms = realloc(c->times_ms, c->room * sizeof *c->times_ms);
        CHECK(c->times_ms != NULL);
    }
    c->times_ms[c->times++] = (float)(seconds * 1e3);
}

static int send_once(struct client *c)
{
    if (c->fd < 0 && !open_connection(c))
        return STATUS_LOST;
    double begin = wall_seconds();
    int status = c->shared->load->grpc ? grpc_request(c) : http_request(c);
    if (status == STATUS_OK)
        note_time(c, wall_seconds() - begin);
    return status;
}

static bool is_busy(int status)
{
    return status == 429 || status == STATUS_BUSY;
}

static void send_until_taken(struct client *c)
{
    const struct load *l = c->shared->load;
    for (;;) {
        int status = send_once(c);
        c->result.taken += status == STATUS_OK;
        c->result.refused += is_busy(status);
        if (status != STATUS_OK && !is_busy(status)) {
            c->result.other++;
            c->result.other_status = status;
        }
        if (!is_busy(status))
            return;
        if (!l->sends_again) {
            c->result.unfinished++;
            return;
        }
        sleep_ms(l->pause_ms / 2 + (unsigned)((uint64_t)l->pause_ms * next_random(c) >> 32));
    }
}

static bool may_go_on(struct shared *s)
{
    const struct load *l = s->load;
    if (l->seconds > 0 && wall_seconds() - s->begin >= l->seconds)
        return false;
    if (l->requests == 0)
        return true;
    uint64_t left = atomic_load(&s->left);
    while (left > 0)
        if (atomic_compare_exchange_weak(&s->left, &left, left - 1))
            return true;
    return false;
}

static void *run_client(void *arg)
{
    struct client *c = arg;
    do {
        if (!may_go_on(c->shared))
            break;
        send_until_taken(c);
    } while (!c->shared->load->once);
    close_connection(c);
    return NULL;
}

static void start_client(struct client *c, unsigned number, struct shared *s)
{
    pthread_attr_t attributes;
    *c = (struct client){.shared = s, .random = number, .fd = -1};
    if (s->load->grpc) {
        c->reader = MEM_NEW(struct frame_reader);
        make_heads(c);
    }
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    CHECK(pthread_create(&c->thread, &attributes, run_client, c) == 0);
    pthread_attr_destroy(&attributes);
}

// Results.

static int by_time(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

static void find_percentiles(const struct client *clients, unsigned count, struct load_result *out)
{
    size_t all = 0, n = 0;
    for (unsigned i = 0; i < count; i++)
        all += clients[i].times;
    if (all == 0)
        return;
    float *times = mem_alloc(all * sizeof *times);
    for (unsigned i = 0; i < count; n += clients[i++].times)
        memcpy(times + n, clients[i].times_ms, clients[i].times * sizeof *times);
    qsort(times, all, sizeof *times, by_time);
    out->p50_ms = (double)times[all / 2];
    out->p99_ms = (double)times[all - 1 - all / 100];
    free(times);
}

static void end_client(struct client *c, struct load_result *sum)
{
    sum->taken += c->result.taken;
    sum->refused += c->result.refused;
    sum->other += c->result.other;
    sum->unfinished += c->result.unfinished;
    if (c->result.other > 0)
        sum->other_status = c->result.other_status;
    free(c->times_ms);
    free(c->reader);
    buf_fini(&c->heads);
}

void load_run(const struct load *l, struct load_result *out)
{
    struct shared s = {.load = l, .begin = wall_seconds(), .left = l->requests};
    struct client *clients = mem_alloc(l->connections * sizeof *clients);
    *out = (struct load_result){0};
    buf_init(&s.head, FRAME_MAX_BYTES);
    buf_init(&s.message, SIZE_MAX / 2);
    if (l->grpc)
        make_grpc(l, &s.head, &s.message);
    else
        make_http(l, &s.head);
    CHECK(buf_ok(&s.head) && buf_ok(&s.message));
    for (unsigned i = 0; i < l->connections; i++)
        start_client(&clients[i], i, &s);
    for (unsigned i = 0; i < l->connections; i++)
        CHECK(pthread_join(clients[i].thread, NULL) == 0);
    out->seconds = wall_seconds() - s.begin;
    find_percentiles(clients, l->connections, out);
    for (unsigned i = 0; i < l->connections; i++)
        end_client(&clients[i], out);
    free(clients);
    buf_fini(&s.head);
    buf_fini(&s.message);
}
