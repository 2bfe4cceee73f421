// SPDX-License-Identifier: Apache-2.0
// The Collector's `redaction`, for profiles: attributes that are not allowed go, and what must not be read is masked, in
// attributes, file paths and names of functions.
#include "base/mem.h"
#include "processors/attribute_actions.h"
#include "processors/processors.h"
#include "processors/redaction_mask.h"
#include "profile/rewrite.h"

enum summary { SUMMARY_SILENT, SUMMARY_INFO, SUMMARY_DEBUG };

struct redaction_settings {
    bool allow_all_keys, redact_all_types, keep_original_payload;
    struct config_strings allowed_keys, ignored_keys, ignored_key_patterns, blocked_key_patterns, blocked_values,
        allowed_values, blocked_function_names, blocked_file_paths;
    int hash_function; // enum mask_hash
    const char *hmac_key;
    int summary;
};

struct redaction {
    struct processor processor;
    bool allow_all_keys, redact_all_types, keep_original_payload;
    struct config_strings allowed_keys, ignored_keys; // texts of the settings
    struct regex_list ignored_key_patterns, blocked_key_patterns, blocked_values, allowed_values,
        blocked_function_names, blocked_file_paths;
    struct mask mask;
    enum summary summary;
};

static const char *const summary_names[] = {
    [SUMMARY_SILENT] = "silent", [SUMMARY_INFO] = "info", [SUMMARY_DEBUG] = "debug", NULL};

#define SETTING(member) offsetof(struct redaction_settings, member)

static const struct field redaction_fields[] = {
    {.name = "allow_all_keys",
     .type = FIELD_BOOL,
     .offset = SETTING(allow_all_keys),
     .default_text = "false",
     .help = "no attribute is removed for its key"},
    {.name = "allowed_keys",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(allowed_keys),
     .help = "attributes with other keys are removed, unless allow_all_keys"},
    {.name = "ignored_keys",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(ignored_keys),
     .help = "these attributes stay as they are"},
    {.name = "ignored_key_patterns",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(ignored_key_patterns),
     .help = "expressions (RE2) found in keys of attributes that stay as they are"},
    {.name = "blocked_key_patterns",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(blocked_key_patterns),
     .help = "expressions found in keys of attributes whose whole value is masked"},
    {.name = "blocked_values",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(blocked_values),
     .help = "expressions: what they find in values is masked"},
    {.name = "allowed_values",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(allowed_values),
     .help = "expressions: values in which one is found are not looked at with blocked_values"},
    {.name = "redact_all_types",
     .type = FIELD_BOOL,
     .offset = SETTING(redact_all_types),
     .default_text = "false",
     .help = "blocked_values looks at numbers, lists and maps, too, as text"},
    {.name = "blocked_function_names",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(blocked_function_names),
     .help = "expressions: what they find in names of functions is masked"},
    {.name = "blocked_file_paths",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(blocked_file_paths),
     .help = "expressions: what they find in paths of source files and binaries is masked"},
    {.name = "hash_function",
     .type = FIELD_ENUM,
     .offset = SETTING(hash_function),
     .default_text = "none",
     .names = mask_hash_names,
     .help = "what stands for masked text: its hash in hex; none: ****"},
    {.name = "hmac_key",
     .type = FIELD_SECRET,
     .offset = SETTING(hmac_key),
     .help = "secret of hmac-sha256 and hmac-sha512"},
    {.name = "summary",
     .type = FIELD_ENUM,
     .offset = SETTING(summary),
     .default_text = "silent",
     .names = summary_names,
     .help = "attributes redaction.*: info: how many were removed and masked; debug: which, too"},
    {.name = "keep_original_payload",
     .type = FIELD_BOOL,
     .offset = SETTING(keep_original_payload),
     .default_text = "false",
     .help = "the original file in a profile is kept, in which nothing is masked"},
    {.name = NULL},
};

// --- settings ---

