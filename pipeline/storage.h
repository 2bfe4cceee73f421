// SPDX-License-Identifier: Apache-2.0
// What a storage extension offers to others: small key-value sets that survive restarts.
#ifndef PIPELINE_STORAGE_H
#define PIPELINE_STORAGE_H

#include "base/bytes.h"
#include "base/err.h"
#include "pipeline/loop.h"

struct storage_client; // the set of one component

struct storage {
    // Opens (creates) the set of one component; blocks; before or at start. visit is called for each pair.
    enum err_code (*open)(struct storage *self, const char *client_name,
                          void (*visit)(void *arg, struct bytes key, struct bytes value), void *arg,
                          struct storage_client **out, struct err *e);
    // Makes the change durable, then calls on_done on the loop's thread (failed = it is not durable). An empty
    // value (len 0) removes the key. Never blocks. key and value are copied.
    void (*put)(struct storage_client *client, struct bytes key, struct bytes value, struct loop *loop,
                void (*on_done)(void *arg, bool failed), void *arg);
    // After the last on_done. Frees the client.
    void (*close)(struct storage_client **client);
};

#endif
