// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_store.h"

#include "base/index_table.h"
#include "base/mem.h"
#include "kube/kube_key.h"
#include "kube/kube_snapshot_build.h"

enum { MAX_OBJECTS = 1 << 28 };

struct kube_store {
    int64_t keep_deleted_nanos;
    struct kube_object **objects;
    uint32_t *rounds; // of each object: the list it was last seen in
    size_t count, capacity, rounds_capacity;
    size_t object_bytes;
    struct index_table by_uid, by_name; // by_name may have more: names that objects had before
    uint32_t kind_rounds[KUBE_KINDS];
    int64_t first_deleted_nanos; // of those that are gone; INT64_MAX = none is
    bool changed;
};

struct kube_store *kube_store_create(const struct kube_store_options *options)
{
    struct kube_store *s = MEM_NEW(struct kube_store);
    s->keep_deleted_nanos = options->keep_deleted_nanos;
    s->first_deleted_nanos = INT64_MAX;
    s->changed = true;
    return s;
}

void kube_store_destroy(struct kube_store **store)
{
    struct kube_store *s = *store;
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->count; i++)
        kube_object_unref(&s->objects[i]);
    free(s->objects);
    free(s->rounds);
    index_table_fini(&s->by_uid);
    index_table_fini(&s->by_name);
    free(s);
    *store = NULL;
}

// --- the tables ---

static bool find_uid(const struct kube_store *s, uint64_t hash, enum kube_kind kind, struct bytes uid, uint32_t *slot,
                     uint32_t *id)
{
    const struct index_table *t = &s->by_uid;
    for (*slot = index_table_start(t, hash); index_table_next(t, hash, slot, id); index_table_skip(t, slot))
        if (kube_has_uid(s->objects[*id], kind, uid))
            return true;
    return false;
}

static bool find_name(const struct kube_store *s, uint64_t hash, const struct kube_object *o, uint32_t *slot,
                      uint32_t *id)
{
    const struct index_table *t = &s->by_name;
    for (*slot = index_table_start(t, hash); index_table_next(t, hash, slot, id); index_table_skip(t, slot))
        if (kube_has_name(s->objects[*id], o->kind, o->namespace_name, o->name))
            return true;
    return false;
}

static void add_uid(struct kube_store *s, uint32_t id)
{
    const struct kube_object *o = s->objects[id];
    uint64_t hash = kube_uid_hash(o->kind, o->uid);
    uint32_t slot, other;
    CHECK(!find_uid(s, hash, o->kind, o->uid, &slot, &other));
    index_table_insert(&s->by_uid, hash, slot, id);
}

static void end(struct kube_store *s, uint32_t id, int64_t now_nanos)
{
    struct kube_object *o = s->objects[id];
    if (kube_deleted_nanos(o) != 0)
        return;
    atomic_store_explicit(&o->deleted_nanos, now_nanos != 0 ? now_nanos : 1, memory_order_relaxed);
    if (now_nanos < s->first_deleted_nanos)
        s->first_deleted_nanos = now_nanos;
    s->changed = true;
}

// A name is one object's at a time: the one before is gone.
static void add_name(struct kube_store *s, uint32_t id, int64_t now_nanos)
{
    const struct kube_object *o = s->objects[id];
    uint64_t hash = kube_name_hash(o->kind, o->namespace_name, o->name);
    uint32_t slot, other;
    if (!find_name(s, hash, o, &slot, &other)) {
        index_table_insert(&s->by_name, hash, slot, id);
    } else if (other != id) {
        end(s, other, now_nanos);
        s->by_name.slots[slot].id_plus_one = id + 1;
    }
}

static void forget_slots(struct index_table *t)
{
    if (t->slots != NULL)
        memset(t->slots, 0, ((size_t)t->mask + 1) * sizeof *t->slots);
    t->used = 0;
}

// Those that are gone first, so that the one that is there has its name.
static void fill_names(struct kube_store *s)
{
    forget_slots(&s->by_name);
    for (int there = 0; there < 2; there++)
        for (uint32_t i = 0; i < s->count; i++)
            if ((kube_deleted_nanos(s->objects[i]) == 0) == there)
                add_name(s, i, 0);
}

static void fill_uids(struct kube_store *s)
{
    forget_slots(&s->by_uid);
    for (uint32_t i = 0; i < s->count; i++)
        add_uid(s, i);
}

