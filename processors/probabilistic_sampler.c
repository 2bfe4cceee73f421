// SPDX-License-Identifier: Apache-2.0
// The Collector's `probabilistic_sampler`, for profiles: a part of them goes on, chosen by what they are, so that every
// instance and every try chooses the same. What one file or recording measured stays together.
#include "base/hash.h"
#include "base/mem.h"
#include "processors/attribute_actions.h"
#include "processors/processors.h"
#include "processors/sampler_budget.h"
#include "profile/merge.h"

enum source { SOURCE_PROFILE, SOURCE_RECORD };

struct service_settings {
    const char *name;
    double percentage;
};

struct budget_settings {
    int64_t profiles, interval;
};

struct sampler_settings {
    double percentage;
    int64_t hash_seed;
    int source; // enum source
    const char *from_attribute, *sampling_priority;
    bool fail_closed;
    struct config_structs services;
    struct budget_settings budget;
};

struct sampler {
    struct processor processor;
    struct sampler_settings settings; // texts and lists are the configuration's
    struct sampler_budget budget;
};

static const char *const source_names[] = {[SOURCE_PROFILE] = "profile", [SOURCE_RECORD] = "record", NULL};

#define SETTING(member) offsetof(struct sampler_settings, member)

static const struct field service_fields[] = {
    {.name = "name",
     .type = FIELD_STRING,
     .offset = offsetof(struct service_settings, name),
     .required = true,
     .help = "service.name"},
    {.name = "sampling_percentage",
     .type = FIELD_DOUBLE,
     .offset = offsetof(struct service_settings, percentage),
     .required = true,
     .max = 100,
     .unit = "percent",
     .help = "of its profiles"},
    {.name = NULL},
};

static const struct field budget_fields[] = {
    {.name = "profiles",
     .type = FIELD_INT,
     .offset = offsetof(struct budget_settings, profiles),
     .default_text = "0",
     .max = 1e9,
     .unit = "profiles",
     .help = "that one service may send in an interval; 0 = as many as it likes"},
    {.name = "interval",
     .type = FIELD_DURATION,
     .offset = offsetof(struct budget_settings, interval),
     .default_text = "1m",
     .min = 1e9,
     .max = 24 * 3600e9,
     .help = "for which the number holds"},
    {.name = NULL},
};

static const struct field sampler_fields[] = {
    {.name = "sampling_percentage",
     .type = FIELD_DOUBLE,
     .offset = SETTING(percentage),
     .default_text = "100",
     .max = 100,
     .unit = "percent",
     .help = "of profiles that go on"},
    {.name = "hash_seed",
     .type = FIELD_INT,
     .offset = SETTING(hash_seed),
     .default_text = "0",
     .max = 4294967295,
     .help = "another one chooses others; equal where instances are to choose the same"},
    {.name = "attribute_source",
     .type = FIELD_ENUM,
     .offset = SETTING(source),
     .default_text = "profile",
     .names = source_names,
     .help = "what chooses: profile: its id, or its resource and time; record: the attribute from_attribute"},
    {.name = "from_attribute",
     .type = FIELD_STRING,
     .offset = SETTING(from_attribute),
     .help = "of the profile or else its resource: profiles with equal values go on together"},
    {.name = "sampling_priority",
     .type = FIELD_STRING,
     .offset = SETTING(sampling_priority),
     .help = "attribute of the profile or else its resource: a number that is the percentage of this one"},
    {.name = "fail_closed",
     .type = FIELD_BOOL,
     .offset = SETTING(fail_closed),
     .default_text = "true",
     .help = "a profile without from_attribute is dropped"},
    {.name = "mode", .type = FIELD_IGNORED, .help = "how traces carry the percentage on"},
    {.name = "sampling_precision", .type = FIELD_IGNORED, .help = "of what traces carry on"},
    {.name = "services",
     .type = FIELD_STRUCT_LIST,
     .offset = SETTING(services),
     .fields = service_fields,
     .struct_size = sizeof(struct service_settings),
     .help = "services with a percentage of their own"},
    {.name = "budget",
     .type = FIELD_STRUCT,
     .offset = SETTING(budget),
     .fields = budget_fields,
     .help = "of each service, for what the percentage lets through"},
    {.name = NULL},
};

// --- settings ---

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct sampler_settings *s = settings;
    const bool from = s->from_attribute != NULL && s->from_attribute[0] != '\0';
    if (s->source == SOURCE_RECORD && !from)
        check_error(check, "attribute_source", "record needs `from_attribute`");
    if (s->source != SOURCE_RECORD && s->from_attribute != NULL)
        check_error(check, "from_attribute", "has no meaning unless attribute_source is record");
    const struct service_settings *services = s->services.items;
    for (size_t i = 0; i < s->services.count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(services[i].name, services[k].name) == 0)
                check_error(check, "services", "\"%s\" is there twice", services[i].name);
}

