// SPDX-License-Identifier: Apache-2.0
// So much a second of each service, tenant, or other value of an attribute. Who sends more is told to come again later, and
// the others go on.
#include "base/clean_text.h"
#include "base/hash.h"
#include "base/mem.h"
#include "processors/processors.h"
#include "processors/rate_buckets.h"
#include "profile/edit.h"
#include "profile/origin.h"

#include <pthread.h>

enum { ON_LIMIT_REFUSE, ON_LIMIT_DROP };
enum { MISSING_COUNT, MISSING_PASS };

struct rate_settings {
    uint64_t bytes;
    double profiles, samples;
};

struct value_settings {
    struct rate_settings rates;
    const char *value;
    bool pass;
};

struct limit_settings {
    struct rate_settings rates;
    const char *attribute;
    int64_t burst, most_keys;
    int missing;
    struct config_structs values;
};

struct rate_limit_settings {
    struct config_structs limits;
    int on_limit;
};

static const char *const on_limit_names[] = {[ON_LIMIT_REFUSE] = "refuse", [ON_LIMIT_DROP] = "drop", NULL};
static const char *const missing_names[] = {[MISSING_COUNT] = "count", [MISSING_PASS] = "pass", NULL};

#define RATE_FIELDS(settings_type, of_none)                                                                            \
    {.name = "bytes",                                                                                                  \
     .type = FIELD_SIZE,                                                                                               \
     .offset = offsetof(settings_type, rates.bytes),                                                                   \
     .default_text = "0",                                                                                              \
     .unit = "bytes",                                                                                                  \
     .help = "a second, uncompressed; 0 = " of_none},                                                                  \
        {.name = "profiles",                                                                                           \
         .type = FIELD_DOUBLE,                                                                                         \
         .offset = offsetof(settings_type, rates.profiles),                                                            \
         .default_text = "0",                                                                                          \
         .max = 1e9,                                                                                                   \
         .unit = "profiles",                                                                                           \
         .help = "a second; 0 = " of_none},                                                                            \
    {                                                                                                                  \
        .name = "samples", .type = FIELD_DOUBLE, .offset = offsetof(settings_type, rates.samples),                     \
        .default_text = "0", .max = 1e12, .unit = "samples", .help = "a second; 0 = " of_none                          \
    }

static const struct field value_fields[] = {
    {.name = "value",
     .type = FIELD_STRING,
     .offset = offsetof(struct value_settings, value),
     .required = true,
     .help = "of the attribute"},
    {.name = "pass", .type = FIELD_BOOL, .offset = offsetof(struct value_settings, pass), .help = "without a limit"},
    RATE_FIELDS(struct value_settings, "as for the others"),
    {.name = NULL},
};

static const struct field limit_fields[] = {
    {.name = "attribute",
     .type = FIELD_STRING,
     .offset = offsetof(struct limit_settings, attribute),
     .help = "of resources: each of its values has the limit for itself; not set: all together have it"},
    RATE_FIELDS(struct limit_settings, "no limit"),
    {.name = "burst",
     .type = FIELD_DURATION,
     .offset = offsetof(struct limit_settings, burst),
     .default_text = "10s",
     .min = 1e6,
     .max = 24 * 3600e9,
     .help = "after a silence, what is allowed in so long may come at once"},
    {.name = "missing",
     .type = FIELD_ENUM,
     .offset = offsetof(struct limit_settings, missing),
     .default_text = "count",
     .names = missing_names,
     .help = "resources without the attribute: count: they have the limit together; pass: they have none"},
    {.name = "most_keys",
     .type = FIELD_INT,
     .offset = offsetof(struct limit_settings, most_keys),
     .default_text = "10000",
     .min = 1,
     .max = 100000,
     .help = "values that are told apart; further ones have the limit together"},
    {.name = "values",
     .type = FIELD_STRUCT_LIST,
     .offset = offsetof(struct limit_settings, values),
     .fields = value_fields,
     .struct_size = sizeof(struct value_settings),
     .help = "values with limits of their own"},
    {.name = NULL},
};

static const struct field rate_limit_fields[] = {
    {.name = "limits",
     .type = FIELD_STRUCT_LIST,
     .offset = offsetof(struct rate_limit_settings, limits),
     .fields = limit_fields,
     .struct_size = sizeof(struct limit_settings),
     .required = true,
     .help = "what comes must keep to all of them"},
    {.name = "on_limit",
     .type = FIELD_ENUM,
     .offset = offsetof(struct rate_limit_settings, on_limit),
     .default_text = "refuse",
     .names = on_limit_names,
     .help = "refuse: the whole request is to come again later; drop: the resources that are too much are dropped"},
    {.name = NULL},
};

