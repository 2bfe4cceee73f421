// SPDX-License-Identifier: Apache-2.0
// What a list of ten rules costs a profile, whatever its size.
#include "bench/bench.h"

#include "base/mem.h"
#include "processors/processors.h"
#include "profile/builder.h"
#include "tests/support/fake_env.h"

#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 7, REPEATS = 2000, MAX_MICROSECONDS = 2 };

static const char relabel_yaml[] =
    "rules:\n"
    "- {source_labels: [process_executable_path], regex: '.*/([^/]+)', target_label: service_name}\n"
    "- {source_labels: [k8s_namespace_name, k8s_pod_label_app], separator: /, regex: '(.+)/(.+)',\n"
    "   target_label: app, replacement: $1-$2}\n"
    "- {action: drop, source_labels: [k8s_namespace_name], regex: kube-system|kube-public}\n"
    "- {action: keep, source_labels: [deployment_environment_name], regex: prod|staging}\n"
    "- {action: labelmap, regex: k8s_pod_label_(.+)}\n"
    "- {action: lowercase, source_labels: [host_name], target_label: host_name}\n"
    "- {target_label: cluster, replacement: eu-1}\n"
    "- {action: labeldrop, regex: process_command_args|process_pid}\n"
    "- {source_labels: [service_version], regex: 'v?(\\d+)\\..*', target_label: major}\n"
    "- {action: labeldrop, regex: k8s_pod_label_.*}\n";

static const char resource_yaml[] = "attributes:\n"
                                    "- {key: service.name, action: upsert, from_attribute: k8s.pod.label.app}\n"
                                    "- {key: cluster, action: insert, value: eu-1}\n"
                                    "- {key: host.name, action: update, value: node}\n"
                                    "- {key: process.command_args, action: delete}\n"
                                    "- {key: process.pid, action: convert, converted_type: string}\n"
                                    "- {key: team, action: upsert, value: shop}\n"
                                    "- {key: k8s.pod.label.app, action: delete}\n"
                                    "- {key: k8s.pod.label.team, action: delete}\n"
                                    "- {key: major, action: insert, value: 3}\n"
                                    "- {key: none, action: delete}\n";

// --- a processor without a service ---

// What components of a service share, as far as processors need it.
static const struct component_env *bench_env(struct arena *arena)
{
    struct component_env *env = arena_alloc(arena, sizeof *env);
    env->budget = arena_alloc(arena, sizeof *env->budget);
    env->clock = &clock_system;
    env->metrics = metrics_create();
    budget_init(env->budget, SIZE_MAX / 4);
    return env;
}

struct processor *bench_create_processor(struct arena *arena, const struct processor_module *m, const char *yaml)
{
    struct config_errors errors;
    struct err e;
    config_errors_init(&errors);
    struct config_node *node = config_parse_yaml(arena, bytes_from_text(yaml), "bench", &errors);
    const struct field_target target = {m->module.fields, arena_alloc(arena, m->module.settings_size)};
    CHECK(node != NULL &&
          fields_decode(&target, 1, node, (struct config_position){"bench", 1, 1}, "bench", arena, &errors));
    config_errors_fini(&errors);
    struct processor *p = arena_alloc(arena, m->module.instance_size);
    p->module = m;
    p->component = (struct component){.kind = "processor", .id = m->module.type, .env = bench_env(arena)};
    CHECK(m->create(p, target.settings, &e) == ERR_OK);
    return p;
}

void bench_destroy_processor(struct processor *p)
{
    struct metrics *metrics = p->component.env->metrics;
    p->module->destroy(p);
    metrics_destroy(&metrics);
}

uint32_t bench_text_attribute(struct builder *b, const char *key, const char *format, uint32_t number)
{
    char text[32];
    snprintf(text, sizeof text, format, number);
    const struct value v = value_string(bytes_from_text(text));
    return builder_attribute(b, builder_string_text(b, key), 0, &v);
}

// --- one profile ---

#define PAIR(name, text)                                                                                               \
    {                                                                                                                  \
        BYTES_LITERAL(name),                                                                                           \
        {                                                                                                              \
            .kind = VALUE_STRING, .bytes = BYTES_LITERAL(text)                                                         \
        }                                                                                                              \
    }

