// SPDX-License-Identifier: Apache-2.0
#include "processors/relabel_view.h"

#include "base/buf.h"
#include "base/mem.h"
#include "processors/relabel_names.h"
#include "processors/relabel_trace.h"

// Tags of labels: 1 + index in seen; or no attribute comes of it; or it is a new one that is written as its attribute.
static const uint32_t TAG_PASSING = UINT32_MAX, TAG_EXACT = UINT32_MAX - 1;

enum { KEPT_ARENA_BYTES = 32 << 10 };

void relabel_view_init(struct relabel_view *v)
{
    *v = (struct relabel_view){.seen = NULL};
    relabel_run_init(&v->run);
    label_list_init(&v->keys);
}

void relabel_view_fini(struct relabel_view *v)
{
    relabel_run_fini(&v->run);
    label_list_fini(&v->keys);
    free(v->seen);
    free(v->out);
    v->seen = NULL;
    v->out = NULL;
}

// --- attributes as labels ---

enum err_code relabel_value_text(struct arena *arena, const struct value *value, struct bytes *out, struct err *e)
{
    if (value->kind == VALUE_STRING) {
        *out = value->bytes;
        return ERR_OK;
    }
    struct buf text;
    buf_init(&text, TEMPLATE_MAX_BYTES);
    value_print(&text, value);
    bool ok = buf_ok(&text) && arena_try_copy(arena, buf_bytes(&text), out);
    bool too_large = text.too_large;
    buf_fini(&text);
    if (too_large)
        return err_set(e, ERR_LIMIT, "an attribute is more than %d bytes of text", TEMPLATE_MAX_BYTES);
    return ok ? ERR_OK : relabel_no_memory(e);
}

static enum err_code name_attribute(struct relabel_view *v, uint32_t i, struct bytes key, const struct value *value,
                                    struct err *e)
{
    struct view_attribute *a = &v->seen[i];
    *a = (struct view_attribute){.now = {NULL, 0}};
    enum err_code rc = relabel_value_text(&v->run.arena, value, &a->text, e);
    if (rc == ERR_OK && !label_name(&v->run.arena, key, &a->label))
        rc = relabel_no_memory(e);
    return rc;
}

// Adds a label unless there is one of this name.
static enum err_code add_label(struct relabel_view *v, struct bytes name, struct bytes text, uint32_t tag,
                               bool *added_out, struct err *e)
{
    struct label *old;
    *added_out = false;
    if (!label_list_find(&v->run.labels, name, &old))
        return relabel_no_memory(e);
    if (old != NULL || text.len == 0 || name.len == 0)
        return ERR_OK;
    *added_out = true;
    return label_list_add(&v->run.labels, name, text, tag) ? ERR_OK : relabel_no_memory(e);
}

// The labels of seen[from, to), keys as they are first, then those that are written in another way.
static enum err_code show_attributes(struct relabel_view *v, uint32_t from, uint32_t to, struct err *e)
{
    enum err_code rc = ERR_OK;
    for (int exact = 1; exact >= 0; exact--)
        for (uint32_t i = from; rc == ERR_OK && i < to; i++) {
            struct view_attribute *a = &v->seen[i];
            struct bytes key = i < v->own_count ? v->own[i].key : v->below[i - v->own_count].key;
            bool added;
            if ((a->label.data == key.data) != exact)
                continue;
            rc = add_label(v, a->label, a->text, i + 1, &added, e);
            if (!added)
                a->label.len = 0;
        }
    return rc;
}

static void forget(struct relabel_view *v)
{
    label_list_clear(&v->run.labels);
    if (v->run.arena.total_bytes > KEPT_ARENA_BYTES)
        arena_fini(&v->run.arena);
    v->run.kept = true;
    v->changed = false;
    v->out_count = 0;
}

enum err_code relabel_view_load(struct relabel_view *v, const struct unit_attribute *own, uint32_t own_count,
                                const struct key_value *below, uint32_t below_count, struct err *e)
{
    void *seen = v->seen;
    forget(v);
    v->own = own, v->own_count = own_count;
    v->below = below, v->below_count = below_count;
    size_t count = (size_t)own_count + below_count;
    if (count >= TAG_EXACT || !mem_try_grow(&seen, &v->seen_capacity, count + 1, sizeof *v->seen, SIZE_MAX))
        return relabel_no_memory(e);
    v->seen = seen;
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < own_count; i++)
        rc = name_attribute(v, i, own[i].key, &own[i].value, e);
    for (uint32_t i = 0; rc == ERR_OK && i < below_count; i++)
        rc = name_attribute(v, own_count + i, below[i].key, &below[i].value, e);
    if (rc == ERR_OK)
        rc = show_attributes(v, 0, own_count, e);
    return rc == ERR_OK ? show_attributes(v, own_count, (uint32_t)count, e) : rc;
}

enum err_code relabel_view_add(struct relabel_view *v, struct bytes label, struct bytes text, struct err *e)
{
    bool added;
    return add_label(v, label, text, TAG_PASSING, &added, e);
}

// --- labels as attributes ---

