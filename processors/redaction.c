// SPDX-License-Identifier: Apache-2.0
// The Collector's `redaction`, for profiles: attributes that are not allowed go, and what must not be read is masked, in
// attributes, file paths and names of functions.
#include "base/mem.h"
#include "processors/attribute_actions.h"
#include "processors/processors.h"
#include "processors/redaction_rules.h"
#include "profile/merge.h"
#include "profile/origin.h"
#include "profile/rewrite.h"

#include <inttypes.h>

struct redaction_settings {
    bool allow_all_keys, redact_all_types, keep_original_payload;
    struct config_strings allowed_keys, ignored_keys, ignored_key_patterns, blocked_key_patterns, blocked_values,
        allowed_values, blocked_function_names, blocked_file_paths;
    int hash_function; // enum mask_hash
    const char *hmac_key;
    int summary; // enum redaction_summary
};

struct redaction {
    struct processor processor;
    struct redaction_rules rules;
    struct regex_list blocked_function_names, blocked_file_paths;
    bool keep_original_payload;
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
     .help = "blocked_values looks at numbers and the like, too, and at lists and maps as a whole, as text"},
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
     .help = "secret of hmac-sha256 (at least 32 characters) and hmac-sha512 (64)"},
    {.name = "summary",
     .type = FIELD_ENUM,
     .offset = SETTING(summary),
     .default_text = "silent",
     .names = summary_names,
     .help = "attributes redaction.*: info: how many were removed, masked, allowed, ignored; debug: which, too"},
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
    const size_t least = s->hash_function == MASK_HMAC_SHA512 ? 64 : 32,
                 len = hmac && s->hmac_key != NULL ? strlen(s->hmac_key) : 0;
    if (hmac && len == 0)
        check_error(check, "hash_function", "%s needs `hmac_key`", mask_hash_names[s->hash_function]);
    else if (hmac && len < least)
        check_error(check, "hmac_key", "has %zu characters, %s needs at least %zu: a short one can be found out", len,
                    mask_hash_names[s->hash_function], least);
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
        {&p->rules.ignored_key_patterns, &s->ignored_key_patterns},
        {&p->rules.blocked_key_patterns, &s->blocked_key_patterns},
        {&p->rules.blocked_values, &s->blocked_values},
        {&p->rules.allowed_values, &s->allowed_values},
        {&p->blocked_function_names, &s->blocked_function_names},
        {&p->blocked_file_paths, &s->blocked_file_paths},
    };
    p->rules.allow_all_keys = s->allow_all_keys;
    p->rules.redact_all_types = s->redact_all_types;
    p->rules.allowed_keys = &s->allowed_keys;
    p->rules.ignored_keys = &s->ignored_keys;
    p->rules.mask = (struct mask){(enum mask_hash)s->hash_function, bytes_from_text(s->hmac_key)};
    p->rules.summary = (enum redaction_summary)s->summary;
    p->keep_original_payload = s->keep_original_payload;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < COUNT_OF(lists); i++)
        rc = regex_list_init(lists[i].to, lists[i].from, e);
    return rc;
}

static void destroy(struct processor *self)
{
    struct redaction *p = (struct redaction *)self;
    regex_list_fini(&p->rules.ignored_key_patterns);
    regex_list_fini(&p->rules.blocked_key_patterns);
    regex_list_fini(&p->rules.blocked_values);
    regex_list_fini(&p->rules.allowed_values);
    regex_list_fini(&p->blocked_function_names);
    regex_list_fini(&p->blocked_file_paths);
}

// --- a batch ---

struct work {
    const struct redaction *p;
    struct redaction_work w;
    void *list, *notes, *result; // of a resource or scope: struct unit_attribute[], uint8_t[], struct key_value[]
    size_t list_capacity, note_capacity, result_capacity;
    struct unit_attribute added[REDACTION_SUMMARY_MAX];
    uint64_t emptied; // profiles that were nothing but their original file
};

