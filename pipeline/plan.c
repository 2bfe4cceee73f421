// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan.h"

#include "base/buf.h"
#include "base/text.h"
#include "extensions/extension.h"

#include <stdio.h>

const char *const kind_names[KIND_COUNT] = {
    [KIND_RECEIVER] = "receiver",
    [KIND_PROCESSOR] = "processor",
    [KIND_EXPORTER] = "exporter",
    [KIND_EXTENSION] = "extension",
};

const char *const kind_sections[KIND_COUNT] = {
    [KIND_RECEIVER] = "receivers",
    [KIND_PROCESSOR] = "processors",
    [KIND_EXPORTER] = "exporters",
    [KIND_EXTENSION] = "extensions",
};

static const struct kind_common {
    const struct field *fields;
    size_t size;
} kind_common[KIND_COUNT] = {
    [KIND_RECEIVER] = {receiver_common_fields, sizeof(struct receiver_settings)},
    [KIND_EXPORTER] = {exporter_common_fields, sizeof(struct exporter_settings)},
};

const struct field *kind_common_fields(enum component_kind kind)
{
    return kind_common[kind].fields;
}

// Components of the Collector that a user's file may name and that we do not have: what to do instead.
static const struct missing_component {
    enum component_kind kind;
    const char *type, *remedy;
    bool leave_out; // a profiles pipeline is right without it: a warning instead of an error
} missing_components[] = {
    {KIND_PROCESSOR, "transform", "relabel drops and renames by the rules of Prometheus", false},
    {KIND_RECEIVER, "profiling", "run the eBPF profiler beside profrelay and send its OTLP here", false},
    {KIND_EXTENSION, "zpages", "it is left out", true},
    {KIND_EXTENSION, "pprof", "it profiles the Collector itself; it is left out", true},
    {KIND_EXTENSION, "opamp", "it is left out", true},
    {KIND_EXTENSION, "memory_limiter",
     "the processor of this name, or service.memory_limit, bounds memory; it is left out", true},
};

struct planner {
    struct plan *plan;
    const struct module_tables *modules;
    const struct config_node *root;
    struct config_errors *errors;
    struct component_plan **components[KIND_COUNT]; // growing
    size_t counts[KIND_COUNT];
    const struct config_entry **reported[KIND_COUNT]; // complained about: once is enough
    size_t reported_counts[KIND_COUNT];
    struct buf other_signals; // names of what other signals use, for one warning
};

static size_t type_length(const char *id)
{
    return strcspn(id, "/");
}

static bool module_has_name(const struct module *m, const char *name, size_t len)
{
    if (strlen(m->type) == len && memcmp(m->type, name, len) == 0)
        return true;
    for (const char *const *a = m->aliases; a != NULL && *a != NULL; a++)
        if (strlen(*a) == len && memcmp(*a, name, len) == 0)
            return true;
    return false;
}

const struct module *module_find(const struct module_table *table, const char *id)
{
    for (size_t i = 0; i < table->count; i++)
        if (module_has_name(table->items[i], id, type_length(id)))
            return table->items[i];
    return NULL;
}

static const struct missing_component *find_missing(enum component_kind kind, const char *id)
{
    for (size_t i = 0; i < COUNT_OF(missing_components); i++) {
        const struct missing_component *m = &missing_components[i];
        if (m->kind == kind && strlen(m->type) == type_length(id) && strncmp(m->type, id, type_length(id)) == 0)
            return m;
    }
    return NULL;
}

static void error_unknown_type(struct planner *p, enum component_kind kind, const char *id, struct config_position at)
{
    const struct module_table *table = &p->modules->kinds[kind];
    const char *names[64];
    size_t count = 0;
    for (; count < table->count && count < COUNT_OF(names); count++)
        names[count] = table->items[count]->type;
    char type[64];
    snprintf(type, sizeof type, "%.*s", (int)type_length(id), id);
    const char *near = text_suggest(type, names, count);
    if (near != NULL)
        config_error(p->errors, at, "%s.%s: unknown type \"%s\", did you mean \"%s\"?", kind_sections[kind], id, type,
                     near);
    else
        config_error(p->errors, at, "%s.%s: unknown type \"%s\"; `profrelay components` lists those there are",
                     kind_sections[kind], id, type);
}

