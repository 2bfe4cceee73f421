// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_model.h"

#include "base/mem.h"

#include <assert.h>
#include <stdalign.h>

const char *kube_kind_name(enum kube_kind kind)
{
    static const char *const names[] = {
        [KUBE_POD] = "Pod",
        [KUBE_NAMESPACE] = "Namespace",
        [KUBE_NODE] = "Node",
        [KUBE_REPLICASET] = "ReplicaSet",
        [KUBE_DEPLOYMENT] = "Deployment",
        [KUBE_STATEFULSET] = "StatefulSet",
        [KUBE_DAEMONSET] = "DaemonSet",
        [KUBE_JOB] = "Job",
        [KUBE_CRONJOB] = "CronJob",
        [KUBE_NO_KIND] = "none",
    };
    return names[kind];
}

// --- one block ---

static const size_t object_texts[] = {
    offsetof(struct kube_object, namespace_name),
    offsetof(struct kube_object, name),
    offsetof(struct kube_object, uid),
    offsetof(struct kube_object, resource_version),
    offsetof(struct kube_object, owner.name),
    offsetof(struct kube_object, owner.uid),
    offsetof(struct kube_object, pod.node_name),
    offsetof(struct kube_object, pod.hostname),
    offsetof(struct kube_object, pod.start_time),
};
static const size_t container_texts[] = {
    offsetof(struct kube_container, name),     offsetof(struct kube_container, id),
    offsetof(struct kube_container, last_id),  offsetof(struct kube_container, image),
    offsetof(struct kube_container, image_id),
};
static const size_t pair_texts[] = {offsetof(struct kube_pair, key), offsetof(struct kube_pair, value)};

// A part of the block: items of one type whose texts stand at these offsets.
struct part {
    const void *items;
    size_t count, item_size;
    const size_t *texts;
    size_t text_count;
};

enum { PART_OBJECT, PART_LABELS, PART_ANNOTATIONS, PART_CONTAINERS, PART_ADDRESSES, PARTS };

static_assert(alignof(struct kube_object) == alignof(struct kube_pair) &&
                  alignof(struct kube_object) == alignof(struct kube_container) && alignof(struct ip_address) == 1,
              "parts follow each other without gaps");

static void list_parts(const struct kube_object *o, struct part parts[PARTS])
{
    parts[PART_OBJECT] = (struct part){o, 1, sizeof *o, object_texts, COUNT_OF(object_texts)};
    for (int map = 0; map < KUBE_MAPS; map++)
        parts[PART_LABELS + map] =
            (struct part){o->maps[map], o->map_counts[map], sizeof(struct kube_pair), pair_texts, COUNT_OF(pair_texts)};
    parts[PART_CONTAINERS] = (struct part){o->pod.containers, o->pod.container_count, sizeof(struct kube_container),
                                           container_texts, COUNT_OF(container_texts)};
    parts[PART_ADDRESSES] = (struct part){o->pod.addresses, o->pod.address_count, sizeof(struct ip_address), NULL, 0};
}

static const struct bytes *text_at(const struct part *p, size_t item, size_t text)
{
    return (const struct bytes *)(const void *)((const uint8_t *)p->items + item * p->item_size + p->texts[text]);
}

static size_t part_bytes(const struct part *p)
{
    size_t sum = p->count * p->item_size;
    for (size_t i = 0; i < p->count; i++)
        for (size_t t = 0; t < p->text_count; t++)
            sum += text_at(p, i, t)->len;
    return sum;
}

// The texts of a copied part move into the block, too.
static uint8_t *take_texts(const struct part *p, uint8_t *to)
{
    for (size_t i = 0; i < p->count; i++)
        for (size_t t = 0; t < p->text_count; t++) {
            struct bytes *text = (struct bytes *)(void *)(uintptr_t)text_at(p, i, t);
            if (text->len > 0)
                memcpy(to, text->data, text->len);
            text->data = to;
            to += text->len;
        }
    return to;
}

static uint8_t *copy_part(struct part *p, uint8_t *to)
{
    size_t size = p->count * p->item_size;
    if (size > 0)
        memcpy(to, p->items, size);
    p->items = to;
    return to + size;
}

struct kube_object *kube_object_create(const struct kube_object *draft)
{
    struct part parts[PARTS];
    size_t size = 0;
    list_parts(draft, parts);
    for (int i = 0; i < PARTS; i++)
        size += part_bytes(&parts[i]);
    struct kube_object *o = mem_try_alloc(size);
    if (o == NULL)
        return NULL;
    uint8_t *to = (uint8_t *)o;
    for (int i = 0; i < PARTS; i++)
        to = copy_part(&parts[i], to);
    for (int i = 0; i < PARTS; i++)
        to = take_texts(&parts[i], to);
    CHECK(to == (uint8_t *)o + size);
    atomic_init(&o->refs, 1);
    o->bytes = size;
    for (int map = 0; map < KUBE_MAPS; map++)
        o->maps[map] = parts[PART_LABELS + map].items;
    o->pod.containers = parts[PART_CONTAINERS].items;
    o->pod.addresses = parts[PART_ADDRESSES].items;
    return o;
}

struct kube_object *kube_object_ref(struct kube_object *o)
{
    atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
    return o;
}

void kube_object_unref(struct kube_object **o)
{
    if (*o != NULL && atomic_fetch_sub_explicit(&(*o)->refs, 1, memory_order_acq_rel) == 1)
        free(*o);
    *o = NULL;
}

// Of equal keys the last one holds, as in the API's own reader.
bool kube_object_find(const struct kube_object *o, enum kube_map map, const char *key, struct bytes *out)
{
    for (uint32_t i = o->map_counts[map]; i-- > 0;)
        if (bytes_equal_text(o->maps[map][i].key, key)) {
            *out = o->maps[map][i].value;
            return true;
        }
    return false;
}

// --- texts of the API ---

struct bytes kube_without_scheme(struct bytes id)
{
    const uint8_t *colon = id.len == 0 ? NULL : memchr(id.data, ':', id.len);
    if (colon == NULL || id.data + id.len - colon < 3 || memcmp(colon, "://", 3) != 0)
        return id;
    size_t scheme = (size_t)(colon - id.data) + 3;
    return (struct bytes){id.data + scheme, id.len - scheme};
}
