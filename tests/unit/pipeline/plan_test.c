// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/fake_modules.h"

#include <stdlib.h>
#include <string.h>

static const char *const aliases[] = {"fake_old", "fakeold", NULL};

struct planned {
    struct fake_world world;
    struct arena arena;
    struct config_errors errors;
    struct plan plan;
    bool good;
    char *messages;
};

static void plan_checked(struct planned *p, const char *yaml,
                         void (*check)(const void *settings, const struct component_check *check))
{
    fake_world_init(&p->world);
    p->world.exporter.module.aliases = aliases;
    p->world.exporter.module.check = check;
    arena_init(&p->arena, 0);
    config_errors_init(&p->errors);
    const struct config_node *root = config_parse_yaml(&p->arena, bytes_from_text(yaml), "c.yaml", &p->errors);
    assert_non_null(root);
    p->good = plan_make(&p->plan, &p->world.modules, root, &p->errors);
    size_t len;
    FILE *out = open_memstream(&p->messages, &len);
    config_errors_print(&p->errors, out);
    fclose(out);
}

static void plan_text(struct planned *p, const char *yaml)
{
    plan_checked(p, yaml, NULL);
}

static void planned_fini(struct planned *p)
{
    free(p->messages);
    plan_fini(&p->plan);
    config_errors_fini(&p->errors);
    arena_fini(&p->arena);
    fake_world_fini(&p->world);
}

struct message_case {
    const char *yaml, *messages;
};

