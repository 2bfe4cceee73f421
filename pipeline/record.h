// SPDX-License-Identifier: Apache-2.0
// One encoded request body with its header: opaque to pipeline/, sent again as it is when retried.
#ifndef PIPELINE_RECORD_H
#define PIPELINE_RECORD_H

#include "base/bytes.h"

struct ticket;
struct queue;

struct record {
    struct record *next;
    uint8_t *data; // malloc'ed, owned
    size_t len;
    // Of the exporter that encoded it.
    unsigned encoding, compression, layout;
    unsigned refused_layouts; // in which the peer could not read what is in it: a bit for each
    char *first_refusal;      // its words for the first; malloc'ed, owned; NULL = none
    uint32_t time_shift;      // of its profile, from the time that it had (ns)
    unsigned doubts;          // answers that may mean that it can never be taken
    size_t raw_bytes;         // before compression
    uint64_t profiles, samples;
    // What the exporter's authenticator asks of the profiles: the values of its attributes, NULL = none. One malloc'ed
    // block, owned; NULL = it asks for nothing.
    const char **header_values;
    size_t header_bytes;
    int64_t created_nanos; // monotonic
    // Of the pipeline.
    struct ticket *ticket; // told when the record is final
    struct queue *queue;
    size_t charged_bytes; // in the budget
    bool has_room;        // reserved in its queue
    bool is_part;         // of one that the peer found too large
    bool is_divisible;    // of several resources: one of them may be what the peer finds faulty
    bool was_cut;         // from one that the peer found faulty
};

// What it takes of the budget.
static inline size_t record_bytes(const struct record *r)
{
    return r->len + r->header_bytes;
}

// Data moves into the record.
struct record *record_create(uint8_t *data, size_t len);
void record_destroy(struct record **r);

// Records of one delivery for one exporter, in order.
struct record_list {
    struct record *head, **tail;
    // Of encode and replace: what can never be sent and is given up, one sentence; NULL = nothing. And how many profiles
    // lost all they had: others may have lost only some of their samples.
    char *dropped;
    uint64_t dropped_profiles;
};

static inline void record_list_init(struct record_list *l)
{
    *l = (struct record_list){.tail = &l->head};
}

static inline void record_list_add(struct record_list *l, struct record *r)
{
    r->next = NULL;
    *l->tail = r;
    l->tail = &r->next;
}

// The records, linked; they are in the list no more.
static inline struct record *record_list_take(struct record_list *l)
{
    struct record *head = l->head;
    l->head = NULL;
    l->tail = &l->head;
    return head;
}

// The first text stays.
void record_list_drop(struct record_list *l, const char *text);
void record_list_fini(struct record_list *l); // destroys what is in it

#endif
