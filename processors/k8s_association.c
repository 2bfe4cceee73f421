// SPDX-License-Identifier: Apache-2.0
#include "processors/k8s_association.h"

#include <stdio.h>

static const char *const from_names[] = {[K8S_CONNECTION] = "connection",
                                         [K8S_RESOURCE] = "resource_attribute",
                                         [K8S_PROFILE] = "profile_attribute",
                                         [K8S_SAMPLE] = "sample_attribute",
                                         NULL};

static const struct {
    const char *name;
    enum k8s_key key;
} keys[] = {
    {"k8s.pod.ip", K8S_ADDRESS},
    {"ip", K8S_ADDRESS},
    {"host.name", K8S_ADDRESS},
    {"k8s.pod.uid", K8S_UID},
    {"container.id", K8S_CONTAINER_ID},
    {"k8s.pod.name", K8S_POD_NAME},
    {"k8s.namespace.name", K8S_NAMESPACE},
};

static const struct k8s_source_settings defaults[] = {
    {K8S_RESOURCE, "k8s.pod.ip"},   {K8S_RESOURCE, "ip"},        {K8S_RESOURCE, "k8s.pod.uid"},
    {K8S_RESOURCE, "container.id"}, {K8S_RESOURCE, "host.name"}, {K8S_SAMPLE, "k8s.pod.uid"},
    {K8S_SAMPLE, "container.id"},   {K8S_SAMPLE, "k8s.pod.ip"},  {K8S_PROFILE, "k8s.pod.uid"},
    {K8S_PROFILE, "container.id"},  {K8S_PROFILE, "k8s.pod.ip"}, {K8S_CONNECTION, NULL},
};

static const struct field source_fields[] = {
    {.name = "from",
     .type = FIELD_ENUM,
     .offset = offsetof(struct k8s_source_settings, from),
     .required = true,
     .names = from_names,
     .help = "whose address or attribute says which pod it is"},
    {.name = "name",
     .type = FIELD_STRING,
     .offset = offsetof(struct k8s_source_settings, name),
     .help = "of the attribute: k8s.pod.uid, container.id, k8s.pod.ip, k8s.pod.name with k8s.namespace.name, ..."},
    {.name = NULL},
};

const struct field k8s_association_fields[] = {
    {.name = "sources",
     .type = FIELD_STRUCT_LIST,
     .offset = offsetof(struct k8s_association_settings, sources),
     .fields = source_fields,
     .struct_size = sizeof(struct k8s_source_settings),
     .required = true,
     .help = "all of them must match, 4 at most"},
    {.name = NULL},
};

static enum k8s_key key_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strcmp(keys[i].name, name) == 0)
            return keys[i].key;
    return K8S_OTHER;
}

// --- checks ---

