// SPDX-License-Identifier: Apache-2.0
// Changes texts and attributes in the dictionary, wherever they are used. Each is looked at once.
#ifndef PROFILE_REWRITE_H
#define PROFILE_REWRITE_H

#include "profile/edit.h"

struct dictionary_rewrite {
    // Put another text into *text, borrowed until the rewrite ends. NULL = they stay.
    enum err_code (*function_name)(void *arg, struct bytes *text, struct err *e); // system names, too
    enum err_code (*file_path)(void *arg, struct bytes *text, struct err *e);     // of functions and mappings
    // Gives the new list in *out (borrowed until it is called again; unique keys), or leaves it. A set that both samples
    // (or profiles) and code (mappings, locations) use is asked for twice. NULL = they stay.
    enum err_code (*attributes)(void *arg, bool of_code, const struct unit_attribute *list, uint32_t count,
                                const struct unit_attribute **out, uint32_t *count_out, struct err *e);
    void *arg;
};

// The new batch has a dictionary with nothing but what it needs, so that no old text is left; *b is the same batch if
// nothing changed, and as it came after a failure.
enum err_code batch_rewrite_dictionary(struct batch **b, const struct dictionary_rewrite *rewrite,
                                       struct err *e) MUST_USE;

#endif
