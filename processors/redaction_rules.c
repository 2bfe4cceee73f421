// SPDX-License-Identifier: Apache-2.0
#include "processors/redaction_rules.h"

#include "base/mem.h"
#include "processors/attribute_actions.h"

enum { MAX_PRINTED_BYTES = 64 << 20, MAX_TOLD_BYTES = 1024 };

enum key_mark { KEY_IGNORED = 1, KEY_ALLOWED = 2, KEY_BLOCKED = 4 };

// The Collector's names.
static const struct {
    enum redaction_note note;
    const char *count, *keys;
} tellings[] = {
    {NOTE_REMOVED, "redaction.redacted.count", "redaction.redacted.keys"},
    {NOTE_MASKED, "redaction.masked.count", "redaction.masked.keys"},
    {NOTE_ALLOWED, "redaction.allowed.count", "redaction.allowed.keys"},
    {NOTE_IGNORED, "redaction.ignored.count", NULL},
};

void redaction_work_init(struct redaction_work *w, const struct redaction_rules *rules)
{
    *w = (struct redaction_work){.rules = rules};
    arena_init(&w->texts, 0);
    arena_init(&w->arena, 0);
}

void redaction_work_fini(struct redaction_work *w)
{
    arena_fini(&w->texts);
    arena_fini(&w->arena);
}

// --- keys ---

static bool is_listed(const struct config_strings *list, struct bytes key)
{
    for (size_t i = 0; i < list->count; i++)
        if (bytes_equal_text(key, list->items[i]))
            return true;
    return false;
}

static bool tells(struct bytes key)
{
    bool tells = false;
    for (size_t i = 0; i < COUNT_OF(tellings); i++)
        tells |= bytes_equal_text(key, tellings[i].count) ||
                 (tellings[i].keys != NULL && bytes_equal_text(key, tellings[i].keys));
    return tells;
}

uint8_t redaction_mark(const struct redaction_rules *rules, struct bytes key)
{
    uint8_t mark = 0;
    if (is_listed(rules->ignored_keys, key) || regex_list_finds(&rules->ignored_key_patterns, key))
        return KEY_IGNORED;
    if (rules->allow_all_keys || is_listed(rules->allowed_keys, key) || tells(key))
        mark |= KEY_ALLOWED;
    if (regex_list_finds(&rules->blocked_key_patterns, key))
        mark |= KEY_BLOCKED;
    return mark;
}

// --- values ---

static enum err_code charge(struct redaction_work *w, size_t bytes, struct err *e)
{
    if (bytes > REDACTION_MAX_BYTES - w->bytes)
        return err_set(
            e, ERR_LIMIT,
            "what stands for masked values would take more than the %zu MiB allowed: send smaller requests, or "
            "set hash_function: none",
            REDACTION_MAX_BYTES >> 20);
    w->bytes += bytes;
    return ERR_OK;
}

enum err_code redaction_mask_text(struct redaction_work *w, const struct regex_list *patterns, struct bytes *text,
                                  bool *found_out, struct err *e)
{
    enum err_code rc = mask_finds(&w->rules->mask, patterns, &w->texts, text, found_out, e);
    return rc == ERR_OK && *found_out ? charge(w, text->len, e) : rc;
}

static enum err_code put_whole(struct redaction_work *w, struct bytes text, struct value *v, struct err *e)
{
    struct bytes masked;
    enum err_code rc = mask_whole(&w->rules->mask, &w->texts, text, &masked, e);
    if (rc == ERR_OK)
        *v = value_string(masked);
    return rc == ERR_OK ? charge(w, masked.len, e) : rc;
}

static enum err_code put_finds(struct redaction_work *w, struct bytes text, struct value *v, bool *found, struct err *e)
{
    bool here;
    enum err_code rc = redaction_mask_text(w, &w->rules->blocked_values, &text, &here, e);
    if (rc == ERR_OK && here)
        *v = value_string(text);
    *found |= rc == ERR_OK && here;
    return rc;
}

