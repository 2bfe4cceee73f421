// SPDX-License-Identifier: Apache-2.0
// The receiver behind `profrelay import`: sends the files it is given once, then asks the program to end. It
// is in no table; the command hands it to the service.
#ifndef RECEIVERS_IMPORT_H
#define RECEIVERS_IMPORT_H

#include "receivers/profile_file.h"

extern const struct receiver_module import_receiver;

// What the command wants to know, on the loop's thread.
struct import_observer {
    void (*on_found)(void *arg, size_t files);
    // One file has ended. is_given: it was named itself, not found in a folder.
    void (*on_file)(void *arg, const struct profile_file *f, bool is_given);
    // Nothing is left; the return value is the exit code.
    int (*on_end)(void *arg);
    void *arg;
};

// Begins. c is the component of the running receiver; on its loop, once.
void import_begin(struct component *c, const struct import_observer *observer);

#endif
