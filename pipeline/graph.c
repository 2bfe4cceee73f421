// SPDX-License-Identifier: Apache-2.0
#include "pipeline/graph.h"

#include "base/mem.h"
#include "exporters/exporter.h"
#include "pipeline/branch.h"
#include "pipeline/stage.h"
#include "receivers/receiver.h"

// Hands a delivery to several consumers: pipelines of one receiver, exporters of one pipeline.
struct fanout {
    struct consumer consumer;
    struct consumer **targets;
    size_t count;
};

struct graph {
    struct arena arena; // fan-outs and lists
    struct stage **stages;
    size_t stage_count;
    struct branch **branches;
    size_t branch_count;
};

static void fanout_take(struct consumer *self, struct delivery d)
{
    struct fanout *f = (struct fanout *)self;
    for (size_t i = 0; i + 1 < f->count; i++)
        consumer_take(f->targets[i], delivery_share(&d));
    consumer_take(f->targets[f->count - 1], d);
}

static bool fanout_has_room(struct consumer *self, struct verdict *refusal)
{
    const struct fanout *f = (const struct fanout *)self;
    bool room = true;
    for (size_t i = 0; room && i < f->count; i++)
        room = consumer_has_room(f->targets[i], refusal);
    return room;
}

// The consumer itself when there is one, else a fan-out over all.
static struct consumer *join(struct graph *g, struct consumer **targets, size_t count)
{
    if (count == 1)
        return targets[0];
    struct fanout *f = arena_alloc(&g->arena, sizeof *f);
    f->consumer = (struct consumer){fanout_take, fanout_has_room};
    f->targets = targets;
    f->count = count;
    return &f->consumer;
}

struct graph_builder {
    struct graph *graph;
    struct instance *(*find)(void *arg, const struct component_plan *);
    void *arg;
};

static struct consumer *build_tail(struct graph_builder *b, const struct component_list *exporters)
{
    struct consumer **targets = arena_alloc(&b->graph->arena, exporters->count * sizeof *targets);
    for (size_t i = 0; i < exporters->count; i++) {
        struct branch *branch = branch_create(b->find(b->arg, exporters->items[i]));
        b->graph->branches[b->graph->branch_count++] = branch;
        targets[i] = branch_consumer(branch);
    }
    return join(b->graph, targets, exporters->count);
}

static struct consumer *build_pipeline(struct graph_builder *b, const struct pipeline_plan *p)
{
    struct consumer *next = build_tail(b, &p->exporters);
    for (size_t i = p->processors.count; i-- > 0;) {
        struct stage *stage = stage_create(b->find(b->arg, p->processors.items[i]), p->id, next);
        b->graph->stages[b->graph->stage_count++] = stage;
        next = stage_consumer(stage);
    }
    return next;
}

static bool list_has(const struct component_list *list, const struct component_plan *c)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == c)
            return true;
    return false;
}

static void connect_receiver(struct graph_builder *b, const struct plan *plan, struct consumer *const *heads,
                             const struct component_plan *receiver)
{
    struct consumer **targets = arena_alloc(&b->graph->arena, plan->pipeline_count * sizeof *targets);
    size_t count = 0;
    for (size_t i = 0; i < plan->pipeline_count; i++)
        if (list_has(&plan->pipelines[i].receivers, receiver))
            targets[count++] = heads[i];
    struct receiver *r = (struct receiver *)b->find(b->arg, receiver)->component;
    r->next = join(b->graph, targets, count);
}

static void allocate_lists(struct graph *g, const struct plan *plan)
{
    size_t stages = 0, branches = 0;
    for (size_t i = 0; i < plan->pipeline_count; i++) {
        stages += plan->pipelines[i].processors.count;
        branches += plan->pipelines[i].exporters.count;
    }
    g->stages = arena_alloc(&g->arena, stages * sizeof(void *));
    g->branches = arena_alloc(&g->arena, branches * sizeof(void *));
}

struct graph *graph_create(const struct plan *plan, struct instance *(*find)(void *arg, const struct component_plan *),
                           void *arg)
{
    struct graph *g = MEM_NEW(struct graph);
    arena_init(&g->arena, 0);
    allocate_lists(g, plan);
    struct graph_builder b = {g, find, arg};
    struct consumer **heads = arena_alloc(&g->arena, plan->pipeline_count * sizeof *heads);
    for (size_t i = 0; i < plan->pipeline_count; i++)
        heads[i] = build_pipeline(&b, &plan->pipelines[i]);
    const struct component_list *receivers = &plan->components[KIND_RECEIVER];
    for (size_t i = 0; i < receivers->count; i++)
        connect_receiver(&b, plan, heads, receivers->items[i]);
    return g;
}

void graph_drain(struct graph *g)
{
    for (size_t i = 0; g != NULL && i < g->stage_count; i++)
        stage_drain(g->stages[i]);
}

bool graph_idle(const struct graph *g)
{
    bool idle = true;
    for (size_t i = 0; idle && g != NULL && i < g->stage_count; i++)
        idle = stage_idle(g->stages[i]);
    return idle;
}

void graph_close(struct graph *g)
{
    for (size_t i = 0; g != NULL && i < g->stage_count; i++)
        stage_close(g->stages[i]);
}

void graph_destroy(struct graph **g)
{
    if (*g == NULL)
        return;
    for (size_t i = 0; i < (*g)->stage_count; i++)
        stage_destroy(&(*g)->stages[i]);
    for (size_t i = 0; i < (*g)->branch_count; i++)
        branch_destroy(&(*g)->branches[i]);
    arena_fini(&(*g)->arena);
    free(*g);
    *g = NULL;
}
