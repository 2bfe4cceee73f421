// SPDX-License-Identifier: Apache-2.0
// `profrelay import`: the engine with one receiver that reads what is named and one exporter.
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "exporters/exporters.h"
#include "receivers/import_summary.h"
#include "pipeline/main.h"
#include "pipeline/options.h"
#include "pipeline/service.h"
#include "receivers/import.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CONFIG = 4 << 20, MAX_LINE = 16 << 10 };

struct import_options {
    struct option_values to, service, attributes, headers, header_files, timestamp, retry_for, compression, format,
        dry_run, quiet, help;
};

struct import_run {
    struct import_options o;
    char **paths;
    int path_count;
    struct buf yaml;
    struct err e;
    struct import_summary summary;
};

// --- the configuration, written as YAML ---

static void add_quoted(struct buf *y, const char *text, size_t len)
{
    buf_add_byte(y, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            buf_add_format(y, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            buf_add_format(y, "\\x%02x", c);
        else
            buf_add_byte(y, c);
    }
    buf_add_byte(y, '"');
}

static void add_pair(struct buf *y, const char *key, size_t key_len, const char *value)
{
    buf_add_text(y, "      ");
    add_quoted(y, key, key_len);
    buf_add_text(y, ": ");
    add_quoted(y, value, strlen(value));
    buf_add_text(y, "\n");
}

static bool add_assignment(struct import_run *r, const char *option, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        err_set(&r->e, ERR_INVALID, "%s wants NAME=VALUE", option);
        return false;
    }
    add_pair(&r->yaml, text, (size_t)(equals - text), equals + 1);
    return true;
}

// "a=1,b=2" with %XX in the values, as OTEL_EXPORTER_OTLP_HEADERS and OTEL_RESOURCE_ATTRIBUTES have it.
static void add_list(struct buf *y, const char *list)
{
    while (list != NULL && *list != '\0') {
        char value[MAX_LINE];
        size_t len = strcspn(list, ","), name = strcspn(list, "="), used = 0;
        for (size_t i = name + 1; i < len && used + 1 < sizeof value; i++) {
            unsigned hex;
            if (list[i] == '%' && i + 2 < len && sscanf(list + i + 1, "%2x", &hex) == 1) {
                value[used++] = (char)hex;
                i += 2;
            } else {
                value[used++] = list[i];
            }
        }
        value[used] = '\0';
        while (*list == ' ')
            list++, len--, name--;
        if (name < len)
            add_pair(y, list, name, value);
        list += len + (list[len] == ',');
    }
}

static bool add_header_file(struct import_run *r, const char *path)
{
    FILE *f = fopen(path, "r");
    char line[MAX_LINE];
    if (f == NULL) {
        err_set(&r->e, ERR_INVALID, "cannot open the header file %s", path);
        return false;
    }
    while (fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        size_t name = strcspn(line, ":=");
        if (line[0] == '#' || line[0] == '\0')
            continue;
        if (line[name] == '\0' || name == 0) {
            err_set(&r->e, ERR_INVALID, "%s: each line is NAME: VALUE or NAME=VALUE", path);
            fclose(f);
            return false;
        }
        const char *value = line + name + 1;
        add_pair(&r->yaml, line, name, value + strspn(value, " \t"));
    }
    fclose(f);
    return true;
}

static bool add_headers(struct import_run *r)
{
    const char *env = getenv("OTEL_EXPORTER_OTLP_PROFILES_HEADERS");
    if (env == NULL)
        env = getenv("OTEL_EXPORTER_OTLP_HEADERS");
    buf_add_text(&r->yaml, "    headers:\n");
    if (r->o.headers.count == 0 && r->o.header_files.count == 0)
        add_list(&r->yaml, env);
    for (size_t i = 0; i < r->o.headers.count; i++)
        if (!add_assignment(r, "--header", r->o.headers.items[i]))
            return false;
    for (size_t i = 0; i < r->o.header_files.count; i++)
        if (!add_header_file(r, r->o.header_files.items[i]))
            return false;
    return true;
}