static bool list_room(struct work *w, uint32_t count)
{
    const size_t most = (size_t)count + REDACTION_SUMMARY_MAX;
    return mem_try_grow(&w->list, &w->list_capacity, most, sizeof(struct unit_attribute), SIZE_MAX) &&
           mem_try_grow(&w->notes, &w->note_capacity, most, 1, SIZE_MAX) &&
           mem_try_grow(&w->result, &w->result_capacity, most, sizeof(struct key_value), SIZE_MAX);
}

// What is left of the attributes, in w->result; all, as they were, and their notes for the summary.
static enum err_code judge_list(struct work *w, const struct part_attributes *part, uint32_t *kept_out,
                                bool *changed_out, struct err *e)
{
    struct unit_attribute *list = w->list;
    struct key_value *result = w->result;
    enum err_code rc = ERR_OK;
    *kept_out = 0;
    *changed_out = false;
    for (uint32_t i = 0; rc == ERR_OK && i < part->count; i++) {
        struct value v = part->list[i].value;
        enum redaction_note note;
        bool changed;
        rc = redaction_judge(&w->w, false, redaction_mark(w->w.rules, part->list[i].key), &v, &note, &changed, e);
        list[i] = (struct unit_attribute){.key = part->list[i].key, .value = part->list[i].value};
        ((uint8_t *)w->notes)[i] = (uint8_t)note;
        *changed_out |= changed || note == NOTE_REMOVED;
        if (note != NOTE_REMOVED)
            result[(*kept_out)++] = (struct key_value){part->list[i].key, v};
    }
    return rc;
}

static void put_key_value(struct key_value *list, uint32_t *count, struct key_value new)
{
    uint32_t i = 0;
    while (i < *count && !bytes_equal(list[i].key, new.key))
        i++;
    list[i] = new;
    *count += i == *count;
}

// Often the path of the program that made the profiles.
static enum err_code redact_scope_name(struct work *w, struct bytes *name, struct err *e)
{
    bool found;
    enum err_code rc = redaction_mask_text(&w->w, &w->p->rules.blocked_values, name, &found, e);
    return rc == ERR_OK ? redaction_mask_text(&w->w, &w->p->blocked_file_paths, name, &found, e) : rc;
}

static enum err_code redact_part(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part,
                                 struct err *e)
{
    struct work *w = arg;
    uint32_t kept, added = 0;
    bool changed;
    enum err_code rc = redact_scope_name(w, &part->name, e);
    (void)resource;
    (void)scope;
    if (rc == ERR_OK && !list_room(w, part->count))
        rc = attribute_no_memory(e);
    if (rc == ERR_OK)
        rc = judge_list(w, part, &kept, &changed, e);
    if (rc == ERR_OK)
        rc = redaction_summarize(&w->w, w->list, w->notes, part->count, w->added, &added, e);
    for (uint32_t i = 0; rc == ERR_OK && i < added; i++)
        put_key_value(w->result, &kept, (struct key_value){w->added[i].key, w->added[i].value});
    if (rc == ERR_OK && (changed || added > 0)) {
        part->list = w->result;
        part->count = kept;
    }
    return rc;
}

static uint8_t mark_key(void *arg, struct bytes key)
{
    return redaction_mark(((struct work *)arg)->w.rules, key);
}

static enum err_code judge_attribute(void *arg, bool of_code, uint8_t mark, struct unit_attribute *a,
                                     struct attribute_verdict *verdict, struct err *e)
{
    struct work *w = arg;
    enum redaction_note note;
    enum err_code rc = redaction_judge(&w->w, of_code, mark, &a->value, &note, &verdict->changed, e);
    verdict->removed = note == NOTE_REMOVED;
    verdict->note = (uint8_t)note;
    return rc;
}

