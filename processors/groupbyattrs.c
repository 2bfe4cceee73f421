// SPDX-License-Identifier: Apache-2.0
// The Collector's `groupbyattrs`, for profiles: attributes of samples and profiles become attributes of resources, and
// resources that say the same become one.
#include "base/hash.h"
#include "base/index_table.h"
#include "base/mem.h"
#include "processors/attribute_actions.h"
#include "processors/processors.h"
#include "profile/regroup.h"

struct groupbyattrs_settings {
    struct config_strings keys;
};

struct groupbyattrs {
    struct processor processor;
    const struct bytes *keys;
    size_t key_count;
    struct arena arena; // of the keys
};

static const struct field groupbyattrs_fields[] = {
    {.name = "keys",
     .type = FIELD_STRING_LIST,
     .offset = offsetof(struct groupbyattrs_settings, keys),
     .help = "attributes of samples and profiles that become attributes of the resource; none: equal resources and "
             "scopes are joined, no more"},
    {.name = NULL},
};

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct config_strings *keys = &((const struct groupbyattrs_settings *)settings)->keys;
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->items[i][0] == '\0')
            check_error(check, "keys", "[%zu] must not be empty", i);
        for (size_t k = 0; k < i; k++)
            if (strcmp(keys->items[i], keys->items[k]) == 0)
                check_error(check, "keys", "\"%s\" is there twice", keys->items[i]);
    }
}

static enum err_code create(struct processor *self, const void *settings, struct err *e)
{
    struct groupbyattrs *p = (struct groupbyattrs *)self;
    const struct config_strings *keys = &((const struct groupbyattrs_settings *)settings)->keys;
    (void)e;
    arena_init(&p->arena, 0);
    struct bytes *list = arena_alloc(&p->arena, keys->count * sizeof *list);
    for (size_t i = 0; i < keys->count; i++)
        list[i] = bytes_from_text(keys->items[i]);
    p->keys = list;
    p->key_count = keys->count;
    return ERR_OK;
}

static size_t index_of_key(const struct groupbyattrs *p, struct bytes key)
{
    size_t i = 0;
    while (i < p->key_count && !bytes_equal(p->keys[i], key))
        i++;
    return i;
}

// --- where samples go ---

// Values of the keys, and the resource they lead to.
struct known_group {
    uint32_t resource, destination;
};

struct grouping {
    const struct groupbyattrs *p;
    const struct batch *batch;
    uint32_t *found;           // by key: id of an attribute, 0 = none
    uint32_t *same;            // by attribute: the first with this key and value, 0 = not asked yet
    struct index_table values; // of those that are the first
    void *groups;              // struct known_group[]
    void *group_keys;          // uint32_t[], key_count for each group
    size_t group_capacity, group_key_capacity;
    uint32_t group_count;
    struct index_table index;
    void *list; // struct key_value[], of a new resource
    size_t list_capacity;
    bool moved; // some sample
};

// Units are lost, so attributes that differ in nothing else lead to the same resource; false = no memory.
static bool find_same(struct grouping *g, uint32_t attribute, uint32_t *out)
{
    const struct batch_attribute *list = g->batch->dictionary->attributes, *a = &list[attribute];
    const uint64_t hash = hash_mix(value_hash(&a->value), a->key);
    uint32_t slot, id;
    *out = g->same[attribute];
    if (*out != 0)
        return true;
    if (!index_table_reserve(&g->values))
        return false;
    for (slot = index_table_start(&g->values, hash); index_table_next(&g->values, hash, &slot, &id);
         index_table_skip(&g->values, &slot))
        if (list[id].key == a->key && value_equal(&list[id].value, &a->value)) {
            *out = g->same[attribute] = id;
            return true;
        }
    index_table_insert(&g->values, hash, slot, attribute);
    *out = g->same[attribute] = attribute;
    return true;
}