static void check_patterns(const struct component_check *check, const char *key, const struct config_strings *list)
{
    struct regex_list patterns;
    struct err e;
    if (regex_list_init(&patterns, list, &e) != ERR_OK)
        check_error(check, key, "%s", e.text);
    regex_list_fini(&patterns);
}

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct redaction_settings *s = settings;
    const bool hmac = s->hash_function == MASK_HMAC_SHA256 || s->hash_function == MASK_HMAC_SHA512;
    check_patterns(check, "ignored_key_patterns", &s->ignored_key_patterns);
    check_patterns(check, "blocked_key_patterns", &s->blocked_key_patterns);
    check_patterns(check, "blocked_values", &s->blocked_values);
    check_patterns(check, "allowed_values", &s->allowed_values);
    check_patterns(check, "blocked_function_names", &s->blocked_function_names);
    check_patterns(check, "blocked_file_paths", &s->blocked_file_paths);
    if (hmac && (s->hmac_key == NULL || s->hmac_key[0] == '\0'))
        check_error(check, "hash_function", "%s needs `hmac_key`", mask_hash_names[s->hash_function]);
    if (!hmac && s->hmac_key != NULL)
        check_error(check, "hmac_key", "has no meaning unless hash_function is hmac-sha256 or hmac-sha512");
    if (s->allow_all_keys && s->allowed_keys.count > 0)
        check_error(check, "allowed_keys", "has no meaning beside allow_all_keys: true");
}

static enum err_code create(struct processor *self, const void *settings, struct err *e)
{
    struct redaction *p = (struct redaction *)self;
    const struct redaction_settings *s = settings;
    const struct {
        struct regex_list *to;
        const struct config_strings *from;
    } lists[] = {
        {&p->ignored_key_patterns, &s->ignored_key_patterns},
        {&p->blocked_key_patterns, &s->blocked_key_patterns},
        {&p->blocked_values, &s->blocked_values},
        {&p->allowed_values, &s->allowed_values},
        {&p->blocked_function_names, &s->blocked_function_names},
        {&p->blocked_file_paths, &s->blocked_file_paths},
    };
    p->allow_all_keys = s->allow_all_keys;
    p->redact_all_types = s->redact_all_types;
    p->keep_original_payload = s->keep_original_payload;
    p->allowed_keys = s->allowed_keys;
    p->ignored_keys = s->ignored_keys;
    p->mask = (struct mask){(enum mask_hash)s->hash_function, bytes_from_text(s->hmac_key)};
    p->summary = (enum summary)s->summary;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < COUNT_OF(lists); i++)
        rc = regex_list_init(lists[i].to, lists[i].from, e);
    return rc;
}

static void destroy(struct processor *self)
{
    struct redaction *p = (struct redaction *)self;
    regex_list_fini(&p->ignored_key_patterns);
    regex_list_fini(&p->blocked_key_patterns);
    regex_list_fini(&p->blocked_values);
    regex_list_fini(&p->allowed_values);
    regex_list_fini(&p->blocked_function_names);
    regex_list_fini(&p->blocked_file_paths);
}

static bool is_listed(const struct config_strings *list, struct bytes key)
{
    for (size_t i = 0; i < list->count; i++)
        if (bytes_equal_text(key, list->items[i]))
            return true;
    return false;
}

// --- one list ---

enum { MAX_PRINTED_BYTES = 64 << 20, SUMMARY_ATTRIBUTES = 4 };

struct told { // for the summary
    uint32_t count;
    struct buf keys; // "a,b"
};

struct work {
    const struct redaction *p;
    struct arena texts; // of names and paths, until the end
    struct arena arena; // of the list at hand
    void *in, *out;     // struct unit_attribute[]
    size_t in_capacity, out_capacity;
    uint32_t count;
    bool changed;
    struct told removed, masked;
};

static void tell(const struct work *w, struct told *t, struct bytes key)
{
    t->count++;
    if (w->p->summary != SUMMARY_DEBUG)
        return;
    if (t->keys.len > 0)
        buf_add_byte(&t->keys, ',');
    buf_add(&t->keys, key.data, key.len);
}

static void put_masked(struct work *w, struct unit_attribute *a, struct bytes text)
{
    const struct value v = value_string(text);
    tell(w, &w->masked, a->key);
    w->changed |= !value_equal(&a->value, &v);
    a->value = v;
}

static enum err_code value_as_text(struct work *w, const struct value *v, struct bytes *out, struct err *e)
{
    struct buf text;
    *out = v->bytes;
    if (v->kind == VALUE_STRING)
        return ERR_OK;
    buf_init(&text, MAX_PRINTED_BYTES);
    value_print(&text, v);
    bool ok = buf_ok(&text) && arena_try_copy(&w->arena, buf_bytes(&text), out);
    buf_fini(&text);
    return ok ? ERR_OK : attribute_no_memory(e);
}

