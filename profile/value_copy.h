// SPDX-License-Identifier: Apache-2.0
// Inside profile/: what the builder needs of values: copies that repair broken UTF-8, sizes before copying.
#ifndef PROFILE_VALUE_COPY_H
#define PROFILE_VALUE_COPY_H

#include "profile/value.h"

// As value_copy and key_values_copy; text that is not UTF-8 is repaired and counted in *repaired.
bool value_copy_repaired(struct arena *arena, const struct value *v, struct value *copy_out,
                         uint64_t *repaired) MUST_USE;
bool key_values_copy_repaired(struct arena *arena, const struct key_value *from, uint32_t count,
                              const struct key_value **copy_out, uint64_t *repaired) MUST_USE;
bool text_copy_repaired(struct arena *arena, struct bytes text, struct bytes *copy_out, uint64_t *repaired) MUST_USE;

// What of a value but its kind goes into a hash: plain bits where they fit, so hash it once more.
uint64_t value_content(const struct value *v);

// About what a copy takes of an arena.
size_t value_bytes(const struct value *v);
size_t key_values_bytes(const struct key_value *list, uint32_t count);

#endif
