// SPDX-License-Identifier: Apache-2.0
// Command line to sources, sources to one tree.
#include "config/load.h"

#include "base/limits.h"
#include "config/internal.h"

#include <ctype.h>

enum { NAME_SHOWN = 60 }; // of a "yaml:" argument or a --set path in messages

struct loader {
    struct arena *arena;
    struct config_errors *errors;
    const struct config_sources *sources;
};

static struct config_position place(const char *source)
{
    return (struct config_position){.source = source};
}

static struct config_node *parse(struct loader *l, struct bytes text, const char *source)
{
    bool clean;
    size_t nodes_left = LIMIT_CONFIG_NODES;
    struct yaml_request request = {
        .arena = l->arena, .text = text, .source = source, .errors = l->errors, .nodes_left = &nodes_left};
    return config_read_yaml(&request, &clean);
}

static struct config_node *new_map(struct loader *l, const char *key, size_t key_len, struct config_position key_at,
                                   struct config_node *value)
{
    struct config_node *map = arena_alloc(l->arena, sizeof *map);
    map->kind = CONFIG_MAP;
    map->at = key_at;
    map->count = 1;
    map->entries = arena_alloc(l->arena, sizeof *map->entries);
    map->entries[0] = (struct config_entry){arena_copy_text(l->arena, key, key_len), key_at, value};
    return map;
}

// {a: {b: value}} for the path "a::b"; NULL when a key is empty or the path too long.
static struct config_node *nest(struct loader *l, const char *path, const char *separator, struct config_position at,
                                struct config_node *value, int depth)
{
    const char *end = strstr(path, separator);
    size_t len = end ? (size_t)(end - path) : strlen(path);
    if (len == 0 || depth > LIMIT_CONFIG_DEPTH / 2) {
        config_error(l->errors, at, len ? "the path has more than %d keys" : "the path has an empty key",
                     LIMIT_CONFIG_DEPTH / 2);
        return NULL;
    }
    if (end) {
        value = nest(l, end + strlen(separator), separator, at, value, depth + 1);
        if (!value)
            return NULL;
    }
    return new_map(l, path, len, at, value);
}

// The keys of the uppermost map are paths.
static struct config_node *unfold_keys(struct loader *l, struct config_node *map)
{
    struct config_node *root = NULL;
    if (map->kind != CONFIG_MAP || map->count == 0)
        return map;
    for (size_t i = 0; i < map->count; i++) {
        const struct config_entry *e = &map->entries[i];
        struct config_node *one = nest(l, e->key, "::", e->key_at, e->value, 0);
        if (one)
            root = config_merge(l->arena, root, one);
    }
    return root;
}

static struct config_node *load_file(struct loader *l, const char *path)
{
    struct buf text;
    struct err e = {0};
    struct config_node *root = NULL;
    const char *source = arena_copy_text(l->arena, path, strlen(path));
    buf_init(&text, LIMIT_CONFIG_BYTES + CONFIG_READ_STEP);
    if (l->sources->read_file(l->sources->arg, path, &text, &e))
        root = parse(l, buf_bytes(&text), source);
    else
        config_error(l->errors, place(source), "%s", e.text);
    buf_fini(&text);
    return root;
}

static struct config_node *load_env(struct loader *l, const char *name)
{
    const char *source = arena_format(l->arena, "env:%s", name);
    const char *text = config_env_name_valid(name) ? l->sources->env_value(l->sources->arg, name) : NULL;
    if (!text) {
        config_error(l->errors, place(source),
                     config_env_name_valid(name) ? "the environment variable is not set"
                                                 : "this cannot name an environment variable");
        return NULL;
    }
    return parse(l, bytes_from_text(text), source);
}

// The argument up to its value, which may be a secret.
static struct config_node *load_yaml(struct loader *l, const char *text)
{
    size_t key_len = strcspn(text, " \n{[");
    const char *source = arena_format(l->arena, "yaml:%.*s", (int)(key_len < NAME_SHOWN ? key_len : NAME_SHOWN), text);
    struct config_node *root = parse(l, bytes_from_text(text), source);
    return root ? unfold_keys(l, root) : NULL;
}

static struct config_node *load_source(struct loader *l, const char *uri)
{
    size_t scheme_len = config_scheme_length(uri);
    struct bytes scheme = {(const uint8_t *)uri, scheme_len};
    const char *rest = uri + scheme_len + 1;
    if (scheme_len == 0)
        return load_file(l, uri);
    if (bytes_equal_text(scheme, "file"))
        return load_file(l, rest);
    if (bytes_equal_text(scheme, "env"))
        return load_env(l, rest);
    if (bytes_equal_text(scheme, "yaml"))
        return load_yaml(l, rest);
    if (bytes_equal_text(scheme, "http") || bytes_equal_text(scheme, "https"))
        config_error(l->errors, place("--config"), "%.*s: is not read: fetch it with curl and pass the file",
                     BYTES_PRINT(scheme));
    else
        config_error(l->errors, place("--config"), "unsupported scheme on URI \"%.200s\"; known are file, env and yaml",
                     uri);
    return NULL;
}

static struct config_node *load_set(struct loader *l, const char *set)
{
    const char *equal = strchr(set, '=');
    if (!equal) {
        config_error(l->errors, place("--set"), "missing equal sign in \"%.*s\", write --set a.b.c=value", NAME_SHOWN,
                     set);
        return NULL;
    }
    const char *end = equal;
    while (isspace((unsigned char)*set))
        set++;
    while (end > set && isspace((unsigned char)end[-1]))
        end--;
    char *path = arena_copy_text(l->arena, set, (size_t)(end - set));
    const char *source = arena_format(l->arena, "--set %.*s", NAME_SHOWN, path);
    struct config_node *value = parse(l, bytes_from_text(equal + 1), source);
    return value ? nest(l, path, ".", place(source), value, 0) : NULL;
}

static const char *kind_name(const struct config_node *node)
{
    return node->kind == CONFIG_LIST ? "a list" : "text";
}

// An empty source adds nothing.
static void merge_source(struct loader *l, struct config_node **root, struct config_node *source)
{
    if (!source || source->kind == CONFIG_NULL)
        return;
    if (source->kind == CONFIG_MAP)
        *root = config_merge(l->arena, *root, source);
    else
        config_error(l->errors, source->at, "expected a map of keys at the top, found %s", kind_name(source));
}

bool config_load(struct config *c, const struct config_arguments *arguments, struct config_errors *errors)
{
    size_t errors_before = errors->error_count;
    *c = (struct config){0};
    arena_init(&c->arena, 0);
    struct loader l = {&c->arena, errors, &config_sources_system};
    if (arguments->config_count == 0)
        config_error(errors, place(NULL), "at least one config flag must be provided: --config FILE");
    for (size_t i = 0; i < arguments->config_count; i++)
        merge_source(&l, &c->root, load_source(&l, arguments->configs[i]));
    for (size_t i = 0; i < arguments->set_count; i++)
        merge_source(&l, &c->root, load_set(&l, arguments->sets[i]));
    if (c->root)
        config_expand(c->root, &c->arena, l.sources, errors);
    else if (errors->error_count == errors_before) {
        c->root = arena_alloc(&c->arena, sizeof *c->root);
        c->root->kind = CONFIG_MAP;
    }
    return errors->error_count == errors_before;
}

void config_fini(struct config *c)
{
    arena_fini(&c->arena);
    c->root = NULL;
}
