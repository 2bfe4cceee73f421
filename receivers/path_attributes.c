// SPDX-License-Identifier: Apache-2.0
#include "receivers/path_attributes.h"

#include "base/mem.h"
#include "base/regex.h"
#include "base/text.h"

#include <string.h>

struct path_attributes {
    struct regex *regex;
    uint32_t groups;
};

static const struct {
    const char *group, *key;
} well_known[] = {
    {"service", "service.name"},
    {"service_name", "service.name"},
    {"service_namespace", "service.namespace"},
    {"service_version", "service.version"},
    {"version", "service.version"},
    {"instance", "service.instance.id"},
    {"service_instance_id", "service.instance.id"},
    {"environment", "deployment.environment.name"},
    {"host", "host.name"},
    {"host_name", "host.name"},
    {"cluster", "k8s.cluster.name"},
    {"namespace", "k8s.namespace.name"},
    {"node", "k8s.node.name"},
    {"deployment", "k8s.deployment.name"},
    {"pod", "k8s.pod.name"},
    {"container", "k8s.container.name"},
};

struct bytes path_attribute_key(const char *group)
{
    for (size_t i = 0; i < COUNT_OF(well_known); i++)
        if (strcmp(well_known[i].group, group) == 0)
            return bytes_from_text(well_known[i].key);
    return bytes_from_text(group);
}

enum err_code path_attributes_create(const char *pattern, struct path_attributes **out, struct err *e)
{
    struct regex *regex;
    *out = NULL;
    enum err_code rc = regex_compile(bytes_from_text(pattern), &regex, e);
    if (rc == ERR_OK)
        rc = regex_check_names(regex, e);
    if (rc != ERR_OK) {
        regex_destroy(&regex);
        return rc;
    }
    *out = MEM_NEW(struct path_attributes);
    **out = (struct path_attributes){regex, regex_group_count(regex)};
    return ERR_OK;
}

void path_attributes_destroy(struct path_attributes **p)
{
    struct path_attributes *old = *p;
    *p = NULL;
    if (old == NULL)
        return;
    regex_destroy(&old->regex);
    free(old);
}

// A path may be any bytes, an attribute is UTF-8.
static bool copy_text(struct arena *arena, struct bytes text, struct bytes *out)
{
    uint8_t *copy = arena_try_alloc(arena, utf8_repair(text, NULL));
    if (copy == NULL)
        return false;
    *out = (struct bytes){copy, utf8_repair(text, copy)};
    return true;
}

static void upsert(struct key_value *list, uint32_t *count, struct bytes key, struct bytes text)
{
    uint32_t i = 0;
    while (i < *count && !bytes_equal(list[i].key, key))
        i++;
    list[i] = (struct key_value){key, value_string(text)};
    *count += i == *count;
}

bool path_attributes_merge(const struct path_attributes *p, const char *path, const struct key_value *list,
                           uint32_t count, struct arena *arena, const struct key_value **list_out, uint32_t *count_out,
                           bool *found_out)
{
    struct bytes groups[REGEX_MAX_GROUPS + 1], text;
    *list_out = list;
    *count_out = count;
    *found_out = regex_search(p->regex, bytes_from_text(path), groups, p->groups + 1);
    if (!*found_out)
        return true;
    struct key_value *merged = arena_try_alloc(arena, (count + (size_t)p->groups) * sizeof *merged);
    if (merged == NULL)
        return false;
    if (count > 0)
        memcpy(merged, list, count * sizeof *merged);
    for (uint32_t i = 1; i <= p->groups; i++) {
        if (groups[i].len == 0)
            continue;
        if (!copy_text(arena, groups[i], &text))
            return false;
        upsert(merged, count_out, path_attribute_key(regex_group_name(p->regex, i)), text);
    }
    *list_out = merged;
    return true;
}
