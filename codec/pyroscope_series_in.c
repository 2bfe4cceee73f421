// SPDX-License-Identifier: Apache-2.0
// From the labels of a series to attributes of resource, scope and profile.
#include "codec/pyroscope_series.h"

#include "base/text.h"

#include <stdlib.h>

// --- the labels, sorted, each name once ---

struct label {
    struct bytes name, value;
    size_t index; // in the order of arrival
};

struct maker {
    const struct pyroscope_series *series;
    const struct pyroscope_settings *settings;
    struct pyroscope_attributes *out;
    struct err *e;
    struct label *labels;
    size_t label_count;
    enum err_code code;
};

static bool no_memory(struct maker *m)
{
    m->code = err_set(m->e, ERR_MEMORY, "out of memory for the labels of a series");
    return false;
}

static bool over_limit(struct maker *m, size_t index, const char *what, size_t bytes, size_t allowed)
{
    m->code = err_set(m->e, ERR_LIMIT, "label %zu: its %s has %zu bytes, allowed are %zu", index, what, bytes, allowed);
    return false;
}

// Broken names are repaired here and not later, so that they stay unlike each other, or become one.
static bool good_name(struct maker *m, struct bytes *name)
{
    if (utf8_valid(*name))
        return true;
    uint8_t *repaired = arena_try_alloc(&m->out->texts, utf8_repair(*name, NULL));
    if (repaired == NULL)
        return no_memory(m);
    *name = (struct bytes){repaired, utf8_repair(*name, repaired)};
    return true;
}

// Empty values are labels that are not there.
static bool take_label(struct maker *m, size_t index, const struct pyroscope_label *from)
{
    struct label l = {from->name, from->value, index};
    if (l.name.len > PYROSCOPE_MAX_LABEL_NAME_BYTES)
        return over_limit(m, index + 1, "name", l.name.len, PYROSCOPE_MAX_LABEL_NAME_BYTES);
    if (l.value.len > PYROSCOPE_MAX_LABEL_VALUE_BYTES)
        return over_limit(m, index + 1, "value", l.value.len, PYROSCOPE_MAX_LABEL_VALUE_BYTES);
    if (l.name.len == 0 || l.value.len == 0)
        return true;
    if (!good_name(m, &l.name))
        return false;
    m->labels[m->label_count++] = l;
    return true;
}

static int compare_labels(const void *left, const void *right)
{
    const struct label *a = left, *b = right;
    const int order = bytes_compare(a->name, b->name);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

// Of several with one name the last stays, as on the server; of service_name the first: what a proxy adds comes last.
static void unite_labels(struct maker *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->label_count; i++) {
        const struct label *l = &m->labels[i];
        const bool again = kept > 0 && bytes_equal(m->labels[kept - 1].name, l->name);
        if (!again)
            m->labels[kept++] = *l;
        else if (!bytes_equal_text(l->name, "service_name"))
            m->labels[kept - 1] = *l;
    }
    m->label_count = kept;
}

static bool take_labels(struct maker *m)
{
    const struct pyroscope_labels *from = &m->series->labels;
    if (from->count > PYROSCOPE_MAX_LABELS) {
        m->code =
            err_set(m->e, ERR_LIMIT, "the series has %zu labels, allowed are %d", from->count, PYROSCOPE_MAX_LABELS);
        return false;
    }
    m->labels = arena_try_alloc(&m->out->texts, from->count * sizeof *m->labels);
    if (m->labels == NULL)
        return no_memory(m);
    for (size_t i = 0; i < from->count; i++)
        if (!take_label(m, i, &from->items[i]))
            return false;
    if (m->label_count > 1)
        qsort(m->labels, m->label_count, sizeof *m->labels, compare_labels);
    unite_labels(m);
    return true;
}

// --- those that mean something ---

enum { SPELLINGS_OF_SPY = 3 };

struct special {
    struct bytes service, otel_service, type, session, delta, scope_name, scope_version, spies[SPELLINGS_OF_SPY];
};

