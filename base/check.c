// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "profrelay: internal error at %s:%d: %s does not hold\n", file, line, condition);
    abort();
}
