// SPDX-License-Identifier: Apache-2.0
#include "processors/relabel_rules.h"

#include "base/mem.h"
#include "base/text.h"
#include "processors/relabel_case.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>

enum { MD5_BYTES = 16, MAX_NUMBER = 24 };

const char *const relabel_action_names[] = {
    [RELABEL_REPLACE] = "replace",     [RELABEL_KEEP] = "keep",           [RELABEL_DROP] = "drop",
    [RELABEL_KEEPEQUAL] = "keepequal", [RELABEL_DROPEQUAL] = "dropequal", [RELABEL_HASHMOD] = "hashmod",
    [RELABEL_LABELMAP] = "labelmap",   [RELABEL_LABELDROP] = "labeldrop", [RELABEL_LABELKEEP] = "labelkeep",
    [RELABEL_LOWERCASE] = "lowercase", [RELABEL_UPPERCASE] = "uppercase", NULL};

enum err_code relabel_no_memory(struct err *e)
{
    return err_set(e, ERR_MEMORY, "out of memory while relabelling");
}

// --- what a rule may say ---

enum key { KEY_SOURCE_LABELS, KEY_SEPARATOR, KEY_REGEX, KEY_MODULUS, KEY_TARGET_LABEL, KEY_REPLACEMENT, KEY_COUNT };

static const char *const key_names[KEY_COUNT] = {"source_labels", "separator",    "regex",
                                                 "modulus",       "target_label", "replacement"};

enum { NEVER = 1, NEEDED = 2 };

// Keys that an action refuses (even where they only say the default: `regex`), and those it cannot do without.
static const struct {
    uint8_t keys[KEY_COUNT];
    const char *only; // what it takes
} action_keys[] = {
    [RELABEL_REPLACE] = {{[KEY_TARGET_LABEL] = NEEDED}, ""},
    [RELABEL_KEEP] = {{0}, ""},
    [RELABEL_DROP] = {{0}, ""},
    [RELABEL_KEEPEQUAL] = {{0, NEVER, NEVER, NEVER, NEEDED, NEVER}, "`source_labels` and `target_label`"},
    [RELABEL_DROPEQUAL] = {{0, NEVER, NEVER, NEVER, NEEDED, NEVER}, "`source_labels` and `target_label`"},
    [RELABEL_HASHMOD] = {{[KEY_TARGET_LABEL] = NEEDED, [KEY_MODULUS] = NEEDED}, ""},
    [RELABEL_LABELMAP] = {{[KEY_REPLACEMENT] = NEEDED}, ""},
    [RELABEL_LABELDROP] = {{NEVER, NEVER, 0, NEVER, NEVER, NEVER}, "`regex`"},
    [RELABEL_LABELKEEP] = {{NEVER, NEVER, 0, NEVER, NEVER, NEVER}, "`regex`"},
    [RELABEL_LOWERCASE] = {{[KEY_TARGET_LABEL] = NEEDED, [KEY_REPLACEMENT] = NEVER},
                           "`source_labels`, `separator` and `target_label`"},
    [RELABEL_UPPERCASE] = {{[KEY_TARGET_LABEL] = NEEDED, [KEY_REPLACEMENT] = NEVER},
                           "`source_labels`, `separator` and `target_label`"},
};

// Does it say something else than the default?
static bool says(const struct relabel_rule_text *t, enum key key)
{
    switch (key) {
    case KEY_SOURCE_LABELS:
        return t->source_count != 0;
    case KEY_SEPARATOR:
        return !bytes_equal_text(t->separator, ";");
    case KEY_REGEX:
        return t->has_regex;
    case KEY_MODULUS:
        return t->modulus != 0;
    case KEY_TARGET_LABEL:
        return t->target_label.len != 0;
    case KEY_REPLACEMENT:
        return !bytes_equal_text(t->replacement, "$1");
    case KEY_COUNT:
        break;
    }
    return false;
}

static bool lacks(const struct relabel_rule_text *t, enum key key)
{
    return key == KEY_REPLACEMENT ? t->replacement.len == 0 : !says(t, key);
}

static enum err_code check_names(const struct relabel_rule_text *t, const char **key_out, struct err *e)
{
    *key_out = "source_labels";
    for (size_t i = 0; i < t->source_count; i++)
        if (t->source_labels[i].len == 0)
            return err_set(e, ERR_INVALID, "the name of a label must not be empty");
    *key_out = "target_label";
    if (!utf8_valid(t->target_label))
        return err_set(e, ERR_INVALID, "the name of a label must be UTF-8");
    *key_out = "replacement";
    if (t->action == RELABEL_LABELMAP && !utf8_valid(t->replacement))
        return err_set(e, ERR_INVALID, "the name of a label must be UTF-8");
    return ERR_OK;
}