static const struct {
    const char *name;
    size_t offset;
} special_labels[] = {
    {"service_name", offsetof(struct special, service)},
    {"service.name", offsetof(struct special, otel_service)},
    {"__name__", offsetof(struct special, type)},
    {"__session_id__", offsetof(struct special, session)},
    {"__delta__", offsetof(struct special, delta)},
    {"otel.scope.name", offsetof(struct special, scope_name)},
    {"otel.scope.version", offsetof(struct special, scope_version)},
    {"pyroscope_spy", offsetof(struct special, spies[0])},
    {"spy_name", offsetof(struct special, spies[1])},
    {"spyName", offsetof(struct special, spies[2])},
};

static bool begins(struct bytes text, const char *with)
{
    const size_t len = strlen(with);
    return text.len >= len && memcmp(text.data, with, len) == 0;
}

static struct bytes *special_of(struct special *s, struct bytes name)
{
    for (size_t i = 0; i < COUNT_OF(special_labels); i++)
        if (bytes_equal_text(name, special_labels[i].name))
            return (struct bytes *)((char *)s + special_labels[i].offset);
    return NULL;
}

// Takes them out of the list, and other private labels with them.
static void take_special(struct maker *m, struct special *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->label_count; i++) {
        struct bytes *to = special_of(s, m->labels[i].name);
        if (to != NULL)
            *to = m->labels[i].value;
        else if (!begins(m->labels[i].name, "__"))
            m->labels[kept++] = m->labels[i];
    }
    m->label_count = kept;
}

static struct bytes first_of(const struct bytes *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].len > 0)
            return list[i];
    return (struct bytes){0};
}

// --- who recorded ---

struct recorder {
    const char *name;     // of the spy, or the end of the scope's name
    const char *language; // telemetry.sdk.language
    const char *sdk;      // telemetry.sdk.name
    const char *runtime;  // process.runtime.name; NULL = there are several
};

static const struct recorder spies[] = {
    {"gospy", "go", "pyroscope", "go"},     {"pyspy", "python", "pyroscope", "cpython"},
    {"rbspy", "ruby", "pyroscope", NULL},   {"nodespy", "nodejs", "pyroscope", "nodejs"},
    {"javaspy", "java", "pyroscope", NULL}, {"dotnetspy", "dotnet", "pyroscope", NULL},
    {"phpspy", "php", "pyroscope", NULL},   {"pyroscope-rs", "rust", "pyroscope", "rust"},
    {"alloy.java", "java", NULL, NULL},     {"grafana-agent.java", "java", NULL, NULL},
};

#define SDK_SCOPE "com.grafana.pyroscope/"
static const struct recorder scopes[] = {
    {"go", "go", "pyroscope", "go"},
    {"godeltaprof", "go", "pyroscope", "go"},
    {"python", "python", "pyroscope", "cpython"},
    {"nodejs", "nodejs", "pyroscope", "nodejs"},
    {"java", "java", "pyroscope", NULL},
    {"rust", "rust", "pyroscope", "rust"},
};

static const struct recorder *find_recorder(const struct recorder *list, size_t count, struct bytes name)
{
    for (size_t i = 0; i < count; i++)
        if (bytes_equal_text(name, list[i].name))
            return &list[i];
    return NULL;
}

static struct bytes skip(struct bytes text, size_t n)
{
    return (struct bytes){text.data + n, text.len - n};
}

static struct bytes until(struct bytes text, uint8_t end)
{
    const uint8_t *at = text.len > 0 ? memchr(text.data, end, text.len) : NULL;
    return (struct bytes){text.data, at != NULL ? (size_t)(at - text.data) : text.len};
}

// "pyroscope-rs/<spy>/<version> reqwest"
static struct bytes agent_spy(struct bytes user_agent, struct bytes *version_out)
{
    static const char first[] = "pyroscope-rs/";
    *version_out = (struct bytes){0};
    if (!begins(user_agent, first))
        return (struct bytes){0};
    const struct bytes rest = skip(user_agent, strlen(first)), spy = until(rest, '/');
    if (spy.len < rest.len)
        *version_out = until(skip(rest, spy.len + 1), ' ');
    return spy;
}

