// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_env.h"
#include "tests/support/loop_step.h"

#include "base/mem.h"
#include "config/tree.h"
#include "exporters/exporter.h"

#include <stdlib.h>

enum { BUDGET_BYTES = 1 << 30 };

static struct storage *find_storage(void *service, const char *extension_id, struct err *e)
{
    struct fake_env *f = service;
    if (f->storage == NULL)
        err_set(e, ERR_INVALID, "there is no %s", extension_id);
    return f->storage;
}

static struct authenticator *find_authenticator(void *service, const char *extension_id, unsigned role, struct err *e)
{
    struct fake_env *f = service;
    if (f->authenticator == NULL || (f->authenticator_roles & role) == 0) {
        err_set(e, ERR_INVALID, "there is no %s", extension_id);
        return NULL;
    }
    return f->authenticator;
}

static void health(void *service, struct service_health *out)
{
    *out = ((struct fake_env *)service)->health;
}

static bool exporter_health(void *service, size_t i, struct exporter_health *out)
{
    struct fake_env *f = service;
    if (i >= f->exporter_count)
        return false;
    *out = f->exporters[i];
    return true;
}

static void request_stop(void *service, int exit_code)
{
    (void)exit_code;
    ((struct fake_env *)service)->stop_requests++;
}

static void on_stopped(struct instance_owner *owner, struct instance *instance)
{
    (void)owner, (void)instance;
}

void fake_env_init(struct fake_env *f, unsigned workers)
{
    *f = (struct fake_env){.stop_requests = 0};
    loop_init(&f->loop, 0);
    budget_init(&f->budget, BUDGET_BYTES);
    arena_init(&f->arena, 0);
    f->log_stream = open_memstream(&f->log_text, &f->log_len);
    CHECK(f->log_stream != NULL);
    f->log = log_create(&(struct log_options){.level = LOG_DEBUG, .stream = f->log_stream});
    f->owner = (struct instance_owner){&f->loop, on_stopped};
    f->env = (struct component_env){
        .workers = workers_create(workers, 0, 0),
        .budget = &f->budget,
        .metrics = metrics_create(),
        .clock = &clock_system,
        .service = f,
        .listeners = &f->listeners,
        .watches = &f->watches,
        .find_storage = find_storage,
        .find_authenticator = find_authenticator,
        .health = health,
        .exporter_health = exporter_health,
        .request_stop = request_stop,
    };
}

void fake_env_fini(struct fake_env *f)
{
    workers_stop(f->env.workers);
    workers_destroy(&f->env.workers);
    loop_stop(&f->loop);
    loop_fini(&f->loop);
    metrics_destroy(&f->env.metrics);
    log_destroy(&f->log);
    fclose(f->log_stream);
    free(f->log_text);
    arena_fini(&f->arena);
}

const char *fake_env_log(struct fake_env *f)
{
    fflush(f->log_stream);
    return f->log_text != NULL ? f->log_text : "";
}

void fake_env_run_until(struct fake_env *f, bool (*done)(void *arg), void *arg)
{
    while (!done(arg))
        loop_step(&f->loop.uv);
}

// --- settings ---

static bool has_extension(void *arg, const char *id)
{
    (void)id;
    return ((struct fake_env *)arg)->storage != NULL || ((struct fake_env *)arg)->authenticator_roles != 0;
}

static unsigned extension_roles(void *arg, const char *id)
{
    (void)id;
    return ((struct fake_env *)arg)->authenticator_roles;
}

static void add_host(const struct component_check *check, const char *key, const char *host)
{
    (void)check, (void)key, (void)host;
}

static char *messages_text(struct config_errors *errors)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    config_errors_print(errors, out);
    fclose(out);
    config_errors_fini(errors);
    return text;
}

char *fake_settings(struct fake_env *f, enum component_kind kind, const struct module *module, const char *yaml,
                    void **settings_out)
{
    struct config_errors errors;
    config_errors_init(&errors);
    struct config_node *node = config_parse_yaml(&f->arena, bytes_from_text(yaml), "test", &errors);
    const char *name = arena_format(&f->arena, "%s.%s", kind_sections[kind], module->type);
    struct config_position at = {"test", 1, 1};
    *settings_out = arena_alloc(&f->arena, module->settings_size);
    const struct field_target target = {module->fields, *settings_out};
    const struct component_check check = {
        .node = node,
        .at = at,
        .name = name,
        .errors = &errors,
        .has_extension = has_extension,
        .extension_roles = extension_roles,
        .add_host = add_host,
        .arg = f,
    };
    if (node != NULL && fields_decode(&target, 1, node, at, name, &f->arena, &errors) && module->check != NULL)
        module->check(*settings_out, &check);
    return messages_text(&errors);
}

