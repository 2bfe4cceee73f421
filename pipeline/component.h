// SPDX-License-Identifier: Apache-2.0
// What every configured instance has, whatever its kind. The framework allocates, names, counts and logs.
#ifndef PIPELINE_COMPONENT_H
#define PIPELINE_COMPONENT_H

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/metrics.h"
#include "config/fields.h"
#include "pipeline/budget.h"
#include "pipeline/loop.h"
#include "pipeline/worker.h"

struct storage;
struct authenticator;
struct service_health;
struct exporter_health;
struct shared_listener;
struct kube_watches;

// What the service offers to its components; the same for all.
struct component_env {
    struct workers *workers;
    struct budget *budget;
    struct metrics *metrics;
    const struct clock *clock;
    void *service;
    // Those that are open and may be shared (net/shared_server.h).
    struct shared_listener **listeners;
    // On clusters' objects (kube/kube_watch.h).
    struct kube_watches **watches;
    // The storage of an extension by id ("file_storage/a"); NULL with e set if there is none.
    struct storage *(*find_storage)(void *service, const char *extension_id, struct err *e);
    // The authenticator of an extension that has the role (enum auth_role); NULL with e set if there is none.
    struct authenticator *(*find_authenticator)(void *service, const char *extension_id, unsigned role, struct err *e);
    // How the service does, and its i-th exporter: false past the last, and once its queue is closed. Any thread.
    void (*health)(void *service, struct service_health *out);
    bool (*exporter_health)(void *service, size_t i, struct exporter_health *out);
    // Asks the whole program to drain and end with this exit code. Any thread.
    void (*request_stop)(void *service, int exit_code);
};

struct instance;

struct component {
    const char *kind; // "receiver", ...
    const char *id;   // "otlp_http/eu", as configured
    struct logger log;
    struct loop *loop; // where its callbacks run
    const struct component_env *env;
    struct instance *instance; // the framework's
};

// By a module, on the component's loop: its stop is complete, nothing of it will run again.
void component_stopped(struct component *c);

// For a module's own checks of its settings (validate and start both run them).
struct component_check {
    const struct config_node *node; // of the component
    struct config_position at;
    const char *name; // "exporters.otlp_http/eu"
    struct config_errors *errors;
    // True if `service.extensions` starts an extension of this id.
    bool (*has_extension)(void *arg, const char *id);
    // What it does as an authenticator: enum auth_role, 0 = nothing or not known.
    unsigned (*extension_roles)(void *arg, const char *id);
    // A host that this component will connect to and that is a name to be asked for: validate does. Both are copied.
    void (*add_host)(const struct component_check *check, const char *key, const char *host);
    void *arg;
};

// What every module says about itself, whatever its kind; first member of the kind's own struct.
struct module {
    const char *type;           // "otlp_http"
    const char *const *aliases; // other spellings users know, NULL-terminated; NULL = none
    const char *help;           // one sentence
    size_t settings_size;       // of the struct that fields write to
    size_t instance_size;       // of the struct that begins with the kind's own (struct receiver, ...)
    const struct field *fields; // rows, ended by one without a name
    // Cross-field checks, adds errors; NULL = none.
    void (*check)(const void *settings, const struct component_check *check);
};

// All modules of one kind; main.c hands them to the service, tests hand in fakes.
struct module_table {
    const struct module *const *items;
    size_t count;
};

// "exporters.otlp_http/eu: KEY: text", at the position of the key.
#define check_error(check, key, ...)                                                                                   \
    fields_error((check)->node, (check)->at, (check)->name, (key), (check)->errors, __VA_ARGS__)

#endif
