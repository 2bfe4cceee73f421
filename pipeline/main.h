// SPDX-License-Identifier: Apache-2.0
// The commands of the program, each described by constant data: what --help, the manual and the completion say comes
// from here, and so does what the command line allows.
#ifndef PIPELINE_MAIN_H
#define PIPELINE_MAIN_H

#include "pipeline/options.h"
#include "pipeline/plan.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct command;

struct program {
    const struct module_tables *modules;
    const struct module *metrics_page;
    const struct command *const *commands; // NULL-terminated
};

// A command line that was found to be good.
struct command_line {
    const struct program *program;
    const struct command *command;
    const void *options; // the command's struct of option values
    char **arguments;    // what is no option
    int argument_count;
};

struct command_example {
    const char *line, *what;
};

struct command {
    const char *name, *arguments;           // "convert", "IN OUT [OPTIONS]"
    const char *help;                       // one line
    const char *text;                       // more, in paragraphs with an empty line between; may be NULL
    struct option_table options;            // none of it is --help: every command has that
    size_t options_size;                    // of the struct that the rows point into
    const struct command_example *examples; // NULL, or ends with a line of NULL
    int min_arguments, max_arguments;       // max < 0 = any number
    bool files;                             // arguments are names of files
    // The i-th word that may be an argument, NULL behind the last; NULL = no words.
    const char *(*word)(const struct program *p, size_t i);
    int (*run)(const struct command_line *line); // returns the exit code
};

#define OPTION_TABLE(rows_) {rows_, COUNT_OF(rows_)}
enum { COMMAND_MAX_OPTIONS_SIZE = 32 << 10 };

extern const struct command run_command, validate_command, print_config_command, components_command, import_command,
    convert_command, top_command, flamegraph_command, diff_command, show_command, help_command, completion_command;

// "profrelay NAME: TEXT" on stderr, control characters escaped; returns code.
int command_fail(const struct command_line *line, int code, const struct err *e);
// The same line for what is worth saying, but is no failure.
void command_note(const struct command_line *line, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
