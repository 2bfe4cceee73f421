// SPDX-License-Identifier: Apache-2.0
#include "processors/k8s_extract.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "processors/attribute_actions.h"

enum { MAX_ROWS = 64, SHORT_LIST = 64 };

#define SETTING(member) offsetof(struct k8s_extract_settings, member)

const struct field k8s_extract_fields[] = {
    {.name = "metadata",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(metadata),
     .default_text = "[k8s.namespace.name, k8s.pod.name, k8s.pod.uid, k8s.pod.start_time, k8s.deployment.name, "
                     "k8s.node.name, container.image.name, container.image.tag]",
     .help = "attributes to add, by their names"},
    {.name = "labels",
     .type = FIELD_STRUCT_LIST,
     .offset = SETTING(labels),
     .fields = k8s_label_fields,
     .struct_size = sizeof(struct k8s_label_settings),
     .help = "labels that become attributes"},
    {.name = "annotations",
     .type = FIELD_STRUCT_LIST,
     .offset = SETTING(annotations),
     .fields = k8s_label_fields,
     .struct_size = sizeof(struct k8s_label_settings),
     .help = "annotations that become attributes"},
    {.name = "otel_annotations",
     .type = FIELD_BOOL,
     .offset = SETTING(otel_annotations),
     .default_text = "false",
     .help = "each annotation " K8S_ANNOTATION_PREFIX "NAME of a pod becomes the attribute NAME"},
    {.name = "deployment_name_from_replicaset",
     .type = FIELD_BOOL,
     .offset = SETTING(deployment_name_from_replicaset),
     .default_text = "true",
     .help = "the name is cut out of that of the replicaset, which need not be watched then"},
    {.name = NULL},
};

// --- settings ---

static void check_name(const struct k8s_extract_settings *s, size_t i, const struct component_check *check)
{
    const char *names[MAX_ROWS], *name = s->metadata.items[i];
    size_t count = 0;
    for (const struct k8s_metadata *row = k8s_metadata; row->name != NULL && count < MAX_ROWS; row++)
        names[count++] = row->name;
    const char *near = text_suggest(name, names, count);
    if (k8s_metadata_find(name) == NULL)
        check_error(check, "extract.metadata",
                    near != NULL ? "there is no \"%s\", did you mean \"%s\"?" : "there is no \"%s\"", name, near);
}

void k8s_extract_check(const struct k8s_extract_settings *s, const struct component_check *check)
{
    for (size_t i = 0; i < s->metadata.count; i++)
        check_name(s, i, check);
    k8s_label_check(&s->labels, "extract.labels", check);
    k8s_label_check(&s->annotations, "extract.annotations", check);
}

// What must be watched for a row. Workloads are known by the pod's owner alone, those behind it by the object between.
static void need_kind(struct k8s_extract *x, const struct k8s_metadata *row, bool by_name)
{
    if (row->kind == KUBE_NAMESPACE || (row->kind == KUBE_NODE && row->is_uid))
        x->kinds[row->kind] = true;
    if (row->kind == KUBE_DEPLOYMENT && (row->is_uid || !by_name))
        x->kinds[KUBE_REPLICASET] = true;
    if (row->kind == KUBE_CRONJOB && row->is_uid)
        x->kinds[KUBE_JOB] = true;
}

static void need_rules(struct k8s_extract *x)
{
    for (size_t i = 0; i < x->rules.count; i++) {
        x->kinds[x->rules.items[i].kind] = true;
        if (x->rules.items[i].kind == KUBE_DEPLOYMENT)
            x->kinds[KUBE_REPLICASET] = true;
    }
}

enum err_code k8s_extract_init(struct k8s_extract *x, const struct k8s_extract_settings *s, struct arena *arena,
                               struct err *e)
{
    *x = (struct k8s_extract){.otel_annotations = s->otel_annotations, .kinds[KUBE_POD] = true};
    x->rows = arena_alloc(arena, s->metadata.count * sizeof(struct k8s_metadata *));
    for (size_t i = 0; i < s->metadata.count; i++) {
        const struct k8s_metadata *row = k8s_metadata_find(s->metadata.items[i]);
        if (row == NULL)
            return err_set(e, ERR_INVALID, "extract.metadata: there is no \"%s\"", s->metadata.items[i]);
        x->rows[x->row_count++] = row;
        x->of_container |= row->of_container || row->likes_container;
        need_kind(x, row, s->deployment_name_from_replicaset);
    }
    enum err_code rc = k8s_label_rules_create(&s->labels, &s->annotations, arena, &x->rules, e);
    need_rules(x);
    return rc;
}