// The version of a scope is not that of the SDK: one program has several scopes, but it is one resource.
static const struct recorder *recorder_of(const struct maker *m, struct bytes said_spy, const struct special *s,
                                          struct bytes *version_out)
{
    const struct bytes agent = agent_spy(m->series->user_agent, version_out);
    const struct bytes spy = said_spy.len > 0 ? said_spy : agent;
    if (!bytes_equal(spy, agent) || !utf8_valid(*version_out))
        *version_out = (struct bytes){0};
    const struct recorder *found = find_recorder(spies, COUNT_OF(spies), spy);
    if (found == NULL && begins(s->scope_name, SDK_SCOPE))
        found = find_recorder(scopes, COUNT_OF(scopes), skip(s->scope_name, strlen(SDK_SCOPE)));
    return found;
}

// --- attributes ---

enum { OTHER_RESOURCE_ATTRIBUTES = 8, PROFILE_ATTRIBUTES = 5, DERIVED_ATTRIBUTES = 4 };

static bool has(const struct key_value *list, uint32_t count, struct bytes key)
{
    return key_values_find(list, count, key) != NULL;
}

static void add(struct key_value *list, uint32_t *count, const char *key, struct bytes text)
{
    if (text.len > 0)
        list[(*count)++] = (struct key_value){bytes_from_text(key), value_string(text)};
}

static bool make_room(struct maker *m)
{
    struct pyroscope_attributes *out = m->out;
    const size_t resource = m->settings->resource_attribute_count + m->label_count + OTHER_RESOURCE_ATTRIBUTES;
    out->resource = arena_try_alloc(&out->texts, resource * sizeof *out->resource);
    out->scope = arena_try_alloc(&out->texts, m->label_count * sizeof *out->scope);
    out->profile = arena_try_alloc(&out->texts, PROFILE_ATTRIBUTES * sizeof *out->profile);
    return (out->resource != NULL && out->scope != NULL && out->profile != NULL) || no_memory(m);
}

static void add_service(struct maker *m, const struct special *s, struct bytes app)
{
    const struct bytes names[] = {s->service, app, s->otel_service, BYTES_LITERAL("unknown_service")};
    struct pyroscope_attributes *out = m->out;
    if (!has(out->resource, out->resource_count, BYTES_LITERAL("service.name")))
        add(out->resource, &out->resource_count, "service.name", first_of(names, COUNT_OF(names)));
}

static bool is_of_resource(const struct maker *m, struct bytes name)
{
    return !m->settings->labels_to_scope || begins(name, "process.runtime.") || begins(name, "telemetry.sdk.");
}

static void add_labels(struct maker *m)
{
    struct pyroscope_attributes *out = m->out;
    for (size_t i = 0; i < m->label_count; i++) {
        const struct key_value a = {m->labels[i].name, value_string(m->labels[i].value)};
        if (has(m->settings->resource_attributes, m->settings->resource_attribute_count, a.key))
            continue;
        if (is_of_resource(m, a.key))
            out->resource[out->resource_count++] = a;
        else
            out->scope[out->scope_count++] = a;
    }
}

// An app with another name than its service_name keeps it, unless a label has this name already.
static void add_app(struct maker *m, const struct special *s, struct bytes app)
{
    static const char key[] = "app_name";
    struct pyroscope_attributes *out = m->out;
    if (s->service.len == 0 || bytes_equal(s->service, app) ||
        has(out->resource, out->resource_count, bytes_from_text(key)) ||
        has(out->scope, out->scope_count, bytes_from_text(key)))
        return;
    add(out->resource, &out->resource_count, key, app);
}

