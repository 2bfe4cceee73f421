// SPDX-License-Identifier: Apache-2.0
// The bytes a batch came from. Such a batch begins *unread*: its resources and scopes have their attributes, but no
// profiles yet, and it has no dictionary. Whoever wants profiles opens it first; whoever sends it on in the format it came
// in needs not, since what did not change can be copied from the bytes.
//
// An origin stays with a batch through changes of the attributes of resources and scopes; every other change leaves it
// behind. Parts that did not change are the same structs, so comparing pointers tells what did.
#ifndef PROFILE_ORIGIN_H
#define PROFILE_ORIGIN_H

#include "base/err.h"
#include "profile/batch.h"

#include <pthread.h>

struct origin_type {
    // The whole batch that the bytes hold: as many resources, with as many scopes each. max_bytes bounds its memory;
    // 0 = no bound. Any thread, one at a time.
    enum err_code (*read)(const struct origin *o, size_t max_bytes, struct batch **out, struct err *e);
    void (*destroy)(struct origin *o); // frees o
};

struct origin_count {
    uint64_t profiles, samples;
};

struct origin {
    _Atomic uint32_t refs;
    const struct origin_type *type;
    struct resource *const *resources; // unread, as they came; each knows its place: resource.origin_index
    const struct origin_count *counts; // of each resource
    uint32_t resource_count;
    size_t bytes;         // what it holds of memory, but for `read`
    pthread_mutex_t lock; // of what follows
    struct batch *read;   // NULL: nobody has opened it yet; has itself no origin
};

// One reference, of which batches take their own. The lists are malloc'ed and taken over, with a reference to each
// resource; so they are when it fails (false).
bool origin_init(struct origin *o, const struct origin_type *type, struct resource **resources,
                 struct origin_count *counts, uint32_t count) MUST_USE;
void origin_fini(struct origin *o); // by destroy
struct origin *origin_ref(struct origin *o);
void origin_unref(struct origin **o);

// The unread batch of an origin; NULL when out of memory.
struct batch *origin_batch(struct origin *o) MUST_USE;

static inline bool batch_is_unread(const struct batch *b)
{
    return b->dictionary == NULL;
}

// Gives an unread batch its profiles and its dictionary, *b is then the read one; nothing to do for others. The bytes
// are read once, whoever asks. max_bytes as above. ERR_LIMIT, ERR_MEMORY: *b is as it was.
enum err_code batch_open(struct batch **b, size_t max_bytes, struct err *e) MUST_USE;

// The same batch (not an unread one) without its origin: what nothing in it refers to is not sent on with the bytes.
enum err_code batch_leave_origin(struct batch **b, struct err *e) MUST_USE;

// Is this resource, or this scope of it, as it came? False for all of a batch without origin.
bool batch_resource_as_came(const struct batch *b, uint32_t resource);
bool batch_scope_as_came(const struct batch *b, uint32_t resource, uint32_t scope);
// All of it: the bytes as they are say what the batch says.
bool batch_as_came(const struct batch *b);

#endif
