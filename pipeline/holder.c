// SPDX-License-Identifier: Apache-2.0
#include "pipeline/holder.h"

#include "base/hash.h"
#include "base/mem.h"
#include "pipeline/mailbox.h"
#include "profile/merge.h"
#include "profile/origin.h"

enum {
    GROUP_DELIVERIES = 4096, // in one group, at most
    GROUP_BUDGET_PART = 8,   // a group goes on when it takes this part of service.memory_limit
    MOST_RUNS = 256,         // of resources with one key; a delivery that has more goes on as it came
    BUSY_BUDGET_PART = 2,    // all go on when this part is taken, whoever took it
};

// How often that is looked at while nothing comes: what is held may be why.
#define LOOK_NANOS (200 * NANOS_PER_MS)

enum cause { CAUSE_SIZE, CAUSE_TIMEOUT, CAUSE_MEMORY, CAUSE_SHUTDOWN, CAUSES };

static const char *const cause_names[CAUSES] = {"size", "timeout", "memory", "shutdown"};

struct group {
    struct group *next; // younger
    uint64_t key;
    struct delivery_list held;
    uint64_t size; // as the processor counts
    size_t bytes;
    int64_t due_nanos;
};

struct holder {
    struct consumer keeper; // where what is kept comes back to
    struct flush_target to;
    struct metric *held, *flushes[CAUSES];
    struct mailbox mailbox;
    // Of whoever reads the mailbox.
    struct group *oldest, **youngest;
    size_t group_count;
    bool draining, armed;
    struct letter tick, drain;
    // Of the loop.
    struct loop_task arm;
    int64_t wait_nanos;
    uv_timer_t timer;
    bool has_timer, closed;
};

struct arrival {
    struct letter letter;
    struct holder *holder;
    struct delivery delivery;
};

static const struct metric_family held_family = {"profrelay_processor_held_deliveries",
                                                 "Deliveries that wait in the processor for others.", METRIC_GAUGE};
static const struct metric_family flush_family = {
    "profrelay_processor_flushes", "Groups of deliveries that went on, by what let them go.", METRIC_COUNTER};

// --- by whoever reads the mailbox ---

static struct group **find_group(struct holder *h, uint64_t key)
{
    struct group **g = &h->oldest;
    while (*g != NULL && ((*g)->key != key))
        g = &(*g)->next;
    return g;
}

static void let_go(struct holder *h, struct group **at, enum cause cause)
{
    struct group *g = *at;
    CHECK(g != NULL);
    *at = g->next;
    if (g->next == NULL)
        h->youngest = at;
    h->group_count--;
    metric_add(h->held, -(int64_t)g->held.count);
    metric_add(h->flushes[cause], 1);
    flush_submit(&h->to, g->held);
    free(g);
}

static void let_go_all(struct holder *h, enum cause cause)
{
    while (h->oldest != NULL)
        let_go(h, &h->oldest, cause);
}

static int64_t now_nanos(const struct holder *h)
{
    return clock_monotonic_nanos(h->to.processor->component.env->clock);
}

static bool budget_is_busy(const struct budget *b)
{
    return atomic_load(&b->used) > b->limit / BUSY_BUDGET_PART;
}

static void on_timer(uv_timer_t *timer)
{
    struct holder *h = timer->data;
    mailbox_post(&h->mailbox, &h->tick);
}

static void run_arm(struct loop_task *task)
{
    struct holder *h = CONTAINER_OF(task, struct holder, arm);
    uv_loop_t *uv = &h->to.processor->component.loop->uv;
    if (h->closed)
        return;
    if (!h->has_timer)
        CHECK(uv_timer_init(uv, &h->timer) == 0);
    h->has_timer = true;
    h->timer.data = h;
    uv_update_time(uv);
    uv_timer_start(&h->timer, on_timer, (uint64_t)((h->wait_nanos + NANOS_PER_MS - 1) / NANOS_PER_MS), 0);
}

// All wait equally long, so the oldest is due first.
static void arm(struct holder *h)
{
    if (h->armed || h->oldest == NULL)
        return;
    int64_t wait = h->oldest->due_nanos - now_nanos(h);
    wait = wait < LOOK_NANOS ? wait : LOOK_NANOS;
    h->armed = true;
    h->wait_nanos = wait > 0 ? wait : 0;
    h->arm.run = run_arm;
    loop_post(h->to.processor->component.loop, &h->arm);
}