enum err_code relabel_rule_check(const struct relabel_rule_text *t, const char **key_out, struct err *e)
{
    const char *action = relabel_action_names[t->action];
    for (enum key key = 0; key < KEY_COUNT; key++) {
        uint8_t rule = action_keys[t->action].keys[key];
        *key_out = key_names[key];
        if (rule == NEVER && says(t, key))
            return err_set(e, ERR_INVALID, "has no meaning for %s, which takes only %s", action,
                           action_keys[t->action].only);
        if (rule == NEEDED && lacks(t, key)) {
            *key_out = "";
            return err_set(e, ERR_INVALID, "%s needs `%s`%s", action, key_names[key],
                           key == KEY_MODULUS ? ", which must not be 0" : "");
        }
    }
    return check_names(t, key_out, e);
}

// --- compiling ---

enum err_code relabel_rule_compile(struct arena *arena, const struct relabel_rule_text *text, struct relabel_rule *out,
                                   const char **key_out, struct err *e)
{
    *out = (struct relabel_rule){.text = *text};
    enum err_code rc = relabel_rule_check(text, key_out, e);
    if (rc != ERR_OK)
        return rc;
    *key_out = "regex";
    rc = relabel_regex_compile(arena, text->has_regex ? text->regex : BYTES_LITERAL("(.*)"), &out->regex, e);
    if (rc != ERR_OK)
        return rc;
    template_parse(arena, text->target_label, &out->regex, &out->target);
    template_parse(arena, text->replacement, &out->regex, &out->replacement);
    if (text->action != RELABEL_HASHMOD)
        return ERR_OK;
    *key_out = "action";
    out->md5 = EVP_MD_fetch(NULL, "MD5", NULL);
    return out->md5 != NULL ? ERR_OK : err_set(e, ERR_UNSUPPORTED, "hashmod needs MD5, which this OpenSSL refuses");
}

void relabel_rule_fini(struct relabel_rule *r)
{
    relabel_regex_fini(&r->regex);
    EVP_MD_free(r->md5);
    r->md5 = NULL;
}

// --- applying ---

void relabel_run_init(struct relabel_run *run)
{
    *run = (struct relabel_run){.kept = true};
    label_list_init(&run->labels);
    arena_init(&run->arena, 0);
}

void relabel_run_fini(struct relabel_run *run)
{
    label_list_fini(&run->labels);
    arena_fini(&run->arena);
    free(run->snapshot);
    run->snapshot = NULL;
}

// The values of the source labels, joined.
static bool source_value(const struct relabel_rule *r, struct relabel_run *run, struct bytes *out)
{
    const struct relabel_rule_text *t = &r->text;
    struct bytes few[16];
    size_t len = 0;
    *out = (struct bytes){NULL, 0};
    if (t->source_count == 1)
        return label_list_get(&run->labels, t->source_labels[0], out);
    if (t->source_count == 0)
        return true;
    struct bytes *values =
        t->source_count <= COUNT_OF(few) ? few : arena_try_alloc(&run->arena, t->source_count * sizeof *values);
    for (size_t i = 0; values != NULL && i < t->source_count; i++) {
        if (!label_list_get(&run->labels, t->source_labels[i], &values[i]))
            return false;
        len += values[i].len + (i > 0 ? t->separator.len : 0);
    }
    uint8_t *text = values == NULL ? NULL : arena_try_alloc(&run->arena, len), *end = text;
    if (text == NULL)
        return false;
    for (size_t i = 0; i < t->source_count; i++) {
        const struct bytes pieces[] = {i > 0 ? t->separator : (struct bytes){NULL, 0}, values[i]};
        for (size_t k = 0; k < COUNT_OF(pieces); k++) {
            if (pieces[k].len != 0)
                memcpy(end, pieces[k].data, pieces[k].len);
            end += pieces[k].len;
        }
    }
    *out = (struct bytes){text, len};
    return true;
}

static enum err_code set(struct relabel_run *run, struct bytes name, struct bytes value, struct err *e)
{
    return label_list_set(&run->labels, name, value) ? ERR_OK : relabel_no_memory(e);
}

static enum err_code replace(const struct relabel_rule *r, struct relabel_run *run, struct bytes value, struct err *e)
{
    struct bytes groups[REGEX_MAX_GROUPS + 1], target, result;
    if (!relabel_regex_match(&r->regex, value, groups))
        return ERR_OK;
    enum err_code rc = template_expand(&r->target, groups, &run->arena, &target, e);
    if (rc != ERR_OK || target.len == 0)
        return rc;
    rc = template_expand(&r->replacement, groups, &run->arena, &result, e);
    return rc == ERR_OK ? set(run, target, result, e) : rc;
}

