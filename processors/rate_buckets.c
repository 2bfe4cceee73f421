// SPDX-License-Identifier: Apache-2.0
#include "processors/rate_buckets.h"

#include "base/clock.h"

// How often it is looked for buckets that are full: to forget one changes nothing.
#define SWEEP_NANOS NANOS_PER_SECOND
// Of what is wanted: sums of small times are not exact.
#define ENOUGH (1 - 1e-9)

struct rate_bucket {
    uint64_t key; // first
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
    return known_keys_item(&b->buckets, id);
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
    *b = (struct rate_buckets){.burst_seconds = burst_seconds};
    known_keys_init(&b->buckets, sizeof(struct rate_bucket), most);
}

void rate_buckets_fini(struct rate_buckets *b)
{
    known_keys_fini(&b->buckets);
}

// --- keys ---

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

static bool is_in_use(void *arg, void *item)
{
    const struct rate_buckets *b = arg;
    fill(b, item);
    return !is_full(b, item);
}

// Where there is no room, the bucket that is shared.
static uint32_t bucket_of(struct rate_buckets *b, uint64_t key, const struct rates *per_second,
                          const struct rates *others)
{
    uint32_t id;
    if (known_keys_find(&b->buckets, key, &id))
        return id;
    id = known_keys_add(&b->buckets, key);
    if (id != 0)
        init_bucket(b, bucket_at(b, id), key, per_second);
    else if (bucket_at(b, 0)->per_second == NULL)
        init_bucket(b, bucket_at(b, 0), 0, others);
    return id;
}

// --- a delivery ---

void rate_buckets_begin(struct rate_buckets *b, int64_t now_nanos)
{
    b->now_nanos = now_nanos;
    if (!known_keys_full(&b->buckets) || now_nanos - b->swept_at_nanos < SWEEP_NANOS)
        return;
    b->swept_at_nanos = now_nanos;
    known_keys_sweep(&b->buckets, is_in_use, b);
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
