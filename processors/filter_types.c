// SPDX-License-Identifier: Apache-2.0
#include "processors/filter_types.h"

#include "base/mem.h"
#include "processors/text_pattern.h"

#define TYPE_SETTING(member) offsetof(struct type_settings, member)

const struct field type_fields[] = {
    {.name = "match_type",
     .type = FIELD_ENUM,
     .offset = TYPE_SETTING(match_type),
     .default_text = "strict",
     .names = text_pattern_types,
     .help = "strict: equal to the type, or to type/unit; regexp: an expression (RE2) is found in type/unit"},
    {.name = "include",
     .type = FIELD_STRING_LIST,
     .offset = TYPE_SETTING(include),
     .help = "profiles of other sample types are dropped"},
    {.name = "exclude",
     .type = FIELD_STRING_LIST,
     .offset = TYPE_SETTING(exclude),
     .help = "profiles of these sample types are dropped"},
    {.name = NULL},
};

static enum err_code make_patterns(const struct config_strings *from, int type, struct pattern_list *out, struct err *e)
{
    enum err_code rc = ERR_OK;
    if (from->count > 0)
        out->items = mem_alloc(from->count * sizeof *out->items);
    while (rc == ERR_OK && out->count < from->count) {
        rc = text_pattern_init(type, from->items[out->count], &out->items[out->count], e);
        out->count++;
    }
    return rc;
}

static void drop_patterns(struct pattern_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        text_pattern_fini(&list->items[i]);
    free(list->items);
    *list = (struct pattern_list){0};
}

enum err_code type_rules_init(const struct type_settings *s, struct type_rules *out, struct err *e)
{
    *out = (struct type_rules){0};
    enum err_code rc = make_patterns(&s->include, s->match_type, &out->include, e);
    return rc == ERR_OK ? make_patterns(&s->exclude, s->match_type, &out->exclude, e) : rc;
}

void type_rules_fini(struct type_rules *r)
{
    drop_patterns(&r->include);
    drop_patterns(&r->exclude);
}

bool type_rules_any(const struct type_rules *r)
{
    return r->include.count + r->exclude.count > 0;
}

static void check_types(const struct component_check *check, const char *key, const struct config_strings *list,
                        int type)
{
    struct pattern_list patterns = {0};
    struct err e;
    if (make_patterns(list, type, &patterns, &e) != ERR_OK)
        check_error(check, key, "%s", e.text);
    drop_patterns(&patterns);
}

void type_rules_check(const struct component_check *check, const struct type_settings *s)
{
    check_types(check, "sample_types.include", &s->include, s->match_type);
    check_types(check, "sample_types.exclude", &s->exclude, s->match_type);
}

// --- work ---

// Of a longer type or unit an expression sees the beginning, so that profiles cannot have the same long text searched.
enum { MAX_TYPE_BYTES = 1024 };

// "type/unit"
struct type_text {
    struct bytes type, unit;
    uint8_t whole[2 * MAX_TYPE_BYTES + 1];
    size_t whole_len;
};

static void add_part(struct type_text *t, struct bytes part)
{
    const size_t len = part.len < MAX_TYPE_BYTES ? part.len : MAX_TYPE_BYTES;
    if (len > 0)
        memcpy(t->whole + t->whole_len, part.data, len);
    t->whole_len += len;
}

static void make_type(struct type_text *t, struct bytes type, struct bytes unit)
{
    t->type = type;
    t->unit = unit;
    t->whole_len = 0;
    add_part(t, type);
    t->whole[t->whole_len++] = '/';
    add_part(t, unit);
}

static bool pattern_takes_type(const struct text_pattern *p, const struct type_text *t)
{
    const struct bytes whole = {t->whole, t->whole_len};
    if (p->regex != NULL)
        return text_pattern_takes(p, whole);
    return text_pattern_takes(p, t->type) ||
           (t->type.len + 1 + t->unit.len == whole.len && text_pattern_takes(p, whole));
}

static bool takes_type(const struct pattern_list *list, const struct type_text *t)
{
    for (size_t i = 0; i < list->count; i++)
        if (pattern_takes_type(&list->items[i], t))
            return true;
    return false;
}

bool type_rules_keep(const struct type_rules *r, struct bytes type, struct bytes unit)
{
    struct type_text t;
    if (!type_rules_any(r))
        return true;
    make_type(&t, type, unit);
    return (r->include.count == 0 || takes_type(&r->include, &t)) && !takes_type(&r->exclude, &t);
}
