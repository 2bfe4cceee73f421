// SPDX-License-Identifier: Apache-2.0
// One error kind plus one text, filled at the place that knows what went wrong.
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/check.h"

#include <stdarg.h>
#include <stdbool.h>

enum err_code {
    ERR_OK = 0,
    ERR_INVALID,     // the input is not what it claims to be; trying again cannot help
    ERR_LIMIT,       // a configured limit was exceeded; the text names measured and allowed
    ERR_UNSUPPORTED, // understood, but not something we do
    ERR_MEMORY,      // an input-sized allocation failed
    ERR_IO,          // the operating system refused
    ERR_UNAVAILABLE, // the peer or a resource is busy; trying again may help
    ERR_CANCELLED,   // we are shutting down
};

enum { ERR_TEXT_MAX = 1024 };

struct err {
    enum err_code code;
    char text[ERR_TEXT_MAX]; // one sentence: the thing, the place, the remedy; terminated, "..." where cut
};

// Sets code and text (replacing what was there) and returns code. e may be NULL; its old
// text may be among the arguments.
enum err_code err_set(struct err *e, enum err_code code, const char *format, ...) PRINTF_LIKE(3, 4);

enum err_code err_set_list(struct err *e, enum err_code code, const char *format, va_list args);

// Puts "prefix: " before the text already there; keeps the code. e may be NULL.
void err_prefix(struct err *e, const char *format, ...) PRINTF_LIKE(2, 3);

// "invalid", "limit", ...: the word used in metrics and logs.
const char *err_code_name(enum err_code code);

#endif
