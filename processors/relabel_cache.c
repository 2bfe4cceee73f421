// SPDX-License-Identifier: Apache-2.0
#include "processors/relabel_cache.h"

#include "base/hash.h"
#include "base/mem.h"

void relabel_cache_init(struct relabel_cache *c)
{
    *c = (struct relabel_cache){.slots = {{0}}};
    CHECK(pthread_mutex_init(&c->lock, NULL) == 0);
}

void relabel_answer_unref(struct relabel_answer **answer)
{
    struct relabel_answer *a = *answer;
    *answer = NULL;
    if (a == NULL || atomic_fetch_sub(&a->refs, 1) != 1)
        return;
    arena_fini(&a->arena);
    free(a);
}

void relabel_cache_fini(struct relabel_cache *c)
{
    for (size_t i = 0; i < CACHE_SLOTS; i++)
        relabel_answer_unref(&c->slots[i].answer);
    pthread_mutex_destroy(&c->lock);
}

static uint64_t hash_attributes(const struct resource *r)
{
    uint64_t hash = r->attribute_count + UINT64_C(1);
    for (uint32_t i = 0; i < r->attribute_count; i++) {
        hash = hash_mix(hash, hash_bytes(r->attributes[i].key.data, r->attributes[i].key.len));
        hash = hash_mix(hash, value_hash(&r->attributes[i].value));
    }
    return hash != 0 ? hash : 1;
}

static struct cache_slot *slot_of(struct relabel_cache *c, uint64_t hash)
{
    return &c->slots[(hash >> 40) % CACHE_SLOTS];
}

static bool is_answer_to(const struct relabel_answer *a, const struct resource *r)
{
    if (a->count != r->attribute_count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!bytes_equal(a->attributes[i].key, r->attributes[i].key) ||
            !value_equal(&a->attributes[i].value, &r->attributes[i].value))
            return false;
    return true;
}

struct relabel_answer *relabel_cache_get(struct relabel_cache *c, const struct resource *r, uint64_t *hash_out,
                                         bool *wanted_out)
{
    struct relabel_answer *answer = NULL, *old = NULL;
    uint64_t hash = *hash_out = hash_attributes(r);
    struct cache_slot *slot = slot_of(c, hash);
    pthread_mutex_lock(&c->lock);
    bool again = slot->hash == hash;
    if (again && slot->answer != NULL) {
        answer = slot->answer;
        atomic_fetch_add(&answer->refs, 1);
    } else if (!again) {
        old = slot->answer;
        *slot = (struct cache_slot){hash, NULL};
    }
    pthread_mutex_unlock(&c->lock);
    relabel_answer_unref(&old);
    *wanted_out = again && answer == NULL;
    if (answer != NULL && !is_answer_to(answer, r))
        relabel_answer_unref(&answer);
    return answer;
}

static bool copy_answer(struct relabel_answer *to, const struct resource *r, const struct relabel_answer *from)
{
    return key_values_copy(&to->arena, r->attributes, r->attribute_count, &to->attributes) &&
           key_values_copy(&to->arena, from->out, from->out_count, &to->out);
}

void relabel_cache_put(struct relabel_cache *c, uint64_t hash, const struct resource *r,
                       const struct relabel_answer *answer)
{
    struct relabel_answer *copy = MEM_NEW(struct relabel_answer);
    *copy = *answer;
    atomic_init(&copy->refs, 1);
    copy->count = r->attribute_count;
    arena_init(&copy->arena, CACHE_ANSWER_BYTES);
    if (copy_answer(copy, r, answer)) {
        struct cache_slot *slot = slot_of(c, hash);
        pthread_mutex_lock(&c->lock);
        if (slot->hash == hash && slot->answer == NULL) {
            slot->answer = copy;
            copy = NULL;
        }
        pthread_mutex_unlock(&c->lock);
    }
    relabel_answer_unref(&copy);
}
