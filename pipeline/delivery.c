// SPDX-License-Identifier: Apache-2.0
// Tickets: what all parts of one delivery share, settled exactly once.
#include "base/mem.h"
#include "pipeline/claim.h"
#include "pipeline/consumer.h"
#include "pipeline/queue.h"
#include "profile/origin.h"

#include <stdarg.h>
#include <stdio.h>

// A part that goes to its keeper once everything is held.
struct kept {
    struct kept *next;
    struct batch *batch;
    struct consumer *keeper;
};

struct ticket {
    struct loop_task held_task, final_task; // posted at most once each
    struct waiter waiter;
    struct budget *budget;
    size_t charged_bytes;
    _Atomic uint32_t refs;        // openings, outstanding records, posted tasks
    _Atomic uint32_t open;        // parts that may still add records
    _Atomic uint32_t outstanding; // admitted records whose fate is not known; one more while open
    _Atomic bool begun;           // some of it is past admission
    _Atomic bool taken;           // some of it, by a peer
    pthread_mutex_t lock;         // of what follows
    struct record_list records;   // not admitted yet
    struct kept *kept;            // so are these
    struct verdict verdict;       // the worst so far
    struct verdict held;          // the worst before anything was sent; written once
};

struct verdict verdict_make(enum verdict_kind kind, const char *format, ...)
{
    struct verdict v = {.kind = kind};
    va_list args;
    va_start(args, format);
    vsnprintf(v.text, sizeof v.text, format, args);
    va_end(args);
    return v;
}

struct verdict record_list_verdict(const struct record_list *l)
{
    if (l->dropped == NULL)
        return (struct verdict){.kind = VERDICT_OK};
    struct verdict v = verdict_make(VERDICT_PARTIAL, "%s", l->dropped);
    v.rejected_profiles = l->dropped_profiles;
    return v;
}

static void ticket_unref(struct ticket *t)
{
    if (atomic_fetch_sub(&t->refs, 1) != 1)
        return;
    pthread_mutex_destroy(&t->lock);
    free(t);
}

// Keeps the gravest verdict. One branch that wants a retry does not undo another that was refused for good:
// offering the whole again could only duplicate, so REFUSED outweighs RETRY.
static void note_verdict(struct ticket *t, const struct verdict *v)
{
    pthread_mutex_lock(&t->lock);
    uint64_t rejected = t->verdict.rejected_profiles + v->rejected_profiles;
    bool tried = t->verdict.tried || v->tried;
    if (v->kind > t->verdict.kind)
        t->verdict = *v;
    t->verdict.rejected_profiles = rejected;
    t->verdict.tried = tried;
    pthread_mutex_unlock(&t->lock);
}

static void say_held(struct ticket *t)
{
    t->waiter.on_verdict(t->waiter.arg, MOMENT_HELD, &t->held);
}

static void say_final(struct ticket *t)
{
    t->waiter.on_verdict(t->waiter.arg, MOMENT_FINAL, &t->verdict);
}

static void run_held(struct loop_task *task)
{
    struct ticket *t = CONTAINER_OF(task, struct ticket, held_task);
    say_held(t);
    ticket_unref(t);
}

static void run_final(struct loop_task *task)
{
    struct ticket *t = CONTAINER_OF(task, struct ticket, final_task);
    say_final(t);
    ticket_unref(t);
}

// say, by way of the waiter's loop if it has one: in run.
static void tell(struct ticket *t, void (*say)(struct ticket *t), struct loop_task *task,
                 void (*run)(struct loop_task *))
{
    if (t->waiter.loop == NULL) {
        say(t);
        return;
    }
    atomic_fetch_add(&t->refs, 1);
    task->run = run;
    loop_post(t->waiter.loop, task);
}

static void leave_outstanding(struct ticket *t)
{
    if (atomic_fetch_sub(&t->outstanding, 1) != 1 || t->waiter.on_verdict == NULL)
        return;
    if (t->verdict.kind == VERDICT_PARTIAL && t->verdict.faulty && !atomic_load(&t->taken))
        t->verdict.kind = VERDICT_REFUSED;
    tell(t, say_final, &t->final_task, run_final);
}

