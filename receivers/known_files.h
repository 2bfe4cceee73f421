// SPDX-License-Identifier: Apache-2.0
// What was sent already, known by content and resource attributes: a file is sent once, under whatever name.
// Kept in a storage extension where one is named, else in memory. Any thread unless said otherwise.
#ifndef RECEIVERS_KNOWN_FILES_H
#define RECEIVERS_KNOWN_FILES_H

#include "pipeline/storage.h"
#include "receivers/file_walk.h"

enum { KNOWN_KEY_BYTES = 24 };

struct known_key { // 16 bytes of content, 8 of attributes
    uint8_t bytes[KNOWN_KEY_BYTES];
};

struct known_files;

// Opens the storage (NULL = memory only); blocks. client_name names the set within it.
enum err_code known_files_create(struct storage *storage, const char *client_name, struct known_files **out,
                                 struct err *e) MUST_USE;
void known_files_destroy(struct known_files **k); // no put may be under way

enum known_claim {
    KNOWN_CLAIMED,   // nobody has it: it is the caller's until release or remember
    KNOWN_SENT,      // was sent
    KNOWN_IN_FLIGHT, // another file with the same content is on its way
};
enum known_claim known_files_claim(struct known_files *k, const struct known_key *key);
void known_files_release(struct known_files *k, const struct known_key *key);

// Makes it durable that key was sent from the file path, then calls on_done on the loop. Loop thread.
void known_files_remember(struct known_files *k, const struct known_key *key, const char *path,
                          const struct file_identity *identity, struct loop *loop,
                          void (*on_done)(void *arg, bool failed), void *arg);

// Before anything was claimed: was the file at path sent as it stands there? Loop thread.
bool known_files_unchanged(const struct known_files *k, const char *path, const struct file_identity *identity,
                           struct known_key *key_out);
// Lets the content be sent again (its file is gone for good). Loop thread.
void known_files_forget(struct known_files *k, const struct known_key *key, struct loop *loop);

// Puts under way that have not called back. Loop thread.
size_t known_files_pending(const struct known_files *k);
// Called when the last pending put is done. Loop thread.
void known_files_on_idle(struct known_files *k, void (*on_idle)(void *arg), void *arg);

#endif
