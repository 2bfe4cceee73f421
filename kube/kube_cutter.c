// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_cutter.h"

#include "base/text.h"
#include "kube/kube_decode.h"

void kube_cutter_init(struct kube_cutter *c)
{
    *c = (struct kube_cutter){.scanner = {0, false, false}};
    buf_init(&c->held, KUBE_OBJECT_MAX_BYTES);
}

void kube_cutter_fini(struct kube_cutter *c)
{
    buf_fini(&c->held);
}

// Up to and with the byte that closes what is open.
static size_t scan(struct kube_scanner *s, struct bytes data)
{
    struct kube_scanner now = *s;
    size_t i = 0;
    do
        kube_scan_byte(&now, data.data[i++]);
    while (i < data.len && now.depth > 0);
    *s = now;
    return i;
}

static enum err_code hold(struct kube_cutter *c, struct bytes piece, struct err *e)
{
    buf_add(&c->held, piece.data, piece.len);
    if (buf_ok(&c->held))
        return ERR_OK;
    return c->held.too_large ? err_set(e, ERR_LIMIT, "an object is larger than the allowed %s",
                                       text_bytes((char[48]){0}, 48, KUBE_OBJECT_MAX_BYTES))
                             : err_set(e, ERR_MEMORY, "out of memory for an object");
}

enum err_code kube_cutter_take(struct kube_cutter *c, struct bytes *data, struct bytes *whole_out, struct err *e)
{
    *whole_out = (struct bytes){NULL, 0};
    if (c->scanner.depth == 0)
        buf_clear(&c->held);
    struct bytes piece = {data->data, scan(&c->scanner, *data)};
    *data = (struct bytes){data->data + piece.len, data->len - piece.len};
    bool is_whole = c->scanner.depth == 0, came_at_once = c->held.len == 0;
    if (is_whole && came_at_once && piece.len <= KUBE_OBJECT_MAX_BYTES) {
        *whole_out = piece;
        return ERR_OK;
    }
    enum err_code code = hold(c, piece, e);
    if (code == ERR_OK && is_whole)
        *whole_out = buf_bytes(&c->held);
    return code;
}