struct delivery delivery_create(struct batch *batch, const struct waiter *waiter, struct budget *budget,
                                size_t charged_bytes)
{
    struct ticket *t = MEM_NEW(struct ticket);
    t->waiter = *waiter;
    t->budget = budget;
    t->charged_bytes = charged_bytes;
    atomic_init(&t->refs, 1);
    atomic_init(&t->open, 1);
    atomic_init(&t->outstanding, 1);
    CHECK(pthread_mutex_init(&t->lock, NULL) == 0);
    record_list_init(&t->records);
    return (struct delivery){.batch = batch, .ticket = t};
}

const struct sender *delivery_sender(const struct delivery *d)
{
    return &d->ticket->waiter.sender;
}

bool ticket_has_copy(const struct ticket *t)
{
    return t->waiter.has_copy;
}

struct delivery delivery_share(const struct delivery *d)
{
    atomic_fetch_add(&d->ticket->open, 1);
    return (struct delivery){.batch = batch_ref(d->batch), .ticket = d->ticket};
}

void delivery_keep(struct delivery *d, struct consumer *keeper)
{
    struct ticket *t = d->ticket;
    struct kept *k = MEM_NEW(struct kept);
    *k = (struct kept){.batch = d->batch, .keeper = keeper};
    *d = (struct delivery){NULL, NULL};
    pthread_mutex_lock(&t->lock);
    k->next = t->kept;
    t->kept = k;
    pthread_mutex_unlock(&t->lock);
    ticket_leave(t);
}

void delivery_end(struct delivery *d, const struct verdict *note)
{
    if (note != NULL)
        note_verdict(d->ticket, note);
    batch_unref(&d->batch);
    ticket_leave(d->ticket);
    d->ticket = NULL;
}

enum { OPEN_TIMES = 3 }; // memory that reading takes, for each byte that is read: a first guess

// held: what the delivery holds of the claim already.
static enum err_code open_within(struct batch **b, struct claim *claim, size_t held, struct err *e)
{
    size_t wanted = held + (*b)->origin->bytes * OPEN_TIMES, limit = claim->budget->limit;
    enum err_code code = claim_at_least(claim, wanted < limit ? wanted : limit, e);
    while (code == ERR_OK) {
        code = batch_open(b, claim_room(claim, held), e);
        if (code != ERR_LIMIT)
            break;
        code = claim_more(claim, CLAIM_TIMES, e);
    }
    return code;
}

static size_t change_charge(struct ticket *t, size_t more)
{
    pthread_mutex_lock(&t->lock);
    size_t charged = t->charged_bytes += more;
    pthread_mutex_unlock(&t->lock);
    return charged;
}

size_t delivery_take_charge(struct delivery *d)
{
    size_t charged = 0;
    if (atomic_load(&d->ticket->open) != 1)
        return 0;
    pthread_mutex_lock(&d->ticket->lock);
    charged = d->ticket->charged_bytes;
    d->ticket->charged_bytes = 0;
    pthread_mutex_unlock(&d->ticket->lock);
    return charged;
}

void delivery_return_charge(struct delivery *d, size_t bytes)
{
    change_charge(d->ticket, bytes);
}

enum err_code delivery_open(struct delivery *d, struct err *e)
{
    if (!batch_is_unread(d->batch))
        return ERR_OK;
    size_t held = change_charge(d->ticket, 0);
    struct claim claim = {d->ticket->budget, held};
    struct batch *opened = batch_ref(d->batch);
    enum err_code code = open_within(&opened, &claim, held, e);
    if (code == ERR_OK)
        code = claim_exactly(&claim, held + batch_memory_bytes(opened) - opened->origin->bytes, e);
    if (code == ERR_OK) {
        batch_unref(&d->batch);
        d->batch = opened;
        change_charge(d->ticket, claim.bytes - held);
    } else {
        batch_unref(&opened);
        CHECK(claim_exactly(&claim, held, NULL) == ERR_OK); // giving back
    }
    return code;
}

void ticket_add_record(struct ticket *t, struct queue *queue, struct record *r)
{
    r->ticket = t;
    r->queue = queue;
    pthread_mutex_lock(&t->lock);
    record_list_add(&t->records, r);
    pthread_mutex_unlock(&t->lock);
}