static enum err_code mask_attribute(struct work *w, struct unit_attribute *a, struct err *e)
{
    const struct redaction *p = w->p;
    const bool whole = regex_list_finds(&p->blocked_key_patterns, a->key);
    struct bytes text;
    bool found;
    if (!whole && a->value.kind != VALUE_STRING && !p->redact_all_types)
        return ERR_OK;
    enum err_code rc = value_as_text(w, &a->value, &text, e);
    if (rc == ERR_OK && whole) {
        rc = mask_whole(&p->mask, &w->arena, text, &text, e);
        if (rc == ERR_OK)
            put_masked(w, a, text);
        return rc;
    }
    if (rc != ERR_OK || regex_list_finds(&p->allowed_values, text))
        return rc;
    rc = mask_finds(&p->mask, &p->blocked_values, &w->arena, &text, &found, e);
    if (rc == ERR_OK && found)
        put_masked(w, a, text);
    return rc;
}

static bool is_ignored(const struct redaction *p, struct bytes key)
{
    return is_listed(&p->ignored_keys, key) || regex_list_finds(&p->ignored_key_patterns, key);
}

static void put_summary(struct work *w, const char *key, struct value v)
{
    struct unit_attribute *out = w->out;
    const struct unit_attribute new = {.key = bytes_from_text(key), .value = v};
    uint32_t i = 0;
    while (i < w->count && !bytes_equal(out[i].key, new.key))
        i++;
    out[i] = new;
    w->count += i == w->count;
    w->changed = true;
}

static enum err_code summarize(struct work *w, const struct told *t, const char *count_key, const char *keys_key,
                               struct err *e)
{
    struct bytes keys;
    if (t->count == 0 || w->p->summary == SUMMARY_SILENT)
        return ERR_OK;
    if (!buf_ok(&t->keys) || !arena_try_copy(&w->arena, buf_bytes(&t->keys), &keys))
        return attribute_no_memory(e);
    if (w->p->summary == SUMMARY_DEBUG)
        put_summary(w, keys_key, value_string(keys));
    put_summary(w, count_key, value_int(t->count));
    return ERR_OK;
}

static enum err_code begin_list(struct work *w, uint32_t count, struct err *e)
{
    arena_fini(&w->arena);
    buf_clear(&w->removed.keys);
    buf_clear(&w->masked.keys);
    w->removed.count = w->masked.count = w->count = 0;
    w->changed = false;
    return mem_try_grow(&w->out, &w->out_capacity, (size_t)count + SUMMARY_ATTRIBUTES, sizeof(struct unit_attribute),
                        SIZE_MAX)
               ? ERR_OK
               : attribute_no_memory(e);
}

// What becomes of the list is in w->out if w->changed. Of code nothing is removed: build ids are needed for symbols.
static enum err_code redact(struct work *w, bool of_code, const struct unit_attribute *list, uint32_t count,
                            struct err *e)
{
    const struct redaction *p = w->p;
    enum err_code rc = begin_list(w, count, e);
    for (uint32_t i = 0; rc == ERR_OK && i < count; i++) {
        const bool ignored = is_ignored(p, list[i].key);
        struct unit_attribute *to = &((struct unit_attribute *)w->out)[w->count];
        if (!ignored && !of_code && !p->allow_all_keys && !is_listed(&p->allowed_keys, list[i].key)) {
            tell(w, &w->removed, list[i].key);
            w->changed = true;
            continue;
        }
        *to = list[i];
        w->count++;
        if (!ignored)
            rc = mask_attribute(w, to, e);
    }
    if (rc == ERR_OK && !of_code)
        rc = summarize(w, &w->removed, "redaction.redacted.count", "redaction.redacted.keys", e);
    if (rc == ERR_OK && !of_code)
        rc = summarize(w, &w->masked, "redaction.masked.count", "redaction.masked.keys", e);
    return rc;
}

// --- a batch ---

