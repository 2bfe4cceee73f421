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

// Opens the storage (NULL = memory only); blocks. client_name names the set within it. now_nanos is monotonic,
// here and below: what was stored counts as without a file from then on.
enum err_code known_files_create(struct storage *storage, const char *client_name, int64_t now_nanos,
                                 struct known_files **out, struct err *e) MUST_USE;
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
// A path has, or no longer has, this content: it was sent and lies there. Loop thread.
void known_files_join(struct known_files *k, const struct known_key *key);
void known_files_leave(struct known_files *k, const struct known_key *key, int64_t now_nanos);
// Forgets content that no path has had for longer than after_nanos (0 = never): it may be sent again. This is
// what keeps the set from growing for ever. Loop thread.
void known_files_expire(struct known_files *k, int64_t now_nanos, int64_t after_nanos, struct loop *loop);

// Puts under way that have not called back. Loop thread.
size_t known_files_pending(const struct known_files *k);
// Called when the last pending put is done. Loop thread.
void known_files_on_idle(struct known_files *k, void (*on_idle)(void *arg), void *arg);

#endif
