// SPDX-License-Identifier: Apache-2.0
#include "view/stack_sums.h"

#include "base/mem.h"

int64_t sum_saturated(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

int64_t sample_value(const struct observations *o, uint32_t sample)
{
    uint32_t start, count;
    int64_t sum = 0;
    observations_values(o, sample, &start, &count);
    for (uint32_t i = 0; i < count; i++)
        sum = sum_saturated(sum, o->values[start + i]);
    if (count == 0) {
        observations_timestamps(o, sample, &start, &count);
        sum = count;
    }
    return sum;
}

bool stack_sums_init(struct stack_sums *s, uint32_t stack_count)
{
    *s = (struct stack_sums){
        .items = mem_try_array(stack_count, sizeof *s->items),
        .touched = mem_try_array(stack_count, sizeof *s->touched),
    };
    if (s->items == NULL || s->touched == NULL)
        return false;
    memset(s->items, 0, stack_count * sizeof *s->items);
    return true;
}

void stack_sums_fini(struct stack_sums *s)
{
    free(s->items);
    free(s->touched);
}

void stack_sums_add(struct stack_sums *s, const struct profile *p)
{
    const uint32_t *stacks = p->columns->stacks;
    for (uint32_t i = 0; i < p->columns->sample_count; i++) {
        struct stack_sum *sum = &s->items[stacks[i]];
        if (sum->samples == 0)
            s->touched[s->touched_count++] = stacks[i];
        sum->value = sum_saturated(sum->value, sample_value(p->observations, i));
        sum->samples++;
    }
}

void stack_sums_clear(struct stack_sums *s)
{
    for (uint32_t i = 0; i < s->touched_count; i++)
        s->items[s->touched[i]] = (struct stack_sum){0};
    s->touched_count = 0;
}
