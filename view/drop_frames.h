// SPDX-License-Identifier: Apache-2.0
// drop_frames and keep_frames of a pprof: expressions for the frames its tool leaves out when it loads the file, kept as
// attributes of the profile.
#ifndef VIEW_DROP_FRAMES_H
#define VIEW_DROP_FRAMES_H

#include "base/err.h"
#include "base/regex.h"
#include "profile/batch.h"

struct drop_frames {
    struct bytes drop_text, keep_text; // borrowed from the dictionary
    struct regex *drop, *keep;         // drop NULL = nothing is dropped
};

static inline void drop_frames_fini(struct drop_frames *r)
{
    regex_destroy(&r->drop);
    regex_destroy(&r->keep);
}

// Are the rules at hand those of this profile?
bool drop_frames_fit(const struct drop_frames *r, const struct dictionary *d, const struct profile *p);
// Takes the rules of a profile. An expression that is none drops nothing, as in pprof. False: out of memory.
bool drop_frames_set(struct drop_frames *r, const struct dictionary *d, const struct profile *p,
                     struct err *e) MUST_USE;
// How many of the innermost lines of a location go: all down from the outermost that is to be dropped.
uint32_t drop_frames_cut(const struct drop_frames *r, const struct dictionary *d, const struct batch_location *l);

#endif
