// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_snapshot.h"

#include "base/index_table.h"
#include "base/mem.h"
#include "kube/kube_key.h"
#include "kube/kube_snapshot_build.h"

// So many pods are looked at for one address: more have it only when somebody makes it so.
enum { ADDRESS_MAX_PODS = 32 };

// Pods that have had one address stand in a chain: those in use first, then by start, the newest first.
struct address_entry {
    uint32_t object;
    uint32_t address;       // of the pod's
    uint32_t next_plus_one; // 0 = the last
};

struct container_entry {
    uint32_t object;
    uint32_t container : 31; // of the pod's
    uint32_t is_last : 1;    // by its last_id
};

struct kube_snapshot {
    _Atomic uint32_t refs;
    uint32_t count, address_count, container_count;
    struct kube_object **objects;
    struct address_entry *addresses;
    struct container_entry *containers;
    struct index_table by_uid, by_name; // to objects
    struct index_table by_address;      // to the first of the chain
    struct index_table by_container;
    size_t kind_counts[KUBE_KINDS];
};

// --- life ---

struct kube_snapshot *kube_snapshot_ref(struct kube_snapshot *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

static void destroy(struct kube_snapshot *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        kube_object_unref(&s->objects[i]);
    free(s->objects);
    free(s->addresses);
    free(s->containers);
    index_table_fini(&s->by_uid);
    index_table_fini(&s->by_name);
    index_table_fini(&s->by_address);
    index_table_fini(&s->by_container);
    free(s);
}

void kube_snapshot_unref(struct kube_snapshot **s)
{
    if (*s != NULL && atomic_fetch_sub_explicit(&(*s)->refs, 1, memory_order_acq_rel) == 1)
        destroy(*s);
    *s = NULL;
}

// --- by uid and name ---

static bool find_uid(const struct kube_snapshot *s, uint64_t hash, enum kube_kind kind, struct bytes uid,
                     uint32_t *slot, uint32_t *id)
{
    const struct index_table *t = &s->by_uid;
    for (*slot = index_table_start(t, hash); index_table_next(t, hash, slot, id); index_table_skip(t, slot))
        if (kube_has_uid(s->objects[*id], kind, uid))
            return true;
    return false;
}

static bool find_name(const struct kube_snapshot *s, uint64_t hash, enum kube_kind kind, struct bytes namespace_name,
                      struct bytes name, uint32_t *slot, uint32_t *id)
{
    const struct index_table *t = &s->by_name;
    for (*slot = index_table_start(t, hash); index_table_next(t, hash, slot, id); index_table_skip(t, slot))
        if (kube_has_name(s->objects[*id], kind, namespace_name, name))
            return true;
    return false;
}

static void add_uid(struct kube_snapshot *s, uint32_t object)
{
    const struct kube_object *o = s->objects[object];
    uint64_t hash = kube_uid_hash(o->kind, o->uid);
    uint32_t slot, id;
    if (!find_uid(s, hash, o->kind, o->uid, &slot, &id))
        index_table_insert(&s->by_uid, hash, slot, object);
}

// Of two of a name the one that is there; else the one that went last.
static bool is_newer(const struct kube_object *o, const struct kube_object *than)
{
    int64_t gone = kube_deleted_nanos(o), than_gone = kube_deleted_nanos(than);
    return than_gone != 0 && (gone == 0 || gone >= than_gone);
}

static void add_name(struct kube_snapshot *s, uint32_t object)
{
    const struct kube_object *o = s->objects[object];
    uint64_t hash = kube_name_hash(o->kind, o->namespace_name, o->name);
    uint32_t slot, id;
    if (!find_name(s, hash, o->kind, o->namespace_name, o->name, &slot, &id))
        index_table_insert(&s->by_name, hash, slot, object);
    else if (is_newer(o, s->objects[id]))
        s->by_name.slots[slot].id_plus_one = object + 1;
}

// --- by address ---

static const struct ip_address *entry_address(const struct kube_snapshot *s, const struct address_entry *e)
{
    return &s->objects[e->object]->pod.addresses[e->address];
}

static bool find_address(const struct kube_snapshot *s, uint64_t hash, const struct ip_address *address, uint32_t *slot,
                         uint32_t *id)
{
    const struct index_table *t = &s->by_address;
    for (*slot = index_table_start(t, hash); index_table_next(t, hash, slot, id); index_table_skip(t, slot))
        if (memcmp(entry_address(s, &s->addresses[*id]), address, sizeof *address) == 0)
            return true;
    return false;
}

static bool is_in_use(const struct kube_object *o)
{
    return !o->pod.is_done && kube_deleted_nanos(o) == 0;
}

static bool stands_before(const struct kube_object *a, const struct kube_object *b)
{
    bool a_used = is_in_use(a), b_used = is_in_use(b);
    return a_used != b_used ? a_used : a->pod.start_nanos > b->pod.start_nanos;
}

static void chain_address(struct kube_snapshot *s, uint32_t *link, uint32_t entry)
{
    const struct kube_object *o = s->objects[s->addresses[entry].object];
    for (int passed = 0; *link != 0; passed++) {
        struct address_entry *next = &s->addresses[*link - 1];
        if (passed == ADDRESS_MAX_PODS)
            return;
        if (stands_before(o, s->objects[next->object]))
            break;
        link = &next->next_plus_one;
    }
    s->addresses[entry].next_plus_one = *link;
    *link = entry + 1;
}

static void add_address(struct kube_snapshot *s, uint32_t object, uint32_t address)
{
    uint32_t entry = s->address_count++, slot, first;
    s->addresses[entry] = (struct address_entry){.object = object, .address = address};
    const struct ip_address *a = entry_address(s, &s->addresses[entry]);
    uint64_t hash = hash_bytes(a, sizeof *a);
    if (!find_address(s, hash, a, &slot, &first))
        index_table_insert(&s->by_address, hash, slot, entry);
    else
        chain_address(s, &s->by_address.slots[slot].id_plus_one, entry);
}

// --- by container ---

static struct bytes entry_id(const struct kube_snapshot *s, const struct container_entry *e)
{
    const struct kube_container *c = &s->objects[e->object]->pod.containers[e->container];
    return e->is_last ? c->last_id : c->id;
}

static bool find_container(const struct kube_snapshot *s, uint64_t hash, struct bytes id, uint32_t *slot,
                           uint32_t *entry)
{
    const struct index_table *t = &s->by_container;
    for (*slot = index_table_start(t, hash); index_table_next(t, hash, slot, entry); index_table_skip(t, slot))
        if (bytes_equal(entry_id(s, &s->containers[*entry]), id))
            return true;
    return false;
}

static void add_container(struct kube_snapshot *s, struct container_entry e)
{
    struct bytes id = entry_id(s, &e);
    uint32_t slot, entry;
    if (id.len == 0)
        return;
    uint64_t hash = hash_bytes(id.data, id.len);
    if (find_container(s, hash, id, &slot, &entry))
        return;
    index_table_insert(&s->by_container, hash, slot, s->container_count);
    s->containers[s->container_count++] = e;
}

// --- building ---

static bool allocate(struct kube_snapshot *s, struct kube_object *const *objects, uint32_t count)
{
    size_t addresses = 0, containers = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct kube_pod *p = &objects[i]->pod;
        addresses += p->host_network ? 0 : p->address_count;
        for (uint32_t c = 0; c < p->container_count; c++)
            containers += (size_t)(p->containers[c].id.len > 0) + (p->containers[c].last_id.len > 0);
    }
    if (addresses > UINT32_MAX / 2 || containers > UINT32_MAX / 2)
        return false;
    s->objects = mem_try_array(count + (size_t)1, sizeof *s->objects);
    s->addresses = mem_try_array(addresses + 1, sizeof *s->addresses);
    s->containers = mem_try_array(containers + 1, sizeof *s->containers);
    return s->objects != NULL && s->addresses != NULL && s->containers != NULL &&
           index_table_expect(&s->by_uid, count) && index_table_expect(&s->by_name, count) &&
           index_table_expect(&s->by_address, (uint32_t)addresses) &&
           index_table_expect(&s->by_container, (uint32_t)containers);
}

