// SPDX-License-Identifier: Apache-2.0
// Labels of samples: each distinct label is looked at once; samples then only gather numbers.
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "codec/pprof_reader.h"

void pprof_labels_fini(struct pprof_labels *l)
{
    free(l->labels);
    index_table_fini(&l->label_table);
    index_table_fini(&l->key_table);
    free(l->keys);
    free(l->uses);
    free(l->groups);
    free(l->attributes);
    free(l->values);
    free(l->entries);
}

// Makes room for `need` items in an array that is reused; false when memory is out.
#define GROW(p, items, capacity, need)                                                                                 \
    ((need) <= (capacity) ||                                                                                           \
     ((items) = grown((p), (items), &(capacity), (need), sizeof *(items)), (need) <= (capacity)))

static void *grown(struct pprof_reader *p, void *items, size_t *capacity, size_t need, size_t size)
{
    if (!mem_try_grow(&items, capacity, need, size, UINT32_MAX - 1))
        pprof_no_memory(p);
    return items;
}

static bool key_number(struct pprof_reader *p, uint64_t index, uint32_t *key_out)
{
    struct pprof_labels *l = &p->labels;
    uint32_t name, slot;
    if (!pprof_string(p, index, "a label's key", &name))
        return false;
    if (!GROW(p, l->keys, l->key_capacity, l->key_count + 1))
        return false;
    if (!index_table_reserve(&l->key_table))
        return pprof_no_memory(p);
    uint64_t hash = hash_bytes(&name, sizeof name);
    slot = index_table_start(&l->key_table, hash);
    for (; index_table_next(&l->key_table, hash, &slot, key_out); index_table_skip(&l->key_table, &slot)) {
        if (l->keys[*key_out].name == name)
            return true;
    }
    *key_out = (uint32_t)l->key_count;
    l->keys[l->key_count++] = (struct pprof_key){.name = name};
    index_table_insert(&l->key_table, hash, slot, *key_out);
    return true;
}

static bool id_text(struct bytes text, uint8_t *id, size_t size)
{
    static const uint8_t none[16];
    return hex_decode_lower(text, id, size) && memcmp(id, none, size) != 0;
}

static bool set_kind(struct pprof_reader *p, struct pprof_label *label)
{
    static const struct {
        const char *key;
        enum pprof_label_kind kind;
        size_t size;
    } ids[] = {{"trace_id", LABEL_TRACE_ID, 16}, {"span_id", LABEL_SPAN_ID, 8}, {"profile_id", LABEL_PROFILE_ID, 8}};
    struct bytes key, text;
    if (!pprof_text(p, label->parts[0], "a label's key", &key) ||
        !pprof_text(p, label->parts[1], "a label's text", &text))
        return false;
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        if (bytes_equal_text(key, ids[i].key) && id_text(text, label->id, ids[i].size))
            label->kind = ids[i].kind;
    }
    return true;
}

static bool label_create(struct pprof_reader *p, const uint64_t *parts)
{
    struct pprof_labels *l = &p->labels;
    if (!GROW(p, l->labels, l->label_capacity, l->label_count + 1))
        return false;
    struct pprof_label *label = &l->labels[l->label_count];
    *label = (struct pprof_label){.attribute = PPROF_NONE, .set = PPROF_NONE};
    memcpy(label->parts, parts, sizeof label->parts);
    if (!key_number(p, parts[0], &label->key))
        return false;
    if (parts[1] != 0 && !set_kind(p, label))
        return false;
    l->label_count++;
    return true;
}

static bool label_number(struct pprof_reader *p, const uint64_t *parts, uint32_t *label_out)
{
    struct pprof_labels *l = &p->labels;
    if (!index_table_reserve(&l->label_table))
        return pprof_no_memory(p);
    size_t size = sizeof l->labels->parts;
    uint64_t hash = hash_bytes(parts, size);
    uint32_t slot = index_table_start(&l->label_table, hash);
    for (; index_table_next(&l->label_table, hash, &slot, label_out); index_table_skip(&l->label_table, &slot)) {
        if (memcmp(l->labels[*label_out].parts, parts, size) == 0)
            return true;
    }
    *label_out = (uint32_t)l->label_count;
    if (!label_create(p, parts))
        return false;
    index_table_insert(&l->label_table, hash, slot, *label_out);
    return true;
}

