// SPDX-License-Identifier: Apache-2.0
// The samples of a speedscope profile as rows of stacks, and the profiles that list them: stacks with weights.
#include "base/mem.h"
#include "codec/speedscope_reader.h"

#include <inttypes.h>

// --- rows ---

// NULL when out of memory.
static struct speedscope_place *place_of(struct speedscope_reader *r, uint32_t stack)
{
    void *places = r->places;
    if (stack >= r->place_count) {
        if (!mem_try_grow(&places, &r->place_capacity, (size_t)stack + 1, sizeof *r->places, SIZE_MAX / 16)) {
            (void)speedscope_no_memory(r);
            return NULL;
        }
        r->places = places;
        memset(r->places + r->place_count, 0, (stack + 1 - r->place_count) * sizeof *r->places);
        r->place_count = (size_t)stack + 1;
    }
    return &r->places[stack];
}

bool speedscope_add_weight(struct speedscope_reader *r, uint32_t stack, long double weight)
{
    void *rows = r->rows;
    if (r->stack.no_memory)
        return speedscope_no_memory(r);
    if (stack == 0)
        return false; // the builder says why
    struct speedscope_place *place = place_of(r, stack);
    if (place == NULL)
        return false;
    if (place->profile == r->profile + 1) {
        r->rows[place->row].weight += weight;
        return true;
    }
    if (r->report->samples + r->row_count >= r->max_samples)
        return speedscope_fail(r, ERR_LIMIT, "max_samples: more than %u different stacks", r->max_samples);
    if (!mem_try_grow(&rows, &r->row_capacity, r->row_count + 1, sizeof *r->rows, UINT32_MAX))
        return speedscope_no_memory(r);
    r->rows = rows;
    *place = (struct speedscope_place){r->profile + 1, (uint32_t)r->row_count};
    r->rows[r->row_count++] = (struct speedscope_row){stack, weight};
    return true;
}

static bool push_frame(struct speedscope_reader *r, uint32_t frame)
{
    void *open = r->open;
    if (!mem_try_grow(&open, &r->open_capacity, r->open_count + 1, sizeof *r->open, UINT32_MAX))
        return speedscope_no_memory(r);
    r->open = open;
    r->open[r->open_count++] = frame;
    return true;
}

bool speedscope_check_frame(struct speedscope_reader *r, int64_t frame, const char *what, uint64_t number)
{
    if (frame >= 0 && (uint64_t)frame < r->frame_count)
        return true;
    return speedscope_fail(r, ERR_INVALID, "%s %" PRIu64 ": frame %" PRId64 " is not in shared.frames, which has %zu",
                           what, number, frame, r->frame_count);
}

// --- sampled ---

static bool read_stack(struct speedscope_reader *r, struct json_reader *j, uint64_t number)
{
    int64_t frame;
    r->open_count = 0;
    if (!json_enter_array(j))
        return speedscope_json_good(r, j);
    while (json_next_element(j)) {
        if (!json_int64(j, &frame))
            return speedscope_json_good(r, j);
        if (!speedscope_check_frame(r, frame, "sample", number) || !push_frame(r, (uint32_t)frame))
            return false;
    }
    return speedscope_json_good(r, j);
}

// The builder's stack of the frames that were read.
static uint32_t take_stack(struct speedscope_reader *r)
{
    for (size_t i = r->open_count; i-- > 0;)
        if (!frame_stack_add(&r->stack, r->frames[r->open[i]]))
            break;
    return frame_stack_take(&r->stack, r->report);
}

// Both had n, and one of them has another.
static bool unlike_lengths(struct speedscope_reader *r, struct speedscope_profile *p, uint64_t n, bool more_samples)
{
    struct json_reader *longer = more_samples ? &p->samples : &p->weights;
    uint64_t count = n + 1;
    while (json_next_element(longer))
        count++;
    return speedscope_fail(r, ERR_INVALID, "it has %" PRIu64 " samples, but %" PRIu64 " weights",
                           more_samples ? count : n, more_samples ? n : count);
}

static bool read_sample(struct speedscope_reader *r, struct speedscope_profile *p, uint64_t number)
{
    long double weight;
    if (!speedscope_number(&p->weights, &weight))
        return speedscope_json_good(r, &p->weights);
    if (weight < 0)
        return speedscope_fail(r, ERR_INVALID, "weight %" PRIu64 " is less than 0", number);
    return read_stack(r, &p->samples, number) && speedscope_add_weight(r, take_stack(r), weight);
}

bool speedscope_read_sampled(struct speedscope_reader *r, struct speedscope_profile *p)
{
    if (!p->has_samples || !p->has_weights)
        return speedscope_fail(r, ERR_INVALID, "a sampled profile needs samples and weights");
    if (!json_enter_array(&p->samples))
        return speedscope_json_good(r, &p->samples);
    if (!json_enter_array(&p->weights))
        return speedscope_json_good(r, &p->weights);
    for (uint64_t n = 0;; n++) {
        const bool sample = json_next_element(&p->samples), weight = json_next_element(&p->weights);
        if (!speedscope_json_good(r, &p->samples) || !speedscope_json_good(r, &p->weights))
            return false;
        if (sample != weight)
            return unlike_lengths(r, p, n, sample);
        if (!sample)
            return true;
        if (!read_sample(r, p, n))
            return false;
    }
}
