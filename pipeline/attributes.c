// SPDX-License-Identifier: Apache-2.0
#include "pipeline/attributes.h"

static struct bytes copy_text(struct arena *arena, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    return (struct bytes){(const uint8_t *)arena_copy_text(arena, text, len), len};
}

static const struct key_value *copy_entries(struct arena *arena, const struct config_attribute *from, size_t count)
{
    struct key_value *list = arena_alloc(arena, count * sizeof *list);
    for (size_t i = 0; i < count; i++) {
        list[i].key = copy_text(arena, from[i].key);
        list[i].value = attribute_value(arena, &from[i].value);
    }
    return list;
}

static const struct value *copy_items(struct arena *arena, const struct config_any *from, size_t count)
{
    struct value *items = arena_alloc(arena, count * sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = attribute_value(arena, &from[i]);
    return items;
}

struct value attribute_value(struct arena *arena, const struct config_any *any)
{
    struct value v = {.kind = VALUE_EMPTY};
    switch (any->kind) {
    case CONFIG_ANY_UNSET:
        return v;
    case CONFIG_ANY_STRING:
        return value_string(copy_text(arena, any->string));
    case CONFIG_ANY_BOOL:
        return value_bool(any->boolean);
    case CONFIG_ANY_INT:
        return value_int(any->integer);
    case CONFIG_ANY_DOUBLE:
        v.kind = VALUE_DOUBLE;
        v.number = any->number;
        return v;
    case CONFIG_ANY_LIST:
        v.kind = VALUE_ARRAY;
        v.count = (uint32_t)any->count;
        v.items = copy_items(arena, any->items, any->count);
        return v;
    case CONFIG_ANY_MAP:
        v.kind = VALUE_KVLIST;
        v.count = (uint32_t)any->count;
        v.entries = copy_entries(arena, any->attributes, any->count);
        return v;
    }
    return v;
}

const struct key_value *attribute_list(struct arena *arena, const struct config_attributes *list)
{
    return list->count == 0 ? NULL : copy_entries(arena, list->items, list->count);
}