static bool is_allowed(const struct redaction_rules *rules, struct bytes text)
{
    return regex_list_finds(&rules->allowed_values, text);
}

static enum err_code mask_text(struct redaction_work *w, struct bytes text, struct value *v, bool whole, bool *found,
                               struct err *e)
{
    if (!whole)
        return put_finds(w, text, v, found, e);
    *found = true;
    return put_whole(w, text, v, e);
}

// A value that is no text, by what it looks like in print.
static enum err_code mask_printed(struct redaction_work *w, struct value *v, bool whole, bool *found, struct err *e)
{
    struct buf text;
    buf_init(&text, MAX_PRINTED_BYTES);
    value_print(&text, v);
    enum err_code rc = buf_ok(&text) ? mask_text(w, buf_bytes(&text), v, whole, found, e) : attribute_no_memory(e);
    buf_fini(&text);
    return rc;
}

static enum err_code mask_value(struct redaction_work *w, struct value *v, bool whole, bool *found, struct err *e);

// NULL: e says why not.
static void *copy_items(struct redaction_work *w, const void *from, size_t bytes, struct err *e)
{
    if (charge(w, bytes, e) != ERR_OK)
        return NULL;
    void *copy = arena_try_alloc(&w->texts, bytes);
    if (copy == NULL)
        attribute_no_memory(e);
    else
        memcpy(copy, from, bytes);
    return copy;
}

// Texts within are masked where they are. *v gets a copy of the items with the first find.
static enum err_code mask_array(struct redaction_work *w, struct value *v, bool *found, struct err *e)
{
    struct value *items = NULL;
    for (uint32_t i = 0; i < v->count; i++) {
        struct value item = v->items[i];
        bool here = false;
        if (mask_value(w, &item, false, &here, e) != ERR_OK)
            return e->code;
        if (!here)
            continue;
        if (items == NULL && (items = copy_items(w, v->items, v->count * sizeof item, e)) == NULL)
            return e->code;
        items[i] = item;
    }
    *found |= items != NULL;
    v->items = items != NULL ? items : v->items;
    return ERR_OK;
}

static enum err_code mask_entries(struct redaction_work *w, struct value *v, bool *found, struct err *e)
{
    struct key_value *entries = NULL;
    for (uint32_t i = 0; i < v->count; i++) {
        struct value item = v->entries[i].value;
        bool here = false;
        if (mask_value(w, &item, regex_list_finds(&w->rules->blocked_key_patterns, v->entries[i].key), &here, e) !=
            ERR_OK)
            return e->code;
        if (!here)
            continue;
        if (entries == NULL && (entries = copy_items(w, v->entries, v->count * sizeof *entries, e)) == NULL)
            return e->code;
        entries[i].value = item;
    }
    *found |= entries != NULL;
    v->entries = entries != NULL ? entries : v->entries;
    return ERR_OK;
}

// Values are as deep as their decoders allow.
static enum err_code mask_value(struct redaction_work *w, struct value *v, bool whole, bool *found, struct err *e)
{
    enum err_code rc = ERR_OK;
    if (v->kind == VALUE_STRING && is_allowed(w->rules, v->bytes))
        return ERR_OK;
    if (v->kind == VALUE_STRING)
        return mask_text(w, v->bytes, v, whole, found, e);
    if (v->kind == VALUE_ARRAY && !whole)
        rc = mask_array(w, v, found, e);
    if (v->kind == VALUE_KVLIST && !whole)
        rc = mask_entries(w, v, found, e);
    return rc == ERR_OK && (whole || w->rules->redact_all_types) ? mask_printed(w, v, whole, found, e) : rc;
}

