// SPDX-License-Identifier: Apache-2.0
// What objects are found by in the tables of kube_store.c and kube_snapshot.c. Internal to them.
#ifndef KUBE_KUBE_KEY_H
#define KUBE_KUBE_KEY_H

#include "base/hash.h"
#include "kube/kube_model.h"

static inline uint64_t kube_uid_hash(enum kube_kind kind, struct bytes uid)
{
    return hash_mix(hash_bytes(uid.data, uid.len), (uint64_t)kind);
}

static inline bool kube_has_uid(const struct kube_object *o, enum kube_kind kind, struct bytes uid)
{
    return o->kind == kind && bytes_equal(o->uid, uid);
}

static inline uint64_t kube_name_hash(enum kube_kind kind, struct bytes namespace_name, struct bytes name)
{
    uint64_t h = hash_mix(hash_bytes(namespace_name.data, namespace_name.len), (uint64_t)kind);
    return hash_mix(h, hash_bytes(name.data, name.len));
}

static inline bool kube_has_name(const struct kube_object *o, enum kube_kind kind, struct bytes namespace_name,
                                 struct bytes name)
{
    return o->kind == kind && bytes_equal(o->name, name) && bytes_equal(o->namespace_name, namespace_name);
}

static inline int64_t kube_deleted_nanos(const struct kube_object *o)
{
    return atomic_load_explicit(&o->deleted_nanos, memory_order_relaxed);
}

#endif
