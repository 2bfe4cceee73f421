// SPDX-License-Identifier: Apache-2.0
#include "base/ring.h"

void ring_init(struct ring *r, size_t max_entries, size_t max_bytes, void (*wake)(void *), void *wake_arg)
{
    *r = (struct ring){.max_entries = max_entries, .max_bytes = max_bytes, .wake = wake, .wake_arg = wake_arg};
    r->tail = &r->head;
    CHECK(pthread_mutex_init(&r->lock, NULL) == 0);
    CHECK(pthread_cond_init(&r->filled, NULL) == 0);
}

void ring_fini(struct ring *r)
{
    CHECK(r->head == NULL);
    pthread_cond_destroy(&r->filled);
    pthread_mutex_destroy(&r->lock);
}

static bool fits(const struct ring *r, const struct ring_node *node)
{
    if (r->closed)
        return false;
    if (r->max_entries != 0 && r->entries >= r->max_entries)
        return false;
    if (r->max_bytes == 0 || r->entries == 0)
        return true;
    return r->bytes <= r->max_bytes && node->bytes <= r->max_bytes - r->bytes;
}

static bool post(struct ring *r, struct ring_node *node, bool always)
{
    pthread_mutex_lock(&r->lock);
    if (!always && !fits(r, node)) {
        pthread_mutex_unlock(&r->lock);
        return false;
    }
    bool was_empty = r->entries == 0;
    node->next = NULL;
    *r->tail = node;
    r->tail = &node->next;
    r->entries++;
    r->bytes += node->bytes;
    bool sleeper = r->waiting > 0;
    // Woken under the lock: after close and drain the owner of `wake` may be gone.
    if (was_empty && r->wake != NULL)
        r->wake(r->wake_arg);
    pthread_mutex_unlock(&r->lock);
    if (sleeper) // not under the lock, which it would only wait for
        pthread_cond_signal(&r->filled);
    return true;
}

bool ring_try_post(struct ring *r, struct ring_node *node)
{
    return post(r, node, false);
}

void ring_post(struct ring *r, struct ring_node *node)
{
    (void)post(r, node, true);
}

static struct ring_node *pop(struct ring *r)
{
    struct ring_node *node = r->head;
    if (node == NULL)
        return NULL;
    r->head = node->next;
    if (r->head == NULL)
        r->tail = &r->head;
    r->entries--;
    r->bytes -= node->bytes;
    node->next = NULL;
    return node;
}

struct ring_node *ring_take(struct ring *r)
{
    pthread_mutex_lock(&r->lock);
    struct ring_node *node = pop(r);
    pthread_mutex_unlock(&r->lock);
    return node;
}

struct ring_node *ring_take_wait(struct ring *r)
{
    pthread_mutex_lock(&r->lock);
    while (r->head == NULL && !r->closed) {
        r->waiting++;
        pthread_cond_wait(&r->filled, &r->lock);
        r->waiting--;
    }
    struct ring_node *node = pop(r);
    pthread_mutex_unlock(&r->lock);
    return node;
}

struct ring_node *ring_take_all(struct ring *r)
{
    pthread_mutex_lock(&r->lock);
    struct ring_node *all = r->head;
    r->head = NULL;
    r->tail = &r->head;
    r->entries = r->bytes = 0;
    pthread_mutex_unlock(&r->lock);
    return all;
}

void ring_close(struct ring *r)
{
    pthread_mutex_lock(&r->lock);
    r->closed = true;
    pthread_cond_broadcast(&r->filled);
    pthread_mutex_unlock(&r->lock);
}

size_t ring_entries(struct ring *r)
{
    pthread_mutex_lock(&r->lock);
    size_t n = r->entries;
    pthread_mutex_unlock(&r->lock);
    return n;
}
