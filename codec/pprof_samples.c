// SPDX-License-Identifier: Apache-2.0
// Samples: where decoding spends its time.
#include "base/mem.h"
#include "codec/pprof_reader.h"

void pprof_samples_fini(struct pprof_reader *p)
{
    if (p->samples.builder != NULL)
        sample_writer_fini(&p->samples);
    for (size_t i = 0; p->observations != NULL && i < p->header.sample_types.count; i++)
        observation_writer_fini(&p->observations[i]);
    free(p->observations);
    free(p->used_locations);
    free(p->lines);
    free(p->values);
}

static bool grow_values(struct pprof_reader *p, size_t extra)
{
    void *values = p->values;
    if (!mem_try_grow(&values, &p->value_capacity, p->value_count + extra, sizeof *p->values, SIZE_MAX / 8))
        return pprof_no_memory(p);
    p->values = values;
    return true;
}

static bool add_values(struct pprof_reader *p, struct bytes list)
{
    if (list.len == 0)
        return true;
    const uint8_t *at = list.data, *end = at + list.len;
    if (end[-1] >= 0x80)
        return pprof_bad_list(p, "values");
    if (p->value_count + list.len > p->value_capacity && !grow_values(p, list.len))
        return false;
    while (at < end) {
        uint64_t value;
        at = pprof_varint(at, &value);
        if (at == NULL)
            return pprof_bad_list(p, "values");
        p->values[p->value_count++] = (int64_t)value;
    }
    return true;
}

static bool add_value(struct pprof_reader *p, uint64_t value)
{
    if (p->value_count == p->value_capacity && !grow_values(p, 1))
        return false;
    p->values[p->value_count++] = (int64_t)value;
    return true;
}

static bool sample_field(struct pprof_reader *p, const struct wire_field *f)
{
    switch (f->number << 3 | f->type) {
    case 1 << 3 | WIRE_LEN:
        return pprof_stack_add_list(p, f->bytes);
    case 1 << 3 | WIRE_VARINT:
        return pprof_stack_add(p, f->varint);
    case 2 << 3 | WIRE_LEN:
        return add_values(p, f->bytes);
    case 2 << 3 | WIRE_VARINT:
        return add_value(p, f->varint);
    case 3 << 3 | WIRE_LEN:
        return pprof_label_add(p, f->bytes);
    default:
        return f->number > 3 || pprof_fail(p, ERR_INVALID, "field %u has wire type %d", f->number, (int)f->type);
    }
}

static bool read_fields(struct pprof_reader *p, struct bytes message)
{
    struct wire_reader r;
    struct wire_field f;
    wire_reader_init(&r, message);
    if (wire_take_bytes(&r, 1 << 3 | WIRE_LEN, &f.bytes) && !pprof_stack_add_list(p, f.bytes))
        return false;
    if (wire_take_bytes(&r, 2 << 3 | WIRE_LEN, &f.bytes) && !add_values(p, f.bytes))
        return false;
    while (wire_next(&r, &f)) {
        if (!sample_field(p, &f))
            return false;
    }
    return r.error == NULL || pprof_damaged(p, &r);
}

static bool check_sample(struct pprof_reader *p)
{
    size_t types = p->header.sample_types.count;
    if (p->value_count != types)
        return pprof_fail(p, ERR_INVALID, "it has %zu values, but the profile has %zu sample types", p->value_count,
                          types);
    uint32_t depth = p->stack_size > p->limits->max_stack_depth ? stack_count_ids(p->stack, p->stack_size) : 0;
    if (depth > p->limits->max_stack_depth)
        return pprof_fail(p, ERR_LIMIT, "max_stack_depth: it has %u locations, allowed are %u", depth,
                          p->limits->max_stack_depth);
    return true;
}

static void end_block(struct pprof_reader *p)
{
    struct pprof_sample_block *block = &p->block;
    uint32_t stacks[BUILDER_STACK_BLOCK];
    builder_stacks_take(p->builder, stacks);
    for (uint32_t i = 0; i < block->count; i++)
        sample_writer_add(&p->samples, stacks[i], block->sets[i], block->links[i]);
    block->count = 0;
}

static bool read_sample(struct pprof_reader *p, struct bytes message)
{
    struct pprof_sample_block *block = &p->block;
    p->stack_size = p->value_count = 0;
    if (!read_fields(p, message) || !check_sample(p) ||
        !pprof_labels_take(p, &block->sets[block->count], &block->links[block->count]))
        return false;
    builder_stack_put(p->builder, (uint32_t)p->stack_size);
    for (size_t i = 0; i < p->value_count; i++)
        observation_writer_add_value(&p->observations[i], p->values[i]);
    if (++block->count == BUILDER_STACK_BLOCK)
        end_block(p);
    return true;
}

static bool init_writers(struct pprof_reader *p)
{
    size_t types = p->header.sample_types.count;
    sample_writer_init(&p->samples, p->builder);
    sample_writer_expect(&p->samples, p->header.samples.count);
    p->observations = mem_try_array(types, sizeof *p->observations);
    if (p->observations == NULL)
        return pprof_no_memory(p);
    for (size_t i = 0; i < types; i++) {
        observation_writer_init(&p->observations[i], p->builder);
        observation_writer_expect(&p->observations[i], p->header.samples.count);
    }
    return true;
}

bool pprof_read_samples(struct pprof_reader *p)
{
    if (!init_writers(p) || !pprof_stacks_begin(p))
        return false;
    struct pprof_items items = pprof_items_of(&p->header.samples, 2);
    struct bytes message;
    p->place = "sample";
    for (p->place_number = 0; pprof_items_next(&items, &message); p->place_number++) {
        if (!read_sample(p, message))
            return false;
        if (p->place_number % 1024 == 1023 && builder_failed(p->builder))
            return false; // builder_finish says why
    }
    end_block(p);
    pprof_stacks_end(p);
    p->place = NULL;
    return true;
}
