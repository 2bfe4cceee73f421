// SPDX-License-Identifier: Apache-2.0
#include "profile/builder_internal.h"

#include "base/mem.h"

// Column arrays are typed in the public structs; growing works on a plain pointer.
#define GROW(b, array, capacity, need)                                                                                 \
    ((need) <= (capacity) || grow((b), (void *)&(array), sizeof *(array), &(capacity), (need)))

static bool grow(struct builder *b, void *array, size_t item_size, size_t *capacity, size_t need)
{
    void *items;
    memcpy(&items, array, sizeof items);
    if (!builder_grow(b, &items, capacity, need, item_size))
        return false;
    memcpy(array, &items, sizeof items);
    return true;
}

void sample_writer_init(struct sample_writer *w, struct builder *b)
{
    *w = (struct sample_writer){.builder = b};
}

void sample_writer_fini(struct sample_writer *w)
{
    builder_discharge(w->builder, (w->stack_capacity + w->set_capacity + w->link_capacity) * sizeof(uint32_t));
    free(w->stacks);
    free(w->attribute_sets);
    free(w->links);
    sample_writer_init(w, w->builder);
}

void sample_writer_expect(struct sample_writer *w, uint32_t samples)
{
    if (builder_may_expect(w->builder, samples * sizeof(uint32_t)))
        (void)GROW(w->builder, w->stacks, w->stack_capacity, samples);
}

// The first sample that is not zero brings the column into being.
static bool begin_sets(struct sample_writer *w)
{
    if (!GROW(w->builder, w->attribute_sets, w->set_capacity, (size_t)w->count + 1))
        return false;
    if (!w->any_attributes)
        memset(w->attribute_sets, 0, w->count * sizeof(uint32_t));
    w->any_attributes = true;
    return true;
}

static bool begin_links(struct sample_writer *w)
{
    if (!GROW(w->builder, w->links, w->link_capacity, (size_t)w->count + 1))
        return false;
    if (!w->any_links)
        memset(w->links, 0, w->count * sizeof(uint32_t));
    w->any_links = true;
    return true;
}

static bool add_rare(struct sample_writer *w, uint32_t attribute_set, uint32_t link)
{
    if (w->any_attributes || attribute_set != 0) {
        if (!begin_sets(w))
            return false;
        w->attribute_sets[w->count] = attribute_set;
    }
    if (w->any_links || link != 0) {
        if (!begin_links(w))
            return false;
        w->links[w->count] = link;
    }
    return true;
}

void sample_writer_add(struct sample_writer *w, uint32_t stack, uint32_t attribute_set, uint32_t link)
{
    struct builder *b = w->builder;
    if (b->failed)
        return;
    CHECK(stack < b->stacks.count && attribute_set < b->attribute_sets.count && link < b->links.count);
    if (!GROW(b, w->stacks, w->stack_capacity, (size_t)w->count + 1))
        return;
    if ((attribute_set | link | w->any_attributes | w->any_links) != 0 && !add_rare(w, attribute_set, link))
        return;
    w->stacks[w->count++] = stack;
}

struct columns *sample_writer_take(struct sample_writer *w)
{
    struct builder *b = w->builder;
    struct columns *c = builder_alloc(b, 1, sizeof *c);
    if (c == NULL) {
        sample_writer_fini(w);
        return NULL;
    }
    *c = (struct columns){.refs = 1, .sample_count = w->count};
    c->stacks = builder_shrink(b, w->stacks, &w->stack_capacity, w->count, sizeof(uint32_t));
    c->attribute_sets = builder_shrink(b, w->attribute_sets, &w->set_capacity, w->count, sizeof(uint32_t));
    c->links = builder_shrink(b, w->links, &w->link_capacity, w->count, sizeof(uint32_t));
    c->bytes = sizeof *c + (w->stack_capacity + w->set_capacity + w->link_capacity) * sizeof(uint32_t);
    sample_writer_init(w, b);
    return c;
}

void observation_writer_init(struct observation_writer *w, struct builder *b)
{
    *w = (struct observation_writer){.builder = b, .one_value_each = true};
}

void observation_writer_fini(struct observation_writer *w)
{
    builder_discharge(w->builder, (w->value_capacity + w->timestamp_capacity) * sizeof(uint64_t) +
                                      (w->value_end_capacity + w->timestamp_end_capacity) * sizeof(uint32_t));
    free(w->values);
    free(w->timestamps);
    free(w->value_ends);
    free(w->timestamp_ends);
    observation_writer_init(w, w->builder);
}

void observation_writer_expect(struct observation_writer *w, uint32_t values)
{
    if (builder_may_expect(w->builder, values * sizeof(int64_t)))
        (void)GROW(w->builder, w->values, w->value_capacity, values);
}