static bool extension_is_started(void *arg, const char *id)
{
    struct planner *p = arg;
    for (size_t i = 0; i < p->plan->service.extensions.count; i++)
        if (strcmp(p->plan->service.extensions.items[i], id) == 0)
            return true;
    return false;
}

static struct component_plan *find_planned(struct planner *p, enum component_kind kind, const char *id)
{
    for (size_t i = 0; i < p->counts[kind]; i++)
        if (strcmp(p->components[kind][i]->id, id) == 0)
            return p->components[kind][i];
    return NULL;
}

static unsigned extension_roles(void *arg, const char *id)
{
    const struct component_plan *c = find_planned(arg, KIND_EXTENSION, id);
    const struct extension_module *m = c != NULL ? CONTAINER_OF(c->module, struct extension_module, module) : NULL;
    return m != NULL && m->auth_roles != NULL ? m->auth_roles(c->settings) : 0;
}

static void add_host(const struct component_check *check, const char *key, const char *host)
{
    struct plan *plan = ((struct planner *)check->arg)->plan;
    if (plan->host_count == plan->host_capacity) {
        plan->host_capacity = plan->host_capacity * 2 + 8;
        struct plan_host *more = arena_alloc(&plan->arena, plan->host_capacity * sizeof *more);
        if (plan->host_count > 0)
            memcpy(more, plan->hosts, plan->host_count * sizeof *more);
        plan->hosts = more;
    }
    plan->hosts[plan->host_count++] = (struct plan_host){
        .check = *check,
        .key = arena_copy_text(&plan->arena, key, strlen(key)),
        .host = arena_copy_text(&plan->arena, host, strlen(host)),
    };
}

static const char *full_name(struct planner *p, const struct component_plan *c)
{
    return arena_format(&p->plan->arena, "%s.%s", kind_sections[c->kind], c->id);
}

static void decode_settings(struct planner *p, struct component_plan *c)
{
    const char *name = full_name(p, c);
    const struct kind_common *common = &kind_common[c->kind];
    c->settings = arena_alloc(&p->plan->arena, c->module->settings_size);
    c->common = common->size != 0 ? arena_alloc(&p->plan->arena, common->size) : NULL;
    struct field_target targets[] = {{c->module->fields, c->settings}, {common->fields, c->common}};
    size_t count = c->common != NULL ? 2 : 1;
    (void)fields_decode(targets, count, c->node, c->at, name, &p->plan->arena, p->errors);
}

// Also after errors: a user mends a file once.
static void check_component(struct planner *p, const struct component_plan *c)
{
    const struct component_check check = {
        .node = c->node,
        .at = c->at,
        .name = full_name(p, c),
        .errors = p->errors,
        .has_extension = extension_is_started,
        .extension_roles = extension_roles,
        .add_host = add_host,
        .arg = p,
    };
    const struct exporter_settings *exporter = c->kind == KIND_EXPORTER ? c->common : NULL;
    if (exporter != NULL && exporter->queue_storage != NULL)
        check_error(&check, "sending_queue.storage", "queues on disk are not available yet; remove the key");
    if (c->module->check != NULL)
        c->module->check(c->settings, &check);
}

static const struct config_entry *find_entry(const struct config_node *section, const char *id)
{
    for (size_t i = 0; section != NULL && section->kind == CONFIG_MAP && i < section->count; i++)
        if (strcmp(section->entries[i].key, id) == 0)
            return &section->entries[i];
    return NULL;
}

