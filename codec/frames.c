// SPDX-License-Identifier: Apache-2.0
#include "codec/frames.h"

#include "codec/decode.h"

static uint32_t module_mapping(struct builder *b, struct bytes module)
{
    if (module.len == 0)
        return 0;
    const struct batch_mapping m = {.filename = builder_string(b, module)};
    return builder_mapping(b, &m);
}

static uint32_t type_attributes(struct builder *b, struct bytes type)
{
    if (type.len == 0)
        return 0;
    const struct value v = value_string(type);
    const uint32_t attribute = builder_attribute(b, builder_string_text(b, "profile.frame.type"), 0, &v);
    return builder_attribute_set(b, &attribute, 1);
}

uint32_t frame_location(struct builder *b, const struct frame *f)
{
    const struct batch_function function = {.name = builder_string(b, f->name), .filename = builder_string(b, f->file)};
    const struct batch_line line = {.function = builder_function(b, &function), .line = f->line, .column = f->column};
    const struct batch_location location = {
        .mapping = module_mapping(b, f->module),
        .attribute_set = type_attributes(b, f->type),
        .address = f->address,
    };
    return builder_location(b, &location, &line, line.function != 0 ? 1 : 0);
}

void frames_begin(struct builder *b, const struct decode_options *options)
{
    const struct decode_scope *s = &options->scope;
    const struct bytes none = {0};
    builder_resource(b, options->resource_attributes, options->resource_attribute_count, 0, none);
    builder_scope(b, s->name, s->version, s->attributes, s->attribute_count, 0, none);
}
