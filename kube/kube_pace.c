// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_pace.h"

#include "base/clock.h"

void kube_pace_init(struct kube_pace *p, double per_second, int64_t burst, int64_t now_nanos)
{
    *p = (struct kube_pace){per_second, (double)burst, (double)burst, now_nanos};
}

int64_t kube_pace_take(struct kube_pace *p, int64_t now_nanos)
{
    double passed = (double)(now_nanos - p->filled_nanos) / (double)NANOS_PER_SECOND;
    double filled = p->free + (passed > 0 ? passed : 0) * p->per_second;
    p->free = filled < p->burst ? filled : p->burst;
    p->filled_nanos = now_nanos;
    if (p->free >= 1) {
        p->free -= 1;
        return 0;
    }
    return (int64_t)((1 - p->free) / p->per_second * (double)NANOS_PER_SECOND) + 1;
}
