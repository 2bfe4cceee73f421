// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "bench/http2_frames.h"

#include "base/mem.h"
#include "codec/compress.h"
#include "codec/otlp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FILLED_UP_BYTES = 1 << 30, PREFACE_BYTES = 24 };

struct sink {
    int listener, port;
    pthread_t thread;
    bool counts_samples;
    _Atomic uint64_t requests, samples;
};

struct connection {
    struct sink *sink;
    int fd;
};

static void count_samples(struct sink *s, struct bytes body, const char *encoding)
{
    struct buf raw;
    struct batch *batch = NULL;
    struct err e = {0};
    enum compression kind = COMPRESSION_NONE;
    buf_init(&raw, SIZE_MAX / 2);
    if (encoding != NULL && strncmp(encoding, "gzip", 4) == 0)
        kind = COMPRESSION_GZIP;
    if (encoding != NULL && strncmp(encoding, "zstd", 4) == 0)
        kind = COMPRESSION_ZSTD;
    bool ok = decompress(kind, body, 0, "none", &raw, &e) == ERR_OK &&
              otlp_decode(buf_bytes(&raw), &otlp_default_limits, &batch, &e) == ERR_OK;
    if (ok)
        atomic_fetch_add(&s->samples, batch->sample_count);
    else
        fprintf(stderr, "sink: %s\n", e.text);
    batch_unref(&batch);
    buf_fini(&raw);
}

// One request's head, then its body by Content-Length. False at the end of the connection.
static bool take_request(struct sink *s, int fd)
{
    char head[16384];
    size_t len = 0;
    char *end = NULL;
    while (end == NULL) {
        ssize_t n = recv(fd, head + len, sizeof head - 1 - len, 0);
        if (n <= 0)
            return false;
        len += (size_t)n;
        head[len] = '\0';
        end = strstr(head, "\r\n\r\n");
        if (end == NULL && len == sizeof head - 1)
            return false;
    }
    const char *length = strcasestr(head, "content-length:");
    size_t body = length != NULL ? strtoull(length + 15, NULL, 10) : 0, have = len - (size_t)(end + 4 - head);
    const char *encoding = strcasestr(head, "content-encoding: ");
    if (s->counts_samples) {
        uint8_t *all = mem_alloc(body + 1);
        memcpy(all, end + 4, have);
        ssize_t n = have < body ? recv(fd, all + have, body - have, MSG_WAITALL) : 0;
        if (have + (size_t)n == body)
            count_samples(s, (struct bytes){all, body}, encoding != NULL ? encoding + 18 : NULL);
        free(all);
        have = body;
    }
    char rest[65536];
    while (have < body) {
        ssize_t n = recv(fd, rest, body - have < sizeof rest ? body - have : sizeof rest, 0);
        if (n <= 0)
            return false;
        have += (size_t)n;
    }
    atomic_fetch_add(&s->requests, 1);
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    return send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL) > 0;
}

static void put_grpc_answer(struct buf *out, uint32_t stream)
{
    static const uint8_t empty_message[5] = {0};
    struct buf block;
    buf_init(&block, FRAME_MAX_BYTES);
    buf_add_byte(&block, 0x88); // :status 200
    hpack_put(&block, 31, NULL, "application/grpc");
    frame_put(out, FRAME_HEADERS, FLAG_END_HEADERS, stream, buf_bytes(&block));
    frame_put(out, FRAME_DATA, 0, stream, (struct bytes){empty_message, sizeof empty_message});
    buf_clear(&block);
    hpack_put(&block, 0, "grpc-status", "0");
    frame_put(out, FRAME_HEADERS, FLAG_END_HEADERS | FLAG_END_STREAM, stream, buf_bytes(&block));
    buf_fini(&block);
}

static void answer_frame(struct sink *s, const struct frame *f, uint32_t *consumed, struct buf *out)
{
    bool wants_ack = (f->type == FRAME_SETTINGS || f->type == FRAME_PING) && (f->flags & FLAG_ACK) == 0;
    if (wants_ack)
        frame_put(out, f->type, FLAG_ACK, 0, (struct bytes){f->payload, f->type == FRAME_PING ? f->len : 0});
    if (f->type == FRAME_DATA)
        *consumed += f->len;
    if (*consumed >= FILLED_UP_BYTES) {
        frame_put_window(out, 0, *consumed);
        *consumed = 0;
    }
    if ((f->type == FRAME_DATA || f->type == FRAME_HEADERS) && (f->flags & FLAG_END_STREAM) != 0) {
        atomic_fetch_add(&s->requests, 1);
        put_grpc_answer(out, f->stream);
    }
}

// Windows so large that they never matter.
static void serve_http2(struct sink *s, int fd)
{
    struct frame_reader *r = MEM_NEW(struct frame_reader);
    struct buf out;
    struct frame f;
    uint32_t consumed = 0;
    r->fd = fd;
    buf_init(&out, FRAME_MAX_BYTES);
    frame_put_setting(&out, SETTING_WINDOW, WINDOW_MAX_BYTES);
    frame_put_window(&out, 0, WINDOW_MAX_BYTES - WINDOW_BYTES);
    bool ok = recv(fd, r->data, PREFACE_BYTES, MSG_WAITALL) == PREFACE_BYTES;
    while (ok && socket_send_all(fd, buf_bytes(&out)) && frame_read(r, &f)) {
        buf_clear(&out);
        answer_frame(s, &f, &consumed, &out);
    }
    buf_fini(&out);
    free(r);
}

static void *run_connection(void *arg)
{
    struct connection c = *(struct connection *)arg;
    char first[3];
    int one = 1;
    free(arg);
    setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (recv(c.fd, first, sizeof first, MSG_PEEK | MSG_WAITALL) == sizeof first && memcmp(first, "PRI", 3) == 0)
        serve_http2(c.sink, c.fd);
    else
        while (take_request(c.sink, c.fd))
            ;
    close(c.fd);
    return NULL;
}

static void *run_sink(void *arg)
{
    struct sink *s = arg;
    int fd;
    while ((fd = accept(s->listener, NULL, NULL)) >= 0) {
        pthread_t thread;
        struct connection *c = MEM_NEW(struct connection);
        *c = (struct connection){s, fd};
        CHECK(pthread_create(&thread, NULL, run_connection, c) == 0);
        pthread_detach(thread);
    }
    return NULL;
}

struct sink *sink_create(bool counts_samples)
{
    struct sink *s = MEM_NEW(struct sink);
    s->counts_samples = counts_samples;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(s->listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(s->listener, 64) == 0);
    CHECK(getsockname(s->listener, (struct sockaddr *)&address, &size) == 0);
    s->port = ntohs(address.sin_port);
    CHECK(pthread_create(&s->thread, NULL, run_sink, s) == 0);
    return s;
}

int sink_port(const struct sink *s)
{
    return s->port;
}

uint64_t sink_requests(const struct sink *s)
{
    return atomic_load(&s->requests);
}

uint64_t sink_samples(const struct sink *s)
{
    return atomic_load(&s->samples);
}

void sink_wait(const struct sink *s, uint64_t requests)
{
    double give_up = wall_seconds() + 30;
    while (sink_requests(s) < requests) {
        if (wall_seconds() > give_up) {
            fprintf(stderr, "%llu requests were taken, %llu arrived\n", (unsigned long long)requests,
                    (unsigned long long)sink_requests(s));
            exit(1);
        }
        usleep(1000);
    }
}

void sink_destroy(struct sink **s)
{
    shutdown((*s)->listener, SHUT_RDWR);
    pthread_join((*s)->thread, NULL);
    close((*s)->listener);
    free(*s);
    *s = NULL;
}
