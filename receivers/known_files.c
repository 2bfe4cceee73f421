// SPDX-License-Identifier: Apache-2.0
#include "receivers/known_files.h"

#include "base/hash.h"
#include "base/index_table.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum entry_state { ENTRY_FREE, ENTRY_IN_FLIGHT, ENTRY_SENT };

struct entry {
    struct known_key key;
    enum entry_state state;
    uint32_t paths; // that have this content
};

// Content that lost its last path; one entry for each time that happened, oldest first.
struct orphan {
    struct known_key key;
    int64_t since_nanos;
};

// What the storage told at start about a path; sorted by path.
struct remembered_path {
    char *path;
    struct file_identity identity;
    struct known_key key;
};

struct known_files {
    pthread_mutex_t lock; // of the table and the entries
    struct index_table table;
    struct entry *entries;
    size_t count, capacity;
    struct storage *storage;
    struct storage_client *client;
    struct remembered_path *paths;
    size_t path_count, path_capacity;
    struct orphan *orphans;
    size_t orphan_first, orphan_count, orphan_capacity; // those before first are done with
    int64_t created_nanos;
    size_t pending;
    void (*on_idle)(void *arg);
    void *on_idle_arg;
};

static uint64_t key_hash(const struct known_key *key)
{
    return hash_bytes(key->bytes, sizeof key->bytes);
}

// The entry of key, made when missing; NULL when out of memory. Under the lock.
static struct entry *entry_get(struct known_files *k, const struct known_key *key)
{
    if (!index_table_reserve(&k->table))
        return NULL;
    uint64_t hash = key_hash(key);
    uint32_t slot = index_table_start(&k->table, hash), id;
    for (; index_table_next(&k->table, hash, &slot, &id); index_table_skip(&k->table, &slot))
        if (memcmp(k->entries[id].key.bytes, key->bytes, sizeof key->bytes) == 0)
            return &k->entries[id];
    void *entries = k->entries;
    if (!mem_try_grow(&entries, &k->capacity, k->count + 1, sizeof *k->entries, UINT32_MAX - 1))
        return NULL;
    k->entries = entries;
    k->entries[k->count] = (struct entry){.key = *key, .state = ENTRY_FREE};
    index_table_insert(&k->table, hash, slot, (uint32_t)k->count);
    return &k->entries[k->count++];
}

static void set_state(struct known_files *k, const struct known_key *key, enum entry_state state)
{
    pthread_mutex_lock(&k->lock);
    struct entry *entry = entry_get(k, key);
    if (entry != NULL)
        entry->state = state;
    pthread_mutex_unlock(&k->lock);
}

static void add_orphan(struct known_files *k, const struct known_key *key, int64_t now_nanos)
{
    void *orphans = k->orphans;
    if (k->orphan_first > k->orphan_count / 2) {
        k->orphan_count -= k->orphan_first;
        memmove(k->orphans, k->orphans + k->orphan_first, k->orphan_count * sizeof *k->orphans);
        k->orphan_first = 0;
    }
    // Out of memory: it is forgotten at the next start.
    if (!mem_try_grow(&orphans, &k->orphan_capacity, k->orphan_count + 1, sizeof *k->orphans, UINT32_MAX))
        return;
    k->orphans = orphans;
    k->orphans[k->orphan_count++] = (struct orphan){*key, now_nanos};
}

// The stored value: the identity in words of this machine, then the path.
struct stored_value {
    uint64_t size, inode;
    int64_t mtime_nanos;
};

static void add_path(struct known_files *k, const struct known_key *key, struct bytes value)
{
    struct stored_value fixed;
    void *paths = k->paths;
    if (value.len < sizeof fixed ||
        !mem_try_grow(&paths, &k->path_capacity, k->path_count + 1, sizeof *k->paths, FILE_WALK_MAX))
        return;
    k->paths = paths;
    memcpy(&fixed, value.data, sizeof fixed);
    size_t len = value.len - sizeof fixed;
    char *path = mem_alloc(len + 1);
    memcpy(path, value.data + sizeof fixed, len);
    k->paths[k->path_count++] = (struct remembered_path){path, {fixed.size, fixed.inode, fixed.mtime_nanos}, *key};
}

static void on_stored(void *arg, struct bytes key_bytes, struct bytes value)
{
    struct known_files *k = arg;
    struct known_key key;
    if (key_bytes.len != sizeof key.bytes)
        return;
    memcpy(key.bytes, key_bytes.data, sizeof key.bytes);
    set_state(k, &key, ENTRY_SENT);
    add_path(k, &key, value);
    add_orphan(k, &key, k->created_nanos);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct remembered_path *)a)->path, ((const struct remembered_path *)b)->path);
}

enum err_code known_files_create(struct storage *storage, const char *client_name, int64_t now_nanos,
                                 struct known_files **out, struct err *e)
{
    struct known_files *k = MEM_NEW(struct known_files);
    CHECK(pthread_mutex_init(&k->lock, NULL) == 0);
    k->storage = storage;
    k->created_nanos = now_nanos;
    if (storage != NULL && storage->open(storage, client_name, on_stored, k, &k->client, e) != ERR_OK) {
        known_files_destroy(&k);
        return e->code;
    }
    if (k->path_count != 0)
        qsort(k->paths, k->path_count, sizeof *k->paths, by_path);
    *out = k;
    return ERR_OK;
}

