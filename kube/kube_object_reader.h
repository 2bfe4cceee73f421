// SPDX-License-Identifier: Apache-2.0
// One object's JSON to a sealed object. Keeps its lists from one object to the next. Internal to the decoder.
#ifndef KUBE_KUBE_OBJECT_READER_H
#define KUBE_KUBE_OBJECT_READER_H

#include "kube/kube_decode.h"
#include "kube/kube_read.h"

struct kube_item_list {
    void *items;
    size_t count, capacity;
};

struct kube_object_reader {
    struct kube_reader reader;
    enum kube_kind kind;
    struct kube_keep keep;
    struct kube_object draft;
    struct bytes kind_name, phase;
    struct kube_item_list maps[KUBE_MAPS], addresses;
    struct kube_item_list containers, statuses; // as the pod asked for them; as they run
};

void kube_object_reader_init(struct kube_object_reader *o, enum kube_kind kind, const struct kube_keep *keep);
void kube_object_reader_fini(struct kube_object_reader *o);
// ERR_OK with NULL: it has no name or no uid.
enum err_code kube_object_reader_run(struct kube_object_reader *o, struct bytes json, struct kube_object **out,
                                     struct err *e) MUST_USE;

// A place for one more in a list; NULL: the list has max_count, or memory is out (and the reading fails).
void *kube_list_add(struct kube_object_reader *o, struct kube_item_list *list, size_t item_size, size_t max_count);

// --- kube_pod_reader.c ---
enum kube_pod_part { KUBE_POD_SPEC, KUBE_POD_STATUS };
// Reads nothing of other objects than pods. target_at: the kube_object_reader.
void kube_read_pod_part(struct kube_reader *r, const struct kube_member *m, void *target_at);
// When all is read: puts together what both say.
void kube_pod_finish(struct kube_object_reader *o);

// 2026-11-30T10:05:51Z, with a fraction or another zone, too; 0 = it is no such time.
int64_t kube_time_parse(struct bytes text);

#endif
