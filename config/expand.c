// SPDX-License-Identifier: Apache-2.0
// ${env:VAR:-default}, ${VAR}, ${file:PATH}, ${yaml:TEXT}, nested, and $$. A value that is one reference and
// nothing else takes the type its text has in YAML; inside longer text it stays text.
#include "base/limits.h"
#include "config/internal.h"

enum { VALUE_BYTES_MAX = 4 * LIMIT_CONFIG_BYTES }; // of all references together

struct expander {
    struct arena *arena;
    struct config_errors *errors;
    const struct config_sources *sources;
    struct config_position at; // of the scalar at hand
    size_t nodes_left, bytes_left;
    size_t rounds; // of the scalar at hand and of what came out of it
    int nesting;
    bool mute; // the same text is expanded a second time
    bool secret;
};

struct retrieved {
    const char *text;   // never NULL
    const char *origin; // "${env:NAME}"
    bool verbatim;      // an empty default is a string, not null
};

// Is false.
#define COMPLAIN(x, ...) ((x)->mute ? (void)0 : config_error((x)->errors, (x)->at, __VA_ARGS__), false)

static bool expand_text(struct expander *x, const char **cursor, bool in_body, bool keep_dollars, struct buf *out);
static bool expand_node(struct expander *x, struct config_node *node, int depth);

static bool retrieve_env(struct expander *x, const char *spec, struct retrieved *out)
{
    const char *fallback = strstr(spec, ":-");
    const char *name = fallback ? arena_copy_text(x->arena, spec, (size_t)(fallback - spec)) : spec;
    if (!config_env_name_valid(name))
        return COMPLAIN(x, "\"%s\" cannot name an environment variable; write $${ for a literal ${", name);
    const char *value = x->sources->env_value(x->sources->arg, name);
    out->origin = arena_format(x->arena, "${env:%s}", name);
    out->text = value ? value : fallback ? fallback + 2 : "";
    out->verbatim = !value && fallback && fallback[2] == '\0';
    x->secret |= config_key_is_secret(name);
    if (!value && !fallback && !x->mute)
        config_warning(x->errors, x->at,
                       "Configuration references unset environment variable \"%s\": the value is empty", name);
    return true;
}

static bool retrieve_file(struct expander *x, const char *path, struct retrieved *out)
{
    struct buf text;
    struct err e = {0};
    buf_init(&text, LIMIT_CONFIG_BYTES + CONFIG_READ_STEP);
    out->origin = arena_format(x->arena, "${file:%s}", path);
    bool ok = x->sources->read_file(x->sources->arg, path, &text, &e);
    if (!ok)
        ok = COMPLAIN(x, "${file:%s}: %s", path, e.text);
    else if (text.len > 0 && memchr(text.data, 0, text.len)) {
        ok = COMPLAIN(x, "${file:%s}: the file holds a NUL byte, so it is no text", path);
    } else {
        if (text.len > 0 && text.data[text.len - 1] == '\n')
            text.len--;
        if (text.len > 0 && text.data[text.len - 1] == '\r')
            text.len--;
        out->text = arena_copy_text(x->arena, text.len ? (const char *)text.data : "", text.len);
        x->secret = true;
    }
    buf_fini(&text);
    return ok;
}

static bool retrieve_scheme(struct expander *x, const char *body, size_t scheme_len, struct retrieved *out)
{
    struct bytes scheme = {(const uint8_t *)body, scheme_len};
    const char *rest = body + scheme_len + 1;
    if (bytes_equal_text(scheme, "env"))
        return retrieve_env(x, rest, out);
    if (bytes_equal_text(scheme, "file"))
        return retrieve_file(x, rest, out);
    if (bytes_equal_text(scheme, "yaml")) {
        *out = (struct retrieved){.text = rest, .origin = "${yaml:...}"};
        return true;
    }
    if (bytes_equal_text(scheme, "http") || bytes_equal_text(scheme, "https"))
        return COMPLAIN(x, "${%.*s:...} is not read: fetch it with curl and use ${file:PATH}", BYTES_PRINT(scheme));
    if (strncmp(rest, "-", 1) == 0) // ${VAR:-default}
        return retrieve_env(x, body, out);
    return COMPLAIN(x, "unsupported scheme on URI \"%.*s:...\"; known are env, file and yaml", BYTES_PRINT(scheme));
}

