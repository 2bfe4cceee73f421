// SPDX-License-Identifier: Apache-2.0
#include "net/grpc_answer.h"

#include "base/base64.h"

#include <stdio.h>

enum { TRAILER_MAX_BYTES = 8 << 10 };

static void add_text(struct grpc_trailers *t, const char *name, struct buf *value)
{
    buf_add_byte(value, '\0');
    if (buf_ok(value))
        t->items[t->count++] = (struct http_header){name, (const char *)value->data};
}

void grpc_trailers_init(struct grpc_trailers *t, enum grpc_status status, const char *text, struct bytes details)
{
    *t = (struct grpc_trailers){.count = 0};
    snprintf(t->code, sizeof t->code, "%d", (int)status);
    t->items[t->count++] = (struct http_header){"grpc-status", t->code};
    buf_init(&t->message, TRAILER_MAX_BYTES);
    buf_init(&t->details, 2 * TRAILER_MAX_BYTES);
    if (status != GRPC_OK) {
        grpc_percent_encode(bytes_from_text(text), &t->message);
        add_text(t, "grpc-message", &t->message);
    }
    if (details.len == 0)
        return;
    base64_encode(details, &t->details);
    while (t->details.len > 0 && t->details.data[t->details.len - 1] == '=') // gRPC sends it unpadded
        t->details.len--;
    add_text(t, "grpc-status-details-bin", &t->details);
}

void grpc_trailers_fini(struct grpc_trailers *t)
{
    buf_fini(&t->message);
    buf_fini(&t->details);
}

void grpc_message_write(struct bytes message, struct buf *out)
{
    uint8_t prefix[GRPC_PREFIX_BYTES];
    grpc_prefix_write(false, (uint32_t)message.len, prefix);
    buf_add(out, prefix, sizeof prefix);
    buf_add(out, message.data, message.len);
}
