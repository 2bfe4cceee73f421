// SPDX-License-Identifier: Apache-2.0
#include "processors/k8s_labels.h"

#include "base/mem.h"

#include <stdio.h>

enum { MAX_GROUPS = REGEX_MAX_GROUPS + 1 };

// Names of what has been there longest have an s in them.
static const struct {
    enum kube_kind kind;
    const char *prefixes[KUBE_MAPS]; // of the attribute, without tag_name
} kinds[] = {
    {KUBE_POD, {"k8s.pod.labels.", "k8s.pod.annotations."}},
    {KUBE_NAMESPACE, {"k8s.namespace.labels.", "k8s.namespace.annotations."}},
    {KUBE_NODE, {"k8s.node.labels.", "k8s.node.annotations."}},
    {KUBE_DEPLOYMENT, {"k8s.deployment.label.", "k8s.deployment.annotation."}},
    {KUBE_STATEFULSET, {"k8s.statefulset.label.", "k8s.statefulset.annotation."}},
    {KUBE_DAEMONSET, {"k8s.daemonset.label.", "k8s.daemonset.annotation."}},
    {KUBE_JOB, {"k8s.job.label.", "k8s.job.annotation."}},
};
static const char *const kind_names[] = {"pod",         "namespace", "node", "deployment",
                                         "statefulset", "daemonset", "job",  NULL};

#define SETTING(member) offsetof(struct k8s_label_settings, member)

const struct field k8s_label_fields[] = {
    {.name = "tag_name",
     .type = FIELD_STRING,
     .offset = SETTING(tag_name),
     .help =
         "name of the attribute; with key_regex it may have $1 or ${name}; not set: k8s.pod.labels.KEY and the like"},
    {.name = "key", .type = FIELD_STRING, .offset = SETTING(key), .help = "of the label or annotation"},
    {.name = "key_regex",
     .type = FIELD_STRING,
     .offset = SETTING(key_regex),
     .help = "instead of key: all whose whole key this expression (RE2) matches"},
    {.name = "from",
     .type = FIELD_ENUM,
     .offset = SETTING(from),
     .default_text = "pod",
     .names = kind_names,
     .help = "whose it is"},
    {.name = NULL},
};

static bool has_text(const char *text)
{
    return text != NULL && text[0] != '\0';
}

void k8s_label_check(const struct config_structs *list, const char *key, const struct component_check *check)
{
    const struct k8s_label_settings *items = list->items;
    for (size_t i = 0; i < list->count; i++) {
        char path[64];
        struct arena arena;
        struct relabel_regex regex;
        struct err e;
        snprintf(path, sizeof path, "%s[%zu]", key, i);
        if (has_text(items[i].key) == has_text(items[i].key_regex))
            check_error(check, path, "needs key or key_regex, and not both");
        if (!has_text(items[i].key_regex))
            continue;
        arena_init(&arena, 0);
        if (relabel_regex_compile(&arena, bytes_from_text(items[i].key_regex), &regex, &e) == ERR_OK) {
            relabel_regex_fini(&regex);
        } else {
            snprintf(path, sizeof path, "%s[%zu].key_regex", key, i);
            check_error(check, path, "%s", e.text);
        }
        arena_fini(&arena);
    }
}

static enum err_code make_rule(const struct k8s_label_settings *s, enum kube_map map, struct arena *arena,
                               struct k8s_label_rule *out, struct err *e)
{
    const char *prefix = kinds[s->from].prefixes[map];
    const bool all = has_text(s->key_regex);
    const char *tag = has_text(s->tag_name) ? s->tag_name : arena_format(arena, "%s%s", prefix, all ? "$0" : s->key);
    *out = (struct k8s_label_rule){.kind = kinds[s->from].kind, .map = map, .name = bytes_from_text(tag)};
    if (!all) {
        out->key = bytes_from_text(s->key);
        return ERR_OK;
    }
    enum err_code rc = relabel_regex_compile(arena, bytes_from_text(s->key_regex), &out->regex, e);
    if (rc == ERR_OK)
        template_parse(arena, out->name, &out->regex, &out->tag);
    return rc;
}

static enum err_code add_rules(const struct config_structs *list, enum kube_map map, struct arena *arena,
                               struct k8s_label_rules *out, struct err *e)
{
    const struct k8s_label_settings *items = list->items;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < list->count; i++)
        rc = make_rule(&items[i], map, arena, &out->items[out->count++], e);
    return rc;
}

enum err_code k8s_label_rules_create(const struct config_structs *labels, const struct config_structs *annotations,
                                     struct arena *arena, struct k8s_label_rules *out, struct err *e)
{
    out->count = 0;
    out->items = arena_alloc(arena, (labels->count + annotations->count) * sizeof *out->items);
    enum err_code rc = add_rules(labels, KUBE_LABELS, arena, out, e);
    return rc == ERR_OK ? add_rules(annotations, KUBE_ANNOTATIONS, arena, out, e) : rc;
}

void k8s_label_rules_fini(struct k8s_label_rules *rules)
{
    while (rules->count > 0)
        relabel_regex_fini(&rules->items[--rules->count].regex);
}

bool k8s_label_takes(const struct k8s_label_rule *rule, struct bytes key)
{
    return rule->key.len > 0 ? bytes_equal(rule->key, key) : relabel_regex_matches(&rule->regex, key);
}

enum err_code k8s_label_name(const struct k8s_label_rule *rule, struct bytes key, struct arena *arena, bool *taken_out,
                             struct bytes *name_out, struct err *e)
{
    struct bytes groups[MAX_GROUPS];
    *name_out = rule->name;
    if (rule->key.len > 0) {
        *taken_out = bytes_equal(rule->key, key);
        return ERR_OK;
    }
    *taken_out = relabel_regex_match(&rule->regex, key, groups);
    return *taken_out ? template_expand(&rule->tag, groups, arena, name_out, e) : ERR_OK;
}
