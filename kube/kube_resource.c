// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_resource.h"

const struct kube_resource *kube_resource_of(enum kube_kind kind)
{
    static const struct kube_resource resources[] = {
        [KUBE_POD] = {.group = "", .plural = "pods", .whole = true},
        [KUBE_NAMESPACE] = {.group = "", .plural = "namespaces", .of_cluster = true},
        [KUBE_NODE] = {.group = "", .plural = "nodes", .of_cluster = true},
        [KUBE_REPLICASET] = {.group = "apps", .plural = "replicasets"},
        [KUBE_DEPLOYMENT] = {.group = "apps", .plural = "deployments"},
        [KUBE_STATEFULSET] = {.group = "apps", .plural = "statefulsets"},
        [KUBE_DAEMONSET] = {.group = "apps", .plural = "daemonsets"},
        [KUBE_JOB] = {.group = "batch", .plural = "jobs"},
    };
    CHECK((size_t)kind < COUNT_OF(resources));
    return &resources[kind];
}

void kube_query_escape(struct bytes value, struct buf *out)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (size_t i = 0; i < value.len; i++) {
        if (memchr(plain, value.data[i], sizeof plain - 1) != NULL)
            buf_add_byte(out, value.data[i]);
        else
            buf_add_format(out, "%%%02X", value.data[i]);
    }
}

static void add_row(struct buf *out, const char *key, int op, const char *value)
{
    static const struct {
        const char *before, *between;
    } forms[] = {
        [KUBE_EQUALS] = {"", "="},
        [KUBE_NOT_EQUALS] = {"", "!="},
        [KUBE_EXISTS] = {"", NULL},
        [KUBE_DOES_NOT_EXIST] = {"!", NULL},
    };
    bool has_value = forms[op].between != NULL;
    buf_add_format(out, "%s%s%s%s%s", out->len > 0 ? "," : "", forms[op].before, key,
                   has_value ? forms[op].between : "", has_value && value != NULL ? value : "");
}

static void add_rows(struct buf *out, const struct config_structs *rows)
{
    const struct kube_filter_row *items = rows->items;
    for (size_t i = 0; i < rows->count; i++)
        add_row(out, items[i].key, items[i].op, items[i].value);
}

static void add_selector(struct buf *path, const char *name, struct buf *selector)
{
    if (selector->len > 0) {
        buf_add_format(path, "%s=", name);
        kube_query_escape(buf_bytes(selector), path);
        buf_add_byte(path, '&');
    }
    path->failed = path->failed || selector->failed;
    buf_fini(selector);
}

static void add_selectors(enum kube_kind kind, const struct kube_watch_settings *s, const char *node, struct buf *path)
{
    struct buf labels, fields;
    buf_init(&labels, path->max_bytes);
    buf_init(&fields, path->max_bytes);
    if (node != NULL && kind == KUBE_POD)
        add_row(&fields, "spec.nodeName", KUBE_EQUALS, node);
    else if (node != NULL && kind == KUBE_NODE)
        add_row(&fields, "metadata.name", KUBE_EQUALS, node);
    if (kind == KUBE_POD) {
        add_rows(&labels, &s->labels);
        add_rows(&fields, &s->fields);
    }
    add_selector(path, "labelSelector", &labels);
    add_selector(path, "fieldSelector", &fields);
}

void kube_resource_write(enum kube_kind kind, const struct kube_watch_settings *settings, const char *node,
                         struct buf *path)
{
    const struct kube_resource *r = kube_resource_of(kind);
    buf_add_format(path, *r->group == '\0' ? "/api%s/v1" : "/apis/%s/v1", r->group);
    if (!r->of_cluster && settings->namespace_name != NULL) {
        buf_add_text(path, "/namespaces/");
        kube_query_escape(bytes_from_text(settings->namespace_name), path);
    }
    buf_add_format(path, "/%s?", r->plural);
    add_selectors(kind, settings, node, path);
}

void kube_resource_rule(enum kube_kind kind, const char *namespace_name, struct buf *out)
{
    const struct kube_resource *r = kube_resource_of(kind);
    buf_add_format(out, "{apiGroups: [\"%s\"], resources: [\"%s\"], verbs: [\"list\", \"watch\"]}", r->group,
                   r->plural);
    if (r->of_cluster || namespace_name == NULL)
        buf_add_text(out, " in its ClusterRole");
    else
        buf_add_format(out, " in a Role of the namespace %s", namespace_name);
}
