// SPDX-License-Identifier: Apache-2.0
#include "codec/pyroscope_push.h"
#include "codec/pyroscope_push_reader.h"
#include "codec/wire.h"

static void put_label(struct buf *out, const struct pyroscope_label *l)
{
    size_t start = wire_begin(out, PUSH_SERIES_LABELS);
    wire_put_bytes(out, PUSH_LABEL_NAME, l->name);
    wire_put_bytes(out, PUSH_LABEL_VALUE, l->value);
    wire_end(out, start);
}

void pyroscope_push_encode(const struct pyroscope_labels *labels, struct bytes raw_profile, struct bytes id,
                           struct buf *out)
{
    size_t series = wire_begin(out, PUSH_REQUEST_SERIES);
    for (size_t i = 0; i < labels->count; i++)
        put_label(out, &labels->items[i]);
    size_t sample = wire_begin(out, PUSH_SERIES_SAMPLES);
    wire_put_bytes(out, PUSH_SAMPLE_RAW_PROFILE, raw_profile);
    if (id.len > 0)
        wire_put_bytes(out, PUSH_SAMPLE_ID, id);
    wire_end(out, sample);
    wire_end(out, series);
}