static const struct message_case cases[] = {
    {"receivers: {fake: }\n"
     "exporters: {fake: }\n"
     "service: {pipelines: {profiles: {receivers: [fake], exporters: [fake]}}}\n",
     ""},
    {"", "c.yaml:1:1: the configuration is empty: it needs receivers, exporters and service\n"
         "c.yaml:1:1: service.pipelines: there is no profiles pipeline; add profiles: {receivers: [...], exporters: "
         "[...]}\n"},
    {"receivers: [a]\n"
     "service: x\n",
     "c.yaml:1:12: receivers: expected a map of component ids\n"
     "c.yaml:2:10: service: expected a map\n"
     "c.yaml:2:10: service.pipelines: there is no profiles pipeline; add profiles: {receivers: [...], exporters: "
     "[...]}\n"},
    {"reciever: {fake: }\n"
     "exporters: {fake: }\n"
     "service: {pipelines: {profiles: {receivers: [fake], exporters: [fake]}}}\n",
     "c.yaml:1:1: unknown section \"reciever\", did you mean \"receivers\"?\n"
     "c.yaml:3:46: service.pipelines.profiles: references receiver \"fake\" which is not configured; add it under "
     "receivers:\n"},
    {"receivers: {fake: }\n"
     "exporters: {fake: }\n",
     "c.yaml:1:1: service.pipelines: there is no profiles pipeline; add profiles: {receivers: [...], exporters: "
     "[...]}\n"},
    {"receivers: {fake: }\n"
     "exporters: {fake: }\n"
     "service:\n"
     "  pipelines:\n"
     "    profiles:\n",
     "c.yaml:5:5: service.pipelines.profiles: must have at least one receiver\n"
     "c.yaml:5:5: service.pipelines.profiles: must have at least one exporter\n"},
    {"receivers: {fake: }\n"
     "exporters: {fake: }\n"
     "service:\n"
     "  pipelines:\n"
     "    profiles: {receivers: [], exporters: }\n",
     "c.yaml:5:5: service.pipelines.profiles: must have at least one receiver\n"
     "c.yaml:5:5: service.pipelines.profiles: must have at least one exporter\n"},
    {"receivers: {fake: }\n"
     "exporters: {fake: }\n"
     "service:\n"
     "  pipelines:\n"
     "    profiles: {receivers: fake, exporters: [[fake]], exporter: [fake]}\n",
     "c.yaml:5:27: service.pipelines.profiles.receivers: expected a list of ids such as [a, b]\n"
     "c.yaml:5:45: service.pipelines.profiles.exporters: expected the id of a component\n"
     "c.yaml:5:54: service.pipelines.profiles: unknown key \"exporter\", did you mean \"exporters\"?\n"},
    {"receivers: {fake: }\n"
     "exporters: {fake/out: }\n"
     "service:\n"
     "  pipelines:\n"
     "    profiles:\n"
     "      receivers: [fake]\n"
     "      exporters: [fake/uot, fake]\n",
     "c.yaml:7:19: service.pipelines.profiles: references exporter \"fake/uot\" which is not configured, did you mean "
     "\"fake/out\"?\n"
     "c.yaml:7:29: service.pipelines.profiles: references exporter \"fake\" which is not configured; add it under "
     "exporters:\n"},
    {"receivers: {faek: , weird/1: }\n"
     "exporters: {fake: }\n"
     "service:\n"
     "  pipelines:\n"
     "    profiles: {receivers: [faek, weird/1], exporters: [fake]}\n"
     "    profiles/2: {receivers: [faek], exporters: [fake]}\n",
     "c.yaml:1:13: receivers.faek: unknown type \"faek\", did you mean \"fake\"?\n"
     "c.yaml:1:21: receivers.weird/1: unknown type \"weird\"; `profrelay components` lists those there are\n"
     "c.yaml:6:5: service.pipelines.profiles/2: must have at least one receiver\n"},
    {"receivers: {fake: }\n"
     "exporters: {fake: }\n"
     "service:\n"
     "  pipelines:\n"
     "    profiles: {receivers: [fake, fake], exporters: [fake]}\n",
     "c.yaml:5:34: service.pipelines.profiles: references receiver \"fake\" multiple times\n"},
    {"receivers: {fake: {batchs: 3}}\n"
     "exporters:\n"
     "  fake:\n"
     "    answer: maybe\n"
     "    sending_queue: {storage: disk, queue_size: 0}\n"
     "service:\n"
     "  memory_limit: lots\n"
     "  worker: 3\n"
     "  pipelines:\n"
     "    profiles: {receivers: [fake], exporters: [fake]}\n",
     "c.yaml:1:20: receivers.fake: unknown key \"batchs\", did you mean \"batches\"?\n"
     "c.yaml:4:13: exporters.fake: answer: expected one of \"ok\", \"partial\", \"retry\", \"refused\", \"slow\", "
     "\"never\", found \"maybe\"\n"
     "c.yaml:5:21: exporters.fake: sending_queue.storage: queues on disk are not available yet; remove the key\n"
     "c.yaml:5:48: exporters.fake: sending_queue.queue_size: expected 1 to 1000000000000000, found 0\n"
     "c.yaml:7:17: service: memory_limit: expected a size such as 64MiB, found \"lots\"\n"
     "c.yaml:8:3: service: unknown key \"worker\", did you mean \"workers\"?\n"},
    {"receivers: {profiling: }\n"
     "processors: {transform: }\n"
     "exporters: {fake: }\n"
     "extensions: {opamp: }\n"
     "service:\n"
     "  extensions: [opamp]\n"
     "  pipelines:\n"
     "    profiles: {receivers: [profiling], processors: [transform], exporters: [fake]}\n",
     "c.yaml:1:13: receivers.profiling: not available: run the eBPF profiler beside profrelay and send its OTLP here\n"
     "c.yaml:2:14: processors.transform: not available: relabel drops and renames by the rules of Prometheus\n"
     "c.yaml:4:14: warning: extensions.opamp: not available: it is left out\n"},
    {"receivers: {fake: }\n"
     "exporters: {fake: }\n"
     "extensions: {opamp: , zpages: }\n"
     "service:\n"
     "  extensions: [opamp]\n"
     "  pipelines:\n"
     "    profiles: {receivers: [fake], exporters: [fake]}\n"
     "    profiles/2: {receivers: [fake], exporters: [fake]}\n",
     "c.yaml:3:14: warning: extensions.opamp: not available: it is left out\n"},
    {"receivers: {fake: , otlp: , prometheus: {config: {x: [1]}}}\n"
     "processors: {batch: , tail_sampling: }\n"
     "exporters: {fake: , fake/unused: , kafka: }\n"
     "connectors: {spanmetrics: }\n"
     "service:\n"
     "  pipelines:\n"
     "    traces: {receivers: [otlp], processors: [tail_sampling], exporters: [kafka]}\n"
     "    metrics/2: {receivers: [prometheus], exporters: [kafka]}\n"
     "    profiles: {receivers: [fake], exporters: [fake]}\n",
     "warning: left out, no profiles pipeline uses it: pipeline traces, pipeline metrics/2, receiver otlp, receiver "
     "prometheus, processor batch, processor tail_sampling, exporter fake/unused, exporter kafka\n"},
    {"receivers: {fake: }\n"
     "exporters: {fake: }\n"
     "service:\n"
     "  pipelines:\n"
     "    traces: {receivers: [fake], exporters: [fake]}\n"
     "    profile: {receivers: [fake], exporters: [fake]}\n",
     "c.yaml:4:3: service.pipelines: there is no profiles pipeline; add profiles: {receivers: [...], exporters: "
     "[...]}\n"
     "c.yaml:6:5: service.pipelines.profile: unknown signal; profrelay has pipelines named profiles or "
     "profiles/NAME\n"},
    {"receivers: {fake: }\n"
     "exporters: {fake: }\n"
     "service:\n"
     "  extensions: [fake, fake/b]\n"
     "  pipelines:\n"
     "    profiles: {receivers: [fake], exporters: [fake]}\n",
     "c.yaml:4:16: service.extensions: references extension \"fake\" which is not configured; add it under "
     "extensions:\n"
     "c.yaml:4:22: service.extensions: references extension \"fake/b\" which is not configured; add it under "
     "extensions:\n"},
    {"receivers: {fake: }\n"
     "exporters: {fake_old: , fakeold/2: }\n"
     "service:\n"
     "  pipelines:\n"
     "    profiles: {receivers: [fake], exporters: [fake_old, fakeold/2]}\n",
     ""},
};

