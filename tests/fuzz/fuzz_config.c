// SPDX-License-Identifier: Apache-2.0
// YAML text to tree, expansion without environment or files, a table of every field type, and the tree as
// text again, which must read back.
#include "base/limits.h"
#include "config/fields.h"
#include "config/internal.h"
#include "config/load.h"

#include <stdio.h>
#include <stdlib.h>

struct inner {
    const char *name;
    int64_t count;
};

struct settings {
    bool enabled;
    int64_t count, timeout_nanos;
    double ratio;
    uint64_t size_bytes;
    const char *text, *secret;
    int choice;
    struct config_strings strings;
    struct config_pairs pairs;
    struct config_attributes attributes;
    struct config_any any;
    struct inner inner;
    bool inner_given;
    struct config_structs list;
};

static const char *const choices[] = {"one", "two", NULL};

static const struct field inner_fields[] = {
    {.name = "name", .type = FIELD_STRING, .offset = offsetof(struct inner, name), .required = true},
    {.name = "count", .type = FIELD_INT, .offset = offsetof(struct inner, count), .min = 1, .max = 9},
    {0},
};

#define ROW(key, kind, member) .name = key, .type = kind, .offset = offsetof(struct settings, member)

static const struct field fields[] = {
    {ROW("b", FIELD_BOOL, enabled), .default_text = "true"},
    {ROW("i", FIELD_INT, count), .min = -5, .max = 1000},
    {ROW("d", FIELD_DOUBLE, ratio)},
    {ROW("t", FIELD_DURATION, timeout_nanos), .min = 1, .max = 1e12},
    {ROW("z", FIELD_SIZE, size_bytes), .min = 1},
    {ROW("s", FIELD_STRING, text)},
    {ROW("token", FIELD_SECRET, secret)},
    {ROW("e", FIELD_ENUM, choice), .names = choices},
    {ROW("l", FIELD_STRING_LIST, strings), .default_text = "[a, b]"},
    {ROW("headers", FIELD_STRING_MAP, pairs)},
    {ROW("a", FIELD_ATTRIBUTES, attributes)},
    {ROW("v", FIELD_ANY, any)},
    {ROW("n", FIELD_STRUCT, inner), .fields = inner_fields,
     .present_offset = 1 + offsetof(struct settings, inner_given)},
    {ROW("m", FIELD_STRUCT_LIST, list), .fields = inner_fields, .struct_size = sizeof(struct inner)},
    {.name = "g", .type = FIELD_IGNORED},
    {0},
};

// A few fixed values, so that expansion goes on from what it gets.
static const char *env_value(void *arg, const char *name)
{
    (void)arg;
    switch (name[0]) {
    case 'A':
        return "{i: 5, s: '${B}'}";
    case 'B':
        return "x$$y${C}";
    case 'C':
        return "0123";
    case 'D':
        return "${D}${D}";
    case 'E':
        return "[${E}, '${C}', \"${E}\"]";
    default:
        return NULL;
    }
}

static bool read_file(void *arg, const char *path, struct buf *text, struct err *e)
{
    (void)arg;
    if (path[0] == '/') {
        err_set(e, ERR_IO, "cannot open");
        return false;
    }
    buf_add_text(text, path);
    return buf_ok(text);
}

static char *print(const struct config_node *root, bool redact, size_t *len_out)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, len_out);
    CHECK(out != NULL);
    config_print(root, redact, out);
    CHECK(fclose(out) == 0);
    return text;
}

static void check_reads_back(const struct config_node *root, struct arena *arena)
{
    size_t len, redacted_len, again_len;
    const struct config_sources sources = {env_value, read_file, NULL};
    if (root->kind != CONFIG_MAP)
        return;
    char *text = print(root, false, &len);
    free(print(root, true, &redacted_len));
    if (len < LIMIT_CONFIG_BYTES / 2) {
        struct config_node *again = config_parse_yaml(arena, (struct bytes){(uint8_t *)text, len}, "again", NULL);
        CHECK(again != NULL);
        CHECK(config_expand(again, arena, &sources, NULL));
        char *text_again = print(again, false, &again_len);
        CHECK(len == again_len && memcmp(text, text_again, len) == 0);
        free(text_again);
    }
    free(text);
}

static void check_messages(const struct config_errors *errors)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    CHECK(out != NULL);
    config_errors_print(errors, out);
    CHECK(fclose(out) == 0);
    for (size_t i = 0; i < len; i++)
        CHECK(text[i] == '\n' || (unsigned char)text[i] >= 0x20);
    free(text);
}

// Two sources, when a NUL byte (which no YAML holds) parts them.
static struct config_node *parse(struct arena *arena, struct bytes text, struct config_errors *errors)
{
    const uint8_t *end = text.len ? memchr(text.data, 0, text.len) : NULL;
    struct bytes first = {text.data, end ? (size_t)(end - text.data) : text.len};
    struct config_node *root = config_parse_yaml(arena, first, "fuzz", errors);
    CHECK((root != NULL) == (errors->error_count == 0));
    if (!root || !end)
        return root;
    struct bytes second = {end + 1, text.len - first.len - 1};
    struct config_node *later = config_parse_yaml(arena, second, "later", errors);
    return later ? config_merge(arena, root, later) : root;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct config_errors errors;
    struct settings settings;
    const struct config_sources sources = {env_value, read_file, NULL};
    arena_init(&arena, 0);
    config_errors_init(&errors);
    struct config_node *root = parse(&arena, (struct bytes){data, size}, &errors);
    if (root) {
        size_t errors_before = errors.error_count;
        bool expanded = config_expand(root, &arena, &sources, &errors);
        CHECK(expanded == (errors.error_count == errors_before));
        struct field_target target = {fields, &settings};
        if (!fields_decode(&target, 1, root, root->at, "fuzz", &arena, &errors))
            CHECK(errors.error_count > errors_before);
        if (!config_get_path(root, "n::name"))
            fields_error(root, root->at, "fuzz", "m[1].name", &errors, "none");
        check_reads_back(root, &arena);
    }
    check_messages(&errors);
    config_errors_fini(&errors);
    arena_fini(&arena);
    return 0;
}
