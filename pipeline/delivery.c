// SPDX-License-Identifier: Apache-2.0
// Tickets: what all parts of one delivery share, settled exactly once.
#include "base/mem.h"
#include "pipeline/claim.h"
#include "pipeline/consumer.h"
#include "pipeline/queue.h"
#include "profile/origin.h"

#include <stdarg.h>
#include <stdio.h>

struct ticket {
    struct loop_task held_task, final_task; // posted at most once each
    struct waiter waiter;
    struct budget *budget;
    size_t charged_bytes;
    _Atomic uint32_t refs;        // openings, outstanding records, posted tasks
    _Atomic uint32_t open;        // parts that may still add records
    _Atomic uint32_t outstanding; // admitted records whose fate is not known; one more while open
    pthread_mutex_t lock;         // of what follows
    struct record_list records;   // not admitted yet
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
    if (v->kind > t->verdict.kind)
        t->verdict = *v;
    t->verdict.rejected_profiles = rejected;
    pthread_mutex_unlock(&t->lock);
}

static void run_held(struct loop_task *task)
{
    struct ticket *t = CONTAINER_OF(task, struct ticket, held_task);
    t->waiter.on_verdict(t->waiter.arg, MOMENT_HELD, &t->held);
    ticket_unref(t);
}

static void run_final(struct loop_task *task)
{
    struct ticket *t = CONTAINER_OF(task, struct ticket, final_task);
    t->waiter.on_verdict(t->waiter.arg, MOMENT_FINAL, &t->verdict);
    ticket_unref(t);
}

static void tell(struct ticket *t, struct loop_task *task, void (*run)(struct loop_task *))
{
    atomic_fetch_add(&t->refs, 1);
    task->run = run;
    if (t->waiter.loop != NULL)
        loop_post(t->waiter.loop, task);
    else
        run(task);
}

static void leave_outstanding(struct ticket *t)
{
    if (atomic_fetch_sub(&t->outstanding, 1) == 1 && t->waiter.on_verdict != NULL)
        tell(t, &t->final_task, run_final);
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

struct delivery delivery_share(const struct delivery *d)
{
    atomic_fetch_add(&d->ticket->open, 1);
    return (struct delivery){.batch = batch_ref(d->batch), .ticket = d->ticket};
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

static void admit(struct ticket *t)
{
    // Whoever encoded has let go of the batch: its memory is free again.
    if (t->charged_bytes != 0)
        budget_give(t->budget, t->charged_bytes);
    struct record *head = t->records.head;
    struct verdict refusal = {.kind = VERDICT_RETRY};
    // A branch that could not encode now makes the waiter offer the whole again: the others must not go first.
    if (t->verdict.kind == VERDICT_RETRY) {
        record_list_fini(&t->records);
        return;
    }
    if (head != NULL && !reserve_all(head, &refusal)) {
        // Nothing went out, so offering the whole again duplicates nothing: this outweighs what a branch noted.
        t->verdict = refusal;
        record_list_fini(&t->records);
        return;
    }
    record_list_init(&t->records);
    t->held = t->verdict;
    if (t->waiter.wants_held && t->waiter.on_verdict != NULL && t->held.kind <= VERDICT_PARTIAL && all_hold(head))
        tell(t, &t->held_task, run_held);
    commit_all(t, head);
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
    if (verdict->kind != VERDICT_OK)
        note_verdict(t, verdict);
    leave_outstanding(t);
    ticket_unref(t);
}