void k8s_extract_fini(struct k8s_extract *x)
{
    k8s_label_rules_fini(&x->rules);
}

// The attribute that an annotation is meant for; false if it is none of these.
static bool annotated_name(struct bytes key, struct bytes *out)
{
    const size_t prefix = sizeof K8S_ANNOTATION_PREFIX - 1;
    if (key.len <= prefix || memcmp(key.data, K8S_ANNOTATION_PREFIX, prefix) != 0)
        return false;
    *out = (struct bytes){key.data + prefix, key.len - prefix};
    return true;
}

static bool row_keeps(const struct k8s_metadata *row, enum kube_map map, struct bytes key)
{
    struct bytes name;
    if (map == KUBE_ANNOTATIONS)
        return row->has_annotation && annotated_name(key, &name) && bytes_equal_text(name, row->name);
    for (const char *const *label = row->labels; label != NULL && *label != NULL; label++)
        if (bytes_equal_text(key, *label))
            return true;
    return false;
}

bool k8s_extract_keeps(void *arg, enum kube_kind kind, enum kube_map map, struct bytes key)
{
    const struct k8s_extract *x = arg;
    struct bytes name;
    if (kind == KUBE_POD && map == KUBE_ANNOTATIONS &&
        (bytes_equal_text(key, K8S_IGNORE_ANNOTATION) || (x->otel_annotations && annotated_name(key, &name))))
        return true;
    for (size_t i = 0; kind == KUBE_POD && i < x->row_count; i++)
        if (row_keeps(x->rows[i], map, key))
            return true;
    for (size_t i = 0; i < x->rules.count; i++) {
        const struct k8s_label_rule *rule = &x->rules.items[i];
        if (rule->kind == kind && rule->map == map && k8s_label_takes(rule, key))
            return true;
    }
    return false;
}

// --- the list ---

void k8s_list_init(struct k8s_list *list)
{
    *list = (struct k8s_list){.count = 0};
    arena_init(&list->arena, 0);
}

void k8s_list_fini(struct k8s_list *list)
{
    free(list->room);
    arena_fini(&list->arena);
    index_table_fini(&list->index);
}

static bool make_room(struct k8s_list *list, size_t count)
{
    if (!mem_try_grow(&list->room, &list->capacity, count, sizeof *list->items, UINT32_MAX))
        return false;
    list->items = list->room;
    return true;
}

bool k8s_list_begin(struct k8s_list *list, const struct key_value *from, uint32_t count)
{
    arena_fini(&list->arena);
    index_table_fini(&list->index);
    list->indexed = 0;
    list->changed = false;
    list->count = 0;
    if (!make_room(list, (size_t)count + 1))
        return false;
    if (count > 0)
        memcpy(list->items, from, count * sizeof *from);
    list->count = count;
    return true;
}

static bool says_nothing(const struct value *v)
{
    return v->kind == VALUE_EMPTY || (v->kind == VALUE_STRING && v->bytes.len == 0);
}

static bool find_indexed(const struct k8s_list *list, struct bytes key, uint64_t hash, uint32_t *slot, uint32_t *at)
{
    const struct index_table *t = &list->index;
    for (*slot = index_table_start(t, hash); index_table_next(t, hash, slot, at); index_table_skip(t, slot))
        if (bytes_equal(list->items[*at].key, key))
            return true;
    return false;
}

static bool index_all(struct k8s_list *list)
{
    uint32_t slot, at;
    for (; list->indexed < list->count; list->indexed++) {
        const struct bytes key = list->items[list->indexed].key;
        const uint64_t hash = hash_bytes(key.data, key.len);
        if (!index_table_reserve(&list->index))
            return false;
        if (!find_indexed(list, key, hash, &slot, &at))
            index_table_insert(&list->index, hash, slot, list->indexed);
    }
    return true;
}