static void add_samples(struct builder *b, uint32_t count)
{
    struct sample_writer samples;
    struct observation_writer observations;
    sample_writer_init(&samples, b);
    observation_writer_init(&observations, b);
    for (uint32_t i = 0; i < count; i++) {
        const struct value v = value_int(i % 100);
        uint32_t attribute = builder_attribute(b, builder_string_text(b, "thread.id"), 0, &v);
        sample_writer_add(&samples, 0, builder_attribute_set(b, &attribute, 1), 0);
        observation_writer_add_value(&observations, 1);
    }
    struct profile p = {.columns = sample_writer_take(&samples),
                        .observations = observation_writer_take(&observations)};
    builder_profile(b, &p);
    sample_writer_fini(&samples);
    observation_writer_fini(&observations);
}

static struct batch *make_batch(uint32_t samples, int64_t pid)
{
    const struct key_value attributes[] = {
        PAIR("service.name", "unknown_service"),
        PAIR("service.version", "v3.14.1"),
        PAIR("host.name", "Node-17.example.com"),
        PAIR("process.executable.path", "/usr/local/bin/checkout"),
        {BYTES_LITERAL("process.pid"), value_int(pid)},
        PAIR("process.command_args", "/usr/local/bin/checkout --port 8080"),
        PAIR("deployment.environment.name", "prod"),
        PAIR("k8s.namespace.name", "shop"),
        PAIR("k8s.pod.name", "checkout-6d4cf56db6-x7x2p"),
        PAIR("k8s.node.name", "ip-10-0-3-17"),
        PAIR("k8s.pod.label.app", "checkout"),
        PAIR("k8s.pod.label.team", "payments"),
    };
    const struct bytes nothing = {NULL, 0};
    struct builder *b = builder_create(0);
    struct batch *batch;
    struct err e;
    builder_resource(b, attributes, COUNT_OF(attributes), 0, nothing);
    builder_scope(b, nothing, nothing, NULL, 0, 0, nothing);
    add_samples(b, samples);
    CHECK(builder_finish(b, &batch, &e) == ERR_OK);
    builder_destroy(&b);
    return batch;
}

// --- measuring ---

static void run_process(void *arg)
{
    const struct bench_work *w = arg;
    for (unsigned i = 0; i < w->repeats; i++) {
        struct batch *from = w->batches[i % w->batch_count], *b = batch_ref(from);
        struct err e;
        CHECK(w->processor->module->process(w->processor, &b, &(const struct sender){0}, &e) == ERR_OK);
        CHECK(b != from || !w->must_change);
        batch_unref(&b);
    }
}

double bench_process_seconds(const struct bench_work *w)
{
    struct bench_work work = *w;
    return best_cpu_seconds(RUNS, run_process, &work) / w->repeats;
}

static struct batch **make_batches(uint32_t samples, size_t count)
{
    struct batch **batches = mem_try_array(count, sizeof *batches);
    CHECK(batches != NULL);
    for (size_t i = 0; i < count; i++)
        batches[i] = make_batch(samples, (int64_t)i);
    return batches;
}

static void drop_batches(struct batch **batches, size_t count)
{
    for (size_t i = 0; i < count; i++)
        batch_unref(&batches[i]);
    free(batches);
}

// `resources` of them in turns: with one, what is known from the time before is found again.
static void measure_batches(struct processor *processor, const char *what, uint32_t samples, size_t resources)
{
    struct batch **batches = make_batches(samples, resources);
    char input[64], metric[64];
    double seconds = bench_process_seconds(&(struct bench_work){processor, batches, resources, REPEATS, true});
    snprintf(input, sizeof input, "12 attributes, %u samples", samples);
    snprintf(metric, sizeof metric, "%s, %s%s, us", processor->module->module.type, what,
             resources > 1 ? ", all new" : "");
    const double limit = resources > 1 ? 0 : MAX_MICROSECONDS;
    const struct row r = {"processors (one thread, best of 7)", input, metric, seconds * 1e6, limit, false};
    report_row(&r);
    drop_batches(batches, resources);
}

static void measure(const struct processor_module *m, const char *yaml, const char *what, uint32_t samples,
                    size_t resources)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct processor *p = bench_create_processor(&arena, m, yaml);
    measure_batches(p, what, samples, resources);
    bench_destroy_processor(p);
    arena_fini(&arena);
}

// --- what is found out first ---

static bool is_ready(void *arg)
{
    struct processor *p = arg;
    return p->module->ready(p, NULL) == ERR_OK;
}

