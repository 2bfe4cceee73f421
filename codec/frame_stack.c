// SPDX-License-Identifier: Apache-2.0
#include "codec/frame_stack.h"

#include "base/mem.h"
#include "codec/frames.h"

void frame_stack_init(struct frame_stack *s, struct builder *b, uint32_t max_depth)
{
    *s = (struct frame_stack){.builder = b, .max = max_depth > 0 ? max_depth : 1};
}

void frame_stack_fini(struct frame_stack *s)
{
    free(s->locations);
    s->locations = NULL;
}

static bool has_room(struct frame_stack *s)
{
    void *locations = s->locations;
    if (s->count == s->capacity &&
        !mem_try_grow(&locations, &s->capacity, (size_t)s->count + 1, sizeof *s->locations, UINT32_MAX))
        s->no_memory = true;
    s->locations = locations;
    return !s->no_memory;
}

bool frame_stack_add(struct frame_stack *s, uint32_t location)
{
    s->cut |= s->count == s->max;
    if (s->cut || !has_room(s))
        return false;
    s->locations[s->count++] = location;
    return true;
}

static uint32_t named_location(struct builder *b, struct bytes name)
{
    return frame_location(b, &(struct frame){.name = name});
}

uint32_t frame_stack_take(struct frame_stack *s, struct decode_report *report)
{
    if (s->count == 0)
        frame_stack_add(s, named_location(s->builder, BYTES_LITERAL(FRAME_UNKNOWN)));
    if (s->cut) {
        s->locations[s->count - 1] = named_location(s->builder, BYTES_LITERAL(FRAME_TRUNCATED));
        report->cut_stacks++;
    }
    uint32_t stack = s->no_memory ? 0 : builder_stack(s->builder, s->locations, s->count);
    s->count = 0;
    s->cut = false;
    return stack;
}
