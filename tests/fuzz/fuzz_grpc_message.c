// SPDX-License-Identifier: Apache-2.0
// The first byte chooses what the rest is: a body, a percent-encoded text, a timeout, a status, a PROXY header.
#include "base/check.h"
#include "net/grpc_message.h"
#include "net/proxy_protocol.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_message(struct bytes body)
{
    struct grpc_message m;
    struct err e;
    size_t length = grpc_message_length(body);
    enum err_code code = grpc_message_parse(body, 1000, &m, &e);
    CHECK((code == ERR_OK) == (m.payload.data != NULL));
    if (code != ERR_OK)
        return;
    CHECK(length == body.len && m.payload.len <= 1000 && m.payload.len + GRPC_PREFIX_BYTES == body.len);
    uint8_t prefix[GRPC_PREFIX_BYTES];
    grpc_prefix_write(m.compressed, (uint32_t)m.payload.len, prefix);
    CHECK(memcmp(prefix, body.data, sizeof prefix) == 0);
}

static void percent(struct bytes text)
{
    struct buf coded, back;
    buf_init(&coded, 3 * text.len);
    buf_init(&back, 3 * text.len);
    grpc_percent_decode(text, &back);
    CHECK(buf_ok(&back) && back.len <= text.len);
    buf_clear(&back);
    grpc_percent_encode(text, &coded);
    grpc_percent_decode(buf_bytes(&coded), &back);
    CHECK(buf_ok(&coded) && bytes_equal(buf_bytes(&back), text));
    buf_fini(&coded);
    buf_fini(&back);
}

static void parse_texts(const char *text)
{
    int64_t nanos = 1, again;
    char formatted[GRPC_TIMEOUT_SIZE];
    enum grpc_status status;
    if (grpc_timeout_parse(text, &nanos) && nanos > 0) {
        grpc_timeout_format(nanos, formatted);
        CHECK(grpc_timeout_parse(formatted, &again) && again >= nanos);
    }
    if (grpc_status_parse(text, &status))
        CHECK(status <= GRPC_UNAUTHENTICATED && grpc_status_name(status) != NULL);
    CHECK(grpc_status_of_http(text[0] * 100 + text[1]) != GRPC_OK);
}

static void parse_proxy(struct bytes bytes)
{
    size_t used = 0;
    struct proxy_source source;
    enum proxy_result result = proxy_protocol_parse(bytes, &used, &source);
    if (result == PROXY_OK)
        CHECK(used > 0 && used <= bytes.len && used <= PROXY_HEADER_MAX_BYTES);
    if (result == PROXY_MORE)
        CHECK(bytes.len < PROXY_HEADER_MAX_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct bytes rest = {data + 1, size - 1};
    char text[64] = "";
    memcpy(text, rest.data, rest.len < sizeof text - 1 ? rest.len : sizeof text - 1);
    switch (data[0] % 4) {
    case 0:
        parse_message(rest);
        break;
    case 1:
        percent(rest);
        break;
    case 2:
        parse_texts(text);
        break;
    default:
        parse_proxy(rest);
    }
    return 0;
}