// --- components ---

static void send_by(void *arg, struct send *s)
{
    struct exporter *x = arg;
    x->module->send(x, s);
}

static enum err_code replace_by(void *arg, const struct record *r, const struct verdict *refusal,
                                struct record_list *out, struct err *e)
{
    struct exporter *x = arg;
    return x->module->replace(x, r, refusal, out, e);
}

static void create_queue(struct fake_component *c)
{
    c->queue_settings = (struct queue_settings){.enabled = true, .num_consumers = 10, .queue_size = 1000};
    struct component *component = c->instance.component;
    const struct queue_options options = {
        .settings = &c->queue_settings,
        .retry = &c->retry_settings,
        .loop = &c->env->loop,
        .budget = &c->env->budget,
        .clock = &clock_system,
        .log = component->log,
        .metrics = c->env->env.metrics,
        .exporter_id = component->id,
        .send = send_by,
        .replace = ((struct exporter *)component)->module->replace != NULL ? replace_by : NULL,
        .workers = c->env->env.workers,
        .arg = component,
    };
    c->instance.queue = queue_create(&options);
}

void fake_component_init(struct fake_component *c, struct fake_env *f, enum component_kind kind,
                         const struct module *module, const char *yaml)
{
    *c = (struct fake_component){.env = f};
    struct err e = {0};
    void *settings;
    char *messages = fake_settings(f, kind, module, yaml, &settings);
    if (messages[0] != '\0')
        fputs(messages, stderr);
    CHECK(messages[0] == '\0');
    free(messages);
    c->plan = (struct component_plan){.kind = kind, .id = module->type, .module = module, .settings = settings};
    CHECK(instance_create(&c->instance, &c->plan, &f->loop, &f->env, f->log, &f->arena, &f->owner, &e) == ERR_OK);
    if (kind == KIND_EXPORTER)
        create_queue(c);
}

enum err_code fake_component_start(struct fake_component *c, struct err *e)
{
    return instance_start(&c->instance, e);
}

static bool is_stopped(void *arg)
{
    return ((struct fake_component *)arg)->instance.stopped;
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

void fake_component_fini(struct fake_component *c)
{
    instance_stop(&c->instance);
    fake_env_run_until(c->env, is_stopped, c);
    bool closed = c->instance.queue == NULL;
    if (!closed)
        queue_close(&c->instance.queue, set_true, &closed);
    fake_env_run_until(c->env, is_true, &closed);
    instance_destroy(&c->instance);
}

// --- exporters ---

static void on_verdict(void *arg, enum verdict_moment moment, const struct verdict *verdict)
{
    struct fake_delivery *d = arg;
    CHECK(moment == MOMENT_FINAL && !d->done);
    d->verdict = *verdict;
    d->done = true;
}

void fake_export_begin(struct fake_component *c, struct batch *batch, struct fake_delivery *d)
{
    struct exporter *x = (struct exporter *)c->instance.component;
    struct waiter waiter = {.loop = &c->env->loop, .on_verdict = on_verdict, .arg = d};
    struct record_list records;
    struct err e = {0};
    *d = (struct fake_delivery){.done = false};
    struct delivery delivery = delivery_create(batch_ref(batch), &waiter, &c->env->budget, 0);
    record_list_init(&records);
    if (x->module->encode(x, batch, &records, &e) != ERR_OK) {
        record_list_fini(&records);
        struct verdict refused = verdict_make(VERDICT_REFUSED, "%s", e.text);
        delivery_end(&delivery, &refused);
        return;
    }
    for (struct record *r = record_list_take(&records), *next; r != NULL; r = next) {
        next = r->next;
        ticket_add_record(delivery.ticket, c->instance.queue, r);
    }
    const struct verdict v = record_list_verdict(&records);
    record_list_fini(&records);
    delivery_end(&delivery, &v);
}

static bool delivery_done(void *arg)
{
    return ((struct fake_delivery *)arg)->done;
}

void fake_export_wait(struct fake_component *c, struct fake_delivery *d)
{
    fake_env_run_until(c->env, delivery_done, d);
}

struct verdict fake_export(struct fake_component *c, struct batch *batch)
{
    struct fake_delivery d;
    fake_export_begin(c, batch, &d);
    fake_export_wait(c, &d);
    return d.verdict;
}
