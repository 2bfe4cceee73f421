// SPDX-License-Identifier: Apache-2.0
// OTLP/gRPC: one unary method.
#include "codec/otlp_status.h"
#include "net/grpc_answer.h"
#include "receivers/grpc_call.h"
#include "receivers/otlp_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define GRPC_TYPE "application/grpc"

enum { STATUS_MAX_BYTES = 8 << 10 };

// What others send here by mistake.
static const struct {
    const char *prefix, *why;
} known_services[] = {
    {"/opentelemetry.proto.collector.trace.", "traces are not taken here, only profiles"},
    {"/opentelemetry.proto.collector.metrics.", "metrics are not taken here, only profiles"},
    {"/opentelemetry.proto.collector.logs.", "logs are not taken here, only profiles"},
    {"/opentelemetry.proto.collector.profiles.", "OTLP profiles of this version are not taken: upgrade the sender"},
    {"/parca.debuginfo.", "debug information is not taken here: switch its upload off in the sender"},
    {"/parca.profilestore.", "Parca's own protocol is not taken here: let the sender use OTLP"},
};

bool otlp_is_grpc(const struct http_exchange *x)
{
    const char *type = http_exchange_header(x, "content-type", NULL);
    size_t len = strlen(GRPC_TYPE);
    return type != NULL && strncasecmp(type, GRPC_TYPE, len) == 0 && strchr("+; ", type[len]) != NULL;
}

// --- answers ---

// google.rpc.Status with the details that there are; else nothing.
static struct bytes write_status(const struct otlp_grpc_answer *a, struct buf *out)
{
    const struct otlp_status status = {
        .code = (int32_t)a->status,
        .message = bytes_from_text(a->text),
        .field =
            a->status == GRPC_INVALID_ARGUMENT ? otlp_error_field(bytes_from_text(a->text)) : (struct bytes){NULL, 0},
        .retry_delay_nanos = a->retry_delay_nanos,
    };
    if (status.field.len > 0 || status.retry_delay_nanos > 0)
        otlp_status_encode(&status, out);
    return buf_ok(out) ? buf_bytes(out) : (struct bytes){NULL, 0};
}

static void put_message(struct buf *message, struct buf *body)
{
    buf_init(body, message->len + GRPC_PREFIX_BYTES);
    grpc_message_write(buf_bytes(message), body);
    buf_clear(message);
}

static const struct http_header headers[] = {{"content-type", GRPC_TYPE},
                                             {"grpc-accept-encoding", "identity,gzip,zstd,deflate,snappy"}};

void otlp_send_grpc(struct http_exchange *x, struct buf *message)
{
    struct buf body;
    put_message(message, &body);
    http_exchange_send(
        x, &(struct http_answer){.status = 200, .headers = headers, .header_count = COUNT_OF(headers), .body = &body});
    buf_fini(&body);
}

void otlp_answer_grpc(struct http_exchange *x, const struct otlp_grpc_answer *a)
{
    struct grpc_trailers trailers;
    struct buf status, body = {0};
    buf_init(&status, STATUS_MAX_BYTES);
    grpc_trailers_init(&trailers, a->status, a->text, write_status(a, &status));
    if (a->message != NULL)
        put_message(a->message, &body);
    http_exchange_answer(x, &(struct http_answer){.status = 200,
                                                  .headers = headers,
                                                  .header_count = COUNT_OF(headers),
                                                  .body = a->message != NULL ? &body : NULL,
                                                  .trailers = trailers.items,
                                                  .trailer_count = trailers.count});
    buf_fini(&body);
    buf_fini(&status);
    grpc_trailers_fini(&trailers);
}

static void refuse(struct http_exchange *x, enum grpc_status status, const char *text)
{
    otlp_answer_grpc(x, &(struct otlp_grpc_answer){.status = status, .text = text});
}

// --- requests ---

static void refuse_path(struct http_exchange *x, struct bytes path)
{
    char text[512];
    const char *why = "there is no such method";
    for (size_t i = 0; i < COUNT_OF(known_services); i++) {
        size_t len = strlen(known_services[i].prefix);
        if (path.len >= len && memcmp(path.data, known_services[i].prefix, len) == 0) {
            why = known_services[i].why;
            break;
        }
    }
    snprintf(text, sizeof text, "%.*s: %s", BYTES_PRINT(path), why);
    refuse(x, GRPC_UNIMPLEMENTED, text);
}

static void begin_export(struct otlp_listener *l, struct http_exchange *x)
{
    const char *timeout = http_exchange_header(x, "grpc-timeout", NULL), *why = NULL;
    struct otlp_request_options options = {
        .speech = OTLP_SPEAKS_GRPC,
        .upload = {.transport = OTLP_GRPC,
                   .is_framed = true,
                   .max_bytes = (size_t)l->receiver->settings->max_message_mib << 20,
                   .limit_name = "max_recv_msg_size_mib"},
    };
    if (!upload_encoding_of(x, "grpc-encoding", &options.upload.compression))
        refuse(x, GRPC_UNIMPLEMENTED, "unsupported grpc-encoding, supported: " UPLOAD_ENCODINGS);
    else if (!otlp_version_ok(x, &options.says_current, &why))
        refuse(x, GRPC_INVALID_ARGUMENT, why);
    else if (timeout != NULL && !grpc_timeout_parse(timeout, &options.upload.timeout_nanos))
        refuse(x, GRPC_INVALID_ARGUMENT, "grpc-timeout is malformed");
    else
        otlp_request_begin(l, x, &options);
}

void otlp_grpc_head(struct otlp_listener *l, struct http_exchange *x, const struct http_head *head)
{
    if (head->version != HTTP_VERSION_2)
        http_exchange_answer_text(x, 400, "gRPC needs HTTP/2", NULL, 0);
    else if (!bytes_equal_text(head->method, "POST"))
        http_exchange_answer_text(x, 405, "gRPC needs POST", &(struct http_header){"allow", "POST"}, 1);
    else if (grpc_health_head(l, x) || grpc_reflection_head(l, x))
        return;
    else if (!bytes_equal_text(head->path, "/" OTLP_GRPC_SERVICE "/Export"))
        refuse_path(x, head->path);
    else if (!l->serves[OTLP_GRPC])
        refuse(x, GRPC_UNIMPLEMENTED, "this port speaks OTLP/HTTP; OTLP/gRPC has a port of its own, by default 4317");
    else
        begin_export(l, x);
}
