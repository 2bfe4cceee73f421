// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_decode_layout.h"
#include "codec/otlp_read_old.h"

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
    otlp_forget_tables(d);
    arena_fini(&d->string_arena);
    arena_fini(&d->value_arena);
    free(d->items);
    free(d->entries);
    free(d->ids.items);
    free(d->profile_ids.items);
    free(d->lines);
    wire_list_fini(&d->values);
    wire_list_fini(&d->timestamps);
    wire_list_fini(&d->comments);
    if (d->builder != NULL) {
        sample_writer_fini(&d->samples);
        observation_writer_fini(&d->observations);
    }
    columns_unref(&d->previous_columns);
    builder_destroy(&d->builder);
}

static bool reader_init(struct otlp_reader *d)
{
    size_t max_bytes = d->limits->max_batch_bytes;
    d->builder = builder_create(max_bytes);
    if (d->builder == NULL) {
        otlp_fail_memory(d);
        return false;
    }
    arena_init(&d->string_arena, max_bytes);
    arena_init(&d->value_arena, max_bytes);
    sample_writer_init(&d->samples, d->builder);
    observation_writer_init(&d->observations, d->builder);
    return true;
}

static enum err_code finish(struct otlp_reader *d, struct batch **out)
{
    enum err_code code = d->code == ERR_OK ? builder_finish(d->builder, out, d->e) : d->code;
    if (code != ERR_OK || d->rejected == NULL || d->rejected->profiles == 0 || (*out)->profile_count != 0)
        return code;
    batch_unref(out); // none is left
    if (d->e != NULL)
        *d->e = d->rejected->first;
    return ERR_INVALID;
}

enum err_code otlp_decode_layout(struct bytes data, enum otlp_layout layout, const struct otlp_limits *limits,
                                 struct batch **out, struct otlp_rejected *rejected, struct err *e)
{
    struct otlp_old old = {0};
    *out = NULL;
    if (data.len > UINT32_MAX)
        return err_set(e, ERR_LIMIT, "an OTLP request has %zu bytes, at most %u can be decoded", data.len, UINT32_MAX);
    struct otlp_reader d = {
        .data = data,
        .layout = layout,
        .numbers = &otlp_numbers[layout],
        .old = layout <= OTLP_LAYOUT_1_7 ? &old : NULL,
        .limits = limits == NULL ? &otlp_default_limits : limits,
        .e = e,
        .rejected = rejected,
    };
    if (reader_init(&d)) {
        if (layout == OTLP_LAYOUT_1_7)
            otlp_read_old_tables(&d);
        else if (layout > OTLP_LAYOUT_1_7)
            otlp_read_dictionary(&d);
        otlp_read_resources(&d);
    }
    enum err_code code = finish(&d, out);
    otlp_old_fini(&old);
    reader_fini(&d);
    return code;
}

enum err_code otlp_decode_good(struct bytes data, const struct otlp_limits *limits, struct batch **out,
                               struct otlp_rejected *rejected, struct err *e)
{
    return otlp_decode_layout(data, OTLP_LAYOUT_CURRENT, limits, out, rejected, e);
}

enum err_code otlp_decode(struct bytes data, const struct otlp_limits *limits, struct batch **out, struct err *e)
{
    return otlp_decode_good(data, limits, out, NULL, e);
}

struct batch *otlp_decode_containers(struct bytes data, const struct otlp_limits *limits, bool references)
{
    struct batch *b = NULL;
    struct otlp_reader d = {
        .data = data,
        .layout = OTLP_LAYOUT_CURRENT,
        .numbers = &otlp_numbers[OTLP_LAYOUT_CURRENT],
        .limits = limits,
        .without_profiles = true,
    };
    if (reader_init(&d)) {
        if (references)
            otlp_note_strings(&d);
        otlp_read_resources(&d);
    }
    if (d.repeated_keys || finish(&d, &b) != ERR_OK)
        batch_unref(&b);
    reader_fini(&d);
    return b;
}
