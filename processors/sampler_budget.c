// SPDX-License-Identifier: Apache-2.0
#include "processors/sampler_budget.h"

#include "base/hash.h"
#include "base/mem.h"

struct service_count {
    uint64_t hash;    // of the name
    int64_t interval; // which one the counts are of
    uint64_t seen, kept;
    uint64_t before; // seen in the interval before
};

void sampler_budget_init(struct sampler_budget *b, uint64_t profiles, int64_t interval_nanos)
{
    *b = (struct sampler_budget){.profiles = profiles, .interval_nanos = interval_nanos};
    b->services = MEM_NEW(struct service_count);
    b->capacity = b->count = 1;
    CHECK(pthread_mutex_init(&b->lock, NULL) == 0);
}

void sampler_budget_fini(struct sampler_budget *b)
{
    index_table_fini(&b->index);
    free(b->services);
    pthread_mutex_destroy(&b->lock);
}

static bool find(const struct sampler_budget *b, uint64_t hash, uint32_t *slot_out, uint32_t *id_out)
{
    const struct service_count *services = b->services;
    for (*slot_out = index_table_start(&b->index, hash); index_table_next(&b->index, hash, slot_out, id_out);
         index_table_skip(&b->index, slot_out))
        if (services[*id_out].hash == hash)
            return true;
    return false;
}

// Those that sent nothing for two intervals give way; at most once in an interval.
static void sweep(struct sampler_budget *b, int64_t interval)
{
    struct service_count *services = b->services;
    uint32_t kept = 1, slot, id;
    if (b->swept_at == interval)
        return;
    b->swept_at = interval;
    index_table_fini(&b->index);
    for (uint32_t i = 1; i < b->count; i++)
        if (services[i].interval + 2 > interval && index_table_reserve(&b->index)) {
            services[kept] = services[i];
            find(b, services[kept].hash, &slot, &id);
            index_table_insert(&b->index, services[kept].hash, slot, kept);
            kept++;
        }
    b->count = kept;
}

// Where there is no room, neither by number nor of memory, that of those that share.
static struct service_count *count_of(struct sampler_budget *b, uint64_t hash, int64_t interval)
{
    uint32_t slot, id = 0;
    if (find(b, hash, &slot, &id))
        return &((struct service_count *)b->services)[id];
    if (b->count > BUDGET_MAX_SERVICES)
        sweep(b, interval);
    if (b->count > BUDGET_MAX_SERVICES || !index_table_reserve(&b->index) ||
        !mem_try_grow(&b->services, &b->capacity, (size_t)b->count + 1, sizeof(struct service_count), SIZE_MAX))
        return b->services;
    find(b, hash, &slot, &id); // the table may have grown
    id = b->count++;
    index_table_insert(&b->index, hash, slot, id);
    struct service_count *c = &((struct service_count *)b->services)[id];
    *c = (struct service_count){.hash = hash, .interval = interval};
    return c;
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
