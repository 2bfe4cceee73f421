// SPDX-License-Identifier: Apache-2.0
#include "processors/rate_buckets.h"

#include "base/clock.h"
#include "base/mem.h"

// How often it is looked for buckets that are full: to forget one changes nothing.
#define SWEEP_NANOS NANOS_PER_SECOND
// Of what is wanted: sums of small times are not exact.
#define ENOUGH (1 - 1e-9)

struct rate_bucket {
    uint64_t key;
    const struct rates *per_second;
    struct rates level;  // below 0 after more was taken than it holds
    struct rates wanted; // by the delivery that asks
    int64_t filled_at_nanos;
    uint32_t next; // in the list of those that are asked, + 1
    uint32_t asker;
    bool is_asked;
};

static struct rate_bucket *bucket_at(const struct rate_buckets *b, uint32_t id)
{
    return &((struct rate_bucket *)b->buckets)[id];
}

static double capacity_of(const struct rate_buckets *b, const struct rate_bucket *k, int unit)
{
    return k->per_second->of[unit] * b->burst_seconds;
}

static void init_bucket(const struct rate_buckets *b, struct rate_bucket *k, uint64_t key,
                        const struct rates *per_second)
{
    *k = (struct rate_bucket){.key = key, .per_second = per_second, .filled_at_nanos = b->now_nanos};
    for (int u = 0; u < RATE_UNITS; u++)
        k->level.of[u] = capacity_of(b, k, u);
}

void rate_buckets_init(struct rate_buckets *b, double burst_seconds, uint32_t most)
{
    *b = (struct rate_buckets){.burst_seconds = burst_seconds, .most = most, .count = 1, .capacity = 1};
    b->buckets = MEM_NEW(struct rate_bucket);
}

void rate_buckets_fini(struct rate_buckets *b)
{
    index_table_fini(&b->index);
    free(b->buckets);
}

// --- keys ---

static bool find(const struct rate_buckets *b, uint64_t key, uint32_t *slot_out, uint32_t *id_out)
{
    for (*slot_out = index_table_start(&b->index, key); index_table_next(&b->index, key, slot_out, id_out);
         index_table_skip(&b->index, slot_out))
        if (bucket_at(b, *id_out)->key == key)
            return true;
    return false;
}

static void fill(const struct rate_buckets *b, struct rate_bucket *k)
{
    const int64_t passed = b->now_nanos - k->filled_at_nanos;
    if (passed <= 0) // another thread's clock may have been read later
        return;
    for (int u = 0; u < RATE_UNITS; u++) {
        const double level = k->level.of[u] + k->per_second->of[u] * (double)passed / (double)NANOS_PER_SECOND,
                     most = capacity_of(b, k, u);
        k->level.of[u] = level < most ? level : most;
    }
    k->filled_at_nanos = b->now_nanos;
}

static bool is_full(const struct rate_buckets *b, const struct rate_bucket *k)
{
    for (int u = 0; u < RATE_UNITS; u++)
        if (k->level.of[u] < capacity_of(b, k, u))
            return false;
    return true;
}

static void sweep(struct rate_buckets *b)
{
    uint32_t kept = 1, slot, id;
    b->swept_at_nanos = b->now_nanos;
    index_table_fini(&b->index);
    for (uint32_t i = 1; i < b->count; i++) {
        struct rate_bucket *k = bucket_at(b, i);
        fill(b, k);
        if (is_full(b, k) || !index_table_reserve(&b->index))
            continue;
        *bucket_at(b, kept) = *k;
        find(b, k->key, &slot, &id);
        index_table_insert(&b->index, bucket_at(b, kept)->key, slot, kept);
        kept++;
    }
    b->count = kept;
}

// Where there is no room, neither by number nor of memory, the bucket that is shared.
static uint32_t bucket_of(struct rate_buckets *b, uint64_t key, const struct rates *per_second,
                          const struct rates *others)
{
    uint32_t slot, id = 0;
    if (find(b, key, &slot, &id))
        return id;
    if (b->count > b->most || !index_table_reserve(&b->index) ||
        !mem_try_grow(&b->buckets, &b->capacity, (size_t)b->count + 1, sizeof(struct rate_bucket), SIZE_MAX)) {
        if (bucket_at(b, 0)->per_second == NULL)
            init_bucket(b, bucket_at(b, 0), 0, others);
        return 0;
    }
    find(b, key, &slot, &id); // the table may have grown
    id = b->count++;
    index_table_insert(&b->index, key, slot, id);
    init_bucket(b, bucket_at(b, id), key, per_second);
    return id;
}

// --- a delivery ---

void rate_buckets_begin(struct rate_buckets *b, int64_t now_nanos)
{
    b->now_nanos = now_nanos;
    if (b->count > b->most && now_nanos - b->swept_at_nanos >= SWEEP_NANOS)
        sweep(b);
}

void rate_buckets_ask(struct rate_buckets *b, uint64_t key, const struct rates *per_second, const struct rates *others,
                      const struct rates *amount, uint32_t asker)
{
    const uint32_t id = bucket_of(b, key, per_second, others);
    struct rate_bucket *k = bucket_at(b, id);
    if (!k->is_asked) {
        fill(b, k);
        k->is_asked = true;
        k->asker = asker;
        k->wanted = (struct rates){{0}};
        k->next = b->asked;
        b->asked = id + 1;
    }
    for (int u = 0; u < RATE_UNITS; u++)
        k->wanted.of[u] += amount->of[u];
}

// Seconds until it has what is wanted of the unit; 0 = it does.
static double wait_for(const struct rate_buckets *b, const struct rate_bucket *k, int unit)
{
    const double per_second = k->per_second->of[unit], most = capacity_of(b, k, unit),
                 wanted = k->wanted.of[unit] < most ? k->wanted.of[unit] : most;
    if (per_second == 0 || k->wanted.of[unit] == 0 || k->level.of[unit] >= wanted * ENOUGH)
        return 0;
    return (wanted - k->level.of[unit]) / per_second;
}

bool rate_buckets_suffice(struct rate_buckets *b, struct rate_shortage *out)
{
    *out = (struct rate_shortage){.wait_seconds = 0};
    for (uint32_t i = b->asked; i != 0; i = bucket_at(b, i - 1)->next) {
        const struct rate_bucket *k = bucket_at(b, i - 1);
        for (int u = 0; u < RATE_UNITS; u++) {
            const double wait = wait_for(b, k, u);
            if (wait > out->wait_seconds)
                *out = (struct rate_shortage){wait, (enum rate_unit)u, k->per_second->of[u], k->asker};
        }
    }
    return out->wait_seconds == 0;
}

void rate_buckets_end(struct rate_buckets *b, bool take)
{
    for (uint32_t i = b->asked; i != 0; i = bucket_at(b, i - 1)->next) {
        struct rate_bucket *k = bucket_at(b, i - 1);
        k->is_asked = false;
        for (int u = 0; take && u < RATE_UNITS; u++)
            if (k->per_second->of[u] > 0)
                k->level.of[u] -= k->wanted.of[u];
    }
    b->asked = 0;
}
