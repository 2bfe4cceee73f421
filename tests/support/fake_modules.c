// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_modules.h"

#include "base/mem.h"
#include "profile/builder.h"

#include <string.h>

enum fail_at { FAIL_NEVER, FAIL_CREATE, FAIL_START };
enum action { ACTION_PASS, ACTION_DROP, ACTION_FAIL, ACTION_MEMORY, ACTION_REFUSE };
enum encode { ENCODE_OK, ENCODE_INVALID, ENCODE_MEMORY };

struct fake_settings { // of all kinds
    int fail, action, answer, encode;
    int64_t batches, failures, records, record_bytes, not_ready;
    struct config_strings endpoints;
};

static const char *const fail_names[] = {"never", "create", "start", NULL};
static const char *const action_names[] = {"pass", "drop", "fail", "memory", "refuse", NULL};
static const char *const answer_names[] = {"ok", "partial", "retry", "refused", "slow", "never", NULL};
static const char *const encode_names[] = {"ok", "invalid", "memory", NULL};

#define SETTING(member) offsetof(struct fake_settings, member)
#define FAIL_ROW                                                                                                       \
    {.name = "fail", .type = FIELD_ENUM, .offset = SETTING(fail), .default_text = "never", .names = fail_names}

static const struct field receiver_fields[] = {
    FAIL_ROW,
    {.name = "batches", .type = FIELD_INT, .offset = SETTING(batches), .default_text = "1"},
    {.name = "endpoints", .type = FIELD_STRING_LIST, .offset = SETTING(endpoints)},
    {.name = NULL},
};
static const struct field processor_fields[] = {
    FAIL_ROW,
    {.name = "action", .type = FIELD_ENUM, .offset = SETTING(action), .default_text = "pass", .names = action_names},
    {.name = NULL},
};
static const struct field gate_fields[] = {
    FAIL_ROW,
    {.name = "action", .type = FIELD_ENUM, .offset = SETTING(action), .default_text = "pass", .names = action_names},
    {.name = "not_ready", .type = FIELD_INT, .offset = SETTING(not_ready), .default_text = "0", .min = -1, .max = 1000},
    {.name = NULL},
};
static const struct field exporter_fields[] = {
    FAIL_ROW,
    {.name = "answer", .type = FIELD_ENUM, .offset = SETTING(answer), .default_text = "ok", .names = answer_names},
    {.name = "encode", .type = FIELD_ENUM, .offset = SETTING(encode), .default_text = "ok", .names = encode_names},
    {.name = "failures", .type = FIELD_INT, .offset = SETTING(failures), .default_text = "0"},
    {.name = "records", .type = FIELD_INT, .offset = SETTING(records), .default_text = "1"},
    {.name = "record_bytes", .type = FIELD_INT, .offset = SETTING(record_bytes), .default_text = "100"},
    {.name = NULL},
};
static const struct field extension_fields[] = {FAIL_ROW, {.name = NULL}};

#define SEEN(world, statement)                                                                                         \
    do {                                                                                                               \
        pthread_mutex_lock(&(world)->lock);                                                                            \
        statement;                                                                                                     \
        pthread_cond_broadcast(&(world)->changed);                                                                     \
        pthread_mutex_unlock(&(world)->lock);                                                                          \
    } while (0)

static enum err_code fail_if(const struct fake_settings *s, enum fail_at at, struct err *e)
{
    return s->fail == (int)at ? err_set(e, ERR_INVALID, "told to fail") : ERR_OK;
}

// --- batches ---

struct batch *fake_batch(uint32_t samples)
{
    struct builder *b = builder_create(0);
    struct sample_writer rows;
    struct observation_writer values;
    sample_writer_init(&rows, b);
    observation_writer_init(&values, b);
    builder_resource(b, NULL, 0, 0, (struct bytes){0});
    builder_scope(b, (struct bytes){0}, (struct bytes){0}, NULL, 0, 0, (struct bytes){0});
    struct profile p = {.sample_type = {builder_string_text(b, "cpu"), builder_string_text(b, "nanoseconds")}};
    for (uint32_t i = 0; i < samples; i++) {
        sample_writer_add(&rows, 0, 0, 0);
        observation_writer_add_value(&values, (int64_t)i);
    }
    p.columns = sample_writer_take(&rows);
    p.observations = observation_writer_take(&values);
    builder_profile(b, &p);
    struct batch *batch;
    struct err e;
    CHECK(builder_finish(b, &batch, &e) == ERR_OK);
    sample_writer_fini(&rows);
    observation_writer_fini(&values);
    builder_destroy(&b);
    return batch;
}

