// SPDX-License-Identifier: Apache-2.0
#include "base/err.h"

#include <stdio.h>
#include <string.h>

// Says that the text goes on; not in the middle of a character.
static void mark_cut(char text[ERR_TEXT_MAX])
{
    size_t at = ERR_TEXT_MAX - sizeof "...";
    while (at > 0 && (text[at] & 0xC0) == 0x80)
        at--;
    memcpy(text + at, "...", sizeof "...");
}

enum err_code err_set_list(struct err *e, enum err_code code, const char *format, va_list args)
{
    if (e == NULL)
        return code;
    char text[ERR_TEXT_MAX]; // the old text may be among the arguments
    int n = vsnprintf(text, sizeof text, format, args);
    if (n >= ERR_TEXT_MAX)
        mark_cut(text);
    e->code = code;
    memcpy(e->text, n < 0 ? "" : text, n < 0 ? 1 : strlen(text) + 1);
    return code;
}

enum err_code err_set(struct err *e, enum err_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err_set_list(e, code, format, args);
    va_end(args);
    return code;
}

void err_prefix(struct err *e, const char *format, ...)
{
    if (e == NULL)
        return;
    char text[ERR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n >= 0 && n < ERR_TEXT_MAX)
        n += snprintf(text + n, sizeof text - (size_t)n, ": %s", e->text);
    if (n < 0)
        return;
    if (n >= ERR_TEXT_MAX)
        mark_cut(text);
    memcpy(e->text, text, strlen(text) + 1);
}

const char *err_code_name(enum err_code code)
{
    static const char *const names[] = {
        [ERR_OK] = "ok",
        [ERR_INVALID] = "invalid",
        [ERR_LIMIT] = "limit",
        [ERR_UNSUPPORTED] = "unsupported",
        [ERR_MEMORY] = "memory",
        [ERR_IO] = "io",
        [ERR_UNAVAILABLE] = "unavailable",
        [ERR_CANCELLED] = "cancelled",
    };
    return (size_t)code < COUNT_OF(names) ? names[code] : "unknown";
}
