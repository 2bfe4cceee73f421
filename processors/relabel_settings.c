// SPDX-License-Identifier: Apache-2.0
#include "processors/relabel_settings.h"

#include <stdio.h>

struct rule_settings {
    struct config_strings source_labels;
    const char *separator, *regex, *target_label, *replacement;
    int64_t modulus;
    int action; // enum relabel_action
};

static const char *const level_names[] = {[RELABEL_RESOURCE] = "resource", [RELABEL_SAMPLE] = "sample", NULL};
static const char *const included_names[] = {"scope", "profile"};

#define RULE(member) offsetof(struct rule_settings, member)
#define SETTING(member) offsetof(struct relabel_settings, member)

static const struct field rule_fields[] = {
    {.name = "source_labels",
     .type = FIELD_STRING_LIST,
     .offset = RULE(source_labels),
     .help = "labels whose values, joined, are what the rule looks at"},
    {.name = "separator",
     .type = FIELD_STRING,
     .offset = RULE(separator),
     .default_text = ";",
     .help = "what stands between them"},
    {.name = "regex",
     .type = FIELD_STRING,
     .offset = RULE(regex),
     .help = "must match the whole of it (labelmap, labeldrop, labelkeep: the name of a label); default (.*)"},
    {.name = "modulus", .type = FIELD_INT, .offset = RULE(modulus), .min = 0, .max = -1, .help = "of hashmod"},
    {.name = "target_label", .type = FIELD_STRING, .offset = RULE(target_label), .help = "the label to write"},
    {.name = "replacement",
     .type = FIELD_STRING,
     .offset = RULE(replacement),
     .default_text = "$1",
     .help = "what to write there; $1, $name: groups of regex; write $${1} for ${1}"},
    {.name = "action",
     .type = FIELD_ENUM,
     .offset = RULE(action),
     .default_text = "replace",
     .names = relabel_action_names,
     .help = "what to do"},
    {.name = NULL},
};

const struct field relabel_fields[] = {
    {.name = "rules",
     .type = FIELD_STRUCT_LIST,
     .offset = SETTING(rules),
     .fields = rule_fields,
     .struct_size = sizeof(struct rule_settings),
     .required = true,
     .help = "rules as in Prometheus' relabel_configs, in order"},
    {.name = "level",
     .type = FIELD_ENUM,
     .offset = SETTING(level),
     .default_text = "resource",
     .names = level_names,
     .help = "what the labels are of, and what keep and drop drop"},
    {.name = "include",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(include),
     .help = "scope, profile: their attributes are seen, too, as __scope_attribute_* and __profile_attribute_*"},
    {.name = "trace",
     .type = FIELD_BOOL,
     .offset = SETTING(trace),
     .default_text = "false",
     .help = "logs the labels before and after each rule"},
    {.name = NULL},
};

// --- access ---

size_t relabel_settings_rule_count(const struct relabel_settings *s)
{
    return s->rules.count;
}

struct relabel_rule_text relabel_settings_rule(struct arena *arena, const struct relabel_settings *s, size_t i)
{
    const struct rule_settings *r = (const struct rule_settings *)s->rules.items + i;
    struct bytes *sources = arena_alloc(arena, r->source_labels.count * sizeof *sources);
    for (size_t k = 0; k < r->source_labels.count; k++)
        sources[k] = bytes_from_text(r->source_labels.items[k]);
    return (struct relabel_rule_text){
        .action = (enum relabel_action)r->action,
        .source_labels = sources,
        .source_count = r->source_labels.count,
        .separator = bytes_from_text(r->separator),
        .replacement = bytes_from_text(r->replacement),
        .target_label = bytes_from_text(r->target_label),
        .has_regex = r->regex != NULL,
        .regex = bytes_from_text(r->regex),
        .modulus = (uint64_t)r->modulus,
    };
}

bool relabel_settings_includes(const struct relabel_settings *s, const char *what)
{
    for (size_t i = 0; i < s->include.count; i++)
        if (strcmp(s->include.items[i], what) == 0)
            return true;
    return false;
}

// --- checks ---

// Prometheus takes an empty value for the empty text, the rest of this configuration for "not given".
static void check_nulls(const struct component_check *check, size_t i)
{
    static const char *const keys[] = {"separator", "regex", "replacement"};
    const struct config_node *rules = config_get(check->node, "rules");
    if (rules == NULL || rules->kind != CONFIG_LIST || i >= rules->count)
        return;
    for (size_t k = 0; k < COUNT_OF(keys); k++) {
        const struct config_node *value = config_get(rules->items[i], keys[k]);
        char path[64];
        snprintf(path, sizeof path, "rules[%zu].%s", i, keys[k]);
        if (value != NULL && value->kind == CONFIG_NULL && value->original == NULL)
            check_error(check, path, "has no value: write '' for the empty text, or leave the key out");
    }
}

static void check_rule(const struct component_check *check, const struct relabel_settings *s, size_t i)
{
    struct arena arena;
    struct relabel_rule rule;
    const char *key = "";
    char path[64];
    struct err e;
    arena_init(&arena, 0);
    const struct relabel_rule_text text = relabel_settings_rule(&arena, s, i);
    if (relabel_rule_compile(&arena, &text, &rule, &key, &e) != ERR_OK) {
        snprintf(path, sizeof path, "rules[%zu]%s%s", i, key[0] != '\0' ? "." : "", key);
        check_error(check, path, "%s", e.text);
    }
    relabel_rule_fini(&rule);
    arena_fini(&arena);
    check_nulls(check, i);
}

static bool is_included_name(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(included_names); i++)
        if (strcmp(name, included_names[i]) == 0)
            return true;
    return false;
}

void relabel_check_settings(const void *settings, const struct component_check *check)
{
    const struct relabel_settings *s = settings;
    if (s->rules.count == 0)
        check_error(check, "rules", "needs at least one rule");
    for (size_t i = 0; i < s->rules.count; i++)
        check_rule(check, s, i);
    for (size_t i = 0; i < s->include.count; i++) {
        char path[64];
        snprintf(path, sizeof path, "include[%zu]", i);
        if (!is_included_name(s->include.items[i]))
            check_error(check, path, "takes \"scope\" and \"profile\", found \"%s\"", s->include.items[i]);
    }
}