static void error_not_configured(struct planner *p, const char *user, enum component_kind kind, const char *id,
                                 struct config_position at)
{
    const struct config_node *section = config_get(p->root, kind_sections[kind]);
    const char *names[64];
    size_t count = 0;
    for (; section != NULL && section->kind == CONFIG_MAP && count < section->count && count < COUNT_OF(names); count++)
        names[count] = section->entries[count].key;
    const char *near = text_suggest(id, names, count);
    if (near != NULL)
        config_error(p->errors, at, "%s: references %s \"%s\" which is not configured, did you mean \"%s\"?", user,
                     kind_names[kind], id, near);
    else
        config_error(p->errors, at, "%s: references %s \"%s\" which is not configured; add it under %s:", user,
                     kind_names[kind], id, kind_sections[kind]);
}

static bool report_once(struct planner *p, enum component_kind kind, const struct config_entry *entry)
{
    for (size_t i = 0; i < p->reported_counts[kind]; i++)
        if (p->reported[kind][i] == entry)
            return false;
    p->reported[kind][p->reported_counts[kind]++] = entry;
    return true;
}

// Says why there is no module for it.
static void report_no_module(struct planner *p, enum component_kind kind, const struct config_entry *entry)
{
    const struct missing_component *missing = find_missing(kind, entry->key);
    if (!report_once(p, kind, entry))
        return;
    if (missing != NULL)
        (missing->leave_out ? config_warning : config_error)(p->errors, entry->key_at, "%s.%s: not available: %s",
                                                             kind_sections[kind], entry->key, missing->remedy);
    else
        error_unknown_type(p, kind, entry->key, entry->key_at);
}

// The plan of a component, made on first use; NULL after an error or when it is left out.
static struct component_plan *use_component(struct planner *p, const char *user, enum component_kind kind,
                                            const char *id, struct config_position at)
{
    struct component_plan *known = find_planned(p, kind, id);
    if (known != NULL)
        return known;
    const struct config_entry *entry = find_entry(config_get(p->root, kind_sections[kind]), id);
    if (entry == NULL) {
        error_not_configured(p, user, kind, id, at);
        return NULL;
    }
    const struct module *module = module_find(&p->modules->kinds[kind], id);
    if (module == NULL) {
        report_no_module(p, kind, entry);
        return NULL;
    }
    struct component_plan *c = arena_alloc(&p->plan->arena, sizeof *c);
    *c = (struct component_plan){kind, entry->key, module, entry->value, entry->key_at, NULL, NULL};
    p->components[kind][p->counts[kind]++] = c;
    decode_settings(p, c);
    if (kind != KIND_EXTENSION)
        check_component(p, c);
    return c;
}

static size_t section_count(const struct planner *p, enum component_kind kind)
{
    const struct config_node *section = config_get(p->root, kind_sections[kind]);
    return section != NULL && section->kind == CONFIG_MAP ? section->count : 0;
}

static void use_extensions(struct planner *p, const struct config_node *service)
{
    const struct config_node *list = config_get(service, "extensions");
    for (size_t i = 0; i < p->plan->service.extensions.count; i++) {
        struct config_position at = list == NULL                                   ? (struct config_position){0}
                                    : list->kind == CONFIG_LIST && i < list->count ? list->items[i]->at
                                                                                   : list->at;
        (void)use_component(p, "service.extensions", KIND_EXTENSION, p->plan->service.extensions.items[i], at);
    }
    // They may name each other.
    for (size_t i = 0; i < p->counts[KIND_EXTENSION]; i++)
        check_component(p, p->components[KIND_EXTENSION][i]);
}

