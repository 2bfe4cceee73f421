// SPDX-License-Identifier: Apache-2.0
// How many requests may go out: so many a second, and some at once.
#ifndef KUBE_KUBE_PACE_H
#define KUBE_KUBE_PACE_H

#include <stdint.h>

struct kube_pace {
    double per_second, burst, free;
    int64_t filled_nanos; // monotonic
};

void kube_pace_init(struct kube_pace *p, double per_second, int64_t burst, int64_t now_nanos);
// 0: one may go out now, and is counted. Else: how long to wait before asking again.
int64_t kube_pace_take(struct kube_pace *p, int64_t now_nanos);

#endif
