// SPDX-License-Identifier: Apache-2.0
#include "processors/k8s_metadata.h"

#include <arpa/inet.h>
#include <stdio.h>

static const char *const hash_label[] = {"pod-template-hash", NULL};
static const char *const name_labels[] = {"app.kubernetes.io/instance", "app.kubernetes.io/name", "pod-template-hash",
                                          NULL};
static const char *const version_labels[] = {"app.kubernetes.io/version", NULL};

static bool put_text(struct value *out, struct bytes text)
{
    *out = value_string(text);
    return text.len > 0;
}

// --- the pod ---

static bool read_namespace(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    (void)row;
    return put_text(out, v->pod->namespace_name);
}

static bool read_pod(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    return put_text(out, row->is_uid ? v->pod->uid : v->pod->name);
}

static bool read_start_time(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    (void)row;
    return put_text(out, v->pod->pod.start_time);
}

static bool read_hostname(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    (void)row;
    return put_text(out, v->pod->pod.hostname);
}

static bool is_ipv4(const uint8_t *address)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(address, mapped, sizeof mapped) == 0;
}

static bool put_copy(struct k8s_view *v, struct value *out, struct bytes text)
{
    struct bytes copy;
    if (!arena_try_copy(v->arena, text, &copy)) {
        v->failed = true;
        return false;
    }
    return put_text(out, copy);
}

struct bytes k8s_address_print(const struct ip_address *address, char out[K8S_ADDRESS_TEXT])
{
    const bool old = is_ipv4(address->bytes);
    CHECK(inet_ntop(old ? AF_INET : AF_INET6, address->bytes + (old ? 12 : 0), out, K8S_ADDRESS_TEXT) != NULL);
    return bytes_from_text(out);
}

static bool read_ip(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    char text[K8S_ADDRESS_TEXT];
    (void)row;
    return v->pod->pod.address_count > 0 && put_copy(v, out, k8s_address_print(&v->pod->pod.addresses[0], text));
}

static bool read_node(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    if (!row->is_uid)
        return put_text(out, v->pod->pod.node_name);
    const struct kube_object *node = k8s_object_of(v, KUBE_NODE);
    return node != NULL && put_text(out, node->uid);
}

static bool read_cluster(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    (void)row;
    const struct kube_object *system =
        kube_object_by_name(v->snapshot, KUBE_NAMESPACE, (struct bytes){NULL, 0}, BYTES_LITERAL("kube-system"));
    return system != NULL && put_text(out, system->uid);
}

// --- who made it ---

static const struct kube_owner nobody = {.kind = KUBE_NO_KIND};

static bool ends_with(struct bytes text, struct bytes end)
{
    return text.len > end.len && memcmp(text.data + text.len - end.len, end.data, end.len) == 0;
}

// A deployment names its replicasets after itself and the hash that their pods have as a label.
static struct kube_owner deployment_by_name(const struct k8s_view *v, struct bytes replicaset)
{
    struct kube_owner o = {.kind = KUBE_DEPLOYMENT, .name = replicaset};
    struct bytes hash;
    if (!kube_object_find(v->pod, KUBE_LABELS, hash_label[0], &hash) || hash.len == 0 || !ends_with(replicaset, hash))
        return nobody;
    o.name.len -= hash.len;
    if (o.name.len < 2 || o.name.data[o.name.len - 1] != '-')
        return nobody;
    o.name.len--;
    return o;
}

enum { MINUTE_DIGITS = 8, MINUTES_PER_DAY = 1440 };