// --- settings ---

static bool has_rate(const struct rate_settings *r)
{
    return r->bytes > 0 || r->profiles > 0 || r->samples > 0;
}

static void check_values(const struct limit_settings *l, size_t index, const struct component_check *check)
{
    const struct value_settings *values = l->values.items;
    if (l->values.count > 0 && l->attribute == NULL)
        check_error(check, "limits", "[%zu].values needs `attribute`", index);
    for (size_t i = 0; i < l->values.count; i++) {
        if (values[i].pass == has_rate(&values[i].rates))
            check_error(check, "limits", "[%zu].values[%zu]: expected either a rate or `pass: true`", index, i);
        for (size_t k = 0; k < i; k++)
            if (strcmp(values[i].value, values[k].value) == 0)
                check_error(check, "limits", "[%zu].values: \"%s\" is there twice", index, values[i].value);
    }
}

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct rate_limit_settings *s = settings;
    const struct limit_settings *limits = s->limits.items;
    if (s->limits.count == 0)
        check_error(check, "limits", "must not be empty");
    for (size_t i = 0; i < s->limits.count; i++) {
        if (!has_rate(&limits[i].rates) && limits[i].values.count == 0)
            check_error(check, "limits", "[%zu]: expected at least one of bytes, profiles, samples, values", i);
        if (limits[i].attribute != NULL && limits[i].attribute[0] == '\0')
            check_error(check, "limits", "[%zu].attribute must not be empty", i);
        check_values(&limits[i], i, check);
    }
}

struct own_rates {
    uint64_t key;
    struct rates per_second;
};

struct limit {
    const struct limit_settings *settings;
    struct bytes attribute; // empty: all together
    struct rates per_second;
    struct own_rates *own; // of values
    size_t own_count;
    struct rate_buckets buckets;
    struct metric *over;
};

struct rate_limit {
    struct processor processor;
    struct arena arena;
    struct limit *limits;
    size_t limit_count;
    bool counts_bytes;
    pthread_mutex_t lock; // of the buckets
};

static uint64_t key_of_text(struct bytes text)
{
    return hash_bytes(text.data, text.len);
}

// 0 is what the others have.
static struct rates rates_of(const struct rate_settings *s, const struct rates *others)
{
    struct rates r = {{[RATE_BYTES] = (double)s->bytes, [RATE_PROFILES] = s->profiles, [RATE_SAMPLES] = s->samples}};
    for (int u = 0; u < RATE_UNITS; u++)
        r.of[u] = r.of[u] == 0 ? others->of[u] : r.of[u];
    return r;
}

static void create_own_rates(struct limit *l, struct arena *arena)
{
    const struct value_settings *values = l->settings->values.items;
    l->own_count = l->settings->values.count;
    l->own = arena_alloc(arena, l->own_count * sizeof *l->own);
    for (size_t i = 0; i < l->own_count; i++) {
        l->own[i].key = key_of_text(bytes_from_text(values[i].value));
        if (!values[i].pass)
            l->own[i].per_second = rates_of(&values[i].rates, &l->per_second);
    }
}

static void create_limit(struct rate_limit *p, struct limit *l, const struct limit_settings *s)
{
    static const struct metric_family over = {"profrelay_processor_over_limit_profile_samples",
                                              "Samples beyond what rate_limit allows: refused or dropped.",
                                              METRIC_COUNTER};
    const struct component *c = &p->processor.component;
    const struct metric_label labels[] = {{"processor", c->id}, {"attribute", s->attribute ? s->attribute : ""}};
    l->settings = s;
    l->attribute = s->attribute != NULL ? bytes_from_text(s->attribute) : (struct bytes){NULL, 0};
    l->per_second = rates_of(&s->rates, &(struct rates){{0}});
    create_own_rates(l, &p->arena);
    rate_buckets_init(&l->buckets, (double)s->burst / (double)NANOS_PER_SECOND, (uint32_t)s->most_keys);
    l->over = metrics_series(c->env->metrics, &over, labels, COUNT_OF(labels));
    p->counts_bytes |= l->per_second.of[RATE_BYTES] > 0;
    for (size_t i = 0; i < l->own_count; i++)
        p->counts_bytes |= l->own[i].per_second.of[RATE_BYTES] > 0;
}

static const struct processor_module dropping;

