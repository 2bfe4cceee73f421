// SPDX-License-Identifier: Apache-2.0
// Drops resources, scopes, profiles or samples by their attributes, profiles by their sample type, and frames.
#include "base/mem.h"
#include "processors/attribute_levels.h"
#include "processors/filter_frames.h"
#include "processors/processors.h"
#include "processors/text_pattern.h"
#include "profile/merge.h"
#include "profile/origin.h"

struct type_settings {
    int match_type;
    struct config_strings include, exclude;
};

struct filter_settings {
    int level; // enum attribute_place
    struct matcher_settings include, exclude;
    struct type_settings sample_types;
    struct frame_settings frames;
    struct config_any profiles, profile_conditions;
};

struct pattern_list {
    struct text_pattern *items;
    size_t count;
};

struct filter {
    struct processor processor;
    enum attribute_place level;
    struct attribute_matcher *include, *exclude; // NULL = everything, nothing
    struct pattern_list type_include, type_exclude;
    struct frame_rules *frames; // NULL = none
};

static const char *const level_names[] = {[PLACE_RESOURCE] = "resource",
                                          [PLACE_SCOPE] = "scope",
                                          [PLACE_PROFILE] = "profile",
                                          [PLACE_SAMPLE] = "sample",
                                          NULL};

#define TYPE_SETTING(member) offsetof(struct type_settings, member)
#define SETTING(member) offsetof(struct filter_settings, member)

