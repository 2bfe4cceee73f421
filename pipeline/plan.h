// SPDX-License-Identifier: Apache-2.0
// A configuration tree checked against the modules: which components exist, with which settings, and which
// pipelines join them. Nothing is created yet; `validate` stops here.
#ifndef PIPELINE_PLAN_H
#define PIPELINE_PLAN_H

#include "pipeline/component.h"
#include "pipeline/settings.h"

enum component_kind { KIND_RECEIVER, KIND_PROCESSOR, KIND_EXPORTER, KIND_EXTENSION, KIND_COUNT };

// Indexed by enum component_kind.
extern const char *const kind_names[KIND_COUNT];    // "receiver"
extern const char *const kind_sections[KIND_COUNT]; // "receivers"
// Rows that every component of the kind takes beside its own; NULL = none.
const struct field *kind_common_fields(enum component_kind kind);

struct module_tables {
    struct module_table kinds[KIND_COUNT];
};

struct component_plan {
    enum component_kind kind;
    const char *id; // "otlp_http/eu", spelled as in the file
    const struct module *module;
    const struct config_node *node;
    struct config_position at;
    void *settings; // of the module
    void *common;   // struct receiver_settings or exporter_settings; NULL for other kinds
};

struct component_list {
    struct component_plan *const *items;
    size_t count;
};

struct pipeline_plan {
    const char *id; // "profiles", "profiles/eu"
    struct component_list receivers, processors, exporters;
};

// A name that a component will ask for.
struct plan_host {
    struct component_check check; // for check_error; of its functions none may be called
    const char *key, *host;
};

struct plan {
    struct arena arena;
    struct service_settings service;
    struct component_list components[KIND_COUNT]; // those that are used, each once
    const struct pipeline_plan *pipelines;
    size_t pipeline_count;
    struct plan_host *hosts;
    size_t host_count, host_capacity;
};

// In place; adds every problem to errors and returns false if there was one. root must outlive the plan.
bool plan_make(struct plan *p, const struct module_tables *modules, const struct config_node *root,
               struct config_errors *errors);
void plan_fini(struct plan *p);

// The module of a component id ("otlphttp/eu" finds otlp_http); NULL if there is none.
const struct module *module_find(const struct module_table *table, const char *id);

#endif