// A cron job names its jobs after itself and the minute they were due.
static struct kube_owner cronjob_by_name(const struct k8s_view *v, struct bytes job)
{
    size_t digits = 0;
    int64_t minute = 0, scale = 1;
    while (digits < job.len && digits < MINUTE_DIGITS && job.data[job.len - 1 - digits] >= '0' &&
           job.data[job.len - 1 - digits] <= '9') {
        minute += (job.data[job.len - 1 - digits] - '0') * scale;
        scale *= 10;
        digits++;
    }
    if (digits < MINUTE_DIGITS || job.len < digits + 2 || job.data[job.len - digits - 1] != '-')
        return nobody;
    const int64_t started = v->pod->pod.start_nanos / (60 * INT64_C(1000000000));
    if (started != 0 && (minute > started + MINUTES_PER_DAY || minute < started - MINUTES_PER_DAY))
        return nobody;
    return (struct kube_owner){.kind = KUBE_CRONJOB, .name = {job.data, job.len - digits - 1}};
}

static struct kube_owner owner_of_owner(struct k8s_view *v, enum kube_kind kind)
{
    const struct kube_owner *first = &v->pod->owner;
    const enum kube_kind between = kind == KUBE_DEPLOYMENT ? KUBE_REPLICASET : KUBE_JOB;
    if (first->kind != between)
        return nobody;
    const struct kube_object *o = kube_object_by_uid(v->snapshot, between, first->uid);
    if (o == NULL)
        return kind == KUBE_DEPLOYMENT ? deployment_by_name(v, first->name) : cronjob_by_name(v, first->name);
    return o->owner.kind == kind ? o->owner : nobody;
}

static struct kube_owner owner_of(struct k8s_view *v, enum kube_kind kind)
{
    if (kind == KUBE_DEPLOYMENT || kind == KUBE_CRONJOB)
        return owner_of_owner(v, kind);
    return v->pod->owner.kind == kind ? v->pod->owner : nobody;
}

static bool read_owner(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    const struct kube_owner o = owner_of(v, row->kind);
    return o.kind == row->kind && put_text(out, row->is_uid ? o.uid : o.name);
}

const struct kube_object *k8s_object_of(struct k8s_view *v, enum kube_kind kind)
{
    const struct bytes none = {NULL, 0};
    if (kind == KUBE_POD)
        return v->pod;
    if (kind == KUBE_NAMESPACE)
        return kube_object_by_name(v->snapshot, kind, none, v->pod->namespace_name);
    if (kind == KUBE_NODE)
        return kube_object_by_name(v->snapshot, kind, none, v->pod->pod.node_name);
    const struct kube_owner o = owner_of(v, kind);
    if (o.kind != kind)
        return NULL;
    return o.uid.len > 0 ? kube_object_by_uid(v->snapshot, kind, o.uid)
                         : kube_object_by_name(v->snapshot, kind, v->pod->namespace_name, o.name);
}

// --- its containers ---

struct k8s_image k8s_image_parse(struct bytes text)
{
    struct k8s_image image = {.name = text};
    const uint8_t *at = text.len == 0 ? NULL : memchr(text.data, '@', text.len);
    if (at != NULL) {
        image.name.len = (size_t)(at - text.data);
        image.digest = (struct bytes){at + 1, text.len - image.name.len - 1};
    }
    // A colon before a slash is that of a registry's port.
    size_t tag = image.name.len;
    while (tag > 0 && image.name.data[tag - 1] != '/' && image.name.data[tag - 1] != ':')
        tag--;
    if (tag > 0 && image.name.data[tag - 1] == ':') {
        image.tag = (struct bytes){image.name.data + tag, image.name.len - tag};
        image.name.len = tag - 1;
    }
    return image;
}

// Without a tag the newest is meant, unless a digest says which.
static struct bytes tag_of(const struct kube_container *c)
{
    const struct k8s_image image = k8s_image_parse(c->image);
    if (image.tag.len > 0 || image.digest.len > 0 || image.name.len == 0)
        return image.tag;
    return BYTES_LITERAL("latest");
}

static bool read_container_name(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    (void)row;
    return put_text(out, v->container->name);
}

static bool read_container_id(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    (void)row;
    return put_text(out, v->container->id);
}

static bool read_restart_count(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    (void)row;
    *out = value_int(v->container->restart_count);
    return v->container->id.len > 0;
}

