// SPDX-License-Identifier: Apache-2.0
#include "processors/relabel_context.h"

#include "base/mem.h"
#include "processors/relabel_names.h"

void relabel_context_init(struct relabel_context *c, bool scope, bool profile)
{
    *c = (struct relabel_context){.scope = scope, .profile = profile};
    label_list_init(&c->scope_labels);
    label_list_init(&c->profile_labels);
    arena_init(&c->arena, 0);
}

void relabel_context_fini(struct relabel_context *c)
{
    label_list_fini(&c->scope_labels);
    label_list_fini(&c->profile_labels);
    arena_fini(&c->arena);
    free(c->set_seen);
    c->set_seen = NULL;
}

// The owner number `owner` (from 1) has this. Only what all before it had can be common.
static bool meet(struct label_list *l, struct bytes name, struct bytes text, uint32_t owner)
{
    struct label *old;
    if (!label_list_find(l, name, &old))
        return false;
    if (old == NULL)
        return owner != 1 || label_list_add(l, name, text, owner);
    if (old->tag == owner - 1 && bytes_equal(old->value, text))
        old->tag = owner;
    return true;
}

static enum err_code meet_attribute(struct relabel_context *c, struct label_list *l, struct bytes prefix,
                                    struct bytes key, const struct value *value, uint32_t owner, struct err *e)
{
    struct bytes label, text;
    if (!label_name(&c->arena, key, &label))
        return relabel_no_memory(e);
    uint8_t *name = arena_try_alloc(&c->arena, prefix.len + label.len);
    if (name == NULL)
        return relabel_no_memory(e);
    memcpy(name, prefix.data, prefix.len);
    if (label.len != 0)
        memcpy(name + prefix.len, label.data, label.len);
    enum err_code rc = relabel_value_text(&c->arena, value, &text, e);
    if (rc == ERR_OK && !meet(l, (struct bytes){name, prefix.len + label.len}, text, owner))
        rc = relabel_no_memory(e);
    return rc;
}

static enum err_code load_scope(struct relabel_context *c, const struct scope *s, uint32_t owner, struct err *e)
{
    enum err_code rc = ERR_OK;
    if (!meet(&c->scope_labels, BYTES_LITERAL("__scope_name"), s->name, owner) ||
        !meet(&c->scope_labels, BYTES_LITERAL("__scope_version"), s->version, owner))
        rc = relabel_no_memory(e);
    for (uint32_t i = 0; rc == ERR_OK && i < s->attribute_count; i++)
        rc = meet_attribute(c, &c->scope_labels, BYTES_LITERAL("__scope_attribute_"), s->attributes[i].key,
                            &s->attributes[i].value, owner, e);
    return rc;
}

static enum err_code load_set(struct relabel_context *c, const struct dictionary *d, uint32_t set, uint32_t owner,
                              struct err *e)
{
    struct batch_range range = d->attribute_sets[set];
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < range.count; i++) {
        const struct batch_attribute *a = &d->attributes[d->set_attributes[range.start + i]];
        rc = meet_attribute(c, &c->profile_labels, BYTES_LITERAL("__profile_attribute_"), d->strings[a->key], &a->value,
                            owner, e);
    }
    return rc;
}

// Each set that profiles of the resource use is one owner.
static enum err_code load_profiles(struct relabel_context *c, const struct dictionary *d, const struct scope *s,
                                   uint32_t *owners, struct err *e)
{
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < s->profile_count; i++) {
        uint32_t set = s->profiles[i].attribute_set;
        if (c->set_seen[set] == c->round)
            continue;
        c->set_seen[set] = c->round;
        rc = load_set(c, d, set, ++*owners, e);
    }
    return rc;
}

static void keep_common(struct label_list *l, uint32_t owners)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->items[i].tag != owners)
            l->items[i].value = (struct bytes){NULL, 0};
}

static bool need_set_seen(struct relabel_context *c, const struct dictionary *d)
{
    if (c->set_seen != NULL || !c->profile)
        return true;
    size_t count = (size_t)d->attribute_set_count + 1;
    c->set_seen = mem_try_array(count, sizeof *c->set_seen);
    if (c->set_seen != NULL)
        memset(c->set_seen, 0, count * sizeof *c->set_seen);
    return c->set_seen != NULL;
}

enum err_code relabel_context_load(struct relabel_context *c, const struct batch *b, uint32_t resource, struct err *e)
{
    const struct resource *r = b->resources[resource];
    uint32_t profile_owners = 0;
    enum err_code rc = ERR_OK;
    label_list_clear(&c->scope_labels);
    label_list_clear(&c->profile_labels);
    arena_fini(&c->arena);
    c->resource_plus_one = resource + 1;
    c->round++;
    if (!need_set_seen(c, b->dictionary))
        return relabel_no_memory(e);
    for (uint32_t i = 0; rc == ERR_OK && i < r->scope_count; i++) {
        if (c->scope)
            rc = load_scope(c, r->scopes[i], i + 1, e);
        if (rc == ERR_OK && c->profile)
            rc = load_profiles(c, b->dictionary, r->scopes[i], &profile_owners, e);
    }
    keep_common(&c->scope_labels, r->scope_count);
    keep_common(&c->profile_labels, profile_owners);
    return rc;
}

static enum err_code add_all(const struct label_list *l, struct relabel_view *v, struct err *e)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < l->count; i++)
        rc = relabel_view_add(v, l->items[i].name, l->items[i].value, e);
    return rc;
}

enum err_code relabel_context_add(struct relabel_context *c, struct relabel_view *v, struct err *e)
{
    enum err_code rc = add_all(&c->scope_labels, v, e);
    return rc == ERR_OK ? add_all(&c->profile_labels, v, e) : rc;
}
