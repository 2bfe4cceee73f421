// SPDX-License-Identifier: Apache-2.0
#include "profile/value.h"

#include "base/hash.h"
#include "base/text.h"
#include "profile/value_copy.h"

static uint64_t double_bits(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static bool arrays_equal(const struct value *a, const struct value *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        if (!value_equal(&a->items[i], &b->items[i]))
            return false;
    }
    return true;
}

static bool kvlists_equal(const struct value *a, const struct value *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        if (!bytes_equal(a->entries[i].key, b->entries[i].key) ||
            !value_equal(&a->entries[i].value, &b->entries[i].value))
            return false;
    }
    return true;
}

bool value_equal(const struct value *a, const struct value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case VALUE_EMPTY:
        return true;
    case VALUE_BOOL:
        return a->boolean == b->boolean;
    case VALUE_INT:
        return a->integer == b->integer;
    case VALUE_DOUBLE:
        return double_bits(a->number) == double_bits(b->number);
    case VALUE_STRING:
    case VALUE_BYTES:
        return bytes_equal(a->bytes, b->bytes);
    case VALUE_ARRAY:
        return a->count == b->count && arrays_equal(a, b);
    case VALUE_KVLIST:
        return a->count == b->count && kvlists_equal(a, b);
    }
    return false;
}

// Every step goes through the seeded hash: a plain mixing step could be made to collide from outside.
static uint64_t hash_words(uint64_t kind, uint64_t a, uint64_t b)
{
    uint64_t words[3] = {kind, a, b};
    return hash_bytes(words, sizeof words);
}

static uint64_t kvlist_content(const struct value *v)
{
    uint64_t h = 0;
    for (uint32_t i = 0; i < v->count; i++) {
        struct bytes key = v->entries[i].key;
        h = hash_words(h, hash_bytes(key.data, key.len), value_hash(&v->entries[i].value));
    }
    return h;
}

static uint64_t array_content(const struct value *v)
{
    uint64_t h = 0;
    for (uint32_t i = 0; i < v->count; i++)
        h = hash_words(h, 0, value_hash(&v->items[i]));
    return h;
}

uint64_t value_content(const struct value *v)
{
    switch (v->kind) {
    case VALUE_EMPTY:
        return 0;
    case VALUE_BOOL:
        return v->boolean;
    case VALUE_INT:
        return (uint64_t)v->integer;
    case VALUE_DOUBLE:
        return double_bits(v->number);
    case VALUE_STRING:
    case VALUE_BYTES:
        return hash_bytes(v->bytes.data, v->bytes.len);
    case VALUE_ARRAY:
        return array_content(v) + v->count;
    case VALUE_KVLIST:
        return kvlist_content(v) + v->count;
    }
    return 0;
}

uint64_t value_hash(const struct value *v)
{
    return hash_words(v->kind, value_content(v), 0);
}

struct copier {
    struct arena *arena;
    uint64_t *repaired; // NULL = text is taken as it is
};

static bool copy_value(const struct copier *c, const struct value *v, struct value *copy_out);

static bool copy_repaired(const struct copier *c, struct bytes text, struct bytes *copy_out)
{
    size_t len = utf8_repair(text, NULL);
    uint8_t *copy = arena_try_alloc(c->arena, len);
    if (copy == NULL)
        return false;
    utf8_repair(text, copy);
    *copy_out = (struct bytes){copy, len};
    *c->repaired += 1;
    return true;
}

static bool copy_text(const struct copier *c, struct bytes text, struct bytes *copy_out)
{
    if (c->repaired != NULL && !utf8_valid(text))
        return copy_repaired(c, text, copy_out);
    return arena_try_copy(c->arena, text, copy_out);
}

static void *copy_room(const struct copier *c, uint32_t count, size_t item_size)
{
    size_t size;
    if (__builtin_mul_overflow((size_t)count, item_size, &size))
        return NULL;
    return arena_try_alloc(c->arena, size);
}

static bool copy_items(const struct copier *c, const struct value *from, uint32_t count, const struct value **copy_out)
{
    struct value *copy = copy_room(c, count, sizeof *copy);
    if (copy == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!copy_value(c, &from[i], &copy[i]))
            return false;
    }
    *copy_out = copy;
    return true;
}

static bool copy_entries(const struct copier *c, const struct key_value *from, uint32_t count,
                         const struct key_value **copy_out)
{
    *copy_out = NULL;
    if (count == 0)
        return true;
    struct key_value *copy = copy_room(c, count, sizeof *copy);
    if (copy == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!copy_text(c, from[i].key, &copy[i].key) || !copy_value(c, &from[i].value, &copy[i].value))
            return false;
    }
    *copy_out = copy;
    return true;
}

static bool copy_value(const struct copier *c, const struct value *v, struct value *copy_out)
{
    *copy_out = *v;
    switch (v->kind) {
    case VALUE_STRING:
        return copy_text(c, v->bytes, &copy_out->bytes);
    case VALUE_BYTES:
        return arena_try_copy(c->arena, v->bytes, &copy_out->bytes);
    case VALUE_ARRAY:
        return copy_items(c, v->items, v->count, &copy_out->items);
    case VALUE_KVLIST:
        return copy_entries(c, v->entries, v->count, &copy_out->entries);
    default:
        return true;
    }
}

bool value_copy(struct arena *arena, const struct value *v, struct value *copy_out)
{
    return copy_value(&(struct copier){arena, NULL}, v, copy_out);
}

bool value_copy_repaired(struct arena *arena, const struct value *v, struct value *copy_out, uint64_t *repaired)
{
    return copy_value(&(struct copier){arena, repaired}, v, copy_out);
}

bool key_values_copy(struct arena *arena, const struct key_value *from, uint32_t count,
                     const struct key_value **copy_out)
{
    return copy_entries(&(struct copier){arena, NULL}, from, count, copy_out);
}

bool key_values_copy_repaired(struct arena *arena, const struct key_value *from, uint32_t count,
                              const struct key_value **copy_out, uint64_t *repaired)
{
    return copy_entries(&(struct copier){arena, repaired}, from, count, copy_out);
}

bool text_copy_repaired(struct arena *arena, struct bytes text, struct bytes *copy_out, uint64_t *repaired)
{
    return copy_text(&(struct copier){arena, repaired}, text, copy_out);
}

size_t value_bytes(const struct value *v)
{
    size_t sum = sizeof *v;
    if (v->kind == VALUE_STRING || v->kind == VALUE_BYTES)
        sum += v->bytes.len + 8;
    if (v->kind == VALUE_ARRAY) {
        for (uint32_t i = 0; i < v->count; i++)
            sum += value_bytes(&v->items[i]);
    }
    if (v->kind == VALUE_KVLIST)
        sum += key_values_bytes(v->entries, v->count);
    return sum;
}

size_t key_values_bytes(const struct key_value *list, uint32_t count)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += sizeof list[i].key + list[i].key.len + 8 + value_bytes(&list[i].value);
    return sum;
}

const struct key_value *key_values_find(const struct key_value *list, uint32_t count, struct bytes key)
{
    for (uint32_t i = 0; i < count; i++) {
        if (bytes_equal(list[i].key, key))
            return &list[i];
    }
    return NULL;
}
