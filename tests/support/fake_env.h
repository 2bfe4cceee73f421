// SPDX-License-Identifier: Apache-2.0
// What the service offers to components, for a test of one: a real loop (of the test's thread), workers, a
// budget, metrics, a log in memory; and the component itself, made from YAML like a configured one.
#ifndef TESTS_SUPPORT_FAKE_ENV_H
#define TESTS_SUPPORT_FAKE_ENV_H

#include "pipeline/consumer.h"
#include "pipeline/instance.h"
#include "pipeline/queue.h"

#include <stdio.h>

struct fake_env {
    struct loop loop;
    struct component_env env;
    struct shared_listener *listeners;
    struct kube_watches *watches;
    struct budget budget;
    struct log *log;
    FILE *log_stream;
    char *log_text;
    size_t log_len;
    struct arena arena;
    struct instance_owner owner;
    struct storage *storage;             // what find_storage gives; NULL = "there is none"
    struct authenticator *authenticator; // the same for find_authenticator
    unsigned authenticator_roles;        // of it, also for checks
    struct service_health health;        // what the service and its exporters are said to do
    const struct exporter_health *exporters;
    size_t exporter_count;
    int stop_requests;
};

void fake_env_init(struct fake_env *f, unsigned workers);
void fake_env_fini(struct fake_env *f);       // every component must be destroyed
const char *fake_env_log(struct fake_env *f); // all lines so far; valid until the next line
// Runs the loop until done(arg); the test's own timeout ends a wait for what never comes.
void fake_env_run_until(struct fake_env *f, bool (*done)(void *arg), void *arg);

// The settings of a module from YAML, checked as `validate` does. Returns the messages (free() them), "" if
// there are none; *settings_out lives as long as f.
char *fake_settings(struct fake_env *f, enum component_kind kind, const struct module *module, const char *yaml,
                    void **settings_out);

struct fake_component {
    struct fake_env *env;
    struct component_plan plan;
    struct instance instance;
    struct queue_settings queue_settings;
    struct retry_settings retry_settings;
};

// Creates it (with a queue for exporters, without retries). The YAML must be good and create must succeed.
// In place: do not copy it afterwards.
void fake_component_init(struct fake_component *c, struct fake_env *f, enum component_kind kind,
                         const struct module *module, const char *yaml);
enum err_code fake_component_start(struct fake_component *c, struct err *e) MUST_USE;
// Stops and destroys; also after a failed start.
void fake_component_fini(struct fake_component *c);

// As the end of a pipeline: encodes and sends everything, waits for the final verdict.
struct verdict fake_export(struct fake_component *c, struct batch *batch);

// Several at once, in order: begin each, then wait.
struct fake_delivery {
    bool done;
    struct verdict verdict;
};
void fake_export_begin(struct fake_component *c, struct batch *batch, struct fake_delivery *d);
void fake_export_wait(struct fake_component *c, struct fake_delivery *d);

#endif
