// SPDX-License-Identifier: Apache-2.0
// `profrelay import`: the engine with one receiver that reads what is named and one exporter.
#include "base/buf.h"
#include "exporters/exporters.h"
#include "pipeline/import_config.h"
#include "pipeline/main.h"
#include "pipeline/service.h"
#include "receivers/import_summary.h"
#include "receivers/path_attributes.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MAX_CONFIG = 4 << 20 };

struct import_run {
    const struct import_options *o;
    char **paths;
    int path_count;
    struct buf yaml;
    struct err e;
    struct import_summary summary;
};

static void on_ready(void *arg, struct service *s)
{
    struct import_run *r = arg;
    const struct import_observer observer = import_summary_observer(&r->summary);
    import_begin(service_component(s, KIND_RECEIVER, "import"), &observer);
}

static bool goes_to_server_with_own_time(const struct import_options *o)
{
    const char *to = option_last(&o->to), *timestamp = option_last(&o->timestamp);
    return (to == NULL || strncasecmp(to, "http", 4) == 0) && (timestamp == NULL || strcmp(timestamp, "profile") == 0);
}

static int run_plan(struct import_run *r, const struct plan *plan)
{
    const struct service_options options = {
        .plan = plan, .quiet = true, .handle_signals = true, .on_ready = on_ready, .arg = r};
    bool quiet = r->o->quiet.count != 0;
    import_summary_init(&r->summary, r->o->dry_run.count != 0, !quiet && isatty(STDERR_FILENO) != 0,
                        !quiet && goes_to_server_with_own_time(r->o));
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

// Wrong usage is said before anything starts.
static enum err_code check_match(const struct import_options *o, struct err *e)
{
    struct path_attributes *match = NULL;
    const char *pattern = option_last(&o->match);
    if (pattern != NULL && path_attributes_create(pattern, &match, e) != ERR_OK)
        err_prefix(e, "--match");
    path_attributes_destroy(&match);
    return e->code;
}

static int run(const struct command_line *line)
{
    struct import_run r = {.o = line->options, .paths = line->arguments, .path_count = line->argument_count};
    buf_init(&r.yaml, MAX_CONFIG);
    int code =
        check_match(r.o, &r.e) == ERR_OK && import_config_write(r.o, r.paths, r.path_count, &r.yaml, &r.e) == ERR_OK
            ? run_import(&r)
            : command_fail(line, EXIT_USAGE, &r.e);
    buf_fini(&r.yaml);
    return code;
}

#define AT(member) offsetof(struct import_options, member)

static const struct option rows[] = {
    {.name = "to",
     .letter = 't',
     .files = true,
     .value = "URL|DIR",
     .help = "base URL of an OTLP/HTTP server, or a folder",
     .offset = AT(to)},
    {.name = "service",
     .value = "NAME",
     .help = "service.name of the profiles (OTEL_SERVICE_NAME)",
     .offset = AT(service)},
    {.name = "attribute", .value = "K=V", .help = "resource attribute; may be repeated", .offset = AT(attributes)},
    {.name = "match",
     .value = "RE",
     .help = "named groups found in a file's path become resource attributes: '(?P<service>[^/]+)/'",
     .offset = AT(match)},
    {.name = "header",
     .value = "K=V",
     .help = "HTTP header; may be repeated (OTEL_EXPORTER_OTLP_HEADERS)",
     .offset = AT(headers)},
    {.name = "header-file",
     .files = true,
     .value = "FILE",
     .help = "HTTP headers, one a line: keeps secrets off the command line",
     .offset = AT(header_files)},
    {.name = "timestamp",
     .value = "profile|file|now",
     .help = "whose time the profiles get; default profile",
     .offset = AT(timestamp)},
    {.name = "retry-for",
     .value = "DURATION",
     .help = "how long an unreachable server is tried; default 1m",
     .offset = AT(retry_for)},
    {.name = "compression",
     .value = "gzip|zstd|none",
     .help = "of the requests; default gzip",
     .offset = AT(compression)},
    {.name = "format",
     .value = "FORMAT",
     .choice = import_file_format,
     .help = "of the files in --to DIR; default otlp_proto",
     .offset = AT(format)},
    INPUT_OPTIONS,
    {.name = "dry-run", .help = "read everything, send nothing", .offset = AT(dry_run)},
    {.name = "quiet", .letter = 'q', .help = "no progress, no warnings", .offset = AT(quiet)},
};

static const struct command_example examples[] = {
    {"profrelay import profiles/ --to http://localhost:4040 --service checkout --timestamp now",
     "a folder to Pyroscope"},
    {"profrelay import cpu.pb.gz --to https://otlp.example.com --header-file token.headers", "a file, with a secret"},
    {"profrelay import dump/ --to http://localhost:4318 --match 'dump/(?P<service>[^/]+)/'",
     "a folder for each service"},
    {NULL, NULL},
};

const struct command import_command = {
    .name = "import",
    .arguments = "FILE|DIR|-... --to URL|DIR",
    .help = "send profiles that lie on disk, once",
    .text = "Every format that is read can be sent. A folder stands for every file below it.",
    .options = OPTION_TABLE(rows),
    .options_size = sizeof(struct import_options),
    .examples = examples,
    .min_arguments = 1,
    .max_arguments = -1,
    .files = true,
    .run = run,
};
