// SPDX-License-Identifier: Apache-2.0
#include "processors/attribute_levels.h"

const char *const attribute_place_names[] = {[PLACE_RESOURCE] = "resource",
                                             [PLACE_SCOPE] = "scope",
                                             [PLACE_PROFILE] = "profile",
                                             [PLACE_SAMPLE] = "sample",
                                             NULL};

void attribute_level_check_matcher(const struct component_check *check, const char *key,
                                   const struct matcher_settings *s, int level)
{
    struct attribute_matcher *m;
    struct err e;
    if (matcher_create(s, &m, &e) != ERR_OK)
        check_error(check, key, "%s", e.text);
    else if (m != NULL && level == PLACE_RESOURCE && matcher_names_libraries(m))
        check_error(check, key, "libraries has no meaning at the level of resources");
    matcher_destroy(&m);
}

struct run {
    const struct attribute_plan *plan;
    const struct batch *batch;
    uint32_t resource;          // asked last, counted from 1
    bool taken, taken_out;      // by include, by exclude, as far as the resource counts
    bool excluded;              // the part at hand, if its attributes match too
    struct attribute_edit edit; // of the last list
};

// False when no list of attributes in this part can be meant.
static bool enter_part(struct run *run, uint32_t resource, const struct scope *scope)
{
    const struct attribute_plan *plan = run->plan;
    const struct resource *r = run->batch->resources[resource];
    if (run->resource != resource + 1) {
        run->taken = plan->include == NULL || matcher_takes_resource(plan->include, r);
        run->taken_out = plan->exclude != NULL && matcher_takes_resource(plan->exclude, r);
        run->resource = resource + 1;
    }
    run->excluded = run->taken_out && matcher_takes_scope(plan->exclude, scope);
    return run->taken && (plan->include == NULL || matcher_takes_scope(plan->include, scope));
}

static bool enter_scope(void *arg, uint32_t resource, uint32_t scope)
{
    struct run *run = arg;
    return enter_part(run, resource, run->batch->resources[resource]->scopes[scope]);
}

// The steps on the list that was put into the edit; rc is how that went.
static enum err_code finish_edit(struct run *run, enum err_code rc, struct err *e)
{
    const struct attribute_plan *plan = run->plan;
    struct attribute_edit *edit = &run->edit;
    if (rc != ERR_OK || (plan->include != NULL && !matcher_takes_list(plan->include, edit->items, edit->count)) ||
        (run->excluded && matcher_takes_list(plan->exclude, edit->items, edit->count)))
        return rc;
    return attribute_edit_apply(edit, &plan->steps, e);
}

static enum err_code change_part(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part,
                                 struct err *e)
{
    struct run *run = arg;
    const struct resource *r = run->batch->resources[resource];
    if (!enter_part(run, resource, run->plan->place == PLACE_SCOPE ? r->scopes[scope] : NULL))
        return ERR_OK;
    attribute_edit_fini(&run->edit);
    enum err_code rc = attribute_edit_init_key_values(&run->edit, part->list, part->count, run->plan->steps.room, e);
    rc = finish_edit(run, rc, e);
    if (rc != ERR_OK || !run->edit.changed)
        return rc;
    part->list = attribute_edit_key_values(&run->edit);
    part->count = run->edit.count;
    return part->list == NULL ? attribute_no_memory(e) : ERR_OK;
}

static enum err_code change_set(void *arg, uint32_t resource, const struct unit_attribute *list, uint32_t count,
                                const struct unit_attribute **out, uint32_t *count_out, struct err *e)
{
    struct run *run = arg;
    (void)resource;
    attribute_edit_fini(&run->edit);
    enum err_code rc = attribute_edit_init(&run->edit, list, count, run->plan->steps.room, e);
    rc = finish_edit(run, rc, e);
    *out = run->edit.changed ? run->edit.items : list;
    *count_out = run->edit.changed ? run->edit.count : count;
    return rc;
}

enum err_code attribute_plan_run(const struct attribute_plan *plan, struct batch **batch, struct err *e)
{
    struct run run = {.plan = plan, .batch = *batch};
    bool filtered = plan->include != NULL || plan->exclude != NULL;
    enum err_code rc;
    arena_init(&run.edit.arena, 0);
    if (plan->place == PLACE_RESOURCE || plan->place == PLACE_SCOPE)
        rc = batch_change_part_attributes(
            batch, &(struct part_attributes_change){plan->place == PLACE_SCOPE, change_part, &run}, e);
    else
        rc = batch_change_attribute_sets(
            batch,
            &(struct attribute_sets_change){.level = plan->place == PLACE_PROFILE ? LEVEL_PROFILE : LEVEL_SAMPLE,
                                            .change = change_set,
                                            .arg = &run,
                                            .scope = filtered ? enter_scope : NULL},
            e);
    attribute_edit_fini(&run.edit);
    return rc;
}
