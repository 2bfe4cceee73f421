// SPDX-License-Identifier: Apache-2.0
// One value of one field: text to number, list, map; what is wrong with it.
#include "base/text.h"
#include "config/fields_internal.h"
#include "config/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { FOUND_SHOWN = 60 }; // characters of a wrong value in a message

const char *node_string(const struct config_node *node)
{
    if (node->original)
        return node->original;
    return node->kind == CONFIG_SCALAR ? node->text : NULL;
}

static bool path_is_secret(const char *path)
{
    const char *dot = strrchr(path, '.');
    return config_key_is_secret(dot ? dot + 1 : path);
}

const char *decoder_describe(struct decoder *d, const struct config_node *node, const char *path)
{
    if (node->kind == CONFIG_MAP)
        return "a map";
    if (node->kind == CONFIG_LIST)
        return "a list";
    const char *text = node_string(node);
    if (!text || (node->kind == CONFIG_NULL && !*text))
        return "nothing";
    if (node->secret || path_is_secret(path))
        return "a value that is not shown";
    return arena_format(d->arena, "\"%.*s\"%s", FOUND_SHOWN, text, strlen(text) > FOUND_SHOWN ? "..." : "");
}

static bool wrong(struct decoder *d, const struct config_node *node, const char *path, const char *expected)
{
    decoder_error(d, node, path, "expected %s, found %s", expected, decoder_describe(d, node, path));
    return false;
}

size_t field_size(const struct field *f)
{
    static const size_t sizes[] = {
        [FIELD_BOOL] = sizeof(bool),
        [FIELD_INT] = sizeof(int64_t),
        [FIELD_DOUBLE] = sizeof(double),
        [FIELD_DURATION] = sizeof(int64_t),
        [FIELD_SIZE] = sizeof(uint64_t),
        [FIELD_STRING] = sizeof(const char *),
        [FIELD_SECRET] = sizeof(const char *),
        [FIELD_ENUM] = sizeof(int),
        [FIELD_STRING_LIST] = sizeof(struct config_strings),
        [FIELD_STRING_MAP] = sizeof(struct config_pairs),
        [FIELD_ATTRIBUTES] = sizeof(struct config_attributes),
        [FIELD_ANY] = sizeof(struct config_any),
        [FIELD_STRUCT] = 0,
        [FIELD_STRUCT_LIST] = sizeof(struct config_structs),
        [FIELD_IGNORED] = 0,
    };
    return sizes[f->type];
}

bool field_has_range(const struct field *f)
{
    return f->min != 0 || f->max != 0;
}

static const char *largest_unit(double value, const struct field *f, double *divisor_out)
{
    static const struct unit {
        const char *name;
        double size;
    } durations[] = {{"h", 3.6e12}, {"m", 6e10}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}},
      sizes[] = {{"GiB", 1073741824.0}, {"MiB", 1048576.0}, {"KiB", 1024.0}, {"", 1}};
    const struct unit *u = f->type == FIELD_DURATION ? durations : sizes;
    // At least 2^10 times smaller than what fits 64 bits.
    while (u->size > 1 && value / u->size != (double)(int64_t)(value / u->size))
        u++;
    *divisor_out = u->size;
    return u->name;
}

void field_print_number(const struct field *f, double value, char *out, size_t out_size)
{
    double divisor = 1;
    const char *unit = "";
    if ((f->type == FIELD_DURATION || f->type == FIELD_SIZE) && value != 0)
        unit = largest_unit(value, f, &divisor);
    if (f->type == FIELD_DURATION && value == 0)
        unit = "s";
    snprintf(out, out_size, "%.17g%s", value / divisor, unit);
    if (f->type == FIELD_DOUBLE)
        snprintf(out, out_size, "%g", value);
}

static bool check_range(struct decoder *d, const struct field *f, const struct config_node *node, const char *path,
                        double value)
{
    char min[48], max[48], found[48];
    bool bounded = f->max >= f->min;
    // The default may be written down, also where it is a special value such as 0 for none.
    if (f->default_text && strcmp(node->text, f->default_text) == 0)
        return true;
    if (d->defaults || !field_has_range(f) || (value >= f->min && (!bounded || value <= f->max)))
        return true;
    field_print_number(f, f->min, min, sizeof min);
    field_print_number(f, f->max, max, sizeof max);
    field_print_number(f, value, found, sizeof found);
    if (node->secret)
        snprintf(found, sizeof found, "a value that is not shown");
    if (bounded)
        decoder_error(d, node, path, "expected %s to %s, found %s", min, max, found);
    else
        decoder_error(d, node, path, "expected %s or more, found %s", min, found);
    return false;
}

// A number or bool in quotes is a string, as in the Collector.
static bool check_unquoted(struct decoder *d, const struct config_node *node, const char *path, const char *expected)
{
    if (!node->quoted)
        return true;
    decoder_error(d, node, path, "expected %s, found the string %s; write it without quotes", expected,
                  decoder_describe(d, node, path));
    return false;
}

