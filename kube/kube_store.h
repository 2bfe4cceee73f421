// SPDX-License-Identifier: Apache-2.0
// The objects of a watch as they change; one thread writes, snapshots of it are read by all.
#ifndef KUBE_KUBE_STORE_H
#define KUBE_KUBE_STORE_H

#include "kube/kube_snapshot.h"

struct kube_store;

struct kube_store_options {
    int64_t keep_deleted_nanos; // so long what is gone is still found: profiles of it are on their way
};

struct kube_store *kube_store_create(const struct kube_store_options *options);
void kube_store_destroy(struct kube_store **s);

// Takes over one reference; replaces what has its uid. An object that replaces another of its name ends that one.
// False: memory is out, the object was dropped.
bool kube_store_put(struct kube_store *s, struct kube_object *o, int64_t now_nanos);
void kube_store_delete(struct kube_store *s, enum kube_kind kind, struct bytes uid, int64_t now_nanos);
// A new list of a kind: between begin and end every object is put; what was not is gone then (deleted at now_nanos).
void kube_store_begin_list(struct kube_store *s, enum kube_kind kind);
void kube_store_end_list(struct kube_store *s, enum kube_kind kind, int64_t now_nanos);
// Forgets what has been gone for long enough. True: there was something.
bool kube_store_expire(struct kube_store *s, int64_t now_nanos);

size_t kube_store_bytes(const struct kube_store *s); // of all objects and tables
// Has something changed since the last snapshot?
bool kube_store_changed(const struct kube_store *s);
// One reference of a snapshot of what is there now. Linear in the objects. NULL: memory is out (and it counts as changed).
struct kube_snapshot *kube_store_snapshot(struct kube_store *s);

#endif
