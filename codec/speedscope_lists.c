// SPDX-License-Identifier: Apache-2.0
// The samples of a speedscope profile: stacks with weights, or frames that open and close.
#include "base/mem.h"
#include "codec/speedscope_reader.h"

#include <inttypes.h>

// --- rows ---

static bool place_of(struct speedscope_reader *r, uint32_t stack, struct speedscope_place **out)
{
    void *places = r->places;
    if (stack >= r->place_count) {
        if (!mem_try_grow(&places, &r->place_capacity, (size_t)stack + 1, sizeof *r->places, SIZE_MAX / 16))
            return speedscope_no_memory(r);
        r->places = places;
        memset(r->places + r->place_count, 0, (stack + 1 - r->place_count) * sizeof *r->places);
        r->place_count = (size_t)stack + 1;
    }
    *out = &r->places[stack];
    return true;
}

// Adds to what the stack in open weighs. Equal stacks of a profile are one row.
static bool add_weight(struct speedscope_reader *r, long double weight)
{
    struct speedscope_place *place = NULL;
    void *rows = r->rows;
    for (size_t i = r->open_count; i-- > 0;)
        if (!frame_stack_add(&r->stack, r->frames[r->open[i]]))
            break;
    const uint32_t stack = frame_stack_take(&r->stack, r->report);
    if (r->stack.no_memory)
        return speedscope_no_memory(r);
    if (stack == 0 || !place_of(r, stack, &place))
        return false; // the builder says why
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

// A number that stands for a frame; what and number name the place.
static bool check_frame(struct speedscope_reader *r, int64_t frame, const char *what, uint64_t number)
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
        if (!check_frame(r, frame, "sample", number) || !push_frame(r, (uint32_t)frame))
            return false;
    }
    return speedscope_json_good(r, j);
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
    return read_stack(r, &p->samples, number) && add_weight(r, weight);
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

// --- evented ---

struct event {
    bool opens, has_type, has_frame, has_at;
    int64_t frame;
    long double at;
};

static bool read_event(struct json_reader *j, struct event *v)
{
    struct bytes key, type = {0};
    *v = (struct event){0};
    if (!json_enter_object(j))
        return false;
    while (json_next_member(j, &key)) {
        if (bytes_equal_text(key, "type")) {
            v->has_type = json_string(j, &type) && (bytes_equal_text(type, "O") || bytes_equal_text(type, "C"));
            v->opens = bytes_equal_text(type, "O");
        } else if (bytes_equal_text(key, "frame")) {
            v->has_frame = json_int64(j, &v->frame);
        } else if (bytes_equal_text(key, "at")) {
            v->has_at = speedscope_number(j, &v->at);
        }
    }
    return j->error == NULL;
}

static bool apply_event(struct speedscope_reader *r, const struct event *v, uint64_t number, long double *last)
{
    if (!v->has_type || !v->has_frame || !v->has_at)
        return speedscope_fail(r, ERR_INVALID, "event %" PRIu64 " needs a type (\"O\" or \"C\"), a frame and at",
                               number);
    if (number > 0 && v->at < *last)
        return speedscope_fail(r, ERR_INVALID, "event %" PRIu64 " is earlier than the one before it", number);
    if (r->open_count > 0 && v->at > *last && !add_weight(r, v->at - *last))
        return false;
    *last = v->at;
    if (!check_frame(r, v->frame, "event", number))
        return false;
    if (v->opens)
        return push_frame(r, (uint32_t)v->frame);
    if (r->open_count == 0)
        return speedscope_fail(r, ERR_INVALID, "event %" PRIu64 " closes frame %" PRId64 ", but none is open", number,
                               v->frame);
    const uint32_t top = r->open[r->open_count - 1];
    if (top != (uint32_t)v->frame)
        return speedscope_fail(r, ERR_INVALID,
                               "event %" PRIu64 " closes frame %" PRId64 ", but frame %u was opened last", number,
                               v->frame, top);
    r->open_count--;
    return true;
}

bool speedscope_read_evented(struct speedscope_reader *r, struct speedscope_profile *p)
{
    long double last = 0;
    struct event v;
    r->open_count = 0;
    if (!p->has_events)
        return speedscope_fail(r, ERR_INVALID, "an evented profile needs events");
    if (!json_enter_array(&p->events))
        return speedscope_json_good(r, &p->events);
    for (uint64_t n = 0; json_next_element(&p->events); n++)
        if (!read_event(&p->events, &v) || !apply_event(r, &v, n, &last))
            return p->events.error != NULL ? speedscope_json_good(r, &p->events) : false;
    if (!speedscope_json_good(r, &p->events))
        return false;
    return r->open_count == 0 || speedscope_fail(r, ERR_INVALID, "%zu frames are still open at its end", r->open_count);
}