static enum err_code create(struct processor *self, const void *settings, struct err *e)
{
    struct sampler *p = (struct sampler *)self;
    (void)e;
    p->settings = *(const struct sampler_settings *)settings;
    sampler_budget_init(&p->budget, (uint64_t)p->settings.budget.profiles, p->settings.budget.interval);
    return ERR_OK;
}

static void destroy(struct processor *self)
{
    sampler_budget_fini(&((struct sampler *)self)->budget);
}

// --- one profile ---

enum { MAX_KEY_BYTES = 64 << 20 };

// A place among all profiles, 0 to 1, the same on every machine.
struct place {
    bool known;
    double at;
};

// What counts of the resource at hand, looked up once for all of its profiles.
struct of_resource {
    uint32_t resource;                   // counted from 1
    uint64_t service;                    // hash of its name
    double percentage;                   // without regard to sampling_priority
    const struct value *from, *priority; // its attributes, NULL = none
    struct hash128 attributes;
    bool hashed;
    struct place place; // by `from`
};

struct choice {
    struct sampler *p;
    const struct columns *last; // sample types of one file are chosen once
    bool last_kept;
    struct of_resource r;
    struct place *places; // by attribute: of from_attribute of profiles
    struct buf key;
    bool failed;
};

// An attribute of the profile, 0 = it has none.
static uint32_t find(const struct dictionary *d, const struct profile *p, const char *name)
{
    const struct batch_range set = d->attribute_sets[p->attribute_set];
    const struct bytes key = bytes_from_text(name);
    for (uint32_t i = 0; i < set.count; i++) {
        const uint32_t id = d->set_attributes[set.start + i];
        if (bytes_equal(d->strings[d->attributes[id].key], key))
            return id;
    }
    return 0;
}

static const struct value *find_in_resource(const struct resource *r, const char *name)
{
    const struct key_value *found =
        name == NULL ? NULL : key_values_find(r->attributes, r->attribute_count, bytes_from_text(name));
    return found == NULL ? NULL : &found->value;
}

static struct bytes service_of(const struct resource *r)
{
    const struct key_value *name = key_values_find(r->attributes, r->attribute_count, BYTES_LITERAL("service.name"));
    return name != NULL && name->value.kind == VALUE_STRING ? name->value.bytes : (struct bytes){NULL, 0};
}

static double percentage_of_service(const struct sampler_settings *s, struct bytes service)
{
    const struct service_settings *services = s->services.items;
    for (size_t i = 0; i < s->services.count; i++)
        if (bytes_equal_text(service, services[i].name))
            return services[i].percentage;
    return s->percentage;
}

static void enter_resource(struct choice *c, const struct batch *b, uint32_t resource)
{
    const struct sampler_settings *s = &c->p->settings;
    const struct resource *r = b->resources[resource];
    const struct bytes service = service_of(r);
    if (c->r.resource == resource + 1)
        return;
    c->r = (struct of_resource){
        .resource = resource + 1,
        .service = hash_bytes(service.data, service.len),
        .percentage = percentage_of_service(s, service),
        .from = s->source == SOURCE_RECORD ? find_in_resource(r, s->from_attribute) : NULL,
        .priority = find_in_resource(r, s->sampling_priority),
    };
}

static double percentage_of(const struct choice *c, const struct dictionary *d, const struct profile *p)
{
    const char *name = c->p->settings.sampling_priority;
    const uint32_t own = name == NULL ? 0 : find(d, p, name);
    const struct value *priority = own != 0 ? &d->attributes[own].value : c->r.priority;
    if (priority != NULL && priority->kind == VALUE_INT)
        return (double)priority->integer;
    if (priority != NULL && priority->kind == VALUE_DOUBLE)
        return priority->number;
    return c->r.percentage;
}

static void add_word(struct buf *out, uint64_t word)
{
    for (int i = 0; i < 8; i++)
        buf_add_byte(out, (uint8_t)(word >> 8 * i));
}

static void begin_key(struct choice *c)
{
    buf_clear(&c->key);
    add_word(&c->key, (uint64_t)c->p->settings.hash_seed);
}

static double finish_key(struct choice *c)
{
    c->failed |= !buf_ok(&c->key);
    return c->failed ? 0 : (double)(hash_content(c->key.data, c->key.len).low >> 11) * 0x1p-53;
}

static double place_of_value(struct choice *c, const struct value *v, struct place *known)
{
    if (!known->known) {
        begin_key(c);
        value_print(&c->key, v);
        *known = (struct place){true, finish_key(c)};
    }
    return known->at;
}

