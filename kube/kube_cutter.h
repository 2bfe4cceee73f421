// SPDX-License-Identifier: Apache-2.0
// Finds where an object that comes in pieces ends; whether it is JSON in between its reader says. Internal to the decoder.
#ifndef KUBE_KUBE_CUTTER_H
#define KUBE_KUBE_CUTTER_H

#include "base/buf.h"
#include "base/err.h"

struct kube_scanner {
    uint32_t depth;
    bool in_string, escaped;
};

static inline void kube_scan_byte(struct kube_scanner *s, uint8_t c)
{
    if (s->escaped)
        s->escaped = false;
    else if (s->in_string && c == '\\')
        s->escaped = true;
    else if (c == '"')
        s->in_string = !s->in_string;
    else if (!s->in_string && (c == '{' || c == '['))
        s->depth++;
    else if (!s->in_string && (c == '}' || c == ']'))
        s->depth--;
}

struct kube_cutter {
    struct kube_scanner scanner;
    struct buf held; // of an object that is not whole yet
};

void kube_cutter_init(struct kube_cutter *c);
void kube_cutter_fini(struct kube_cutter *c);
// Takes from *data what belongs to the object that begins there or began before. *whole_out: the object, borrowed until
// the next call; empty: data is used up and there is more to come. ERR_LIMIT, ERR_MEMORY.
enum err_code kube_cutter_take(struct kube_cutter *c, struct bytes *data, struct bytes *whole_out,
                               struct err *e) MUST_USE;

#endif
