// SPDX-License-Identifier: Apache-2.0
// The configuration of a watch: its rows, what must hold between them, and whether two are the same.
#include "kube/kube_settings.h"

#include "net/http_client.h"

#include <string.h>

const char *const kube_auth_names[] = {"serviceAccount", "kubeConfig", "none", NULL};
static const char *const op_names[] = {"equals", "not-equals", "exists", "does-not-exist", NULL};

#define ROW(member) offsetof(struct kube_filter_row, member)
#define SETTING(member) offsetof(struct kube_watch_settings, member)

static const struct field row_fields[] = {
    {.name = "key", .type = FIELD_STRING, .offset = ROW(key), .required = true, .help = "name of the label or field"},
    {.name = "value", .type = FIELD_STRING, .offset = ROW(value), .help = "that it has (or has not)"},
    {.name = "op",
     .type = FIELD_ENUM,
     .offset = ROW(op),
     .default_text = "equals",
     .names = op_names,
     .help = "what is asked of it; of fields only equals and not-equals"},
    {.name = NULL},
};

const struct field kube_filter_fields[] = {
    {.name = "node", .type = FIELD_STRING, .offset = SETTING(node), .help = "only pods of this node"},
    {.name = "node_from_env_var",
     .type = FIELD_STRING,
     .offset = SETTING(node_from_env_var),
     .help = "the same, named by this environment variable"},
    {.name = "namespace",
     .type = FIELD_STRING,
     .offset = SETTING(namespace_name),
     .help = "only pods (and what owns them) of this namespace"},
    {.name = "labels",
     .type = FIELD_STRUCT_LIST,
     .offset = SETTING(labels),
     .fields = row_fields,
     .struct_size = sizeof(struct kube_filter_row),
     .help = "only pods whose labels are so"},
    {.name = "fields",
     .type = FIELD_STRUCT_LIST,
     .offset = SETTING(fields),
     .fields = row_fields,
     .struct_size = sizeof(struct kube_filter_row),
     .help = "only pods whose fields are so, such as status.phase"},
    {.name = NULL},
};

// --- check ---

// What would end a selector's part, or begin another.
static bool is_plain(const char *text)
{
    return text == NULL || strpbrk(text, ",=!()\\ \t\r\n") == NULL;
}

bool kube_name_is_plain(const char *name)
{
    return *name != '\0' && is_plain(name);
}

static void check_name(const struct component_check *check, const char *key, const char *name)
{
    if (name != NULL && !kube_name_is_plain(name))
        check_error(check, key, "is empty, or has spaces or one of ,=!()\\: leave it out to watch all");
}

static void check_rows(const struct component_check *check, const char *key, const struct config_structs *rows,
                       int last_op)
{
    const struct kube_filter_row *items = rows->items;
    for (size_t i = 0; i < rows->count; i++) {
        const struct kube_filter_row *row = &items[i];
        bool needs_value = row->op == KUBE_EQUALS || row->op == KUBE_NOT_EQUALS;
        if (row->key == NULL || *row->key == '\0' || !is_plain(row->key) || !is_plain(row->value))
            check_error(check, key, "entry %zu: neither key nor value may have spaces or one of ,=!()\\", i + 1);
        else if (row->op > last_op)
            check_error(check, key, "entry %zu: the API cannot ask a field for %s, only for equals and not-equals",
                        i + 1, op_names[row->op]);
        else if (needs_value && row->value == NULL)
            check_error(check, key, "entry %zu: %s needs a value", i + 1, op_names[row->op]);
        else if (!needs_value && row->value != NULL)
            check_error(check, key, "entry %zu: %s has no value", i + 1, op_names[row->op]);
    }
}

void kube_watch_settings_check(const struct kube_watch_settings *s, const struct component_check *check)
{
    struct err e = {0};
    if (s->node != NULL && s->node_from_env_var != NULL)
        check_error(check, "filter.node_from_env_var", "filter.node is given, too: leave one of both out");
    check_name(check, "filter.node", s->node);
    check_name(check, "filter.namespace", s->namespace_name);
    check_rows(check, "filter.labels", &s->labels, KUBE_DOES_NOT_EXIST);
    check_rows(check, "filter.fields", &s->fields, KUBE_NOT_EQUALS);
    if (s->endpoint != NULL && http_url_check(s->endpoint, &e) != ERR_OK)
        check_error(check, "endpoint", "%s", e.text);
    if (s->auth_type != KUBE_AUTH_KUBECONFIG && (s->context != NULL || s->kubeconfig != NULL))
        check_error(check, s->context != NULL ? "context" : "kubeconfig", "means nothing without auth_type kubeConfig");
}

// --- the same ---

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_rows(const struct config_structs *a, const struct config_structs *b)
{
    const struct kube_filter_row *x = a->items, *y = b->items;
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = same_text(x[i].key, y[i].key) && same_text(x[i].value, y[i].value) && x[i].op == y[i].op;
    return same;
}

bool kube_settings_equal(const struct kube_watch_settings *a, const struct kube_watch_settings *b)
{
    static const size_t texts[] = {
        SETTING(context), SETTING(kubeconfig),        SETTING(endpoint),       SETTING(service_account_folder),
        SETTING(node),    SETTING(node_from_env_var), SETTING(namespace_name),
    };
    static const size_t numbers[] = {
        SETTING(api_burst),
        SETTING(api_timeout_nanos),
        SETTING(pod_delete_grace_nanos),
    };
    bool same = a->auth_type == b->auth_type && a->api_qps <= b->api_qps && a->api_qps >= b->api_qps;
    for (size_t i = 0; same && i < COUNT_OF(texts); i++)
        same = same_text(*(const char *const *)((const char *)a + texts[i]),
                         *(const char *const *)((const char *)b + texts[i]));
    for (size_t i = 0; same && i < COUNT_OF(numbers); i++)
        same = *(const int64_t *)(const void *)((const char *)a + numbers[i]) ==
               *(const int64_t *)(const void *)((const char *)b + numbers[i]);
    return same && same_rows(&a->labels, &b->labels) && same_rows(&a->fields, &b->fields);
}