// What no label said; the keys are noted, so that the way back makes no labels of them.
static bool add_derived(struct maker *m, const struct recorder *r, struct bytes version)
{
    const struct {
        const char *key;
        struct bytes text;
    } rows[DERIVED_ATTRIBUTES] = {
        {"telemetry.sdk.language", bytes_from_text(r->language)},
        {"telemetry.sdk.name", bytes_from_text(r->sdk)},
        {"telemetry.sdk.version", r->sdk != NULL ? version : (struct bytes){0}},
        {"process.runtime.name", bytes_from_text(r->runtime)},
    };
    struct pyroscope_attributes *out = m->out;
    struct value *keys = arena_try_alloc(&out->texts, DERIVED_ATTRIBUTES * sizeof *keys);
    uint32_t count = 0;
    if (keys == NULL)
        return no_memory(m);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].text.len == 0 || has(out->resource, out->resource_count, bytes_from_text(rows[i].key)))
            continue;
        add(out->resource, &out->resource_count, rows[i].key, rows[i].text);
        keys[count++] = value_string(bytes_from_text(rows[i].key));
    }
    if (count > 0)
        out->profile[out->profile_count++] = (struct key_value){BYTES_LITERAL(PYROSCOPE_ATTRIBUTE_DERIVED),
                                                                {.kind = VALUE_ARRAY, .count = count, .items = keys}};
    return true;
}

// On /ingest a __name__ among the labels is the app's name. Profiles that came there are never made deltas of.
static bool add_all(struct maker *m, const struct special *s, const char *profile_type)
{
    struct pyroscope_attributes *out = m->out;
    const bool ingest = m->series->app_name.data != NULL;
    const struct bytes app = ingest && s->type.len > 0 ? s->type : m->series->app_name;
    const struct bytes type = !ingest && s->type.len > 0 ? s->type : bytes_from_text(profile_type);
    const struct bytes said[] = {s->spies[0], m->series->spy, s->spies[1], s->spies[2]};
    const struct bytes spy = first_of(said, COUNT_OF(said));
    struct bytes version;
    const struct recorder *recorder = recorder_of(m, spy, s, &version);
    for (uint32_t i = 0; i < m->settings->resource_attribute_count; i++)
        out->resource[out->resource_count++] = m->settings->resource_attributes[i];
    add_service(m, s, app);
    add_labels(m);
    add_app(m, s, app);
    out->scope_name = s->scope_name;
    out->scope_version = s->scope_version;
    add(out->profile, &out->profile_count, PYROSCOPE_ATTRIBUTE_PROFILE_TYPE, type);
    add(out->profile, &out->profile_count, PYROSCOPE_ATTRIBUTE_SESSION, s->session);
    add(out->profile, &out->profile_count, PYROSCOPE_ATTRIBUTE_DELTA,
        s->delta.len == 0 && ingest ? BYTES_LITERAL("false") : s->delta);
    add(out->profile, &out->profile_count, PYROSCOPE_ATTRIBUTE_SPY, spy);
    return recorder == NULL || add_derived(m, recorder, version);
}

enum err_code pyroscope_attributes_make(const struct pyroscope_series *series, const char *profile_type,
                                        const struct pyroscope_settings *settings, struct pyroscope_attributes *out,
                                        struct err *e)
{
    struct maker m = {.series = series, .settings = settings, .out = out, .e = e};
    struct special special = {0};
    *out = (struct pyroscope_attributes){0};
    arena_init(&out->texts, 0);
    if (!take_labels(&m))
        return m.code;
    take_special(&m, &special);
    if (make_room(&m))
        (void)add_all(&m, &special, profile_type);
    return m.code;
}

void pyroscope_attributes_fini(struct pyroscope_attributes *a)
{
    arena_fini(&a->texts);
    *a = (struct pyroscope_attributes){0};
}

void pyroscope_attributes_apply(const struct pyroscope_attributes *a, struct decode_options *o)
{
    o->resource_attributes = a->resource;
    o->resource_attribute_count = a->resource_count;
    o->scope = (struct decode_scope){a->scope_name, a->scope_version, a->scope, a->scope_count};
    o->profile_attributes = a->profile;
    o->profile_attribute_count = a->profile_count;
}
