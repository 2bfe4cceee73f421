// SPDX-License-Identifier: Apache-2.0
// RE2 behind plain C types, for base/regex.c alone: RE2 has no C interface, and our headers are no C++.
#ifndef BASE_RE2_PROGRAM_H
#define BASE_RE2_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct re2_program;

struct re2_text {
    const char *data; // NULL = took no part
    size_t len;
};

enum re2_status { RE2_GOOD, RE2_BAD_PATTERN, RE2_TOO_LARGE, RE2_NO_MEMORY };

// error gets a terminated text unless RE2_GOOD or RE2_NO_MEMORY.
enum re2_status re2_program_create(struct re2_text pattern, bool dot_all, size_t max_bytes, struct re2_program **out,
                                   char *error, size_t error_size);
void re2_program_destroy(struct re2_program *p);
unsigned re2_program_groups(const struct re2_program *p);
const char *re2_program_group_name(const struct re2_program *p, unsigned group);
// The match begins at `from` or later.
bool re2_program_run(const struct re2_program *p, bool whole, struct re2_text text, size_t from,
                     struct re2_text *groups, unsigned count);

#ifdef __cplusplus
}
#endif

#endif
