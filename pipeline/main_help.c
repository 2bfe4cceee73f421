// SPDX-License-Identifier: Apache-2.0
// `profrelay help` and `profrelay completion`: what the tables of the commands say, in the form that is asked for.
#include "pipeline/manual.h"

#include <string.h>

struct help_options {
    struct option_values man;
};

static const char *command_name(const struct program *p, size_t i)
{
    for (const struct command *const *c = p->commands; *c != NULL; c++)
        if (i-- == 0)
            return (*c)->name;
    return NULL;
}

static int run_help(const struct command_line *line)
{
    const struct help_options *o = line->options;
    if (o->man.count != 0) {
        manual_print_roff(line->program, stdout);
        return EXIT_OK;
    }
    if (line->argument_count == 0) {
        manual_print_overview(line->program, stdout);
        return EXIT_OK;
    }
    struct err e;
    const struct command *c = command_find(line->program, line->arguments[0]);
    if (c == NULL) {
        err_set(&e, ERR_INVALID, "there is no command \"%s\"", line->arguments[0]);
        return command_fail(line, EXIT_USAGE, &e);
    }
    manual_print_command(c, stdout);
    return EXIT_OK;
}

static const char *shell_name(const struct program *p, size_t i)
{
    (void)p;
    return i == 0 ? "bash" : NULL;
}

static int run_completion(const struct command_line *line)
{
    const struct err e = {ERR_UNSUPPORTED, "bash is the shell there is one for"};
    if (strcmp(line->arguments[0], "bash") != 0)
        return command_fail(line, EXIT_USAGE, &e);
    manual_print_bash(line->program, stdout);
    return EXIT_OK;
}

static const struct option help_rows[] = {
    {.name = "man", .help = "all of it as a manual page", .offset = offsetof(struct help_options, man)},
};

static const struct command_example completion_examples[] = {
    {"source <(profrelay completion bash)", "for this shell"},
    {NULL, NULL},
};

const struct command help_command = {
    .name = "help",
    .arguments = "[COMMAND]",
    .help = "what a command does, or the manual page",
    .options = OPTION_TABLE(help_rows),
    .options_size = sizeof(struct help_options),
    .max_arguments = 1,
    .word = command_name,
    .run = run_help,
};

const struct command completion_command = {
    .name = "completion",
    .arguments = "bash",
    .help = "the script that completes command lines",
    .examples = completion_examples,
    .min_arguments = 1,
    .max_arguments = 1,
    .word = shell_name,
    .run = run_completion,
};
