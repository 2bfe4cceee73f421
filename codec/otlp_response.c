// SPDX-License-Identifier: Apache-2.0
// What a peer answers: ExportProfilesServiceResponse and google.rpc.Status.
#include "codec/otlp.h"
#include "codec/wire.h"

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
