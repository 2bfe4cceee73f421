// SPDX-License-Identifier: Apache-2.0
// Speedscope profiles whose frames open and close. What is open is a node of a tree, so that an event costs the same at
// any depth; a node becomes a stack once, when time first passes in it.
#include "base/hash.h"
#include "base/mem.h"
#include "codec/speedscope_reader.h"

#include <inttypes.h>

struct speedscope_node {
    uint32_t parent, location; // node 0: of none
    uint32_t stack;            // the builder's; 0 = not made so far
};

struct speedscope_level {
    uint32_t node, frame;
};

void speedscope_tree_fini(struct speedscope_tree *t)
{
    index_table_fini(&t->index);
    free(t->nodes);
    free(t->levels);
}

// --- the tree ---

static bool has_room(struct speedscope_tree *t)
{
    void *nodes = t->nodes, *levels = t->levels;
    const bool good =
        mem_try_grow(&nodes, &t->node_capacity, (size_t)t->node_count + 1, sizeof *t->nodes, UINT32_MAX - 1) &&
        mem_try_grow(&levels, &t->level_capacity, (size_t)t->level_count + 1, sizeof *t->levels, UINT32_MAX);
    t->nodes = nodes;
    t->levels = levels;
    return good && index_table_reserve(&t->index);
}

static uint32_t child_of(struct speedscope_tree *t, uint32_t parent, uint32_t location)
{
    const uint32_t key[] = {parent, location};
    const uint64_t hash = hash_bytes(key, sizeof key);
    uint32_t id, slot = index_table_start(&t->index, hash);
    for (; index_table_next(&t->index, hash, &slot, &id); index_table_skip(&t->index, &slot))
        if (t->nodes[id].parent == parent && t->nodes[id].location == location)
            return id;
    index_table_insert(&t->index, hash, slot, t->node_count);
    t->nodes[t->node_count] = (struct speedscope_node){parent, location, 0};
    return t->node_count++;
}

// Everything below the deepest level that is kept is one marker there.
static uint32_t node_below(struct speedscope_reader *r, uint32_t location)
{
    struct speedscope_tree *t = &r->tree;
    uint32_t above = t->level_count;
    if (above >= r->stack.max) {
        above = r->stack.max - 1;
        location = frame_location(r->builder, &(struct frame){.name = BYTES_LITERAL(FRAME_TRUNCATED)});
    }
    return child_of(t, above > 0 ? t->levels[above - 1].node : 0, location);
}

static bool open_frame(struct speedscope_reader *r, uint32_t frame)
{
    struct speedscope_tree *t = &r->tree;
    if (t->node_count == 0)
        t->node_count = 1; // node 0 is never looked into
    if (!has_room(t))
        return speedscope_no_memory(r);
    const uint32_t node = node_below(r, r->frames[frame]);
    t->levels[t->level_count++] = (struct speedscope_level){node, frame};
    return true;
}

// The builder's stack of what is open.
static uint32_t open_stack(struct speedscope_reader *r)
{
    struct speedscope_tree *t = &r->tree;
    struct speedscope_node *node = &t->nodes[t->levels[t->level_count - 1].node];
    if (node->stack != 0)
        return node->stack;
    for (uint32_t id = t->levels[t->level_count - 1].node; id != 0; id = t->nodes[id].parent)
        frame_stack_add(&r->stack, t->nodes[id].location);
    r->report->cut_stacks += t->level_count > r->stack.max;
    return node->stack = frame_stack_take(&r->stack, r->report);
}

// --- events ---

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

static bool close_frame(struct speedscope_reader *r, int64_t frame, uint64_t number)
{
    if (r->tree.level_count == 0)
        return speedscope_fail(r, ERR_INVALID, "event %" PRIu64 " closes frame %" PRId64 ", but none is open", number,
                               frame);
    const uint32_t top = r->tree.levels[r->tree.level_count - 1].frame;
    if (top != (uint32_t)frame)
        return speedscope_fail(r, ERR_INVALID,
                               "event %" PRIu64 " closes frame %" PRId64 ", but frame %u was opened last", number,
                               frame, top);
    r->tree.level_count--;
    return true;
}

static bool apply_event(struct speedscope_reader *r, const struct event *v, uint64_t number, long double *last)
{
    if (!v->has_type || !v->has_frame || !v->has_at)
        return speedscope_fail(r, ERR_INVALID, "event %" PRIu64 " needs a type (\"O\" or \"C\"), a frame and at",
                               number);
    if (number > 0 && v->at < *last)
        return speedscope_fail(r, ERR_INVALID, "event %" PRIu64 " is earlier than the one before it", number);
    if (r->tree.level_count > 0 && v->at > *last && !speedscope_add_weight(r, open_stack(r), v->at - *last))
        return false;
    *last = v->at;
    if (!speedscope_check_frame(r, v->frame, "event", number))
        return false;
    return v->opens ? open_frame(r, (uint32_t)v->frame) : close_frame(r, v->frame, number);
}

bool speedscope_read_evented(struct speedscope_reader *r, struct speedscope_profile *p)
{
    long double last = 0;
    struct event v;
    r->tree.level_count = 0;
    if (!p->has_events)
        return speedscope_fail(r, ERR_INVALID, "an evented profile needs events");
    if (!json_enter_array(&p->events))
        return speedscope_json_good(r, &p->events);
    for (uint64_t n = 0; json_next_element(&p->events); n++)
        if (!read_event(&p->events, &v) || !apply_event(r, &v, n, &last))
            return p->events.error != NULL ? speedscope_json_good(r, &p->events) : false;
    if (!speedscope_json_good(r, &p->events))
        return false;
    return r->tree.level_count == 0 ||
           speedscope_fail(r, ERR_INVALID, "%u frames are still open at its end", r->tree.level_count);
}