static enum err_code create(struct processor *self, const void *settings, struct err *e)
{
    struct rate_limit *p = (struct rate_limit *)self;
    const struct rate_limit_settings *s = settings;
    (void)e;
    self->takes_unread = true;
    if (s->on_limit == ON_LIMIT_DROP)
        self->module = &dropping;
    arena_init(&p->arena, 0);
    p->limit_count = s->limits.count;
    p->limits = arena_alloc(&p->arena, p->limit_count * sizeof *p->limits);
    for (size_t i = 0; i < p->limit_count; i++)
        create_limit(p, &p->limits[i], (const struct limit_settings *)s->limits.items + i);
    CHECK(pthread_mutex_init(&p->lock, NULL) == 0);
    return ERR_OK;
}

static void destroy(struct processor *self)
{
    struct rate_limit *p = (struct rate_limit *)self;
    for (size_t i = 0; i < p->limit_count; i++)
        rate_buckets_fini(&p->limits[i].buckets);
    pthread_mutex_destroy(&p->lock);
    arena_fini(&p->arena);
}

// --- amounts and keys ---

// A batch, or one resource of it.
struct part {
    const struct batch *batch;
    uint32_t first, end;
    double bytes; // of the batch
};

static struct part part_of(const struct rate_limit *p, const struct batch *b)
{
    double bytes = 0;
    if (p->counts_bytes)
        bytes = (double)(b->origin != NULL ? b->origin->bytes : batch_memory_bytes(b));
    return (struct part){.batch = b, .end = b->resource_count, .bytes = bytes};
}

static struct origin_count count_resource(const struct batch *b, const struct resource *r)
{
    struct origin_count c = {0};
    if (batch_is_unread(b))
        return b->origin->counts[r->origin_index];
    for (uint32_t s = 0; s < r->scope_count; s++) {
        const struct scope *scope = r->scopes[s];
        c.profiles += scope->profile_count;
        for (uint32_t i = 0; i < scope->profile_count; i++)
            c.samples += scope->profiles[i].columns->sample_count;
    }
    return c;
}

// The dictionary is everybody's: of the bytes a resource has the part that it has of the samples.
static struct rates amount_of(const struct part *part, uint32_t resource)
{
    const struct batch *b = part->batch;
    const struct origin_count c = count_resource(b, b->resources[resource]);
    const double share = b->sample_count > 0 ? (double)c.samples / (double)b->sample_count : 1.0 / b->resource_count;
    return (struct rates){
        {[RATE_BYTES] = part->bytes * share, [RATE_PROFILES] = (double)c.profiles, [RATE_SAMPLES] = (double)c.samples}};
}

enum { VALUE_TEXT_MAX = 64 << 10 };

static const struct value *value_of(const struct limit *l, const struct resource *r)
{
    const struct key_value *found = key_values_find(r->attributes, r->attribute_count, l->attribute);
    return found != NULL ? &found->value : NULL;
}

// Numbers are known by their text, as in the settings.
static uint64_t key_of(const struct limit *l, const struct value *v)
{
    static const uint8_t nobody[] = {0xff}; // no text begins so
    if (l->attribute.len == 0 || v == NULL)
        return hash_bytes(nobody, sizeof nobody);
    if (v->kind == VALUE_STRING)
        return key_of_text(v->bytes);
    struct buf text;
    buf_init(&text, VALUE_TEXT_MAX);
    value_print(&text, v);
    const uint64_t key = key_of_text((struct bytes){text.data, text.len});
    buf_fini(&text);
    return key;
}

static const struct rates *rates_for(const struct limit *l, uint64_t key)
{
    for (size_t i = 0; i < l->own_count; i++)
        if (l->own[i].key == key)
            return &l->own[i].per_second;
    return &l->per_second;
}

// --- a delivery ---

static void ask(struct limit *l, const struct part *part, int64_t now_nanos)
{
    rate_buckets_begin(&l->buckets, now_nanos);
    for (uint32_t i = part->first; i < part->end; i++) {
        const struct value *v = value_of(l, part->batch->resources[i]);
        if (v == NULL && l->attribute.len > 0 && l->settings->missing == MISSING_PASS)
            continue;
        const uint64_t key = key_of(l, v);
        const struct rates amount = amount_of(part, i), *per_second = rates_for(l, key);
        rate_buckets_ask(&l->buckets, key, per_second, &l->per_second, &amount, i);
    }
}

