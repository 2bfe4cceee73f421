// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_object_reader.h"

#include "base/mem.h"

enum { MAX_PAIRS = 1 << 16 };

// --- lists ---

void *kube_list_add(struct kube_object_reader *o, struct kube_item_list *list, size_t item_size, size_t max_count)
{
    if (list->count >= max_count)
        return NULL;
    if (!mem_try_grow(&list->items, &list->capacity, list->count + 1, item_size, max_count)) {
        json_fail(&o->reader.json, ERR_MEMORY, "out of memory");
        return NULL;
    }
    return (uint8_t *)list->items + item_size * list->count++;
}

// --- metadata ---

static void read_map(struct kube_reader *r, const struct kube_member *m, void *target_at)
{
    struct kube_object_reader *o = target_at;
    struct kube_pair pair;
    if (o->keep.keeps == NULL || json_peek(&r->json) != JSON_OBJECT)
        return;
    json_enter_object(&r->json);
    while (json_next_member(&r->json, &pair.key)) {
        if (!o->keep.keeps(o->keep.arg, o->kind, (enum kube_map)m->arg, pair.key) || !kube_read_text(r, &pair.value))
            continue;
        struct kube_pair *place = kube_list_add(o, &o->maps[m->arg], sizeof pair, MAX_PAIRS);
        if (place != NULL)
            *place = pair;
    }
}

struct owner {
    struct bytes api_version, kind, name, uid;
    bool is_controller;
};

static const struct kube_member owner_members[] = {
    {.name = "apiVersion", .at = offsetof(struct owner, api_version)},
    {.name = "kind", .at = offsetof(struct owner, kind)},
    {.name = "name", .at = offsetof(struct owner, name)},
    {.name = "uid", .at = offsetof(struct owner, uid)},
    {.name = "controller", .at = offsetof(struct owner, is_controller), .read = kube_read_bool},
};

// The group matters: others have kinds of the same names (a Job of batch.volcano.sh).
static enum kube_kind owner_kind(const struct owner *owner)
{
    static const char *const groups[KUBE_KINDS] = {
        [KUBE_POD] = "",
        [KUBE_NAMESPACE] = "",
        [KUBE_NODE] = "",
        [KUBE_REPLICASET] = "apps",
        [KUBE_DEPLOYMENT] = "apps",
        [KUBE_STATEFULSET] = "apps",
        [KUBE_DAEMONSET] = "apps",
        [KUBE_JOB] = "batch",
        [KUBE_CRONJOB] = "batch",
    };
    const uint8_t *slash =
        owner->api_version.len == 0 ? NULL : memchr(owner->api_version.data, '/', owner->api_version.len);
    struct bytes group = {owner->api_version.data, slash == NULL ? 0 : (size_t)(slash - owner->api_version.data)};
    for (int kind = 0; kind < KUBE_KINDS; kind++)
        if (bytes_equal_text(owner->kind, kube_kind_name((enum kube_kind)kind)) &&
            bytes_equal_text(group, groups[kind]))
            return (enum kube_kind)kind;
    return KUBE_NO_KIND;
}

static void read_owners(struct kube_reader *r, const struct kube_member *m, void *target_at)
{
    (void)m;
    struct kube_owner *out = target_at;
    size_t count = 0;
    struct owner chosen = {.is_controller = false};
    *out = (struct kube_owner){.kind = KUBE_NO_KIND};
    if (!kube_enter_array(r))
        return;
    while (json_next_element(&r->json)) {
        struct owner owner = {.is_controller = false};
        KUBE_READ(r, owner_members, &owner);
        if (count++ == 0 || (owner.is_controller && !chosen.is_controller))
            chosen = owner;
    }
    if (chosen.is_controller || count == 1)
        *out = (struct kube_owner){owner_kind(&chosen), chosen.name, chosen.uid};
}

#define DRAFT(field) offsetof(struct kube_object_reader, draft.field)

