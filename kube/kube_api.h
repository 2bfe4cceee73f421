// SPDX-License-Identifier: Apache-2.0
// One cluster's API server: how it is reached, how fast it may be asked, and how it does. Of one loop.
#ifndef KUBE_KUBE_API_H
#define KUBE_KUBE_API_H

#include "base/random.h"
#include "kube/kube_access.h"
#include "kube/kube_pace.h"
#include "pipeline/retry.h"

// Tests have it faster.
struct kube_timing {
    struct retry_settings retry;
    int64_t forbidden_nanos; // until what is not permitted is asked for again
    int64_t healthy_nanos;   // a watch that lived so long was a good one
    int64_t stall_nanos;     // of a list without a byte; a watch: five times that, bookmarks come every minute
    int64_t list_nanos;      // one page, the whole of it
    int64_t watch_seconds;   // that a watch is asked to last at least; at most twice that
};
extern const struct kube_timing kube_timing_default;

struct kube_api {
    uv_loop_t *loop;
    const struct clock *clock;
    const struct logger *log;
    struct kube_timing timing;
    struct kube_access access;
    struct http_client *http; // NULL once it is closed
    struct kube_pace pace;
    struct random random;
    unsigned troubled; // kinds that it does not serve
    int64_t troubled_since_nanos;
};

// In place. Reads files; blocks. After an error there is nothing to close. The settings, clock and log are borrowed.
enum err_code kube_api_open(struct kube_api *a, uv_loop_t *loop, const struct kube_watch_settings *settings,
                            const struct clock *clock, const struct logger *log, struct err *e) MUST_USE;
// Cancels what is asked; on_closed follows when all is quiet and freed.
void kube_api_close(struct kube_api *a, void (*on_closed)(void *arg), void *arg);

int64_t kube_api_now(const struct kube_api *a); // monotonic
// A kind is not served any more, and is again: the first and the last are told.
void kube_api_troubled(struct kube_api *a, const char *what);
void kube_api_serves(struct kube_api *a);

#endif
