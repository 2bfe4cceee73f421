// SPDX-License-Identifier: Apache-2.0
// The Collector's `attributes` processor, for profiles: actions on the attributes of resources, scopes, profiles or
// samples, for those that `include` and `exclude` leave.
#include "processors/action_settings.h"
#include "processors/attribute_levels.h"
#include "processors/processors.h"

struct attributes_settings {
    int level; // enum attribute_place
    struct config_structs actions;
    struct matcher_settings include, exclude;
};

struct attributes_edit {
    struct processor processor;
    struct arena arena; // of the steps
    struct attribute_plan plan;
};

#define SETTING(member) offsetof(struct attributes_settings, member)

static const struct field attributes_fields[] = {
    {.name = "level",
     .type = FIELD_ENUM,
     .offset = SETTING(level),
     .default_text = "sample",
     .names = attribute_place_names,
     .help = "whose attributes are changed"},
    {.name = "actions",
     .type = FIELD_STRUCT_LIST,
     .offset = SETTING(actions),
     .fields = action_fields,
     .struct_size = sizeof(struct action_settings),
     .required = true,
     .help = "actions, in order"},
    {.name = "include",
     .type = FIELD_STRUCT,
     .offset = SETTING(include),
     .present_offset = 1 + SETTING(include.given),
     .fields = matcher_fields,
     .help = "only what matches all of this is changed"},
    {.name = "exclude",
     .type = FIELD_STRUCT,
     .offset = SETTING(exclude),
     .present_offset = 1 + SETTING(exclude.given),
     .fields = matcher_fields,
     .help = "what matches all of this stays as it is"},
    {.name = NULL},
};

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct attributes_settings *s = settings;
    actions_check(&s->actions, "actions", check);
    attribute_level_check_matcher(check, "include", &s->include, s->level);
    attribute_level_check_matcher(check, "exclude", &s->exclude, s->level);
}

static enum err_code create(struct processor *self, const void *settings, struct err *e)
{
    struct attributes_edit *p = (struct attributes_edit *)self;
    const struct attributes_settings *s = settings;
    arena_init(&p->arena, 0);
    p->plan.place = (enum attribute_place)s->level;
    self->takes_unread = p->plan.place == PLACE_RESOURCE || p->plan.place == PLACE_SCOPE;
    enum err_code rc = actions_create(&s->actions, &p->arena, &p->plan.steps, e);
    if (rc == ERR_OK)
        rc = matcher_create(&s->include, &p->plan.include, e);
    if (rc == ERR_OK)
        rc = matcher_create(&s->exclude, &p->plan.exclude, e);
    return rc;
}

static enum err_code process(struct processor *self, struct batch **batch, const struct sender *from, struct err *e)
{
    (void)from;
    return attribute_plan_run(&((const struct attributes_edit *)self)->plan, batch, e);
}

static void destroy(struct processor *self)
{
    struct attributes_edit *p = (struct attributes_edit *)self;
    matcher_destroy(&p->plan.include);
    matcher_destroy(&p->plan.exclude);
    actions_destroy(&p->plan.steps);
    arena_fini(&p->arena);
}

const struct processor_module attributes_processor = {
    .module =
        {
            .type = "attributes",
            .help = "Changes the attributes of resources, scopes, profiles or samples.",
            .settings_size = sizeof(struct attributes_settings),
            .instance_size = sizeof(struct attributes_edit),
            .fields = attributes_fields,
            .check = check_settings,
        },
    .create = create,
    .process = process,
    .destroy = destroy,
};