// body is what stands between ${ and }, with the references in it already replaced.
static bool retrieve(struct expander *x, const char *body, struct retrieved *out)
{
    size_t scheme_len = config_scheme_length(body);
    *out = (struct retrieved){0};
    if (++x->rounds > LIMIT_CONFIG_EXPANSIONS)
        return COMPLAIN(x, "too many recursive expansions (more than %d): a reference leads to itself",
                        LIMIT_CONFIG_EXPANSIONS);
    if (!(scheme_len > 0 ? retrieve_scheme(x, body, scheme_len, out) : retrieve_env(x, body, out)))
        return false;
    size_t len = strlen(out->text);
    if (len > LIMIT_CONFIG_BYTES || len > x->bytes_left)
        return COMPLAIN(x, "%s: %zu bytes, allowed are %d for one value and %d for all", out->origin, len,
                        LIMIT_CONFIG_BYTES, VALUE_BYTES_MAX);
    x->bytes_left -= len;
    return true;
}

// From behind "${" to behind "}"; the text between, as a string of the arena.
static bool read_body(struct expander *x, const char **cursor, const char **body_out)
{
    struct buf body;
    buf_init(&body, LIMIT_CONFIG_BYTES);
    bool ok = expand_text(x, cursor, true, true, &body);
    if (ok && **cursor != '}')
        ok = COMPLAIN(x, "a ${ is not closed with }; write $${ for a literal ${");
    if (ok) {
        ++*cursor;
        *body_out = arena_copy_text(x->arena, body.len ? (const char *)body.data : "", body.len);
    }
    buf_fini(&body);
    return ok;
}

static bool expand_reference(struct expander *x, const char **cursor, bool keep_dollars, struct buf *out)
{
    const char *body;
    struct retrieved value;
    if (!read_body(x, cursor, &body) || !retrieve(x, body, &value))
        return false;
    const char *text = value.text;
    return expand_text(x, &text, false, keep_dollars, out);
}

// Up to the end, or up to the } that closes the body. In a body $$ stays: its value is expanded once more.
static bool expand_text(struct expander *x, const char **cursor, bool in_body, bool keep_dollars, struct buf *out)
{
    bool ok = true;
    if (x->nesting >= LIMIT_CONFIG_EXPANSIONS)
        return COMPLAIN(x, "too many recursive expansions (more than %d): a reference leads to itself",
                        LIMIT_CONFIG_EXPANSIONS);
    x->nesting++;
    while (ok && **cursor && !(in_body && **cursor == '}')) {
        if (strncmp(*cursor, "${", 2) == 0) {
            *cursor += 2;
            ok = expand_reference(x, cursor, keep_dollars, out);
            continue;
        }
        size_t len = strncmp(*cursor, "$$", 2) == 0 ? 2 : 1 + strcspn(*cursor + 1, in_body ? "$}" : "$");
        bool escaped = len == 2 && (*cursor)[0] == '$' && (*cursor)[1] == '$';
        buf_add(out, *cursor, escaped && !keep_dollars ? 1 : len);
        *cursor += len;
        if (!buf_ok(out))
            ok = COMPLAIN(x, "the value with its references replaced is larger than %zu bytes", out->max_bytes);
    }
    x->nesting--;
    return ok;
}

// NULL after an error.
static const char *expand_whole_text(struct expander *x, const char *text)
{
    struct buf out;
    const char *result = NULL;
    buf_init(&out, LIMIT_CONFIG_BYTES);
    if (expand_text(x, &text, false, false, &out))
        result = arena_copy_text(x->arena, out.len ? (const char *)out.data : "", out.len);
    buf_fini(&out);
    return result;
}

// True if text is "${...}" and the last } closes the first {.
static bool is_one_reference(const char *text)
{
    size_t open = 0;
    if (strncmp(text, "${", 2) != 0)
        return false;
    for (const char *p = text; *p; p++) {
        if (p[0] == '$' && (p[1] == '$' || p[1] == '{')) {
            open += p[1] == '{';
            p++;
        } else if (*p == '}' && --open == 0)
            return p[1] == '\0';
    }
    return false;
}

