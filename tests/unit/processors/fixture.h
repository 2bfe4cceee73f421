// SPDX-License-Identifier: Apache-2.0
// What tests of processors that change samples share.
#ifndef TESTS_UNIT_PROCESSORS_FIXTURE_H
#define TESTS_UNIT_PROCESSORS_FIXTURE_H

// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "processors/processors.h"
#include "profile/builder.h"
#include "profile/stack.h"
#include "profile/validate.h"
#include "tests/support/batch_text.h"
#include "tests/support/fake_env.h"
#include "tests/support/random_batch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#define TEXT(text) value_string(BYTES_LITERAL(text))
#define PAIR(name, v) {BYTES_LITERAL(name), v}

static const struct bytes nothing = {NULL, 0};

// --- a processor by itself ---

struct test_run {
    struct fake_env env;
    struct fake_component component;
    struct err e;
    size_t allocations; // since the mem_fail_from before
};

static inline void run_begin(struct test_run *r, const struct processor_module *m, const char *yaml)
{
    *r = (struct test_run){.e = {0}};
    fake_env_init(&r->env, 1);
    fake_component_init(&r->component, &r->env, KIND_PROCESSOR, &m->module, yaml);
}

static inline enum err_code run_process(struct test_run *r, struct batch **b)
{
    struct processor *p = (struct processor *)r->component.instance.component;
    enum err_code rc = p->module->process(p, b, &(const struct sender){0}, &r->e);
    struct err e = {0};
    r->allocations = mem_fail_count();
    mem_fail_from(0);
    if (*b != NULL && (*b)->dictionary != NULL && batch_validate(*b, &e) != ERR_OK)
        fail_msg("not valid: %s", e.text);
    return rc;
}

static inline void run_end(struct test_run *r)
{
    fake_component_fini(&r->component);
    fake_env_fini(&r->env);
}

// What becomes of the batch, which is taken over; NULL = it was dropped.
static inline struct batch *processed(const struct processor_module *m, const char *yaml, struct batch *b)
{
    struct test_run r;
    run_begin(&r, m, yaml);
    if (run_process(&r, &b) != ERR_OK)
        fail_msg("%s", r.e.text);
    run_end(&r);
    return b;
}

static inline void assert_setting_error(const struct processor_module *m, const char *yaml, const char *expected)
{
    struct fake_env f;
    void *settings;
    fake_env_init(&f, 1);
    char *text = fake_settings(&f, KIND_PROCESSOR, &m->module, yaml, &settings);
    assert_string_equal(text, expected);
    free(text);
    fake_env_fini(&f);
}

// With each allocation failing in turn the batch (taken over) stays as it is.
static inline void assert_memory_may_fail(const struct processor_module *m, const char *yaml, struct batch *b,
                                          size_t at_least)
{
    struct test_run r;
    run_begin(&r, m, yaml);
    char *text = batch_lines(&b, 1);
    enum err_code rc = ERR_MEMORY;
    size_t n = 1;
    for (; rc != ERR_OK; n++) {
        struct batch *before = b;
        mem_fail_from(n);
        rc = run_process(&r, &b);
        assert_in_range(n, 1, 100000);
        if (rc != ERR_OK) {
            assert_int_equal(rc, ERR_MEMORY);
            assert_ptr_equal(b, before);
        }
        if (n % 16 == 1 && rc != ERR_OK) {
            char *now = batch_lines(&b, 1);
            assert_string_equal(now, text);
            free(now);
        }
    }
    assert_in_range(n, at_least, 100000);
    free(text);
    batch_unref(&b);
    run_end(&r);
}

// --- batches ---

static inline struct batch *finish(struct builder *b)
{
    struct err e = {0};
    struct batch *batch;
    if (builder_finish(b, &batch, &e) != ERR_OK)
        fail_msg("%s", e.text);
    builder_destroy(&b);
    return batch;
}