// --- receiver ---

struct fake_receiver {
    struct receiver receiver;
    const struct fake_settings *settings;
    size_t outstanding;
    bool stopping;
};

struct planned_delivery {
    struct job job;
    struct fake_receiver *receiver;
    uint32_t samples;
};

static struct fake_world *receiver_world(const struct receiver *r)
{
    return CONTAINER_OF(r->module, struct fake_world, receiver);
}

static size_t receiver_endpoints(const void *settings, const char *out[RECEIVER_ENDPOINTS])
{
    const struct fake_settings *s = settings;
    for (size_t i = 0; i < s->endpoints.count; i++)
        out[i] = s->endpoints.items[i];
    return s->endpoints.count;
}

static enum err_code receiver_create(struct receiver *self, const void *settings, struct err *e)
{
    ((struct fake_receiver *)self)->settings = settings;
    SEEN(receiver_world(self), receiver_world(self)->seen.created[KIND_RECEIVER]++);
    return fail_if(settings, FAIL_CREATE, e);
}

static void receiver_maybe_stopped(struct fake_receiver *r)
{
    if (r->stopping && r->outstanding == 0)
        component_stopped(&r->receiver.component);
}

static void on_verdict(void *arg, enum verdict_moment moment, const struct verdict *v)
{
    struct planned_delivery *d = arg;
    struct fake_receiver *r = d->receiver;
    struct fake_world *w = receiver_world(&r->receiver);
    CHECK(loop_is_current(r->receiver.component.loop));
    if (moment == MOMENT_HELD) {
        SEEN(w, w->seen.held++);
        return;
    }
    free(d);
    r->outstanding--;
    SEEN(w, w->seen.finals[v->kind]++);
    receiver_maybe_stopped(r);
}

static void run_delivery(struct job *job)
{
    struct planned_delivery *d = (struct planned_delivery *)job;
    struct budget *budget = d->receiver->receiver.component.env->budget;
    struct batch *batch = fake_batch(d->samples);
    size_t charge = batch_memory_bytes(batch);
    if (!budget_try_take(budget, charge))
        charge = 0;
    const struct waiter waiter = {
        .loop = d->receiver->receiver.component.loop, .wants_held = true, .on_verdict = on_verdict, .arg = d};
    consumer_take(d->receiver->receiver.next, delivery_create(batch, &waiter, budget, charge));
}

static enum err_code receiver_start(struct receiver *self, struct err *e)
{
    struct fake_receiver *r = (struct fake_receiver *)self;
    SEEN(receiver_world(self), receiver_world(self)->seen.started[KIND_RECEIVER]++);
    if (fail_if(r->settings, FAIL_START, e) != ERR_OK)
        return e->code;
    for (int64_t i = 0; i < r->settings->batches; i++) {
        struct planned_delivery *d = MEM_NEW(struct planned_delivery);
        *d = (struct planned_delivery){.job.run = run_delivery, .receiver = r, .samples = (uint32_t)i + 1};
        r->outstanding++;
        workers_submit(self->component.env->workers, &d->job);
    }
    return ERR_OK;
}

static void receiver_close(struct receiver *self)
{
    SEEN(receiver_world(self), receiver_world(self)->seen.closed++);
}

static void receiver_stop(struct receiver *self)
{
    struct fake_receiver *r = (struct fake_receiver *)self;
    r->stopping = true;
    SEEN(receiver_world(self), receiver_world(self)->seen.stopped[KIND_RECEIVER]++);
    receiver_maybe_stopped(r);
}

static void receiver_destroy(struct receiver *self)
{
    SEEN(receiver_world(self), receiver_world(self)->seen.destroyed[KIND_RECEIVER]++);
}

// --- processors ---

struct fake_processor {
    struct processor processor;
    const struct fake_settings *settings;
};

static struct fake_world *processor_world(const struct processor *p)
{
    if (p->module->admit != NULL)
        return CONTAINER_OF(p->module, struct fake_world, gate);
    return p->module->serial ? CONTAINER_OF(p->module, struct fake_world, serial)
                             : CONTAINER_OF(p->module, struct fake_world, processor);
}

static enum err_code processor_create(struct processor *self, const void *settings, struct err *e)
{
    ((struct fake_processor *)self)->settings = settings;
    SEEN(processor_world(self), processor_world(self)->seen.created[KIND_PROCESSOR]++);
    return fail_if(settings, FAIL_CREATE, e);
}