void known_files_destroy(struct known_files **known)
{
    struct known_files *k = *known;
    if (k == NULL)
        return;
    CHECK(k->pending == 0);
    if (k->client != NULL)
        k->storage->close(&k->client);
    for (size_t i = 0; i < k->path_count; i++)
        free(k->paths[i].path);
    free(k->paths);
    free(k->orphans);
    free(k->entries);
    index_table_fini(&k->table);
    pthread_mutex_destroy(&k->lock);
    free(k);
    *known = NULL;
}

enum known_claim known_files_claim(struct known_files *k, const struct known_key *key)
{
    enum known_claim claim = KNOWN_IN_FLIGHT; // out of memory: come again later
    pthread_mutex_lock(&k->lock);
    struct entry *entry = entry_get(k, key);
    if (entry != NULL && entry->state == ENTRY_SENT) {
        claim = KNOWN_SENT;
    } else if (entry != NULL && entry->state == ENTRY_FREE) {
        entry->state = ENTRY_IN_FLIGHT;
        claim = KNOWN_CLAIMED;
    }
    pthread_mutex_unlock(&k->lock);
    return claim;
}

void known_files_release(struct known_files *k, const struct known_key *key)
{
    set_state(k, key, ENTRY_FREE);
}

struct put {
    struct known_files *known;
    struct loop_task task; // without storage: the answer comes through the loop as well
    void (*on_done)(void *arg, bool failed);
    void *arg;
};

static void on_put_done(void *arg, bool failed)
{
    struct put *p = arg;
    struct known_files *k = p->known;
    k->pending--;
    if (p->on_done != NULL)
        p->on_done(p->arg, failed);
    free(p);
    if (k->pending == 0 && k->on_idle != NULL)
        k->on_idle(k->on_idle_arg);
}

static void run_put(struct loop_task *task)
{
    on_put_done(CONTAINER_OF(task, struct put, task), false);
}

static void put(struct known_files *k, const struct known_key *key, struct bytes value, struct loop *loop,
                void (*on_done)(void *arg, bool failed), void *arg)
{
    struct put *p = MEM_NEW(struct put);
    *p = (struct put){.known = k, .task.run = run_put, .on_done = on_done, .arg = arg};
    k->pending++;
    struct bytes key_bytes = {key->bytes, sizeof key->bytes};
    if (k->client != NULL)
        k->storage->put(k->client, key_bytes, value, loop, on_put_done, p);
    else
        loop_post(loop, &p->task);
}

void known_files_remember(struct known_files *k, const struct known_key *key, const char *path,
                          const struct file_identity *identity, struct loop *loop,
                          void (*on_done)(void *arg, bool failed), void *arg)
{
    set_state(k, key, ENTRY_SENT);
    struct stored_value fixed = {identity->size, identity->inode, identity->mtime_nanos};
    size_t len = strlen(path);
    uint8_t *value = mem_alloc(sizeof fixed + len);
    memcpy(value, &fixed, sizeof fixed);
    memcpy(value + sizeof fixed, path, len);
    put(k, key, (struct bytes){value, sizeof fixed + len}, loop, on_done, arg);
    free(value);
}

bool known_files_unchanged(const struct known_files *k, const char *path, const struct file_identity *identity,
                           struct known_key *key_out)
{
    struct remembered_path wanted = {.path = (char *)(uintptr_t)path};
    const struct remembered_path *found =
        k->path_count == 0 ? NULL : bsearch(&wanted, k->paths, k->path_count, sizeof *k->paths, by_path);
    if (found == NULL || !file_identity_equal(&found->identity, identity))
        return false;
    *key_out = found->key;
    return true;
}

static uint32_t change_paths(struct known_files *k, const struct known_key *key, int change)
{
    uint32_t paths = 0;
    pthread_mutex_lock(&k->lock);
    struct entry *entry = entry_get(k, key);
    if (entry != NULL && (change > 0 || entry->paths > 0))
        paths = entry->paths += (uint32_t)change;
    pthread_mutex_unlock(&k->lock);
    return paths;
}

void known_files_join(struct known_files *k, const struct known_key *key)
{
    (void)change_paths(k, key, 1);
}

void known_files_leave(struct known_files *k, const struct known_key *key, int64_t now_nanos)
{
    if (change_paths(k, key, -1) == 0)
        add_orphan(k, key, now_nanos);
}

void known_files_expire(struct known_files *k, int64_t now_nanos, int64_t after_nanos, struct loop *loop)
{
    while (after_nanos != 0 && k->orphan_first < k->orphan_count &&
           now_nanos - k->orphans[k->orphan_first].since_nanos >= after_nanos) {
        struct known_key key = k->orphans[k->orphan_first++].key;
        pthread_mutex_lock(&k->lock);
        struct entry *entry = entry_get(k, &key);
        bool forget = entry != NULL && entry->paths == 0 && entry->state == ENTRY_SENT;
        if (forget)
            entry->state = ENTRY_FREE;
        pthread_mutex_unlock(&k->lock);
        if (forget)
            put(k, &key, (struct bytes){NULL, 0}, loop, NULL, NULL);
    }
}

size_t known_files_pending(const struct known_files *k)
{
    return k->pending;
}

void known_files_on_idle(struct known_files *k, void (*on_idle)(void *arg), void *arg)
{
    k->on_idle = on_idle;
    k->on_idle_arg = arg;
}
