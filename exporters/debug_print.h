// SPDX-License-Identifier: Apache-2.0
// A batch as text for people: one line, a line per profile, or everything. Control characters in names are
// escaped, so that a profile cannot forge lines or steer a terminal.
#ifndef EXPORTERS_DEBUG_PRINT_H
#define EXPORTERS_DEBUG_PRINT_H

#include "profile/batch.h"

enum debug_verbosity { DEBUG_BASIC, DEBUG_NORMAL, DEBUG_DETAILED };

// Appends to out; max_samples bounds the samples shown of the batch (DETAILED).
void debug_print(const struct batch *b, enum debug_verbosity verbosity, uint64_t max_samples, struct buf *out);

#endif