static enum err_code redact_part(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part,
                                 struct err *e)
{
    struct work *w = arg;
    (void)resource;
    (void)scope;
    if (!mem_try_grow(&w->in, &w->in_capacity, (size_t)part->count + 1, sizeof(struct unit_attribute), SIZE_MAX))
        return attribute_no_memory(e);
    struct unit_attribute *in = w->in;
    for (uint32_t i = 0; i < part->count; i++)
        in[i] = (struct unit_attribute){.key = part->list[i].key, .value = part->list[i].value};
    enum err_code rc = redact(w, false, in, part->count, e);
    if (rc != ERR_OK || !w->changed)
        return rc;
    struct key_value *list = arena_try_alloc(&w->arena, w->count * sizeof *list);
    if (list == NULL)
        return attribute_no_memory(e);
    const struct unit_attribute *out = w->out;
    for (uint32_t i = 0; i < w->count; i++)
        list[i] = (struct key_value){out[i].key, out[i].value};
    part->list = list;
    part->count = w->count;
    return ERR_OK;
}

static enum err_code redact_set(void *arg, bool of_code, const struct unit_attribute *list, uint32_t count,
                                const struct unit_attribute **out, uint32_t *count_out, struct err *e)
{
    struct work *w = arg;
    enum err_code rc = redact(w, of_code, list, count, e);
    if (rc != ERR_OK || !w->changed)
        return rc;
    *out = w->out;
    *count_out = w->count;
    return ERR_OK;
}

static enum err_code redact_name(void *arg, struct bytes *text, struct err *e)
{
    struct work *w = arg;
    bool found;
    return mask_finds(&w->p->mask, &w->p->blocked_function_names, &w->texts, text, &found, e);
}

static enum err_code redact_path(void *arg, struct bytes *text, struct err *e)
{
    struct work *w = arg;
    bool found;
    return mask_finds(&w->p->mask, &w->p->blocked_file_paths, &w->texts, text, &found, e);
}

static bool forget_payload(void *arg, struct profile *p)
{
    (void)arg;
    const bool had = p->original_payload_format.len != 0 || p->original_payload.len != 0;
    p->original_payload = p->original_payload_format = (struct bytes){NULL, 0};
    return had;
}

static enum err_code redact_batch(struct work *w, struct batch **b, struct err *e)
{
    const struct redaction *p = w->p;
    const struct dictionary_rewrite rewrite = {
        .function_name = p->blocked_function_names.count > 0 ? redact_name : NULL,
        .file_path = p->blocked_file_paths.count > 0 ? redact_path : NULL,
        .attributes = redact_set,
        .arg = w,
    };
    enum err_code rc = batch_change_part_attributes(b, &(struct part_attributes_change){false, redact_part, w}, e);
    if (rc == ERR_OK)
        rc = batch_change_part_attributes(b, &(struct part_attributes_change){true, redact_part, w}, e);
    if (rc == ERR_OK)
        rc = batch_rewrite_dictionary(b, &rewrite, e);
    if (rc == ERR_OK && !p->keep_original_payload)
        rc = batch_change_profiles(b, forget_payload, NULL, e);
    return rc;
}

static void work_fini(struct work *w)
{
    free(w->in);
    free(w->out);
    buf_fini(&w->removed.keys);
    buf_fini(&w->masked.keys);
    arena_fini(&w->arena);
    arena_fini(&w->texts);
}

static enum err_code process(struct processor *self, struct batch **batch, const struct sender *from, struct err *e)
{
    (void)from;
    struct work w = {.p = (const struct redaction *)self};
    struct batch *b = batch_ref(*batch);
    arena_init(&w.texts, 0);
    arena_init(&w.arena, 0);
    buf_init(&w.removed.keys, MAX_PRINTED_BYTES);
    buf_init(&w.masked.keys, MAX_PRINTED_BYTES);
    enum err_code rc = redact_batch(&w, &b, e);
    work_fini(&w);
    if (rc != ERR_OK) {
        batch_unref(&b);
        return rc;
    }
    batch_unref(batch);
    *batch = b;
    return ERR_OK;
}

const struct processor_module redaction_processor = {
    .module =
        {
            .type = "redaction",
            .help = "Removes attributes that are not allowed; masks values, file paths and names of functions.",
            .settings_size = sizeof(struct redaction_settings),
            .instance_size = sizeof(struct redaction),
            .fields = redaction_fields,
            .check = check_settings,
        },
    .create = create,
    .process = process,
    .destroy = destroy,
};
