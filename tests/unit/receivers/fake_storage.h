// SPDX-License-Identifier: Apache-2.0
// A storage in memory that outlives services, and the extension that offers it.
#ifndef TESTS_UNIT_RECEIVERS_FAKE_STORAGE_H
#define TESTS_UNIT_RECEIVERS_FAKE_STORAGE_H

#include "base/mem.h"
#include "extensions/extension.h"

#include <pthread.h>
#include <string.h>

enum { PAIRS_MAX = 512 };

struct fake_pair {
    uint8_t key[64], value[512];
    size_t key_len, value_len;
};

struct fake_storage {
    struct storage storage;
    struct extension_module extension; // type "store"
    pthread_mutex_t lock;
    struct fake_pair pairs[PAIRS_MAX];
    size_t count;
    unsigned opened, closed;
    bool fail_open;
    _Atomic bool fail_put;
};

struct storage_client {
    struct fake_storage *store;
};

static inline size_t fake_storage_count(struct fake_storage *s)
{
    pthread_mutex_lock(&s->lock);
    size_t n = s->count;
    pthread_mutex_unlock(&s->lock);
    return n;
}

static inline enum err_code fake_storage_open(struct storage *self, const char *client_name,
                                              void (*visit)(void *arg, struct bytes key, struct bytes value), void *arg,
                                              struct storage_client **out, struct err *e)
{
    struct fake_storage *s = CONTAINER_OF(self, struct fake_storage, storage);
    if (s->fail_open)
        return err_set(e, ERR_IO, "cannot open %s", client_name);
    for (size_t i = 0; i < s->count; i++)
        visit(arg, (struct bytes){s->pairs[i].key, s->pairs[i].key_len},
              (struct bytes){s->pairs[i].value, s->pairs[i].value_len});
    *out = MEM_NEW(struct storage_client);
    (*out)->store = s;
    s->opened++;
    return ERR_OK;
}

static inline void fake_storage_set(struct fake_storage *s, struct bytes key, struct bytes value)
{
    size_t i = 0;
    while (i < s->count && !bytes_equal(key, (struct bytes){s->pairs[i].key, s->pairs[i].key_len}))
        i++;
    if (value.len == 0) {
        if (i < s->count)
            s->pairs[i] = s->pairs[--s->count];
        return;
    }
    CHECK(i < PAIRS_MAX && key.len <= sizeof s->pairs[i].key && value.len <= sizeof s->pairs[i].value);
    s->count += i == s->count;
    memcpy(s->pairs[i].key, key.data, key.len);
    memcpy(s->pairs[i].value, value.data, value.len);
    s->pairs[i].key_len = key.len;
    s->pairs[i].value_len = value.len;
}

struct fake_put {
    struct loop_task task;
    void (*on_done)(void *arg, bool failed);
    void *arg;
    bool failed;
};

static inline void fake_put_done(struct loop_task *task)
{
    struct fake_put *p = (struct fake_put *)task;
    p->on_done(p->arg, p->failed);
    free(p);
}

static inline void fake_storage_put(struct storage_client *client, struct bytes key, struct bytes value,
                                    struct loop *loop, void (*on_done)(void *arg, bool failed), void *arg)
{
    struct fake_storage *s = client->store;
    struct fake_put *p = MEM_NEW(struct fake_put);
    *p = (struct fake_put){.task.run = fake_put_done, .on_done = on_done, .arg = arg, .failed = s->fail_put};
    pthread_mutex_lock(&s->lock);
    if (!p->failed)
        fake_storage_set(s, key, value);
    pthread_mutex_unlock(&s->lock);
    loop_post(loop, &p->task);
}

static inline void fake_storage_close(struct storage_client **client)
{
    (*client)->store->closed++;
    free(*client);
    *client = NULL;
}

static inline enum err_code fake_storage_create(struct extension *self, const void *settings, struct err *e)
{
    (void)self, (void)settings, (void)e;
    return ERR_OK;
}

static inline void fake_storage_stop(struct extension *self)
{
    component_stopped(&self->component);
}

static inline void fake_storage_destroy(struct extension *self)
{
    (void)self;
}

static inline struct storage *fake_storage_get(struct extension *self)
{
    return &CONTAINER_OF(self->module, struct fake_storage, extension)->storage;
}

static const struct field fake_storage_fields[] = {{.name = NULL}};

static inline void fake_storage_init(struct fake_storage *s)
{
    memset(s, 0, sizeof *s);
    s->storage = (struct storage){fake_storage_open, fake_storage_put, fake_storage_close};
    s->extension = (struct extension_module){
        .module = {.type = "store",
                   .help = "Keeps pairs in memory.",
                   .settings_size = 1,
                   .instance_size = sizeof(struct extension),
                   .fields = fake_storage_fields},
        .create = fake_storage_create,
        .stop = fake_storage_stop,
        .destroy = fake_storage_destroy,
        .storage = fake_storage_get,
    };
    CHECK(pthread_mutex_init(&s->lock, NULL) == 0);
}

static inline void fake_storage_fini(struct fake_storage *s)
{
    CHECK(s->opened == s->closed);
    pthread_mutex_destroy(&s->lock);
}

#endif
