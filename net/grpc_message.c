// SPDX-License-Identifier: Apache-2.0
#include "net/grpc_message.h"

#include <inttypes.h>
#include <stdio.h>

enum { TIMEOUT_DIGITS = 8, TIMEOUT_MAX = 99999999 };

static const char *const status_names[] = {
    "OK",        "CANCELLED",       "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS",  "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",    "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED",
};

// From the finest.
static const struct {
    char name;
    int64_t nanos;
} units[] = {{'n', 1}, {'u', 1000}, {'m', 1000000}, {'S', 1000000000}, {'M', 60000000000LL}, {'H', 3600000000000LL}};

static uint32_t read_length(const uint8_t *prefix)
{
    return (uint32_t)prefix[1] << 24 | (uint32_t)prefix[2] << 16 | (uint32_t)prefix[3] << 8 | prefix[4];
}

size_t grpc_message_length(struct bytes so_far)
{
    return so_far.len < GRPC_PREFIX_BYTES ? 0 : GRPC_PREFIX_BYTES + (size_t)read_length(so_far.data);
}

enum err_code grpc_message_parse(struct bytes body, size_t max_bytes, struct grpc_message *out, struct err *e)
{
    *out = (struct grpc_message){0};
    if (body.len == 0)
        return err_set(e, ERR_INVALID, "the call carries no message");
    if (body.len < GRPC_PREFIX_BYTES)
        return err_set(e, ERR_INVALID, "the message ends within its 5-byte prefix");
    if (body.data[0] > 1)
        return err_set(e, ERR_INVALID, "the message's compression flag is %u, not 0 or 1", body.data[0]);
    size_t len = read_length(body.data), have = body.len - GRPC_PREFIX_BYTES;
    if (len > max_bytes)
        return err_set(e, ERR_LIMIT, "the message has %zu bytes; %zu are allowed", len, max_bytes);
    if (len > have)
        return err_set(e, ERR_INVALID, "the message should have %zu bytes and ends after %zu", len, have);
    if (len < have)
        return err_set(e, ERR_INVALID, "%zu bytes follow the message: only one message is taken in a call", have - len);
    *out = (struct grpc_message){body.data[0] == 1, {body.data + GRPC_PREFIX_BYTES, len}};
    return ERR_OK;
}

void grpc_prefix_write(bool compressed, uint32_t payload_len, uint8_t out[GRPC_PREFIX_BYTES])
{
    out[0] = compressed;
    for (int i = 0; i < 4; i++)
        out[1 + i] = (uint8_t)(payload_len >> (24 - 8 * i));
}

void grpc_percent_encode(struct bytes text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c >= ' ' && c <= '~' && c != '%')
            buf_add_byte(out, c);
        else
            buf_add_format(out, "%%%02X", c);
    }
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (uint8_t)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void grpc_percent_decode(struct bytes text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        int high = -1, low = -1;
        if (text.data[i] == '%' && i + 2 < text.len) {
            high = hex_digit(text.data[i + 1]);
            low = hex_digit(text.data[i + 2]);
        }
        bool escaped = high >= 0 && low >= 0;
        uint8_t byte = (uint8_t)(high * 16 + low);
        buf_add_byte(out, escaped ? byte : text.data[i]);
        i += escaped ? 2 : 0;
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool grpc_status_parse(const char *text, enum grpc_status *out)
{
    int value = 0;
    size_t len = 0;
    while (is_digit(text[len]) && len < 9)
        value = value * 10 + (text[len++] - '0');
    if (len == 0 || text[len] != '\0')
        return false;
    *out = value <= GRPC_UNAUTHENTICATED ? (enum grpc_status)value : GRPC_UNKNOWN;
    return true;
}

const char *grpc_status_name(enum grpc_status status)
{
    return (size_t)status < COUNT_OF(status_names) ? status_names[status] : "UNKNOWN";
}

enum grpc_status grpc_status_of_http(int http_status)
{
    switch (http_status) {
    case 400:
        return GRPC_INTERNAL;
    case 401:
        return GRPC_UNAUTHENTICATED;
    case 403:
        return GRPC_PERMISSION_DENIED;
    case 404:
        return GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return GRPC_UNAVAILABLE;
    default:
        return GRPC_UNKNOWN;
    }
}

bool grpc_timeout_parse(const char *text, int64_t *nanos_out)
{
    int64_t value = 0;
    size_t len = 0;
    for (; is_digit(text[len]); len++) {
        if (len == TIMEOUT_DIGITS)
            return false;
        value = value * 10 + (text[len] - '0');
    }
    if (len == 0 || text[len] == '\0' || text[len + 1] != '\0')
        return false;
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (units[i].name == text[len]) {
            *nanos_out = value > INT64_MAX / units[i].nanos ? INT64_MAX : value * units[i].nanos;
            return true;
        }
    return false;
}

void grpc_timeout_format(int64_t nanos, char out[GRPC_TIMEOUT_SIZE])
{
    CHECK(nanos > 0);
    size_t i = 0;
    while (i + 1 < COUNT_OF(units) && (nanos - 1) / units[i].nanos + 1 > TIMEOUT_MAX)
        i++;
    snprintf(out, GRPC_TIMEOUT_SIZE, "%" PRId64 "%c", (nanos - 1) / units[i].nanos + 1, units[i].name);
}