bool pprof_label_add(struct pprof_reader *p, struct bytes message)
{
    struct pprof_labels *l = &p->labels;
    uint64_t parts[4];
    uint32_t label = 0;
    if (l->use_count == p->limits->max_labels)
        return pprof_fail(p, ERR_LIMIT, "max_labels: it has at least %zu labels, allowed are %u", l->use_count + 1,
                          p->limits->max_labels);
    if (!pprof_read_numbers(p, message, parts, COUNT_OF(parts)))
        return false;
    if (parts[1] != 0) // a text: the number beside it means nothing
        parts[2] = 0;
    if (!label_number(p, parts, &label) || !GROW(p, l->uses, l->use_capacity, l->use_count + 1))
        return false;
    l->uses[l->use_count++] = (struct pprof_label_use){label, PPROF_NONE};
    return true;
}

static bool label_value(struct pprof_reader *p, const struct pprof_label *label, struct value *v)
{
    *v = value_int((int64_t)label->parts[2]);
    if (label->parts[1] == 0)
        return true;
    struct bytes text;
    if (!pprof_text(p, label->parts[1], "a label's text", &text))
        return false;
    *v = value_string(text);
    return true;
}

static bool label_attribute(struct pprof_reader *p, struct pprof_label *label, uint32_t *attribute_out)
{
    struct value v;
    uint32_t unit;
    if (label->attribute == PPROF_NONE) {
        if (!pprof_string(p, label->parts[3], "a label's unit", &unit) || !label_value(p, label, &v))
            return false;
        label->attribute = builder_attribute(p->builder, p->labels.keys[label->key].name, unit, &v);
    }
    *attribute_out = label->attribute;
    return true;
}

static bool group_uses(struct pprof_reader *p)
{
    struct pprof_labels *l = &p->labels;
    if (!GROW(p, l->groups, l->group_capacity, l->use_count))
        return false;
    l->group_count = 0;
    l->serial++;
    for (uint32_t i = 0; i < l->use_count; i++) {
        uint32_t number = l->labels[l->uses[i].label].key;
        struct pprof_key *key = &l->keys[number];
        if (key->serial != l->serial) {
            key->serial = l->serial;
            key->group = (uint32_t)l->group_count;
            l->groups[l->group_count++] = (struct pprof_label_group){number, i, i, 1};
            continue;
        }
        struct pprof_label_group *g = &l->groups[key->group];
        l->uses[g->last].next = i;
        g->last = i;
        g->count++;
    }
    return true;
}

// The unit of all numbers of a group; false when they have unlike units.
static bool common_unit(struct pprof_reader *p, const struct pprof_label_group *g, uint32_t *unit_out)
{
    const struct pprof_labels *l = &p->labels;
    bool first = true;
    *unit_out = 0;
    for (uint32_t i = g->first; i != PPROF_NONE; i = l->uses[i].next) {
        const struct pprof_label *label = &l->labels[l->uses[i].label];
        uint32_t unit;
        if (label->parts[1] != 0)
            continue;
        if (!pprof_string(p, label->parts[3], "a label's unit", &unit))
            return false;
        if (!first && unit != *unit_out)
            return false;
        *unit_out = unit;
        first = false;
    }
    return true;
}

static bool entry_with_unit(struct pprof_reader *p, const struct pprof_label *label, struct key_value *entries,
                            struct value *v)
{
    struct bytes unit;
    if (label->parts[1] != 0) // a text has no unit
        return true;
    if (!pprof_text(p, label->parts[3], "a label's unit", &unit))
        return false;
    entries[0] = (struct key_value){BYTES_LITERAL("value"), *v};
    entries[1] = (struct key_value){BYTES_LITERAL("unit"), value_string(unit)};
    *v = (struct value){.kind = VALUE_KVLIST, .count = 2, .entries = entries};
    return true;
}

// Several values of one key are one array, in order.
static bool group_array(struct pprof_reader *p, const struct pprof_label_group *g, uint32_t *attribute_out)
{
    struct pprof_labels *l = &p->labels;
    if (!GROW(p, l->values, l->value_capacity, g->count) || !GROW(p, l->entries, l->entry_capacity, 2 * g->count))
        return false;
    uint32_t unit, n = 0;
    bool one_unit = common_unit(p, g, &unit);
    for (uint32_t i = g->first; i != PPROF_NONE; i = l->uses[i].next, n++) {
        const struct pprof_label *label = &l->labels[l->uses[i].label];
        if (!label_value(p, label, &l->values[n]))
            return false;
        if (!one_unit && !entry_with_unit(p, label, &l->entries[(size_t)2 * n], &l->values[n]))
            return false;
    }
    struct value array = {.kind = VALUE_ARRAY, .count = n, .items = l->values};
    *attribute_out = builder_attribute(p->builder, l->keys[g->key].name, one_unit ? unit : 0, &array);
    return true;
}