// Puts the values that the set has; the set of the samples comes last and wins.
static bool find_keys(struct grouping *g, uint32_t set)
{
    const struct dictionary *d = g->batch->dictionary;
    const struct batch_range range = d->attribute_sets[set];
    for (uint32_t i = 0; i < range.count; i++) {
        const uint32_t attribute = d->set_attributes[range.start + i];
        const size_t key = index_of_key(g->p, d->strings[d->attributes[attribute].key]);
        if (key < g->p->key_count && !find_same(g, attribute, &g->found[key]))
            return false;
    }
    return true;
}

// The list of the resource with what was found, in g->list.
static bool make_list(struct grouping *g, const struct resource *r, uint32_t *count_out)
{
    const struct dictionary *d = g->batch->dictionary;
    uint32_t count = r->attribute_count;
    if (!mem_try_grow(&g->list, &g->list_capacity, (size_t)count + g->p->key_count + 1, sizeof(struct key_value),
                      SIZE_MAX))
        return false;
    struct key_value *list = g->list;
    for (uint32_t i = 0; i < r->attribute_count; i++)
        list[i] = r->attributes[i];
    for (size_t k = 0; k < g->p->key_count; k++) {
        uint32_t at = 0;
        if (g->found[k] == 0)
            continue;
        while (at < r->attribute_count && !bytes_equal(list[at].key, g->p->keys[k]))
            at++;
        if (at == r->attribute_count)
            at = count++;
        list[at] = (struct key_value){g->p->keys[k], d->attributes[g->found[k]].value};
    }
    *count_out = count;
    return true;
}

static enum err_code make_destination(struct grouping *g, struct regroup *regroup, uint32_t resource, uint32_t *out,
                                      struct err *e)
{
    uint32_t count;
    bool any = false;
    for (size_t k = 0; k < g->p->key_count; k++)
        any |= g->found[k] != 0;
    if (!any)
        return regroup_stay(regroup, resource, out, e);
    g->moved = true;
    if (!make_list(g, g->batch->resources[resource], &count))
        return attribute_no_memory(e);
    return regroup_destination(regroup, resource, g->list, count, out, e);
}

static bool find_group(struct grouping *g, uint32_t resource, uint64_t hash, uint32_t *slot_out, uint32_t *id_out)
{
    const struct known_group *groups = g->groups;
    const uint32_t *keys = g->group_keys;
    const size_t count = g->p->key_count;
    for (*slot_out = index_table_start(&g->index, hash); index_table_next(&g->index, hash, slot_out, id_out);
         index_table_skip(&g->index, slot_out))
        if (groups[*id_out].resource == resource &&
            (count == 0 || memcmp(keys + *id_out * count, g->found, count * sizeof *keys) == 0))
            return true;
    return false;
}

static bool group_room(struct grouping *g)
{
    const size_t need = (size_t)g->group_count + 1;
    return index_table_reserve(&g->index) &&
           mem_try_grow(&g->groups, &g->group_capacity, need, sizeof(struct known_group), UINT32_MAX - 1) &&
           mem_try_grow(&g->group_keys, &g->group_key_capacity, need * g->p->key_count + 1, sizeof(uint32_t), SIZE_MAX);
}

static enum err_code place(void *arg, struct regroup *regroup, struct regroup_case at, uint32_t *out, struct err *e)
{
    struct grouping *g = arg;
    const size_t size = g->p->key_count * sizeof *g->found;
    uint32_t slot, id;
    memset(g->found, 0, size);
    if (!find_keys(g, at.profile_set) || !find_keys(g, at.sample_set))
        return attribute_no_memory(e);
    const uint64_t hash = hash_mix(hash_bytes(g->found, size), at.resource + UINT64_C(1));
    if (!group_room(g))
        return attribute_no_memory(e);
    if (!find_group(g, at.resource, hash, &slot, &id)) {
        enum err_code rc = make_destination(g, regroup, at.resource, out, e);
        if (rc != ERR_OK)
            return rc;
        id = g->group_count++;
        ((struct known_group *)g->groups)[id] = (struct known_group){at.resource, *out};
        if (size > 0)
            memcpy((uint32_t *)g->group_keys + id * g->p->key_count, g->found, size);
        index_table_insert(&g->index, hash, slot, id);
    }
    *out = ((const struct known_group *)g->groups)[id].destination;
    return ERR_OK;
}

