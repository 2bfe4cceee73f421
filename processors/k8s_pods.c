// SPDX-License-Identifier: Apache-2.0
#include "processors/k8s_pods.h"

#include "base/mem.h"
#include "processors/attribute_actions.h"
#include "processors/k8s_work.h"
#include "profile/edit.h"
#include "profile/origin.h"
#include "profile/value_copy.h"

#include <ctype.h>

static void count(struct metric *m)
{
    if (m != NULL)
        metric_add(m, 1);
}

// --- which pod ---

static int64_t end_of(const struct resource *r)
{
    for (uint32_t i = 0; i < r->scope_count; i++)
        if (r->scopes[i]->profile_count > 0) {
            const struct profile *p = &r->scopes[i]->profiles[0];
            const uint64_t end = p->time_nanos + p->duration_nanos;
            return end < p->time_nanos || end > INT64_MAX ? 0 : (int64_t)end;
        }
    return 0;
}

struct k8s_subject k8s_subject_of(const struct k8s_work *w, uint32_t resource)
{
    const struct resource *r = w->batch->resources[resource];
    return (struct k8s_subject){.snapshot = w->snapshot, .resource = r, .from = w->from, .at_nanos = end_of(r)};
}

// From this machine (a pod's containers share its loopback), or by no connection at all.
static bool is_local(const struct sender *from)
{
    static const uint8_t unknown[16], loopback[16] = {[15] = 1}, loopback_ipv4[13] = {[10] = 0xff, 0xff, 127};
    return memcmp(from->address.bytes, unknown, sizeof unknown) == 0 ||
           memcmp(from->address.bytes, loopback, sizeof loopback) == 0 ||
           memcmp(from->address.bytes, loopback_ipv4, sizeof loopback_ipv4) == 0;
}

void k8s_find(const struct k8s_work *w, uint32_t first, struct k8s_subject *subject, struct k8s_found *found)
{
    const struct k8s_rules *rules = w->rules;
    if (k8s_associate(&rules->associations, first, rules->associations.count, subject, found) ||
        rules->own_name.len == 0 || subject->names_pod || !is_local(subject->from))
        return;
    *found = (struct k8s_found){.pod = kube_pod_by_name(w->snapshot, rules->own_namespace, rules->own_name)};
}

// "true" in any case, blanks around it.
static bool is_true(struct bytes text)
{
    static const char word[] = "true";
    while (text.len > 0 && isspace(text.data[text.len - 1]))
        text.len--;
    for (; text.len > 0 && isspace(text.data[0]); text.len--)
        text.data++;
    for (size_t i = 0; i < text.len; i++)
        if (i >= sizeof word - 1 || tolower(text.data[i]) != word[i])
            return false;
    return text.len == sizeof word - 1;
}

static bool is_excluded(const struct k8s_rules *rules, const struct kube_object *pod)
{
    struct bytes text;
    if (kube_object_find(pod, KUBE_ANNOTATIONS, K8S_IGNORE_ANNOTATION, &text) && is_true(text))
        return true;
    for (size_t i = 0; i < rules->excluded_count; i++)
        if (regex_search(rules->excluded[i], pod->name, NULL, 0))
            return true;
    return false;
}

// --- which of its containers ---

// Of samples, of their profile, or of the resource.
static bool read_text(const struct k8s_rules *rules, const struct k8s_subject *s, uint32_t slot, struct bytes *out)
{
    const struct resource *r = s->resource;
    if ((s->sample != NULL && k8s_text_of(s->sample[slot], out)) ||
        (s->profile != NULL && k8s_text_of(s->profile[slot], out)))
        return true;
    const struct key_value *own = key_values_find(r->attributes, r->attribute_count, rules->associations.names[slot]);
    return own != NULL && k8s_text_of(&own->value, out);
}

static const struct kube_container *container_named(const struct kube_object *pod, struct bytes name)
{
    for (uint32_t i = 0; i < pod->pod.container_count; i++)
        if (bytes_equal(pod->pod.containers[i].name, name))
            return &pod->pod.containers[i];
    return NULL;
}

static const struct kube_container *only_container(const struct kube_object *pod)
{
    const struct kube_container *only = NULL;
    for (uint32_t i = 0; i < pod->pod.container_count; i++) {
        const struct kube_container *c = &pod->pod.containers[i];
        if (c->is_init || c->is_ephemeral)
            continue;
        if (only != NULL)
            return NULL;
        only = c;
    }
    return only;
}

static const struct kube_container *find_container(const struct k8s_rules *rules, const struct k8s_subject *s,
                                                   const struct kube_object *pod)
{
    const struct kube_container *c;
    struct bytes text;
    if (read_text(rules, s, rules->associations.container_name, &text))
        return container_named(pod, text);
    if (read_text(rules, s, rules->associations.container_id, &text) &&
        kube_pod_by_container(s->snapshot, text, &c) == pod)
        return c;
    return only_container(pod);
}

// --- what comes of it ---

static void count_lost(const struct k8s_rules *rules, const struct k8s_found *found)
{
    count(found->by == NULL ? rules->nameless : found->by->lost);
    if (found->by != NULL && rules->on_lost != NULL)
        rules->on_lost(rules->arg, found);
}