static bool read_image_name(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    (void)row;
    return put_text(out, k8s_image_parse(v->container->image).name);
}

static bool read_image_tag(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    (void)row;
    return put_text(out, tag_of(v->container));
}

static bool put_list(struct k8s_view *v, struct value *out, struct bytes only)
{
    struct value *item = only.len == 0 ? NULL : arena_try_alloc(v->arena, sizeof *item);
    v->failed |= only.len > 0 && item == NULL;
    if (item == NULL)
        return false;
    *item = value_string(only);
    *out = (struct value){.kind = VALUE_ARRAY, .count = 1, .items = item};
    return true;
}

static bool read_image_tags(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    (void)row;
    return put_list(v, out, tag_of(v->container));
}

// "docker-pullable://repository@sha256:...". An id without a repository is none of a registry.
static bool read_repo_digests(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    static const char scheme[] = "://";
    (void)row;
    struct bytes id = v->container->image_id;
    const uint8_t *at = id.len == 0 ? NULL : memmem(id.data, id.len, scheme, sizeof scheme - 1);
    if (at != NULL) {
        at += sizeof scheme - 1;
        id = (struct bytes){at, id.len - (size_t)(at - id.data)};
    }
    const struct k8s_image image = k8s_image_parse(id);
    return image.name.len > 0 && image.digest.len > 0 && put_list(v, out, id);
}

// --- the service ---

static bool from_annotation(const struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    char key[96];
    struct bytes text;
    snprintf(key, sizeof key, K8S_ANNOTATION_PREFIX "%s", row->name);
    return kube_object_find(v->pod, KUBE_ANNOTATIONS, key, &text) && put_text(out, text);
}

static bool from_label(const struct k8s_view *v, const char *key, struct value *out)
{
    struct bytes text;
    return kube_object_find(v->pod, KUBE_LABELS, key, &text) && put_text(out, text);
}

static bool read_service_namespace(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    return from_annotation(v, row, out) || put_text(out, v->pod->namespace_name);
}

static bool read_service_name(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    static const enum kube_kind order[] = {KUBE_DEPLOYMENT, KUBE_REPLICASET, KUBE_STATEFULSET,
                                           KUBE_DAEMONSET,  KUBE_CRONJOB,    KUBE_JOB};
    if (from_annotation(v, row, out) || from_label(v, name_labels[0], out) || from_label(v, name_labels[1], out))
        return true;
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        const struct kube_owner o = owner_of(v, order[i]);
        if (o.kind == order[i] && put_text(out, o.name))
            return true;
    }
    return put_text(out, v->pod->name);
}

// tag@digest, or what there is of it.
static bool read_service_version(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    if (from_annotation(v, row, out) || from_label(v, version_labels[0], out))
        return true;
    if (v->container == NULL)
        return false;
    const struct k8s_image image = k8s_image_parse(v->container->image);
    if (image.tag.len > 0 && image.digest.len > 0) // they stand behind each other
        return put_text(out, (struct bytes){image.tag.data, image.tag.len + 1 + image.digest.len});
    return put_text(out, image.tag.len > 0 ? image.tag : image.digest);
}

static bool read_service_instance(struct k8s_view *v, const struct k8s_metadata *row, struct value *out)
{
    if (from_annotation(v, row, out))
        return true;
    if (v->container == NULL)
        return false;
    const struct bytes parts[] = {v->pod->namespace_name, v->pod->name, v->container->name};
    const size_t len = parts[0].len + parts[1].len + parts[2].len + 2;
    uint8_t *text = arena_try_alloc(v->arena, len), *end = text;
    v->failed |= text == NULL;
    if (text == NULL)
        return false;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (i > 0)
            *end++ = '.';
        if (parts[i].len > 0)
            memcpy(end, parts[i].data, parts[i].len);
        end += parts[i].len;
    }
    return put_text(out, (struct bytes){text, len});
}

// --- all of it ---

