// SPDX-License-Identifier: Apache-2.0
#include "processors/attribute_matcher.h"

#include "base/mem.h"
#include "pipeline/attributes.h"
#include "processors/text_pattern.h"

#include <inttypes.h>
#include <stdio.h>

struct attribute_settings {
    const char *key;
    struct config_any value;
};

struct library_settings {
    const char *name, *version;
};

static const struct field attribute_fields[] = {
    {.name = "key",
     .type = FIELD_STRING,
     .offset = offsetof(struct attribute_settings, key),
     .required = true,
     .help = "the attribute"},
    {.name = "value",
     .type = FIELD_ANY,
     .offset = offsetof(struct attribute_settings, value),
     .help = "its value, or an expression; without it the attribute need only be there"},
    {.name = NULL},
};

static const struct field library_fields[] = {
    {.name = "name",
     .type = FIELD_STRING,
     .offset = offsetof(struct library_settings, name),
     .required = true,
     .help = "name of the scope"},
    {.name = "version",
     .type = FIELD_STRING,
     .offset = offsetof(struct library_settings, version),
     .help = "its version; without it any"},
    {.name = NULL},
};

#define SETTING(member) offsetof(struct matcher_settings, member)

const struct field matcher_fields[] = {
    {.name = "match_type",
     .type = FIELD_ENUM,
     .offset = SETTING(match_type),
     .required = true,
     .names = text_pattern_types,
     .help = "strict: equal; regexp: an expression (RE2) is found in it"},
    {.name = "services",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(services),
     .help = "service.name is one of these"},
    {.name = "resources",
     .type = FIELD_STRUCT_LIST,
     .offset = SETTING(resources),
     .fields = attribute_fields,
     .struct_size = sizeof(struct attribute_settings),
     .help = "the resource has all of these attributes"},
    {.name = "attributes",
     .type = FIELD_STRUCT_LIST,
     .offset = SETTING(attributes),
     .fields = attribute_fields,
     .struct_size = sizeof(struct attribute_settings),
     .help = "all of these are among the attributes that would be changed"},
    {.name = "libraries",
     .type = FIELD_STRUCT_LIST,
     .offset = SETTING(libraries),
     .fields = library_fields,
     .struct_size = sizeof(struct library_settings),
     .help = "the scope is one of these"},
    {.name = "regexp", .type = FIELD_IGNORED, .help = "a cache is not needed"},
    {.name = NULL},
};

struct attribute_match {
    struct bytes key;
    struct text_pattern text; // of an expression, or any
    bool strict;
    struct value value;
};

struct library_match {
    struct text_pattern name, version;
};

struct attribute_matcher {
    struct arena arena;
    struct text_pattern *services;
    struct attribute_match *resources, *attributes;
    struct library_match *libraries;
    size_t service_count, resource_count, attribute_count, library_count; // how many are made
};

// --- settings ---

static enum err_code make_attribute(struct arena *arena, int type, const struct attribute_settings *s,
                                    struct attribute_match *out, struct err *e)
{
    bool given = s->value.kind != CONFIG_ANY_UNSET;
    *out = (struct attribute_match){.key = bytes_from_text(s->key), .text.any = true};
    if (given && type == TEXT_REGEXP) {
        if (s->value.kind != CONFIG_ANY_STRING)
            return err_set(e, ERR_INVALID, "the value must be a text, because match_type is regexp");
        return text_pattern_init(type, s->value.string, &out->text, e);
    }
    out->strict = given;
    out->value = attribute_value(arena, &s->value);
    return ERR_OK;
}

static enum err_code make_services(struct attribute_matcher *m, const struct matcher_settings *s, struct err *e)
{
    m->services = arena_alloc(&m->arena, s->services.count * sizeof *m->services);
    for (size_t i = 0; i < s->services.count; i++) {
        if (text_pattern_init(s->match_type, s->services.items[i], &m->services[i], e) != ERR_OK) {
            err_prefix(e, "services[%zu]", i);
            return e->code;
        }
        m->service_count++;
    }
    return ERR_OK;
}

