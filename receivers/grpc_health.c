// SPDX-License-Identifier: Apache-2.0
// grpc.health.v1: whether this receiver takes profiles. A Watch hears it at once, and when the service or its connection
// ends.
#include "codec/wire.h"
#include "receivers/grpc_call.h"

#include <stdlib.h>

enum { RESPONSE_MAX_BYTES = 16, SERVING = 1, NOT_SERVING = 2, SERVICE_UNKNOWN = 3 };

static uint64_t own_status(const struct http_exchange *x)
{
    const struct grpc_call *c = http_exchange_context(x);
    return c->listener->receiver->closing ? NOT_SERVING : SERVING;
}

// HealthCheckRequest {service 1}: the server as a whole, or what it is for.
static void parse_request(struct bytes payload, bool *valid_out, bool *known_out)
{
    struct wire_reader r;
    struct wire_field f;
    struct bytes service = {NULL, 0};
    wire_reader_init(&r, payload);
    while (wire_next(&r, &f))
        if (f.number == 1 && f.type == WIRE_LEN)
            service = f.bytes;
    *valid_out = r.error == NULL;
    *known_out = service.len == 0 || bytes_equal_text(service, OTLP_GRPC_SERVICE);
}

// Frees the body. False: the call has failed.
static bool read_request(struct http_exchange *x, uint8_t *body, size_t len, bool *known_out)
{
    struct bytes payload;
    struct buf room;
    bool valid = false;
    buf_init(&room, SIZE_MAX);
    bool read = grpc_call_read(x, (struct bytes){body, len}, &room, &payload);
    if (read)
        parse_request(payload, &valid, known_out);
    if (read && !valid)
        grpc_call_fail(x, GRPC_INVALID_ARGUMENT, "the message is not a HealthCheckRequest");
    buf_fini(&room);
    free(body);
    return valid;
}

// HealthCheckResponse {status 1}
static void write_response(struct buf *out, uint64_t status)
{
    buf_init(out, RESPONSE_MAX_BYTES);
    wire_put_uint(out, 1, status);
}

static void on_check(void *arg, struct http_exchange *x, uint8_t *body, size_t len)
{
    bool known;
    struct buf out;
    (void)arg;
    if (!read_request(x, body, len, &known))
        return;
    if (!known) {
        grpc_call_fail(x, GRPC_NOT_FOUND, "unknown service");
        return;
    }
    write_response(&out, own_status(x));
    grpc_call_answer(x, &(struct otlp_grpc_answer){.status = GRPC_OK, .message = &out});
    buf_fini(&out);
}

static void tell(struct http_exchange *x, uint64_t status)
{
    struct buf out;
    write_response(&out, status);
    otlp_send_grpc(x, &out);
    buf_fini(&out);
}

static void on_watch(void *arg, struct http_exchange *x, uint8_t *body, size_t len)
{
    bool known;
    (void)arg;
    if (read_request(x, body, len, &known))
        tell(x, known ? own_status(x) : SERVICE_UNKNOWN);
}

// The connection may end of its age only: then the client finds us serving on the next one.
static void on_watch_drain(void *arg, struct http_exchange *x)
{
    if (own_status(x) == NOT_SERVING)
        tell(x, NOT_SERVING);
    grpc_call_on_drain(arg, x);
}

static const struct http_server_handler check_handler = {
    .on_request = on_check,
    .on_refuse = grpc_call_on_refuse,
    .on_abort = grpc_call_on_abort,
};

static const struct http_server_handler watch_handler = {
    .on_request = on_watch,
    .on_refuse = grpc_call_on_refuse,
    .on_abort = grpc_call_on_abort,
    .on_drain = on_watch_drain,
};

static const struct grpc_call_kind methods[] = {
    {.path = "/grpc.health.v1.Health/Check", .handler = &check_handler},
    {.path = "/grpc.health.v1.Health/Watch", .slot = OTLP_SLOT_WATCH, .handler = &watch_handler},
    {.path = NULL},
};

bool grpc_health_head(struct otlp_listener *l, struct http_exchange *x)
{
    return grpc_call_begin(l, x, methods);
}