static void add_pod(struct kube_snapshot *s, uint32_t object)
{
    const struct kube_pod *p = &s->objects[object]->pod;
    for (uint32_t i = 0; i < p->address_count && !p->host_network; i++)
        add_address(s, object, i);
    for (uint32_t i = 0; i < p->container_count; i++) {
        add_container(s, (struct container_entry){.object = object, .container = i & INT32_MAX, .is_last = false});
        add_container(s, (struct container_entry){.object = object, .container = i & INT32_MAX, .is_last = true});
    }
}

struct kube_snapshot *kube_snapshot_build(struct kube_object *const *objects, uint32_t count)
{
    struct kube_snapshot *s = MEM_NEW(struct kube_snapshot);
    atomic_init(&s->refs, 1);
    if (!allocate(s, objects, count)) {
        kube_snapshot_unref(&s);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        s->objects[i] = kube_object_ref(objects[i]);
        s->count = i + 1;
        s->kind_counts[objects[i]->kind] += kube_deleted_nanos(objects[i]) == 0;
        add_uid(s, i);
        add_name(s, i);
        add_pod(s, i);
    }
    return s;
}

// --- looking up ---

const struct kube_object *kube_object_by_uid(const struct kube_snapshot *s, enum kube_kind kind, struct bytes uid)
{
    uint32_t slot, id;
    return find_uid(s, kube_uid_hash(kind, uid), kind, uid, &slot, &id) ? s->objects[id] : NULL;
}

