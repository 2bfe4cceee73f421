// SPDX-License-Identifier: Apache-2.0
// What a peer answers: ExportProfilesServiceResponse and google.rpc.Status.
#include "codec/otlp.h"
#include "codec/otlp_status.h"
#include "codec/wire.h"

#define SECOND_NANOS 1000000000

static bool read_partial_success(struct bytes data, int64_t *rejected_profiles, struct bytes *message)
{
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, data);
    while (wire_next(&r, &f)) {
        if (f.number == 1 && f.type == WIRE_VARINT)
            *rejected_profiles = (int64_t)f.varint;
        else if (f.number == 2 && f.type == WIRE_LEN)
            *message = f.bytes;
        else if (f.number <= 2)
            return false;
    }
    return r.error == NULL;
}

bool otlp_decode_response(struct bytes data, int64_t *rejected_profiles_out, struct bytes *message_out)
{
    struct wire_reader r;
    struct wire_field f;
    *rejected_profiles_out = 0;
    *message_out = (struct bytes){NULL, 0};
    wire_reader_init(&r, data);
    while (wire_next(&r, &f)) {
        if (f.number != 1)
            continue;
        if (f.type != WIRE_LEN || !read_partial_success(f.bytes, rejected_profiles_out, message_out))
            return false;
    }
    return r.error == NULL;
}

bool otlp_decode_status(struct bytes data, int32_t *code_out, struct bytes *message_out)
{
    struct wire_reader r;
    struct wire_field f;
    *code_out = 0;
    *message_out = (struct bytes){NULL, 0};
    wire_reader_init(&r, data);
    while (wire_next(&r, &f)) {
        if (f.number == 1 && f.type == WIRE_VARINT)
            *code_out = (int32_t)(uint32_t)f.varint;
        else if (f.number == 2 && f.type == WIRE_LEN)
            *message_out = f.bytes;
        else if (f.number <= 2)
            return false;
    }
    return r.error == NULL;
}

// What LEN field `number` holds; the last one counts. False without it or when data is damaged.
static bool find_field(struct bytes data, uint32_t number, struct bytes *out)
{
    struct wire_reader r;
    struct wire_field f;
    bool found = false;
    wire_reader_init(&r, data);
    while (wire_next(&r, &f))
        if (f.number == number && f.type == WIRE_LEN) {
            *out = f.bytes;
            found = true;
        }
    return found && r.error == NULL;
}

// google.protobuf.Duration, as far as it is positive and an int64 of nanoseconds holds it.
static int64_t read_duration(struct bytes data)
{
    struct wire_reader r;
    struct wire_field f;
    int64_t seconds = 0, nanos = 0;
    wire_reader_init(&r, data);
    while (wire_next(&r, &f)) {
        if (f.number == 1 && f.type == WIRE_VARINT)
            seconds = (int64_t)f.varint;
        else if (f.number == 2 && f.type == WIRE_VARINT)
            nanos = (int64_t)f.varint;
    }
    if (r.error != NULL || seconds < 0 || nanos < 0 || nanos >= SECOND_NANOS)
        return 0;
    if (seconds >= INT64_MAX / SECOND_NANOS)
        return INT64_MAX;
    return seconds * SECOND_NANOS + nanos;
}

static bool read_retry_info(struct bytes detail, int64_t *delay_nanos)
{
    struct bytes type, value = {NULL, 0}, delay = {NULL, 0};
    static const char name[] = "/google.rpc.RetryInfo";
    size_t len = sizeof name - 1;
    if (!find_field(detail, 1, &type) || type.len < len || memcmp(type.data + type.len - len, name, len) != 0)
        return false;
    *delay_nanos = find_field(detail, 2, &value) && find_field(value, 1, &delay) ? read_duration(delay) : 0;
    return true;
}

bool otlp_decode_retry_info(struct bytes status, int64_t *delay_nanos_out)
{
    struct wire_reader r;
    struct wire_field f;
    bool found = false;
    *delay_nanos_out = 0;
    wire_reader_init(&r, status);
    while (wire_next(&r, &f))
        if (f.number == 3 && f.type == WIRE_LEN && !found)
            found = read_retry_info(f.bytes, delay_nanos_out);
    return found;
}