static void measure_detection(uint32_t samples)
{
    struct fake_env env;
    struct fake_component c;
    struct err e;
    CHECK(setenv("OTEL_RESOURCE_ATTRIBUTES", "cloud.provider=aws,cloud.region=eu-central-1,host.name=node-1", 1) == 0);
    fake_env_init(&env, 1);
    fake_component_init(&c, &env, KIND_PROCESSOR, &resource_detection_processor.module, "{}");
    CHECK(fake_component_start(&c, &e) == ERR_OK);
    fake_env_run_until(&env, is_ready, c.instance.component);
    measure_batches((struct processor *)c.instance.component, "three attributes", samples, 1);
    fake_component_fini(&c);
    fake_env_fini(&env);
}

// --- what is put together ---

enum { JOINED = 20, JOIN_REPEATS = 20 };

struct bench_join {
    struct processor *processor;
    struct batch **batches;
};

static void run_join(void *arg)
{
    struct bench_join *j = arg;
    for (int i = 0; i < JOIN_REPEATS; i++) {
        struct batch **parts;
        size_t count;
        struct err e;
        CHECK(j->processor->module->join(j->processor, j->batches, JOINED, &parts, &count, &e) == ERR_OK);
        while (count-- > 0)
            batch_unref(&parts[count]);
        free(parts);
    }
}

static void measure_join(const struct processor_module *m, uint32_t samples)
{
    struct batch *batches[JOINED];
    struct arena arena;
    char input[64], metric[64];
    for (size_t i = 0; i < JOINED; i++)
        batches[i] = make_batch(samples, 1);
    arena_init(&arena, 0);
    struct bench_join j = {bench_create_processor(&arena, m, "{}"), batches};
    double nanos = best_cpu_seconds(RUNS, run_join, &j) / JOIN_REPEATS / JOINED * 1e9;
    snprintf(input, sizeof input, "%d profiles, %u samples each", JOINED, samples);
    snprintf(metric, sizeof metric, "%s, ns per %s", m->module.type, samples == 1 ? "profile" : "sample");
    const struct row r = {"processors (one thread, best of 7)", input, metric, nanos / samples, 0, false};
    report_row(&r);
    bench_destroy_processor(j.processor);
    arena_fini(&arena);
    for (size_t i = 0; i < JOINED; i++)
        batch_unref(&batches[i]);
}

// --- what is let in ---

static void run_admit(void *arg)
{
    const struct bench_work *w = arg;
    for (unsigned i = 0; i < w->repeats; i++) {
        struct verdict refusal;
        CHECK(w->processor->module->admit(w->processor, w->batches[i % w->batch_count], &refusal));
    }
}

static void measure_admit(const struct processor_module *m, const char *yaml, const char *what, size_t resources)
{
    struct batch **batches = make_batches(1, resources);
    struct arena arena;
    char metric[64];
    arena_init(&arena, 0);
    struct bench_work w = {bench_create_processor(&arena, m, yaml), batches, resources, REPEATS, false};
    double seconds = best_cpu_seconds(RUNS, run_admit, &w) / w.repeats;
    snprintf(metric, sizeof metric, "%s%s, ns per delivery", m->module.type, what);
    const struct row r = {
        "processors (one thread, best of 7)", "12 attributes, 1 profile", metric, seconds * 1e9, 0, false};
    report_row(&r);
    bench_destroy_processor(w.processor);
    arena_fini(&arena);
    drop_batches(batches, resources);
}

void bench_processors(void)
{
    static const uint32_t sizes[] = {100, 100000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        measure(&relabel_processor, relabel_yaml, "ten rules", sizes[i], 1);
        measure(&resource_processor, resource_yaml, "ten rules", sizes[i], 1);
        measure(&service_name_processor, "{}", "by executable", sizes[i], 1);
        measure_detection(sizes[i]);
    }
    measure(&relabel_processor, relabel_yaml, "ten rules", 10, REPEATS);
    measure(&resource_processor, resource_yaml, "ten rules", 10, REPEATS);
    bench_sample_processors();
    bench_k8s_attributes();
    measure_admit(&memory_limiter_processor, "limit_mib: 100", "", 1);
    measure_admit(&rate_limit_processor, "limits: [{attribute: service.name, profiles: 1000000000}]", "", 1);
    measure_admit(&rate_limit_processor, "limits: [{attribute: process.pid, samples: 1000000000}]", ", 2000 values",
                  REPEATS);
    measure_admit(&rate_limit_processor,
                  "limits: [{attribute: service.name, profiles: 1000000000, samples: 1000000000},"
                  " {attribute: host.name, bytes: 1000000000000}]",
                  ", two limits with bytes", 1);
    for (size_t i = 0; i < 2; i++) {
        measure_join(&batch_processor, i == 0 ? 1 : 10000);
        measure_join(&aggregate_processor, i == 0 ? 1 : 10000);
    }
}