enum err_code redaction_judge(struct redaction_work *w, bool of_code, uint8_t mark, struct value *v,
                              enum redaction_note *note_out, bool *changed_out, struct err *e)
{
    const struct value before = *v;
    bool found = false;
    *changed_out = false;
    *note_out = mark == KEY_IGNORED ? NOTE_IGNORED : NOTE_REMOVED;
    if (mark == KEY_IGNORED || (!of_code && (mark & KEY_ALLOWED) == 0))
        return ERR_OK;
    *note_out = NOTE_ALLOWED;
    if (v->kind == VALUE_STRING && is_allowed(w->rules, v->bytes))
        return ERR_OK;
    enum err_code rc = mask_value(w, v, (mark & KEY_BLOCKED) != 0, &found, e);
    *note_out = found ? NOTE_MASKED : NOTE_NONE;
    *changed_out = found && !value_equal(v, &before);
    return rc;
}

// --- summary ---

static const struct unit_attribute *find(const struct unit_attribute *list, uint32_t count, const char *key)
{
    for (uint32_t i = 0; i < count; i++)
        if (bytes_equal_text(list[i].key, key))
            return &list[i];
    return NULL;
}

static void add_told(struct buf *out, struct bytes text)
{
    if (out->len > 0)
        buf_add_byte(out, ',');
    if (text.len > MAX_TOLD_BYTES || out->len + text.len > MAX_TOLD_BYTES)
        buf_add_text(out, "...");
    else
        buf_add(out, text.data, text.len);
}

struct telling {
    const struct unit_attribute *list;
    const uint8_t *notes;
    uint32_t count;
};

// Names of the attributes with this note, behind those that were told before.
static enum err_code tell_keys(struct redaction_work *w, const struct telling *t, size_t which, struct bytes *out,
                               struct err *e)
{
    const struct unit_attribute *before = find(t->list, t->count, tellings[which].keys);
    struct buf text;
    buf_init(&text, 4 * MAX_TOLD_BYTES);
    if (before != NULL && before->value.kind == VALUE_STRING)
        add_told(&text, before->value.bytes);
    for (uint32_t i = 0; i < t->count && text.len < MAX_TOLD_BYTES; i++)
        if (t->notes[i] == tellings[which].note)
            add_told(&text, t->list[i].key);
    enum err_code rc = charge(w, text.len, e);
    if (rc == ERR_OK && (!buf_ok(&text) || !arena_try_copy(&w->arena, buf_bytes(&text), out)))
        rc = attribute_no_memory(e);
    buf_fini(&text);
    return rc;
}

static int64_t count_told(const struct telling *t, size_t which)
{
    const struct unit_attribute *before = find(t->list, t->count, tellings[which].count);
    int64_t told = 0;
    for (uint32_t i = 0; i < t->count; i++)
        told += t->notes[i] == tellings[which].note;
    if (told > 0 && before != NULL && before->value.kind == VALUE_INT && before->value.integer > 0 &&
        before->value.integer < INT64_MAX - told)
        told += before->value.integer;
    return told;
}

enum err_code redaction_summarize(struct redaction_work *w, const struct unit_attribute *list, const uint8_t *notes,
                                  uint32_t count, struct unit_attribute out[REDACTION_SUMMARY_MAX], uint32_t *count_out,
                                  struct err *e)
{
    const struct telling t = {list, notes, count};
    enum err_code rc = ERR_OK;
    arena_fini(&w->arena);
    *count_out = 0;
    for (size_t i = 0; rc == ERR_OK && i < COUNT_OF(tellings) && w->rules->summary != SUMMARY_SILENT; i++) {
        const int64_t told = count_told(&t, i);
        struct bytes keys = {NULL, 0};
        if (told == 0)
            continue;
        if (w->rules->summary == SUMMARY_DEBUG && tellings[i].keys != NULL) {
            rc = tell_keys(w, &t, i, &keys, e);
            out[(*count_out)++] =
                (struct unit_attribute){.key = bytes_from_text(tellings[i].keys), .value = value_string(keys)};
        }
        out[(*count_out)++] =
            (struct unit_attribute){.key = bytes_from_text(tellings[i].count), .value = value_int(told)};
    }
    return rc;
}
