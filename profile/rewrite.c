// SPDX-License-Identifier: Apache-2.0
#include "profile/rewrite.h"

#include "base/mem.h"
#include "profile/merge.h"
#include "profile/parts.h"
#include "profile/rewrite_internal.h"

void dictionary_borrow(const struct dictionary *d, struct dictionary *to)
{
    *to = (struct dictionary){.refs = 1,
                              .strings = d->strings,
                              .mappings = d->mappings,
                              .locations = d->locations,
                              .lines = d->lines,
                              .functions = d->functions,
                              .links = d->links,
                              .attributes = d->attributes,
                              .stacks = d->stacks,
                              .stack_bytes = d->stack_bytes,
                              .attribute_sets = d->attribute_sets,
                              .set_attributes = d->set_attributes,
                              .string_count = d->string_count,
                              .mapping_count = d->mapping_count,
                              .location_count = d->location_count,
                              .line_count = d->line_count,
                              .function_count = d->function_count,
                              .link_count = d->link_count,
                              .attribute_count = d->attribute_count,
                              .stack_count = d->stack_count,
                              .attribute_set_count = d->attribute_set_count,
                              .stack_byte_count = d->stack_byte_count,
                              .set_attribute_count = d->set_attribute_count};
}

enum err_code batch_rebuild(struct batch **b, struct dictionary *borrowed, struct err *e)
{
    struct resource **list = mem_try_array((*b)->resource_count, sizeof(struct resource *));
    if (list == NULL)
        return parts_no_memory(e);
    for (uint32_t i = 0; i < (*b)->resource_count; i++)
        list[i] = resource_ref((*b)->resources[i]);
    struct batch *new = batch_create(dictionary_ref(borrowed), list, (*b)->resource_count);
    free(list);
    enum err_code rc = new == NULL ? parts_no_memory(e) : batch_own_dictionary(&new, e);
    if (rc == ERR_OK) {
        batch_unref(b);
        *b = new;
    } else {
        batch_unref(&new);
    }
    CHECK(atomic_load(&borrowed->refs) == 1);
    return rc;
}

// --- the new tables, under the old numbers ---

struct grown {
    void *items;
    size_t capacity;
    uint32_t count;
};

struct rewriter {
    const struct dictionary *from;
    const struct dictionary_rewrite *rewrite;
    struct arena arena;               // texts and values of new attributes
    struct grown strings, attributes; // the old ones first
    struct grown members;             // of new sets
    struct batch_range *sets;         // of samples and profiles, then those of code
    struct batch_function *functions;
    struct batch_mapping *mappings;
    struct batch_location *locations;
    uint32_t *names, *paths; // by string: its new id, 0 = not asked yet
    struct marked_key *keys; // by string
    struct judged *judged;   // by attribute, then those of code
    void *notes;             // uint8_t[], of the set at hand
    struct unit_attribute *list;
    size_t note_capacity, list_capacity;
    bool changed;
    struct err *e;
};

static bool no_memory(struct rewriter *r)
{
    return parts_no_memory(r->e) == ERR_OK;
}

static bool push(struct rewriter *r, struct grown *g, const void *item, size_t size)
{
    if (!mem_try_grow(&g->items, &g->capacity, (size_t)g->count + 1, size, UINT32_MAX))
        return no_memory(r);
    memcpy((uint8_t *)g->items + g->count++ * size, item, size);
    return true;
}

static bool push_string(struct rewriter *r, struct bytes text, uint32_t *id_out)
{
    *id_out = text.len == 0 ? 0 : r->strings.count;
    return text.len == 0 || push(r, &r->strings, &text, sizeof text);
}

// A copy of count items, in *out.
static bool copy(struct rewriter *r, const void *from, size_t count, size_t size, void *out)
{
    void *items = mem_try_array(count, size);
    if (items == NULL)
        return no_memory(r);
    if (count > 0)
        memcpy(items, from, count * size);
    memcpy(out, &items, sizeof items);
    return true;
}