static void note_processing(struct processor *self, uint64_t samples)
{
    struct fake_seen *seen = &processor_world(self)->seen;
    if (self->module->serial && ++seen->processing > seen->processing_max)
        seen->processing_max = seen->processing;
    if (seen->processed_count < FAKE_TAKEN_MAX)
        seen->processed[seen->processed_count++] = samples;
}

static enum err_code processor_process(struct processor *self, struct batch **batch, const struct sender *from,
                                       struct err *e)
{
    struct fake_world *w = processor_world(self);
    SEEN(w, (note_processing(self, (*batch)->sample_count), w->seen.sender = *from));
    int action = ((struct fake_processor *)self)->settings->action;
    if (action == ACTION_DROP)
        batch_unref(batch);
    SEEN(w, w->seen.processing -= self->module->serial);
    if (action == ACTION_FAIL)
        return err_set(e, ERR_INVALID, "told to fail");
    return action == ACTION_MEMORY ? err_set(e, ERR_MEMORY, "told to be out of memory") : ERR_OK;
}

static void processor_destroy(struct processor *self)
{
    SEEN(processor_world(self), processor_world(self)->seen.destroyed[KIND_PROCESSOR]++);
}

// --- a processor that admits, and is not ready at once ---

struct fake_gate {
    struct fake_processor fake;
    int64_t asked;
};

static enum err_code gate_start(struct processor *self, struct err *e)
{
    SEEN(processor_world(self), processor_world(self)->seen.started[KIND_PROCESSOR]++);
    return fail_if(((struct fake_processor *)self)->settings, FAIL_START, e);
}

static enum err_code gate_ready(struct processor *self, struct err *e)
{
    struct fake_gate *g = (struct fake_gate *)self;
    int64_t not_ready = g->fake.settings->not_ready;
    if (not_ready < 0)
        return err_set(e, g->asked++ == 0 ? ERR_UNAVAILABLE : ERR_IO, "never ready");
    return g->asked++ < not_ready ? err_set(e, ERR_UNAVAILABLE, "told to wait") : ERR_OK;
}

static void gate_stop(struct processor *self)
{
    SEEN(processor_world(self), processor_world(self)->seen.stopped[KIND_PROCESSOR]++);
    component_stopped(&self->component);
}

static bool gate_has_room(struct processor *self, struct verdict *refusal)
{
    if (((struct fake_processor *)self)->settings->action != ACTION_REFUSE)
        return true;
    *refusal = verdict_make(VERDICT_RETRY, "the gate is closed");
    refusal->over_limit = true;
    return false;
}

static bool gate_admit(struct processor *self, const struct batch *b, struct verdict *refusal)
{
    SEEN(processor_world(self), note_processing(self, b->sample_count));
    return gate_has_room(self, refusal);
}

// --- exporter ---

struct fake_exporter {
    struct exporter exporter;
    const struct fake_settings *settings;
    int64_t failures;
    struct send *pending[1024];
    size_t pending_count;
    uv_timer_t timer;
    bool has_timer;
};

static struct fake_world *exporter_world(const struct exporter *x)
{
    return CONTAINER_OF(x->module, struct fake_world, exporter);
}

static enum err_code exporter_create(struct exporter *self, const void *settings, struct err *e)
{
    struct fake_exporter *x = (struct fake_exporter *)self;
    x->settings = settings;
    x->failures = x->settings->failures;
    SEEN(exporter_world(self), exporter_world(self)->seen.created[KIND_EXPORTER]++);
    return fail_if(settings, FAIL_CREATE, e);
}

static enum err_code exporter_start(struct exporter *self, struct err *e)
{
    struct fake_exporter *x = (struct fake_exporter *)self;
    SEEN(exporter_world(self), exporter_world(self)->seen.started[KIND_EXPORTER]++);
    CHECK(uv_timer_init(&self->component.loop->uv, &x->timer) == 0);
    x->timer.data = x;
    x->has_timer = true;
    return fail_if(x->settings, FAIL_START, e);
}