static enum err_code make_attributes(struct attribute_matcher *m, int type, const struct config_structs *from,
                                     const char *name, struct attribute_match **out, size_t *count, struct err *e)
{
    const struct attribute_settings *items = from->items;
    *out = arena_alloc(&m->arena, from->count * sizeof **out);
    for (size_t i = 0; i < from->count; i++) {
        if (make_attribute(&m->arena, type, &items[i], &(*out)[i], e) != ERR_OK) {
            err_prefix(e, "%s[%zu]", name, i);
            return e->code;
        }
        ++*count;
    }
    return ERR_OK;
}

static enum err_code make_libraries(struct attribute_matcher *m, const struct matcher_settings *s, struct err *e)
{
    const struct library_settings *items = s->libraries.items;
    m->libraries = arena_alloc(&m->arena, s->libraries.count * sizeof *m->libraries);
    for (size_t i = 0; i < s->libraries.count; i++) {
        struct library_match *l = &m->libraries[m->library_count++]; // counted at once: it may be half made
        if (text_pattern_init(s->match_type, items[i].name, &l->name, e) != ERR_OK ||
            text_pattern_init(s->match_type, items[i].version, &l->version, e) != ERR_OK) {
            err_prefix(e, "libraries[%zu]", i);
            return e->code;
        }
    }
    return ERR_OK;
}

static enum err_code make_all(struct attribute_matcher *m, const struct matcher_settings *s, struct err *e)
{
    enum err_code rc = make_services(m, s, e);
    if (rc == ERR_OK)
        rc = make_attributes(m, s->match_type, &s->resources, "resources", &m->resources, &m->resource_count, e);
    if (rc == ERR_OK)
        rc = make_attributes(m, s->match_type, &s->attributes, "attributes", &m->attributes, &m->attribute_count, e);
    if (rc == ERR_OK)
        rc = make_libraries(m, s, e);
    if (rc == ERR_OK && m->service_count + m->resource_count + m->attribute_count + m->library_count == 0)
        rc = err_set(e, ERR_INVALID, "needs at least one of services, resources, attributes and libraries");
    return rc;
}

enum err_code matcher_create(const struct matcher_settings *s, struct attribute_matcher **out, struct err *e)
{
    *out = NULL;
    if (!s->given)
        return ERR_OK;
    struct attribute_matcher *m = MEM_NEW(struct attribute_matcher);
    arena_init(&m->arena, 0);
    enum err_code rc = make_all(m, s, e);
    if (rc == ERR_OK)
        *out = m;
    else
        matcher_destroy(&m);
    return rc;
}

static void drop_attributes(struct attribute_match *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_pattern_fini(&list[i].text);
}

void matcher_destroy(struct attribute_matcher **m)
{
    struct attribute_matcher *old = *m;
    *m = NULL;
    if (old == NULL)
        return;
    for (size_t i = 0; i < old->service_count; i++)
        text_pattern_fini(&old->services[i]);
    drop_attributes(old->resources, old->resource_count);
    drop_attributes(old->attributes, old->attribute_count);
    for (size_t i = 0; i < old->library_count; i++) {
        text_pattern_fini(&old->libraries[i].name);
        text_pattern_fini(&old->libraries[i].version);
    }
    arena_fini(&old->arena);
    free(old);
}

// --- work ---

bool matcher_names_libraries(const struct attribute_matcher *m)
{
    return m->library_count > 0;
}

enum { NUMBER_TEXT = 40 };

// What an expression is held against; false for lists, maps and bytes, which it never matches.
static bool value_text(const struct value *v, char room[NUMBER_TEXT], struct bytes *out)
{
    *out = v->kind == VALUE_STRING ? v->bytes : (struct bytes){(const uint8_t *)room, 0};
    if (v->kind == VALUE_STRING)
        return true;
    if (v->kind == VALUE_BOOL)
        snprintf(room, NUMBER_TEXT, "%s", v->boolean ? "true" : "false");
    else if (v->kind == VALUE_INT)
        snprintf(room, NUMBER_TEXT, "%" PRId64, v->integer);
    else if (v->kind == VALUE_DOUBLE)
        for (int digits = 1; digits <= 17; digits++) { // the fewest that read back the same
            snprintf(room, NUMBER_TEXT, "%.*g", digits, v->number);
            if (strtod(room, NULL) == v->number)
                break;
        }
    else
        return false;
    *out = bytes_from_text(room);
    return true;
}