struct k8s_pick k8s_settle(const struct k8s_work *w, const struct k8s_subject *subject, const struct k8s_found *found)
{
    const struct k8s_rules *rules = w->rules;
    if (found->pod == NULL) {
        count_lost(rules, found);
        return (struct k8s_pick){NULL, NULL};
    }
    if (is_excluded(rules, found->pod)) {
        count(rules->ignored);
        return (struct k8s_pick){NULL, NULL};
    }
    struct k8s_pick pick = {found->pod, NULL};
    count(found->by != NULL ? found->by->found : rules->own);
    if (!rules->extract.of_container)
        return pick;
    pick.container = found->container != NULL ? found->container : find_container(rules, subject, pick.pod);
    if (pick.container == NULL)
        count(rules->missed_containers);
    return pick;
}

enum err_code k8s_make_list(struct k8s_work *w, uint32_t resource, struct k8s_pick pick, struct err *e)
{
    const struct resource *r = w->batch->resources[resource];
    if (!k8s_list_begin(&w->list, r->attributes, r->attribute_count))
        return attribute_no_memory(e);
    if (pick.pod == NULL)
        return ERR_OK;
    return k8s_extract_run(&w->rules->extract, w->snapshot, pick.pod, pick.container, &w->list, e);
}

static enum err_code charge(struct k8s_work *w, uint32_t resource, struct err *e)
{
    const size_t bytes = key_values_bytes(w->list.items, w->list.count);
    if (bytes > K8S_MAX_BYTES - w->bytes)
        return err_set(e, ERR_LIMIT,
                       "with what their pods add, the first %u of %u resources take more than %zu MiB: send fewer in a "
                       "request, or extract less",
                       resource + 1, w->batch->resource_count, K8S_MAX_BYTES >> 20);
    w->bytes += bytes;
    return ERR_OK;
}

static enum err_code change_resource(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part,
                                     struct err *e)
{
    struct k8s_work *w = arg;
    struct k8s_subject subject = k8s_subject_of(w, resource);
    struct k8s_found found = {0};
    (void)scope;
    k8s_find(w, 0, &subject, &found);
    enum err_code rc = k8s_make_list(w, resource, k8s_settle(w, &subject, &found), e);
    if (rc == ERR_OK && w->list.changed)
        rc = charge(w, resource, e);
    if (rc == ERR_OK && w->list.changed) {
        part->list = w->list.items;
        part->count = w->list.count;
    }
    return rc;
}

bool k8s_wants_samples(const struct k8s_rules *rules, const struct kube_snapshot *snapshot, const struct sender *from,
                       const struct batch *b)
{
    const struct k8s_associations *a = &rules->associations;
    const struct k8s_work w = {.snapshot = snapshot, .from = from, .batch = b};
    bool wants = false;
    for (uint32_t i = 0; i < b->resource_count && !wants; i++) {
        struct k8s_subject subject = k8s_subject_of(&w, i);
        struct k8s_found found = {0};
        const bool is_found = k8s_associate(a, 0, a->first_of_samples, &subject, &found);
        wants = subject.needs_time || (!is_found && a->first_of_samples < a->count);
    }
    return wants;
}

enum err_code k8s_describe(const struct k8s_rules *rules, const struct kube_snapshot *snapshot,
                           const struct sender *from, struct batch **batch, struct err *e)
{
    struct k8s_work w = {.rules = rules, .snapshot = snapshot, .from = from, .batch = *batch};
    const struct part_attributes_change change = {.change = change_resource, .arg = &w};
    enum err_code rc;
    k8s_list_init(&w.list);
    if (batch_is_unread(*batch) || !k8s_split(&w, batch, &rc, e))
        rc = batch_change_part_attributes(batch, &change, e);
    k8s_list_fini(&w.list);
    return rc;
}

// --- passing through ---

static bool is_known(const struct sender *from)
{
    static const struct sender nobody;
    return memcmp(from, &nobody, sizeof nobody) != 0;
}

struct passing {
    struct k8s_list list;
    struct bytes address;
};

static enum err_code pass_resource(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part,
                                   struct err *e)
{
    struct passing *p = arg;
    (void)resource, (void)scope;
    if (!k8s_list_begin(&p->list, part->list, part->count) ||
        !k8s_list_put(&p->list, BYTES_LITERAL("k8s.pod.ip"), value_string(p->address)))
        return attribute_no_memory(e);
    if (p->list.changed) {
        part->list = p->list.items;
        part->count = p->list.count;
    }
    return ERR_OK;
}

enum err_code k8s_pass_through(const struct sender *from, struct batch **batch, struct err *e)
{
    char text[K8S_ADDRESS_TEXT];
    struct passing p = {.address = k8s_address_print((const struct ip_address *)(const void *)from, text)};
    const struct part_attributes_change change = {.change = pass_resource, .arg = &p};
    if (!is_known(from))
        return ERR_OK;
    k8s_list_init(&p.list);
    enum err_code rc = batch_change_part_attributes(batch, &change, e);
    k8s_list_fini(&p.list);
    return rc;
}