static enum err_code exporter_encode(struct exporter *self, const struct batch *batch, struct record_list *out,
                                     struct err *e)
{
    const struct fake_settings *s = ((struct fake_exporter *)self)->settings;
    SEEN(exporter_world(self), exporter_world(self)->seen.encoded++);
    for (int64_t i = 0; i < s->records; i++) {
        struct record *r = record_create(mem_alloc((size_t)s->record_bytes), (size_t)s->record_bytes);
        r->samples = batch->sample_count;
        r->profiles = batch->profile_count;
        record_list_add(out, r);
    }
    if (s->encode == ENCODE_INVALID)
        return err_set(e, ERR_INVALID, "told to fail");
    return s->encode == ENCODE_MEMORY ? err_set(e, ERR_MEMORY, "told to be out of memory") : ERR_OK;
}

static void note_taken(struct fake_seen *seen, uint64_t samples)
{
    if (seen->taken_count < FAKE_TAKEN_MAX)
        seen->taken[seen->taken_count++] = samples;
}

static void answer_now(struct fake_exporter *x, struct send *s, enum verdict_kind kind)
{
    struct fake_world *w = exporter_world(&x->exporter);
    struct verdict v = verdict_make(kind, "as told");
    v.rejected_profiles = kind == VERDICT_PARTIAL;
    if (kind <= VERDICT_PARTIAL)
        SEEN(w, note_taken(&w->seen, send_record(s)->samples));
    send_done(s, &v);
}

// The test has changed its mind about peers that never answer.
static void on_never(uv_timer_t *timer)
{
    struct fake_exporter *x = timer->data;
    int answer = atomic_load(&exporter_world(&x->exporter)->answer);
    if (answer < 0 || answer >= FAKE_SLOW)
        return;
    uv_timer_stop(timer);
    while (x->pending_count != 0)
        answer_now(x, x->pending[--x->pending_count], (enum verdict_kind)answer);
}

static void on_slow(uv_timer_t *timer)
{
    struct fake_exporter *x = timer->data;
    struct send *s = x->pending[--x->pending_count];
    if (x->pending_count != 0)
        uv_timer_start(timer, on_slow, 0, 0);
    answer_now(x, s, VERDICT_OK);
}

static void exporter_send(struct exporter *self, struct send *s)
{
    struct fake_exporter *x = (struct fake_exporter *)self;
    struct fake_world *w = exporter_world(self);
    CHECK(loop_is_current(self->component.loop));
    SEEN(w, w->seen.sends++);
    int answer = atomic_load(&w->answer);
    if (answer < 0)
        answer = x->failures > 0 ? FAKE_RETRY : x->settings->answer;
    x->failures -= x->failures > 0;
    if (answer < FAKE_SLOW) {
        answer_now(x, s, (enum verdict_kind)answer);
        return;
    }
    CHECK(x->pending_count < COUNT_OF(x->pending));
    x->pending[x->pending_count++] = s;
    SEEN(w, w->seen.unanswered++);
    if (answer == FAKE_SLOW)
        uv_timer_start(&x->timer, on_slow, 1, 0);
    else
        uv_timer_start(&x->timer, on_never, 1, 1);
}

static void exporter_cancel(struct exporter *self)
{
    struct fake_exporter *x = (struct fake_exporter *)self;
    SEEN(exporter_world(self), exporter_world(self)->seen.cancelled++);
    uv_timer_stop(&x->timer);
    while (x->pending_count != 0)
        answer_now(x, x->pending[--x->pending_count], VERDICT_RETRY);
}

static void on_timer_closed(uv_handle_t *handle)
{
    component_stopped(&((struct fake_exporter *)handle->data)->exporter.component);
}

static void exporter_stop(struct exporter *self)
{
    struct fake_exporter *x = (struct fake_exporter *)self;
    CHECK(x->pending_count == 0);
    SEEN(exporter_world(self), exporter_world(self)->seen.stopped[KIND_EXPORTER]++);
    uv_close((uv_handle_t *)&x->timer, on_timer_closed);
}

static void exporter_destroy(struct exporter *self)
{
    SEEN(exporter_world(self), exporter_world(self)->seen.destroyed[KIND_EXPORTER]++);
}

// --- extension ---

struct fake_extension {
    struct extension extension;
    const struct fake_settings *settings;
};

static struct fake_world *extension_world(const struct extension *x)
{
    return CONTAINER_OF(x->module, struct fake_world, extension);
}

static enum err_code extension_create(struct extension *self, const void *settings, struct err *e)
{
    ((struct fake_extension *)self)->settings = settings;
    SEEN(extension_world(self), extension_world(self)->seen.created[KIND_EXTENSION]++);
    return fail_if(settings, FAIL_CREATE, e);
}