// All or nothing: every record gets room in its queue, or none is taken and the waiter hears why.
static bool reserve_all(struct record *head, struct verdict *refusal)
{
    for (struct record *r = head; r != NULL; r = r->next) {
        if (queue_reserve(r->queue, r, refusal))
            continue;
        for (struct record *back = head; back != r; back = back->next)
            queue_cancel(back->queue, back);
        return false;
    }
    return true;
}

void ticket_record_admitted(struct ticket *t)
{
    atomic_store(&t->begun, true);
    atomic_fetch_add(&t->outstanding, 1);
    atomic_fetch_add(&t->refs, 1);
}

static void commit_all(struct ticket *t, struct record *head)
{
    for (struct record *r = head, *next; r != NULL; r = next) {
        next = r->next;
        ticket_record_admitted(t);
        queue_commit(r->queue, r);
    }
}

static bool all_hold(const struct record *head)
{
    for (const struct record *r = head; r != NULL; r = r->next)
        if (!queue_holds(r->queue))
            return false;
    return true;
}

static void refuse(struct ticket *t)
{
    record_list_fini(&t->records);
    for (struct kept *k = t->kept, *next; k != NULL; k = next) {
        next = k->next;
        batch_unref(&k->batch);
        free(k);
    }
    budget_give(t->budget, t->charged_bytes);
}

static void on_kept_verdict(void *arg, enum verdict_moment moment, const struct verdict *v)
{
    (void)moment;
    ticket_record_final(arg, v);
}

// The batch is the same, or of the same parts: the last has the charge for all of them.
static void hand_over_kept(struct ticket *t, struct kept *kept, size_t charged)
{
    const struct waiter waiter = {
        .sender = t->waiter.sender, .has_copy = t->waiter.has_copy, .on_verdict = on_kept_verdict, .arg = t};
    for (struct kept *k = kept, *next; k != NULL; k = next) {
        next = k->next;
        ticket_record_admitted(t);
        size_t share = next == NULL ? charged : 0;
        struct delivery d = delivery_create(k->batch, &waiter, t->budget, share);
        consumer_take(k->keeper, d);
        free(k);
    }
}

static void admit(struct ticket *t)
{
    struct verdict refusal = {.kind = VERDICT_RETRY};
    // Whoever encoded has let go of the batch: its memory is free again, if nobody keeps it.
    size_t charged = t->kept != NULL ? t->charged_bytes : 0;
    budget_give(t->budget, t->charged_bytes - charged);
    t->charged_bytes = charged;
    // A branch that could not encode now makes the waiter offer the whole again: the others must not go first.
    if (t->verdict.kind == VERDICT_RETRY) {
        refuse(t);
        return;
    }
    // What was joined with others may be on its way already (joint.c): offering the whole again would duplicate that.
    bool may_refuse = !atomic_load(&t->begun);
    if (!reserve_all(t->records.head, may_refuse ? &refusal : NULL)) {
        // Nothing went out, so offering the whole again duplicates nothing: this outweighs what a branch noted.
        t->verdict = refusal;
        refuse(t);
        return;
    }
    struct record *head = record_list_take(&t->records);
    t->held = t->verdict;
    if (t->waiter.wants_held && t->waiter.on_verdict != NULL && t->held.kind <= VERDICT_PARTIAL && all_hold(head))
        tell(t, say_held, &t->held_task, run_held);
    commit_all(t, head);
    hand_over_kept(t, t->kept, charged);
}

void ticket_leave(struct ticket *t)
{
    if (atomic_fetch_sub(&t->open, 1) != 1)
        return;
    admit(t);
    leave_outstanding(t);
    ticket_unref(t);
}

void ticket_record_final(struct ticket *t, const struct verdict *verdict)
{
    struct verdict v = *verdict;
    v.tried = true;
    if (v.kind <= VERDICT_PARTIAL && !v.faulty)
        atomic_store(&t->taken, true);
    if (v.kind != VERDICT_OK)
        note_verdict(t, &v);
    leave_outstanding(t);
    ticket_unref(t);
}
