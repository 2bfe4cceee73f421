// SPDX-License-Identifier: Apache-2.0
#include "profile/frames.h"

#include "base/mem.h"
#include "profile/edit.h"
#include "profile/parts.h"
#include "profile/rewrite_internal.h"
#include "profile/stack.h"

typedef bool drops_fn(void *arg, const struct dictionary *d, struct batch_frame frame);

// A dictionary with the same numbers and shorter stacks, whose items are no longer unique; it is never seen outside.
struct shortener {
    const struct dictionary *from;
    drops_fn *drops;
    void *arg;
    struct batch_location *locations;
    struct batch_line *lines;
    struct batch_range *stacks;
    uint8_t *stack_bytes;
    bool *gone;    // by location
    bool *changed; // by location, then by stack
    uint32_t line_count;
    size_t byte_count;
    bool any; // sample in the batch has a stack that changed
};

static void fini(struct shortener *s)
{
    free(s->locations);
    free(s->lines);
    free(s->stacks);
    free(s->stack_bytes);
    free(s->gone);
    free(s->changed);
}

static bool init(struct shortener *s)
{
    const struct dictionary *d = s->from;
    const size_t flags = (size_t)d->location_count + d->stack_count;
    s->locations = mem_try_array(d->location_count, sizeof *s->locations);
    s->lines = mem_try_array((size_t)d->line_count + 1, sizeof *s->lines);
    s->stacks = mem_try_array(d->stack_count, sizeof *s->stacks);
    s->stack_bytes = mem_try_alloc(d->stack_byte_count + 1);
    s->gone = mem_try_alloc(d->location_count);
    s->changed = mem_try_alloc(flags);
    if (s->locations == NULL || s->lines == NULL || s->stacks == NULL || s->stack_bytes == NULL || s->gone == NULL ||
        s->changed == NULL)
        return false;
    memset(s->gone, 0, d->location_count);
    memset(s->changed, 0, flags);
    return true;
}

static bool is_dropped(const struct shortener *s, struct batch_frame frame)
{
    return s->drops(s->arg, s->from, frame);
}

static void shorten_location(struct shortener *s, uint32_t id)
{
    const struct batch_location *old = &s->from->locations[id];
    struct batch_location *new = &s->locations[id];
    *new = *old;
    new->line_start = s->line_count;
    for (uint32_t i = 0; i < old->line_count; i++) {
        const struct batch_line *line = &s->from->lines[old->line_start + i];
        if (!is_dropped(s, (struct batch_frame){old->mapping, true, line->function}))
            s->lines[s->line_count++] = *line;
    }
    new->line_count = s->line_count - new->line_start;
    s->changed[id] = new->line_count != old->line_count;
    s->gone[id] = s->changed[id] && new->line_count == 0;
    if (old->line_count == 0 && id != 0)
        s->changed[id] = s->gone[id] = is_dropped(s, (struct batch_frame){.mapping = old->mapping});
}

static void shorten_stack(struct shortener *s, uint32_t id)
{
    struct stack_reader r;
    uint32_t location;
    uint8_t *start = s->stack_bytes + s->byte_count, *to = start;
    bool *changed = &s->changed[s->from->location_count + id];
    stack_reader_init(&r, s->from, id);
    while (stack_next(&r, &location)) {
        *changed |= s->changed[location];
        if (!s->gone[location])
            to = stack_put(to, location);
    }
    s->stacks[id] = (struct batch_range){(uint32_t)s->byte_count, (uint32_t)(to - start)};
    s->byte_count += (size_t)(to - start);
}

static void shorten_all(struct shortener *s)
{
    for (uint32_t i = 0; i < s->from->location_count; i++)
        shorten_location(s, i);
    for (uint32_t i = 0; i < s->from->stack_count; i++)
        shorten_stack(s, i);
}

static bool forget_payload(void *arg, struct profile *p)
{
    struct shortener *s = arg;
    const bool *changed = s->changed + s->from->location_count, had = p->original_payload_format.len != 0;
    uint32_t i = 0;
    while (i < p->columns->sample_count && !changed[p->columns->stacks[i]])
        i++;
    if (i == p->columns->sample_count)
        return false;
    s->any = true;
    profile_drop_payload(p);
    return had;
}

static enum err_code rebuild(const struct shortener *s, struct batch **b, struct err *e)
{
    struct dictionary shorter;
    dictionary_borrow(s->from, &shorter);
    shorter.locations = s->locations;
    shorter.lines = s->lines;
    shorter.line_count = s->line_count;
    shorter.stacks = s->stacks;
    shorter.stack_bytes = s->stack_bytes;
    shorter.stack_byte_count = s->byte_count;
    return batch_rebuild(b, &shorter, e);
}

static enum err_code drop_frames(struct shortener *s, struct batch **b, struct err *e)
{
    struct batch *without_payload = batch_ref(*b);
    shorten_all(s);
    enum err_code rc = batch_change_profiles(&without_payload, forget_payload, s, e);
    if (rc == ERR_OK && s->any)
        rc = rebuild(s, &without_payload, e);
    if (rc != ERR_OK) {
        batch_unref(&without_payload);
        return rc;
    }
    batch_unref(b);
    *b = without_payload;
    return ERR_OK;
}

enum err_code batch_drop_frames(struct batch **b, drops_fn *drops, void *arg, struct err *e)
{
    struct shortener s = {.from = (*b)->dictionary, .drops = drops, .arg = arg};
    struct dictionary *held = dictionary_ref((*b)->dictionary);
    enum err_code rc = init(&s) ? drop_frames(&s, b, e) : parts_no_memory(e);
    fini(&s);
    dictionary_unref(&held);
    return rc;
}