// Slots of names that no object has any more go away before there are more of them than of others.
static void tidy_names(struct kube_store *s)
{
    if (s->by_name.used > 2 * s->count + 64)
        fill_names(s);
}

static bool reserve(struct kube_store *s)
{
    size_t need = s->count + 1;
    tidy_names(s);
    return mem_try_grow((void **)&s->objects, &s->capacity, need, sizeof *s->objects, MAX_OBJECTS) &&
           mem_try_grow((void **)&s->rounds, &s->rounds_capacity, need, sizeof *s->rounds, MAX_OBJECTS) &&
           index_table_reserve(&s->by_uid) && index_table_reserve(&s->by_name);
}

// --- changes ---

// The object's place: that of its uid, or a new one.
static uint32_t place(struct kube_store *s, struct kube_object *o)
{
    uint64_t hash = kube_uid_hash(o->kind, o->uid);
    uint32_t slot, id;
    if (find_uid(s, hash, o->kind, o->uid, &slot, &id)) {
        s->object_bytes -= s->objects[id]->bytes;
        kube_object_unref(&s->objects[id]);
    } else {
        id = (uint32_t)s->count++;
        index_table_insert(&s->by_uid, hash, slot, id);
    }
    s->objects[id] = o;
    s->object_bytes += o->bytes;
    return id;
}

bool kube_store_put(struct kube_store *s, struct kube_object *o, int64_t now_nanos)
{
    if (!reserve(s)) {
        kube_object_unref(&o);
        return false;
    }
    uint32_t id = place(s, o);
    s->rounds[id] = s->kind_rounds[o->kind];
    add_name(s, id, now_nanos);
    s->changed = true;
    return true;
}

void kube_store_delete(struct kube_store *s, enum kube_kind kind, struct bytes uid, int64_t now_nanos)
{
    uint32_t slot, id;
    if (find_uid(s, kube_uid_hash(kind, uid), kind, uid, &slot, &id))
        end(s, id, now_nanos);
}

void kube_store_begin_list(struct kube_store *s, enum kube_kind kind)
{
    s->kind_rounds[kind]++;
}

void kube_store_end_list(struct kube_store *s, enum kube_kind kind, int64_t now_nanos)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->objects[i]->kind == kind && s->rounds[i] != s->kind_rounds[kind])
            end(s, i, now_nanos);
}

static bool has_expired(const struct kube_store *s, int64_t deleted_nanos, int64_t now_nanos)
{
    return deleted_nanos != 0 && now_nanos - deleted_nanos >= s->keep_deleted_nanos;
}

static void forget_expired(struct kube_store *s, int64_t now_nanos)
{
    size_t kept = 0;
    s->first_deleted_nanos = INT64_MAX;
    for (size_t i = 0; i < s->count; i++) {
        struct kube_object *o = s->objects[i];
        int64_t deleted = kube_deleted_nanos(o);
        if (has_expired(s, deleted, now_nanos)) {
            s->object_bytes -= o->bytes;
            kube_object_unref(&o);
            continue;
        }
        if (deleted != 0 && deleted < s->first_deleted_nanos)
            s->first_deleted_nanos = deleted;
        s->objects[kept] = o;
        s->rounds[kept++] = s->rounds[i];
    }
    s->count = kept;
}

bool kube_store_expire(struct kube_store *s, int64_t now_nanos)
{
    if (s->first_deleted_nanos == INT64_MAX || !has_expired(s, s->first_deleted_nanos, now_nanos))
        return false;
    forget_expired(s, now_nanos);
    fill_uids(s);
    fill_names(s);
    s->changed = true;
    return true;
}

// --- what there is ---

static size_t table_bytes(const struct index_table *t)
{
    return t->slots == NULL ? 0 : ((size_t)t->mask + 1) * sizeof *t->slots;
}

size_t kube_store_bytes(const struct kube_store *s)
{
    return sizeof *s + s->object_bytes + s->capacity * sizeof *s->objects + s->rounds_capacity * sizeof *s->rounds +
           table_bytes(&s->by_uid) + table_bytes(&s->by_name);
}

bool kube_store_changed(const struct kube_store *s)
{
    return s->changed;
}

struct kube_snapshot *kube_store_snapshot(struct kube_store *s)
{
    struct kube_snapshot *snapshot = kube_snapshot_build(s->objects, (uint32_t)s->count);
    s->changed = snapshot == NULL;
    return snapshot;
}