static const struct kube_member metadata_members[] = {
    {.name = "name", .at = DRAFT(name)},
    {.name = "namespace", .at = DRAFT(namespace_name)},
    {.name = "uid", .at = DRAFT(uid)},
    {.name = "resourceVersion", .at = DRAFT(resource_version)},
    {.name = "labels", .read = read_map, .arg = KUBE_LABELS},
    {.name = "annotations", .read = read_map, .arg = KUBE_ANNOTATIONS},
    {.name = "ownerReferences", .at = DRAFT(owner), .read = read_owners},
};

// --- an object ---

static const struct kube_member object_members[] = {
    {.name = "kind", .at = offsetof(struct kube_object_reader, kind_name)},
    {.name = "metadata", KUBE_INNER(metadata_members)},
    {.name = "spec", .read = kube_read_pod_part, .arg = KUBE_POD_SPEC},
    {.name = "status", .read = kube_read_pod_part, .arg = KUBE_POD_STATUS},
};

void kube_object_reader_init(struct kube_object_reader *o, enum kube_kind kind, const struct kube_keep *keep)
{
    *o = (struct kube_object_reader){.kind = kind};
    if (keep != NULL)
        o->keep = *keep;
}

void kube_object_reader_fini(struct kube_object_reader *o)
{
    for (int map = 0; map < KUBE_MAPS; map++)
        free(o->maps[map].items);
    free(o->addresses.items);
    free(o->containers.items);
    free(o->statuses.items);
}

static void forget(struct kube_object_reader *o)
{
    o->draft = (struct kube_object){.kind = o->kind, .owner = {.kind = KUBE_NO_KIND}};
    o->kind_name = o->phase = (struct bytes){NULL, 0};
    o->maps[KUBE_LABELS].count = o->maps[KUBE_ANNOTATIONS].count = 0;
    o->addresses.count = o->containers.count = o->statuses.count = 0;
}

static void finish(struct kube_object_reader *o)
{
    for (int map = 0; map < KUBE_MAPS; map++) {
        o->draft.maps[map] = o->maps[map].items;
        o->draft.map_counts[map] = (uint32_t)o->maps[map].count;
    }
    if (o->kind == KUBE_POD)
        kube_pod_finish(o);
}

// Items of a list do not say their kind; where only metadata was asked for it is this one.
static bool kind_fits(const struct kube_object_reader *o)
{
    return o->kind_name.len == 0 || bytes_equal_text(o->kind_name, kube_kind_name(o->kind)) ||
           bytes_equal_text(o->kind_name, "PartialObjectMetadata");
}

static enum err_code seal(struct kube_object_reader *o, struct kube_object **out, struct err *e)
{
    if (!kind_fits(o))
        return err_set(e, ERR_INVALID, "the object's kind is not %s, which was asked for", kube_kind_name(o->kind));
    if (o->draft.name.len == 0 || o->draft.uid.len == 0)
        return ERR_OK;
    finish(o);
    enum err_code code = json_result(&o->reader.json, e); // the lists may have found no memory
    if (code != ERR_OK)
        return code;
    *out = kube_object_create(&o->draft);
    return *out != NULL ? ERR_OK : err_set(e, ERR_MEMORY, "out of memory for a %s", kube_kind_name(o->kind));
}

enum err_code kube_object_reader_run(struct kube_object_reader *o, struct bytes json, struct kube_object **out,
                                     struct err *e)
{
    *out = NULL;
    forget(o);
    kube_reader_init(&o->reader, json);
    enum err_code code = kube_reader_run(&o->reader, object_members, COUNT_OF(object_members), o, e);
    if (code == ERR_OK)
        code = seal(o, out, e);
    kube_reader_fini(&o->reader);
    return code;
}

struct kube_object *kube_object_decode(struct bytes json, enum kube_kind kind, const struct kube_keep *keep,
                                       struct err *e)
{
    struct kube_object_reader reader;
    struct kube_object *object;
    kube_object_reader_init(&reader, kind, keep);
    if (kube_object_reader_run(&reader, json, &object, e) == ERR_OK && object == NULL)
        err_set(e, ERR_INVALID, "the %s has no name or no uid", kube_kind_name(kind));
    kube_object_reader_fini(&reader);
    return object;
}
