// SPDX-License-Identifier: Apache-2.0
// service.name for resources that come without one: from the first source of a list that has a name.
#include "base/mem.h"
#include "processors/main_mapping.h"
#include "processors/processors.h"
#include "profile/edit.h"

#define UNKNOWN "unknown_service"

enum { NAME_MAX_BYTES = 256 };

enum source { SOURCE_EXECUTABLE, SOURCE_WORKLOAD, SOURCE_CONTAINER, SOURCE_FILE, SOURCE_UNKNOWN, SOURCES };

struct service_name_settings {
    struct config_strings fallbacks;
    bool overwrite_unknown;
};

struct service_name {
    struct processor processor;
    enum source order[SOURCES];
    size_t count;
    bool overwrite_unknown;
    struct metric *counters[SOURCES + 1]; // the last: nothing was found
};

static const struct metric_family fallbacks_family = {
    "profrelay_service_name_fallbacks", "Resources without service.name, by what it was taken from.", METRIC_COUNTER};

static const struct field service_name_fields[] = {
    {.name = "fallbacks",
     .type = FIELD_STRING_LIST,
     .offset = offsetof(struct service_name_settings, fallbacks),
     .default_text = "[executable, container, file, unknown_service]",
     .help = "where the name is taken from, in order: executable, workload, container, file, unknown_service"},
    {.name = "overwrite_unknown",
     .type = FIELD_BOOL,
     .offset = offsetof(struct service_name_settings, overwrite_unknown),
     .default_text = "true",
     .help = "a service.name that begins with unknown_service, as SDKs write it, is as good as none"},
    {.name = NULL},
};

// --- sources ---

struct lookup {
    const struct batch *batch;
    const struct resource *resource;
    bool is_unknown; // it has a name already: unknown_service...
    uint32_t *frames_left;
    char text[NAME_MAX_BYTES + sizeof UNKNOWN + 1];
};

static struct bytes attribute_text(const struct lookup *l, const char *key)
{
    const struct key_value *found =
        key_values_find(l->resource->attributes, l->resource->attribute_count, bytes_from_text(key));
    return found != NULL && found->value.kind == VALUE_STRING ? found->value.bytes : (struct bytes){NULL, 0};
}

// Behind the last slash or backslash.
static struct bytes base_name(struct bytes path)
{
    size_t start = path.len;
    while (start > 0 && path.data[start - 1] != '/' && path.data[start - 1] != '\\')
        start--;
    return start < path.len ? (struct bytes){path.data + start, path.len - start} : path;
}

struct named_attribute {
    const char *key;
    bool is_path;
};

static struct bytes first_of(const struct lookup *l, const struct named_attribute *list, size_t count)
{
    struct bytes text = {NULL, 0};
    for (size_t i = 0; text.len == 0 && i < count; i++) {
        text = attribute_text(l, list[i].key);
        if (list[i].is_path)
            text = base_name(text);
    }
    return text;
}

static struct bytes from_executable(struct lookup *l)
{
    static const struct named_attribute list[] = {
        {"process.executable.name", true}, {"process.executable.path", true}, {"process.command", true}};
    return first_of(l, list, COUNT_OF(list));
}

// In the order of the semantic conventions.
static struct bytes from_workload(struct lookup *l)
{
    static const struct named_attribute list[] = {
        {"k8s.deployment.name", false}, {"k8s.replicaset.name", false}, {"k8s.statefulset.name", false},
        {"k8s.daemonset.name", false},  {"k8s.cronjob.name", false},    {"k8s.job.name", false},
        {"k8s.pod.name", false},
    };
    return first_of(l, list, COUNT_OF(list));
}

// "registry:5000/team/checkout:1.2@sha256:..." is checkout.
static struct bytes image_name(struct bytes image)
{
    struct bytes name = base_name(image);
    for (size_t i = 0; i < name.len; i++)
        if (name.data[i] == ':' || name.data[i] == '@')
            name.len = i;
    return name;
}

