// SPDX-License-Identifier: Apache-2.0
// Changes texts and attributes in the dictionary, wherever they are used. Each is looked at once.
#ifndef PROFILE_REWRITE_H
#define PROFILE_REWRITE_H

#include "profile/edit.h"

struct attribute_verdict {
    bool removed, changed; // changed: the value in *a is another one, borrowed until the rewrite ends
    uint8_t note;          // for `added`; 0 = nothing to note
};

struct dictionary_rewrite {
    // Put another text into *text, borrowed until the rewrite ends. NULL = they stay.
    enum err_code (*function_name)(void *arg, struct bytes *text, struct err *e); // system names, too
    enum err_code (*file_path)(void *arg, struct bytes *text, struct err *e);     // of functions and mappings
    // Attributes are judged one by one, however many lists they are in: of samples and profiles, and (of_code) of mappings
    // and locations. `mark` is what `key` said of the key, asked once
    // for each.
    uint8_t (*key)(void *arg, struct bytes key);
    enum err_code (*attribute)(void *arg, bool of_code, uint8_t mark, struct unit_attribute *a,
                               struct attribute_verdict *verdict, struct err *e);
    // Asked for each list of samples and profiles in which something was noted: attributes to be added, instead of those
    // with the same keys. Borrowed until it is called again; unique keys. NULL = none.
    enum err_code (*added)(void *arg, const struct unit_attribute *list, const uint8_t *notes, uint32_t count,
                           const struct unit_attribute **out, uint32_t *count_out, struct err *e);
    void *arg;
};

// The new batch has a dictionary with nothing but what it needs, so that no old text is left; *b is the same batch if
// nothing changed, and as it came after a failure.
enum err_code batch_rewrite_dictionary(struct batch **b, const struct dictionary_rewrite *rewrite,
                                       struct err *e) MUST_USE;

#endif
