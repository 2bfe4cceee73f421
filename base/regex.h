// SPDX-License-Identifier: Apache-2.0
// Regular expressions as Go's regexp and Prometheus know them: RE2, linear in the text whatever the expression.
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include "base/bytes.h"
#include "base/err.h"

struct regex;

enum { REGEX_MAX_PROGRAM_BYTES = 8 << 20, REGEX_MAX_GROUPS = 100 };

// ERR_INVALID names what is wrong with the pattern, ERR_LIMIT when it is too large once compiled. Byte text that is
// not UTF-8 never matches a character class. Any thread may use one compiled expression.
enum err_code regex_compile(struct bytes pattern, struct regex **out, struct err *e) MUST_USE;
// The same, but `.` takes line feeds, too.
enum err_code regex_compile_dot_all(struct bytes pattern, struct regex **out, struct err *e) MUST_USE;
void regex_destroy(struct regex **r); // *r may be NULL

uint32_t regex_group_count(const struct regex *r);                   // capturing groups, the whole match aside
const char *regex_group_name(const struct regex *r, uint32_t group); // from 1; NULL = it has none
// ERR_INVALID unless there are groups and all have names: for expressions that tell what their finds are called.
enum err_code regex_check_names(const struct regex *r, struct err *e) MUST_USE;
// Does the whole text match (anchored at both ends)? groups[0] is the whole match, groups[i] group i, borrowed from
// text; data NULL = the group took no part. count may be 0.
bool regex_match(const struct regex *r, struct bytes text, struct bytes *groups, uint32_t count);
// The same for the leftmost match anywhere in the text.
bool regex_search(const struct regex *r, struct bytes text, struct bytes *groups, uint32_t count);
// The leftmost that begins at `from` (<= len) or later; ^ and \b still mean the whole text. For finding one after the other.
bool regex_search_from(const struct regex *r, struct bytes text, size_t from, struct bytes *groups, uint32_t count);

#endif