static enum err_code tell_of_set(void *arg, const struct unit_attribute *list, const uint8_t *notes, uint32_t count,
                                 const struct unit_attribute **out, uint32_t *count_out, struct err *e)
{
    struct work *w = arg;
    *out = w->added;
    return redaction_summarize(&w->w, list, notes, count, w->added, count_out, e);
}

static enum err_code redact_name(void *arg, struct bytes *text, struct err *e)
{
    struct work *w = arg;
    bool found;
    return redaction_mask_text(&w->w, &w->p->blocked_function_names, text, &found, e);
}

static enum err_code redact_path(void *arg, struct bytes *text, struct err *e)
{
    struct work *w = arg;
    bool found;
    return redaction_mask_text(&w->w, &w->p->blocked_file_paths, text, &found, e);
}

static bool has_payload(const struct profile *p)
{
    return p->original_payload_format.len != 0 || p->original_payload.len != 0;
}

static bool forget_payload(void *arg, struct profile *p)
{
    const bool had = has_payload(p);
    (void)arg;
    p->original_payload = p->original_payload_format = (struct bytes){NULL, 0};
    return had;
}

static bool says_more(void *arg, const struct batch *b, struct profile_position at)
{
    struct work *w = arg;
    const struct profile *p = &b->resources[at.resource]->scopes[at.scope]->profiles[at.profile];
    const bool more = p->columns->sample_count > 0 || !has_payload(p);
    w->emptied += !more;
    return more;
}

// A profile that is its original file alone, a JFR recording say, goes with it. *b NULL = all did.
static enum err_code drop_payloads(struct work *w, struct batch **b, struct err *e)
{
    struct batch *rest;
    enum err_code rc = batch_select_profiles(*b, says_more, w, &rest, e);
    if (rc != ERR_OK)
        return rc;
    batch_unref(b);
    *b = rest;
    return rest == NULL ? ERR_OK : batch_change_profiles(b, forget_payload, NULL, e);
}

static enum err_code redact_batch(struct work *w, struct batch **b, struct err *e)
{
    const struct redaction *p = w->p;
    const struct dictionary_rewrite rewrite = {
        .function_name = p->blocked_function_names.count > 0 ? redact_name : NULL,
        .file_path = p->blocked_file_paths.count > 0 ? redact_path : NULL,
        .key = mark_key,
        .attribute = judge_attribute,
        .added = p->rules.summary == SUMMARY_SILENT ? NULL : tell_of_set,
        .arg = w,
    };
    enum err_code rc = p->keep_original_payload ? ERR_OK : drop_payloads(w, b, e);
    if (rc != ERR_OK || *b == NULL)
        return rc;
    rc = batch_leave_origin(b, e);
    if (rc == ERR_OK)
        rc = batch_change_part_attributes(b, &(struct part_attributes_change){false, redact_part, w}, e);
    if (rc == ERR_OK)
        rc = batch_change_part_attributes(b, &(struct part_attributes_change){true, redact_part, w}, e);
    return rc == ERR_OK ? batch_rewrite_dictionary(b, &rewrite, e) : rc;
}

static void work_fini(struct work *w)
{
    redaction_work_fini(&w->w);
    free(w->list);
    free(w->notes);
    free(w->result);
}

static enum err_code process(struct processor *self, struct batch **batch, const struct sender *from, struct err *e)
{
    (void)from;
    struct redaction *p = (struct redaction *)self;
    struct work w = {.p = p};
    struct batch *b = batch_ref(*batch);
    redaction_work_init(&w.w, &p->rules);
    enum err_code rc = redact_batch(&w, &b, e);
    work_fini(&w);
    if (rc != ERR_OK) {
        batch_unref(&b);
        return rc;
    }
    if (w.emptied > 0)
        log_warn(&self->component.log,
                 "dropped %" PRIu64
                 " profiles that were nothing but an original file (a JFR recording, say), which cannot "
                 "be redacted: keep_original_payload: true lets them through as they are",
                 w.emptied);
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
