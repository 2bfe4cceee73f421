// SPDX-License-Identifier: Apache-2.0
#include "codec/pyroscope.h"

#include "base/mem.h"

void pyroscope_labels_init(struct pyroscope_labels *l)
{
    *l = (struct pyroscope_labels){0};
    arena_init(&l->texts, 0);
}

void pyroscope_labels_fini(struct pyroscope_labels *l)
{
    free(l->items);
    arena_fini(&l->texts);
    *l = (struct pyroscope_labels){0};
}

bool pyroscope_labels_add(struct pyroscope_labels *l, struct bytes name, struct bytes value)
{
    void *items = l->items;
    if (!mem_try_grow(&items, &l->capacity, l->count + 1, sizeof *l->items, UINT32_MAX))
        return false;
    l->items = items;
    l->items[l->count++] = (struct pyroscope_label){name, value};
    return true;
}

struct bytes pyroscope_labels_find(const struct pyroscope_labels *l, const char *name)
{
    for (size_t i = l->count; i > 0; i--)
        if (bytes_equal_text(l->items[i - 1].name, name))
            return l->items[i - 1].value;
    return (struct bytes){0};
}
