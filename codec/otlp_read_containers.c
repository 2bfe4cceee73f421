// SPDX-License-Identifier: Apache-2.0
// ResourceProfiles and ScopeProfiles. Encoders differ in the order of fields, and the builder wants a
// container before what is in it: each message is gone through twice.
#include "codec/otlp_reader.h"

#include "base/text.h"

#include <inttypes.h>

struct container { // what is known of an open resource or scope; its attributes lie in d->entries
    struct bytes name, version, schema_url;
    uint32_t dropped_attributes_count;
};

static void read_attribute(struct otlp_reader *d, const struct otlp_place *at, const struct wire_field *f)
{
    struct otlp_place place = {at, "attributes", d->entry_count};
    if (d->entry_count >= d->limits->max_attributes)
        otlp_fail(d, at, ERR_LIMIT, "more than %" PRIu32 " attributes, as many as max_attributes allows",
                  d->limits->max_attributes);
    else
        otlp_read_entry(d, &place, otlp_bytes(d, at, f, "attributes"), 0);
}

static void read_resource(struct otlp_reader *d, const struct otlp_place *parent, struct bytes data,
                          struct container *c)
{
    struct otlp_place at = {parent, "resource", OTLP_NO_INDEX};
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        if (f.number == 1)
            read_attribute(d, &at, &f);
        else if (f.number == 2)
            c->dropped_attributes_count = (uint32_t)otlp_uint(d, &at, &f, "dropped_attributes_count");
    }
    otlp_message_end(d, &at, &r);
}

static void read_scope(struct otlp_reader *d, const struct otlp_place *parent, struct bytes data, struct container *c)
{
    struct otlp_place at = {parent, "scope", OTLP_NO_INDEX};
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        if (f.number == 1)
            c->name = otlp_bytes(d, &at, &f, "name");
        else if (f.number == 2)
            c->version = otlp_bytes(d, &at, &f, "version");
        else if (f.number == 3)
            read_attribute(d, &at, &f);
        else if (f.number == 4)
            c->dropped_attributes_count = (uint32_t)otlp_uint(d, &at, &f, "dropped_attributes_count");
    }
    otlp_message_end(d, &at, &r);
}

// EntityRef holds four strings and no indexes, so it is passed on as it came if it is well-formed.
static void read_entity_ref(struct otlp_reader *d, const struct otlp_place *parent, struct bytes data, uint64_t index)
{
    static const char *const names[] = {"schema_url", "type", "id_keys", "description_keys"};
    struct otlp_place at = {parent, "entity_refs", index};
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        if (f.number > COUNT_OF(names))
            continue;
        if (!utf8_valid(otlp_bytes(d, &at, &f, names[f.number - 1])))
            otlp_fail(d, &at, ERR_INVALID, "%s is not UTF-8", names[f.number - 1]);
    }
    otlp_message_end(d, &at, &r);
    if (d->code == ERR_OK)
        builder_resource_entity_ref(d->builder, data);
}

static void read_entity_refs(struct otlp_reader *d, const struct otlp_place *at, struct bytes resource, uint64_t *index)
{
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, resource);
    while (otlp_next(d, &r, &f))
        if (f.number == 3)
            read_entity_ref(d, at, otlp_bytes(d, at, &f, "entity_refs"), (*index)++);
}

static void forget_values(struct otlp_reader *d)
{
    d->entry_count = 0;
    arena_fini(&d->value_arena);
}

static void open_scope(struct otlp_reader *d, const struct otlp_place *at, struct bytes data)
{
    struct wire_reader r;
    struct wire_field f;
    struct container c = {0};
    forget_values(d);
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        if (f.number == 1)
            read_scope(d, at, otlp_bytes(d, at, &f, "scope"), &c);
        else if (f.number == 3)
            c.schema_url = otlp_bytes(d, at, &f, "schema_url");
    }
    otlp_message_end(d, at, &r);
    otlp_unique_entries(d);
    struct bytes name = otlp_text(d, &d->value_arena, c.name);
    struct bytes version = otlp_text(d, &d->value_arena, c.version);
    struct bytes schema_url = otlp_text(d, &d->value_arena, c.schema_url);
    if (d->code == ERR_OK)
        builder_scope(d->builder, name, version, d->entries, (uint32_t)d->entry_count, c.dropped_attributes_count,
                      schema_url);
}

// A profile that is wrong in itself is left out, if the caller counts it.
static void read_profile(struct otlp_reader *d, const struct otlp_place *at, struct bytes data)
{
    struct err *e = d->e, reason = {0};
    if (d->rejected == NULL || d->code != ERR_OK) {
        otlp_read_profile(d, at, data);
        return;
    }
    d->e = &reason;
    otlp_read_profile(d, at, data);
    d->e = e;
    if (d->code == ERR_INVALID) {
        otlp_drop_samples(d);
        d->code = ERR_OK;
        if (d->rejected->profiles++ == 0)
            d->rejected->first = reason;
    } else if (d->code != ERR_OK && e != NULL) {
        *e = reason;
    }
}

static void read_scope_profiles(struct otlp_reader *d, const struct otlp_place *at, struct bytes data)
{
    struct otlp_place profile = {at, "profiles", 0};
    struct wire_reader r;
    struct wire_field f;
    open_scope(d, at, data);
    if (d->without_profiles)
        return;
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f) && !builder_failed(d->builder)) {
        if (f.number != 2)
            continue;
        read_profile(d, &profile, otlp_bytes(d, at, &f, "profiles"));
        profile.index++;
    }
    columns_unref(&d->previous_columns);
}

static void open_resource(struct otlp_reader *d, const struct otlp_place *at, struct bytes data)
{
    struct wire_reader r;
    struct wire_field f;
    struct container c = {0};
    forget_values(d);
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f)) {
        if (f.number == 1)
            read_resource(d, at, otlp_bytes(d, at, &f, "resource"), &c);
        else if (f.number == 3)
            c.schema_url = otlp_bytes(d, at, &f, "schema_url");
    }
    otlp_message_end(d, at, &r);
    otlp_unique_entries(d);
    struct bytes schema_url = otlp_text(d, &d->value_arena, c.schema_url);
    if (d->code == ERR_OK)
        builder_resource(d->builder, d->entries, (uint32_t)d->entry_count, c.dropped_attributes_count, schema_url);
}

static void read_resource_profiles(struct otlp_reader *d, const struct otlp_place *at, struct bytes data)
{
    struct otlp_place resource = {at, "resource", OTLP_NO_INDEX}, scope = {at, "scope_profiles", 0};
    struct wire_reader r;
    struct wire_field f;
    uint64_t entity_refs = 0;
    open_resource(d, at, data);
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f))
        if (f.number == 1)
            read_entity_refs(d, &resource, f.bytes, &entity_refs);
    wire_reader_init(&r, data);
    while (otlp_next(d, &r, &f) && !builder_failed(d->builder)) {
        if (f.number != 2)
            continue;
        read_scope_profiles(d, &scope, otlp_bytes(d, at, &f, "scope_profiles"));
        scope.index++;
    }
}

void otlp_read_resources(struct otlp_reader *d)
{
    struct otlp_place at = {NULL, "resource_profiles", 0};
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, d->data);
    while (otlp_next(d, &r, &f) && !builder_failed(d->builder)) {
        if (f.number != 1)
            continue;
        read_resource_profiles(d, &at, otlp_bytes(d, NULL, &f, "resource_profiles"));
        at.index++;
    }
}
