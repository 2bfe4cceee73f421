// SPDX-License-Identifier: Apache-2.0
// The Collector's `resource` processor: a list of actions on the attributes of each resource, in order; later
// actions see what earlier ones made.
#include "processors/action_settings.h"
#include "processors/attribute_levels.h"
#include "processors/processors.h"

struct resource_settings {
    struct config_structs actions; // of struct action_settings
};

struct resource_edit {
    struct processor processor;
    struct arena arena; // of the steps
    struct attribute_plan plan;
};

static const struct field resource_fields[] = {
    {.name = "attributes",
     .type = FIELD_STRUCT_LIST,
     .offset = offsetof(struct resource_settings, actions),
     .fields = action_fields,
     .struct_size = sizeof(struct action_settings),
     .required = true,
     .help = "actions, in order"},
    {.name = NULL},
};

static void check_settings(const void *settings, const struct component_check *check)
{
    actions_check(&((const struct resource_settings *)settings)->actions, "attributes", check);
}

static enum err_code create(struct processor *self, const void *settings, struct err *e)
{
    struct resource_edit *p = (struct resource_edit *)self;
    arena_init(&p->arena, 0);
    p->plan.place = PLACE_RESOURCE;
    self->takes_unread = true;
    return actions_create(&((const struct resource_settings *)settings)->actions, &p->arena, &p->plan.steps, e);
}

static enum err_code process(struct processor *self, struct batch **batch, const struct sender *from, struct err *e)
{
    (void)from;
    return attribute_plan_run(&((const struct resource_edit *)self)->plan, batch, e);
}

static void destroy(struct processor *self)
{
    struct resource_edit *p = (struct resource_edit *)self;
    actions_destroy(&p->plan.steps);
    arena_fini(&p->arena);
}

const struct processor_module resource_processor = {
    .module =
        {
            .type = "resource",
            .help = "Changes the attributes of resources.",
            .settings_size = sizeof(struct resource_settings),
            .instance_size = sizeof(struct resource_edit),
            .fields = resource_fields,
            .check = check_settings,
        },
    .create = create,
    .process = process,
    .destroy = destroy,
};