static struct bytes from_container(struct lookup *l)
{
    static const struct named_attribute list[] = {{"k8s.container.name", false}, {"container.name", false}};
    struct bytes name = first_of(l, list, COUNT_OF(list));
    return name.len > 0 ? name : image_name(attribute_text(l, "container.image.name"));
}

static struct bytes from_file(struct lookup *l)
{
    static const struct named_attribute list[] = {{"file.name", true}, {"file.path", true}};
    struct bytes name = first_of(l, list, COUNT_OF(list));
    return name.len > 0 ? name : base_name(main_mapping_find(l->batch, l->resource, l->frames_left));
}

static struct bytes from_nothing(struct lookup *l)
{
    struct bytes name = from_executable(l);
    if (l->is_unknown)
        return attribute_text(l, "service.name");
    if (name.len > NAME_MAX_BYTES)
        name.len = 0;
    const int len = snprintf(l->text, sizeof l->text, UNKNOWN "%s%.*s", name.len > 0 ? ":" : "", BYTES_PRINT(name));
    return (struct bytes){(const uint8_t *)l->text, (size_t)len};
}

static const struct {
    const char *name;
    struct bytes (*find)(struct lookup *l);
} sources[SOURCES] = {
    [SOURCE_EXECUTABLE] = {"executable", from_executable},
    [SOURCE_WORKLOAD] = {"workload", from_workload},
    [SOURCE_CONTAINER] = {"container", from_container},
    [SOURCE_FILE] = {"file", from_file},
    [SOURCE_UNKNOWN] = {UNKNOWN, from_nothing},
};

// --- settings ---

static bool source_find(const char *name, enum source *out)
{
    for (*out = 0; *out < SOURCES; (*out)++)
        if (strcmp(sources[*out].name, name) == 0)
            return true;
    return false;
}

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct config_strings *list = &((const struct service_name_settings *)settings)->fallbacks;
    enum source unused;
    if (list->count == 0)
        check_error(check, "fallbacks", "needs at least one, as in [executable, unknown_service]");
    for (size_t i = 0; i < list->count; i++) {
        if (!source_find(list->items[i], &unused))
            check_error(check, "fallbacks",
                        "there is no \"%s\"; there are executable, workload, container, file, unknown_service",
                        list->items[i]);
        for (size_t k = 0; k < i; k++)
            if (strcmp(list->items[i], list->items[k]) == 0)
                check_error(check, "fallbacks", "\"%s\" is there twice", list->items[i]);
    }
}

static enum err_code create(struct processor *self, const void *settings, struct err *e)
{
    struct service_name *p = (struct service_name *)self;
    const struct service_name_settings *s = settings;
    (void)e;
    self->takes_unread = true;
    p->overwrite_unknown = s->overwrite_unknown;
    for (size_t i = 0; i < s->fallbacks.count; i++)
        p->count += source_find(s->fallbacks.items[i], &p->order[p->count]);
    for (size_t i = 0; i <= SOURCES; i++) {
        const struct metric_label labels[] = {{"processor", self->component.id},
                                              {"source", i < SOURCES ? sources[i].name : "none"}};
        p->counters[i] = metrics_series(self->component.env->metrics, &fallbacks_family, labels, 2);
    }
    return ERR_OK;
}

// --- one batch ---

struct naming {
    const struct service_name *p;
    const struct batch *batch;
    struct lookup lookup;
    struct key_value *list; // grows
    size_t capacity;
    uint64_t found[SOURCES + 1];
    uint32_t frames_left;
};

static const struct bytes name_key = {(const uint8_t *)"service.name", 12};

static bool begins_with_unknown(struct bytes name)
{
    return name.len >= sizeof UNKNOWN - 1 && memcmp(name.data, UNKNOWN, sizeof UNKNOWN - 1) == 0;
}

// A name of another type than text is somebody's wish.
static bool is_missing(const struct naming *n, const struct key_value *name)
{
    if (name == NULL || name->value.kind == VALUE_EMPTY)
        return true;
    if (name->value.kind != VALUE_STRING)
        return false;
    return name->value.bytes.len == 0 || (n->p->overwrite_unknown && begins_with_unknown(name->value.bytes));
}