static bool read_bool(struct decoder *d, const struct config_node *node, const char *path, bool *out)
{
    if (node->kind != CONFIG_SCALAR || !config_scalar_bool(node->text, out))
        return wrong(d, node, path, "true or false");
    return check_unquoted(d, node, path, "true or false");
}

static bool read_int(struct decoder *d, const struct field *f, const struct config_node *node, const char *path,
                     int64_t *out)
{
    if (node->kind != CONFIG_SCALAR || !config_scalar_int(node->text, out))
        return wrong(d, node, path, "a whole number");
    return check_unquoted(d, node, path, "a whole number") && check_range(d, f, node, path, (double)*out);
}

static bool read_double(struct decoder *d, const struct field *f, const struct config_node *node, const char *path,
                        double *out)
{
    int64_t integer;
    bool number = node->kind == CONFIG_SCALAR && config_scalar_double(node->text, out) && isfinite(*out);
    if (!number && node->kind == CONFIG_SCALAR && config_scalar_int(node->text, &integer)) {
        *out = (double)integer;
        number = true;
    }
    if (!number)
        return wrong(d, node, path, "a number");
    return check_unquoted(d, node, path, "a number") && check_range(d, f, node, path, *out);
}

static bool read_duration(struct decoder *d, const struct field *f, const struct config_node *node, const char *path,
                          int64_t *out)
{
    int64_t bare;
    if (node->kind != CONFIG_SCALAR || !duration_parse(node->text, out))
        return wrong(d, node, path, "a duration such as 5s");
    if (!d->defaults && *out != 0 && int64_parse(node->text, &bare))
        config_warning(d->errors, node->at, "%s: %s: %" PRId64 " means %" PRId64 " nanoseconds; write %" PRId64 "s",
                       d->component, path, bare, bare, bare);
    return check_range(d, f, node, path, (double)*out);
}

static bool read_size(struct decoder *d, const struct field *f, const struct config_node *node, const char *path,
                      uint64_t *out)
{
    if (node->kind != CONFIG_SCALAR || !size_parse(node->text, out))
        return wrong(d, node, path, "a size such as 64MiB");
    return check_range(d, f, node, path, (double)*out);
}

static bool read_string(struct decoder *d, const struct config_node *node, const char *path, const char **out)
{
    const char *text = node_string(node);
    if (!text)
        return wrong(d, node, path, "a string");
    *out = arena_copy_text(d->arena, text, strlen(text));
    return true;
}

static void complain_enum(struct decoder *d, const struct field *f, const struct config_node *node, const char *path)
{
    struct buf list;
    size_t count = 0;
    buf_init(&list, 4096);
    for (; f->names[count]; count++)
        buf_add_format(&list, "%s\"%s\"", count ? ", " : "", f->names[count]);
    const char *text = node_string(node);
    const char *near = text ? text_suggest(text, f->names, count) : NULL;
    decoder_error(d, node, path, "expected one of %.*s, found %s%s%s%s", BYTES_PRINT(buf_bytes(&list)),
                  decoder_describe(d, node, path), near ? ", did you mean \"" : "", near ? near : "",
                  near ? "\"?" : "");
    buf_fini(&list);
}

static bool read_enum(struct decoder *d, const struct field *f, const struct config_node *node, const char *path,
                      int *out)
{
    const char *text = node->kind == CONFIG_SCALAR || node->kind == CONFIG_NULL ? node_string(node) : NULL;
    for (int i = 0; text && f->names[i]; i++)
        if (strcmp(f->names[i], text) == 0) {
            *out = i;
            return true;
        }
    complain_enum(d, f, node, path);
    return false;
}

static void split_at_commas(struct decoder *d, const char *text, struct config_strings *out)
{
    size_t parts = 1;
    for (const char *p = text; *p; p++)
        parts += *p == ',';
    const char **items = arena_alloc(d->arena, parts * sizeof *items);
    for (size_t i = 0; *text && i < parts; i++) {
        size_t len = strcspn(text, ","), end = len, start = 0;
        while (start < end && strchr(" \t\n", text[start]))
            start++;
        while (end > start && strchr(" \t\n", text[end - 1]))
            end--;
        if (end > start)
            items[out->count++] = arena_copy_text(d->arena, text + start, end - start);
        text += len + (text[len] == ',');
    }
    out->items = items;
}

static bool read_strings(struct decoder *d, const struct config_node *node, const char *path,
                         struct config_strings *out)
{
    *out = (struct config_strings){0};
    if (node->kind == CONFIG_SCALAR || node->kind == CONFIG_NULL) {
        split_at_commas(d, node_string(node) ? node_string(node) : "", out);
        return true;
    }
    if (node->kind != CONFIG_LIST)
        return wrong(d, node, path, "a list of strings");
    bool ok = true;
    const char **items = arena_alloc(d->arena, node->count * sizeof *items);
    for (size_t i = 0; i < node->count; i++) {
        const char *item_path = arena_format(d->arena, "%s[%zu]", path, i);
        ok &= read_string(d, node->items[i], item_path, &items[out->count]);
        out->count += ok;
    }
    out->items = items;
    return ok;
}