// "pod=a,thread=1" as a set of texts.
static inline uint32_t set_of(struct builder *b, const char *text)
{
    uint32_t ids[8], count = 0;
    for (const char *at = text; *at != '\0'; count++) {
        const char *equal = strchr(at, '='), *end = at + strcspn(at, ",");
        const struct value v = value_string((struct bytes){(const uint8_t *)equal + 1, (size_t)(end - equal - 1)});
        const struct bytes key = {(const uint8_t *)at, (size_t)(equal - at)};
        ids[count] = builder_attribute(b, builder_string(b, key), 0, &v);
        at = *end == ',' ? end + 1 : end;
    }
    return builder_attribute_set(b, ids, count);
}

struct test_sample {
    uint32_t stack;
    const char *attributes;
    int64_t value;
};

struct test_profile {
    const char *type, *attributes;
    const struct test_sample *samples; // ends with one without attributes
};

static inline void add_profile(struct builder *b, const struct test_profile *from)
{
    struct sample_writer samples;
    struct observation_writer observations;
    sample_writer_init(&samples, b);
    observation_writer_init(&observations, b);
    for (const struct test_sample *s = from->samples; s->attributes != NULL; s++) {
        sample_writer_add(&samples, s->stack, set_of(b, s->attributes), 0);
        observation_writer_add_value(&observations, s->value);
    }
    struct profile p = {.sample_type = {builder_string_text(b, from->type), 0},
                        .attribute_set = set_of(b, from->attributes)};
    p.columns = sample_writer_take(&samples);
    p.observations = observation_writer_take(&observations);
    builder_profile(b, &p);
    sample_writer_fini(&samples);
    observation_writer_fini(&observations);
}

// A profile like p of these samples, each with the value 1.
static inline void add_written(struct builder *b, struct sample_writer *samples, uint32_t count, struct profile p)
{
    struct observation_writer observations;
    observation_writer_init(&observations, b);
    for (uint32_t i = 0; i < count; i++)
        observation_writer_add_value(&observations, 1);
    p.columns = sample_writer_take(samples);
    p.observations = observation_writer_take(&observations);
    builder_profile(b, &p);
    sample_writer_fini(samples);
    observation_writer_fini(&observations);
}

// That many refer to.
static inline struct bytes long_text(void)
{
    static char text[1 << 20];
    memset(text, 'x', sizeof text);
    return (struct bytes){(const uint8_t *)text, sizeof text};
}

// A batch on which whoever looks at a long text again and again spends minutes: seconds are too long.
static inline void assert_quick(const struct processor_module *m, const char *yaml, struct batch *b)
{
    const uint64_t samples = b->sample_count;
    const clock_t start = clock();
    struct batch *out = processed(m, yaml, b);
    assert_true(clock() - start < 3 * CLOCKS_PER_SEC);
    assert_int_equal(out == NULL ? 0 : out->sample_count, samples);
    batch_unref(&out);
}

// A resource with {service.name: service}, and a scope.
static inline void add_service(struct builder *b, const char *service)
{
    const struct key_value name = {BYTES_LITERAL("service.name"), value_string(bytes_from_text(service))};
    builder_resource(b, &name, 1, 0, nothing);
    builder_scope(b, BYTES_LITERAL("scope"), nothing, NULL, 0, 0, nothing);
}

// --- batches as text ---

static inline void add_list_text(struct buf *out, const struct key_value *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        buf_add_text(out, i > 0 ? "," : "");
        buf_add(out, list[i].key.data, list[i].key.len);
        buf_add_byte(out, '=');
        value_print(out, &list[i].value);
    }
}

static inline void add_set_text(struct buf *out, const struct dictionary *d, uint32_t set)
{
    const struct batch_range range = d->attribute_sets[set];
    for (uint32_t i = 0; i < range.count; i++) {
        const struct batch_attribute *a = &d->attributes[d->set_attributes[range.start + i]];
        add_list_text(out, &(struct key_value){d->strings[a->key], a->value}, 1);
        buf_add_text(out, i + 1 < range.count ? "," : "");
    }
}