static enum err_code extension_start(struct extension *self, struct err *e)
{
    SEEN(extension_world(self), extension_world(self)->seen.started[KIND_EXTENSION]++);
    return fail_if(((struct fake_extension *)self)->settings, FAIL_START, e);
}

static void extension_stop(struct extension *self)
{
    struct fake_seen *seen = &extension_world(self)->seen;
    size_t used = atomic_load(&self->component.env->budget->used);
    SEEN(extension_world(self), (seen->stopped[KIND_EXTENSION]++, seen->budget_at_end = used));
    component_stopped(&self->component);
}

static void extension_destroy(struct extension *self)
{
    SEEN(extension_world(self), extension_world(self)->seen.destroyed[KIND_EXTENSION]++);
}

// --- the world ---

static int64_t read_wall(const struct clock *c)
{
    return atomic_load(&CONTAINER_OF(c, struct fake_world, clock)->wall_nanos);
}

static int64_t read_monotonic(const struct clock *c)
{
    return atomic_load(&CONTAINER_OF(c, struct fake_world, clock)->monotonic_nanos);
}

static struct module describe(const char *type, size_t instance_size, const struct field *fields)
{
    return (struct module){.type = type,
                           .help = "Does as the test says.",
                           .settings_size = sizeof(struct fake_settings),
                           .instance_size = instance_size,
                           .fields = fields};
}

static void fill_modules(struct fake_world *w)
{
    w->receiver = (struct receiver_module){.module = describe("fake", sizeof(struct fake_receiver), receiver_fields),
                                           .transports = {"test"},
                                           .endpoints = receiver_endpoints,
                                           .create = receiver_create,
                                           .start = receiver_start,
                                           .close = receiver_close,
                                           .stop = receiver_stop,
                                           .destroy = receiver_destroy};
    w->processor =
        (struct processor_module){.module = describe("fake", sizeof(struct fake_processor), processor_fields),
                                  .create = processor_create,
                                  .process = processor_process,
                                  .destroy = processor_destroy};
    w->serial = w->processor;
    w->serial.module.type = "serial";
    w->serial.serial = true;
    w->gate = (struct processor_module){.module = describe("gate", sizeof(struct fake_gate), gate_fields),
                                        .create = processor_create,
                                        .start = gate_start,
                                        .ready = gate_ready,
                                        .stop = gate_stop,
                                        .admit = gate_admit,
                                        .has_room = gate_has_room,
                                        .destroy = processor_destroy};
    w->exporter = (struct exporter_module){.module = describe("fake", sizeof(struct fake_exporter), exporter_fields),
                                           .create = exporter_create,
                                           .start = exporter_start,
                                           .encode = exporter_encode,
                                           .send = exporter_send,
                                           .cancel = exporter_cancel,
                                           .stop = exporter_stop,
                                           .destroy = exporter_destroy};
    w->extension =
        (struct extension_module){.module = describe("fake", sizeof(struct fake_extension), extension_fields),
                                  .create = extension_create,
                                  .start = extension_start,
                                  .stop = extension_stop,
                                  .destroy = extension_destroy};
}

void fake_world_init(struct fake_world *w)
{
    memset(w, 0, sizeof *w);
    fill_modules(w);
    w->receivers[0] = &w->receiver.module;
    w->processors[0] = &w->processor.module;
    w->processors[1] = &w->serial.module;
    w->processors[2] = &w->gate.module;
    w->exporters[0] = &w->exporter.module;
    w->extensions[0] = &w->extension.module;
    w->modules.kinds[KIND_RECEIVER] = (struct module_table){w->receivers, 1};
    w->modules.kinds[KIND_PROCESSOR] = (struct module_table){w->processors, COUNT_OF(w->processors)};
    w->modules.kinds[KIND_EXPORTER] = (struct module_table){w->exporters, 1};
    w->modules.kinds[KIND_EXTENSION] = (struct module_table){w->extensions, 1};
    w->clock = (struct clock){read_wall, read_monotonic};
    atomic_init(&w->wall_nanos, 1700000000 * NANOS_PER_SECOND);
    atomic_init(&w->monotonic_nanos, 1000 * NANOS_PER_SECOND);
    atomic_init(&w->answer, -1);
    CHECK(pthread_mutex_init(&w->lock, NULL) == 0);
    CHECK(pthread_cond_init(&w->changed, NULL) == 0);
}

void fake_world_fini(struct fake_world *w)
{
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
}

