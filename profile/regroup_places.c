// SPDX-License-Identifier: Apache-2.0
// The resources and scopes that samples move to.
#include "base/hash.h"
#include "base/mem.h"
#include "profile/edit_internal.h"
#include "profile/regroup_internal.h"
#include "profile/value_copy.h"

// What a resource or scope takes beside its texts, about.
enum { NEW_PART_BYTES = 1 << 10 };

static bool no_memory(struct regroup *g)
{
    return parts_no_memory(g->e) == ERR_OK;
}

static bool charge(struct regroup *g, size_t bytes)
{
    if (bytes <= REGROUP_MAX_BYTES - g->bytes) {
        g->bytes += bytes;
        return true;
    }
    return err_set(
               g->e, ERR_LIMIT,
               "%u resources and %u scopes were made, and the attributes of one more would take more than the %zu MiB "
               "allowed: group by attributes with fewer values",
               g->destination_count, g->scope_count, REGROUP_MAX_BYTES >> 20) == ERR_OK;
}

// --- what says the same ---

static uint64_t hash_entry(const struct key_value *entry)
{
    return hash_mix(hash_bytes(entry->key.data, entry->key.len), value_hash(&entry->value));
}

static bool entries_equal(const struct key_value *a, const struct key_value *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!bytes_equal(a[i].key, b[i].key) || !value_equal(&a[i].value, &b[i].value))
            return false;
    return true;
}

static uint64_t hash_resource(const struct resource *like, const struct key_value *list, uint32_t count)
{
    uint64_t sum = 0; // whatever the order
    for (uint32_t i = 0; i < count; i++)
        sum += hash_entry(&list[i]);
    return hash_mix(hash_mix(sum, count), hash_bytes(like->schema_url.data, like->schema_url.len));
}

static bool resources_alike(const struct resource *a, const struct resource *b)
{
    if (a == b)
        return true;
    if (!bytes_equal(a->schema_url, b->schema_url) || a->dropped_attributes_count != b->dropped_attributes_count ||
        a->entity_ref_count != b->entity_ref_count)
        return false;
    for (uint32_t i = 0; i < a->entity_ref_count; i++)
        if (!bytes_equal(a->entity_refs[i], b->entity_refs[i]))
            return false;
    return true;
}

static uint64_t hash_scope(const struct scope *s)
{
    uint64_t hash = hash_mix(hash_bytes(s->name.data, s->name.len), hash_bytes(s->version.data, s->version.len));
    for (uint32_t i = 0; i < s->attribute_count; i++)
        hash = hash_mix(hash, hash_entry(&s->attributes[i]));
    return hash;
}

static bool scopes_alike(const struct scope *a, const struct scope *b)
{
    return a == b || (bytes_equal(a->name, b->name) && bytes_equal(a->version, b->version) &&
                      bytes_equal(a->schema_url, b->schema_url) && a->attribute_count == b->attribute_count &&
                      a->dropped_attributes_count == b->dropped_attributes_count &&
                      entries_equal(a->attributes, b->attributes, a->attribute_count));
}

// --- resources ---

static int compare_keys(const void *a, const void *b)
{
    return bytes_compare(((const struct key_value *)a)->key, ((const struct key_value *)b)->key);
}

// For a look-up; values and keys stay where they are.
static bool sort(struct regroup *g, struct destination *d)
{
    const uint32_t count = d->attribute_count;
    if (!mem_try_grow(&g->sorted, &g->sorted_capacity, (size_t)count + 1, sizeof(struct key_value), SIZE_MAX))
        return false;
    if (count > 0)
        memcpy(g->sorted, d->attributes, count * sizeof(struct key_value));
    qsort(g->sorted, count, sizeof(struct key_value), compare_keys);
    d->sorted = g->sorted;
    return true;
}

static bool find_destination(struct regroup *g, const struct destination *d, uint32_t *slot_out, uint32_t *id_out)
{
    const struct destination *list = g->destinations;
    for (*slot_out = index_table_start(&g->destination_index, d->hash);
         index_table_next(&g->destination_index, d->hash, slot_out, id_out);
         index_table_skip(&g->destination_index, slot_out)) {
        const struct destination *old = &list[*id_out];
        if (old->attribute_count == d->attribute_count && resources_alike(old->like, d->like) &&
            entries_equal(old->sorted, d->sorted, d->attribute_count))
            return true;
    }
    return false;
}

