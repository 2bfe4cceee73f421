// SPDX-License-Identifier: Apache-2.0
#include "pipeline/import_config.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

enum { MAX_PAIRS = 1000, MAX_LINE = 16 << 10 };

struct pair {
    const char *name, *value;
};

// Headers, or resource attributes.
struct pairs {
    struct arena *arena;
    struct pair items[MAX_PAIRS];
    size_t count;
    bool any_case; // of the names
};

struct writer {
    const struct import_options *o;
    struct buf *yaml;
    struct err *e;
    struct arena arena;
    const char *exporter;
};

static struct bytes trim(struct bytes text)
{
    while (text.len > 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
        text.data++, text.len--;
    while (text.len > 0 && strchr(" \t\r\n", text.data[text.len - 1]) != NULL)
        text.len--;
    return text;
}

// A variable that is set to nothing counts as not set.
static const char *from_environment(const char *name)
{
    const char *value = getenv(name);
    return value == NULL || value[0] == '\0' ? NULL : value;
}

static const char *or_default(const struct option_values *v, const char *value)
{
    return v->count != 0 ? option_last(v) : value;
}

// --- values as YAML ---

// YAML folds some characters beyond ASCII and refuses others: all of them are written as numbers.
static enum err_code add_quoted(struct writer *w, const char *what, const char *value)
{
    struct bytes rest = bytes_from_text(value);
    buf_add_byte(w->yaml, '"');
    while (rest.len != 0) {
        size_t len = utf8_char_len(rest);
        uint8_t c = rest.data[0];
        if (len == 0)
            return err_set(w->e, ERR_INVALID, "%s is not UTF-8%s", what,
                           strcmp(what, "a path") == 0 ? ": name the folder it is in" : "");
        if (len > 1)
            buf_add_format(w->yaml, "\\U%08x", utf8_code_point((struct bytes){rest.data, len}));
        else if (c < 0x20 || c == 0x7f)
            buf_add_format(w->yaml, "\\x%02x", c);
        else if (c == '"' || c == '\\')
            buf_add_format(w->yaml, "\\%c", c);
        else
            buf_add_byte(w->yaml, c);
        rest = (struct bytes){rest.data + len, rest.len - len};
    }
    buf_add_byte(w->yaml, '"');
    return ERR_OK;
}

static enum err_code add_line(struct writer *w, const char *key, const char *what, const char *value)
{
    buf_add_text(w->yaml, key);
    enum err_code rc = add_quoted(w, what, value);
    buf_add_byte(w->yaml, '\n');
    return rc;
}

static enum err_code add_pairs(struct writer *w, const char *key, const char *what, const struct pairs *pairs)
{
    buf_add_format(w->yaml, "    %s:\n", key);
    for (size_t i = 0; i < pairs->count; i++) {
        buf_add_text(w->yaml, "      ");
        if (add_quoted(w, what, pairs->items[i].name) != ERR_OK)
            return w->e->code;
        if (add_line(w, ": ", what, pairs->items[i].value) != ERR_OK)
            return w->e->code;
    }
    return ERR_OK;
}

// --- names and values ---

static enum err_code set_pair(struct writer *w, struct pairs *pairs, struct bytes name, struct bytes value)
{
    const char *n = arena_copy_text(pairs->arena, (const char *)name.data, name.len);
    size_t i = 0;
    while (i < pairs->count &&
           (pairs->any_case ? strcasecmp(pairs->items[i].name, n) : strcmp(pairs->items[i].name, n)) != 0)
        i++;
    if (i == MAX_PAIRS)
        return err_set(w->e, ERR_INVALID, "more than %d headers or attributes", MAX_PAIRS);
    pairs->count += i == pairs->count;
    pairs->items[i] = (struct pair){n, arena_copy_text(pairs->arena, (const char *)value.data, value.len)};
    return ERR_OK;
}

static enum err_code set_assignments(struct writer *w, struct pairs *pairs, const char *option,
                                     const struct option_values *values)
{
    for (size_t i = 0; i < values->count; i++) {
        const char *text = values->items[i], *equals = strchr(text, '=');
        if (equals == NULL || equals == text)
            return err_set(w->e, ERR_INVALID, "%s wants NAME=VALUE", option);
        struct bytes name = {(const uint8_t *)text, (size_t)(equals - text)};
        if (set_pair(w, pairs, name, bytes_from_text(equals + 1)) != ERR_OK)
            return w->e->code;
    }
    return ERR_OK;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// %XX as the byte it stands for; what only looks like it stays. Returns the length, at most that of text.
static size_t decode_percent(struct bytes text, uint8_t *out)
{
    size_t used = 0;
    for (size_t i = 0; i < text.len; i++) {
        bool is_code = text.data[i] == '%' && text.len - i > 2 && hex_digit(text.data[i + 1]) >= 0 &&
                       hex_digit(text.data[i + 2]) >= 0;
        if (is_code)
            out[used++] = (uint8_t)(hex_digit(text.data[i + 1]) << 4 | hex_digit(text.data[i + 2]));
        else
            out[used++] = text.data[i];
        i += is_code ? 2 : 0;
    }
    return used;
}

// "a=1, b=2" with %XX in the values, as OTEL_EXPORTER_OTLP_HEADERS has it. What is no pair is passed over.
static enum err_code set_list(struct writer *w, struct pairs *pairs, const char *variable, const char *list)
{
    while (list != NULL && *list != '\0') {
        size_t len = strcspn(list, ","), name_len = strcspn(list, "=");
        struct bytes name = trim((struct bytes){(const uint8_t *)list, name_len < len ? name_len : 0});
        if (name.len != 0) {
            struct bytes coded = trim((struct bytes){(const uint8_t *)list + name_len + 1, len - name_len - 1});
            uint8_t *value = arena_alloc(pairs->arena, coded.len + 1);
            size_t value_len = decode_percent(coded, value);
            if (memchr(value, '\0', value_len) != NULL)
                return err_set(w->e, ERR_INVALID, "%s: %%00 cannot be sent", variable);
            if (set_pair(w, pairs, name, (struct bytes){value, value_len}) != ERR_OK)
                return w->e->code;
        }
        list += len + (list[len] == ',');
    }
    return ERR_OK;
}

static enum err_code set_line(struct writer *w, struct pairs *pairs, const char *path, int number, const char *line)
{
    struct bytes text = trim(bytes_from_text(line));
    if (text.len == 0 || text.data[0] == '#')
        return ERR_OK;
    size_t name_len = 0;
    while (name_len < text.len && text.data[name_len] != ':' && text.data[name_len] != '=')
        name_len++;
    struct bytes name = trim((struct bytes){text.data, name_len});
    if (name.len == 0 || name_len == text.len)
        return err_set(w->e, ERR_INVALID, "%s:%d: each line is NAME: VALUE or NAME=VALUE", path, number);
    return set_pair(w, pairs, name, trim((struct bytes){text.data + name_len + 1, text.len - name_len - 1}));
}

static enum err_code set_lines(struct writer *w, struct pairs *pairs, const char *path, FILE *f)
{
    char line[MAX_LINE];
    for (int number = 1; fgets(line, sizeof line, f) != NULL; number++) {
        if (strlen(line) + 1 == sizeof line)
            return err_set(w->e, ERR_INVALID, "%s:%d: the line is longer than %d bytes", path, number, MAX_LINE - 2);
        if (set_line(w, pairs, path, number, line) != ERR_OK)
            return w->e->code;
    }
    return ferror(f) != 0 ? err_set(w->e, ERR_INVALID, "cannot read the header file %s: %s", path, strerror(errno))
                          : ERR_OK;
}

static enum err_code set_header_files(struct writer *w, struct pairs *pairs)
{
    for (size_t i = 0; i < w->o->header_files.count; i++) {
        const char *path = w->o->header_files.items[i];
        FILE *f = fopen(path, "re");
        if (f == NULL)
            return err_set(w->e, ERR_INVALID, "cannot open the header file %s: %s", path, strerror(errno));
        enum err_code rc = set_lines(w, pairs, path, f);
        fclose(f);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

// --- the sections ---

static enum err_code add_headers(struct writer *w)
{
    struct pairs *pairs = arena_alloc(&w->arena, sizeof *pairs);
    pairs->arena = &w->arena;
    pairs->any_case = true;
    enum err_code rc = ERR_OK;
    const char *variable = "OTEL_EXPORTER_OTLP_PROFILES_HEADERS";
    if (from_environment(variable) == NULL)
        variable = "OTEL_EXPORTER_OTLP_HEADERS";
    if (w->o->headers.count == 0 && w->o->header_files.count == 0)
        rc = set_list(w, pairs, variable, from_environment(variable));
    if (rc == ERR_OK)
        rc = set_header_files(w, pairs);
    if (rc == ERR_OK)
        rc = set_assignments(w, pairs, "--header", &w->o->headers);
    return rc == ERR_OK ? add_pairs(w, "headers", "a header", pairs) : rc;
}

static enum err_code set_service(struct writer *w, struct pairs *pairs, const char *service)
{
    return service == NULL ? ERR_OK : set_pair(w, pairs, BYTES_LITERAL("service.name"), bytes_from_text(service));
}

static enum err_code add_attributes(struct writer *w)
{
    struct pairs *pairs = arena_alloc(&w->arena, sizeof *pairs);
    pairs->arena = &w->arena;
    enum err_code rc = set_service(w, pairs, from_environment("OTEL_SERVICE_NAME"));
    if (rc == ERR_OK)
        rc = set_assignments(w, pairs, "--attribute", &w->o->attributes);
    if (rc == ERR_OK)
        rc = set_service(w, pairs, option_last(&w->o->service));
    return rc == ERR_OK ? add_pairs(w, "resource_attributes", "an attribute", pairs) : rc;
}

// How files are read: only what was said.
static enum err_code add_reading(struct writer *w)
{
    const struct input_options *o = &w->o->input;
    const struct {
        const struct option_values *values;
        const char *key, *option;
    } lines[] = {
        {&w->o->match, "    match: ", "--match"},
        {&o->from, "    format: ", "--from"},
        {&o->sample_type, "    sample_type: ", "--sample-type"},
        {&o->sample_unit, "    sample_unit: ", "--sample-unit"},
    };
    struct folded_options folded;
    enum err_code rc = input_folded_options(o, &folded, w->e);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (rc == ERR_OK && lines[i].values->count != 0)
            rc = add_line(w, lines[i].key, lines[i].option, option_last(lines[i].values));
    if (folded.sample_rate != 0)
        buf_add_format(w->yaml, "    sample_rate: %.17g\n", folded.sample_rate);
    if (folded.leaf_first)
        buf_add_text(w->yaml, "    leaf_first: true\n");
    if (folded.missing_count_is_one)
        buf_add_text(w->yaml, "    missing_count_is_one: true\n");
    return rc;
}

static enum err_code add_receiver(struct writer *w, char *const *paths, int path_count)
{
    enum err_code rc = ERR_OK;
    buf_add_text(w->yaml, "receivers:\n  import:\n    paths:\n");
    for (int i = 0; rc == ERR_OK && i < path_count; i++)
        rc = add_line(w, "      - ", "a path", paths[i]);
    buf_add_format(w->yaml, "    dry_run: %s\n", w->o->dry_run.count != 0 ? "true" : "false");
    if (rc == ERR_OK)
        rc = add_line(w, "    timestamp: ", "--timestamp", or_default(&w->o->timestamp, "profile"));
    if (rc == ERR_OK)
        rc = add_reading(w);
    return rc == ERR_OK ? add_attributes(w) : rc;
}

static bool is_url(const char *to)
{
    return strncasecmp(to, "http://", 7) == 0 || strncasecmp(to, "https://", 8) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

static enum err_code add_http(struct writer *w, const char *to, bool whole)
{
    w->exporter = "otlp_http";
    buf_add_text(w->yaml, "exporters:\n  otlp_http:\n");
    enum err_code rc = add_line(w, whole ? "    profiles_endpoint: " : "    endpoint: ", "the endpoint", to);
    if (rc == ERR_OK)
        rc = add_line(w, "    compression: ", "--compression", or_default(&w->o->compression, "gzip"));
    buf_add_text(w->yaml, "    retry_on_failure:\n      initial_interval: 500ms\n      max_interval: 5s\n");
    if (rc == ERR_OK)
        rc = add_line(w, "      max_elapsed_time: ", "--retry-for", or_default(&w->o->retry_for, "1m"));
    return rc == ERR_OK ? add_headers(w) : rc;
}

// "localhost:4318", "grpc://x": somebody means a server, and would find a folder of that name.
static bool is_like_url(const char *to)
{
    const char *colon = strrchr(to, ':');
    return strstr(to, "://") != NULL ||
           (colon != NULL && colon != to && colon[1] != '\0' && colon[1 + strspn(colon + 1, "0123456789")] == '\0');
}

// What --format means to the file exporter: messages in one file, or a file for each profile.
static const struct file_format {
    const char *name, *exporter, *name_in_folder;
} file_formats[] = {
    {"otlp_proto", "otlp_proto", "/profiles.otlp"},
    {"otlp_json", "otlp_json", "/profiles.jsonl"},
    {"pprof", "pprof", ""},
    {"folded", "folded", ""},
    {"otlp", "otlp_proto", "/profiles.otlp"}, // as it was called first
};

const char *import_file_format(size_t i)
{
    return i < COUNT_OF(file_formats) ? file_formats[i].name : NULL;
}

static const struct file_format *find_file_format(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(file_formats); i++)
        if (strcmp(file_formats[i].name, name) == 0)
            return &file_formats[i];
    return NULL;
}

static enum err_code add_folder(struct writer *w, const char *to)
{
    if (is_like_url(to) && to[0] != '/' && to[0] != '.')
        return err_set(w->e, ERR_INVALID,
                       "--to: a URL begins with http:// or https://; a folder of that name is written ./NAME");
    const struct file_format *format = find_file_format(or_default(&w->o->format, "otlp_proto"));
    if (format == NULL)
        return err_set(w->e, ERR_INVALID, "--format names no format of files in a folder");
    w->exporter = "file";
    buf_add_format(w->yaml, "exporters:\n  file:\n    create_directory: true\n    format: %s\n", format->exporter);
    return add_line(w, "    path: ", "--to", arena_format(&w->arena, "%s%s", to, format->name_in_folder));
}

// Where to: the option, else what OpenTelemetry's variables say.
static enum err_code add_exporter(struct writer *w)
{
    const char *to = option_last(&w->o->to), *whole = from_environment("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT");
    const char *base = from_environment("OTEL_EXPORTER_OTLP_ENDPOINT");
    if (w->o->dry_run.count != 0) {
        w->exporter = "nop";
        buf_add_text(w->yaml, "exporters:\n  nop:\n");
        return ERR_OK;
    }
    if (to != NULL && to[0] == '\0')
        return err_set(w->e, ERR_INVALID, "--to is empty: give a URL or a folder");
    if (to != NULL)
        return is_url(to) ? add_http(w, to, ends_with(to, "/v1development/profiles")) : add_folder(w, to);
    if (whole != NULL)
        return add_http(w, whole, true);
    if (base != NULL)
        return add_http(w, base, false);
    return err_set(w->e, ERR_INVALID, "where to? give --to URL or --to DIR, or set OTEL_EXPORTER_OTLP_ENDPOINT");
}

static enum err_code write_all(struct writer *w, char *const *paths, int path_count)
{
    enum err_code rc = add_receiver(w, paths, path_count);
    if (rc == ERR_OK)
        rc = add_exporter(w);
    if (rc != ERR_OK)
        return rc;
    buf_add_format(w->yaml,
                   "service:\n  telemetry: {metrics: {level: none}, logs: {level: %s}}\n"
                   "  pipelines: {profiles: {receivers: [import], exporters: [%s]}}\n",
                   w->o->quiet.count != 0 ? "error" : "warn", w->exporter);
    return buf_ok(w->yaml)
               ? ERR_OK
               : err_set(w->e, ERR_LIMIT, "the files and options named take more than %zu bytes: name folders instead",
                         w->yaml->max_bytes);
}

enum err_code import_config_write(const struct import_options *o, char *const *paths, int path_count, struct buf *yaml,
                                  struct err *e)
{
    struct writer w = {.o = o, .yaml = yaml, .e = e};
    arena_init(&w.arena, 0);
    enum err_code rc = write_all(&w, paths, path_count);
    arena_fini(&w.arena);
    return rc;
}
