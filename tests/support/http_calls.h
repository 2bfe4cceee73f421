// SPDX-License-Identifier: Apache-2.0
// A loop with a client on it, and what came of its calls.
#ifndef TESTS_SUPPORT_HTTP_CALLS_H
#define TESTS_SUPPORT_HTTP_CALLS_H

#include "net/http_client.h"

struct call_result {
    int done; // how often on_done came
    enum http_outcome outcome;
    int status;
    struct buf body;
    char error[1024];
    char server[128];   // the response's header "Server"
    char trailers[256]; // "name: value\n" ...
    bool may_have_been_processed;
    int64_t reset_code;
    struct http_call *call;
    void (*then)(struct call_result *result); // after it is filled; may be NULL
    void *then_arg;
};

struct http_world {
    uv_loop_t loop;
    uv_timer_t watchdog; // a hanging test fails
    struct http_client *client;
};

void http_world_init(struct http_world *w, const struct http_client_options *options);
// Closes the client; the loop must be empty afterwards.
void http_world_fini(struct http_world *w);

void http_world_send(struct http_world *w, const struct http_request *request, struct call_result *result);
void http_world_wait(struct http_world *w, struct call_result *result); // runs the loop until it is done
void call_result_fini(struct call_result *result);
// Send, wait.
void http_world_call(struct http_world *w, const struct http_request *request, struct call_result *result);

// "http://127.0.0.1:PORT/path", in a buffer of the caller.
char *loopback_url(char out[128], const char *scheme, int port, const char *path);

#endif