// Own attributes of the resource may be borrowed as they are, others are copied.
static bool own_attributes(struct regroup *g, struct destination *d)
{
    const size_t size = d->attribute_count * sizeof(struct key_value);
    if (d->attributes != d->like->attributes) {
        if (!charge(g, NEW_PART_BYTES + size + key_values_bytes(d->attributes, d->attribute_count)))
            return false;
        if (!key_values_copy(&g->arena, d->attributes, d->attribute_count, &d->attributes) || !sort(g, d))
            return no_memory(g);
    }
    struct key_value *sorted = arena_try_alloc(&g->arena, size);
    if (sorted == NULL)
        return no_memory(g);
    if (size > 0)
        memcpy(sorted, d->sorted, size);
    d->sorted = sorted;
    return true;
}

static bool put_destination(struct regroup *g, struct destination *d, uint32_t *id_out)
{
    uint32_t slot;
    if (!sort(g, d) || !index_table_reserve(&g->destination_index) ||
        !mem_try_grow(&g->destinations, &g->destination_capacity, (size_t)g->destination_count + 1, sizeof *d,
                      UINT32_MAX - 1))
        return no_memory(g);
    if (find_destination(g, d, &slot, id_out))
        return true;
    if (!own_attributes(g, d))
        return false;
    *id_out = g->destination_count++;
    ((struct destination *)g->destinations)[*id_out] = *d;
    index_table_insert(&g->destination_index, d->hash, slot, *id_out);
    return true;
}

enum err_code regroup_destination(struct regroup *g, uint32_t resource, const struct key_value *attributes,
                                  uint32_t count, uint32_t *destination_out, struct err *e)
{
    const struct resource *like = g->batch->resources[resource];
    struct destination d = {.like = like,
                            .attributes = attributes,
                            .attribute_count = count,
                            .hash = hash_resource(like, attributes, count)};
    g->e = e;
    *destination_out = 0;
    return put_destination(g, &d, destination_out) ? ERR_OK : e->code;
}

enum err_code regroup_stay(struct regroup *g, uint32_t resource, uint32_t *destination_out, struct err *e)
{
    const struct resource *r = g->batch->resources[resource];
    enum err_code rc = ERR_OK;
    if (g->stayed != resource + 1)
        rc = regroup_destination(g, resource, r->attributes, r->attribute_count, &g->stayed_to, e);
    g->stayed = rc == ERR_OK ? resource + 1 : 0;
    *destination_out = g->stayed_to;
    return rc;
}

// --- scopes ---

void regroup_enter_scope(struct regroup *g, const struct scope *s)
{
    g->scope = s;
    g->scope_hash = hash_scope(s);
    g->scope_used = false;
}

static bool find_scope(struct regroup *g, uint32_t destination, uint64_t hash, uint32_t *slot_out, uint32_t *id_out)
{
    const struct new_scope *list = g->scopes;
    for (*slot_out = index_table_start(&g->scope_index, hash);
         index_table_next(&g->scope_index, hash, slot_out, id_out); index_table_skip(&g->scope_index, slot_out))
        if (list[*id_out].destination == destination && scopes_alike(list[*id_out].like, g->scope))
            return true;
    return false;
}

static void link_scope(struct regroup *g, uint32_t destination, uint32_t id)
{
    struct destination *d = &((struct destination *)g->destinations)[destination];
    if (d->last_scope == 0)
        d->first_scope = id + 1;
    else
        ((struct new_scope *)g->scopes)[d->last_scope - 1].next = id + 1;
    d->last_scope = id + 1;
    d->scope_count++;
}

static size_t scope_bytes(const struct scope *s)
{
    return NEW_PART_BYTES + s->name.len + s->version.len + s->schema_url.len +
           key_values_bytes(s->attributes, s->attribute_count);
}

// Looks at the attributes of the scope; NULL when it failed.
static struct new_scope *look_up_scope(struct regroup *g, uint32_t destination)
{
    uint64_t hash = hash_mix(g->scope_hash, destination);
    uint32_t slot, id;
    if (find_scope(g, destination, hash, &slot, &id))
        return &((struct new_scope *)g->scopes)[id];
    if (g->scope_used && !charge(g, scope_bytes(g->scope)))
        return NULL;
    g->scope_used = true;
    if (!mem_try_grow(&g->scopes, &g->scope_capacity, (size_t)g->scope_count + 1, sizeof(struct new_scope),
                      UINT32_MAX - 1) ||
        !index_table_reserve(&g->scope_index)) {
        no_memory(g);
        return NULL;
    }
    find_scope(g, destination, hash, &slot, &id); // the table may have grown
    id = g->scope_count++;
    struct new_scope *s = &((struct new_scope *)g->scopes)[id];
    *s = (struct new_scope){.like = g->scope, .hash = hash, .destination = destination};
    index_table_insert(&g->scope_index, hash, slot, id);
    link_scope(g, destination, id);
    return s;
}

