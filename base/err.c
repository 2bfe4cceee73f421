// SPDX-License-Identifier: Apache-2.0
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum err_code err_set(struct err *e, enum err_code code, const char *format, ...)
{
    if (e == NULL)
        return code;
    e->code = code;
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    return code;
}

void err_prefix(struct err *e, const char *format, ...)
{
    if (e == NULL)
        return;
    char old[ERR_TEXT_MAX];
    memcpy(old, e->text, sizeof old);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof e->text)
        snprintf(e->text + n, sizeof e->text - (size_t)n, ": %s", old);
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