static bool add_receiver(struct import_run *r)
{
    const char *service = option_last(&r->o.service), *timestamp = option_last(&r->o.timestamp);
    if (service == NULL)
        service = getenv("OTEL_SERVICE_NAME");
    buf_add_text(&r->yaml, "receivers:\n  import:\n    paths:\n");
    for (int i = 0; i < r->path_count; i++) {
        buf_add_text(&r->yaml, "      - ");
        add_quoted(&r->yaml, r->paths[i], strlen(r->paths[i]));
        buf_add_text(&r->yaml, "\n");
    }
    buf_add_format(&r->yaml, "    dry_run: %s\n    timestamp: ", r->o.dry_run.count != 0 ? "true" : "false");
    add_quoted(&r->yaml, timestamp != NULL ? timestamp : "profile", strlen(timestamp != NULL ? timestamp : "profile"));
    buf_add_text(&r->yaml, "\n    resource_attributes:\n");
    if (service != NULL)
        add_pair(&r->yaml, "service.name", strlen("service.name"), service);
    for (size_t i = 0; i < r->o.attributes.count; i++)
        if (!add_assignment(r, "--attribute", r->o.attributes.items[i]))
            return false;
    return true;
}

static bool is_url(const char *to)
{
    return strncmp(to, "http://", 7) == 0 || strncmp(to, "https://", 8) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

// Where to: the option, else what OpenTelemetry's variables say.
static bool add_http(struct import_run *r, const char *to, bool whole)
{
    const char *retry_for = option_last(&r->o.retry_for), *compression = option_last(&r->o.compression);
    buf_add_format(&r->yaml, "exporters:\n  otlp_http:\n    %s: ", whole ? "profiles_endpoint" : "endpoint");
    add_quoted(&r->yaml, to, strlen(to));
    buf_add_text(&r->yaml, "\n    compression: ");
    add_quoted(&r->yaml, compression != NULL ? compression : "gzip",
               strlen(compression != NULL ? compression : "gzip"));
    buf_add_text(&r->yaml, "\n    retry_on_failure: {initial_interval: 500ms, max_interval: 5s, max_elapsed_time: ");
    add_quoted(&r->yaml, retry_for != NULL ? retry_for : "1m", strlen(retry_for != NULL ? retry_for : "1m"));
    buf_add_text(&r->yaml, "}\n");
    return add_headers(r);
}

static bool add_folder(struct import_run *r, const char *to)
{
    const char *format = option_last(&r->o.format);
    bool pprof = format != NULL && strcmp(format, "pprof") == 0;
    char path[MAX_LINE];
    if (format != NULL && !pprof && strcmp(format, "otlp") != 0) {
        err_set(&r->e, ERR_INVALID, "--format is otlp or pprof, found \"%s\"", format);
        return false;
    }
    snprintf(path, sizeof path, "%s%s", to, pprof ? "" : "/profiles.otlp");
    buf_add_format(&r->yaml, "exporters:\n  file:\n    create_directory: true\n    format: %s\n    path: ",
                   pprof ? "pprof" : "otlp_proto");
    add_quoted(&r->yaml, path, strlen(path));
    buf_add_text(&r->yaml, "\n");
    return true;
}

static bool add_exporter(struct import_run *r)
{
    const char *to = option_last(&r->o.to), *whole = getenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT");
    if (r->o.dry_run.count != 0) {
        buf_add_text(&r->yaml, "exporters:\n  nop:\n");
        return true;
    }
    if (to != NULL)
        return is_url(to) ? add_http(r, to, ends_with(to, "/v1development/profiles")) : add_folder(r, to);
    if (whole != NULL)
        return add_http(r, whole, true);
    to = getenv("OTEL_EXPORTER_OTLP_ENDPOINT");
    if (to != NULL)
        return add_http(r, to, false);
    err_set(&r->e, ERR_INVALID, "where to? give --to URL or --to DIR, or set OTEL_EXPORTER_OTLP_ENDPOINT");
    return false;
}

static bool make_config(struct import_run *r)
{
    if (!add_receiver(r) || !add_exporter(r))
        return false;
    buf_add_format(&r->yaml,
                   "service:\n  telemetry: {metrics: {level: none}, logs: {level: %s}}\n"
                   "  pipelines: {profiles: {receivers: [import], exporters: [%s]}}\n",
                   r->o.quiet.count != 0 ? "error" : "warn",
                   r->o.dry_run.count != 0                                                         ? "nop"
                   : memmem(r->yaml.data, r->yaml.len, "  otlp_http:\n", strlen("  otlp_http:\n")) ? "otlp_http"
                                                                                                   : "file");
    return buf_ok(&r->yaml);
}

// --- running it ---

static void on_ready(void *arg, struct service *s)
{
    struct import_run *r = arg;
    const struct import_observer observer = import_summary_observer(&r->summary);
    import_begin(service_component(s, KIND_RECEIVER, "import"), &observer);
}

static int run_plan(struct import_run *r, const struct plan *plan)
{
    const struct service_options options = {
        .plan = plan, .quiet = true, .handle_signals = true, .on_ready = on_ready, .arg = r};
    import_summary_init(&r->summary, r->o.dry_run.count != 0, r->o.quiet.count == 0 && isatty(STDERR_FILENO) != 0,
                        option_last(&r->o.timestamp));
    int code = service_run(&options);
    import_summary_print(&r->summary);
    return code != EXIT_OK ? code : import_summary_exit_code(&r->summary);
}

static int run_import(struct import_run *r)
{
    static const struct module *const receivers[] = {&import_receiver.module};
    const struct module_tables modules = {.kinds = {
                                              [KIND_RECEIVER] = {receivers, COUNT_OF(receivers)},
                                              [KIND_EXPORTER] = exporters_table,
                                          }};
    struct arena arena;
    struct config_errors errors;
    struct plan plan;
    int code = EXIT_USAGE;
    arena_init(&arena, 0);
    config_errors_init(&errors);
    const struct config_node *root = config_parse_yaml(&arena, buf_bytes(&r->yaml), NULL, &errors);
    if (root != NULL) {
        if (plan_make(&plan, &modules, root, &errors))
            code = run_plan(r, &plan);
        plan_fini(&plan);
    }
    config_errors_print(&errors, stderr);
    config_errors_fini(&errors);
    arena_fini(&arena);
    return code;
}

int command_import(const struct program *p, int argc, char **argv)
{
    (void)p;
    struct import_run r = {0};
    const struct option options[] = {
        {"to", "URL|DIR", "base URL of an OTLP/HTTP server, or a folder", &r.o.to},
        {"service", "NAME", "service.name of the profiles (OTEL_SERVICE_NAME)", &r.o.service},
        {"attribute", "K=V", "resource attribute; may be repeated", &r.o.attributes},
        {"header", "K=V", "HTTP header; may be repeated (OTEL_EXPORTER_OTLP_HEADERS)", &r.o.headers},
        {"header-file", "FILE", "HTTP headers, one a line: keeps secrets off the command line", &r.o.header_files},
        {"timestamp", "profile|file|now", "whose time the profiles get; default profile", &r.o.timestamp},
        {"retry-for", "1m", "how long an unreachable server is tried", &r.o.retry_for},
        {"compression", "gzip|zstd|none", "of the requests; default gzip", &r.o.compression},
        {"format", "otlp|pprof", "of the files in --to DIR; default otlp", &r.o.format},
        {"dry-run", NULL, "read everything, send nothing", &r.o.dry_run},
        {"quiet", NULL, "no progress, no warnings", &r.o.quiet},
        {"help", NULL, "this text", &r.o.help},
    };
    enum err_code rc = options_parse(options, COUNT_OF(options), argc, argv, &r.path_count, &r.e);
    r.paths = argv;
    if (rc == ERR_OK && r.o.help.count != 0) {
        printf("usage: profrelay import FILE|DIR... --to URL|DIR [OPTIONS]\n\n");
        options_print(options, COUNT_OF(options));
        return EXIT_OK;
    }
    if (rc == ERR_OK && r.path_count == 0)
        err_set(&r.e, ERR_INVALID, "name the files or folders to import");
    buf_init(&r.yaml, MAX_CONFIG);
    int code = EXIT_USAGE;
    if (r.e.code == ERR_OK && make_config(&r))
        code = run_import(&r);
    else
        fprintf(stderr, "profrelay import: %s\n", r.e.code != ERR_OK ? r.e.text : "too many files or options");
    buf_fini(&r.yaml);
    return code;
}