static bool shape_is_legal(uint32_t values, uint32_t timestamps)
{
    return timestamps == 0 ? values == 1 : values == 0 || values == timestamps;
}

static bool add_values(struct observation_writer *w, const int64_t *values, uint32_t count)
{
    if (!GROW(w->builder, w->values, w->value_capacity, w->value_count + count))
        return false;
    if (count > 0)
        memcpy(w->values + w->value_count, values, count * sizeof *values);
    w->value_count += count;
    return true;
}

static bool add_timestamps(struct observation_writer *w, const uint64_t *timestamps, uint32_t count)
{
    if (!GROW(w->builder, w->timestamps, w->timestamp_capacity, w->timestamp_count + count))
        return false;
    if (count > 0)
        memcpy(w->timestamps + w->timestamp_count, timestamps, count * sizeof *timestamps);
    w->timestamp_count += count;
    return true;
}

// Until now every sample had exactly one value and no ends were kept.
static bool begin_value_ends(struct observation_writer *w)
{
    if (!w->one_value_each)
        return true;
    if (!GROW(w->builder, w->value_ends, w->value_end_capacity, (size_t)w->count + 1))
        return false;
    for (uint32_t i = 0; i < w->count; i++)
        w->value_ends[i] = i + 1;
    w->one_value_each = false;
    return true;
}

static bool begin_timestamp_ends(struct observation_writer *w)
{
    if (!GROW(w->builder, w->timestamp_ends, w->timestamp_end_capacity, (size_t)w->count + 1))
        return false;
    if (w->timestamp_count == 0)
        memset(w->timestamp_ends, 0, w->count * sizeof(uint32_t));
    return true;
}

static bool end_values(struct observation_writer *w, uint32_t value_count)
{
    if (value_count != 1 && !begin_value_ends(w))
        return false;
    if (w->one_value_each)
        return true;
    if (!GROW(w->builder, w->value_ends, w->value_end_capacity, (size_t)w->count + 1))
        return false;
    w->value_ends[w->count] = (uint32_t)w->value_count;
    return true;
}

static bool add_any(struct observation_writer *w, const int64_t *values, uint32_t value_count,
                    const uint64_t *timestamps, uint32_t timestamp_count)
{
    if (!add_values(w, values, value_count) || !end_values(w, value_count))
        return false;
    if (timestamp_count == 0 && w->timestamp_count == 0)
        return true;
    if (!begin_timestamp_ends(w) || !add_timestamps(w, timestamps, timestamp_count))
        return false;
    w->timestamp_ends[w->count] = (uint32_t)w->timestamp_count;
    return true;
}

void observation_writer_add(struct observation_writer *w, const int64_t *values, uint32_t value_count,
                            const uint64_t *timestamps, uint32_t timestamp_count)
{
    if (w->builder->failed)
        return;
    if (!shape_is_legal(value_count, timestamp_count)) {
        builder_fail(w->builder, ERR_INVALID,
                     "sample %u has %u values and %u timestamps; one value, only timestamps or as many values as "
                     "timestamps are legal",
                     w->count, value_count, timestamp_count);
        return;
    }
    if (add_any(w, values, value_count, timestamps, timestamp_count))
        w->count++;
}

// Without any value the ends say nothing.
static void drop_value_ends(struct observation_writer *w)
{
    if (w->value_count != 0)
        return;
    builder_discharge(w->builder, w->value_capacity * sizeof(int64_t) + w->value_end_capacity * sizeof(uint32_t));
    free(w->values);
    free(w->value_ends);
    w->values = NULL;
    w->value_ends = NULL;
    w->value_capacity = w->value_end_capacity = 0;
}

struct observations *observation_writer_take(struct observation_writer *w)
{
    struct builder *b = w->builder;
    struct observations *o = builder_alloc(b, 1, sizeof *o);
    if (o == NULL) {
        observation_writer_fini(w);
        return NULL;
    }
    drop_value_ends(w);
    *o = (struct observations){.refs = 1, .sample_count = w->count};
    o->values = builder_shrink(b, w->values, &w->value_capacity, w->value_count, sizeof(int64_t));
    o->timestamps = builder_shrink(b, w->timestamps, &w->timestamp_capacity, w->timestamp_count, sizeof(uint64_t));
    o->value_ends =
        builder_shrink(b, w->value_ends, &w->value_end_capacity, w->one_value_each ? 0 : w->count, sizeof(uint32_t));
    o->timestamp_ends = builder_shrink(b, w->timestamp_ends, &w->timestamp_end_capacity,
                                       w->timestamp_count == 0 ? 0 : w->count, sizeof(uint32_t));
    o->bytes = sizeof *o + (w->value_capacity + w->timestamp_capacity) * sizeof(uint64_t) +
               (w->value_end_capacity + w->timestamp_end_capacity) * sizeof(uint32_t);
    observation_writer_init(w, b);
    return o;
}
