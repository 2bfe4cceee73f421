// SPDX-License-Identifier: Apache-2.0
// Attributes from the path of a file: the named groups of a regular expression that is searched in it.
#ifndef RECEIVERS_PATH_ATTRIBUTES_H
#define RECEIVERS_PATH_ATTRIBUTES_H

#include "base/err.h"
#include "profile/value.h"

struct path_attributes;

// ERR_INVALID and ERR_LIMIT say what is wrong with the expression; every group must have a name. Any thread may use one.
enum err_code path_attributes_create(const char *pattern, struct path_attributes **out, struct err *e) MUST_USE;
void path_attributes_destroy(struct path_attributes **p); // *p may be NULL

// Names of groups have no dots: for some well-known ones (service, pod, ...) the attribute that is meant, else the name.
struct bytes path_attribute_key(const char *group);

// list with the groups found in path over it, in arena; where the expression is not found list itself, and *found_out is
// false. Groups that are empty or took no part give nothing. False when out of memory.
bool path_attributes_merge(const struct path_attributes *p, const char *path, const struct key_value *list,
                           uint32_t count, struct arena *arena, const struct key_value **list_out, uint32_t *count_out,
                           bool *found_out) MUST_USE;

#endif
