// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include "codec/otlp.h"
#include "codec/pprof.h"
#include "codec/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS = 5000, LABEL_VALUES = 50, FIRST_TYPE_STRING = 1, FIRST_FUNCTION_STRING = 20 };

static uint32_t functions(const struct shape *s)
{
    return s->functions != 0 ? s->functions : FUNCTIONS;
}

static uint32_t first_label_string(const struct shape *s)
{
    return FIRST_FUNCTION_STRING + functions(s);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return *state >> 33;
}

static void put_message(struct buf *out, uint32_t number, struct buf *body)
{
    wire_put_bytes(out, number, buf_bytes(body));
    buf_clear(body);
}

static void put_types(const struct shape *s, struct buf *out, struct buf *body)
{
    for (uint32_t i = 0; i < s->sample_types; i++) {
        wire_put_uint(body, 1, FIRST_TYPE_STRING + 2 * i);
        wire_put_uint(body, 2, FIRST_TYPE_STRING + 2 * i + 1);
        put_message(out, 1, body);
    }
}

static void put_stack(const struct shape *s, uint32_t sample, struct buf *body, struct buf *list)
{
    // A stack is a function of its number, so equal numbers give equal stacks.
    uint64_t state = (sample % s->distinct_stacks) * 0x9E3779B97F4A7C15ULL + 1;
    for (uint32_t d = 0; d < s->depth; d++)
        wire_put_varint(list, 1 + next_random(&state) % functions(s));
    put_message(body, 1, list);
}

static void put_labels(const struct shape *s, uint64_t *state, struct buf *body, struct buf *label)
{
    for (uint32_t i = 0; i < s->labels; i++) {
        wire_put_uint(label, 1, first_label_string(s) + i);
        if (i % 2 == 0)
            wire_put_uint(label, 2, first_label_string(s) + 64 + next_random(state) % LABEL_VALUES);
        else
            wire_put_uint(label, 3, 1 + next_random(state) % LABEL_VALUES);
        put_message(body, 3, label);
    }
}

static void put_samples(const struct shape *s, struct buf *out, struct buf *body, struct buf *inner)
{
    uint64_t state = 42;
    for (uint32_t i = 0; i < s->samples; i++) {
        put_stack(s, i, body, inner);
        for (uint32_t t = 0; t < s->sample_types; t++)
            wire_put_varint(inner, 1 + next_random(&state) % 1000000);
        put_message(body, 2, inner);
        put_labels(s, &state, body, inner);
        put_message(out, 2, body);
    }
}

static void put_tables(const struct shape *s, struct buf *out, struct buf *body, struct buf *inner)
{
    wire_put_uint(body, 1, 1);
    wire_put_uint(body, 3, 0x400000);
    wire_put_uint(body, 5, 19);
    put_message(out, 3, body);
    for (uint32_t i = 0; i < functions(s); i++) {
        wire_put_uint(inner, 1, i + 1);
        wire_put_uint(inner, 2, i % 900 + 1);
        wire_put_uint(body, 1, i + 1);
        wire_put_uint(body, 2, 1);
        wire_put_uint(body, 3, 0x400000 + 64 * (uint64_t)i);
        put_message(body, 4, inner);
        put_message(out, 4, body);
        wire_put_uint(body, 1, i + 1);
        wire_put_uint(body, 2, FIRST_FUNCTION_STRING + i);
        wire_put_uint(body, 4, FIRST_FUNCTION_STRING + i / 20);
        put_message(out, 5, body);
    }
}

static void put_strings(const struct shape *s, struct buf *out)
{
    char text[96];
    for (uint32_t i = 0; i < first_label_string(s) + 64 + LABEL_VALUES; i++) {
        if (i == 0)
            text[0] = '\0';
        else if (i >= FIRST_FUNCTION_STRING && i < first_label_string(s))
            snprintf(text, sizeof text, "example.com/service/package%u.(*Type%u).method%u", i % 97, i % 31, i);
        else
            snprintf(text, sizeof text, "name_%u", i);
        wire_put_bytes(out, 6, bytes_from_text(text));
    }
}

void generate_pprof(const struct shape *s, struct buf *out)
{
    struct buf body, inner;
    buf_init(&body, 1 << 24);
    buf_init(&inner, 1 << 24);
    put_types(s, out, &body);
    put_samples(s, out, &body, &inner);
    put_tables(s, out, &body, &inner);
    put_strings(s, out);
    wire_put_uint(out, 9, 1790000000000000000ULL);
    wire_put_uint(out, 10, 10000000000ULL);
    buf_fini(&body);
    buf_fini(&inner);
    CHECK(buf_ok(out));
}

struct shape shape_of_samples(uint32_t samples)
{
    return (struct shape){.name = "service",
                          .samples = samples,
                          .depth = 22,
                          .distinct_stacks = samples / 2 + 1,
                          .labels = 2,
                          .sample_types = 1,
                          .functions = samples < 1000 ? samples / 2 + 30 : samples / 8 + 400};
}

static const char *const resource[][2] = {
    {"service.name", "checkout"},
    {"host.name", "node-17.example.com"},
    {"k8s.namespace.name", "shop"},
    {"k8s.pod.name", "checkout-6f9c7d5b8-x2x7p"},
    {"container.id", "5d0f9bb8b9b2e6a9cfe8f4d1f2b0f1f7a5d9b8f0c3e2d1a0b9c8d7e6f5a4b3c2"},
};

void generate_otlp(const struct shape *s, struct buf *out)
{
    struct key_value attributes[COUNT_OF(resource)];
    struct decode_options options = {.resource_attributes = attributes, .resource_attribute_count = COUNT_OF(resource)};
    struct decode_report report = {0};
    struct batch *batch = NULL;
    struct buf file;
    struct err e = {0};
    for (size_t i = 0; i < COUNT_OF(resource); i++)
        attributes[i] =
            (struct key_value){bytes_from_text(resource[i][0]), value_string(bytes_from_text(resource[i][1]))};
    buf_init(&file, SIZE_MAX / 2);
    generate_pprof(s, &file);
    CHECK(pprof_decode(buf_bytes(&file), &options, &batch, &report, &e) == ERR_OK);
    CHECK(otlp_encode(batch, out, &e) == ERR_OK);
    batch_unref(&batch);
    buf_fini(&file);
}
