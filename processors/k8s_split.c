// SPDX-License-Identifier: Apache-2.0
// Samples of a whole host, each to the resource of its pod.
#include "base/hash.h"
#include "base/index_table.h"
#include "base/mem.h"
#include "processors/attribute_actions.h"
#include "processors/k8s_work.h"
#include "profile/regroup.h"

// Where a pod's samples of a resource go.
struct place {
    uint32_t resource;
    struct k8s_pick pick;
    uint32_t destination;
};

struct splitting {
    struct k8s_work *w;
    uint8_t *slots; // by attribute: 1 + slot, 0 = not looked at
    uint8_t *named; // by attribute set: says which pod it is
    const struct value **profile, **sample;
    void *places; // struct place[]
    size_t place_capacity;
    uint32_t place_count;
    struct index_table index;
    void *hashes; // uint64_t[], of the attributes of resources where some samples stayed
    size_t hash_capacity, hash_count;

    // The resource at hand, 1 + its index; 0 = none yet.
    uint32_t current;
    struct k8s_subject subject;
    struct k8s_found found; // by itself
    bool split;             // otherwise all of it goes to:
    struct k8s_pick pick;
    // Of one that is split: the attributes that rules look at, so that a look-up costs the same, however many it has.
    struct resource narrow;
    struct key_value own[K8S_SLOTS_MAX];
    uint32_t profile_set; // whose values are in profile, 1 + its index; 0 = none
};

// --- does anything say which pod it is ---

static uint8_t slot_of(const struct k8s_associations *a, struct bytes key)
{
    for (uint32_t i = 0; i < a->name_count; i++)
        if (bytes_equal(a->names[i], key))
            return (uint8_t)(i + 1);
    return 0;
}

static void read_slots(struct splitting *s)
{
    const struct dictionary *d = s->w->batch->dictionary;
    for (uint32_t i = 0; i < d->attribute_count; i++)
        s->slots[i] = slot_of(&s->w->rules->associations, d->strings[d->attributes[i].key]);
}

static bool read_named(struct splitting *s)
{
    const struct dictionary *d = s->w->batch->dictionary;
    const uint32_t names = s->w->rules->associations.source_name_count;
    bool any = false;
    for (uint32_t set = 0; set < d->attribute_set_count; set++) {
        const struct batch_range range = d->attribute_sets[set];
        s->named[set] = false;
        for (uint32_t i = 0; i < range.count; i++) {
            const uint8_t slot = s->slots[d->set_attributes[range.start + i]];
            s->named[set] |= slot != 0 && slot <= names;
        }
        any |= s->named[set];
    }
    return any;
}

static bool profile_is_named(const struct splitting *s, const struct profile *p)
{
    const uint32_t *sets = p->columns->attribute_sets;
    bool named = s->named[p->attribute_set];
    for (uint32_t i = 0; !named && sets != NULL && i < p->columns->sample_count; i++)
        named = s->named[sets[i]];
    return named;
}

static bool resource_is_named(const struct splitting *s, const struct resource *r)
{
    bool named = false;
    for (uint32_t i = 0; !named && i < r->scope_count; i++)
        for (uint32_t p = 0; !named && p < r->scopes[i]->profile_count; p++)
            named = profile_is_named(s, &r->scopes[i]->profiles[p]);
    return named;
}

static bool batch_is_named(const struct splitting *s)
{
    bool named = false;
    for (uint32_t i = 0; !named && i < s->w->batch->resource_count; i++)
        named = resource_is_named(s, s->w->batch->resources[i]);
    return named;
}

// --- destinations ---

static bool find_place(const struct splitting *s, uint64_t hash, uint32_t resource, struct k8s_pick pick,
                       uint32_t *slot_out, uint32_t *id_out)
{
    const struct place *places = s->places;
    for (*slot_out = index_table_start(&s->index, hash); index_table_next(&s->index, hash, slot_out, id_out);
         index_table_skip(&s->index, slot_out))
        if (places[*id_out].resource == resource && places[*id_out].pick.pod == pick.pod &&
            places[*id_out].pick.container == pick.container)
            return true;
    return false;
}