static const struct field type_fields[] = {
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

static const struct field filter_fields[] = {
    {.name = "level",
     .type = FIELD_ENUM,
     .offset = SETTING(level),
     .default_text = "sample",
     .names = level_names,
     .help = "what include and exclude drop, and whose attributes `attributes` means"},
    {.name = "include",
     .type = FIELD_STRUCT,
     .offset = SETTING(include),
     .present_offset = 1 + SETTING(include.given),
     .fields = matcher_fields,
     .help = "what does not match all of this is dropped"},
    {.name = "exclude",
     .type = FIELD_STRUCT,
     .offset = SETTING(exclude),
     .present_offset = 1 + SETTING(exclude.given),
     .fields = matcher_fields,
     .help = "what matches all of this is dropped"},
    {.name = "sample_types",
     .type = FIELD_STRUCT,
     .offset = SETTING(sample_types),
     .fields = type_fields,
     .help = "profiles by what they measure"},
    {.name = "frames",
     .type = FIELD_STRUCT,
     .offset = SETTING(frames),
     .fields = frame_fields,
     .help = "frames that go out of stacks"},
    {.name = "profile_conditions",
     .type = FIELD_ANY,
     .offset = SETTING(profile_conditions),
     .help = "conditions in OTTL: not yet"},
    {.name = "profiles", .type = FIELD_ANY, .offset = SETTING(profiles), .help = "the older spelling of it: not yet"},
    {.name = "error_mode", .type = FIELD_IGNORED, .help = "there is nothing that could fail"},
    {.name = NULL},
};

// --- settings ---

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

static void check_ottl(const struct component_check *check, const char *key, const struct config_any *any)
{
    if (any->kind != CONFIG_ANY_UNSET)
        check_error(check, key,
                    "conditions in OTTL are not supported yet: write include, exclude, sample_types or frames");
}

static void check_matcher(const struct component_check *check, const char *key, const struct matcher_settings *s,
                          int level)
{
    struct attribute_matcher *m;
    struct err e;
    if (matcher_create(s, &m, &e) != ERR_OK)
        check_error(check, key, "%s", e.text);
    else if (m != NULL && level == PLACE_RESOURCE && matcher_names_libraries(m))
        check_error(check, key, "libraries has no meaning at the level of resources");
    matcher_destroy(&m);
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

static bool does_something(const struct filter_settings *s)
{
    return s->include.given || s->exclude.given || s->sample_types.include.count + s->sample_types.exclude.count > 0 ||
           s->frames.drop.count > 0;
}

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct filter_settings *s = settings;
    const bool ottl = s->profiles.kind != CONFIG_ANY_UNSET || s->profile_conditions.kind != CONFIG_ANY_UNSET;
    struct frame_rules *frames;
    struct err e;
    check_ottl(check, "profiles", &s->profiles);
    check_ottl(check, "profile_conditions", &s->profile_conditions);
    check_matcher(check, "include", &s->include, s->level);
    check_matcher(check, "exclude", &s->exclude, s->level);
    check_types(check, "sample_types.include", &s->sample_types.include, s->sample_types.match_type);
    check_types(check, "sample_types.exclude", &s->sample_types.exclude, s->sample_types.match_type);
    if (frame_rules_create(&s->frames, &frames, &e) != ERR_OK)
        check_error(check, "frames.drop", "%s", e.text);
    frame_rules_destroy(&frames);
    if (!ottl && !does_something(s))
        check_error(check, "", "needs include, exclude, sample_types or frames");
}

static enum err_code create(struct processor *self, const void *settings, struct err *e)
{
    struct filter *p = (struct filter *)self;
    const struct filter_settings *s = settings;
    const struct type_settings *types = &s->sample_types;
    p->level = (enum attribute_place)s->level;
    enum err_code rc = matcher_create(&s->include, &p->include, e);
    if (rc == ERR_OK)
        rc = matcher_create(&s->exclude, &p->exclude, e);
    if (rc == ERR_OK)
        rc = make_patterns(&types->include, types->match_type, &p->type_include, e);
    if (rc == ERR_OK)
        rc = make_patterns(&types->exclude, types->match_type, &p->type_exclude, e);
    if (rc == ERR_OK)
        rc = frame_rules_create(&s->frames, &p->frames, e);
    self->takes_unread =
        p->level == PLACE_RESOURCE && p->type_include.count + p->type_exclude.count == 0 && p->frames == NULL;
    return rc;
}

static void destroy(struct processor *self)
{
    struct filter *p = (struct filter *)self;
    matcher_destroy(&p->include);
    matcher_destroy(&p->exclude);
    drop_patterns(&p->type_include);
    drop_patterns(&p->type_exclude);
    frame_rules_destroy(&p->frames);
}

// --- one list of attributes ---

struct sift {
    const struct filter *p;
    const struct batch *batch;
    // The part at hand, a resource or a scope: whether its samples and profiles can match at all.
    uint32_t resource, scope, part; // parts are counted from 1
    bool included, excluded;
    struct set_decision {
        uint32_t part;
        bool kept;
    } *decisions; // by attribute set
    struct unit_attribute *list;
    size_t list_capacity;
    enum err_code code;
    struct err *e;
};

static void enter(struct sift *s, uint32_t resource, uint32_t scope, bool with_scope)
{
    const struct resource *r = s->batch->resources[resource];
    const struct scope *at = with_scope ? r->scopes[scope] : NULL;
    if (s->part != 0 && s->resource == resource && s->scope == scope)
        return;
    s->resource = resource;
    s->scope = scope;
    s->part++;
    s->included = s->p->include == NULL || matcher_takes_part(s->p->include, r, at);
    s->excluded = s->p->exclude != NULL && matcher_takes_part(s->p->exclude, r, at);
}

static bool keeps(const struct sift *s, const struct unit_attribute *list, uint32_t count)
{
    const struct filter *p = s->p;
    if (!s->included || (p->include != NULL && !matcher_takes_list(p->include, list, count)))
        return false;
    return !(s->excluded && matcher_takes_list(p->exclude, list, count));
}

// After a failure what is asked does not matter any more.
static bool fail_memory(struct sift *s)
{
    s->code = attribute_no_memory(s->e);
    return true;
}

static bool keeps_key_values(struct sift *s, const struct key_value *list, uint32_t count)
{
    void *items = s->list;
    if (!mem_try_grow(&items, &s->list_capacity, (size_t)count + 1, sizeof *s->list, SIZE_MAX))
        return fail_memory(s);
    s->list = items;
    for (uint32_t i = 0; i < count; i++)
        s->list[i] = (struct unit_attribute){.key = list[i].key, .value = list[i].value};
    return keeps(s, s->list, count);
}

static bool keeps_set(struct sift *s, uint32_t set)
{
    struct set_decision *v = &s->decisions[set];
    if (v->part == s->part)
        return v->kept;
    if (!attribute_set_list(s->batch->dictionary, set, &s->list, &s->list_capacity))
        return fail_memory(s);
    *v = (struct set_decision){s->part, keeps(s, s->list, s->batch->dictionary->attribute_sets[set].count)};
    return v->kept;
}

// --- levels ---

static enum err_code keep_resource(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part,
                                   struct err *e)
{
    struct sift *s = arg;
    (void)e;
    enter(s, resource, scope, false);
    part->dropped = !keeps_key_values(s, part->list, part->count);
    return s->code;
}

static bool takes_type(const struct pattern_list *list, struct bytes type, struct bytes whole)
{
    for (size_t i = 0; i < list->count; i++)
        if (text_pattern_takes(&list->items[i], whole) ||
            (list->items[i].regex == NULL && text_pattern_takes(&list->items[i], type)))
            return true;
    return false;
}

static bool keeps_type(struct sift *s, struct value_type type)
{
    const struct pattern_list *include = &s->p->type_include, *exclude = &s->p->type_exclude;
    const struct bytes name = s->batch->dictionary->strings[type.type], unit = s->batch->dictionary->strings[type.unit];
    if (include->count + exclude->count == 0)
        return true;
    struct buf whole;
    buf_init(&whole, name.len + unit.len + 1);
    buf_add(&whole, name.data, name.len);
    buf_add_byte(&whole, '/');
    buf_add(&whole, unit.data, unit.len);
    if (!buf_ok(&whole)) {
        buf_fini(&whole);
        return fail_memory(s);
    }
    bool kept = (include->count == 0 || takes_type(include, name, buf_bytes(&whole))) &&
                !takes_type(exclude, name, buf_bytes(&whole));
    buf_fini(&whole);
    return kept;
}

static bool keep_profile(void *arg, const struct batch *b, struct profile_position at)
{
    struct sift *s = arg;
    const struct scope *scope = b->resources[at.resource]->scopes[at.scope];
    const struct profile *p = &scope->profiles[at.profile];
    if (s->code != ERR_OK)
        return true;
    if (!keeps_type(s, p->sample_type))
        return false;
    enter(s, at.resource, at.scope, true);
    if (s->p->level == PLACE_SCOPE)
        return keeps_key_values(s, scope->attributes, scope->attribute_count);
    if (s->p->level == PLACE_PROFILE)
        return keeps_set(s, p->attribute_set);
    // Samples are asked for later; a profile without any is one with an empty list.
    return s->p->level != PLACE_SAMPLE || p->columns->sample_count > 0 || keeps_set(s, 0);
}

static bool keep_sample(void *arg, const struct batch *b, struct sample_position at)
{
    struct sift *s = arg;
    const struct columns *c = b->resources[at.resource]->scopes[at.scope]->profiles[at.profile].columns;
    if (s->code != ERR_OK)
        return true;
    enter(s, at.resource, at.scope, true);
    return keeps_set(s, c->attribute_sets == NULL ? 0 : c->attribute_sets[at.sample]);
}

// --- the steps ---

static enum err_code sift_init(struct sift *s, const struct filter *p, const struct batch *b, struct err *e)
{
    *s = (struct sift){.p = p, .batch = b, .e = e};
    if (batch_is_unread(b))
        return ERR_OK;
    s->decisions = mem_try_array(b->dictionary->attribute_set_count, sizeof *s->decisions);
    if (s->decisions == NULL)
        return attribute_no_memory(e);
    memset(s->decisions, 0, b->dictionary->attribute_set_count * sizeof *s->decisions);
    return ERR_OK;
}

static enum err_code drop_resources(struct sift *s, struct batch **b)
{
    return batch_change_part_attributes(b, &(struct part_attributes_change){false, keep_resource, s}, s->e);
}

// *b NULL = nothing is left.
static enum err_code put(struct sift *s, struct batch **b, struct batch *selected, enum err_code rc)
{
    if (rc != ERR_OK || s->code != ERR_OK) {
        batch_unref(&selected);
        return rc != ERR_OK ? rc : s->code;
    }
    batch_unref(b);
    *b = selected;
    return ERR_OK;
}

static enum err_code drop_profiles(struct sift *s, struct batch **b)
{
    struct batch *selected;
    enum err_code rc = batch_select_profiles(*b, keep_profile, s, &selected, s->e);
    return put(s, b, selected, rc);
}

static enum err_code drop_samples(struct sift *s, struct batch **b)
{
    struct batch *selected;
    enum err_code rc = batch_select(*b, keep_sample, s, &selected, s->e);
    return put(s, b, selected, rc);
}

typedef enum err_code step_fn(struct sift *s, struct batch **b);

static enum err_code run_step(const struct filter *p, bool wanted, step_fn *step, struct batch **b, struct err *e)
{
    struct sift s;
    if (!wanted || *b == NULL)
        return ERR_OK;
    enum err_code rc = sift_init(&s, p, *b, e);
    if (rc == ERR_OK)
        rc = step(&s, b);
    free(s.decisions);
    free(s.list);
    return rc;
}

static enum err_code run_steps(const struct filter *p, struct batch **b, struct err *e)
{
    const bool matches = p->include != NULL || p->exclude != NULL, resources = p->level == PLACE_RESOURCE;
    const bool types = p->type_include.count + p->type_exclude.count > 0;
    enum err_code rc = run_step(p, matches && resources, drop_resources, b, e);
    if (rc == ERR_OK)
        rc = run_step(p, types || (matches && !resources), drop_profiles, b, e);
    if (rc == ERR_OK)
        rc = run_step(p, matches && p->level == PLACE_SAMPLE, drop_samples, b, e);
    if (rc == ERR_OK && p->frames != NULL && *b != NULL)
        rc = frame_rules_run(p->frames, b, e);
    return rc;
}

static enum err_code process(struct processor *self, struct batch **batch, const struct sender *from, struct err *e)
{
    (void)from;
    struct batch *b = batch_ref(*batch);
    enum err_code rc = run_steps((const struct filter *)self, &b, e);
    if (rc != ERR_OK) {
        batch_unref(&b);
        return rc;
    }
    batch_unref(batch);
    *batch = b;
    return ERR_OK;
}

const struct processor_module filter_processor = {
    .module =
        {
            .type = "filter",
            .help = "Drops resources, scopes, profiles, samples or frames.",
            .settings_size = sizeof(struct filter_settings),
            .instance_size = sizeof(struct filter),
            .fields = filter_fields,
            .check = check_settings,
        },
    .create = create,
    .process = process,
    .destroy = destroy,
};