static enum err_code hashmod(const struct relabel_rule *r, struct relabel_run *run, struct bytes value, struct err *e)
{
    uint8_t digest[MD5_BYTES];
    uint64_t word = 0;
    char text[MAX_NUMBER];
    struct bytes copy;
    if (EVP_Digest(value.data, value.len, digest, NULL, r->md5, NULL) != 1)
        return relabel_no_memory(e);
    for (size_t i = MD5_BYTES / 2; i < MD5_BYTES; i++)
        word = word << 8 | digest[i];
    snprintf(text, sizeof text, "%" PRIu64, word % r->text.modulus);
    return arena_try_copy(&run->arena, bytes_from_text(text), &copy) ? set(run, r->text.target_label, copy, e)
                                                                     : relabel_no_memory(e);
}

static enum err_code change_case(const struct relabel_rule *r, struct relabel_run *run, struct bytes value,
                                 struct err *e)
{
    struct bytes mapped;
    enum letter_case to = r->text.action == RELABEL_LOWERCASE ? CASE_LOWER : CASE_UPPER;
    return case_map(&run->arena, value, to, &mapped) ? set(run, r->text.target_label, mapped, e) : relabel_no_memory(e);
}

// The labels whose names match, as they are before the rule and in its order.
static bool take_snapshot(const struct relabel_rule *r, struct relabel_run *run, size_t *count_out)
{
    const struct label_list *all = &run->labels;
    void *snapshot = run->snapshot;
    size_t count = 0, by_name = 0;
    if (!mem_try_grow(&snapshot, &run->snapshot_capacity, all->count + 1, sizeof *run->snapshot, SIZE_MAX))
        return false;
    run->snapshot = snapshot;
    for (size_t i = 0; i < all->count; i++) {
        if (all->items[i].value.len == 0 || !relabel_regex_matches(&r->regex, all->items[i].name))
            continue;
        by_name += !all->items[i].was_set;
        run->snapshot[count++] = all->items[i];
    }
    labels_sort(run->snapshot, by_name);
    *count_out = count;
    return true;
}

static enum err_code map_labels(const struct relabel_rule *r, struct relabel_run *run, struct err *e)
{
    size_t count = 0;
    struct bytes groups[REGEX_MAX_GROUPS + 1], name;
    enum err_code rc = take_snapshot(r, run, &count) ? ERR_OK : relabel_no_memory(e);
    for (size_t i = 0; rc == ERR_OK && i < count; i++) {
        const struct label *l = &run->snapshot[i];
        CHECK(relabel_regex_match(&r->regex, l->name, groups));
        rc = template_expand(&r->replacement, groups, &run->arena, &name, e);
        if (rc == ERR_OK)
            rc = set(run, name, l->value, e);
    }
    return rc;
}

static void drop_labels(const struct relabel_rule *r, struct relabel_run *run, bool matching)
{
    for (size_t i = 0; i < run->labels.count; i++) {
        struct label *l = &run->labels.items[i];
        if (l->value.len != 0 && relabel_regex_matches(&r->regex, l->name) == matching)
            l->value = (struct bytes){NULL, 0};
    }
}

static bool equals_target(const struct relabel_rule *r, struct relabel_run *run, struct bytes value, bool *equal_out)
{
    struct bytes target;
    bool ok = label_list_get(&run->labels, r->text.target_label, &target);
    *equal_out = bytes_equal(target, value);
    return ok;
}

static enum err_code apply_to_value(const struct relabel_rule *r, struct relabel_run *run, struct bytes value,
                                    struct err *e)
{
    bool equal;
    switch (r->text.action) {
    case RELABEL_KEEP:
    case RELABEL_DROP:
        run->kept = relabel_regex_matches(&r->regex, value) == (r->text.action == RELABEL_KEEP);
        return ERR_OK;
    case RELABEL_KEEPEQUAL:
    case RELABEL_DROPEQUAL:
        if (!equals_target(r, run, value, &equal))
            return relabel_no_memory(e);
        run->kept = equal == (r->text.action == RELABEL_KEEPEQUAL);
        return ERR_OK;
    case RELABEL_HASHMOD:
        return hashmod(r, run, value, e);
    case RELABEL_LOWERCASE:
    case RELABEL_UPPERCASE:
        return change_case(r, run, value, e);
    default:
        return replace(r, run, value, e);
    }
}

enum err_code relabel_rule_apply(const struct relabel_rule *r, struct relabel_run *run, struct err *e)
{
    struct bytes value;
    switch (r->text.action) {
    case RELABEL_LABELMAP:
        return map_labels(r, run, e);
    case RELABEL_LABELDROP:
    case RELABEL_LABELKEEP:
        drop_labels(r, run, r->text.action == RELABEL_LABELDROP);
        return ERR_OK;
    default:
        return source_value(r, run, &value) ? apply_to_value(r, run, value, e) : relabel_no_memory(e);
    }
}
