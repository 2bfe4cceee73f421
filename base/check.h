// SPDX-License-Identifier: Apache-2.0
// CHECK is for what cannot happen; it stays on in every build. Input is never checked with it.
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#include <stddef.h>

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define CONTAINER_OF(pointer, type, member)                                                                            \
    ((type *)(void *)((char *)(1 ? (pointer) : &((type *)0)->member) - offsetof(type, member)))

// Prints the failed condition and aborts. Any thread.
_Noreturn void check_failed(const char *file, int line, const char *condition);

#endif
