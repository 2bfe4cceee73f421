// SPDX-License-Identifier: Apache-2.0
// The program: which modules there are, and which command was asked for.
#include "pipeline/main.h"

#include "exporters/exporters.h"
#include "extensions/extensions.h"
#include "processors/processors.h"
#include "receivers/receivers.h"

#include <stdio.h>
#include <string.h>

static const struct command {
    const char *name, *arguments, *help;
    int (*run)(const struct program *p, int argc, char **argv);
} commands[] = {
    {"run", "--config FILE", "collect profiles until a signal comes (also without the word run)", command_run},
    {"validate", "--config FILE", "say everything that is wrong with a configuration", command_validate},
    {"print-config", "--config FILE", "the configuration after merging and ${...}, secrets hidden",
     command_print_config},
    {"components", "[TYPE]", "what there is to configure, with every key", command_components},
    {"import", "FILE|DIR... --to URL|DIR", "send profiles that lie on disk, once", command_import},
};

static void print_help(FILE *out)
{
    fprintf(out, "profrelay " PROFRELAY_VERSION ": collects profiles and brings them to where they are read.\n\n"
                 "usage: profrelay [COMMAND] [OPTIONS]\n\n");
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        fprintf(out, "  %-14s%-28s%s\n", commands[i].name, commands[i].arguments, commands[i].help);
    fprintf(out, "\n  --version     --help        profrelay COMMAND --help tells a command's options\n"
                 "\nOTLP profiles layout: 1.10/1.11 (v1development). Documentation: docs/ of the source.\n");
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

int main(int argc, char **argv)
{
    const struct module_tables modules = {.kinds = {
                                              [KIND_RECEIVER] = receivers_table,
                                              [KIND_PROCESSOR] = processors_table,
                                              [KIND_EXPORTER] = exporters_table,
                                              [KIND_EXTENSION] = extensions_table,
                                          }};
    const struct program program = {.modules = &modules, .metrics_page = &metrics_page_extension.module};
    const char *first = argc > 1 ? argv[1] : "--help";
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0) {
        print_help(argc > 1 ? stdout : stderr);
        return argc > 1 ? EXIT_OK : EXIT_USAGE;
    }
    if (strcmp(first, "--version") == 0 || strcmp(first, "-v") == 0) {
        puts("profrelay version " PROFRELAY_VERSION " (OTLP profiles layout 1.10/1.11, v1development)");
        return EXIT_OK;
    }
    // The Collector's command line has no word for running: options come at once.
    if (first[0] == '-')
        return command_run(&program, argc - 1, argv + 1);
    const struct command *command = find_command(first);
    if (command != NULL)
        return command->run(&program, argc - 2, argv + 2);
    fprintf(stderr, "profrelay: there is no command \"%s\"\n\n", first);
    print_help(stderr);
    return EXIT_USAGE;
}