// Where the key is, else the count. A pod may have thousands of annotations. False: out of memory.
static bool find_key(struct k8s_list *list, struct bytes key, uint32_t *out)
{
    uint32_t slot;
    *out = 0;
    if (list->count > SHORT_LIST) {
        if (!index_all(list))
            return false;
        if (!find_indexed(list, key, hash_bytes(key.data, key.len), &slot, out))
            *out = list->count;
        return true;
    }
    while (*out < list->count && !bytes_equal(list->items[*out].key, key))
        (*out)++;
    return true;
}

bool k8s_list_put(struct k8s_list *list, struct bytes key, struct value v)
{
    uint32_t i;
    if (!find_key(list, key, &i))
        return false;
    if (i < list->count && !says_nothing(&list->items[i].value))
        return true;
    if (i == list->count && !make_room(list, (size_t)list->count + 1))
        return false;
    list->count += i == list->count;
    list->items[i] = (struct key_value){key, v};
    list->changed = true;
    return true;
}

// --- one pod ---

static enum err_code put_annotations(const struct kube_object *pod, struct k8s_list *list, struct err *e)
{
    struct bytes name;
    for (uint32_t i = 0; i < pod->map_counts[KUBE_ANNOTATIONS]; i++) {
        const struct kube_pair *pair = &pod->maps[KUBE_ANNOTATIONS][i];
        if (annotated_name(pair->key, &name) && !k8s_list_put(list, name, value_string(pair->value)))
            return attribute_no_memory(e);
    }
    return ERR_OK;
}

static enum err_code put_pair(const struct k8s_label_rule *rule, const struct kube_pair *pair, struct k8s_list *list,
                              struct err *e)
{
    struct bytes name;
    bool taken;
    if (rule->key.len == 0 && pair->value.len == 0) // as in the Collector: of many, those that say something
        return ERR_OK;
    enum err_code rc = k8s_label_name(rule, pair->key, &list->arena, &taken, &name, e);
    if (rc != ERR_OK || !taken || name.len == 0)
        return rc;
    return k8s_list_put(list, name, value_string(pair->value)) ? ERR_OK : attribute_no_memory(e);
}

static enum err_code run_rule(const struct k8s_label_rule *rule, struct k8s_view *v, struct k8s_list *list,
                              struct err *e)
{
    const struct kube_object *o = k8s_object_of(v, rule->kind);
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; o != NULL && rc == ERR_OK && i < o->map_counts[rule->map]; i++)
        rc = put_pair(rule, &o->maps[rule->map][i], list, e);
    return rc;
}

// The last rule wins, and annotations stand behind labels.
static enum err_code run_rules(const struct k8s_extract *x, bool of_pods, struct k8s_view *v, struct k8s_list *list,
                               struct err *e)
{
    enum err_code rc = ERR_OK;
    for (size_t i = x->rules.count; rc == ERR_OK && i-- > 0;)
        if ((x->rules.items[i].kind == KUBE_POD) == of_pods)
            rc = run_rule(&x->rules.items[i], v, list, e);
    return rc;
}

static enum err_code run_rows(const struct k8s_extract *x, struct k8s_view *v, struct k8s_list *list, struct err *e)
{
    for (size_t i = 0; i < x->row_count; i++) {
        const struct k8s_metadata *row = x->rows[i];
        struct value value;
        if ((row->of_container && v->container == NULL) || !row->read(v, row, &value))
            continue;
        if (!k8s_list_put(list, bytes_from_text(row->name), value))
            return attribute_no_memory(e);
    }
    return v->failed ? attribute_no_memory(e) : ERR_OK;
}

enum err_code k8s_extract_run(const struct k8s_extract *x, const struct kube_snapshot *snapshot,
                              const struct kube_object *pod, const struct kube_container *container,
                              struct k8s_list *list, struct err *e)
{
    struct k8s_view v = {snapshot, pod, container, &list->arena, false};
    enum err_code rc = x->otel_annotations ? put_annotations(pod, list, e) : ERR_OK;
    if (rc == ERR_OK)
        rc = run_rules(x, true, &v, list, e);
    if (rc == ERR_OK)
        rc = run_rows(x, &v, list, e);
    return rc == ERR_OK ? run_rules(x, false, &v, list, e) : rc;
}
