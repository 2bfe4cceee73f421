// SPDX-License-Identifier: Apache-2.0
#include "processors/relabel_labels.h"

#include "base/hash.h"
#include "base/mem.h"

enum { FEW = 32, MAX_LABELS = 1 << 24 }; // few are looked through, many are indexed

void label_list_init(struct label_list *l)
{
    *l = (struct label_list){.items = NULL};
}

void label_list_fini(struct label_list *l)
{
    free(l->items);
    index_table_fini(&l->index);
    label_list_init(l);
}

static void forget_index(struct label_list *l)
{
    if (l->indexed == 0)
        return;
    index_table_fini(&l->index);
    l->index = (struct index_table){.slots = NULL};
    l->indexed = 0;
}

void label_list_clear(struct label_list *l)
{
    forget_index(l);
    l->count = 0;
}

static bool append(struct label_list *l, const struct label *label)
{
    void *items = l->items;
    if (!mem_try_grow(&items, &l->capacity, l->count + 1, sizeof *label, MAX_LABELS))
        return false;
    l->items = items;
    l->items[l->count++] = *label;
    return true;
}

bool label_list_add(struct label_list *l, struct bytes name, struct bytes value, uint32_t tag)
{
    return append(l, &(struct label){name, value, tag, false});
}

static int compare_names(const void *a, const void *b)
{
    return bytes_compare(((const struct label *)a)->name, ((const struct label *)b)->name);
}

void labels_sort(struct label *items, size_t count)
{
    if (count > FEW) {
        qsort(items, count, sizeof *items, compare_names);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        struct label item = items[i];
        size_t at = i;
        for (; at > 0 && compare_names(&items[at - 1], &item) > 0; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

void label_list_sort(struct label_list *l)
{
    forget_index(l);
    labels_sort(l->items, l->count);
}

static bool index_all(struct label_list *l)
{
    for (; l->indexed < l->count; l->indexed++) {
        if (!index_table_reserve(&l->index))
            return false;
        struct bytes name = l->items[l->indexed].name;
        uint64_t hash = hash_bytes(name.data, name.len);
        uint32_t slot = index_table_start(&l->index, hash), id;
        for (; index_table_next(&l->index, hash, &slot, &id); index_table_skip(&l->index, &slot))
            ;
        index_table_insert(&l->index, hash, slot, (uint32_t)l->indexed);
    }
    return true;
}

// The last of this name, be it gone or not: those before it are gone. NULL if there is none.
static struct label *find_indexed(struct label_list *l, struct bytes name)
{
    struct label *last = NULL;
    uint64_t hash = hash_bytes(name.data, name.len);
    uint32_t slot = index_table_start(&l->index, hash), id;
    for (; index_table_next(&l->index, hash, &slot, &id); index_table_skip(&l->index, &slot))
        if (bytes_equal(l->items[id].name, name) && (last == NULL || last < &l->items[id]))
            last = &l->items[id];
    return last;
}

bool label_list_find(struct label_list *l, struct bytes name, struct label **out)
{
    *out = NULL;
    if (l->count > FEW) {
        if (!index_all(l))
            return false;
        *out = find_indexed(l, name);
        return true;
    }
    for (size_t i = l->count; i-- > 0 && *out == NULL;)
        if (bytes_equal(l->items[i].name, name))
            *out = &l->items[i];
    return true;
}

bool label_list_get(struct label_list *l, struct bytes name, struct bytes *value_out)
{
    struct label *found;
    bool ok = label_list_find(l, name, &found);
    *value_out = ok && found != NULL ? found->value : (struct bytes){NULL, 0};
    return ok;
}

bool label_list_set(struct label_list *l, struct bytes name, struct bytes value)
{
    struct label *found;
    if (!label_list_find(l, name, &found))
        return false;
    if (found == NULL)
        return value.len == 0 || append(l, &(struct label){name, value, 0, true});
    if (value.len == 0 || (found->was_set && found->value.len != 0)) {
        found->value = value;
        return true;
    }
    // It goes to the end.
    struct label moved = {found->name, value, found->tag, true};
    found->value = (struct bytes){NULL, 0};
    return append(l, &moved);
}
