// SPDX-License-Identifier: Apache-2.0
// Sends a file as the message of a unary gRPC call, many times at once, and says what came of it:
//   grpc_send URL PATH FILE [--times N] [--parallel N] [--gzip] [--ca FILE] [--metadata NAME=VALUE]... [--timeout MS]
// For tests/interop. Exit code 0: every call was answered OK.
#include "base/mem.h"
#include "net/grpc_client.h"

#include <libdeflate.h>
#include <stdio.h>
#include <string.h>

enum { MAX_METADATA = 8, MAX_FILE_BYTES = 256 << 20 };

struct sender {
    uv_loop_t loop;
    struct http_client *client;
    struct grpc_request request;
    struct http_client_options options;
    struct http_header metadata[MAX_METADATA];
    struct buf message;
    size_t times, parallel, started, done, ok, failures_shown, details;
};

static void start_some(struct sender *s);

static void on_closed(void *arg)
{
    (void)arg;
}

static void on_done(void *arg, const struct grpc_response *r)
{
    struct sender *s = arg;
    s->done++;
    s->ok += r->status == GRPC_OK;
    s->details += r->details.len > 0;
    if (r->status != GRPC_OK && s->failures_shown++ < 3)
        printf("%s (%s, %s): %s, %zu bytes of details\n", grpc_status_name(r->status),
               r->is_peers_status ? "the peer's" : "ours",
               r->may_have_been_processed ? "perhaps processed" : "not processed", r->message, r->details.len);
    if (s->done == s->times)
        http_client_close(&s->client, on_closed, NULL);
    else
        start_some(s);
}

static void start_some(struct sender *s)
{
    while (s->started < s->times && s->started - s->done < s->parallel) {
        s->started++;
        grpc_client_send(s->client, &s->request, on_done, s);
    }
}

static bool read_file(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "rb");
    char piece[65536];
    buf_init(out, MAX_FILE_BYTES);
    for (size_t n; f != NULL && (n = fread(piece, 1, sizeof piece, f)) > 0;)
        buf_add(out, piece, n);
    if (f != NULL)
        fclose(f);
    return f != NULL && buf_ok(out);
}

static void compress_message(struct sender *s)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(1);
    size_t max = libdeflate_gzip_compress_bound(c, s->message.len);
    struct buf out;
    buf_init(&out, MAX_FILE_BYTES + 1024);
    CHECK(buf_reserve(&out, max));
    out.len = libdeflate_gzip_compress(c, s->message.data, s->message.len, out.data, max);
    libdeflate_free_compressor(c);
    buf_fini(&s->message);
    s->message = out;
    s->request.encoding = "gzip";
}

static bool add_metadata(struct sender *s, char *pair)
{
    char *equals = strchr(pair, '=');
    if (equals == NULL || s->request.metadata_count == MAX_METADATA)
        return false;
    *equals = '\0';
    s->metadata[s->request.metadata_count++] = (struct http_header){pair, equals + 1};
    return true;
}

static bool parse_option(struct sender *s, const char *name, char *value)
{
    if (strcmp(name, "--times") == 0)
        s->times = strtoul(value, NULL, 10);
    else if (strcmp(name, "--parallel") == 0)
        s->parallel = strtoul(value, NULL, 10);
    else if (strcmp(name, "--ca") == 0)
        s->options.tls.ca_file = value;
    else if (strcmp(name, "--timeout") == 0)
        s->request.timeout_nanos = (int64_t)strtoul(value, NULL, 10) * 1000000;
    else if (strcmp(name, "--metadata") == 0)
        return add_metadata(s, value);
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    struct sender s = {.times = 1, .parallel = 1, .options.protocol = HTTP_2};
    bool gzip = false;
    if (argc < 4 || !read_file(argv[3], &s.message))
        return 2;
    for (int i = 4; i < argc; i++) {
        if (strcmp(argv[i], "--gzip") == 0)
            gzip = true;
        else if (i + 1 == argc || !parse_option(&s, argv[i], argv[i + 1]))
            return 2;
        else
            i++;
    }
    if (gzip)
        compress_message(&s);
    s.request.origin = argv[1];
    s.request.path = argv[2];
    s.request.metadata = s.metadata;
    s.request.message = buf_bytes(&s.message);
    struct err e = {0};
    CHECK(uv_loop_init(&s.loop) == 0);
    if (http_client_create(&s.loop, &s.options, &s.client, &e) != ERR_OK) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    start_some(&s);
    uv_run(&s.loop, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&s.loop) == 0);
    printf("%zu sent, %zu OK, %zu with details\n", s.done, s.ok, s.details);
    buf_fini(&s.message);
    return s.ok == s.times ? 0 : 1;
}