static bool holds_reference(const char *text)
{
    for (const char *p = strchr(text, '$'); p && *p; p++) {
        if (p[0] == '$' && p[1] == '{')
            return true;
        if (p[0] == '$' && p[1] == '$')
            p++;
    }
    return false;
}

// Puts the value into the node as YAML reads it; what is no YAML is a string.
static void assign(struct expander *x, struct config_node *node, const struct retrieved *value, int depth)
{
    bool clean = false;
    struct yaml_request request = {.arena = x->arena,
                                   .text = bytes_from_text(value->text),
                                   .source = node->at.source,
                                   .fixed_at = node->at,
                                   .depth = depth,
                                   .nodes_left = &x->nodes_left};
    struct config_node *parsed = value->verbatim ? NULL : config_read_yaml(&request, &clean);
    const char *origin = node->origin ? node->origin : value->origin;
    struct config_position at = node->at;
    *node = clean ? *parsed : (struct config_node){.kind = CONFIG_SCALAR, .quoted = true};
    node->at = at;
    node->origin = origin;
    node->original = arena_copy_text(x->arena, value->text, strlen(value->text));
    if (node->kind == CONFIG_SCALAR && node->quoted)
        node->text = node->original;
}

static bool expand_children(struct expander *x, struct config_node *node, int depth)
{
    bool ok = true;
    for (size_t i = 0; i < node->count; i++) {
        struct config_node *child = node->kind == CONFIG_LIST ? node->items[i] : node->entries[i].value;
        if (!child->origin)
            child->origin = node->origin;
        ok &= expand_node(x, child, depth + 1);
    }
    return ok;
}

static bool expand_longer_text(struct expander *x, struct config_node *node)
{
    bool same = node->original && strcmp(node->original, node->text) == 0;
    node->quoted |= holds_reference(node->text);
    node->text = expand_whole_text(x, node->text);
    if (same)
        node->original = node->text;
    return node->text != NULL;
}

// Strings get the text itself: its references are replaced too, silently, for the typed form has told.
static void expand_original(struct expander *x, struct config_node *node)
{
    if (!node->original || !strchr(node->original, '$'))
        return;
    bool mute = x->mute;
    x->mute = true;
    node->original = expand_whole_text(x, node->original);
    x->mute = mute;
}

static bool expand_scalar(struct expander *x, struct config_node *node, int depth)
{
    while (node->kind == CONFIG_SCALAR && is_one_reference(node->text)) {
        const char *cursor = node->text + 2, *body;
        struct retrieved value;
        if (!read_body(x, &cursor, &body) || !retrieve(x, body, &value))
            return false;
        assign(x, node, &value, depth);
    }
    if (node->kind == CONFIG_SCALAR)
        return !strchr(node->text, '$') || expand_longer_text(x, node);
    if (!expand_children(x, node, depth))
        return false;
    expand_original(x, node);
    return true;
}

static bool expand_top_scalar(struct expander *x, struct config_node *node, int depth)
{
    bool outermost = x->nesting == 0;
    bool secret = x->secret;
    if (outermost)
        x->rounds = 0;
    x->at = node->at;
    x->secret = false;
    x->nesting++;
    bool ok = expand_scalar(x, node, depth);
    x->nesting--;
    node->secret |= x->secret && (node->kind == CONFIG_SCALAR || node->kind == CONFIG_NULL);
    x->secret = secret;
    if (!ok) // an error was added: what remains must not cause a second one
        *node = (struct config_node){.kind = CONFIG_NULL, .at = node->at};
    return ok;
}

static bool expand_node(struct expander *x, struct config_node *node, int depth)
{
    if (node->kind == CONFIG_SCALAR)
        return !strchr(node->text, '$') || expand_top_scalar(x, node, depth);
    return expand_children(x, node, depth);
}

bool config_expand(struct config_node *root, struct arena *arena, const struct config_sources *sources,
                   struct config_errors *errors)
{
    struct expander x = {.arena = arena,
                         .errors = errors,
                         .sources = sources,
                         .nodes_left = LIMIT_CONFIG_NODES,
                         .bytes_left = VALUE_BYTES_MAX};
    return expand_node(&x, root, 0);
}
