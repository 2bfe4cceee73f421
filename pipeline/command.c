// SPDX-License-Identifier: Apache-2.0
// What every command says in the same way.
#include "base/clean_text.h"
#include "pipeline/main.h"

#include <stdarg.h>
#include <stdio.h>

static void say(const struct command_line *line, const char *text)
{
    struct buf clean;
    buf_init(&clean, 4 * ERR_TEXT_MAX);
    clean_text_add(&clean, bytes_from_text(text));
    fflush(stdout);
    fprintf(stderr, "profrelay %s: %.*s\n", line->command->name, (int)clean.len, (const char *)clean.data);
    buf_fini(&clean);
}

int command_fail(const struct command_line *line, int code, const struct err *e)
{
    say(line, e->text);
    return code;
}

void command_note(const struct command_line *line, const char *format, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say(line, text);
}
