// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_status.h"

#include "base/text.h"
#include "codec/json.h"
#include "codec/wire.h"

#include <inttypes.h>

#define BAD_REQUEST_TYPE "type.googleapis.com/google.rpc.BadRequest"
#define RETRY_INFO_TYPE "type.googleapis.com/google.rpc.RetryInfo"
#define SECOND 1000000000

struct bytes otlp_error_field(struct bytes text)
{
    static const char *const roots[] = {"resource_profiles", "resourceProfiles", "dictionary"};
    const uint8_t *colon = text.len > 0 ? memchr(text.data, ':', text.len) : NULL;
    if (colon != NULL)
        for (size_t i = 0; i < COUNT_OF(roots); i++)
            if (text.len > strlen(roots[i]) && memcmp(text.data, roots[i], strlen(roots[i])) == 0)
                return (struct bytes){text.data, (size_t)(colon - text.data)};
    return (struct bytes){NULL, 0};
}

static void put_text(struct buf *out, uint32_t number, struct bytes text)
{
    size_t len = utf8_repair(text, NULL);
    wire_put_tag(out, number, WIRE_LEN);
    wire_put_varint(out, len);
    if (buf_reserve(out, len))
        out->len += utf8_repair(text, out->data + out->len);
}

// google.protobuf.Any in details; wire_end ends first the value, then the detail.
static size_t begin_detail(struct buf *out, const char *type, size_t *value_out)
{
    size_t detail = wire_begin(out, 3);
    wire_put_bytes(out, 1, bytes_from_text(type));
    *value_out = wire_begin(out, 2);
    return detail;
}

static void end_detail(struct buf *out, size_t detail, size_t value)
{
    wire_end(out, value);
    wire_end(out, detail);
}

// What is wrong with the field: the message without its name.
static struct bytes description(const struct otlp_status *s)
{
    size_t skipped = s->field.len + strlen(": ");
    bool begins = s->message.len > skipped && memcmp(s->message.data, s->field.data, s->field.len) == 0;
    return begins ? (struct bytes){s->message.data + skipped, s->message.len - skipped} : s->message;
}

static void put_bad_request(const struct otlp_status *s, struct buf *out)
{
    size_t value, detail = begin_detail(out, BAD_REQUEST_TYPE, &value);
    size_t violation = wire_begin(out, 1);
    put_text(out, 1, s->field);
    put_text(out, 2, description(s));
    wire_end(out, violation);
    end_detail(out, detail, value);
}

static void put_retry_info(const struct otlp_status *s, struct buf *out)
{
    size_t value, detail = begin_detail(out, RETRY_INFO_TYPE, &value);
    size_t delay = wire_begin(out, 1);
    wire_put_uint(out, 1, (uint64_t)(s->retry_delay_nanos / SECOND));
    wire_put_uint(out, 2, (uint64_t)(s->retry_delay_nanos % SECOND));
    wire_end(out, delay);
    end_detail(out, detail, value);
}

void otlp_status_encode(const struct otlp_status *s, struct buf *out)
{
    wire_put_uint(out, 1, (uint64_t)(int64_t)s->code);
    put_text(out, 2, s->message);
    if (s->field.len > 0)
        put_bad_request(s, out);
    if (s->retry_delay_nanos > 0)
        put_retry_info(s, out);
}

static void put_member(struct buf *out, const char *key, struct bytes text)
{
    buf_add_format(out, "\"%s\":", key);
    json_put_string(out, text);
}

void otlp_status_encode_json(const struct otlp_status *s, struct buf *out)
{
    buf_add_format(out, "{\"code\":%" PRId32 ",", s->code);
    put_member(out, "message", s->message);
    if (s->field.len > 0) {
        buf_add_text(out, ",\"details\":[{\"@type\":\"" BAD_REQUEST_TYPE "\",\"fieldViolations\":[{");
        put_member(out, "field", s->field);
        buf_add_byte(out, ',');
        put_member(out, "description", description(s));
        buf_add_text(out, "}]}]");
    } else if (s->retry_delay_nanos > 0) {
        buf_add_format(
            out, ",\"details\":[{\"@type\":\"" RETRY_INFO_TYPE "\",\"retryDelay\":\"%" PRId64 ".%09" PRId64 "s\"}]",
            s->retry_delay_nanos / SECOND, s->retry_delay_nanos % SECOND);
    }
    buf_add_byte(out, '}');
}

void otlp_response_encode(int64_t rejected_profiles, struct bytes message, struct buf *out)
{
    if (rejected_profiles == 0 && message.len == 0)
        return;
    size_t partial = wire_begin(out, 1);
    wire_put_uint(out, 1, (uint64_t)rejected_profiles);
    put_text(out, 2, message);
    wire_end(out, partial);
}

void otlp_response_encode_json(int64_t rejected_profiles, struct bytes message, struct buf *out)
{
    buf_add_byte(out, '{');
    if (rejected_profiles != 0 || message.len != 0) {
        buf_add_format(out, "\"partialSuccess\":{\"rejectedProfiles\":\"%" PRId64 "\",", rejected_profiles);
        put_member(out, "errorMessage", message);
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, '}');
}