// Names of the functions, leaf first.
static inline void add_stack_text(struct buf *out, const struct dictionary *d, uint32_t stack)
{
    struct stack_reader r;
    uint32_t location;
    stack_reader_init(&r, d, stack);
    for (bool first = true; stack_next(&r, &location); first = false) {
        const struct batch_location *l = &d->locations[location];
        buf_add_text(out, first ? "" : ";");
        buf_add_text(out, l->line_count == 0 ? "?" : "");
        for (uint32_t i = 0; i < l->line_count; i++) {
            struct bytes name = d->strings[d->functions[d->lines[l->line_start + i].function].name];
            buf_add_text(out, i > 0 ? "+" : "");
            buf_add(out, name.data, name.len);
        }
    }
}

static inline void add_profile_text(struct buf *out, const struct dictionary *d, const struct profile *p)
{
    buf_add(out, d->strings[p->sample_type.type].data, d->strings[p->sample_type.type].len);
    buf_add_byte(out, '{');
    add_set_text(out, d, p->attribute_set);
    buf_add_text(out, "}:");
    for (uint32_t i = 0; i < p->columns->sample_count; i++) {
        uint32_t start, count;
        observations_values(p->observations, i, &start, &count);
        buf_add_byte(out, ' ');
        add_stack_text(out, d, p->columns->stacks[i]);
        buf_add_byte(out, '{');
        add_set_text(out, d, p->columns->attribute_sets == NULL ? 0 : p->columns->attribute_sets[i]);
        buf_add_format(out, "}%" PRId64, count == 0 ? 0 : p->observations->values[start]);
    }
    buf_add_byte(out, '\n');
}

// "service.name=a\n- cpu{}: leaf;root{thread=1}5\n"
static inline char *brief_text(const struct batch *b)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    for (uint32_t r = 0; b != NULL && r < b->resource_count; r++) {
        add_list_text(&out, b->resources[r]->attributes, b->resources[r]->attribute_count);
        buf_add_byte(&out, '\n');
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++)
            for (uint32_t p = 0; p < b->resources[r]->scopes[s]->profile_count; p++) {
                buf_add_text(&out, p == 0 ? "- " : "  ");
                add_profile_text(&out, b->dictionary, &b->resources[r]->scopes[s]->profiles[p]);
            }
    }
    buf_add_byte(&out, '\0');
    assert_true(buf_ok(&out));
    return (char *)buf_take(&out, &(size_t){0});
}

// The batch is taken over; expected "" = dropped.
static inline void assert_processed(const struct processor_module *m, const char *yaml, struct batch *b,
                                    const char *expected)
{
    b = processed(m, yaml, b);
    char *text = brief_text(b);
    assert_string_equal(text, expected);
    free(text);
    batch_unref(&b);
}

// --- sums ---

struct totals {
    uint64_t samples, values, timestamps;
    uint64_t sum; // of values, modulo 2^64
};

static inline void add_totals(struct totals *t, const struct profile *p)
{
    const struct observations *o = p->observations;
    t->samples += p->columns->sample_count;
    for (uint32_t i = 0; i < o->sample_count; i++) {
        uint32_t start, count;
        observations_values(o, i, &start, &count);
        t->values += count;
        for (uint32_t v = start; v < start + count; v++)
            t->sum += (uint64_t)o->values[v];
        observations_timestamps(o, i, &start, &count);
        t->timestamps += count;
    }
}

static inline struct totals totals_of(const struct batch *b)
{
    struct totals t = {0};
    for (uint32_t r = 0; b != NULL && r < b->resource_count; r++)
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++)
            for (uint32_t p = 0; p < b->resources[r]->scopes[s]->profile_count; p++)
                add_totals(&t, &b->resources[r]->scopes[s]->profiles[p]);
    return t;
}

static inline void assert_same_totals(const struct batch *a, const struct batch *b)
{
    const struct totals x = totals_of(a), y = totals_of(b);
    assert_memory_equal(&x, &y, sizeof x);
}

#endif
