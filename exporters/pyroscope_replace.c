// SPDX-License-Identifier: Apache-2.0
// A record that the server finds too large becomes several of the same series.
#include "codec/pprof.h"
#include "codec/wire.h"
#include "exporters/pyroscope_upload.h"
#include "exporters/pyroscope_writer.h"
#include "exporters/request_record.h"

#include <string.h>

static bool read_label(struct bytes message, struct pyroscope_labels *labels)
{
    struct wire_reader r;
    struct wire_field f;
    struct bytes parts[2] = {{NULL, 0}, {NULL, 0}};
    wire_reader_init(&r, message);
    while (wire_next(&r, &f))
        if (f.number <= 2 && f.type == WIRE_LEN)
            parts[f.number - 1] = f.bytes;
    return r.error == NULL && pyroscope_labels_add(labels, parts[0], parts[1]);
}

// Of a request that we made: one series, its labels first, one profile.
static bool read_push(struct bytes request, struct pyroscope_labels *labels, struct bytes *profile_out)
{
    struct wire_reader r;
    struct wire_field f;
    const struct bytes series = wire_find(request, 1);
    bool good = true;
    wire_reader_init(&r, series);
    while (good && wire_next(&r, &f) && f.number == 1)
        good = read_label(f.bytes, labels);
    *profile_out = wire_find(wire_find(series, 2), 1);
    return good;
}

static enum err_code read_series(struct pyroscope_writer *w, const struct record *r, struct bytes data,
                                 struct pyroscope_labels *labels, struct bytes *profile_out, struct err *e)
{
    w->replaced = r;
    w->api = (enum pyroscope_api)r->encoding;
    if (w->api == PYROSCOPE_PUSH)
        return read_push(data, labels, profile_out) ? ERR_OK : pyroscope_no_memory(e);
    const struct pyroscope_upload_parts parts = pyroscope_upload_read(data);
    if (strcmp(parts.content_type, "application/octet-stream") != 0)
        return err_set(e, ERR_UNSUPPORTED, "a JFR recording cannot be cut");
    w->query = bytes_from_text(parts.query);
    *profile_out = parts.body;
    return ERR_OK;
}

static enum err_code split_record(struct pyroscope_writer *w, const struct record *r, struct bytes data, struct err *e)
{
    struct pyroscope_labels labels;
    struct bytes profile = {NULL, 0};
    struct batch *whole = NULL;
    const struct decode_options options = {.limits = NULL};
    pyroscope_labels_init(&labels);
    enum err_code rc = read_series(w, r, data, &labels, &profile, e);
    if (rc == ERR_OK)
        rc = pprof_decode(profile, &options, &whole, NULL, e);
    if (rc == ERR_OK) {
        pyroscope_writer_take_labels(w, &labels);
        rc = request_split(&w->base, whole, r->raw_bytes, w->out, e);
    }
    batch_unref(&whole);
    pyroscope_labels_fini(&labels);
    return rc;
}

enum err_code pyroscope_replace(struct exporter *self, const struct record *r, const struct verdict *refusal,
                                struct record_list *out, struct err *e)
{
    struct pyroscope_writer w;
    struct buf raw;
    struct bytes data;
    pyroscope_writer_init(&w, self, out);
    request_size_refused(&w.base.limit, r);
    buf_init(&raw, SIZE_MAX);
    enum err_code rc = request_record_read(r, &raw, &data, e);
    if (rc == ERR_OK)
        rc = split_record(&w, r, data, e);
    buf_fini(&raw);
    pyroscope_writer_fini(&w);
    for (struct record *to = out->head; to != NULL; to = to->next)
        request_record_inherit(to, r, refusal);
    return rc;
}
