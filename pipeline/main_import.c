// SPDX-License-Identifier: Apache-2.0
// `profrelay import`: the engine with one receiver that reads what is named and one exporter.
#include "base/buf.h"
#include "exporters/exporters.h"
#include "pipeline/import_config.h"
#include "pipeline/main.h"
#include "pipeline/service.h"
#include "receivers/import_summary.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MAX_CONFIG = 4 << 20 };

struct import_run {
    struct import_options o;
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
    bool quiet = r->o.quiet.count != 0;
    import_summary_init(&r->summary, r->o.dry_run.count != 0, !quiet && isatty(STDERR_FILENO) != 0,
                        !quiet && goes_to_server_with_own_time(&r->o));
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
    if (r.e.code == ERR_OK && import_config_write(&r.o, r.paths, r.path_count, &r.yaml, &r.e) == ERR_OK)
        code = run_import(&r);
    else
        fprintf(stderr, "profrelay import: %s\n", r.e.text);
    buf_fini(&r.yaml);
    return code;
}
