// SPDX-License-Identifier: Apache-2.0
// The Collector's `resource` processor: a list of actions on the attributes of each resource, in order; later
// actions see what earlier ones made.
#include "base/mem.h"
#include "pipeline/attributes.h"
#include "processors/processors.h"
#include "processors/resource_actions.h"
#include "profile/edit.h"

#include <stdio.h>
#include <stdlib.h>

struct action_settings {
    const char *key;
    int action; // enum attribute_action
    struct config_any value;
    const char *from_attribute;
    const char *pattern;
    int converted_type; // enum attribute_type
};

struct resource_settings {
    struct config_structs actions; // of struct action_settings
};

struct resource_edit {
    struct processor processor;
    struct arena arena; // of the steps
    struct attribute_step *steps;
    size_t step_count;
};

static const char *const action_names[] = {
    [ACTION_INSERT] = "insert", [ACTION_UPDATE] = "update",   [ACTION_UPSERT] = "upsert",   [ACTION_DELETE] = "delete",
    [ACTION_HASH] = "hash",     [ACTION_CONVERT] = "convert", [ACTION_EXTRACT] = "extract", NULL};
static const char *const type_names[] = {
    [TYPE_NONE] = "none", [TYPE_INT] = "int", [TYPE_DOUBLE] = "double", [TYPE_STRING] = "string", NULL};

#define SETTING(member) offsetof(struct action_settings, member)

static const struct field action_fields[] = {
    {.name = "key", .type = FIELD_STRING, .offset = SETTING(key), .required = true, .help = "the attribute"},
    {.name = "action",
     .type = FIELD_ENUM,
     .offset = SETTING(action),
     .required = true,
     .names = action_names,
     .help = "what to do with it"},
    {.name = "value", .type = FIELD_ANY, .offset = SETTING(value), .help = "what insert, update and upsert put there"},
    {.name = "from_attribute",
     .type = FIELD_STRING,
     .offset = SETTING(from_attribute),
     .help = "instead of value: the attribute to copy from; without it in the resource nothing happens"},
    {.name = "pattern", .type = FIELD_STRING, .offset = SETTING(pattern), .help = "comes with a later release"},
    {.name = "converted_type",
     .type = FIELD_ENUM,
     .offset = SETTING(converted_type),
     .default_text = "none",
     .names = type_names,
     .help = "what convert makes of it; what cannot be converted stays"},
    {.name = NULL},
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

// --- settings ---

struct action_check {
    const struct component_check *check;
    const struct action_settings *action;
    size_t index;
};

static const char *path_of(const struct action_check *c, const char *key, char out[64])
{
    snprintf(out, 64, "attributes[%zu]%s%s", c->index, key[0] != '\0' ? "." : "", key);
    return out;
}

static bool puts_value(const struct action_settings *a)
{
    return a->action == ACTION_INSERT || a->action == ACTION_UPDATE || a->action == ACTION_UPSERT;
}

static void check_source(const struct action_check *c)
{
    char path[64];
    const struct action_settings *a = c->action;
    bool has_value = a->value.kind != CONFIG_ANY_UNSET, has_from = a->from_attribute != NULL;
    const char *action = action_names[a->action];
    if (puts_value(a) && !has_value && !has_from)
        check_error(c->check, path_of(c, "", path), "%s needs `value` or `from_attribute`", action);
    if (puts_value(a) && has_value && has_from)
        check_error(c->check, path_of(c, "from_attribute", path), "give either `value` or `from_attribute`, not both");
    if (!puts_value(a) && has_value)
        check_error(c->check, path_of(c, "value", path), "has no meaning for %s", action);
    if (!puts_value(a) && has_from)
        check_error(c->check, path_of(c, "from_attribute", path), "has no meaning for %s", action);
}

static void check_action(const struct action_check *c)
{
    char path[64];
    const struct action_settings *a = c->action;
    if (a->key != NULL && a->key[0] == '\0')
        check_error(c->check, path_of(c, "key", path), "must not be empty");
    if (a->action == ACTION_EXTRACT)
        check_error(c->check, path_of(c, "action", path), "\"extract\" comes with the next release");
    else if (a->pattern != NULL)
        check_error(c->check, path_of(c, "pattern", path),
                    "regular expressions come with the next release; name the attribute with `key`");
    if (a->action == ACTION_CONVERT && a->converted_type == TYPE_NONE)
        check_error(c->check, path_of(c, "", path), "convert needs `converted_type`: int, double or string");
    if (a->action != ACTION_CONVERT && a->converted_type != TYPE_NONE)
        check_error(c->check, path_of(c, "converted_type", path), "has no meaning for %s", action_names[a->action]);
    check_source(c);
}

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct resource_settings *s = settings;
    const struct action_settings *actions = s->actions.items;
    if (s->actions.count == 0)
        check_error(check, "attributes", "needs at least one action");
    for (size_t i = 0; i < s->actions.count; i++)
        check_action(&(struct action_check){check, &actions[i], i});
}

// --- work ---

static struct attribute_step make_step(struct arena *arena, const struct action_settings *a)
{
    return (struct attribute_step){
        .action = (enum attribute_action)a->action,
        .key = bytes_from_text(a->key),
        .from_attribute = bytes_from_text(a->from_attribute),
        .value = attribute_value(arena, &a->value),
        .converted_type = (enum attribute_type)a->converted_type,
    };
}

static enum err_code create(struct processor *self, const void *settings, struct err *e)
{
    (void)e;
    struct resource_edit *p = (struct resource_edit *)self;
    const struct resource_settings *s = settings;
    const struct action_settings *actions = s->actions.items;
    arena_init(&p->arena, 0);
    p->step_count = s->actions.count;
    p->steps = arena_alloc(&p->arena, p->step_count * sizeof *p->steps);
    for (size_t i = 0; i < p->step_count; i++)
        p->steps[i] = make_step(&p->arena, &actions[i]);
    return ERR_OK;
}

static enum err_code change_resource(const struct resource_edit *p, struct batch **b, uint32_t index, struct err *e)
{
    const struct resource *r = (*b)->resources[index];
    struct attribute_edit edit;
    enum err_code rc = attribute_edit_init(&edit, r->attributes, r->attribute_count, p->step_count, e);
    for (size_t i = 0; rc == ERR_OK && i < p->step_count; i++)
        rc = attribute_edit_apply(&edit, &p->steps[i], e);
    if (rc == ERR_OK && edit.changed)
        rc = batch_set_resource_attributes(b, index, edit.items, edit.count, e);
    attribute_edit_fini(&edit);
    return rc;
}

// After a failure the batch is as it came.
static enum err_code process(struct processor *self, struct batch **batch, struct err *e)
{
    const struct resource_edit *p = (const struct resource_edit *)self;
    struct batch *work = batch_ref(*batch);
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < work->resource_count; i++)
        rc = change_resource(p, &work, i, e);
    if (rc == ERR_OK) {
        struct batch *old = *batch;
        *batch = work;
        work = old;
    }
    batch_unref(&work);
    return rc;
}

static void destroy(struct processor *self)
{
    arena_fini(&((struct resource_edit *)self)->arena);
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
