// SPDX-License-Identifier: Apache-2.0
// Changes of attribute sets: each set in use is looked at once for each resource, and the samples only follow.
#include "base/mem.h"
#include "profile/builder_internal.h"
#include "profile/edit.h"
#include "profile/edit_internal.h"
#include "profile/parts.h"
#include "profile/pointer_map.h"

struct new_set {
    uint32_t part; // whose answer it is
    uint32_t id;
};

bool attribute_set_list(const struct dictionary *d, uint32_t set, struct unit_attribute **list, size_t *capacity)
{
    const struct batch_range range = d->attribute_sets[set];
    void *items = *list;
    if (!mem_try_grow(&items, capacity, (size_t)range.count + 1, sizeof **list, SIZE_MAX))
        return false;
    *list = items;
    for (uint32_t i = 0; i < range.count; i++) {
        const struct batch_attribute *a = &d->attributes[d->set_attributes[range.start + i]];
        (*list)[i] = (struct unit_attribute){d->strings[a->key], d->strings[a->unit], a->value};
    }
    return true;
}

struct sets_edit {
    const struct attribute_sets_change *change;
    const struct dictionary *dictionary;
    struct builder *builder; // from the first change on
    struct new_set *sets;    // by old id
    // The part at hand, a resource or a scope: answers hold for one part.
    uint32_t resource, scope, part; // parts are counted from 1
    bool wanted;
    struct pointer_map seen; // its columns: sample types stay together
    void *columns;           // struct columns *[], what became of them
    struct unit_attribute *list;
    void *ids, *column;
    size_t columns_capacity, list_capacity, ids_capacity, column_capacity;
    enum err_code code;
    struct err *e;
};

bool value_same_place(const struct value *a, const struct value *b)
{
    if (a->kind != b->kind || a->count != b->count)
        return false;
    if (a->kind == VALUE_ARRAY)
        return a->items == b->items;
    if (a->kind == VALUE_KVLIST)
        return a->entries == b->entries;
    return a->kind == VALUE_STRING || a->kind == VALUE_BYTES ? bytes_same_place(a->bytes, b->bytes) : value_equal(a, b);
}

static bool fail_memory(struct sets_edit *s)
{
    s->code = parts_no_memory(s->e);
    return false;
}

static void forget_columns(struct sets_edit *s)
{
    struct columns **columns = s->columns;
    for (uint32_t i = 0; i < s->seen.count; i++)
        columns_unref(&columns[i]);
    pointer_map_fini(&s->seen);
}

static void edit_fini(struct sets_edit *s)
{
    forget_columns(s);
    builder_destroy(&s->builder);
    free(s->sets);
    free(s->columns);
    free(s->list);
    free(s->ids);
    free(s->column);
}

// The id of a member of the old set that is as it was, so that a large value is not looked at for each set it is in; false =
// there is none. *next: members stay in order, so the search goes on behind the last find.
static bool find_untouched(const struct sets_edit *s, struct batch_range old, const struct unit_attribute *a,
                           uint32_t *next, uint32_t *id_out)
{
    uint32_t i = *next;
    while (i < old.count && !bytes_same_place(a->key, s->list[i].key))
        i++;
    if (i == old.count) // a new key: there are few
        return false;
    *next = i + 1;
    *id_out = s->dictionary->set_attributes[old.start + i];
    return bytes_same_place(a->unit, s->list[i].unit) && value_same_place(&a->value, &s->list[i].value);
}

static uint32_t intern_attribute(struct sets_edit *s, const struct unit_attribute *a)
{
    const uint32_t key = builder_string(s->builder, a->key), unit = builder_string(s->builder, a->unit);
    return builder_attribute(s->builder, key, unit, &a->value);
}

static bool intern_set(struct sets_edit *s, struct batch_range old, const struct unit_attribute *list, uint32_t count,
                       uint32_t *id_out)
{
    if (s->builder == NULL) {
        s->builder = builder_create(0);
        builder_adopt_attributes(s->builder, s->dictionary);
    }
    if (!mem_try_grow(&s->ids, &s->ids_capacity, (size_t)count + 1, sizeof(uint32_t), SIZE_MAX))
        return fail_memory(s);
    uint32_t *ids = s->ids, next = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!find_untouched(s, old, &list[i], &next, &ids[i]))
            ids[i] = intern_attribute(s, &list[i]);
    *id_out = builder_attribute_set(s->builder, ids, count);
    if (builder_failed(s->builder))
        s->code = err_set(s->e, s->builder->failure.code, "%s", s->builder->failure.text);
    return s->code == ERR_OK;
}

