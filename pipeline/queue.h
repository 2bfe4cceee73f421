// SPDX-License-Identifier: Apache-2.0
// The queue in front of one exporter: records, bounded by requests, items or bytes and by the memory
// budget; and the senders that empty it, each with its own retry. Queues belong to the service.
#ifndef PIPELINE_QUEUE_H
#define PIPELINE_QUEUE_H

#include "base/log.h"
#include "base/metrics.h"
#include "pipeline/consumer.h"
#include "pipeline/health.h"
#include "pipeline/retry.h"
#include "pipeline/worker.h"

enum queue_sizer { QUEUE_REQUESTS, QUEUE_ITEMS, QUEUE_BYTES };
enum queue_on_full { QUEUE_REFUSE, QUEUE_DROP_NEW, QUEUE_DROP_OLDEST };

struct queue_settings {
    bool enabled; // false: one record at a time per sender, held is not told before final
    int64_t num_consumers, queue_size;
    int sizer;   // enum queue_sizer
    int on_full; // enum queue_on_full
};

struct send;
struct queue;

struct queue_options {
    const struct queue_settings *settings; // must outlive the queue
    const struct retry_settings *retry;
    struct loop *loop; // where send and its timers run
    struct budget *budget;
    const struct clock *clock;
    struct logger log;
    struct metrics *metrics;
    const char *exporter_id;
    // On the loop's thread; calls send_done exactly once, now or later.
    void (*send)(void *arg, struct send *s);
    // On a worker: what takes the place of a record that the peer refuses as it is, see exporters/exporter.h. NULL = nothing.
    enum err_code (*replace)(void *arg, const struct record *r, const struct verdict *refusal, struct record_list *out,
                             struct err *e);
    struct workers *workers; // where replace runs
    void *arg;
    uint64_t random_seed; // of the jitter
};

struct queue *queue_create(const struct queue_options *options);

// Any thread, none blocks. Reserve room, then commit or cancel. REFUSE: *refusal says why. DROP_*: the
// record is not wanted or something older makes room: both count as room here, see queue_commit. refusal NULL: it cannot be
// refused any more, and is taken past all bounds.
bool queue_reserve(struct queue *q, struct record *r, struct verdict *refusal) MUST_USE;
void queue_cancel(struct queue *q, struct record *r);
// Any thread: false while queue_reserve would refuse the smallest record.
bool queue_has_room(struct queue *q, struct verdict *refusal);
// False for a disabled queue: being in it does not mean that somebody else keeps the record.
bool queue_holds(const struct queue *q);
// Takes the record over. Under DROP_NEW a full queue ends it here, counted as dropped.
void queue_commit(struct queue *q, struct record *r);

const struct record *send_record(const struct send *s);
// One more answer that may mean that the record can never be taken: see record.doubts.
void send_doubt(struct send *s);
// The outcome of one attempt; RETRY starts the back-off; too_large, unreadable and, of what is_divisible, faulty have other
// records take its place in front of all that waits. On the loop's thread.
void send_done(struct send *s, const struct verdict *v);

// Any thread.
void queue_health(struct queue *q, struct queue_health *out);
// Nothing waits, nothing is in flight. Any thread.
bool queue_idle(struct queue *q);
// Shutdown: whoever backs off tries once more now, and the next failure of any record is its last.
void queue_drain(struct queue *q);
// Ends everything that waits or backs off; counts and logs it. Loop thread.
void queue_abandon(struct queue *q);
// When nothing is in flight: closes the timers, then calls on_closed and frees. Loop thread.
void queue_close(struct queue **q, void (*on_closed)(void *arg), void *arg);

#endif