// One of the three lists of a pipeline.
static struct component_list use_list(struct planner *p, const struct config_node *pipeline, const char *name,
                                      enum component_kind kind)
{
    const struct config_node *list = config_get(pipeline, kind_sections[kind]);
    if (list == NULL || list->kind == CONFIG_NULL)
        return (struct component_list){0};
    if (list->kind != CONFIG_LIST) {
        config_error(p->errors, list->at, "%s.%s: expected a list of ids such as [a, b]", name, kind_sections[kind]);
        return (struct component_list){0};
    }
    struct component_plan **items = arena_alloc(&p->plan->arena, list->count * sizeof(void *));
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct config_node *id = list->items[i];
        if (id->kind != CONFIG_SCALAR) {
            config_error(p->errors, id->at, "%s.%s: expected the id of a component", name, kind_sections[kind]);
            continue;
        }
        struct component_plan *c = use_component(p, name, kind, id->text, id->at);
        for (size_t j = 0; c != NULL && j < count; j++)
            if (items[j] == c)
                config_error(p->errors, id->at, "%s: references %s \"%s\" multiple times", name, kind_names[kind],
                             id->text);
        if (c != NULL)
            items[count++] = c;
    }
    return (struct component_list){items, count};
}

static void plan_pipeline(struct planner *p, const struct config_entry *entry, struct pipeline_plan *out)
{
    const char *name = arena_format(&p->plan->arena, "service.pipelines.%s", entry->key);
    const struct config_node *node = entry->value;
    static const char *const keys[] = {"receivers", "processors", "exporters"};
    for (size_t i = 0; node->kind == CONFIG_MAP && i < node->count; i++) {
        const char *key = node->entries[i].key;
        if (strcmp(key, keys[0]) != 0 && strcmp(key, keys[1]) != 0 && strcmp(key, keys[2]) != 0) {
            const char *near = text_suggest(key, keys, COUNT_OF(keys));
            config_error(p->errors, node->entries[i].key_at, "%s: unknown key \"%s\"%s%s%s", name, key,
                         near ? ", did you mean \"" : "", near ? near : "", near ? "\"?" : "");
        }
    }
    size_t errors_before = p->errors->error_count;
    *out = (struct pipeline_plan){
        .id = entry->key,
        .receivers = use_list(p, node, name, KIND_RECEIVER),
        .processors = use_list(p, node, name, KIND_PROCESSOR),
        .exporters = use_list(p, node, name, KIND_EXPORTER),
    };
    if (p->errors->error_count != errors_before)
        return;
    if (out->receivers.count == 0)
        config_error(p->errors, entry->key_at, "%s: must have at least one receiver", name);
    if (out->exporters.count == 0)
        config_error(p->errors, entry->key_at, "%s: must have at least one exporter", name);
}

static bool is_signal(const char *pipeline_id, const char *signal)
{
    return strlen(signal) == type_length(pipeline_id) && strncmp(pipeline_id, signal, strlen(signal)) == 0;
}

static void note_other_signal(struct planner *p, const char *what)
{
    if (p->other_signals.len != 0)
        buf_add_text(&p->other_signals, ", ");
    buf_add_text(&p->other_signals, what);
}

static void plan_pipelines(struct planner *p, const struct config_node *pipelines, struct config_position service_at)
{
    size_t count = pipelines != NULL && pipelines->kind == CONFIG_MAP ? pipelines->count : 0;
    struct pipeline_plan *plans = arena_alloc(&p->plan->arena, count * sizeof *plans);
    for (size_t i = 0; i < count; i++) {
        const struct config_entry *e = &pipelines->entries[i];
        if (is_signal(e->key, "profiles"))
            plan_pipeline(p, e, &plans[p->plan->pipeline_count++]);
        else if (is_signal(e->key, "traces") || is_signal(e->key, "metrics") || is_signal(e->key, "logs"))
            note_other_signal(p, arena_format(&p->plan->arena, "pipeline %s", e->key));
        else
            config_error(
                p->errors, e->key_at,
                "service.pipelines.%s: unknown signal; profrelay has pipelines named profiles or profiles/NAME",
                e->key);
    }
    p->plan->pipelines = plans;
    if (p->plan->pipeline_count == 0)
        config_error(p->errors, service_at,
                     "service.pipelines: there is no profiles pipeline; add profiles: {receivers: "
                     "[...], exporters: [...]}");
}

