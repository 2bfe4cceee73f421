// SPDX-License-Identifier: Apache-2.0
// The checks of OTLP's integrity rules (profiles.proto) over a sealed batch: every id in range, element 0 the
// zero value, set keys unique, observation shapes legal. For tests and for CHECKs in debug builds: decoders
// check what they read at the border and never build a batch this refuses.
#ifndef PROFILE_VALIDATE_H
#define PROFILE_VALIDATE_H

#include "base/err.h"
#include "profile/batch.h"

enum err_code batch_validate(const struct batch *b, struct err *e) MUST_USE;

#endif