static bool takes_value(const struct attribute_match *m, const struct value *v)
{
    char room[NUMBER_TEXT];
    struct bytes text;
    if (m->strict)
        return value_equal(&m->value, v);
    return m->text.any || (value_text(v, room, &text) && text_pattern_takes(&m->text, text));
}

static bool takes_service(const struct attribute_matcher *m, const struct resource *r)
{
    const struct key_value *name = key_values_find(r->attributes, r->attribute_count, BYTES_LITERAL("service.name"));
    bool found = m->service_count == 0;
    for (size_t i = 0; !found && name != NULL && name->value.kind == VALUE_STRING && i < m->service_count; i++)
        found = text_pattern_takes(&m->services[i], name->value.bytes);
    return found;
}

bool matcher_takes_resource(const struct attribute_matcher *m, const struct resource *r)
{
    if (!takes_service(m, r))
        return false;
    for (size_t i = 0; i < m->resource_count; i++) {
        const struct key_value *item = key_values_find(r->attributes, r->attribute_count, m->resources[i].key);
        if (item == NULL || !takes_value(&m->resources[i], &item->value))
            return false;
    }
    return true;
}

bool matcher_takes_scope(const struct attribute_matcher *m, const struct scope *s)
{
    bool found = m->library_count == 0;
    for (size_t i = 0; !found && s != NULL && i < m->library_count; i++)
        found = text_pattern_takes(&m->libraries[i].name, s->name) &&
                text_pattern_takes(&m->libraries[i].version, s->version);
    return found;
}

static bool takes_one(const struct attribute_match *m, const struct unit_attribute *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (bytes_equal(list[i].key, m->key))
            return takes_value(m, &list[i].value);
    return false;
}

bool matcher_takes_list(const struct attribute_matcher *m, const struct unit_attribute *list, uint32_t count)
{
    for (size_t i = 0; i < m->attribute_count; i++)
        if (!takes_one(&m->attributes[i], list, count))
            return false;
    return true;
}

// --- sets ---

enum answer { UNKNOWN, TAKEN, PASSED };

bool matcher_memo_init(struct matcher_memo *memo, const struct attribute_matcher *m, const struct dictionary *d)
{
    const size_t conditions = m == NULL ? 0 : m->attribute_count;
    *memo = (struct matcher_memo){mem_try_array(conditions, d->attribute_count), d->attribute_count};
    if (memo->answers != NULL)
        memset(memo->answers, UNKNOWN, conditions * d->attribute_count);
    return memo->answers != NULL;
}

void matcher_memo_fini(struct matcher_memo *memo)
{
    free(memo->answers);
    memo->answers = NULL;
}

static bool takes_member(const struct attribute_match *m, const struct dictionary *d, struct batch_range set,
                         uint8_t *answers)
{
    for (uint32_t i = 0; i < set.count; i++) {
        const uint32_t id = d->set_attributes[set.start + i];
        if (!bytes_equal(d->strings[d->attributes[id].key], m->key))
            continue;
        if (answers[id] == UNKNOWN)
            answers[id] = takes_value(m, &d->attributes[id].value) ? TAKEN : PASSED;
        return answers[id] == TAKEN;
    }
    return false;
}

bool matcher_takes_set(const struct attribute_matcher *m, const struct dictionary *d, uint32_t set,
                       struct matcher_memo *memo)
{
    for (size_t i = 0; i < m->attribute_count; i++)
        if (!takes_member(&m->attributes[i], d, d->attribute_sets[set], memo->answers + i * memo->attribute_count))
            return false;
    return true;
}
