// SPDX-License-Identifier: Apache-2.0
// grpc.reflection, v1 and v1alpha: what grpcurl and its like need to know of our services. Both have the same bytes.
#include "codec/wire.h"
#include "receivers/grpc_call.h"
#include "receivers/grpc_descriptors.h"

enum { RESPONSE_MAX_BYTES = 256 << 10 };

// ServerReflectionRequest: the number of the member of its oneof; 0 = none.
enum {
    ASKS_FILE = 3,
    ASKS_SYMBOL = 4,
    ASKS_EXTENSION = 5,
    ASKS_EXTENSION_NUMBERS = 6,
    ASKS_SERVICES = 7,
};
// ServerReflectionResponse
enum { VALID_HOST = 1, ORIGINAL_REQUEST = 2, FILES = 4, EXTENSION_NUMBERS = 5, SERVICES = 6, ERROR = 7 };

struct request {
    struct bytes host;
    uint32_t asks;
    struct bytes what;
};

static bool parse_request(struct bytes payload, struct request *out)
{
    struct wire_reader r;
    struct wire_field f;
    *out = (struct request){.asks = 0};
    wire_reader_init(&r, payload);
    while (wire_next(&r, &f)) {
        if (f.type != WIRE_LEN)
            continue;
        if (f.number == 1)
            out->host = f.bytes;
        if (f.number >= ASKS_FILE && f.number <= ASKS_SERVICES) { // of a oneof the last one counts
            out->asks = f.number;
            out->what = f.bytes;
        }
    }
    return r.error == NULL;
}

static void put_error(struct buf *out, enum grpc_status status, const char *text)
{
    size_t start = wire_begin(out, ERROR);
    wire_put_uint(out, 1, status);
    wire_put_bytes(out, 2, bytes_from_text(text));
    wire_end(out, start);
}

static void put_file(const struct grpc_files *files, const struct grpc_file *file, struct buf *out)
{
    bool needed[GRPC_FILES_MAX];
    if (file == NULL) {
        put_error(out, GRPC_NOT_FOUND, "there is no such file or symbol");
        return;
    }
    grpc_files_needed(files, file, needed);
    size_t start = wire_begin(out, FILES);
    wire_put_bytes(out, 1, file->descriptor); // what was asked for stands first
    for (size_t i = files->count; i-- > 0;)
        if (needed[i] && &files->items[i] != file)
            wire_put_bytes(out, 1, files->items[i].descriptor);
    wire_end(out, start);
}

static void put_extension_numbers(bool is_message, struct bytes type, struct buf *out)
{
    if (!is_message) {
        put_error(out, GRPC_NOT_FOUND, "there is no such message");
        return;
    }
    size_t start = wire_begin(out, EXTENSION_NUMBERS); // proto3 has none
    wire_put_bytes(out, 1, type);
    wire_end(out, start);
}

static void put_service(void *arg, struct bytes name)
{
    struct buf *out = arg;
    size_t start = wire_begin(out, 1);
    wire_put_bytes(out, 1, name);
    wire_end(out, start);
}

static void put_services(const struct grpc_files *files, struct buf *out)
{
    size_t start = wire_begin(out, SERVICES);
    grpc_files_each_service(files, put_service, out);
    wire_end(out, start);
}

static void put_answer(const struct request *q, struct buf *out)
{
    struct grpc_files files;
    bool is_message;
    grpc_files_init(&files);
    switch (q->asks) {
    case ASKS_FILE:
        put_file(&files, grpc_files_by_name(&files, q->what), out);
        break;
    case ASKS_SYMBOL:
        put_file(&files, grpc_files_by_symbol(&files, q->what, &is_message), out);
        break;
    case ASKS_EXTENSION:
        put_error(out, GRPC_NOT_FOUND, "there are no extensions");
        break;
    case ASKS_EXTENSION_NUMBERS:
        (void)grpc_files_by_symbol(&files, q->what, &is_message);
        put_extension_numbers(is_message, q->what, out);
        break;
    case ASKS_SERVICES:
        put_services(&files, out);
        break;
    default:
        put_error(out, GRPC_INVALID_ARGUMENT, "the request asks for nothing that is known here");
    }
}

static void answer_request(struct http_exchange *x, struct bytes payload)
{
    struct request q;
    struct buf out;
    if (!parse_request(payload, &q)) {
        grpc_call_fail(x, GRPC_INVALID_ARGUMENT, "the message is not a ServerReflectionRequest");
        return;
    }
    buf_init(&out, RESPONSE_MAX_BYTES);
    if (q.host.len > 0)
        wire_put_bytes(&out, VALID_HOST, q.host);
    wire_put_bytes(&out, ORIGINAL_REQUEST, payload);
    put_answer(&q, &out);
    if (buf_ok(&out))
        otlp_send_grpc(x, &out);
    else
        grpc_call_fail(x, GRPC_UNAVAILABLE, "out of memory");
    buf_fini(&out);
}

// Of a message that is not all there.
static void on_end(struct http_exchange *x, struct bytes rest)
{
    if (rest.len > 0)
        grpc_call_fail(x, GRPC_INVALID_ARGUMENT, "the last message is cut");
    else
        grpc_call_answer(x, &(struct otlp_grpc_answer){.status = GRPC_OK});
}

static size_t on_data(void *arg, struct http_exchange *x, struct bytes data, bool ended)
{
    struct bytes payload;
    struct buf room;
    size_t len = grpc_message_length(data);
    (void)arg;
    if (len > GRPC_PREFIX_BYTES + GRPC_CALL_MESSAGE_MAX_BYTES) {
        grpc_call_fail(x, GRPC_RESOURCE_EXHAUSTED, "a request of reflection has at most 4096 bytes");
        return 0;
    }
    if (len == 0 || len > data.len) {
        if (ended)
            on_end(x, data);
        return 0;
    }
    buf_init(&room, SIZE_MAX);
    if (grpc_call_read(x, (struct bytes){data.data, len}, &room, &payload))
        answer_request(x, payload);
    buf_fini(&room);
    return len;
}

static const struct http_server_handler handler = {
    .on_data = on_data,
    .on_refuse = grpc_call_on_refuse,
    .on_abort = grpc_call_on_abort,
    .on_drain = grpc_call_on_drain,
};

static const struct grpc_call_kind methods[] = {
    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", true, OTLP_SLOT_REFLECTION, &handler},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", true, OTLP_SLOT_REFLECTION, &handler},
    {.path = NULL},
};

bool grpc_reflection_head(struct otlp_listener *l, struct http_exchange *x)
{
    return grpc_call_begin(l, x, methods);
}
