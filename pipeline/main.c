// SPDX-License-Identifier: Apache-2.0
// The program: which modules and which commands there are, and which one was asked for.
#include "pipeline/main.h"

#include "exporters/exporters.h"
#include "extensions/extensions.h"
#include "pipeline/manual.h"
#include "processors/processors.h"
#include "receivers/receivers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {
    &run_command, &validate_command,   &print_config_command, &components_command, &import_command, &convert_command,
    &top_command, &flamegraph_command, &diff_command,         &show_command,       &help_command,   &completion_command,
    NULL,
};

static enum err_code check_arguments(const struct command *c, int count, struct err *e)
{
    if (count < c->min_arguments)
        return err_set(e, ERR_INVALID, "%s is missing: profrelay %s %s", count == 0 ? "what to work on" : "a name",
                       c->name, c->arguments);
    if (c->max_arguments == 0 && count > 0)
        return err_set(e, ERR_INVALID, "takes options only; see --help");
    if (c->max_arguments > 0 && count > c->max_arguments)
        return err_set(e, ERR_INVALID, "takes %d name%s, found %d: profrelay %s %s", c->max_arguments,
                       c->max_arguments == 1 ? "" : "s", count, c->name, c->arguments);
    return ERR_OK;
}

static int run(const struct program *p, const struct command *c, int argc, char **argv)
{
    union {
        struct option_values first;
        char room[COMMAND_MAX_OPTIONS_SIZE];
    } options;
    struct command_line line = {.program = p, .command = c, .options = &options, .arguments = argv};
    struct err e = {0};
    bool help = false;
    CHECK(c->options_size <= sizeof options);
    memset(&options, 0, sizeof options);
    enum err_code rc = options_parse(&c->options, &options, argc, argv, &line.argument_count, &help, &e);
    if (rc == ERR_OK && help) {
        manual_print_command(c, stdout);
        return EXIT_OK;
    }
    if (rc == ERR_OK)
        rc = check_arguments(c, line.argument_count, &e);
    return rc == ERR_OK ? c->run(&line) : command_fail(&line, EXIT_USAGE, &e);
}

// What a command said must have gone somewhere.
static int flush(int code)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return code;
    fprintf(stderr, "profrelay: cannot write the standard output: %s\n", strerror(errno));
    return code != EXIT_OK ? code : EXIT_FAILED;
}

static int run_named(const struct program *p, int argc, char **argv)
{
    const struct command *c = command_find(p, argv[1]);
    // The Collector's command line has no word for running: options come at once.
    if (argv[1][0] == '-')
        return run(p, &run_command, argc - 1, argv + 1);
    if (c != NULL)
        return run(p, c, argc - 2, argv + 2);
    fprintf(stderr, "profrelay: there is no command \"%s\"\n\n", argv[1]);
    manual_print_overview(p, stderr);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    const struct module_tables modules = {.kinds = {
                                              [KIND_RECEIVER] = receivers_table,
                                              [KIND_PROCESSOR] = processors_table,
                                              [KIND_EXPORTER] = exporters_table,
                                              [KIND_EXTENSION] = extensions_table,
                                          }};
    const struct program program = {
        .modules = &modules, .metrics_page = &metrics_page_extension.module, .commands = commands};
    const char *first = argc > 1 ? argv[1] : "--help";
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) {
        manual_print_overview(&program, argc > 1 ? stdout : stderr);
        return flush(argc > 1 ? EXIT_OK : EXIT_USAGE);
    }
    if (strcmp(first, "--version") == 0 || strcmp(first, "-v") == 0) {
        puts("profrelay version " PROFRELAY_VERSION " (OTLP profiles layout 1.10/1.11, v1development)");
        return flush(EXIT_OK);
    }
    return flush(run_named(&program, argc, argv));
}