static uint64_t hash_list(const struct key_value *list, uint32_t count)
{
    uint64_t sum = count; // whatever the order
    for (uint32_t i = 0; i < count; i++)
        sum += hash_mix(hash_bytes(list[i].key.data, list[i].key.len), value_hash(&list[i].value));
    return sum;
}

static enum err_code stay(struct splitting *s, struct regroup *g, uint32_t resource, uint32_t *out, struct err *e)
{
    const struct resource *r = s->w->batch->resources[resource];
    if (!s->split)
        return regroup_stay(g, resource, out, e);
    if (!mem_try_grow(&s->hashes, &s->hash_capacity, s->hash_count + 1, sizeof(uint64_t), SIZE_MAX))
        return attribute_no_memory(e);
    ((uint64_t *)s->hashes)[s->hash_count++] = hash_list(r->attributes, r->attribute_count);
    return regroup_stay(g, resource, out, e);
}

static enum err_code make_place(struct splitting *s, struct regroup *g, uint32_t resource, struct k8s_pick pick,
                                uint32_t *out, struct err *e)
{
    if (pick.pod == NULL)
        return stay(s, g, resource, out, e);
    enum err_code rc = k8s_make_list(s->w, resource, pick, e);
    return rc == ERR_OK ? regroup_destination(g, resource, s->w->list.items, s->w->list.count, out, e) : rc;
}

static enum err_code place_of(struct splitting *s, struct regroup *g, uint32_t resource, struct k8s_pick pick,
                              uint32_t *out, struct err *e)
{
    const uint64_t hash = hash_mix(hash_mix(hash_mix(1, resource), (uintptr_t)pick.pod), (uintptr_t)pick.container);
    uint32_t slot, id;
    if (!index_table_reserve(&s->index) ||
        !mem_try_grow(&s->places, &s->place_capacity, (size_t)s->place_count + 1, sizeof(struct place), UINT32_MAX - 1))
        return attribute_no_memory(e);
    if (!find_place(s, hash, resource, pick, &slot, &id)) {
        enum err_code rc = make_place(s, g, resource, pick, out, e);
        if (rc != ERR_OK)
            return rc;
        id = s->place_count++;
        ((struct place *)s->places)[id] = (struct place){resource, pick, *out};
        index_table_insert(&s->index, hash, slot, id);
    }
    *out = ((const struct place *)s->places)[id].destination;
    return ERR_OK;
}

// --- cases ---

static void keep_own(struct splitting *s, const struct resource *r, struct bytes key)
{
    const struct key_value *found = key_values_find(r->attributes, r->attribute_count, key);
    if (found != NULL)
        s->own[s->narrow.attribute_count++] = *found;
}

static void narrow_resource(struct splitting *s)
{
    const struct k8s_associations *a = &s->w->rules->associations;
    const struct resource *r = s->subject.resource;
    s->narrow = (struct resource){.attributes = s->own};
    keep_own(s, r, a->names[a->container_id]);
    keep_own(s, r, a->names[a->container_name]);
    for (uint32_t i = a->first_of_samples; i < a->count; i++)
        for (uint32_t k = 0; k < a->items[i].count; k++)
            if (a->items[i].sources[k].from == K8S_RESOURCE)
                keep_own(s, r, a->items[i].sources[k].name);
    s->subject.resource = &s->narrow;
}

static void enter_resource(struct splitting *s, uint32_t resource)
{
    const struct k8s_associations *a = &s->w->rules->associations;
    if (s->current == resource + 1)
        return;
    s->current = resource + 1;
    s->subject = k8s_subject_of(s->w, resource);
    s->found = (struct k8s_found){0};
    s->split = !k8s_associate(a, 0, a->first_of_samples, &s->subject, &s->found) &&
               resource_is_named(s, s->w->batch->resources[resource]);
    if (s->split) {
        s->subject.names_pod = true;
        narrow_resource(s);
        return;
    }
    if (s->found.pod == NULL)
        k8s_find(s->w, a->first_of_samples, &s->subject, &s->found);
    s->pick = k8s_settle(s->w, &s->subject, &s->found);
}