static void test_messages(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct planned p;
        plan_text(&p, cases[i].yaml);
        if (getenv("SHOW"))
            printf("--- %s>>> %d\n%s", cases[i].yaml, p.good, p.messages);
        else
            assert_string_equal(p.messages, cases[i].messages);
        assert_int_equal(p.good, p.errors.error_count == 0);
        planned_fini(&p);
    }
}

static void test_what_a_plan_holds(void **state)
{
    (void)state;
    struct planned p;
    plan_text(&p, "receivers: {fake: {batches: 7, resource_attributes: {a: b}}, fake/2: , fake/unused: }\n"
                  "processors: {fake: , serial: }\n"
                  "exporters: {fake: {sending_queue: {queue_size: 5}}, fakeold/x: }\n"
                  "extensions: {fake: , fake/off: }\n"
                  "service:\n"
                  "  extensions: [fake]\n"
                  "  memory_limit: 64MiB\n"
                  "  pipelines:\n"
                  "    profiles: {receivers: [fake/2, fake], processors: [serial, fake], exporters: [fake]}\n"
                  "    profiles/b: {receivers: [fake], processors: [fake], exporters: [fake, fakeold/x]}\n");
    assert_true(p.good);
    const struct plan *plan = &p.plan;
    assert_int_equal(plan->components[KIND_RECEIVER].count, 2); // used by both, once
    assert_int_equal(plan->components[KIND_PROCESSOR].count, 2);
    assert_int_equal(plan->components[KIND_EXPORTER].count, 2);
    assert_int_equal(plan->components[KIND_EXTENSION].count, 1);
    assert_int_equal(plan->service.memory_limit, 64 << 20);
    assert_int_equal(plan->service.loops, 1);
    assert_int_equal(plan->pipeline_count, 2);
    const struct pipeline_plan *first = &plan->pipelines[0], *second = &plan->pipelines[1];
    assert_string_equal(first->id, "profiles");
    assert_string_equal(second->id, "profiles/b");
    assert_string_equal(first->receivers.items[0]->id, "fake/2"); // in their order
    assert_ptr_equal(first->receivers.items[1], second->receivers.items[0]);
    assert_ptr_equal(first->processors.items[0]->module, &p.world.serial.module);
    assert_ptr_equal(second->exporters.items[1]->module, &p.world.exporter.module);
    assert_string_equal(second->exporters.items[1]->id, "fakeold/x");
    const struct exporter_settings *x = first->exporters.items[0]->common;
    assert_int_equal(x->queue.queue_size, 5);
    assert_int_equal(x->queue.num_consumers, 10);
    assert_true(x->queue.enabled);
    assert_int_equal(x->retry.initial_interval_nanos, 5 * NANOS_PER_SECOND);
    const struct receiver_settings *r = first->receivers.items[1]->common;
    assert_int_equal(r->resource_attributes.count, 1);
    planned_fini(&p);
}

static void check_extensions(const void *settings, const struct component_check *check)
{
    (void)settings;
    if (!check->has_extension(check->arg, "fake"))
        check_error(check, "answer", "extension fake is not started");
    if (check->has_extension(check->arg, "fake/off"))
        check_error(check, "answer", "extension fake/off is started");
}

static void test_modules_check_their_settings(void **state)
{
    (void)state;
    static const char *const lists[] = {"[fake]", "[]"};
    static const char *const messages[] = {"warning: left out, no profiles pipeline uses it: extension fake/off\n",
                                           "c.yaml:4:10: exporters.fake: answer: extension fake is not started\n"};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        struct planned p;
        char yaml[512];
        snprintf(yaml, sizeof yaml,
                 "receivers: {fake: }\nextensions: {fake: , fake/off: }\nexporters:\n  fake: {answer: ok}\n"
                 "service: {extensions: %s, pipelines: {profiles: {receivers: [fake], exporters: [fake]}}}\n",
                 lists[i]);
        plan_checked(&p, yaml, check_extensions);
        assert_string_equal(p.messages, messages[i]);
        planned_fini(&p);
    }
}

static void test_module_find(void **state)
{
    (void)state;
    struct fake_world w;
    fake_world_init(&w);
    w.exporter.module.aliases = aliases;
    const struct module_table *t = &w.modules.kinds[KIND_EXPORTER];
    assert_ptr_equal(module_find(t, "fake"), &w.exporter.module);
    assert_ptr_equal(module_find(t, "fake/x"), &w.exporter.module);
    assert_ptr_equal(module_find(t, "fakeold/x/y"), &w.exporter.module);
    assert_null(module_find(t, "fak"));
    assert_null(module_find(t, "fakes"));
    assert_null(module_find(t, ""));
    assert_null(module_find(t, "/fake"));
    fake_world_fini(&w);
}

static void test_common_fields(void **state)
{
    (void)state;
    assert_ptr_equal(kind_common_fields(KIND_RECEIVER), receiver_common_fields);
    assert_ptr_equal(kind_common_fields(KIND_EXPORTER), exporter_common_fields);
    assert_null(kind_common_fields(KIND_PROCESSOR));
    assert_null(kind_common_fields(KIND_EXTENSION));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_what_a_plan_holds),
        cmocka_unit_test(test_modules_check_their_settings),
        cmocka_unit_test(test_module_find),
        cmocka_unit_test(test_common_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