// NULL: there was enough of everything, and it is taken.
static const struct limit *take_or_find_short(struct rate_limit *p, const struct part *part, struct rate_shortage *out)
{
    const int64_t now = clock_monotonic_nanos(p->processor.component.env->clock);
    const struct limit *most = NULL;
    struct rate_shortage s;
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < p->limit_count; i++) {
        ask(&p->limits[i], part, now);
        if (!rate_buckets_suffice(&p->limits[i].buckets, &s) && (most == NULL || s.wait_seconds > out->wait_seconds)) {
            *out = s;
            most = &p->limits[i];
        }
    }
    for (size_t i = 0; i < p->limit_count; i++)
        rate_buckets_end(&p->limits[i].buckets, most == NULL);
    pthread_mutex_unlock(&p->lock);
    return most;
}

static void add_who(struct buf *out, const struct limit *l, const struct resource *r)
{
    const struct value *v = value_of(l, r);
    struct buf text;
    buf_init(&text, VALUE_TEXT_MAX);
    if (l->attribute.len == 0) {
        buf_add_text(out, "all together");
    } else if (v == NULL) {
        buf_add_format(out, "all without %s", l->settings->attribute);
    } else {
        enum { SHOWN = 80 };
        value_print(&text, v);
        buf_add_format(out, "%s ", l->settings->attribute);
        clean_text_add(out, (struct bytes){text.data, text.len < SHOWN ? text.len : SHOWN});
    }
    buf_add_byte(out, '\0');
    buf_fini(&text);
}

static struct verdict describe(const struct rate_limit *p, const struct limit *l, const struct batch *b,
                               const struct rate_shortage *s)
{
    static const char *const units[] = {
        [RATE_BYTES] = "bytes", [RATE_PROFILES] = "profiles", [RATE_SAMPLES] = "samples"};
    struct buf who;
    buf_init(&who, VALUE_TEXT_MAX);
    add_who(&who, l, b->resources[s->asker]);
    struct verdict v =
        verdict_make(VERDICT_RETRY, "%s: more than %.10g %s a second come from %s", p->processor.component.id,
                     s->per_second, units[s->unit], buf_ok(&who) ? (const char *)who.data : "one sender");
    buf_fini(&who);
    const double nanos = s->wait_seconds * (double)NANOS_PER_SECOND;
    v.over_limit = true;
    v.retry_after_nanos = nanos < (double)(INT64_MAX / 2) ? (int64_t)nanos + 1 : INT64_MAX / 2;
    return v;
}

static bool admit(struct processor *self, const struct batch *b, struct verdict *refusal)
{
    struct rate_limit *p = (struct rate_limit *)self;
    const struct part whole = part_of(p, b);
    struct rate_shortage s;
    const struct limit *l = take_or_find_short(p, &whole, &s);
    if (l == NULL)
        return true;
    *refusal = describe(p, l, b, &s);
    metric_add(l->over, (int64_t)b->sample_count);
    log_warn(&self->component.log, "refused: %s", refusal->text);
    return false;
}

struct dropping_work {
    struct rate_limit *p;
    struct part part;
};

static enum err_code drop_what_is_over(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part,
                                       struct err *e)
{
    struct dropping_work *w = arg;
    struct rate_shortage s;
    (void)scope, (void)e;
    w->part.first = resource;
    w->part.end = resource + 1;
    const struct limit *l = take_or_find_short(w->p, &w->part, &s);
    if (l == NULL)
        return ERR_OK;
    const struct verdict v = describe(w->p, l, w->part.batch, &s);
    part->dropped = true;
    metric_add(l->over, (int64_t)count_resource(w->part.batch, w->part.batch->resources[resource]).samples);
    log_warn(&w->p->processor.component.log, "dropped: %s", v.text);
    return ERR_OK;
}

static enum err_code process(struct processor *self, struct batch **batch, const struct sender *from, struct err *e)
{
    struct rate_limit *p = (struct rate_limit *)self;
    struct dropping_work w = {p, part_of(p, *batch)};
    (void)from;
    return batch_change_part_attributes(
        batch, &(const struct part_attributes_change){.change = drop_what_is_over, .arg = &w}, e);
}

#define MODULE                                                                                                         \
    {.type = "rate_limit",                                                                                             \
     .help = "Takes so much a second of each service or tenant, and no more.",                                         \
     .settings_size = sizeof(struct rate_limit_settings),                                                              \
     .instance_size = sizeof(struct rate_limit),                                                                       \
     .fields = rate_limit_fields,                                                                                      \
     .check = check_settings}

const struct processor_module rate_limit_processor = {
    .module = MODULE,
    .create = create,
    .admit = admit,
    .destroy = destroy,
};

// What it becomes with `on_limit: drop`.
static const struct processor_module dropping = {
    .module = MODULE,
    .create = create,
    .process = process,
    .destroy = destroy,
};
