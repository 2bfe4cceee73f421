// SPDX-License-Identifier: Apache-2.0
// What the program says about its commands, in each form it can be asked for.
#ifndef PIPELINE_MANUAL_H
#define PIPELINE_MANUAL_H

#include "pipeline/main.h"

#include <stdio.h>

const struct command *command_find(const struct program *p, const char *name); // NULL if there is none
void manual_print_overview(const struct program *p, FILE *out);
void manual_print_command(const struct command *c, FILE *out);
void manual_print_roff(const struct program *p, FILE *out); // profrelay(1)
void manual_print_bash(const struct program *p, FILE *out); // completion

#endif