static bool has_text(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static void check_source(const struct k8s_source_settings *s, const char *path, const struct component_check *check)
{
    if (s->from == K8S_CONNECTION)
        return;
    if (!has_text(s->name)) {
        check_error(check, path, "from: %s needs the name of an attribute", from_names[s->from]);
        return;
    }
    const struct k8s_metadata *row = k8s_metadata_find(s->name);
    if (key_of(s->name) == K8S_OTHER && (row == NULL || row->of_container))
        check_error(check, path,
                    "a pod is not found by \"%s\": use k8s.pod.uid, container.id, k8s.pod.ip, or k8s.pod.name and "
                    "k8s.namespace.name",
                    s->name);
}

// Some source must lead to a pod; the others only say more of it.
static bool leads_somewhere(const struct config_structs *sources)
{
    const struct k8s_source_settings *items = sources->items;
    bool named = false, placed = false;
    for (size_t i = 0; i < sources->count; i++) {
        const enum k8s_key key = items[i].from == K8S_CONNECTION ? K8S_ADDRESS
                                 : has_text(items[i].name)       ? key_of(items[i].name)
                                                                 : K8S_UID; // is complained of elsewhere
        if (key <= K8S_CONTAINER_ID)
            return true;
        named |= key == K8S_POD_NAME;
        placed |= key == K8S_NAMESPACE;
    }
    return named && placed;
}

static void check_rule(const struct config_structs *sources, size_t index, const struct component_check *check)
{
    const struct k8s_source_settings *items = sources->items;
    char path[64];
    snprintf(path, sizeof path, "pod_association[%zu].sources", index);
    if (sources->count > K8S_SOURCES_MAX)
        check_error(check, path, "has %zu sources, allowed are %d", sources->count, K8S_SOURCES_MAX);
    else if (sources->count == 0)
        check_error(check, path, "must not be empty");
    else if (!leads_somewhere(sources))
        check_error(check, path,
                    "leads to no single pod: k8s.pod.name needs k8s.namespace.name beside it, other attributes need "
                    "k8s.pod.uid, container.id or an address");
    for (size_t i = 0; i < sources->count; i++) {
        snprintf(path, sizeof path, "pod_association[%zu].sources[%zu]", index, i);
        check_source(&items[i], path, check);
    }
}

void k8s_association_check(const struct config_structs *list, const struct component_check *check)
{
    const struct k8s_association_settings *items = list->items;
    if (list->count > K8S_ASSOCIATIONS_MAX)
        check_error(check, "pod_association", "has %zu rules, allowed are %d", list->count, K8S_ASSOCIATIONS_MAX);
    for (size_t i = 0; i < list->count && i < K8S_ASSOCIATIONS_MAX; i++)
        check_rule(&items[i].sources, i, check);
}

// --- making ---

static uint32_t slot_of(struct k8s_associations *a, struct bytes name)
{
    uint32_t i = 0;
    while (i < a->name_count && !bytes_equal(a->names[i], name))
        i++;
    if (i == a->name_count)
        a->names[a->name_count++] = name;
    return i;
}

static void add_source(struct k8s_associations *a, struct k8s_association *to, const struct k8s_source_settings *s)
{
    struct k8s_source *source = &to->sources[to->count++];
    *source = (struct k8s_source){.from = (enum k8s_from)s->from, .key = K8S_ADDRESS};
    to->of_connection |= s->from == K8S_CONNECTION;
    if (s->from == K8S_CONNECTION)
        return;
    source->name = bytes_from_text(s->name);
    source->key = key_of(s->name);
    source->row = k8s_metadata_find(s->name);
    to->names_pod |= strcmp(s->name, "host.name") != 0;
    if (s->from == K8S_RESOURCE)
        return;
    to->of_samples = true;
    source->slot = slot_of(a, source->name);
}

static const char *name_rule(const struct k8s_association *rule, struct arena *arena)
{
    const char *name = "";
    for (uint32_t i = 0; i < rule->count; i++) {
        const struct k8s_source *s = &rule->sources[i];
        name = arena_format(arena, "%s%s%s%s%.*s", name, i > 0 ? "," : "", from_names[s->from],
                            s->name.len > 0 ? ":" : "", BYTES_PRINT(s->name));
    }
    return name;
}

static void add_rule(struct k8s_associations *a, const struct k8s_source_settings *sources, size_t count,
                     struct arena *arena)
{
    struct k8s_association *to = &a->items[a->count];
    for (size_t i = 0; i < count && i < K8S_SOURCES_MAX; i++)
        add_source(a, to, &sources[i]);
    to->name = name_rule(to, arena);
    if (to->of_samples && a->first_of_samples > a->count)
        a->first_of_samples = a->count;
    a->count++;
}

void k8s_associations_init(struct k8s_associations *a, const struct config_structs *list, struct arena *arena)
{
    const struct k8s_association_settings *items = list->items;
    const size_t count = list->count > 0 ? list->count : COUNT_OF(defaults);
    *a = (struct k8s_associations){.first_of_samples = UINT32_MAX};
    a->items = arena_alloc(arena, count * sizeof *a->items);
    for (size_t i = 0; i < count && i < K8S_ASSOCIATIONS_MAX; i++) {
        if (list->count == 0)
            add_rule(a, &defaults[i], 1, arena);
        else
            add_rule(a, items[i].sources.items, items[i].sources.count, arena);
    }
    if (a->first_of_samples > a->count)
        a->first_of_samples = a->count;
    a->source_name_count = a->name_count;
    a->container_id = slot_of(a, BYTES_LITERAL("container.id"));
    a->container_name = slot_of(a, BYTES_LITERAL("k8s.container.name"));
}

// --- finding ---

// What the sources of a rule say.
struct evidence {
    struct bytes texts[K8S_SOURCES_MAX];
    struct ip_address addresses[K8S_SOURCES_MAX];
};

bool k8s_text_of(const struct value *v, struct bytes *out)
{
    if (v == NULL || v->kind != VALUE_STRING || v->bytes.len == 0)
        return false;
    *out = v->bytes;
    return true;
}

static bool read_attribute(const struct k8s_source *s, const struct k8s_subject *subject, struct bytes *out)
{
    if (s->from == K8S_PROFILE || s->from == K8S_SAMPLE) {
        const bool of_profile = s->from == K8S_PROFILE;
        const struct value *const *values = of_profile ? subject->profile : subject->sample;
        return values != NULL && k8s_text_of(values[s->slot], out);
    }
    const struct resource *r = subject->resource;
    const struct key_value *found = key_values_find(r->attributes, r->attribute_count, s->name);
    return found != NULL && k8s_text_of(&found->value, out);
}

static bool read_source(const struct k8s_source *s, const struct k8s_subject *subject, struct bytes *text_out,
                        struct ip_address *address_out)
{
    static const uint8_t unknown[16];
    if (s->from == K8S_CONNECTION) {
        *address_out = subject->from->address;
        return memcmp(address_out->bytes, unknown, sizeof unknown) != 0;
    }
    if (!read_attribute(s, subject, text_out))
        return false;
    return s->key != K8S_ADDRESS || ip_address_parse(*text_out, address_out);
}

static bool read_sources(const struct k8s_association *a, const struct k8s_subject *subject, struct evidence *out)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (!read_source(&a->sources[i], subject, &out->texts[i], &out->addresses[i]))
            return false;
    return true;
}