static const struct pprof_label *single_of_kind(const struct pprof_labels *l, enum pprof_label_kind kind)
{
    for (size_t i = 0; i < l->group_count; i++) {
        const struct pprof_label_group *g = &l->groups[i];
        const struct pprof_label *label = &l->labels[l->uses[g->first].label];
        if (g->count == 1 && label->kind == kind)
            return label;
    }
    return NULL;
}

// Pyroscope's profile_id is a span id under another name; an attribute remembers the name for the way back.
static uint32_t link_label(struct pprof_reader *p)
{
    struct pprof_labels *l = &p->labels;
    struct value name = value_string(BYTES_LITERAL("profile_id"));
    if (l->link_label == 0)
        l->link_label = builder_attribute(p->builder, builder_string_text(p->builder, "pprof.link.label"), 0, &name);
    return l->link_label;
}

struct sample_ids {
    const struct pprof_label *trace, *span, *profile; // profile only without span
};

static struct sample_ids find_ids(const struct pprof_labels *l)
{
    struct sample_ids ids = {single_of_kind(l, LABEL_TRACE_ID), single_of_kind(l, LABEL_SPAN_ID), NULL};
    if (ids.span == NULL)
        ids.profile = single_of_kind(l, LABEL_PROFILE_ID);
    return ids;
}

static uint32_t make_link(struct pprof_reader *p, const struct sample_ids *ids)
{
    struct batch_link link = {0};
    const struct pprof_label *span = ids->span != NULL ? ids->span : ids->profile;
    if (ids->trace == NULL && span == NULL)
        return 0;
    if (ids->trace != NULL)
        memcpy(link.trace_id, ids->trace->id, sizeof link.trace_id);
    if (span != NULL)
        memcpy(link.span_id, span->id, sizeof link.span_id);
    return builder_link(p->builder, &link);
}

static bool group_attribute(struct pprof_reader *p, const struct pprof_label_group *g, const struct sample_ids *ids,
                            uint32_t *count)
{
    struct pprof_labels *l = &p->labels;
    struct pprof_label *label = &l->labels[l->uses[g->first].label];
    if (label == ids->trace || label == ids->span || label == ids->profile)
        return true;
    uint32_t *to = &l->attributes[(*count)++];
    return g->count == 1 ? label_attribute(p, label, to) : group_array(p, g, to);
}

static bool take_groups(struct pprof_reader *p, bool any_ids, uint32_t *set_out, uint32_t *link_out)
{
    struct pprof_labels *l = &p->labels;
    if (!group_uses(p) || !GROW(p, l->attributes, l->attribute_capacity, l->group_count + 1))
        return false;
    struct sample_ids ids = {NULL, NULL, NULL};
    if (any_ids)
        ids = find_ids(l);
    uint32_t count = 0;
    for (size_t i = 0; i < l->group_count; i++) {
        if (!group_attribute(p, &l->groups[i], &ids, &count))
            return false;
    }
    if (ids.profile != NULL)
        l->attributes[count++] = link_label(p);
    *link_out = make_link(p, &ids);
    *set_out = builder_attribute_set(p->builder, l->attributes, count);
    return true;
}

static bool take_one(struct pprof_reader *p, struct pprof_label *label, uint32_t *set_out)
{
    uint32_t attribute;
    if (label->set == PPROF_NONE) {
        if (!label_attribute(p, label, &attribute))
            return false;
        label->set = builder_attribute_set(p->builder, &attribute, 1);
    }
    *set_out = label->set;
    return true;
}

bool pprof_labels_take(struct pprof_reader *p, uint32_t *set_out, uint32_t *link_out)
{
    struct pprof_labels *l = &p->labels;
    *set_out = *link_out = 0;
    if (l->use_count == 0)
        return true;
    bool any_ids = false;
    for (size_t i = 0; i < l->use_count; i++)
        any_ids |= l->labels[l->uses[i].label].kind != LABEL_PLAIN;
    bool good = l->use_count == 1 && !any_ids ? take_one(p, &l->labels[l->uses[0].label], set_out)
                                              : take_groups(p, any_ids, set_out, link_out);
    l->use_count = 0;
    return good;
}
