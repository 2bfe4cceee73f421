// SPDX-License-Identifier: Apache-2.0
#include "net/header_set.h"

#include "base/mem.h"

#include <strings.h>

enum { SPARE = 8 };

void header_set_init(struct header_set *s, const struct http_header *items, size_t count)
{
    *s = (struct header_set){.count = count, .capacity = count + SPARE};
    arena_init(&s->arena, 0);
    s->items = mem_alloc(s->capacity * sizeof *s->items);
    if (count > 0)
        memcpy(s->items, items, count * sizeof *items);
}

void header_set_fini(struct header_set *s)
{
    free(s->items);
    arena_fini(&s->arena);
    *s = (struct header_set){0};
}

bool header_set_has(const struct header_set *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcasecmp(s->items[i].name, name) == 0)
            return true;
    return false;
}

void header_set_remove(struct header_set *s, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++)
        if (strcasecmp(s->items[i].name, name) != 0)
            s->items[kept++] = s->items[i];
    s->count = kept;
}

void header_set_put(struct header_set *s, const char *name, const char *value)
{
    header_set_remove(s, name);
    if (s->count == s->capacity) {
        struct http_header *more = mem_alloc(2 * s->capacity * sizeof *more);
        memcpy(more, s->items, s->count * sizeof *more);
        free(s->items);
        s->items = more;
        s->capacity *= 2;
    }
    s->items[s->count++] = (struct http_header){arena_copy_text(&s->arena, name, strlen(name)),
                                                arena_copy_text(&s->arena, value, strlen(value))};
}
