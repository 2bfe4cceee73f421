// SPDX-License-Identifier: Apache-2.0
// Drops resources, scopes, profiles or samples by their attributes, profiles by their sample type, and frames.
#include "base/mem.h"
#include "processors/attribute_levels.h"
#include "processors/filter_frames.h"
#include "processors/filter_types.h"
#include "processors/processors.h"
#include "profile/merge.h"
#include "profile/origin.h"

struct filter_settings {
    int level; // enum attribute_place
    struct matcher_settings include, exclude;
    struct type_settings sample_types;
    struct frame_settings frames;
    struct config_any profiles, profile_conditions;
};

struct filter {
    struct processor processor;
    enum attribute_place level;
    struct attribute_matcher *include, *exclude; // NULL = everything, nothing
    struct type_rules types;
    struct frame_rules *frames; // NULL = none
};

#define SETTING(member) offsetof(struct filter_settings, member)

static const struct field filter_fields[] = {
    {.name = "level",
     .type = FIELD_ENUM,
     .offset = SETTING(level),
     .default_text = "sample",
     .names = attribute_place_names,
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

static void check_ottl(const struct component_check *check, const char *key, const struct config_any *any)
{
    if (any->kind != CONFIG_ANY_UNSET)
        check_error(check, key,
                    "conditions in OTTL are not supported yet: write include, exclude, sample_types or frames");
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
    attribute_level_check_matcher(check, "include", &s->include, s->level);
    attribute_level_check_matcher(check, "exclude", &s->exclude, s->level);
    type_rules_check(check, &s->sample_types);
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
    p->level = (enum attribute_place)s->level;
    enum err_code rc = matcher_create(&s->include, &p->include, e);
    if (rc == ERR_OK)
        rc = matcher_create(&s->exclude, &p->exclude, e);
    if (rc == ERR_OK)
        rc = type_rules_init(&s->sample_types, &p->types, e);
    if (rc == ERR_OK)
        rc = frame_rules_create(&s->frames, &p->frames, e);
    self->takes_unread = p->level == PLACE_RESOURCE && !type_rules_any(&p->types) && p->frames == NULL;
    return rc;
}

static void destroy(struct processor *self)
{
    struct filter *p = (struct filter *)self;
    matcher_destroy(&p->include);
    matcher_destroy(&p->exclude);
    type_rules_fini(&p->types);
    frame_rules_destroy(&p->frames);
}

// --- one list of attributes ---

// How include and exclude answer for some attributes.
struct answer {
    bool known, included, excluded;
};

struct sift {
    const struct filter *p;
    const struct batch *batch;
    // The resource and the scope at hand, counted from 1: whether what is in them can match at all.
    uint32_t resource, scope;
    struct answer of_resource, of_scope;
    struct answer of_list; // attributes of the scope
    struct answer *sets;   // by attribute set
    struct matcher_memo include, exclude;
    struct unit_attribute *list;
    size_t list_capacity;
    enum err_code code;
    struct err *e;
};

static void enter_resource(struct sift *s, uint32_t resource)
{
    const struct resource *r = s->batch->resources[resource];
    if (s->resource == resource + 1)
        return;
    s->resource = resource + 1;
    s->scope = 0;
    s->of_resource.included = s->p->include == NULL || matcher_takes_resource(s->p->include, r);
    s->of_resource.excluded = s->p->exclude != NULL && matcher_takes_resource(s->p->exclude, r);
}

static void enter_scope(struct sift *s, uint32_t resource, uint32_t scope)
{
    const struct scope *at = s->batch->resources[resource]->scopes[scope];
    enter_resource(s, resource);
    if (s->scope == scope + 1)
        return;
    s->scope = scope + 1;
    s->of_list.known = false;
    s->of_scope.included = s->of_resource.included && (s->p->include == NULL || matcher_takes_scope(s->p->include, at));
    s->of_scope.excluded = s->of_resource.excluded && matcher_takes_scope(s->p->exclude, at);
}

// After a failure what is asked does not matter any more.
static bool fail_memory(struct sift *s)
{
    s->code = attribute_no_memory(s->e);
    return true;
}

static bool keeps(const struct answer *part, const struct answer *attributes)
{
    return part->included && attributes->included && !(part->excluded && attributes->excluded);
}

static bool answer_key_values(struct sift *s, const struct key_value *list, uint32_t count, struct answer *out)
{
    void *items = s->list;
    if (!mem_try_grow(&items, &s->list_capacity, (size_t)count + 1, sizeof *s->list, SIZE_MAX))
        return !fail_memory(s);
    s->list = items;
    for (uint32_t i = 0; i < count; i++)
        s->list[i] = (struct unit_attribute){.key = list[i].key, .value = list[i].value};
    *out = (struct answer){true, s->p->include == NULL || matcher_takes_list(s->p->include, s->list, count),
                           s->p->exclude != NULL && matcher_takes_list(s->p->exclude, s->list, count)};
    return true;
}

static bool keeps_set(struct sift *s, uint32_t set)
{
    const struct dictionary *d = s->batch->dictionary;
    struct answer *a = &s->sets[set];
    if (!a->known)
        *a = (struct answer){true, s->p->include == NULL || matcher_takes_set(s->p->include, d, set, &s->include),
                             s->p->exclude != NULL && matcher_takes_set(s->p->exclude, d, set, &s->exclude)};
    return keeps(&s->of_scope, a);
}

// --- levels ---

static enum err_code keep_resource(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part,
                                   struct err *e)
{
    struct sift *s = arg;
    struct answer attributes;
    (void)scope;
    (void)e;
    enter_resource(s, resource);
    // Of libraries a resource has none: the settings were checked.
    if (answer_key_values(s, part->list, part->count, &attributes))
        part->dropped = !keeps(&s->of_resource, &attributes);
    return s->code;
}

static bool keeps_scope(struct sift *s, const struct scope *scope)
{
    if (!s->of_list.known && !answer_key_values(s, scope->attributes, scope->attribute_count, &s->of_list))
        return true;
    return keeps(&s->of_scope, &s->of_list);
}

static bool keep_profile(void *arg, const struct batch *b, struct profile_position at)
{
    struct sift *s = arg;
    const struct scope *scope = b->resources[at.resource]->scopes[at.scope];
    const struct profile *p = &scope->profiles[at.profile];
    const struct bytes *strings = b->dictionary->strings;
    if (s->code != ERR_OK)
        return true;
    if (!type_rules_keep(&s->p->types, strings[p->sample_type.type], strings[p->sample_type.unit]))
        return false;
    enter_scope(s, at.resource, at.scope);
    if (s->p->level == PLACE_SCOPE)
        return keeps_scope(s, scope);
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
    enter_scope(s, at.resource, at.scope);
    return keeps_set(s, c->attribute_sets == NULL ? 0 : c->attribute_sets[at.sample]);
}

// --- the steps ---

static bool sift_sets(struct sift *s)
{
    const struct dictionary *d = s->batch->dictionary;
    s->sets = mem_try_array(d->attribute_set_count, sizeof *s->sets);
    if (s->sets == NULL || !matcher_memo_init(&s->include, s->p->include, d) ||
        !matcher_memo_init(&s->exclude, s->p->exclude, d))
        return false;
    memset(s->sets, 0, d->attribute_set_count * sizeof *s->sets);
    return true;
}

static enum err_code sift_init(struct sift *s, const struct filter *p, const struct batch *b, struct err *e)
{
    *s = (struct sift){.p = p, .batch = b, .e = e};
    return p->level == PLACE_RESOURCE || sift_sets(s) ? ERR_OK : attribute_no_memory(e);
}

static void sift_fini(struct sift *s)
{
    free(s->sets);
    free(s->list);
    matcher_memo_fini(&s->include);
    matcher_memo_fini(&s->exclude);
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
    sift_fini(&s);
    return rc;
}

static enum err_code run_steps(const struct filter *p, struct batch **b, struct err *e)
{
    const bool matches = p->include != NULL || p->exclude != NULL, resources = p->level == PLACE_RESOURCE;
    const bool types = type_rules_any(&p->types);
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
