// SPDX-License-Identifier: Apache-2.0
// Inside profile/: a batch read through another dictionary, that has items in place of some of its own.
#ifndef PROFILE_REWRITE_INTERNAL_H
#define PROFILE_REWRITE_INTERNAL_H

#include "base/err.h"
#include "profile/batch.h"

// A dictionary that borrows all arrays, for the caller to put others in their place; its items need not be unique.
void dictionary_borrow(const struct dictionary *d, struct dictionary *to);
// *b with what `borrowed` says under the ids in use, in a dictionary of its own; nobody has `borrowed` afterwards.
enum err_code batch_rebuild(struct batch **b, struct dictionary *borrowed, struct err *e) MUST_USE;

#endif