// What stands in a section and no profiles pipeline uses: other signals' components, or forgotten ones.
static void note_unused(struct planner *p)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        const struct config_node *section = config_get(p->root, kind_sections[kind]);
        for (size_t i = 0; i < section_count(p, (enum component_kind)kind); i++) {
            const char *id = section->entries[i].key;
            if (find_planned(p, (enum component_kind)kind, id) == NULL &&
                find_missing((enum component_kind)kind, id) == NULL)
                note_other_signal(p, arena_format(&p->plan->arena, "%s %s", kind_names[kind], id));
        }
    }
    if (p->other_signals.len != 0 && p->errors->error_count == 0)
        config_warning(p->errors, (struct config_position){0}, "left out, no profiles pipeline uses it: %.*s",
                       (int)p->other_signals.len, (const char *)p->other_signals.data);
}

static void check_top_level(struct planner *p)
{
    static const char *const keys[] = {"receivers", "processors", "exporters", "extensions", "connectors", "service"};
    if (p->root->kind != CONFIG_MAP) {
        config_error(p->errors, p->root->at, "the configuration is empty: it needs receivers, exporters and service");
        return;
    }
    for (size_t i = 0; i < p->root->count; i++) {
        const struct config_entry *e = &p->root->entries[i];
        bool known = false;
        for (size_t k = 0; k < COUNT_OF(keys); k++)
            known = known || strcmp(e->key, keys[k]) == 0;
        const char *near = known ? NULL : text_suggest(e->key, keys, COUNT_OF(keys));
        if (!known)
            config_error(p->errors, e->key_at, "unknown section \"%s\"%s%s%s", e->key, near ? ", did you mean \"" : "",
                         near ? near : "", near ? "\"?" : "");
        else if (e->value->kind != CONFIG_MAP && e->value->kind != CONFIG_NULL)
            config_error(p->errors, e->value->at, "%s: expected a map%s", e->key,
                         strcmp(e->key, "service") != 0 ? " of component ids" : "");
    }
}

// The service's own keys without `pipelines`, which is not a row but a graph.
static void decode_service(struct planner *p, const struct config_node *service, struct config_position at)
{
    struct config_node own = {.kind = CONFIG_NULL, .at = at};
    if (service != NULL && service->kind == CONFIG_MAP) {
        own = *service;
        own.entries = arena_alloc(&p->plan->arena, service->count * sizeof *own.entries);
        own.count = 0;
        for (size_t i = 0; i < service->count; i++)
            if (strcmp(service->entries[i].key, "pipelines") != 0)
                own.entries[own.count++] = service->entries[i];
    }
    struct field_target target = {service_fields, &p->plan->service};
    (void)fields_decode(&target, 1, &own, at, "service", &p->plan->arena, p->errors);
}

bool plan_make(struct plan *plan, const struct module_tables *modules, const struct config_node *root,
               struct config_errors *errors)
{
    *plan = (struct plan){0};
    arena_init(&plan->arena, 0);
    struct planner p = {.plan = plan, .modules = modules, .root = root, .errors = errors};
    buf_init(&p.other_signals, 64 << 10);
    size_t errors_before = errors->error_count;
    check_top_level(&p);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        size_t size = section_count(&p, (enum component_kind)kind) * sizeof(void *);
        p.components[kind] = arena_alloc(&plan->arena, size);
        p.reported[kind] = arena_alloc(&plan->arena, size);
    }
    const struct config_node *service = config_get(root, "service");
    struct config_position at = service != NULL ? service->at : root->at;
    decode_service(&p, service, at);
    use_extensions(&p, service);
    plan_pipelines(&p, config_get(service, "pipelines"), at);
    note_unused(&p);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        plan->components[kind] = (struct component_list){p.components[kind], p.counts[kind]};
    buf_fini(&p.other_signals);
    return errors->error_count == errors_before;
}

void plan_fini(struct plan *p)
{
    arena_fini(&p->arena);
}
