// SPDX-License-Identifier: Apache-2.0
// A server for outside judges (h2spec, curl, h2load): answers with what it was sent.
//   http_echo_server ENDPOINT [FOLDER [mtls]]
// With a FOLDER it speaks TLS and leaves ca.pem there, cert.pem and key.pem (of client.example, for itself and for clients,
// which it wants to see with mtls). Prints "port N" once it listens, drains on SIGTERM. /trailers answers with trailers, /refused before the body, /none
// with 404, /peer with who asked.
#include "base/mem.h"
#include "net/http_server.h"
#include "tests/support/test_certs.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { BODY_MAX_BYTES = 64 << 20 };

struct echo {
    uv_loop_t loop;
    uv_signal_t term;
    struct http_server *server;
};

static void on_head(void *arg, struct http_exchange *x, const struct http_head *head)
{
    static const struct http_header retry = {"retry-after", "1"};
    (void)arg;
    if (bytes_equal_text(head->path, "/none"))
        http_exchange_answer_text(x, 404, "nothing is here", NULL, 0);
    else if (bytes_equal_text(head->path, "/refused"))
        http_exchange_answer_text(x, 503, "not now", &retry, 1);
    else
        http_exchange_take_body(x, BODY_MAX_BYTES);
}

static void write_body(struct buf *out, const struct http_head *head, const uint8_t *body, size_t len)
{
    const struct http_peer *peer = head->peer;
    if (bytes_equal_text(head->path, "/peer"))
        buf_add_format(out, "%s %s\n", peer->address, peer->certificate_subject ? peer->certificate_subject : "-");
    else if (len > 0)
        buf_add(out, body, len);
    else
        buf_add_format(out, "%.*s %.*s\n", BYTES_PRINT(head->method), BYTES_PRINT(head->path));
}

static void on_request(void *arg, struct http_exchange *x, uint8_t *body, size_t len)
{
    static const struct http_header type = {"content-type", "application/octet-stream"}, status = {"grpc-status", "0"};
    const struct http_head *head = http_exchange_head(x);
    struct buf out;
    (void)arg;
    buf_init(&out, BODY_MAX_BYTES + 1024);
    write_body(&out, head, body, len);
    free(body);
    struct http_answer answer = {.status = 200, .headers = &type, .header_count = 1, .body = &out};
    if (bytes_equal_text(head->path, "/trailers")) {
        answer.trailers = &status;
        answer.trailer_count = 1;
    }
    http_exchange_answer(x, &answer);
}

static void on_abort(void *arg, struct http_exchange *x)
{
    (void)arg;
    (void)x;
}

static void on_problem(void *arg, const struct http_peer *peer, const char *text)
{
    (void)arg;
    fprintf(stderr, "%s: %s\n", peer ? peer->address : "server", text);
}

static void on_drained(void *arg)
{
    struct echo *e = arg;
    http_server_close(&e->server, NULL, NULL);
    uv_close((uv_handle_t *)&e->term, NULL);
}

static void on_term(uv_signal_t *signal, int number)
{
    struct echo *e = signal->data;
    (void)number;
    http_server_drain(e->server, on_drained, e);
}

struct tls_files {
    char ca[512], cert[512], key[512];
};

static void make_files(const char *folder, struct tls_files *files)
{
    struct test_ca ca;
    test_ca_init(&ca);
    snprintf(files->ca, sizeof files->ca, "%s/ca.pem", folder);
    snprintf(files->cert, sizeof files->cert, "%s/cert.pem", folder);
    snprintf(files->key, sizeof files->key, "%s/key.pem", folder);
    test_write_certificate(&ca, files->cert, files->key);
    FILE *f = fopen(files->ca, "w");
    CHECK(f != NULL && fputs(ca.pem, f) >= 0 && fclose(f) == 0);
    test_ca_fini(&ca);
}

int main(int argc, char **argv)
{
    struct echo e = {0};
    struct err error = {0};
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: http_echo_server ENDPOINT [FOLDER [mtls]]\n");
        return 2;
    }
    struct tls_files files;
    struct tls_server_options tls = {0};
    struct http_server_options options = {
        .endpoint = argv[1],
        .handler = {&e, on_head, on_request, NULL, NULL, on_abort, on_problem},
    };
    if (argc > 2) {
        make_files(argv[2], &files);
        tls = (struct tls_server_options){
            .cert_file = files.cert, .key_file = files.key, .client_ca_file = argc > 3 ? files.ca : NULL};
        options.tls = &tls;
    }
    uv_loop_init(&e.loop);
    if (http_server_create(&e.loop, &options, &e.server, &error) != ERR_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    uv_signal_init(&e.loop, &e.term);
    e.term.data = &e;
    uv_signal_start(&e.term, on_term, SIGTERM);
    printf("port %d\n", http_server_port(e.server));
    fflush(stdout);
    uv_run(&e.loop, UV_RUN_DEFAULT);
    return uv_loop_close(&e.loop) == 0 ? 0 : 1;
}