// The scope of this destination that says what the one at hand does; NULL when it failed.
static struct new_scope *scope_for(struct regroup *g, uint32_t destination)
{
    struct destination *d = &((struct destination *)g->destinations)[destination];
    struct new_scope *s = g->scopes;
    if (d->at == g->scope)
        return &s[d->at_id];
    s = look_up_scope(g, destination);
    if (s == NULL)
        return NULL;
    d->at = g->scope;
    d->at_id = (uint32_t)(s - (struct new_scope *)g->scopes);
    return s;
}

bool regroup_keep_scope(struct regroup *g, uint32_t destination)
{
    return scope_for(g, destination) != NULL;
}

static void unref_profile(struct profile *p)
{
    columns_unref(&p->columns);
    observations_unref(&p->observations);
}

static bool is_next_of(const struct new_scope *s, const struct profile *whole)
{
    return s->count < s->like->profile_count && whole == &s->like->profiles[s->count];
}

bool regroup_put(struct regroup *g, uint32_t destination, const struct profile *p, const struct profile *whole)
{
    struct profile taken = *p;
    struct new_scope *s = scope_for(g, destination);
    bool room = s != NULL && mem_try_grow(&s->profiles, &s->capacity, (size_t)s->count + 1, sizeof taken, UINT32_MAX);
    if (!room) {
        unref_profile(&taken);
        return s == NULL ? false : no_memory(g);
    }
    s->changed |= !is_next_of(s, whole);
    ((struct profile *)s->profiles)[s->count++] = taken;
    return true;
}

// --- sealing ---

static struct scope *seal_scope(struct new_scope *s)
{
    if (!s->changed && s->count == s->like->profile_count)
        return scope_ref((struct scope *)(uintptr_t)s->like);
    uint32_t count = s->count;
    s->count = 0;
    return scope_with_profiles(s->like, s->profiles, count);
}

static bool same_scopes(const struct resource *r, struct scope *const *scopes, uint32_t count)
{
    return r->scope_count == count && (count == 0 || memcmp(r->scopes, scopes, count * sizeof(struct scope *)) == 0);
}

// Takes over the scopes.
static struct resource *finish_resource(const struct destination *d, struct scope **scopes, uint32_t count)
{
    struct resource like = *d->like; // read only
    if (d->attributes == like.attributes && same_scopes(&like, scopes, count)) {
        for (uint32_t i = 0; i < count; i++)
            scope_unref(&scopes[i]);
        return resource_ref((struct resource *)(uintptr_t)d->like);
    }
    like.attributes = d->attributes;
    like.attribute_count = d->attribute_count;
    return resource_with_scopes(&like, scopes, count);
}

static struct resource *seal_resource(struct regroup *g, const struct destination *d)
{
    struct scope **scopes = mem_try_array(d->scope_count, sizeof(struct scope *));
    uint32_t count = 0;
    struct resource *r = NULL;
    bool ok = scopes != NULL;
    for (uint32_t next = d->first_scope; ok && next != 0;) {
        struct new_scope *s = &((struct new_scope *)g->scopes)[next - 1];
        scopes[count] = seal_scope(s);
        ok = scopes[count] != NULL;
        count += ok;
        next = s->next;
    }
    if (ok)
        r = finish_resource(d, scopes, count);
    for (uint32_t i = 0; !ok && i < count; i++)
        scope_unref(&scopes[i]);
    free(scopes);
    return r;
}

static bool same_resources(const struct batch *b, struct resource *const *list, uint32_t count)
{
    return b->resource_count == count &&
           (count == 0 || memcmp(b->resources, list, count * sizeof(struct resource *)) == 0);
}

bool regroup_seal(struct regroup *g, struct batch **b)
{
    const struct destination *d = g->destinations;
    struct resource **list = mem_try_array(g->destination_count, sizeof(struct resource *));
    uint32_t count = 0;
    bool ok = list != NULL;
    for (uint32_t i = 0; ok && i < g->destination_count; i++) {
        if (d[i].scope_count == 0 && !d[i].kept)
            continue;
        list[count] = seal_resource(g, &d[i]);
        ok = list[count] != NULL;
        count += ok;
    }
    if (ok && !same_resources(*b, list, count))
        return batch_replace(b, dictionary_ref((*b)->dictionary), list, count, g->e) == ERR_OK;
    resources_drop(list, count);
    return ok || no_memory(g);
}

void regroup_places_fini(struct regroup *g)
{
    struct new_scope *scopes = g->scopes;
    for (uint32_t i = 0; i < g->scope_count; i++) {
        struct profile *profiles = scopes[i].profiles;
        for (uint32_t p = 0; p < scopes[i].count; p++)
            unref_profile(&profiles[p]);
        free(profiles);
    }
    free(g->scopes);
    free(g->destinations);
    free(g->sorted);
    index_table_fini(&g->destination_index);
    index_table_fini(&g->scope_index);
    arena_fini(&g->arena);
}
