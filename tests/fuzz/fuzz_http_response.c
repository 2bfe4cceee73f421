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
    for (size_t i = 0; i < view.header_count; i++)
        total += strlen(view.headers[i].name) + strlen(view.headers[i].value);
    CHECK(total <= LIMIT_HTTP_HEADER_BYTES);
    (void)http_response_header(&view, "Retry-After");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < PARAMETERS)
        return 0;
    struct http1_response r;
    size_t step = data[0] == 0 ? size : data[0];
    http1_response_init(&r, data[1] & 1, BODY_UNIT_BYTES * (size_t)(data[1] >> 1));
    mem_fail_from(data[2]);
    enum http1_state state = HTTP1_MORE;
    for (size_t i = PARAMETERS; i < size && state == HTTP1_MORE; i += step)
        state = http1_response_feed(&r, (struct bytes){data + i, size - i < step ? size - i : step});
    if (state == HTTP1_MORE)
        state = http1_response_end(&r);
    mem_fail_from(0);
    CHECK(state != HTTP1_MORE);
    if (state == HTTP1_COMPLETE)
        look(&r);
    else
        CHECK(r.error.code != ERR_OK && r.error.text[0] != '\0');
    http1_response_fini(&r);
    return 0;
}
