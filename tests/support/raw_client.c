// SPDX-License-Identifier: Apache-2.0
#include "tests/support/raw_client.h"

#include "base/check.h"
#include "tests/support/loop_step.h"

#include <string.h>

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    struct raw_client *c = handle->data;
    (void)suggested;
    if (c->len + 1 >= sizeof c->got)
        c->len = sizeof c->got / 2;
    *out = uv_buf_init(c->got + c->len, (unsigned)(sizeof c->got - 1 - c->len));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
    struct raw_client *c = stream->data;
    (void)b;
    if (n < 0)
        c->ended = true;
    else
        c->len += (size_t)n;
    c->got[c->len] = '\0';
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct raw_client *c = connect->data;
    CHECK(status == 0);
    c->connected = true;
    uv_read_start(&c->socket.stream, on_alloc, on_read);
}

static void wait_connected(struct raw_client *c)
{
    while (!c->connected)
        loop_step(c->loop);
}

void raw_client_connect(struct raw_client *c, uv_loop_t *loop, int port)
{
    struct sockaddr_in address;
    *c = (struct raw_client){.loop = loop};
    uv_tcp_init(loop, &c->socket.tcp);
    c->socket.handle.data = c->connect.data = c;
    uv_ip4_addr("127.0.0.1", port, &address);
    CHECK(uv_tcp_connect(&c->connect, &c->socket.tcp, (struct sockaddr *)&address, on_connected) == 0);
    wait_connected(c);
}

void raw_client_connect_unix(struct raw_client *c, uv_loop_t *loop, const char *path)
{
    *c = (struct raw_client){.loop = loop};
    uv_pipe_init(loop, &c->socket.pipe, 0);
    c->socket.handle.data = c->connect.data = c;
    uv_pipe_connect(&c->connect, &c->socket.pipe, path, on_connected);
    wait_connected(c);
}

void raw_client_send_bytes(struct raw_client *c, const void *data, size_t len)
{
    uv_buf_t b = {.base = (char *)(uintptr_t)data, .len = len};
    CHECK(uv_try_write(&c->socket.stream, &b, 1) == (int)len);
}

void raw_client_send(struct raw_client *c, const char *text)
{
    raw_client_send_bytes(c, text, strlen(text));
}

void raw_client_wait(struct raw_client *c, const char *until)
{
    while (!c->ended && (until == NULL || strstr(c->got, until) == NULL))
        loop_step(c->loop);
}

static void on_closed(uv_handle_t *handle)
{
    ((struct raw_client *)handle->data)->closed = true;
}

void raw_client_close(struct raw_client *c)
{
    uv_close(&c->socket.handle, on_closed);
    while (!c->closed)
        loop_step(c->loop);
}
