// SPDX-License-Identifier: Apache-2.0
#include "processors/sampler_budget.h"

#include "base/hash.h"
#include "base/mem.h"

struct service_count {
    uint64_t hash;    // first: of the name
    int64_t interval; // which one the counts are of
    uint64_t seen, kept;
    uint64_t before; // seen in the interval before
};

void sampler_budget_init(struct sampler_budget *b, uint64_t profiles, int64_t interval_nanos)
{
    *b = (struct sampler_budget){.profiles = profiles, .interval_nanos = interval_nanos};
    known_keys_init(&b->services, sizeof(struct service_count), BUDGET_MAX_SERVICES);
    CHECK(pthread_mutex_init(&b->lock, NULL) == 0);
}

void sampler_budget_fini(struct sampler_budget *b)
{
    known_keys_fini(&b->services);
    pthread_mutex_destroy(&b->lock);
}

static bool is_in_use(void *arg, void *item)
{
    const struct service_count *c = item;
    return c->interval + 2 > *(const int64_t *)arg;
}

// Those that sent nothing for two intervals give way; at most once in an interval.
static void make_room(struct sampler_budget *b, int64_t interval)
{
    if (!known_keys_full(&b->services) || b->swept_at == interval)
        return;
    b->swept_at = interval;
    known_keys_sweep(&b->services, is_in_use, &interval);
}

// Where there is no room, that of those that share.
static struct service_count *count_of(struct sampler_budget *b, uint64_t hash, int64_t interval)
{
    uint32_t id;
    if (!known_keys_find(&b->services, hash, &id)) {
        make_room(b, interval);
        id = known_keys_add(&b->services, hash);
        if (id != 0)
            ((struct service_count *)known_keys_item(&b->services, id))->interval = interval;
    }
    return known_keys_item(&b->services, id);
}

static void turn(struct service_count *c, int64_t interval)
{
    if (c->interval == interval)
        return;
    c->before = c->interval + 1 == interval ? c->seen : 0;
    c->seen = c->kept = 0;
    c->interval = interval;
}

bool sampler_budget_takes(struct sampler_budget *b, uint64_t service, int64_t now_nanos, double chance)
{
    const int64_t interval = now_nanos / b->interval_nanos;
    pthread_mutex_lock(&b->lock);
    struct service_count *c = count_of(b, service, interval);
    turn(c, interval);
    c->seen++;
    const uint64_t expected = c->before > c->seen ? c->before : c->seen;
    const bool takes = c->kept < b->profiles && chance * (double)expected < (double)b->profiles;
    c->kept += takes;
    pthread_mutex_unlock(&b->lock);
    return takes;
}