static bool start_table(struct rewriter *r, struct grown *g, const void *from, uint32_t count, size_t size)
{
    g->capacity = g->count = count;
    return copy(r, from, count, size, &g->items);
}

// --- texts ---

typedef enum err_code text_fn(void *arg, struct bytes *text, struct err *e);

static bool rewrite_text(struct rewriter *r, text_fn *change, uint32_t *known, uint32_t *id)
{
    const struct bytes old = r->from->strings[*id];
    struct bytes text = old;
    if (change == NULL || *id == 0)
        return true;
    if (known[*id] == 0) {
        if (change(r->rewrite->arg, &text, r->e) != ERR_OK)
            return false;
        known[*id] = *id;
        if (!bytes_equal(text, old) && !push_string(r, text, &known[*id]))
            return false;
    }
    r->changed |= known[*id] != *id;
    *id = known[*id];
    return true;
}

// count items of zeros, in *out.
static bool zeroed(struct rewriter *r, size_t count, size_t size, void *out)
{
    void *items = mem_try_array(count, size);
    if (items == NULL)
        return no_memory(r);
    memset(items, 0, count * size);
    memcpy(out, &items, sizeof items);
    return true;
}

static bool rewrite_texts(struct rewriter *r)
{
    const struct dictionary *d = r->from;
    text_fn *name = r->rewrite->function_name, *path = r->rewrite->file_path;
    bool ok = zeroed(r, d->string_count, sizeof *r->names, &r->names) &&
              zeroed(r, d->string_count, sizeof *r->paths, &r->paths);
    for (uint32_t i = 1; ok && i < d->function_count; i++) {
        struct batch_function *f = &r->functions[i];
        ok = rewrite_text(r, name, r->names, &f->name) && rewrite_text(r, name, r->names, &f->system_name) &&
             rewrite_text(r, path, r->paths, &f->filename);
    }
    for (uint32_t i = 1; ok && i < d->mapping_count; i++)
        ok = rewrite_text(r, path, r->paths, &r->mappings[i].filename);
    return ok;
}

// --- attribute sets ---

struct judged {
    uint32_t id; // of what it became
    bool known, removed;
    uint8_t note;
};

struct marked_key {
    bool known;
    uint8_t mark;
};

static uint8_t mark_of(struct rewriter *r, uint32_t key)
{
    struct marked_key *k = &r->keys[key];
    if (!k->known)
        *k = (struct marked_key){true, r->rewrite->key(r->rewrite->arg, r->from->strings[key])};
    return k->mark;
}

static struct judged *judged_of(const struct rewriter *r, uint32_t attribute, bool of_code)
{
    return &r->judged[attribute + (of_code ? (size_t)r->from->attribute_count : 0)];
}

static bool judge(struct rewriter *r, uint32_t attribute, bool of_code)
{
    const struct dictionary *d = r->from;
    struct judged *j = judged_of(r, attribute, of_code);
    struct batch_attribute new = d->attributes[attribute];
    struct unit_attribute a = {d->strings[new.key], d->strings[new.unit], new.value};
    struct attribute_verdict v = {0};
    if (j->known)
        return true;
    if (r->rewrite->attribute(r->rewrite->arg, of_code, mark_of(r, new.key), &a, &v, r->e) != ERR_OK)
        return false;
    *j = (struct judged){attribute, true, v.removed, v.note};
    r->changed |= v.removed || v.changed;
    if (!v.changed)
        return true;
    j->id = r->attributes.count;
    new.value = a.value;
    return push(r, &r->attributes, &new, sizeof new);
}

