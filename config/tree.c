// SPDX-License-Identifier: Apache-2.0
#include "config/tree.h"

#include "config/internal.h"

static struct config_entry *find_entry(const struct config_node *node, const char *key, size_t key_len)
{
    if (!node || node->kind != CONFIG_MAP)
        return NULL;
    for (size_t i = 0; i < node->count; i++)
        if (strncmp(node->entries[i].key, key, key_len) == 0 && node->entries[i].key[key_len] == '\0')
            return &node->entries[i];
    return NULL;
}

struct config_node *config_get(const struct config_node *node, const char *key)
{
    struct config_entry *entry = find_entry(node, key, strlen(key));
    return entry ? entry->value : NULL;
}

struct config_node *config_get_path(const struct config_node *root, const char *path)
{
    for (;;) {
        const char *separator = strstr(path, "::");
        size_t len = separator ? (size_t)(separator - path) : strlen(path);
        struct config_entry *entry = find_entry(root, path, len);
        if (!entry)
            return NULL;
        if (!separator)
            return entry->value;
        root = entry->value;
        path = separator + 2;
    }
}

static void merge_entry(struct arena *arena, struct config_node *base, const struct config_entry *later)
{
    struct config_entry *old = find_entry(base, later->key, strlen(later->key));
    if (!old) {
        base->entries[base->count++] = *later;
        return;
    }
    old->value = config_merge(arena, old->value, later->value);
    old->key_at = later->key_at;
}

struct config_node *config_merge(struct arena *arena, struct config_node *base, struct config_node *later)
{
    if (!base || base->kind != CONFIG_MAP || later->kind != CONFIG_MAP)
        return later;
    struct config_entry *entries = arena_alloc(arena, (base->count + later->count) * sizeof *entries);
    if (base->count > 0)
        memcpy(entries, base->entries, base->count * sizeof *entries);
    base->entries = entries;
    for (size_t i = 0; i < later->count; i++)
        merge_entry(arena, base, &later->entries[i]);
    base->at = later->at;
    return base;
}