struct fake_seen fake_world_seen(struct fake_world *w)
{
    pthread_mutex_lock(&w->lock);
    struct fake_seen seen = w->seen;
    pthread_mutex_unlock(&w->lock);
    return seen;
}

void fake_world_advance(struct fake_world *w, int64_t nanos)
{
    atomic_fetch_add(&w->wall_nanos, nanos);
    atomic_fetch_add(&w->monotonic_nanos, nanos);
}

void fake_world_add_receiver(struct fake_world *w, const struct receiver_module *m)
{
    w->receivers[1] = &m->module;
    w->modules.kinds[KIND_RECEIVER].count = 2;
}

void fake_world_add_extension(struct fake_world *w, const struct extension_module *m)
{
    w->extensions[1] = &m->module;
    w->modules.kinds[KIND_EXTENSION].count = 2;
}

void fake_world_wait(struct fake_world *w, bool (*holds)(void *arg), void *arg)
{
    const int64_t deadline = clock_monotonic_nanos(&clock_system) + 60 * NANOS_PER_SECOND;
    while (!holds(arg)) {
        CHECK(clock_monotonic_nanos(&clock_system) < deadline);
        // Metrics change without a signal: look again soon.
        int64_t until = clock_wall_nanos(&clock_system) + NANOS_PER_MS;
        struct timespec t = {(time_t)(until / NANOS_PER_SECOND), (long)(until % NANOS_PER_SECOND)};
        pthread_mutex_lock(&w->lock);
        pthread_cond_timedwait(&w->changed, &w->lock, &t);
        pthread_mutex_unlock(&w->lock);
    }
}

// --- the service ---

static void on_ready(void *arg, struct service *s)
{
    struct fake_service *f = arg;
    SEEN(f->world, (f->service = s, f->metrics = service_metrics(s)));
}

static void *run_service(void *arg)
{
    struct fake_service *f = arg;
    const struct service_options options = {
        .plan = &f->plan, .clock = f->clock, .log_stream = f->log_stream, .on_ready = on_ready, .arg = f};
    int exit_code = service_run(&options);
    SEEN(f->world, (f->exit_code = exit_code, f->ended = true));
    return NULL;
}

void fake_service_start(struct fake_service *f, struct fake_world *w, const struct clock *clock, const char *yaml)
{
    *f = (struct fake_service){.world = w, .clock = clock};
    struct config_errors errors;
    config_errors_init(&errors);
    arena_init(&f->arena, 0);
    const struct config_node *root = config_parse_yaml(&f->arena, bytes_from_text(yaml), "test.yaml", &errors);
    bool planned = root != NULL && plan_make(&f->plan, &w->modules, root, &errors);
    config_errors_print(&errors, stderr);
    config_errors_fini(&errors);
    CHECK(planned);
    f->log_stream = open_memstream(&f->log, &f->log_size);
    CHECK(f->log_stream != NULL);
    CHECK(pthread_create(&f->thread, NULL, run_service, f) == 0);
}

static bool is_ready(void *arg)
{
    struct fake_service *f = arg;
    pthread_mutex_lock(&f->world->lock);
    bool ready = f->service != NULL || f->ended;
    pthread_mutex_unlock(&f->world->lock);
    return ready;
}

void fake_service_wait_ready(struct fake_service *f)
{
    fake_world_wait(f->world, is_ready, f);
}

int64_t fake_service_counter(struct fake_service *f, const char *name, const char *label, const char *value,
                             const char *label2, const char *value2)
{
    const struct metric_label labels[] = {{label, value}, {label2, value2}};
    size_t count = label == NULL ? 0 : label2 == NULL ? 1 : 2;
    // The registry keeps the descriptor of a name it does not know yet.
    struct metric_family *family = arena_alloc(&f->arena, sizeof *family);
    *family =
        (struct metric_family){arena_copy_text(&f->arena, name, strlen(name)), "Asked for by a test.", METRIC_COUNTER};
    return metric_get(metrics_series(f->metrics, family, labels, count));
}

void fake_service_stop(struct fake_service *f)
{
    service_stop(f->service, 0);
}

int fake_service_join(struct fake_service *f)
{
    CHECK(pthread_join(f->thread, NULL) == 0);
    fclose(f->log_stream);
    return f->exit_code;
}

void fake_service_fini(struct fake_service *f)
{
    free(f->log);
    plan_fini(&f->plan);
    arena_fini(&f->arena);
}
