// SPDX-License-Identifier: Apache-2.0
// One delivery in place of several: it waits for itself on behalf of them.
#include "base/mem.h"
#include "pipeline/consumer.h"

struct joint_member {
    struct ticket *ticket; // its opening until held, then a record of it that is on its way
    uint64_t profiles;
};

struct joint {
    struct joint_member *members;
    size_t count;
    bool held;
    uint64_t rejected; // profiles, told with held
};

// Nobody knows whose profiles a peer rejected: each member hears of as many as can be its own.
static struct verdict share_of(const struct joint *j, const struct joint_member *m, const struct verdict *v)
{
    struct verdict share = *v;
    uint64_t told = j->rejected < m->profiles ? j->rejected : m->profiles;
    uint64_t all = v->rejected_profiles < m->profiles ? v->rejected_profiles : m->profiles;
    share.rejected_profiles = all - told;
    return share;
}

// From now on the joint delivery is a record of each member: their other branches may go, and have to.
static void hold(struct joint *j, const struct verdict *v)
{
    for (size_t i = 0; i < j->count; i++) {
        const struct verdict share = share_of(j, &j->members[i], v);
        struct delivery d = {.ticket = j->members[i].ticket};
        ticket_record_admitted(d.ticket);
        delivery_end(&d, &share);
    }
    j->held = true;
    j->rejected = v->rejected_profiles;
}

static void finish(struct joint *j, const struct verdict *v)
{
    if (!j->held && v->kind <= VERDICT_PARTIAL)
        hold(j, v);
    for (size_t i = 0; i < j->count; i++) {
        const struct verdict share = share_of(j, &j->members[i], v);
        struct delivery d = {.ticket = j->members[i].ticket};
        if (j->held)
            ticket_record_final(d.ticket, &share);
        else
            delivery_end(&d, &share);
    }
    free(j->members);
    free(j);
}

static void on_verdict(void *arg, enum verdict_moment moment, const struct verdict *v)
{
    if (moment == MOMENT_HELD)
        hold(arg, v);
    else
        finish(arg, v);
}

static struct sender common_sender(const struct delivery *members, size_t count)
{
    const struct sender *first = delivery_sender(&members[0]);
    for (size_t i = 1; i < count; i++)
        if (memcmp(first, delivery_sender(&members[i]), sizeof *first) != 0)
            return (struct sender){0};
    return *first;
}

static bool all_have_copies(const struct delivery *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!ticket_has_copy(members[i].ticket))
            return false;
    return true;
}

bool delivery_join(struct batch *batch, struct delivery *members, size_t count, struct budget *budget,
                   size_t charged_bytes, struct delivery *joint_out)
{
    struct joint_member *list = mem_try_array(count, sizeof *list);
    if (list == NULL)
        return false;
    struct joint *j = MEM_NEW(struct joint);
    *j = (struct joint){.members = list, .count = count};
    const struct waiter waiter = {.sender = common_sender(members, count),
                                  .has_copy = all_have_copies(members, count),
                                  .wants_held = true,
                                  .on_verdict = on_verdict,
                                  .arg = j};
    for (size_t i = 0; i < count; i++) {
        budget_give(budget, delivery_take_charge(&members[i]));
        list[i] = (struct joint_member){members[i].ticket, members[i].batch->profile_count};
        batch_unref(&members[i].batch);
        members[i].ticket = NULL;
    }
    *joint_out = delivery_create(batch, &waiter, budget, charged_bytes);
    return true;
}