const struct kube_object *kube_object_by_name(const struct kube_snapshot *s, enum kube_kind kind,
                                              struct bytes namespace_name, struct bytes name)
{
    uint32_t slot, id;
    uint64_t hash = kube_name_hash(kind, namespace_name, name);
    return find_name(s, hash, kind, namespace_name, name, &slot, &id) ? s->objects[id] : NULL;
}

const struct kube_object *kube_pod_by_uid(const struct kube_snapshot *s, struct bytes uid)
{
    return kube_object_by_uid(s, KUBE_POD, uid);
}

const struct kube_object *kube_pod_by_name(const struct kube_snapshot *s, struct bytes namespace_name,
                                           struct bytes name)
{
    return kube_object_by_name(s, KUBE_POD, namespace_name, name);
}

static bool was_there(const struct kube_object *o, int64_t at_nanos)
{
    bool ended = o->pod.is_done && o->pod.end_nanos != 0;
    int64_t end = ended ? o->pod.end_nanos : kube_deleted_nanos(o);
    return o->pod.start_nanos <= at_nanos && (end == 0 ? !o->pod.is_done : at_nanos < end);
}

// What the chain gives, from best to worst.
struct address_matches {
    const struct kube_object *at_time; // of those that were there the one that started last
    const struct kube_object *in_use;
    const struct kube_object *lately; // gone, but not before it was gone
};

static void match_address(struct address_matches *m, const struct kube_object *o, int64_t at_nanos)
{
    bool gone = kube_deleted_nanos(o) != 0;
    if (at_nanos != 0 && was_there(o, at_nanos) &&
        (m->at_time == NULL || o->pod.start_nanos > m->at_time->pod.start_nanos))
        m->at_time = o;
    if (o->pod.is_done)
        return;
    if (!gone && m->in_use == NULL)
        m->in_use = o;
    if (gone && at_nanos == 0 && m->lately == NULL)
        m->lately = o;
}

const struct kube_object *kube_pod_by_address(const struct kube_snapshot *s, const struct ip_address *address,
                                              int64_t at_nanos)
{
    struct address_matches m = {NULL, NULL, NULL};
    uint32_t slot, first;
    if (!find_address(s, hash_bytes(address, sizeof *address), address, &slot, &first))
        return NULL;
    const struct address_entry *e = &s->addresses[first];
    for (int passed = 0; passed < ADDRESS_MAX_PODS; passed++) {
        match_address(&m, s->objects[e->object], at_nanos);
        if (e->next_plus_one == 0)
            break;
        e = &s->addresses[e->next_plus_one - 1];
    }
    return m.at_time != NULL ? m.at_time : m.in_use != NULL ? m.in_use : m.lately;
}

bool kube_address_needs_time(const struct kube_snapshot *s, const struct ip_address *address)
{
    uint32_t slot, first;
    if (!find_address(s, hash_bytes(address, sizeof *address), address, &slot, &first))
        return false;
    return s->addresses[first].next_plus_one != 0 || !is_in_use(s->objects[s->addresses[first].object]);
}

const struct kube_object *kube_pod_by_container(const struct kube_snapshot *s, struct bytes id,
                                                const struct kube_container **container_out)
{
    uint32_t slot, entry;
    id = kube_without_scheme(id);
    *container_out = NULL;
    if (id.len == 0 || !find_container(s, hash_bytes(id.data, id.len), id, &slot, &entry))
        return NULL;
    const struct container_entry *e = &s->containers[entry];
    *container_out = &s->objects[e->object]->pod.containers[e->container];
    return s->objects[e->object];
}

size_t kube_snapshot_count(const struct kube_snapshot *s, enum kube_kind kind)
{
    return s->kind_counts[kind];
}

static size_t table_bytes(const struct index_table *t)
{
    return t->slots == NULL ? 0 : ((size_t)t->mask + 1) * sizeof *t->slots;
}

size_t kube_snapshot_bytes(const struct kube_snapshot *s)
{
    return sizeof *s + s->count * sizeof *s->objects + s->address_count * sizeof *s->addresses +
           s->container_count * sizeof *s->containers + table_bytes(&s->by_uid) + table_bytes(&s->by_name) +
           table_bytes(&s->by_address) + table_bytes(&s->by_container);
}
