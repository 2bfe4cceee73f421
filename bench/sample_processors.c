// SPDX-License-Identifier: Apache-2.0
// What processors cost that look into samples: a small profile, and one of a whole host.
#include "bench/bench.h"

#include "base/mem.h"
#include "processors/processors.h"
#include "profile/builder.h"

#include <stdio.h>

enum { SMALL_REPEATS = 2000, HOST_SAMPLES = 100000, PODS = 200, STACKS = 5000, DEPTH = 20, FUNCTIONS = 3000 };

static const struct {
    const struct processor_module *module;
    const char *name, *yaml;
} cases[] = {
    {&groupbyattrs_processor, "groupbyattrs, 200 pods", "keys: [pod]"},
    {&filter_processor, "filter, half of the pods",
     "exclude: {match_type: regexp, attributes: [{key: pod, value: '[13579]$'}]}"},
    {&filter_processor, "filter, a tenth of the frames",
     "frames: {drop: [{name: 'Handler[0-9]*7[.]run'}, {mapping: '^libtracer'}]}"},
    {&probabilistic_sampler_processor, "probabilistic_sampler", "sampling_percentage: 50"},
    {&redaction_processor, "redaction, a tenth of the names",
     "{allow_all_keys: true, blocked_values: ['^worker'], blocked_function_names: ['Handler[0-9]*7']}"},
};

// --- input ---

static uint32_t make_set(struct builder *b, uint32_t sample)
{
    const uint32_t ids[] = {bench_text_attribute(b, "pod", "pod-%u", sample * 7 % PODS),
                            bench_text_attribute(b, "thread.name", "worker-%u", sample % 16)};
    return builder_attribute_set(b, ids, COUNT_OF(ids));
}

static uint32_t make_stack(struct builder *b, uint32_t number)
{
    uint32_t ids[DEPTH];
    for (uint32_t i = 0; i < DEPTH; i++) {
        char name[48];
        const uint32_t function = i < 4 ? i : (number * 31 + i * 1009) % FUNCTIONS;
        snprintf(name, sizeof name, "com/example/service/Handler%u.run", function);
        const struct batch_function f = {.name = builder_string_text(b, name)};
        snprintf(name, sizeof name, "/src/app/handler%u.java", function / 10);
        struct batch_function with_file = f;
        with_file.filename = builder_string_text(b, name);
        const struct batch_line line = {.function = builder_function(b, &with_file), .line = 10};
        ids[i] = builder_location(b, &(struct batch_location){.address = function + 1}, &line, 1);
    }
    return builder_stack(b, ids, DEPTH);
}

static void add_profile(struct builder *b, uint32_t count)
{
    struct sample_writer samples;
    struct observation_writer observations;
    sample_writer_init(&samples, b);
    observation_writer_init(&observations, b);
    for (uint32_t i = 0; i < count; i++) {
        sample_writer_add(&samples, make_stack(b, i % STACKS), make_set(b, i), 0);
        observation_writer_add_value(&observations, 1);
    }
    struct profile p = {.sample_type = {builder_string_text(b, "cpu"), builder_string_text(b, "nanoseconds")},
                        .columns = sample_writer_take(&samples),
                        .observations = observation_writer_take(&observations)};
    builder_profile(b, &p);
    sample_writer_fini(&samples);
    observation_writer_fini(&observations);
}

static struct batch *make_batch(uint32_t samples)
{
    const struct bytes nothing = {NULL, 0};
    const struct key_value name = {BYTES_LITERAL("service.name"), value_string(BYTES_LITERAL("host"))};
    struct builder *b = builder_create(0);
    struct batch *batch;
    struct err e;
    builder_resource(b, &name, 1, 0, nothing);
    builder_scope(b, nothing, nothing, NULL, 0, 0, nothing);
    add_profile(b, samples);
    CHECK(builder_finish(b, &batch, &e) == ERR_OK);
    builder_destroy(&b);
    return batch;
}

// --- measuring ---

static void measure(size_t i, struct batch *b, unsigned repeats, const char *unit, double per)
{
    struct arena arena;
    char metric[96], input[48];
    arena_init(&arena, 0);
    struct processor *p = bench_create_processor(&arena, cases[i].module, cases[i].yaml);
    const double seconds = bench_process_seconds(&(struct bench_work){p, &b, 1, repeats, false});
    snprintf(input, sizeof input, "%u samples", (unsigned)b->sample_count);
    snprintf(metric, sizeof metric, "%s, ns per %s", cases[i].name, unit);
    report_row(
        &(struct row){"processors of samples (one thread, best of 7)", input, metric, seconds * 1e9 / per, 0, false});
    bench_destroy_processor(p);
    arena_fini(&arena);
}

void bench_sample_processors(void)
{
    struct batch *small = make_batch(10), *host = make_batch(HOST_SAMPLES);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        measure(i, small, SMALL_REPEATS, "profile", 1);
        measure(i, host, 1, "sample", HOST_SAMPLES);
    }
    batch_unref(&small);
    batch_unref(&host);
}