static enum source find_name(struct naming *n, struct bytes *name_out)
{
    for (size_t i = 0; i < n->p->count; i++) {
        *name_out = sources[n->p->order[i]].find(&n->lookup);
        if (name_out->len > 0)
            return n->p->order[i];
    }
    return SOURCES;
}

static bool put_name(struct naming *n, struct part_attributes *part, const struct key_value *old, struct bytes name)
{
    const uint32_t at = old != NULL ? (uint32_t)(old - part->list) : part->count;
    if (!mem_try_grow((void **)&n->list, &n->capacity, (size_t)part->count + 1, sizeof *n->list, UINT32_MAX))
        return false;
    if (part->count > 0)
        memcpy(n->list, part->list, part->count * sizeof *n->list);
    n->list[at] = (struct key_value){name_key, value_string(name)};
    part->list = n->list;
    part->count += at == part->count;
    return true;
}

static void begin_lookup(struct naming *n, uint32_t resource, const struct key_value *old)
{
    n->lookup =
        (struct lookup){.batch = n->batch, .resource = n->batch->resources[resource], .frames_left = &n->frames_left};
    n->lookup.is_unknown = old != NULL && begins_with_unknown(attribute_text(&n->lookup, "service.name"));
}

static enum err_code change_part(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part,
                                 struct err *e)
{
    struct naming *n = arg;
    const struct key_value *old = key_values_find(part->list, part->count, name_key);
    struct bytes name;
    (void)scope;
    if (!is_missing(n, old))
        return ERR_OK;
    begin_lookup(n, resource, old);
    const enum source source = find_name(n, &name);
    n->found[source]++;
    if (source == SOURCES || (old != NULL && old->value.kind == VALUE_STRING && bytes_equal(old->value.bytes, name)))
        return ERR_OK;
    return put_name(n, part, old, name) ? ERR_OK : err_set(e, ERR_MEMORY, "out of memory for the name of a service");
}

static enum err_code process(struct processor *self, struct batch **batch, const struct sender *from, struct err *e)
{
    const struct service_name *p = (const struct service_name *)self;
    struct naming n = {.p = p, .batch = *batch, .frames_left = MAIN_MAPPING_FRAMES};
    (void)from;
    const enum err_code rc =
        batch_change_part_attributes(batch, &(struct part_attributes_change){false, change_part, &n}, e);
    for (size_t i = 0; rc == ERR_OK && i <= SOURCES; i++)
        metric_add(p->counters[i], (int64_t)n.found[i]);
    free(n.list);
    return rc;
}

// Of all sources the file of the program alone is not to be seen from outside.
static bool wants_mapping(struct naming *n, uint32_t resource)
{
    const struct service_name *p = n->p;
    const struct resource *r = n->batch->resources[resource];
    const struct key_value *old = key_values_find(r->attributes, r->attribute_count, name_key);
    size_t i = 0;
    if (!is_missing(n, old))
        return false;
    begin_lookup(n, resource, old);
    while (i < p->count && sources[p->order[i]].find(&n->lookup).len == 0 && p->order[i] != SOURCE_FILE)
        i++;
    return i < p->count && p->order[i] == SOURCE_FILE && from_file(&n->lookup).len == 0;
}

static bool wants_samples(struct processor *self, const struct batch *b, const struct sender *from)
{
    struct naming n = {.p = (const struct service_name *)self, .batch = b};
    bool wants = false;
    (void)from;
    for (uint32_t i = 0; i < b->resource_count && !wants; i++)
        wants = wants_mapping(&n, i);
    return wants;
}

static void destroy(struct processor *self)
{
    (void)self;
}

const struct processor_module service_name_processor = {
    .module =
        {
            .type = "service_name",
            .help = "Gives resources without service.name one.",
            .settings_size = sizeof(struct service_name_settings),
            .instance_size = sizeof(struct service_name),
            .fields = service_name_fields,
            .check = check_settings,
        },
    .create = create,
    .wants_samples = wants_samples,
    .process = process,
    .destroy = destroy,
};