static void read_tick(struct letter *letter)
{
    struct holder *h = CONTAINER_OF(letter, struct holder, tick);
    h->armed = false;
    while (h->oldest != NULL && h->oldest->due_nanos <= now_nanos(h))
        let_go(h, &h->oldest, CAUSE_TIMEOUT);
    if (budget_is_busy(h->to.processor->component.env->budget))
        let_go_all(h, CAUSE_MEMORY);
    arm(h);
}

static void read_drain(struct letter *letter)
{
    struct holder *h = CONTAINER_OF(letter, struct holder, drain);
    h->draining = true;
    let_go_all(h, CAUSE_SHUTDOWN);
}

static struct group **group_for(struct holder *h, uint64_t key)
{
    const struct processor_hold *hold = &h->to.processor->hold;
    struct group **at = find_group(h, key);
    if (*at != NULL)
        return at;
    if (hold->most_groups != 0 && h->group_count >= hold->most_groups)
        let_go(h, &h->oldest, CAUSE_SIZE);
    struct group *g = MEM_NEW(struct group);
    g->key = key;
    g->due_nanos = now_nanos(h) + hold->longest_nanos;
    at = h->youngest;
    *at = g;
    h->youngest = &g->next;
    h->group_count++;
    return at;
}

static uint64_t size_of(const struct holder *h, const struct batch *b, size_t bytes)
{
    switch (h->to.processor->hold.sizer) {
    case HOLD_PROFILES:
        return b->profile_count;
    case HOLD_BYTES:
        return bytes;
    default:
        return b->sample_count;
    }
}

static bool is_enough(const struct holder *h, const struct group *g)
{
    uint64_t enough = h->to.processor->hold.enough;
    return (enough != 0 && g->size >= enough) || g->held.count >= GROUP_DELIVERIES ||
           g->bytes >= h->to.processor->component.env->budget->limit / GROUP_BUDGET_PART;
}

static void refuse(struct delivery *d)
{
    const struct verdict v = verdict_make(VERDICT_RETRY, "out of memory");
    delivery_end(d, &v);
}

static void add(struct holder *h, uint64_t key, struct delivery d, size_t bytes)
{
    struct group **at = group_for(h, key), *g = *at;
    uint64_t size = size_of(h, d.batch, bytes);
    if (!delivery_list_add(&g->held, d)) {
        refuse(&d);
    } else {
        metric_add(h->held, 1);
        g->bytes += bytes;
        g->size += size;
    }
    if (is_enough(h, g))
        let_go(h, at, CAUSE_SIZE);
    if (budget_is_busy(h->to.processor->component.env->budget))
        let_go_all(h, CAUSE_MEMORY);
}

// --- keys ---

static uint64_t key_of(const struct holder *h, const struct resource *r)
{
    const struct config_strings *keys = h->to.processor->hold.keys;
    uint64_t key = 0;
    for (size_t i = 0; keys != NULL && i < keys->count; i++) {
        const struct key_value *a = key_values_find(r->attributes, r->attribute_count, bytes_from_text(keys->items[i]));
        key = hash_mix(key, a == NULL ? 0 : value_hash(&a->value));
    }
    return key;
}

// The key of the resources from `first` on, and how many have it.
static uint32_t run_of_key(const struct holder *h, const struct batch *b, uint32_t first, uint64_t *key_out)
{
    uint32_t end = first + 1;
    *key_out = key_of(h, b->resources[first]);
    for (; end < b->resource_count; end++) {
        uint64_t other = key_of(h, b->resources[end]);
        if (other != *key_out)
            break;
    }
    return end - first;
}

static uint32_t count_runs(const struct holder *h, const struct batch *b)
{
    uint32_t runs = 0;
    uint64_t key;
    for (uint32_t at = 0; at < b->resource_count; runs++)
        at += run_of_key(h, b, at, &key);
    return runs;
}

static void add_run(struct holder *h, uint64_t key, struct delivery d, uint32_t first, uint32_t count, size_t bytes)
{
    struct batch *part;
    struct err e = {0};
    enum err_code rc = batch_select_resources(d.batch, first, count, &part, &e);
    if (rc != ERR_OK) {
        processor_fail(h->to.processor, h->to.meters, &d, rc, &e);
        return;
    }
    batch_unref(&d.batch);
    d.batch = part;
    add(h, key, d, bytes);
}

