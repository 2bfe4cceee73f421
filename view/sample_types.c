// SPDX-License-Identifier: Apache-2.0
#include "view/sample_types.h"

#include "base/hash.h"
#include "base/index_table.h"
#include "base/mem.h"

enum { TYPES_TOLD = 20 }; // in an error

bool batch_each_profile(const struct batch *b, visit_profile_fn *visit, void *arg)
{
    for (uint32_t r = 0; r < b->resource_count; r++) {
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++) {
            const struct scope *scope = b->resources[r]->scopes[s];
            for (uint32_t p = 0; p < scope->profile_count; p++)
                if (!visit(arg, &scope->profiles[p]))
                    return false;
        }
    }
    return true;
}

struct type_list {
    const struct dictionary *dictionary;
    struct index_table table;
    void *types; // struct value_type[]
    size_t capacity, count;
};

// False: out of memory.
static bool list_type(void *arg, const struct profile *p)
{
    struct type_list *l = arg;
    const struct value_type *types = l->types, t = p->sample_type;
    const uint64_t hash = hash_mix(hash_mix(t.type, t.unit), 1);
    uint32_t id;
    if (!index_table_reserve(&l->table))
        return false;
    uint32_t slot = index_table_start(&l->table, hash);
    for (; types != NULL && index_table_next(&l->table, hash, &slot, &id); index_table_skip(&l->table, &slot)) {
        if (types[id].type == t.type && types[id].unit == t.unit)
            return true;
    }
    if (!mem_try_grow(&l->types, &l->capacity, l->count + 1, sizeof t, UINT32_MAX - 1))
        return false;
    index_table_insert(&l->table, hash, slot, (uint32_t)l->count);
    ((struct value_type *)l->types)[l->count++] = t;
    return true;
}

size_t batch_sample_types(const struct batch *b, struct sample_type_name *out, size_t max)
{
    struct type_list l = {.dictionary = b->dictionary};
    batch_each_profile(b, list_type, &l);
    for (size_t i = 0; i < l.count && i < max; i++) {
        const struct value_type t = ((struct value_type *)l.types)[i];
        out[i] = (struct sample_type_name){b->dictionary->strings[t.type], b->dictionary->strings[t.unit]};
    }
    index_table_fini(&l.table);
    free(l.types);
    return l.count;
}

static enum err_code no_such_type(const struct batch *b, struct bytes name, struct err *e)
{
    struct sample_type_name types[TYPES_TOLD] = {0};
    struct buf text;
    const size_t count = batch_sample_types(b, types, TYPES_TOLD);
    buf_init(&text, ERR_TEXT_MAX);
    for (size_t i = 0; i < count && i < TYPES_TOLD; i++)
        buf_add_format(&text, "%s%.*s/%.*s", i == 0 ? "" : ", ", BYTES_PRINT(types[i].type),
                       BYTES_PRINT(types[i].unit));
    if (count > TYPES_TOLD)
        buf_add_format(&text, " and %zu more", count - TYPES_TOLD);
    err_set(e, ERR_INVALID, "there is no sample type \"%.*s\"; there are: %.*s", BYTES_PRINT(name), (int)text.len,
            text.len > 0 ? (const char *)text.data : "");
    buf_fini(&text);
    return ERR_INVALID;
}

struct type_search {
    const struct dictionary *dictionary;
    struct bytes name; // type, or type and unit with a slash between
    struct value_type found;
};

bool sample_type_is(struct bytes name, struct bytes type, struct bytes unit)
{
    if (bytes_equal(name, type))
        return true;
    return name.len == type.len + 1 + unit.len && bytes_equal((struct bytes){name.data, type.len}, type) &&
           name.data[type.len] == '/' && bytes_equal((struct bytes){name.data + type.len + 1, unit.len}, unit);
}

static bool differs_from_name(void *arg, const struct profile *p)
{
    struct type_search *s = arg;
    s->found = p->sample_type;
    return s->name.len > 0 &&
           !sample_type_is(s->name, s->dictionary->strings[s->found.type], s->dictionary->strings[s->found.unit]);
}

enum err_code sample_type_choose(const struct batch *b, struct bytes name, struct value_type *out, struct err *e)
{
    struct type_search s = {.dictionary = b->dictionary, .name = name};
    if (b->profile_count == 0)
        return err_set(e, ERR_INVALID, "there are no profiles in it");
    if (batch_each_profile(b, differs_from_name, &s))
        return no_such_type(b, name, e);
    *out = s.found;
    return ERR_OK;
}

struct pair_search {
    const struct dictionary *dictionary;
    struct bytes type, unit;
    struct value_type found, same_type; // same_type: of another unit
    bool has_same_type;
};

static bool differs_from_pair(void *arg, const struct profile *p)
{
    struct pair_search *s = arg;
    s->found = p->sample_type;
    if (!bytes_equal(s->dictionary->strings[s->found.type], s->type))
        return true;
    s->same_type = s->found;
    s->has_same_type = true;
    return !bytes_equal(s->dictionary->strings[s->found.unit], s->unit);
}

enum err_code sample_type_same(const struct batch *b, struct bytes type, struct bytes unit, struct value_type *out,
                               struct err *e)
{
    struct pair_search s = {.dictionary = b->dictionary, .type = type, .unit = unit};
    if (!batch_each_profile(b, differs_from_pair, &s)) {
        *out = s.found;
        return ERR_OK;
    }
    if (!s.has_same_type)
        return no_such_type(b, type, e);
    const struct bytes other = b->dictionary->strings[s.same_type.unit];
    return err_set(e, ERR_INVALID,
                   "the sample type \"%.*s\" is in \"%.*s\" before and in \"%.*s\" after: they cannot be compared",
                   BYTES_PRINT(type), BYTES_PRINT(unit), BYTES_PRINT(other));
}
