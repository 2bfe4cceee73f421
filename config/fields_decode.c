// SPDX-License-Identifier: Apache-2.0
// Walks a map and the tables side by side.
#include "base/text.h"
#include "config/fields_internal.h"
#include "config/internal.h"

#include <stdarg.h>
#include <stdlib.h>

enum { CANDIDATES_MAX = 256, TARGETS_MAX = 8 };

static bool decode_tables(struct decoder *d, const struct field_target *targets, size_t target_count,
                          const struct config_node *node, const char *path, bool given);

static void add_error(struct decoder *d, struct config_position at, const char *origin, const char *path,
                      const char *text)
{
    config_error(d->errors, at, "%s%s%s: %s%s%s%s", d->component, *path ? ": " : "", path, text,
                 origin ? " (from " : "", origin ? origin : "", origin ? ")" : "");
}

void decoder_error(struct decoder *d, const struct config_node *at, const char *path, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    add_error(d, at->at, at->origin, path, text);
}

static void *member_of(const struct field *f, void *settings)
{
    return (char *)settings + f->offset;
}

static void clear(const struct field *fields, void *settings)
{
    for (const struct field *f = fields; f->name; f++) {
        if (f->type == FIELD_STRUCT)
            clear(f->fields, member_of(f, settings));
        else if (f->type != FIELD_IGNORED)
            memset(member_of(f, settings), 0, field_size(f));
        if (f->present_offset)
            *((char *)settings + f->present_offset - 1) = false;
    }
}

// Scalars without quotes need no YAML parser: start-up reads hundreds of them.
static bool default_is_plain(const struct field *f)
{
    return f->type < FIELD_STRING_LIST && !strchr("\"'~", f->default_text[0]) && f->default_text[0];
}

static void set_default(struct decoder *d, const struct field *f, void *settings)
{
    if (f->type == FIELD_STRUCT || f->type == FIELD_STRUCT_LIST || f->type == FIELD_IGNORED || !f->default_text)
        return;
    struct config_node plain = {.kind = CONFIG_SCALAR, .text = f->default_text};
    const struct config_node *node = &plain;
    if (!default_is_plain(f))
        node = config_parse_yaml(d->arena, bytes_from_text(f->default_text), f->name, d->errors);
    CHECK(node != NULL);
    if (node->kind != CONFIG_NULL)
        CHECK(field_read_value(d, f, node, f->name, member_of(f, settings)));
}

static void set_defaults(struct decoder *d, const struct field *fields, void *settings)
{
    for (const struct field *f = fields; f->name; f++) {
        if (f->type == FIELD_STRUCT)
            set_defaults(d, f->fields, member_of(f, settings));
        else
            set_default(d, f, settings);
    }
}

// Zero first, so that a second row for the same member (another spelling) may leave its default out.
static void reset(struct decoder *d, const struct field *fields, void *settings)
{
    clear(fields, settings);
    d->defaults = true;
    set_defaults(d, fields, settings);
    d->defaults = false;
}

static const char *join_path(struct decoder *d, const char *path, const char *key)
{
    return *path ? arena_format(d->arena, "%s.%s", path, key) : key;
}

static const struct field *find_field(const struct field_target *targets, size_t target_count, const char *key,
                                      void **settings_out)
{
    for (size_t i = 0; i < target_count; i++)
        for (const struct field *f = targets[i].fields; f->name; f++)
            if (strcmp(f->name, key) == 0) {
                *settings_out = targets[i].settings;
                return f;
            }
    return NULL;
}

static void complain_unknown(struct decoder *d, const struct field_target *targets, size_t target_count,
                             const struct config_entry *e, const char *origin, const char *path)
{
    const char *names[CANDIDATES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < target_count; i++)
        for (const struct field *f = targets[i].fields; f->name && count < CANDIDATES_MAX; f++)
            if (f->type != FIELD_IGNORED)
                names[count++] = f->name;
    const char *near = text_suggest(e->key, names, count);
    const char *text = near ? arena_format(d->arena, "unknown key \"%s\", did you mean \"%s\"?", e->key, near)
                            : arena_format(d->arena, "unknown key \"%s\"", e->key);
    add_error(d, e->key_at, origin, path, text);
}

static void note_ignored(struct decoder *d, const struct config_entry *e, const char *path)
{
    if (d->ignored.len == 0)
        d->ignored_at = e->key_at;
    buf_add_format(&d->ignored, "%s%s", d->ignored.len ? ", " : "", path);
}

static bool is_absent(const struct config_node *node)
{
    return !node || (node->kind == CONFIG_NULL && !node->original);
}

static bool decode_struct(struct decoder *d, const struct field *f, const struct config_node *node, const char *path,
                          void *settings)
{
    struct field_target nested = {f->fields, member_of(f, settings)};
    if (f->present_offset)
        *(bool *)((char *)settings + f->present_offset - 1) = true;
    return decode_tables(d, &nested, 1, node, path, true);
}

static bool decode_struct_list(struct decoder *d, const struct field *f, const struct config_node *node,
                               const char *path, struct config_structs *out)
{
    bool ok = true;
    if (node->kind != CONFIG_LIST) {
        decoder_error(d, node, path, "expected a list of maps, found %s", decoder_describe(d, node, path));
        return false;
    }
    char *items = arena_alloc(d->arena, node->count * f->struct_size);
    for (size_t i = 0; i < node->count; i++) {
        struct field_target nested = {f->fields, items + i * f->struct_size};
        reset(d, f->fields, nested.settings);
        ok &= decode_tables(d, &nested, 1, node->items[i], arena_format(d->arena, "%s[%zu]", path, i), true);
    }
    *out = (struct config_structs){items, node->count};
    return ok;
}

