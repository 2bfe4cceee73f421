// SPDX-License-Identifier: Apache-2.0
// The commands of the program. Each takes what follows its name and returns the exit code.
#ifndef PIPELINE_MAIN_H
#define PIPELINE_MAIN_H

#include "pipeline/plan.h"

struct program {
    const struct module_tables *modules;
    const struct module *metrics_page;
};

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

int command_run(const struct program *p, int argc, char **argv);
int command_validate(const struct program *p, int argc, char **argv);
int command_components(const struct program *p, int argc, char **argv);
int command_print_config(const struct program *p, int argc, char **argv);
int command_import(const struct program *p, int argc, char **argv);

#endif