static bool put_added(struct rewriter *r, const struct unit_attribute *a)
{
    struct bytes key, unit;
    struct batch_attribute new;
    const uint32_t id = r->attributes.count;
    if (!arena_try_copy(&r->arena, a->key, &key) || !arena_try_copy(&r->arena, a->unit, &unit) ||
        !value_copy(&r->arena, &a->value, &new.value))
        return no_memory(r);
    return push_string(r, key, &new.key) && push_string(r, unit, &new.unit) &&
           push(r, &r->attributes, &new, sizeof new) && push(r, &r->members, &id, sizeof id);
}

// Judges all members; *noted_out: of some there is a note, in r->notes.
static bool judge_set(struct rewriter *r, struct batch_range old, bool of_code, bool *noted_out)
{
    *noted_out = false;
    if (!mem_try_grow(&r->notes, &r->note_capacity, (size_t)old.count + 1, 1, SIZE_MAX))
        return no_memory(r);
    for (uint32_t i = 0; i < old.count; i++) {
        const uint32_t id = r->from->set_attributes[old.start + i];
        if (!judge(r, id, of_code))
            return false;
        const uint8_t note = judged_of(r, id, of_code)->note;
        ((uint8_t *)r->notes)[i] = note;
        *noted_out |= note != 0;
    }
    return true;
}

static bool is_replaced(const struct rewriter *r, uint32_t attribute, const struct unit_attribute *added,
                        uint32_t count)
{
    uint32_t i = 0;
    while (i < count && !bytes_equal(r->from->strings[r->from->attributes[attribute].key], added[i].key))
        i++;
    return i < count;
}

static bool put_set(struct rewriter *r, struct batch_range old, bool of_code, const struct unit_attribute *added,
                    uint32_t added_count)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < old.count; i++) {
        const uint32_t attribute = r->from->set_attributes[old.start + i];
        const struct judged *j = judged_of(r, attribute, of_code);
        if (!j->removed && !is_replaced(r, attribute, added, added_count))
            ok = push(r, &r->members, &j->id, sizeof j->id);
    }
    for (uint32_t i = 0; ok && i < added_count; i++)
        ok = put_added(r, &added[i]);
    return ok;
}

static bool ask_added(struct rewriter *r, uint32_t set, const struct unit_attribute **added, uint32_t *count_out)
{
    if (!attribute_set_list(r->from, set, &r->list, &r->list_capacity))
        return no_memory(r);
    if (r->rewrite->added(r->rewrite->arg, r->list, r->notes, r->from->attribute_sets[set].count, added, count_out,
                          r->e) != ERR_OK)
        return false;
    r->changed |= *count_out > 0;
    return true;
}

static bool rewrite_set(struct rewriter *r, uint32_t set, bool of_code)
{
    const struct batch_range old = r->from->attribute_sets[set];
    struct batch_range *new = &r->sets[set + (of_code ? r->from->attribute_set_count : 0)];
    const struct unit_attribute *added = NULL;
    uint32_t added_count = 0;
    bool noted;
    if (!judge_set(r, old, of_code, &noted) ||
        (noted && !of_code && r->rewrite->added != NULL && !ask_added(r, set, &added, &added_count)))
        return false;
    new->start = r->members.count;
    if (!put_set(r, old, of_code, added, added_count))
        return false;
    new->count = r->members.count - new->start;
    return true;
}

// Sets of code get numbers behind all others.
static void renumber_code(struct rewriter *r)
{
    const struct dictionary *d = r->from;
    for (uint32_t i = 0; i < d->mapping_count; i++)
        r->mappings[i].attribute_set += r->mappings[i].attribute_set == 0 ? 0 : d->attribute_set_count;
    for (uint32_t i = 0; i < d->location_count; i++)
        r->locations[i].attribute_set += r->locations[i].attribute_set == 0 ? 0 : d->attribute_set_count;
}

static bool mark_code(struct rewriter *r, bool **used_out)
{
    const struct dictionary *d = r->from;
    bool *used = mem_try_alloc(d->attribute_set_count);
    *used_out = used;
    if (used == NULL)
        return no_memory(r);
    memset(used, 0, d->attribute_set_count);
    for (uint32_t i = 0; i < d->mapping_count; i++)
        used[d->mappings[i].attribute_set] = true;
    for (uint32_t i = 0; i < d->location_count; i++)
        used[d->locations[i].attribute_set] = true;
    return true;
}