static bool read_pair(struct decoder *d, const struct config_node *value, const char *path, const char *name,
                      struct config_pair *out)
{
    out->name = arena_copy_text(d->arena, name, strlen(name));
    out->value = "";
    return (value->kind == CONFIG_NULL && !value->original) || read_string(d, value, path, &out->value);
}

static bool read_named_pair(struct decoder *d, const struct config_node *item, const char *path,
                            struct config_pair *out)
{
    const struct config_node *name = config_get(item, "name"), *value = config_get(item, "value");
    if (!name || !value || item->count != 2 || !node_string(name))
        return wrong(d, item, path, "a map with the keys name and value");
    return read_pair(d, value, path, node_string(name), out);
}

static bool read_pairs(struct decoder *d, const struct config_node *node, const char *path, struct config_pairs *out)
{
    bool ok = true;
    *out = (struct config_pairs){0};
    if (node->kind != CONFIG_MAP && node->kind != CONFIG_LIST)
        return wrong(d, node, path, "a map of strings, or a list of maps with name and value");
    struct config_pair *items = arena_alloc(d->arena, node->count * sizeof *items);
    for (size_t i = 0; i < node->count; i++) {
        const struct config_entry *e = node->kind == CONFIG_MAP ? &node->entries[i] : NULL;
        const char *item_path =
            e ? arena_format(d->arena, "%s.%s", path, e->key) : arena_format(d->arena, "%s[%zu]", path, i);
        ok &= e ? read_pair(d, e->value, item_path, e->key, &items[i])
                : read_named_pair(d, node->items[i], item_path, &items[i]);
    }
    *out = (struct config_pairs){items, ok ? node->count : 0};
    return ok;
}

static void read_any_scalar(struct decoder *d, const struct config_node *node, struct config_any *out)
{
    static const char *const bools[] = {"true", "True", "TRUE", "false", "False", "FALSE"};
    out->kind = CONFIG_ANY_STRING;
    for (size_t i = 0; !node->quoted && i < COUNT_OF(bools); i++)
        if (strcmp(node->text, bools[i]) == 0) {
            out->kind = CONFIG_ANY_BOOL;
            out->boolean = i < 3;
            return;
        }
    if (!node->quoted && config_scalar_int(node->text, &out->integer))
        out->kind = CONFIG_ANY_INT;
    else if (!node->quoted && config_scalar_double(node->text, &out->number))
        out->kind = CONFIG_ANY_DOUBLE;
    else
        out->string = arena_copy_text(d->arena, node_string(node), strlen(node_string(node)));
}

static void read_any(struct decoder *d, const struct config_node *node, struct config_any *out)
{
    *out = (struct config_any){.count = node->count};
    if (node->kind == CONFIG_SCALAR)
        read_any_scalar(d, node, out);
    if (node->kind == CONFIG_LIST) {
        struct config_any *items = arena_alloc(d->arena, node->count * sizeof *items);
        for (size_t i = 0; i < node->count; i++)
            read_any(d, node->items[i], &items[i]);
        out->kind = CONFIG_ANY_LIST;
        out->items = items;
    }
    if (node->kind == CONFIG_MAP) {
        struct config_attribute *items = arena_alloc(d->arena, node->count * sizeof *items);
        for (size_t i = 0; i < node->count; i++) {
            const struct config_entry *e = &node->entries[i];
            items[i].key = arena_copy_text(d->arena, e->key, strlen(e->key));
            read_any(d, e->value, &items[i].value);
        }
        out->kind = CONFIG_ANY_MAP;
        out->attributes = items;
    }
}

static bool read_attributes(struct decoder *d, const struct config_node *node, const char *path,
                            struct config_attributes *out)
{
    struct config_any map;
    if (node->kind != CONFIG_MAP)
        return wrong(d, node, path, "a map");
    read_any(d, node, &map);
    *out = (struct config_attributes){map.attributes, map.count};
    return true;
}

bool field_read_value(struct decoder *d, const struct field *f, const struct config_node *node, const char *path,
                      void *member)
{
    switch (f->type) {
    case FIELD_BOOL:
        return read_bool(d, node, path, member);
    case FIELD_INT:
        return read_int(d, f, node, path, member);
    case FIELD_DOUBLE:
        return read_double(d, f, node, path, member);
    case FIELD_DURATION:
        return read_duration(d, f, node, path, member);
    case FIELD_SIZE:
        return read_size(d, f, node, path, member);
    case FIELD_STRING:
    case FIELD_SECRET:
        return read_string(d, node, path, member);
    case FIELD_ENUM:
        return read_enum(d, f, node, path, member);
    case FIELD_STRING_LIST:
        return read_strings(d, node, path, member);
    case FIELD_STRING_MAP:
        return read_pairs(d, node, path, member);
    case FIELD_ATTRIBUTES:
        return read_attributes(d, node, path, member);
    case FIELD_ANY:
        read_any(d, node, member);
        return true;
    case FIELD_STRUCT:
    case FIELD_STRUCT_LIST:
    case FIELD_IGNORED:
        break;
    }
    check_failed(__FILE__, __LINE__, "a type with a value");
}