// Resources of different groups in one delivery part here, still under one ticket.
static void hold_parts(struct holder *h, struct delivery d)
{
    struct err e = {0};
    enum err_code rc = delivery_open(&d, &e);
    if (rc != ERR_OK) {
        processor_fail(h->to.processor, h->to.meters, &d, rc, &e);
        return;
    }
    size_t bytes = batch_memory_bytes(d.batch) / d.batch->resource_count;
    for (uint32_t at = 0; at < d.batch->resource_count;) {
        uint64_t key;
        uint32_t count = run_of_key(h, d.batch, at, &key);
        add_run(h, key, delivery_share(&d), at, count, bytes * count);
        at += count;
    }
    delivery_end(&d, NULL);
}

static void pass_on(struct holder *h, struct delivery d)
{
    struct delivery_list alone = {0};
    if (delivery_list_add(&alone, d))
        flush_submit(&h->to, alone);
    else
        refuse(&d);
}

// All at once, or none of it.
static bool is_held(const struct holder *h, const struct batch *b)
{
    return b->resource_count != 0 && !h->draining && h->to.processor->hold.longest_nanos != 0 &&
           count_runs(h, b) <= MOST_RUNS;
}

static void hold(struct holder *h, struct delivery d)
{
    uint64_t key;
    if (!is_held(h, d.batch))
        pass_on(h, d);
    else if (run_of_key(h, d.batch, 0, &key) == d.batch->resource_count)
        add(h, key, d, batch_memory_bytes(d.batch));
    else
        hold_parts(h, d);
    arm(h);
}

static void read_arrival(struct letter *letter)
{
    struct arrival *a = CONTAINER_OF(letter, struct arrival, letter);
    struct holder *h = a->holder;
    struct delivery d = a->delivery;
    free(a);
    hold(h, d);
}

// --- life ---

static void post(struct holder *h, struct delivery d)
{
    struct arrival *a = MEM_NEW(struct arrival);
    *a = (struct arrival){.letter.read = read_arrival, .holder = h, .delivery = d};
    mailbox_post(&h->mailbox, &a->letter);
}

static void keeper_take(struct consumer *self, struct delivery d)
{
    post(CONTAINER_OF(self, struct holder, keeper), d);
}

// What cannot be opened is not promised to be kept.
void holder_take(struct holder *h, struct delivery d)
{
    struct err e = {0};
    if (h->to.offers == NULL) {
        post(h, d);
        return;
    }
    enum err_code rc = delivery_open(&d, &e);
    if (rc == ERR_OK)
        delivery_keep(&d, &h->keeper);
    else
        processor_fail(h->to.processor, h->to.meters, &d, rc, &e);
}

struct holder *holder_create(struct processor *p, const char *pipeline_id, const struct stage_meters *meters,
                             struct consumer *next)
{
    struct holder *h = MEM_NEW(struct holder);
    struct metrics *m = p->component.env->metrics;
    struct metric_label labels[] = {{"processor", p->component.id}, {"pipeline", pipeline_id}, {"cause", NULL}};
    h->keeper.take = keeper_take;
    h->to = (struct flush_target){.processor = p, .meters = meters, .next = next};
    if (p->hold.keeps)
        h->to.offers = offers_create(p->component.env, p->component.loop, next);
    h->youngest = &h->oldest;
    h->tick.read = read_tick;
    h->drain.read = read_drain;
    h->held = metrics_series(m, &held_family, labels, 2);
    for (size_t i = 0; i < CAUSES; i++) {
        labels[2].value = cause_names[i];
        h->flushes[i] = metrics_series(m, &flush_family, labels, 3);
    }
    mailbox_init(&h->mailbox, p->component.env->workers);
    return h;
}

static void call_close(void *arg)
{
    struct holder *h = arg;
    h->closed = true;
    if (h->has_timer)
        uv_close((uv_handle_t *)&h->timer, NULL);
}

void holder_drain(struct holder *h)
{
    loop_call(h->to.processor->component.loop, call_close, h);
    mailbox_post(&h->mailbox, &h->drain);
    if (h->to.offers != NULL)
        offers_drain(h->to.offers);
}

bool holder_idle(const struct holder *h)
{
    return h->to.offers == NULL || offers_idle(h->to.offers);
}

void holder_close(struct holder *h)
{
    if (h->to.offers != NULL)
        offers_close(h->to.offers);
}

void holder_destroy(struct holder **h)
{
    CHECK((*h)->oldest == NULL);
    mailbox_fini(&(*h)->mailbox);
    if ((*h)->to.offers != NULL)
        offers_destroy(&(*h)->to.offers);
    free(*h);
    *h = NULL;
}