// The source of a rule with this key; count = none.
static uint32_t source_with(const struct k8s_association *a, enum k8s_key key)
{
    uint32_t i = 0;
    while (i < a->count && a->sources[i].key != key)
        i++;
    return i;
}

static const struct kube_object *look_up(const struct k8s_association *a, const struct evidence *has,
                                         const struct k8s_subject *subject, struct k8s_found *out)
{
    const struct kube_snapshot *s = subject->snapshot;
    uint32_t i;
    if ((i = source_with(a, K8S_UID)) < a->count)
        return kube_pod_by_uid(s, has->texts[i]);
    if ((i = source_with(a, K8S_CONTAINER_ID)) < a->count)
        return kube_pod_by_container(s, has->texts[i], &out->container);
    if ((i = source_with(a, K8S_ADDRESS)) < a->count)
        return kube_pod_by_address(s, &has->addresses[i], a->sources[i].from == K8S_CONNECTION ? 0 : subject->at_nanos);
    const uint32_t name = source_with(a, K8S_POD_NAME), space = source_with(a, K8S_NAMESPACE);
    return name < a->count && space < a->count ? kube_pod_by_name(s, has->texts[space], has->texts[name]) : NULL;
}

static bool has_address(const struct kube_object *pod, const struct ip_address *address)
{
    for (uint32_t i = 0; !pod->pod.host_network && i < pod->pod.address_count; i++)
        if (memcmp(&pod->pod.addresses[i], address, sizeof *address) == 0)
            return true;
    return false;
}

static bool has_container(const struct kube_snapshot *s, const struct kube_object *pod, struct bytes id,
                          struct k8s_found *out)
{
    return kube_pod_by_container(s, id, &out->container) == pod;
}

static bool has_value(const struct kube_snapshot *s, const struct kube_object *pod, const struct k8s_metadata *row,
                      struct bytes text)
{
    struct arena arena;
    struct value value;
    arena_init(&arena, 0);
    struct k8s_view v = {.snapshot = s, .pod = pod, .arena = &arena};
    const bool same =
        row != NULL && row->read(&v, row, &value) && value.kind == VALUE_STRING && bytes_equal(value.bytes, text);
    arena_fini(&arena);
    return same;
}

static bool agrees(const struct k8s_source *s, const struct kube_snapshot *snapshot, const struct kube_object *pod,
                   struct bytes text, const struct ip_address *address, struct k8s_found *out)
{
    switch (s->key) {
    case K8S_ADDRESS:
        return has_address(pod, address);
    case K8S_UID:
        return bytes_equal(pod->uid, text);
    case K8S_CONTAINER_ID:
        return has_container(snapshot, pod, text, out);
    case K8S_POD_NAME:
        return bytes_equal(pod->name, text);
    case K8S_NAMESPACE:
        return bytes_equal(pod->namespace_name, text);
    case K8S_OTHER:
        break;
    }
    return has_value(snapshot, pod, s->row, text);
}

// Of a rule with one source, what it was found by is what it was asked for.
static bool all_agree(const struct k8s_association *a, const struct evidence *has, const struct k8s_subject *subject,
                      const struct kube_object *pod, struct k8s_found *out)
{
    for (uint32_t i = 0; a->count > 1 && i < a->count; i++)
        if (!agrees(&a->sources[i], subject->snapshot, pod, has->texts[i], &has->addresses[i], out))
            return false;
    return true;
}

static bool needs_time(const struct k8s_association *a, const struct evidence *has, const struct k8s_subject *subject)
{
    const uint32_t i = source_with(a, K8S_ADDRESS);
    return subject->at_nanos == 0 && i < a->count && a->sources[i].from != K8S_CONNECTION &&
           kube_address_needs_time(subject->snapshot, &has->addresses[i]);
}

static bool try_rule(const struct k8s_association *a, struct k8s_subject *subject, struct k8s_found *out)
{
    struct evidence has = {0};
    if ((a->of_connection && subject->names_pod) || !read_sources(a, subject, &has))
        return false;
    out->container = NULL;
    const struct kube_object *pod = look_up(a, &has, subject, out);
    const bool found = pod != NULL && all_agree(a, &has, subject, pod, out);
    if (found || out->by == NULL) {
        out->by = a;
        out->text = has.texts[0];
        out->address = has.addresses[0];
    }
    subject->names_pod |= a->names_pod && !a->of_connection;
    subject->needs_time |= needs_time(a, &has, subject);
    out->pod = found ? pod : NULL;
    return found;
}

bool k8s_associate(const struct k8s_associations *a, uint32_t first, uint32_t end, struct k8s_subject *subject,
                   struct k8s_found *out)
{
    for (uint32_t i = first; i < end; i++)
        if (try_rule(&a->items[i], subject, out))
            return true;
    out->container = NULL;
    return false;
}
