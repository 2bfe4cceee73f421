// SPDX-License-Identifier: Apache-2.0
#include "pipeline/mailbox.h"

// One letter per run, so that other work gets its turn; the job goes back behind what waits.
static void read_one(struct job *job)
{
    struct mailbox *m = CONTAINER_OF(job, struct mailbox, job);
    struct letter *letter = (struct letter *)ring_take(&m->ring);
    CHECK(letter != NULL);
    letter->read(letter);
    if (atomic_fetch_sub(&m->letters, 1) != 1)
        workers_submit(m->workers, &m->job);
}

void mailbox_init(struct mailbox *m, struct workers *workers)
{
    *m = (struct mailbox){.job.run = read_one, .workers = workers};
    atomic_init(&m->letters, 0);
    ring_init(&m->ring, 0, 0, NULL, NULL);
}

void mailbox_fini(struct mailbox *m)
{
    ring_fini(&m->ring);
}

// Whoever brings the first letter submits the job.
void mailbox_post(struct mailbox *m, struct letter *letter)
{
    ring_post(&m->ring, &letter->node);
    if (atomic_fetch_add(&m->letters, 1) == 0)
        workers_submit(m->workers, &m->job);
}