const struct k8s_metadata k8s_metadata[] = {
    {.name = "k8s.namespace.name", .read = read_namespace, .kind = KUBE_POD},
    {.name = "k8s.pod.name", .read = read_pod, .kind = KUBE_POD},
    {.name = "k8s.pod.uid", .read = read_pod, .kind = KUBE_POD, .is_uid = true},
    {.name = "k8s.pod.start_time", .read = read_start_time, .kind = KUBE_POD},
    {.name = "k8s.pod.ip", .read = read_ip, .kind = KUBE_POD},
    {.name = "k8s.pod.hostname", .read = read_hostname, .kind = KUBE_POD},
    {.name = "k8s.deployment.name", .read = read_owner, .kind = KUBE_DEPLOYMENT, .labels = hash_label},
    {.name = "k8s.deployment.uid", .read = read_owner, .kind = KUBE_DEPLOYMENT, .is_uid = true},
    {.name = "k8s.replicaset.name", .read = read_owner, .kind = KUBE_REPLICASET},
    {.name = "k8s.replicaset.uid", .read = read_owner, .kind = KUBE_REPLICASET, .is_uid = true},
    {.name = "k8s.statefulset.name", .read = read_owner, .kind = KUBE_STATEFULSET},
    {.name = "k8s.statefulset.uid", .read = read_owner, .kind = KUBE_STATEFULSET, .is_uid = true},
    {.name = "k8s.daemonset.name", .read = read_owner, .kind = KUBE_DAEMONSET},
    {.name = "k8s.daemonset.uid", .read = read_owner, .kind = KUBE_DAEMONSET, .is_uid = true},
    {.name = "k8s.job.name", .read = read_owner, .kind = KUBE_JOB},
    {.name = "k8s.job.uid", .read = read_owner, .kind = KUBE_JOB, .is_uid = true},
    {.name = "k8s.cronjob.name", .read = read_owner, .kind = KUBE_CRONJOB},
    {.name = "k8s.cronjob.uid", .read = read_owner, .kind = KUBE_CRONJOB, .is_uid = true},
    {.name = "k8s.node.name", .read = read_node, .kind = KUBE_NODE},
    {.name = "k8s.node.uid", .read = read_node, .kind = KUBE_NODE, .is_uid = true},
    {.name = "k8s.cluster.uid", .read = read_cluster, .kind = KUBE_NAMESPACE, .is_uid = true},
    {.name = "k8s.container.name", .read = read_container_name, .kind = KUBE_POD, .of_container = true},
    {.name = "k8s.container.restart_count", .read = read_restart_count, .kind = KUBE_POD, .of_container = true},
    {.name = "container.id", .read = read_container_id, .kind = KUBE_POD, .of_container = true},
    {.name = "container.image.name", .read = read_image_name, .kind = KUBE_POD, .of_container = true},
    {.name = "container.image.tag", .read = read_image_tag, .kind = KUBE_POD, .of_container = true},
    {.name = "container.image.tags", .read = read_image_tags, .kind = KUBE_POD, .of_container = true},
    {.name = "container.image.repo_digests", .read = read_repo_digests, .kind = KUBE_POD, .of_container = true},
    {.name = "service.namespace", .read = read_service_namespace, .kind = KUBE_POD, .has_annotation = true},
    {.name = "service.name",
     .read = read_service_name,
     .kind = KUBE_DEPLOYMENT,
     .labels = name_labels,
     .has_annotation = true},
    {.name = "service.version",
     .read = read_service_version,
     .likes_container = true,
     .kind = KUBE_POD,
     .labels = version_labels,
     .has_annotation = true},
    {.name = "service.instance.id",
     .read = read_service_instance,
     .likes_container = true,
     .kind = KUBE_POD,
     .has_annotation = true},
    {.name = NULL},
};

const struct k8s_metadata *k8s_metadata_find(const char *name)
{
    for (const struct k8s_metadata *row = k8s_metadata; row->name != NULL; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}
