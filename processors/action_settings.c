// SPDX-License-Identifier: Apache-2.0
#include "processors/action_settings.h"

#include "pipeline/attributes.h"

#include <stdio.h>

static const char *const action_names[] = {
    [ACTION_INSERT] = "insert", [ACTION_UPDATE] = "update",   [ACTION_UPSERT] = "upsert",   [ACTION_DELETE] = "delete",
    [ACTION_HASH] = "hash",     [ACTION_CONVERT] = "convert", [ACTION_EXTRACT] = "extract", NULL};
static const char *const type_names[] = {
    [TYPE_NONE] = "none", [TYPE_INT] = "int", [TYPE_DOUBLE] = "double", [TYPE_STRING] = "string", NULL};

#define SETTING(member) offsetof(struct action_settings, member)

const struct field action_fields[] = {
    {.name = "key",
     .type = FIELD_STRING,
     .offset = SETTING(key),
     .help = "the attribute; delete and hash can do with a pattern"},
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
     .help = "instead of value: the attribute to copy from; where it is absent nothing happens"},
    {.name = "default_value",
     .type = FIELD_ANY,
     .offset = SETTING(default_value),
     .help = "what is put there where from_attribute is absent"},
    {.name = "pattern",
     .type = FIELD_STRING,
     .offset = SETTING(pattern),
     .help = "regular expression (RE2); delete and hash: also the attributes whose key it matches; extract: its named "
             "groups become attributes"},
    {.name = "converted_type",
     .type = FIELD_ENUM,
     .offset = SETTING(converted_type),
     .default_text = "none",
     .names = type_names,
     .help = "what convert makes of it; what cannot be converted stays"},
    {.name = NULL},
};

// --- checks ---

struct action_check {
    const struct component_check *check;
    const struct action_settings *action;
    const char *list;
    size_t index;
};

static const char *path_of(const struct action_check *c, const char *key, char out[64])
{
    snprintf(out, 64, "%s[%zu]%s%s", c->list, c->index, key[0] != '\0' ? "." : "", key);
    return out;
}

static bool has_text(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static bool is_given(const struct config_any *any)
{
    return any->kind != CONFIG_ANY_UNSET;
}

static bool puts_value(const struct action_settings *a)
{
    return a->action == ACTION_INSERT || a->action == ACTION_UPDATE || a->action == ACTION_UPSERT;
}

static bool names_keys(const struct action_settings *a)
{
    return a->action == ACTION_DELETE || a->action == ACTION_HASH;
}

static void check_key(const struct action_check *c)
{
    char path[64];
    const struct action_settings *a = c->action;
    if (a->key != NULL && a->key[0] == '\0')
        check_error(c->check, path_of(c, "key", path), "must not be empty");
    else if (a->key == NULL && !(names_keys(a) && a->pattern != NULL))
        check_error(c->check, path_of(c, "", path), "%s needs `key`%s", action_names[a->action],
                    names_keys(a) ? " or `pattern`" : "");
}

static void check_source(const struct action_check *c)
{
    char path[64];
    const struct action_settings *a = c->action;
    bool has_value = is_given(&a->value), has_from = a->from_attribute != NULL,
         has_default = is_given(&a->default_value);
    const char *action = action_names[a->action];
    if (puts_value(a) && !has_value && !has_from && !has_default)
        check_error(c->check, path_of(c, "", path), "%s needs `value` or `from_attribute`", action);
    if (puts_value(a) && has_value && has_from)
        check_error(c->check, path_of(c, "from_attribute", path), "give either `value` or `from_attribute`, not both");
    if (puts_value(a) && has_value && has_default)
        check_error(c->check, path_of(c, "default_value", path), "is never used beside `value`");
    if (!puts_value(a) && has_value)
        check_error(c->check, path_of(c, "value", path), "has no meaning for %s", action);
    if (!puts_value(a) && has_from)
        check_error(c->check, path_of(c, "from_attribute", path), "has no meaning for %s", action);
    if (!puts_value(a) && has_default)
        check_error(c->check, path_of(c, "default_value", path), "has no meaning for %s", action);
}

static void check_pattern(const struct action_check *c)
{
    char path[64];
    const struct action_settings *a = c->action;
    struct regex *r;
    struct err e;
    if (a->action == ACTION_EXTRACT && a->pattern == NULL)
        check_error(c->check, path_of(c, "", path), "extract needs `pattern`");
    if (a->pattern == NULL)
        return;
    path_of(c, "pattern", path);
    if (a->action != ACTION_EXTRACT && !names_keys(a)) {
        check_error(c->check, path, "has no meaning for %s", action_names[a->action]);
    } else if (a->pattern[0] == '\0') {
        check_error(c->check, path, "must not be empty");
    } else if (regex_compile(bytes_from_text(a->pattern), &r, &e) != ERR_OK) {
        check_error(c->check, path, "%s", e.text);
    } else {
        if (a->action == ACTION_EXTRACT && regex_check_names(r, &e) != ERR_OK)
            check_error(c->check, path, "%s", e.text);
        regex_destroy(&r);
    }
}

static void check_action(const struct action_check *c)
{
    char path[64];
    const struct action_settings *a = c->action;
    check_key(c);
    check_pattern(c);
    if (a->action == ACTION_CONVERT && a->converted_type == TYPE_NONE)
        check_error(c->check, path_of(c, "", path), "convert needs `converted_type`: int, double or string");
    if (a->action != ACTION_CONVERT && a->converted_type != TYPE_NONE)
        check_error(c->check, path_of(c, "converted_type", path), "has no meaning for %s", action_names[a->action]);
    check_source(c);
}

void actions_check(const struct config_structs *list, const char *key, const struct component_check *check)
{
    const struct action_settings *actions = list->items;
    if (list->count == 0)
        check_error(check, key, "needs at least one action");
    for (size_t i = 0; i < list->count; i++)
        check_action(&(struct action_check){check, &actions[i], key, i});
}

// --- steps ---

static enum err_code make_step(struct arena *arena, const struct action_settings *a, struct attribute_step *out,
                               struct err *e)
{
    const struct config_any *value = is_given(&a->value) ? &a->value : &a->default_value;
    *out = (struct attribute_step){
        .action = (enum attribute_action)a->action,
        .key = bytes_from_text(a->key),
        .from_attribute = bytes_from_text(a->from_attribute),
        .value = attribute_value(arena, value),
        .has_value = is_given(value),
        .converted_type = (enum attribute_type)a->converted_type,
    };
    return has_text(a->pattern) ? regex_compile(bytes_from_text(a->pattern), &out->pattern, e) : ERR_OK;
}

static size_t room_of(const struct attribute_step *step)
{
    return step->action == ACTION_EXTRACT ? regex_group_count(step->pattern) : 1;
}

enum err_code actions_create(const struct config_structs *list, struct arena *arena, struct attribute_steps *steps,
                             struct err *e)
{
    const struct action_settings *actions = list->items;
    struct attribute_step *items = arena_alloc(arena, list->count * sizeof *items);
    enum err_code rc = ERR_OK;
    *steps = (struct attribute_steps){.items = items};
    while (rc == ERR_OK && steps->count < list->count) {
        rc = make_step(arena, &actions[steps->count], &items[steps->count], e);
        if (rc == ERR_OK)
            steps->room += room_of(&items[steps->count++]);
    }
    return rc;
}

void actions_destroy(struct attribute_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++) {
        struct regex *pattern = steps->items[i].pattern;
        regex_destroy(&pattern);
    }
    *steps = (struct attribute_steps){0};
}