static bool ask(struct sets_edit *s, uint32_t set, uint32_t *id_out)
{
    const struct unit_attribute *changed;
    uint32_t count;
    *id_out = set;
    if (!attribute_set_list(s->dictionary, set, &s->list, &s->list_capacity))
        return fail_memory(s);
    s->code = s->change->change(s->change->arg, s->resource, s->list, s->dictionary->attribute_sets[set].count,
                                &changed, &count, s->e);
    if (s->code != ERR_OK || changed == s->list)
        return s->code == ERR_OK;
    return intern_set(s, s->dictionary->attribute_sets[set], changed, count, id_out);
}

static inline bool new_id(struct sets_edit *s, uint32_t set, uint32_t *id_out)
{
    struct new_set *known = &s->sets[set];
    if (known->part != s->part) {
        if (!ask(s, set, &known->id))
            return false;
        known->part = s->part;
    }
    *id_out = known->id;
    return true;
}

// One reference to the columns as they are to be, in *c instead of the old ones.
static bool change_columns(struct sets_edit *s, struct columns **c)
{
    const struct columns *old = *c;
    const uint32_t *sets = old->attribute_sets;
    uint32_t *column, id = 0;
    bool changed = false;
    if (!mem_try_grow(&s->column, &s->column_capacity, (size_t)old->sample_count + 1, sizeof *column, SIZE_MAX))
        return fail_memory(s);
    column = s->column;
    for (uint32_t i = 0; i < old->sample_count; i++) {
        uint32_t set = sets == NULL ? 0 : sets[i];
        if (!new_id(s, set, &id))
            return false;
        column[i] = id;
        changed |= id != set;
    }
    if (!changed)
        return true;
    const struct columns like = {.stacks = old->stacks, .attribute_sets = column, .links = old->links};
    struct columns *new = columns_pick(&like, &(struct run){0, old->sample_count}, 1);
    if (new == NULL)
        return fail_memory(s);
    columns_unref(c);
    *c = new;
    return true;
}

static bool change_columns_once(struct sets_edit *s, struct columns **c)
{
    uint32_t id;
    bool is_new;
    if (!mem_try_grow(&s->columns, &s->columns_capacity, (size_t)s->seen.count + 1, sizeof(struct columns *),
                      SIZE_MAX) ||
        !pointer_map_put(&s->seen, *c, &id, &is_new))
        return fail_memory(s);
    struct columns **columns = s->columns;
    if (is_new) {
        columns[id] = columns_ref(*c);
        if (!change_columns(s, &columns[id]))
            return false;
    }
    columns_ref(columns[id]);
    columns_unref(c);
    *c = columns[id];
    return true;
}

static void begin_part(struct sets_edit *s, uint32_t resource, uint32_t scope)
{
    bool by_scope = s->change->scope != NULL;
    if (s->part != 0 && resource == s->resource && (!by_scope || scope == s->scope))
        return;
    forget_columns(s);
    s->resource = resource;
    s->scope = scope;
    s->part++;
    s->wanted = !by_scope || s->change->scope(s->change->arg, resource, scope);
}

static bool change_profile(void *arg, uint32_t resource, uint32_t scope, struct profile *p, bool *changed)
{
    struct sets_edit *s = arg;
    const struct profile before = *p;
    begin_part(s, resource, scope);
    if (!s->wanted)
        return true;
    bool ok = s->change->level == LEVEL_PROFILE ? new_id(s, before.attribute_set, &p->attribute_set)
                                                : change_columns_once(s, &p->columns);
    if (p->attribute_set == before.attribute_set && p->columns == before.columns)
        return ok;
    profile_drop_payload(p);
    *changed = true;
    return ok;
}

static enum err_code change_batch(struct sets_edit *s, struct batch **b)
{
    bool changed;
    struct resource **list = batch_walk_profiles(*b, &(struct profile_walk){change_profile, s}, &changed);
    if (list == NULL)
        return s->code == ERR_OK ? parts_no_memory(s->e) : s->code;
    struct dictionary *d = changed ? builder_seal_attributes(s->builder, (*b)->dictionary) : NULL;
    if (d != NULL)
        return batch_replace(b, d, list, (*b)->resource_count, s->e);
    resources_drop(list, (*b)->resource_count);
    return changed ? parts_no_memory(s->e) : ERR_OK;
}

enum err_code batch_change_attribute_sets(struct batch **b, const struct attribute_sets_change *c, struct err *e)
{
    const struct dictionary *d = (*b)->dictionary;
    struct sets_edit s = {.change = c, .dictionary = d, .e = e};
    s.sets = mem_try_array(d->attribute_set_count, sizeof *s.sets);
    if (s.sets == NULL)
        return parts_no_memory(e);
    memset(s.sets, 0, d->attribute_set_count * sizeof *s.sets);
    enum err_code code = change_batch(&s, b);
    edit_fini(&s);
    return code;
}
