// SPDX-License-Identifier: Apache-2.0
// A batch whose profiles are left behind: it comes unread, and reading gives them.
#ifndef TESTS_SUPPORT_FAKE_ORIGIN_H
#define TESTS_SUPPORT_FAKE_ORIGIN_H

#include "profile/origin.h"

struct fake_origin {
    struct origin origin;
    struct batch *whole; // what reading gives; one reference
    size_t needed_bytes; // reading within less fails with ERR_LIMIT
    enum err_code fails; // or so, whatever it may take
    unsigned reads;      // that succeeded
    unsigned *destroyed; // NULL, or counts
};

// The unread batch; whole stays the caller's. *origin_out lives as long as the batch and what is made of it.
struct batch *fake_unread_batch(struct batch *whole, size_t bytes, struct fake_origin **origin_out);

#endif