// --- what moved goes from where it was ---

struct removal {
    const struct groupbyattrs *p;
    void *list; // struct unit_attribute[]
    size_t capacity;
};

static enum err_code remove_keys(void *arg, uint32_t resource, const struct unit_attribute *list, uint32_t count,
                                 const struct unit_attribute **out, uint32_t *count_out, struct err *e)
{
    struct removal *r = arg;
    uint32_t kept = 0;
    (void)resource;
    if (!mem_try_grow(&r->list, &r->capacity, (size_t)count + 1, sizeof *list, SIZE_MAX))
        return attribute_no_memory(e);
    struct unit_attribute *rest = r->list;
    for (uint32_t i = 0; i < count; i++)
        if (index_of_key(r->p, list[i].key) == r->p->key_count)
            rest[kept++] = list[i];
    *out = kept == count ? list : rest;
    *count_out = kept;
    return ERR_OK;
}

static enum err_code remove_moved(const struct groupbyattrs *p, struct batch **batch, struct err *e)
{
    static const enum attribute_level levels[] = {LEVEL_PROFILE, LEVEL_SAMPLE};
    struct removal r = {.p = p};
    enum err_code rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < COUNT_OF(levels); i++) {
        const struct attribute_sets_change change = {.level = levels[i], .change = remove_keys, .arg = &r};
        rc = batch_change_attribute_sets(batch, &change, e);
    }
    free(r.list);
    return rc;
}

// --- the whole ---

static enum err_code regroup(const struct groupbyattrs *p, struct batch **batch, bool *moved_out, struct err *e)
{
    const uint32_t attributes = (*batch)->dictionary->attribute_count;
    struct grouping g = {.p = p, .batch = *batch};
    const struct regroup_rule rule = {place, &g};
    g.found = mem_try_array(p->key_count, sizeof *g.found);
    g.same = mem_try_array(attributes, sizeof *g.same);
    if (g.same != NULL)
        memset(g.same, 0, attributes * sizeof *g.same);
    enum err_code rc = g.found == NULL || g.same == NULL ? attribute_no_memory(e) : batch_regroup(batch, &rule, e);
    *moved_out = g.moved;
    free(g.found);
    free(g.same);
    index_table_fini(&g.values);
    free(g.groups);
    free(g.group_keys);
    free(g.list);
    index_table_fini(&g.index);
    return rc;
}

static enum err_code process(struct processor *self, struct batch **batch, const struct sender *from, struct err *e)
{
    (void)from;
    const struct groupbyattrs *p = (const struct groupbyattrs *)self;
    struct batch *b = batch_ref(*batch);
    bool moved;
    enum err_code rc = regroup(p, &b, &moved, e);
    if (rc == ERR_OK && moved)
        rc = remove_moved(p, &b, e);
    if (rc != ERR_OK) {
        batch_unref(&b);
        return rc;
    }
    batch_unref(batch);
    *batch = b;
    return ERR_OK;
}

static void destroy(struct processor *self)
{
    arena_fini(&((struct groupbyattrs *)self)->arena);
}

const struct processor_module groupbyattrs_processor = {
    .module =
        {
            .type = "groupbyattrs",
            .help = "Moves attributes of samples and profiles to resources of their own, and joins equal resources.",
            .settings_size = sizeof(struct groupbyattrs_settings),
            .instance_size = sizeof(struct groupbyattrs),
            .fields = groupbyattrs_fields,
            .check = check_settings,
        },
    .create = create,
    .process = process,
    .destroy = destroy,
};