// What the labels are now; true if an own attribute changed.
static bool compare_own(struct relabel_view *v)
{
    bool changed = false;
    for (size_t i = 0; i < v->run.labels.count; i++) {
        const struct label *l = &v->run.labels.items[i];
        if (l->value.len != 0 && l->tag != 0 && l->tag != TAG_PASSING)
            v->seen[l->tag - 1].now = l->value;
    }
    for (uint32_t i = 0; i < v->own_count; i++)
        changed |= v->seen[i].label.len != 0 && !bytes_equal(v->seen[i].now, v->seen[i].text);
    return changed;
}

static bool is_new(const struct relabel_view *v, const struct label *l)
{
    if (l->value.len == 0 || l->tag == TAG_PASSING)
        return false;
    if (l->tag != 0)
        return l->tag > v->own_count && !bytes_equal(v->seen[l->tag - 1].text, l->value);
    return l->name.len != 0 && !(l->name.len >= 2 && l->name.data[0] == '_' && l->name.data[1] == '_');
}

static bool any_new(const struct relabel_view *v)
{
    for (size_t i = 0; i < v->run.labels.count; i++)
        if (is_new(v, &v->run.labels.items[i]))
            return true;
    return false;
}

static void copy_own(struct relabel_view *v)
{
    for (uint32_t i = 0; i < v->own_count; i++) {
        const struct view_attribute *a = &v->seen[i];
        if (a->label.len != 0 && a->now.len == 0)
            continue;
        struct unit_attribute *to = &v->out[v->out_count++];
        *to = v->own[i];
        if (a->label.len != 0 && !bytes_equal(a->now, a->text)) {
            to->value = value_string(a->now);
            to->unit = (struct bytes){NULL, 0};
        }
    }
}

static struct bytes key_of(const struct relabel_view *v, const struct relabel_rules *rules, const struct label *l)
{
    if (l->tag != 0)
        return v->below[l->tag - 1 - v->own_count].key;
    for (size_t i = 0; i < rules->dotted_count; i++)
        if (label_is_of(l->name, rules->dotted_names[i]))
            return rules->dotted_names[i];
    return attribute_name(l->name);
}

static bool put(struct relabel_view *v, struct bytes key, struct bytes text)
{
    struct label *old;
    const struct value value = value_string(text);
    if (!label_list_find(&v->keys, key, &old))
        return false;
    if (old == NULL) {
        v->changed = true;
        v->out[v->out_count++] = (struct unit_attribute){.key = key, .value = value};
        return label_list_add(&v->keys, key, key, (uint32_t)v->out_count);
    }
    struct unit_attribute *to = &v->out[old->tag - 1];
    if (!value_equal(&to->value, &value)) {
        v->changed = true;
        *to = (struct unit_attribute){.key = key, .value = value};
    }
    return true;
}

static bool index_out(struct relabel_view *v)
{
    label_list_clear(&v->keys);
    for (size_t i = 0; i < v->out_count; i++)
        if (!label_list_add(&v->keys, v->out[i].key, v->out[i].key, (uint32_t)i + 1))
            return false;
    return true;
}

// Labels that are written as their attribute come last: they win.
static bool put_new(struct relabel_view *v, const struct relabel_rules *rules)
{
    bool ok = index_out(v);
    for (size_t i = 0; ok && i < v->run.labels.count; i++) {
        struct label *l = &v->run.labels.items[i];
        if (!is_new(v, l))
            continue;
        struct bytes key = key_of(v, rules, l);
        if (key.data == l->name.data)
            l->tag = TAG_EXACT;
        else
            ok = put(v, key, l->value);
    }
    for (size_t i = 0; ok && i < v->run.labels.count; i++)
        if (v->run.labels.items[i].tag == TAG_EXACT)
            ok = put(v, v->run.labels.items[i].name, v->run.labels.items[i].value);
    return ok;
}

static enum err_code store(struct relabel_view *v, const struct relabel_rules *rules, struct err *e)
{
    v->changed = compare_own(v);
    bool adds = any_new(v);
    if (!v->changed && !adds)
        return ERR_OK;
    void *out = v->out;
    size_t most = v->own_count + v->run.labels.count;
    if (!mem_try_grow(&out, &v->out_capacity, most + 1, sizeof *v->out, SIZE_MAX))
        return relabel_no_memory(e);
    v->out = out;
    copy_own(v);
    return !adds || put_new(v, rules) ? ERR_OK : relabel_no_memory(e);
}

enum err_code relabel_view_apply(struct relabel_view *v, const struct relabel_rules *rules, struct err *e)
{
    enum err_code rc = ERR_OK;
    if (v->trace != NULL)
        label_list_sort(&v->run.labels);
    for (size_t i = 0; rc == ERR_OK && v->run.kept && i < rules->count; i++) {
        struct relabel_trace trace;
        relabel_trace_begin(&trace, v->trace, &v->run);
        rc = relabel_rule_apply(&rules->items[i], &v->run, e);
        relabel_trace_end(&trace, v->trace, i, &rules->items[i], &v->run);
    }
    return rc == ERR_OK && v->run.kept ? store(v, rules, e) : rc;
}
