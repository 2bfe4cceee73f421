// SPDX-License-Identifier: Apache-2.0
// The response parser in pieces. The first three bytes choose their length; the kind of request and the
// largest body; which allocation fails.
#include "net/http1_client.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PARAMETERS = 3, BODY_UNIT_BYTES = 1000 };

static void look(const struct http1_response *r)
{
    struct http_response view;
    http1_response_view(r, &view);
    CHECK(view.status >= 200 && view.status <= 999 && view.body.len <= r->body.max_bytes);
    size_t total = 0;
    for (size_t i = 0; i < view.header_count; i++) {
        CHECK(http_header_valid(view.headers[i].name, view.headers[i].value));
        total += strlen(view.headers[i].name) + strlen(view.headers[i].value);
    }
    CHECK(total <= LIMIT_HTTP_HEADER_BYTES);
    (void)http_response_header(&view, "Retry-After");
}

static enum http1_state feed(struct http1_response *r, struct bytes data, size_t step)
{
    enum http1_state state = HTTP1_MORE;
    for (size_t i = 0; i < data.len && state == HTTP1_MORE; i += step)
        state = http1_response_feed(r, (struct bytes){data.data + i, data.len - i < step ? data.len - i : step});
    return state == HTTP1_MORE ? http1_response_end(r) : state;
}

// However it is cut, it says the same.
static void check_whole(const struct http1_response *pieces, uint8_t kind, struct bytes data)
{
    struct http1_response whole;
    http1_response_init(&whole, pieces->no_body, BODY_UNIT_BYTES * (size_t)(kind >> 1));
    enum http1_state state = feed(&whole, data, data.len);
    CHECK(state == pieces->state && whole.status == pieces->status);
    if (state == HTTP1_COMPLETE)
        CHECK(bytes_equal(buf_bytes(&whole.body), buf_bytes(&pieces->body)) &&
              whole.headers.count == pieces->headers.count);
    http1_response_fini(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < PARAMETERS)
        return 0;
    struct http1_response r;
    struct bytes received = {data + PARAMETERS, size - PARAMETERS};
    http1_response_init(&r, data[1] & 1, BODY_UNIT_BYTES * (size_t)(data[1] >> 1));
    mem_fail_from(data[2]);
    enum http1_state state = feed(&r, received, data[0] == 0 ? size : data[0]);
    mem_fail_from(0);
    CHECK(state != HTTP1_MORE);
    if (state == HTTP1_COMPLETE)
        look(&r);
    else
        CHECK(r.error.code != ERR_OK && r.error.text[0] != '\0');
    if (data[2] == 0)
        check_whole(&r, data[1], received);
    http1_response_fini(&r);
    return 0;
}
