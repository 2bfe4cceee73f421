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
    size_t raw_bytes; // before compression
    uint64_t profiles, samples;
    int64_t created_nanos; // monotonic
    // Of the pipeline.
    struct ticket *ticket; // told when the record is final
    struct queue *queue;
    size_t charged_bytes; // in the budget
    bool has_room;        // reserved in its queue
};

// Data moves into the record.
struct record *record_create(uint8_t *data, size_t len);
void record_destroy(struct record **r);

// Records of one delivery for one exporter, in order.
struct record_list {
    struct record *head, **tail;
};

static inline void record_list_init(struct record_list *l)
{
    l->head = NULL;
    l->tail = &l->head;
}

static inline void record_list_add(struct record_list *l, struct record *r)
{
    r->next = NULL;
    *l->tail = r;
    l->tail = &r->next;
}

void record_list_fini(struct record_list *l); // destroys what is in it

#endif
