// SPDX-License-Identifier: Apache-2.0
// The one interface between stages, and what travels over it.
//
// batch      decoded profiles, immutable, counted.
// delivery   a batch on its way. Handing it on always consumes it.
// ticket     what all parts of one delivery share: it is settled exactly once, with two moments:
//            held  - every branch has its records in its queue (or the delivery ended before that)
//            final - every peer has answered
// verdict    ok, partial (how many, why), retry (after how long), refused (why).
#ifndef PIPELINE_CONSUMER_H
#define PIPELINE_CONSUMER_H

#include "base/err.h"
#include "base/ip_address.h"
#include "pipeline/budget.h"
#include "pipeline/loop.h"
#include "pipeline/record.h"
#include "profile/batch.h"

#include <stdint.h>

enum verdict_kind { // in order of gravity
    VERDICT_OK,
    VERDICT_PARTIAL, // some profiles, or samples of them, were rejected for good
    VERDICT_RETRY,   // nothing is lost; offer the same again later
    VERDICT_REFUSED, // will never be taken as it is
};

enum { VERDICT_TEXT_MAX = 256 };

struct verdict {
    enum verdict_kind kind;
    uint64_t rejected_profiles;  // PARTIAL
    int64_t retry_after_nanos;   // RETRY; 0 = the waiter's own judgement
    bool queue_full;             // RETRY: nothing was tried, a sending queue has no room
    bool over_limit;             // RETRY: it is this sender who sends too much
    bool tried;                  // RETRY: some of it was on its way to a peer
    bool too_large;              // REFUSED: smaller parts of it may be taken
    bool unreadable;             // REFUSED: the same in another form may be taken
    bool faulty;                 // REFUSED: for something in it; what is without that may be taken. PARTIAL: that part
    char text[VERDICT_TEXT_MAX]; // one sentence, terminated
};

enum verdict_moment { MOMENT_HELD, MOMENT_FINAL };

// Who sent a delivery. All zero = not known (a file, a Unix socket, several).
struct sender {
    struct ip_address address;
};

struct waiter {
    struct sender sender;
    struct loop *loop; // NULL: on_verdict is called where it happens, on any thread, and must not block
    bool has_copy;     // of what it offered, until that is final: nothing is lost if the program ends before
    bool wants_held;   // on_verdict is called for MOMENT_HELD too, but only if every branch holds it: OK or PARTIAL
    // NULL = nobody waits. On the loop's thread; for MOMENT_FINAL exactly once. After it the waiter is never touched again.
    void (*on_verdict)(void *arg, enum verdict_moment moment, const struct verdict *verdict);
    void *arg;
};

struct delivery {
    struct batch *batch;   // one reference
    struct ticket *ticket; // one opening: see ticket_leave
};

struct consumer {
    // Takes the delivery over. On a worker thread; may run on several at once; must not block.
    void (*take)(struct consumer *self, struct delivery d);
    // Any thread: false while any delivery would be refused for want of room in a sending queue. NULL = it never is.
    bool (*has_room)(struct consumer *self, struct verdict *refusal);
};

static inline void consumer_take(struct consumer *c, struct delivery d)
{
    c->take(c, d);
}

// A guess that is cheap: spares reading what would be refused anyway.
static inline bool consumer_has_room(struct consumer *c, struct verdict *refusal)
{
    return c->has_room == NULL || c->has_room(c, refusal);
}

// Starts a delivery. Takes over one reference of batch and charged_bytes of the budget (given back when the
// last branch has encoded the batch). Never fails.
struct delivery delivery_create(struct batch *batch, const struct waiter *waiter, struct budget *budget,
                                size_t charged_bytes);
// Lives as long as the delivery.
const struct sender *delivery_sender(const struct delivery *d);
// Another delivery of the same batch under the same ticket, for fan-out.
struct delivery delivery_share(const struct delivery *d);
// One delivery of what several were made into: whatever is heard of it, each of them hears; of what a peer rejected, at
// most as many profiles as it has. On success takes over the reference of batch, charged_bytes, and the members, whose
// batches are let go. false when out of memory: nothing was taken. Worker thread.
bool delivery_join(struct batch *batch, struct delivery *members, size_t count, struct budget *budget,
                   size_t charged_bytes, struct delivery *joint_out) MUST_USE;
// For a stage that keeps what comes longer than senders wait: gives up this part, and hands it to the keeper once all other
// parts are held, in a delivery of its own that only its final verdict is told of; the charge of this one goes with it.
// Who waits for held hears it then.
void delivery_keep(struct delivery *d, struct consumer *keeper);
// What the ticket has charged, if this is all of it that is still open, else 0: the caller's to give back, or to return.
size_t delivery_take_charge(struct delivery *d);
void delivery_return_charge(struct delivery *d, size_t bytes);
// Ends this part: nothing of it goes on. note may be NULL (dropped on purpose: counts as ok).
void delivery_end(struct delivery *d, const struct verdict *note);

// For whoever needs the profiles of a batch that may be unread (profile/origin.h): opens it; the memory is charged to the
// ticket. ERR_MEMORY, ERR_LIMIT: the delivery is as it was. Worker thread.
enum err_code delivery_open(struct delivery *d, struct err *e) MUST_USE;

// For exporter branches. Adds a record (taken over) that must be admitted into its queue together with all
// others of this ticket.
void ticket_add_record(struct ticket *t, struct queue *queue, struct record *r);
// Gives up one opening. When the last is gone, all records are admitted or none.
void ticket_leave(struct ticket *t);
// See struct waiter.
bool ticket_has_copy(const struct ticket *t);
// By the queue: one more record is on its way. Any thread, while another is.
void ticket_record_admitted(struct ticket *t);
// By the queue: the record's fate is known. Any thread. Faulty: none of it was taken; if that is so of all, it is REFUSED.
void ticket_record_final(struct ticket *t, const struct verdict *verdict);

struct verdict verdict_make(enum verdict_kind kind, const char *format, ...) PRINTF_LIKE(2, 3);
// OK, or PARTIAL with what had to be dropped.
struct verdict record_list_verdict(const struct record_list *l);

#endif