static void read_values(const struct splitting *s, uint32_t set, const struct value **out)
{
    const struct dictionary *d = s->w->batch->dictionary;
    const struct batch_range range = d->attribute_sets[set];
    memset(out, 0, s->w->rules->associations.name_count * sizeof *out);
    for (uint32_t i = 0; i < range.count; i++) {
        const uint32_t attribute = d->set_attributes[range.start + i];
        if (s->slots[attribute] != 0)
            out[s->slots[attribute] - 1] = &d->attributes[attribute].value;
    }
}

static struct k8s_pick pick_case(struct splitting *s, const struct regroup_case *at)
{
    struct k8s_subject subject = s->subject;
    struct k8s_found found = s->found;
    if (s->profile_set != at->profile_set + 1)
        read_values(s, at->profile_set, s->profile);
    s->profile_set = at->profile_set + 1;
    read_values(s, at->sample_set, s->sample);
    subject.profile = s->profile;
    subject.sample = s->sample;
    k8s_find(s->w, s->w->rules->associations.first_of_samples, &subject, &found);
    return k8s_settle(s->w, &subject, &found);
}

static enum err_code place(void *arg, struct regroup *g, struct regroup_case at, uint32_t *out, struct err *e)
{
    struct splitting *s = arg;
    enter_resource(s, at.resource);
    return place_of(s, g, at.resource, s->split ? pick_case(s, &at) : s->pick, out, e);
}

// --- what stayed ---

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t samples_of(const struct resource *r)
{
    uint64_t samples = 0;
    for (uint32_t i = 0; i < r->scope_count; i++)
        for (uint32_t p = 0; p < r->scopes[i]->profile_count; p++)
            samples += r->scopes[i]->profiles[p].columns->sample_count;
    return samples;
}

static void count_unmatched(struct splitting *s, const struct batch *b)
{
    uint64_t samples = 0;
    if (s->w->rules->unmatched_samples == NULL || s->hash_count == 0)
        return;
    qsort(s->hashes, s->hash_count, sizeof(uint64_t), compare_hashes);
    for (uint32_t i = 0; i < b->resource_count; i++) {
        const struct resource *r = b->resources[i];
        const uint64_t hash = hash_list(r->attributes, r->attribute_count);
        if (bsearch(&hash, s->hashes, s->hash_count, sizeof hash, compare_hashes) != NULL)
            samples += samples_of(r);
    }
    metric_add(s->w->rules->unmatched_samples, (int64_t)samples);
}

// --- the whole ---

static bool init(struct splitting *s)
{
    const struct dictionary *d = s->w->batch->dictionary;
    const size_t names = s->w->rules->associations.name_count;
    s->slots = mem_try_array(d->attribute_count, sizeof *s->slots);
    s->named = mem_try_array(d->attribute_set_count, sizeof *s->named);
    s->profile = mem_try_array(names, sizeof(struct value *));
    s->sample = mem_try_array(names, sizeof(struct value *));
    return s->slots != NULL && s->named != NULL && s->profile != NULL && s->sample != NULL;
}

static void fini(struct splitting *s)
{
    free(s->slots);
    free(s->named);
    free(s->profile);
    free(s->sample);
    free(s->places);
    free(s->hashes);
    index_table_fini(&s->index);
}

bool k8s_split(struct k8s_work *w, struct batch **batch, enum err_code *rc_out, struct err *e)
{
    struct splitting s = {.w = w};
    const struct regroup_rule rule = {place, &s};
    bool named = false;
    *rc_out = ERR_OK;
    if (w->rules->associations.first_of_samples == w->rules->associations.count)
        return false;
    if (!init(&s)) {
        *rc_out = attribute_no_memory(e);
        named = true;
    } else {
        read_slots(&s);
        named = read_named(&s) && batch_is_named(&s);
    }
    if (named && *rc_out == ERR_OK)
        *rc_out = batch_regroup(batch, &rule, e);
    if (named && *rc_out == ERR_OK)
        count_unmatched(&s, *batch);
    fini(&s);
    return named;
}