static bool start_sets(struct rewriter *r)
{
    const struct dictionary *d = r->from;
    struct grown *m = &r->members;
    r->sets = mem_try_array(2 * (size_t)d->attribute_set_count, sizeof *r->sets);
    if (r->sets == NULL ||
        !mem_try_grow(&m->items, &m->capacity, (size_t)d->set_attribute_count + 1, sizeof(uint32_t), UINT32_MAX))
        return no_memory(r);
    memset(r->sets, 0, 2 * (size_t)d->attribute_set_count * sizeof *r->sets);
    return zeroed(r, d->string_count, sizeof *r->keys, &r->keys) &&
           zeroed(r, 2 * (size_t)d->attribute_count, sizeof *r->judged, &r->judged);
}

static bool rewrite_sets(struct rewriter *r)
{
    const uint32_t count = r->from->attribute_set_count;
    bool *of_code, ok = mark_code(r, &of_code) && start_sets(r);
    for (uint32_t i = 0; ok && i < count; i++)
        ok = rewrite_set(r, i, false) && (!of_code[i] || rewrite_set(r, i, true));
    free(of_code);
    if (ok)
        renumber_code(r);
    return ok;
}

// --- the whole ---

static bool start(struct rewriter *r)
{
    const struct dictionary *d = r->from;
    return start_table(r, &r->strings, d->strings, d->string_count, sizeof *d->strings) &&
           start_table(r, &r->attributes, d->attributes, d->attribute_count, sizeof *d->attributes) &&
           copy(r, d->functions, d->function_count, sizeof *d->functions, &r->functions) &&
           copy(r, d->mappings, d->mapping_count, sizeof *d->mappings, &r->mappings) &&
           copy(r, d->locations, d->location_count, sizeof *d->locations, &r->locations);
}

static void fini(struct rewriter *r)
{
    free(r->strings.items);
    free(r->attributes.items);
    free(r->members.items);
    free(r->sets);
    free(r->functions);
    free(r->mappings);
    free(r->locations);
    free(r->names);
    free(r->paths);
    free(r->keys);
    free(r->judged);
    free(r->notes);
    free(r->list);
    arena_fini(&r->arena);
}

static enum err_code finish(const struct rewriter *r, struct batch **b)
{
    struct dictionary new;
    dictionary_borrow(r->from, &new);
    new.strings = r->strings.items;
    new.string_count = r->strings.count;
    new.functions = r->functions;
    new.mappings = r->mappings;
    new.locations = r->locations;
    new.attributes = r->attributes.items;
    new.attribute_count = r->attributes.count;
    new.attribute_sets = r->sets;
    new.attribute_set_count = 2 * r->from->attribute_set_count;
    new.set_attributes = r->members.items;
    new.set_attribute_count = r->members.count;
    return batch_rebuild(b, &new, r->e);
}

enum err_code batch_rewrite_dictionary(struct batch **b, const struct dictionary_rewrite *rewrite, struct err *e)
{
    struct dictionary *held = dictionary_ref((*b)->dictionary);
    struct rewriter r = {.from = held, .rewrite = rewrite, .e = e};
    arena_init(&r.arena, 0);
    enum err_code rc = ERR_OK;
    if (held->attribute_set_count > UINT32_MAX / 2)
        rc = err_set(e, ERR_LIMIT, "%u lists of attributes are too many to be changed", held->attribute_set_count);
    else if (!start(&r) || !rewrite_texts(&r) || !rewrite_sets(&r))
        rc = e->code;
    else if (r.changed)
        rc = finish(&r, b);
    fini(&r);
    dictionary_unref(&held);
    return rc;
}
