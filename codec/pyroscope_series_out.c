// SPDX-License-Identifier: Apache-2.0
// From attributes of resource, scope and profile to the labels of a series.
#include "codec/pyroscope_series.h"

#include "base/mem.h"
#include "base/text.h"

enum { MAX_DERIVED = 8 }; // more than we ever write; a longer list is somebody else's

struct candidate {
    struct bytes attribute, name; // before and after renaming and sanitising
    const struct value *value;
    uint32_t rank; // of two with one name the lower stays
};

struct maker {
    const struct pyroscope_label_settings *settings;
    struct pyroscope_labels *out;
    struct pyroscope_label_report *report;
    const struct value *derived; // keys that become no labels
    uint32_t derived_count;
    struct candidate *list;
    size_t count;
    bool no_memory;
};

// --- texts ---

static size_t cut_length(struct bytes text, size_t max)
{
    size_t n = text.len < max ? text.len : max;
    while (n > 0 && n < text.len && (text.data[n] & 0xc0) == 0x80)
        n--;
    return n;
}

static struct bytes cut(struct maker *m, struct bytes text, uint32_t max)
{
    if (max == 0 || text.len <= max)
        return text;
    m->report->shortened++;
    return (struct bytes){text.data, cut_length(text, max)};
}

// A list of one is what it holds; other lists and maps are JSON.
static struct bytes value_text(struct maker *m, const struct value *v)
{
    struct bytes text = {0};
    while (v->kind == VALUE_ARRAY && v->count == 1)
        v = v->items;
    if (v->kind == VALUE_STRING || v->kind == VALUE_EMPTY)
        return v->kind == VALUE_STRING ? v->bytes : text;
    struct buf printed;
    buf_init(&printed, SIZE_MAX);
    value_print(&printed, v);
    if (!buf_ok(&printed) || !arena_try_copy(&m->out->texts, buf_bytes(&printed), &text))
        m->no_memory = true;
    buf_fini(&printed);
    return text;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_plain(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

// What no server takes: control characters.
static bool is_bad(uint8_t c, bool sanitize)
{
    return sanitize ? !is_plain(c) : c < 0x20 || c == 0x7f;
}

static bool is_good_name(struct bytes name, bool sanitize)
{
    for (size_t i = 0; i < name.len; i++)
        if (is_bad(name.data[i], sanitize))
            return false;
    return !sanitize || name.len == 0 || !is_digit(name.data[0]);
}

// Each bad character becomes one '_'; before a digit stands one.
static struct bytes good_name(struct maker *m, struct bytes name, bool sanitize)
{
    if (is_good_name(name, sanitize))
        return name;
    uint8_t *to = arena_try_alloc(&m->out->texts, name.len + 1);
    size_t len = 0;
    if (to == NULL) {
        m->no_memory = true;
        return name;
    }
    if (sanitize && is_digit(name.data[0]))
        to[len++] = '_';
    for (size_t i = 0; i < name.len; i++) {
        const bool inner = (name.data[i] & 0xc0) == 0x80;
        if (!is_bad(name.data[i], sanitize))
            to[len++] = name.data[i];
        else if (!inner)
            to[len++] = '_';
    }
    return (struct bytes){to, len};
}

// --- from attributes ---

static bool begins(struct bytes text, const char *with)
{
    return text.len >= strlen(with) && memcmp(text.data, with, strlen(with)) == 0;
}

static bool is_allowed(const struct pyroscope_label_settings *s, struct bytes attribute)
{
    if (s->allow == NULL)
        return true;
    for (size_t i = 0; i < s->allow_count; i++)
        if (bytes_equal_text(attribute, s->allow[i]))
            return true;
    return false;
}

static struct bytes renamed(const struct pyroscope_label_settings *s, struct bytes attribute)
{
    for (size_t i = 0; i < s->rename_count; i++)
        if (bytes_equal_text(attribute, s->rename[i].attribute))
            return bytes_from_text(s->rename[i].label);
    return attribute;
}

static bool is_derived(const struct maker *m, struct bytes attribute)
{
    for (uint32_t i = 0; i < m->derived_count; i++)
        if (m->derived[i].kind == VALUE_STRING && bytes_equal(m->derived[i].bytes, attribute))
            return true;
    return false;
}

static bool is_empty(const struct value *v)
{
    return v->kind == VALUE_EMPTY || (v->kind == VALUE_STRING && v->bytes.len == 0);
}

static const char *const service_keys[] = {"service.name", "service_name"};

static bool is_service(struct bytes attribute)
{
    return bytes_equal_text(attribute, service_keys[0]) || bytes_equal_text(attribute, service_keys[1]);
}

// What a pprof says of itself in scope attributes is in the pprof.
static bool is_label(const struct maker *m, const struct key_value *a)
{
    return a->key.len > 0 && !is_empty(&a->value) && !is_service(a->key) && !begins(a->key, "pprof.scope.") &&
           !is_derived(m, a->key) && is_allowed(m->settings, a->key);
}

static void take_attributes(struct maker *m, const struct key_value *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (is_label(m, &list[i]))
            m->list[m->count++] = (struct candidate){.attribute = list[i].key, .value = &list[i].value};
}

static int compare_attributes(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    const int order = bytes_compare(a->attribute, b->attribute);
    return order != 0 ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

static int compare_names(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    const int order = bytes_compare(a->name, b->name);
    return order != 0 ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

static void sort(struct maker *m, int (*compare)(const void *, const void *))
{
    for (size_t i = 0; i < m->count; i++)
        m->list[i].rank = (uint32_t)i;
    if (m->count > 1)
        qsort(m->list, m->count, sizeof *m->list, compare);
}

// Names that Pyroscope keeps for itself, and those that every series has.
static bool is_reserved(struct bytes name)
{
    return name.len == 0 || begins(name, "__") || bytes_equal_text(name, "service_name") ||
           bytes_equal_text(name, "pyroscope_spy");
}

static void name_all(struct maker *m)
{
    const struct pyroscope_label_settings *s = m->settings;
    size_t kept = 0;
    for (size_t i = 0; i < m->count; i++) {
        struct candidate c = m->list[i];
        c.name = cut(m, good_name(m, renamed(s, c.attribute), s->sanitize), s->max_name_bytes);
        if (is_reserved(c.name))
            m->report->dropped++;
        else
            m->list[kept++] = c;
    }
    m->count = kept;
}

// Of those with one name the first stays; of all as many as there is room for beside the fixed ones.
static void keep_few(struct maker *m)
{
    const size_t max = m->settings->max_labels, fixed = m->out->count;
    const size_t room = max == 0 ? SIZE_MAX : max > fixed ? max - fixed : 0;
    size_t kept = 0;
    for (size_t i = 0; i < m->count; i++) {
        const bool again = i > 0 && bytes_equal(m->list[i].name, m->list[i - 1].name);
        if (!again && kept < room)
            m->list[kept++] = m->list[i];
        else
            m->report->dropped++;
    }
    m->count = kept;
}

// --- the labels of every series ---

static void add_label(struct maker *m, struct bytes name, struct bytes value)
{
    if (value.len > 0 && !pyroscope_labels_add(m->out, name, cut(m, value, m->settings->max_value_bytes)))
        m->no_memory = true;
}

// The first profile's: those of one pprof have the same.
static const struct value *profile_value(const struct batch *b, const struct profile *p, const char *key)
{
    const struct dictionary *d = b->dictionary;
    const struct batch_range set = d->attribute_sets[p->attribute_set];
    for (uint32_t i = 0; i < set.count; i++) {
        const struct batch_attribute *a = &d->attributes[d->set_attributes[set.start + i]];
        if (bytes_equal_text(d->strings[a->key], key))
            return &a->value;
    }
    return NULL;
}

static struct bytes profile_text(const struct batch *b, const struct profile *p, const char *key)
{
    const struct value *v = profile_value(b, p, key);
    return v != NULL && v->kind == VALUE_STRING ? v->bytes : (struct bytes){0};
}

static bool is_of_pyroscope(const struct batch *b, const struct profile *p)
{
    static const char *const keys[] = {PYROSCOPE_ATTRIBUTE_PROFILE_TYPE, PYROSCOPE_ATTRIBUTE_SESSION,
                                       PYROSCOPE_ATTRIBUTE_SPY, PYROSCOPE_ATTRIBUTE_DERIVED};
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (profile_value(b, p, keys[i]) != NULL)
            return true;
    return false;
}

// What was said, else what Pyroscope calls such types, else the first type's own name.
static struct bytes type_name(struct maker *m, const struct batch *b, const struct scope *s, uint32_t first,
                              uint32_t count)
{
    const struct bytes said = profile_text(b, &s->profiles[first], PYROSCOPE_ATTRIBUTE_PROFILE_TYPE);
    if (said.len > 0)
        return good_name(m, said, true);
    const char *known = pyroscope_profile_type_of_batch(b, s, first, count);
    if (known != NULL)
        return bytes_from_text(known);
    const struct bytes own = b->dictionary->strings[s->profiles[first].sample_type.type];
    return own.len > 0 ? good_name(m, own, true) : BYTES_LITERAL("unknown");
}

static struct bytes service_of(struct maker *m, const struct resource *r)
{
    for (size_t i = 0; i < COUNT_OF(service_keys); i++) {
        const struct key_value *a =
            key_values_find(r->attributes, r->attribute_count, bytes_from_text(service_keys[i]));
        const struct bytes text = a != NULL ? value_text(m, &a->value) : (struct bytes){0};
        if (text.len > 0)
            return text;
    }
    return BYTES_LITERAL("unknown_service");
}

// Profiles of OTLP hold what happened in their own time, so nobody may make deltas of them again.
static void add_fixed(struct maker *m, const struct batch *b, const struct resource *r, const struct scope *s,
                      uint32_t first, uint32_t count)
{
    const struct profile *p = &s->profiles[first];
    const struct bytes delta = profile_text(b, p, PYROSCOPE_ATTRIBUTE_DELTA);
    add_label(m, BYTES_LITERAL("__name__"), type_name(m, b, s, first, count));
    add_label(m, BYTES_LITERAL("service_name"), service_of(m, r));
    add_label(m, BYTES_LITERAL("__delta__"), delta.len > 0 || is_of_pyroscope(b, p) ? delta : BYTES_LITERAL("false"));
    add_label(m, BYTES_LITERAL("__session_id__"), profile_text(b, p, PYROSCOPE_ATTRIBUTE_SESSION));
    add_label(m, BYTES_LITERAL("pyroscope_spy"), profile_text(b, p, PYROSCOPE_ATTRIBUTE_SPY));
}

// --- all of them ---

static int compare_labels(const void *left, const void *right)
{
    const struct pyroscope_label *a = left, *b = right;
    return bytes_compare(a->name, b->name);
}

static void add_attributes(struct maker *m, const struct resource *r, const struct scope *s)
{
    const struct key_value scope[] = {
        {BYTES_LITERAL("otel.scope.name"), value_string(s->name)},
        {BYTES_LITERAL("otel.scope.version"), value_string(s->version)},
    };
    m->list = mem_try_array((size_t)r->attribute_count + s->attribute_count + COUNT_OF(scope), sizeof *m->list);
    if (m->list == NULL) {
        m->no_memory = true;
        return;
    }
    take_attributes(m, scope, COUNT_OF(scope));
    take_attributes(m, r->attributes, r->attribute_count);
    take_attributes(m, s->attributes, s->attribute_count);
    sort(m, compare_attributes);
    name_all(m);
    sort(m, compare_names);
    keep_few(m);
    for (size_t i = 0; i < m->count; i++)
        add_label(m, m->list[i].name, value_text(m, m->list[i].value));
    free(m->list);
}

enum err_code pyroscope_labels_of(const struct batch *b, const struct resource *r, const struct scope *s,
                                  uint32_t first, uint32_t count, const struct pyroscope_label_settings *settings,
                                  struct pyroscope_labels *out, struct pyroscope_label_report *report, struct err *e)
{
    struct maker m = {.settings = settings, .out = out, .report = report};
    const struct value *derived = profile_value(b, &s->profiles[first], PYROSCOPE_ATTRIBUTE_DERIVED);
    if (derived != NULL && derived->kind == VALUE_ARRAY) {
        m.derived = derived->items;
        m.derived_count = derived->count < MAX_DERIVED ? derived->count : MAX_DERIVED;
    }
    pyroscope_labels_init(out);
    add_fixed(&m, b, r, s, first, count);
    add_attributes(&m, r, s);
    if (m.no_memory)
        return err_set(e, ERR_MEMORY, "out of memory for the labels of a series");
    if (out->count > 1)
        qsort(out->items, out->count, sizeof *out->items, compare_labels);
    return ERR_OK;
}
