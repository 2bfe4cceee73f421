// SPDX-License-Identifier: Apache-2.0
// A name service for tests: this program's getaddrinfo stands before libc's. For one test program, not for a library.
#ifndef TESTS_SUPPORT_FAKE_NAMES_H
#define TESTS_SUPPORT_FAKE_NAMES_H

#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

enum { FAKE_ADDRESSES_MAX = 4 };

// What the next look-ups answer, whatever the name; read by libuv's threads only while a test waits for them.
struct fake_names {
    const char *addresses[FAKE_ADDRESSES_MAX];
    size_t count;
    const char *canonical; // name; NULL = none
    int error;             // EAI_...
    bool waits;
    sem_t asked, may_go;
    _Atomic size_t lookups; // so far; counted by several threads at a time
};

extern struct fake_names fake_names;

#endif
