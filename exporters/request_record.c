// SPDX-License-Identifier: Apache-2.0
#include "exporters/request_record.h"

// raw becomes the data, compressed if so configured; raw is emptied.
static enum err_code make_data(struct http_exporter *x, struct buf *raw, struct buf *data, struct err *e)
{
    if (http_exporter_compression(x->settings) == COMPRESSION_NONE) {
        *data = *raw;
        buf_init(raw, 0);
        return ERR_OK;
    }
    return worker_compressors_run(&x->compressors, buf_bytes(raw), data, e);
}

struct record *request_record_of(const struct http_exporter *x, struct buf *data, size_t raw_bytes)
{
    size_t len;
    uint8_t *bytes = buf_take(data, &len);
    struct record *r = record_create(bytes, len);
    r->compression = (unsigned)http_exporter_compression(x->settings);
    r->raw_bytes = raw_bytes;
    return r;
}

enum err_code request_record_make(struct http_exporter *x, struct buf *raw, struct record **out, struct err *e)
{
    struct buf data;
    size_t raw_bytes = raw->len;
    buf_init(&data, SIZE_MAX);
    enum err_code rc = make_data(x, raw, &data, e);
    if (rc == ERR_OK)
        *out = request_record_of(x, &data, raw_bytes);
    buf_fini(&data);
    return rc;
}

enum err_code request_record_read(const struct record *r, struct buf *raw, struct bytes *out, struct err *e)
{
    *out = (struct bytes){r->data, r->len};
    if (r->compression == COMPRESSION_NONE)
        return ERR_OK;
    // No limit: they are bytes of ours.
    enum err_code rc = decompress((enum compression)r->compression, *out, 0, "the request", raw, e);
    *out = buf_bytes(raw);
    return rc;
}

void request_record_inherit(struct record *to, const struct record *from, const struct verdict *refusal)
{
    to->is_part = from->is_part || refusal->too_large;
    to->was_cut = from->was_cut || refusal->faulty;
}
