// SPDX-License-Identifier: Apache-2.0
// Batches as text with every id resolved: two batches that say the same give the same text, however their
// dictionaries are numbered.
#ifndef TESTS_SUPPORT_BATCH_TEXT_H
#define TESTS_SUPPORT_BATCH_TEXT_H

#include "profile/batch.h"

// Appends all of the batch, in order: resources, scopes, profiles, samples. Attribute sets are sorted.
void batch_text(const struct batch *b, struct buf *out);
// One sample without its surroundings: stack, attributes, link, values, timestamps.
void sample_text(const struct batch *b, const struct profile *p, uint32_t sample, struct buf *out);

// One line per sample, resource, scope and profile before each (without original payload, which a cut
// drops), sorted: what merging and splitting must keep. Profiles without samples have a line too.
// Terminated; free() it.
char *batch_lines(struct batch *const *batches, size_t count);

#endif
