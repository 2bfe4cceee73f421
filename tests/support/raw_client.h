// SPDX-License-Identifier: Apache-2.0
// A client that sends bytes as told and keeps what comes: for everything a decent HTTP client would not do.
#ifndef TESTS_SUPPORT_RAW_CLIENT_H
#define TESTS_SUPPORT_RAW_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct raw_client {
    uv_loop_t *loop;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } socket;
    uv_connect_t connect;
    char got[8192]; // terminated; a longer answer overwrites its own end
    size_t len;
    bool connected, ended, closed;
};

// Both wait until the connection stands.
void raw_client_connect(struct raw_client *c, uv_loop_t *loop, int port); // to 127.0.0.1
void raw_client_connect_unix(struct raw_client *c, uv_loop_t *loop, const char *path);
void raw_client_send(struct raw_client *c, const char *text);
void raw_client_send_bytes(struct raw_client *c, const void *data, size_t len);
// Until this text came (NULL: never) or the server closed.
void raw_client_wait(struct raw_client *c, const char *until);
void raw_client_close(struct raw_client *c);

#endif
