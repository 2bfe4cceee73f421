// SPDX-License-Identifier: Apache-2.0
#include "pipeline/offers.h"

#include "base/mem.h"

#include <pthread.h>

enum { AGAIN_MS = 1000, AGAIN_DRAINING_MS = 50 };

struct offer {
    struct offer *next;
    struct offers *owner;
    struct delivery delivery;
    size_t charged;
    struct ticket *ticket; // once held: a record of it that is on its way
    uint64_t rejected;     // profiles, told with held
};

struct offers {
    struct consumer *next;
    const struct component_env *env;
    struct loop *loop;
    _Atomic size_t count; // not held yet
    _Atomic bool draining;
    pthread_mutex_t lock; // of what follows
    struct offer *refused;
    bool armed;
    // One at a time, while armed.
    struct loop_task arm;
    struct job again;
    // Of the loop.
    uv_timer_t timer;
    bool has_timer;
};

static void end(struct offer *x)
{
    atomic_fetch_sub(&x->owner->count, 1);
    free(x);
}

static void hold(struct offer *x, const struct verdict *v)
{
    x->ticket = x->delivery.ticket;
    x->rejected = v->rejected_profiles;
    ticket_record_admitted(x->ticket);
    delivery_end(&x->delivery, v);
    atomic_fetch_sub(&x->owner->count, 1);
}

static void wait_for_room(struct offer *x)
{
    struct offers *o = x->owner;
    budget_take(o->env->budget, x->charged);
    delivery_return_charge(&x->delivery, x->charged);
    pthread_mutex_lock(&o->lock);
    x->next = o->refused;
    o->refused = x;
    if (!o->armed)
        loop_post(o->loop, &o->arm);
    o->armed = true;
    pthread_mutex_unlock(&o->lock);
}

static void finish(struct offer *x, const struct verdict *v)
{
    if (x->ticket != NULL) {
        struct verdict rest = *v;
        rest.rejected_profiles -= x->rejected;
        ticket_record_final(x->ticket, &rest);
        free(x);
    } else if (v->kind == VERDICT_RETRY && !v->tried) {
        wait_for_room(x);
    } else {
        delivery_end(&x->delivery, v);
        end(x);
    }
}

static void on_verdict(void *arg, enum verdict_moment moment, const struct verdict *v)
{
    if (moment == MOMENT_HELD)
        hold(arg, v);
    else
        finish(arg, v);
}

// The charge goes with what is tried: whoever encoded it has room for what it made of it.
static void try_it(struct offer *x)
{
    struct offers *o = x->owner;
    const struct waiter waiter = {.sender = *delivery_sender(&x->delivery),
                                  .has_copy = ticket_has_copy(x->delivery.ticket),
                                  .wants_held = true,
                                  .on_verdict = on_verdict,
                                  .arg = x};
    x->charged = delivery_take_charge(&x->delivery);
    consumer_take(o->next, delivery_create(batch_ref(x->delivery.batch), &waiter, o->env->budget, x->charged));
}

// --- the next try ---

static void run_again(struct job *job)
{
    struct offers *o = CONTAINER_OF(job, struct offers, again);
    struct verdict refusal;
    if (!consumer_has_room(o->next, &refusal)) {
        loop_post(o->loop, &o->arm);
        return;
    }
    pthread_mutex_lock(&o->lock);
    struct offer *list = o->refused;
    o->refused = NULL;
    o->armed = false;
    pthread_mutex_unlock(&o->lock);
    for (struct offer *x = list, *next; x != NULL; x = next) {
        next = x->next;
        try_it(x);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct offers *o = timer->data;
    workers_submit(o->env->workers, &o->again);
}

static void start_timer(struct offers *o)
{
    uv_update_time(&o->loop->uv);
    uv_timer_start(&o->timer, on_timer, atomic_load(&o->draining) ? AGAIN_DRAINING_MS : AGAIN_MS, 0);
}

static void run_arm(struct loop_task *task)
{
    struct offers *o = CONTAINER_OF(task, struct offers, arm);
    if (!o->has_timer)
        CHECK(uv_timer_init(&o->loop->uv, &o->timer) == 0);
    o->has_timer = true;
    o->timer.data = o;
    start_timer(o);
}

// --- life ---

void offers_take(struct offers *o, struct delivery d)
{
    struct offer *x = MEM_NEW(struct offer);
    *x = (struct offer){.owner = o, .delivery = d};
    atomic_fetch_add(&o->count, 1);
    try_it(x);
}

struct offers *offers_create(const struct component_env *env, struct loop *loop, struct consumer *next)
{
    struct offers *o = MEM_NEW(struct offers);
    *o = (struct offers){.next = next, .env = env, .loop = loop, .arm.run = run_arm, .again.run = run_again};
    CHECK(pthread_mutex_init(&o->lock, NULL) == 0);
    return o;
}

static void call_drain(void *arg)
{
    struct offers *o = arg;
    atomic_store(&o->draining, true);
    if (o->has_timer && uv_is_active((uv_handle_t *)&o->timer))
        start_timer(o);
}

void offers_drain(struct offers *o)
{
    loop_call(o->loop, call_drain, o);
}

bool offers_idle(const struct offers *o)
{
    return atomic_load(&o->count) == 0;
}

static void call_close(void *arg)
{
    struct offers *o = arg;
    CHECK(offers_idle(o));
    if (o->has_timer)
        uv_close((uv_handle_t *)&o->timer, NULL);
}

void offers_close(struct offers *o)
{
    loop_call(o->loop, call_close, o);
}

void offers_destroy(struct offers **o)
{
    pthread_mutex_destroy(&(*o)->lock);
    free(*o);
    *o = NULL;
}