static bool decode_field(struct decoder *d, const struct field *f, const struct config_entry *e, const char *path,
                         void *settings)
{
    if (f->type == FIELD_IGNORED) {
        note_ignored(d, e, path);
        return true;
    }
    if (f->type == FIELD_STRUCT)
        return decode_struct(d, f, e->value, path, settings);
    // null is "not given"; but strings get the text of a reference, be it "" or "null".
    bool takes_text = f->type == FIELD_STRING || f->type == FIELD_SECRET;
    if (e->value->kind == CONFIG_NULL && !(takes_text && e->value->original))
        return true;
    if (f->type == FIELD_STRUCT_LIST)
        return decode_struct_list(d, f, e->value, path, member_of(f, settings));
    // A wrong value leaves the default, whatever was written on the way.
    union {
        int64_t integer;
        double number;
        struct config_any any;
    } value;
    memset(&value, 0, sizeof value);
    CHECK(field_size(f) <= sizeof value);
    if (!field_read_value(d, f, e->value, path, &value))
        return false;
    memcpy(member_of(f, settings), &value, field_size(f));
    return true;
}

static bool check_required(struct decoder *d, const struct field_target *target, const struct config_node *node,
                           const char *path)
{
    bool ok = true;
    for (const struct field *f = target->fields; f->name; f++) {
        if (!f->required || !is_absent(config_get(node, f->name)))
            continue;
        decoder_error(d, node, path, "the key \"%s\" is required", f->name);
        ok = false;
    }
    return ok;
}

static bool decode_entries(struct decoder *d, const struct field_target *targets, size_t target_count,
                           const struct config_node *node, const char *path)
{
    bool ok = true;
    for (size_t i = 0; i < node->count; i++) {
        const struct config_entry *e = &node->entries[i];
        void *settings;
        const struct field *f = find_field(targets, target_count, e->key, &settings);
        if (!f)
            complain_unknown(d, targets, target_count, e, node->origin, path);
        ok &= f && decode_field(d, f, e, join_path(d, path, e->key), settings);
    }
    return ok;
}

// The settings hold their defaults already.
static bool decode_tables(struct decoder *d, const struct field_target *targets, size_t target_count,
                          const struct config_node *node, const char *path, bool given)
{
    bool ok = true;
    if (node->kind == CONFIG_MAP)
        ok = decode_entries(d, targets, target_count, node, path);
    else if (node->kind != CONFIG_NULL) {
        decoder_error(d, node, path, "expected a map, found %s", decoder_describe(d, node, path));
        return false;
    }
    for (size_t i = 0; given && i < target_count; i++)
        ok &= check_required(d, &targets[i], node, path);
    return ok;
}

static void warn_ignored(struct decoder *d)
{
    if (d->ignored.len > 0)
        config_warning(d->errors, d->ignored_at, "%s: these keys have no meaning here and are ignored: %.*s",
                       d->component, BYTES_PRINT(buf_bytes(&d->ignored)));
    buf_fini(&d->ignored);
}

bool fields_decode(const struct field_target *targets, size_t target_count, const struct config_node *node,
                   struct config_position component_at, const char *component, struct arena *arena,
                   struct config_errors *errors)
{
    struct decoder d = {.arena = arena, .errors = errors, .component = component};
    struct config_node nothing = {.kind = CONFIG_NULL, .at = component_at};
    buf_init(&d.ignored, 4096);
    for (size_t i = 0; i < target_count; i++)
        reset(&d, targets[i].fields, targets[i].settings);
    if (is_absent(node))
        node = &nothing;
    bool ok = decode_tables(&d, targets, target_count, node, "", true);
    warn_ignored(&d);
    return ok;
}

// The place of "file.include" or "attributes[1].action"; as far as it goes.
static struct config_position find_position(const struct config_node *node, struct config_position at, const char *path,
                                            const char **origin_out)
{
    while (node && *path) {
        char key[256];
        const struct config_node *next = NULL;
        size_t len = path[0] == '[' ? strcspn(path, "]") + 1 : strcspn(path, ".[");
        if (path[0] == '[') {
            size_t index = strtoul(path + 1, NULL, 10);
            if (node->kind != CONFIG_LIST || index >= node->count)
                break;
            next = node->items[index];
            at = next->at;
        } else {
            snprintf(key, sizeof key, "%.*s", (int)(len < sizeof key ? len : sizeof key - 1), path);
            for (size_t i = 0; node->kind == CONFIG_MAP && i < node->count; i++)
                if (strcmp(node->entries[i].key, key) == 0) {
                    at = node->entries[i].key_at;
                    next = node->entries[i].value;
                }
        }
        node = next;
        *origin_out = node && node->origin ? node->origin : *origin_out;
        path += len < strlen(path) ? len : strlen(path);
        path += *path == '.';
    }
    return at;
}

void fields_error(const struct config_node *node, struct config_position component_at, const char *component,
                  const char *key, struct config_errors *errors, const char *format, ...)
{
    char text[1024];
    const char *origin = NULL;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct decoder d = {.errors = errors, .component = component};
    struct config_position at = find_position(node, component_at, key, &origin);
    add_error(&d, at, origin, key, text);
}