static void hash_resource(struct choice *c, const struct resource *r)
{
    buf_clear(&c->key);
    for (uint32_t i = 0; i < r->attribute_count; i++) {
        buf_add(&c->key, r->attributes[i].key.data, r->attributes[i].key.len);
        buf_add_byte(&c->key, 0);
        value_print(&c->key, &r->attributes[i].value);
        buf_add_byte(&c->key, 0);
    }
    c->failed |= !buf_ok(&c->key);
    c->r.hashed = true;
    if (!c->failed)
        c->r.attributes = hash_content(c->key.data, c->key.len);
}

static double place_of_origin(struct choice *c, const struct resource *r, const struct profile *p)
{
    if (!c->r.hashed)
        hash_resource(c, r);
    begin_key(c);
    add_word(&c->key, p->time_nanos);
    add_word(&c->key, p->duration_nanos);
    add_word(&c->key, p->columns->sample_count);
    add_word(&c->key, c->r.attributes.low);
    add_word(&c->key, c->r.attributes.high);
    return finish_key(c);
}

// False if there is nothing to choose by.
static bool place_of(struct choice *c, const struct batch *b, const struct resource *r, const struct profile *p,
                     double *out)
{
    const struct sampler_settings *s = &c->p->settings;
    const uint32_t own = s->source == SOURCE_RECORD ? find(b->dictionary, p, s->from_attribute) : 0;
    if (own != 0) {
        *out = place_of_value(c, &b->dictionary->attributes[own].value, &c->places[own]);
    } else if (s->source == SOURCE_RECORD) {
        if (c->r.from == NULL)
            return false;
        *out = place_of_value(c, c->r.from, &c->r.place);
    } else if (p->has_profile_id) {
        begin_key(c);
        buf_add(&c->key, p->profile_id, sizeof p->profile_id);
        *out = finish_key(c);
    } else {
        *out = place_of_origin(c, r, p);
    }
    return true;
}

static bool chooses(struct choice *c, const struct batch *b, const struct resource *r, const struct profile *profile)
{
    struct sampler *p = c->p;
    double place;
    if (!place_of(c, b, r, profile, &place))
        return !p->settings.fail_closed;
    const double part = percentage_of(c, b->dictionary, profile) / 100;
    if (c->failed || !(place < part))
        return c->failed;
    // Those that are left are evenly spread below `part`.
    return p->budget.profiles == 0 ||
           sampler_budget_takes(&p->budget, c->r.service, clock_monotonic_nanos(p->processor.component.env->clock),
                                part < 1 ? place / part : place);
}

static bool keep(void *arg, const struct batch *b, struct profile_position at)
{
    struct choice *c = arg;
    const struct resource *r = b->resources[at.resource];
    const struct profile *p = &r->scopes[at.scope]->profiles[at.profile];
    if (c->failed)
        return true;
    enter_resource(c, b, at.resource);
    if (at.profile == 0 || p->columns != c->last)
        c->last_kept = chooses(c, b, r, p);
    c->last = p->columns;
    return c->last_kept;
}

static bool begin_choice(struct choice *c, struct sampler *p, const struct dictionary *d)
{
    const uint32_t count = p->settings.source == SOURCE_RECORD ? d->attribute_count : 0;
    *c = (struct choice){.p = p, .places = mem_try_array(count, sizeof *c->places)};
    buf_init(&c->key, MAX_KEY_BYTES);
    for (uint32_t i = 0; c->places != NULL && i < count; i++)
        c->places[i].known = false;
    return c->places != NULL;
}

static enum err_code process(struct processor *self, struct batch **batch, const struct sender *from, struct err *e)
{
    (void)from;
    struct choice c;
    struct batch *selected = NULL;
    bool ok = begin_choice(&c, (struct sampler *)self, (*batch)->dictionary);
    enum err_code rc = ok ? batch_select_profiles(*batch, keep, &c, &selected, e) : attribute_no_memory(e);
    buf_fini(&c.key);
    free(c.places);
    if (rc == ERR_OK && c.failed)
        rc = attribute_no_memory(e);
    if (rc != ERR_OK) {
        batch_unref(&selected);
        return rc;
    }
    batch_unref(batch);
    *batch = selected;
    return ERR_OK;
}

const struct processor_module probabilistic_sampler_processor = {
    .module =
        {
            .type = "probabilistic_sampler",
            .help = "Lets a part of the profiles go on, the same part everywhere.",
            .settings_size = sizeof(struct sampler_settings),
            .instance_size = sizeof(struct sampler),
            .fields = sampler_fields,
            .check = check_settings,
        },
    .create = create,
    .process = process,
    .destroy = destroy,
};
