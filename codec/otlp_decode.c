// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_reader.h"

#include "base/limits.h"

#include <stdlib.h>

const struct otlp_limits otlp_default_limits = {
    .max_profiles = 1 << 17,
    .max_samples = 1 << 25,
    .max_stack_depth = 1 << 16,
    .max_attributes = 1 << 12,
    .max_value_depth = LIMIT_VALUE_DEPTH,
    .max_batch_bytes = (size_t)1 << 30,
};

static void reader_fini(struct otlp_reader *d)
{
    for (int t = 0; t < OTLP_TABLE_COUNT; t++) {
        free(d->tables[t].spans);
        free(d->tables[t].ids);
    }
    free(d->strings);
    arena_fini(&d->string_arena);
    arena_fini(&d->value_arena);
    free(d->items);
    free(d->entries);
    free(d->ids.items);
    free(d->profile_ids.items);
    free(d->lines);
    wire_list_fini(&d->values);
    wire_list_fini(&d->timestamps);
    if (d->builder != NULL) {
        sample_writer_fini(&d->samples);
        observation_writer_fini(&d->observations);
    }
    columns_unref(&d->previous_columns);
    builder_destroy(&d->builder);
}

static enum err_code read_request(struct otlp_reader *d, struct batch **out)
{
    size_t max_bytes = d->limits->max_batch_bytes;
    d->builder = builder_create(max_bytes);
    if (d->builder == NULL) {
        otlp_fail_memory(d);
        return d->code;
    }
    arena_init(&d->string_arena, max_bytes);
    arena_init(&d->value_arena, max_bytes);
    sample_writer_init(&d->samples, d->builder);
    observation_writer_init(&d->observations, d->builder);
    otlp_read_dictionary(d);
    otlp_read_resources(d);
    return d->code == ERR_OK ? builder_finish(d->builder, out, d->e) : d->code;
}

enum err_code otlp_decode(struct bytes data, const struct otlp_limits *limits, struct batch **out, struct err *e)
{
    *out = NULL;
    if (data.len > UINT32_MAX)
        return err_set(e, ERR_LIMIT, "an OTLP request has %zu bytes, at most %u can be decoded", data.len, UINT32_MAX);
    struct otlp_reader d = {
        .data = data,
        .limits = limits == NULL ? &otlp_default_limits : limits,
        .e = e,
    };
    enum err_code code = read_request(&d, out);
    reader_fini(&d);
    return code;
}
