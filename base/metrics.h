// SPDX-License-Identifier: Apache-2.0
// Counters and gauges in Prometheus' text format. A family is a const descriptor (name, type, help); a
// series is one set of labels in it. Reading and adding are lock-free; registering takes a lock.
#ifndef BASE_METRICS_H
#define BASE_METRICS_H

#include "base/buf.h"

#include <stdatomic.h>
#include <stdint.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE };

struct metric_family {
    const char *name; // "otelcol_receiver_accepted_profile_samples"
    const char *help; // one sentence with the unit
    enum metric_type type;
};

struct metric_label {
    const char *name, *value; // copied
};

struct metrics; // the registry
struct metric {
    _Atomic int64_t value;
};

struct metrics *metrics_create(void);
void metrics_destroy(struct metrics **m);

// The series of a family with these labels; the same pointer for the same labels in whatever order, valid until
// metrics_destroy. Descriptors of the same name are one family and must agree on the type. The family must outlive the registry. Any thread. Never NULL.
struct metric *metrics_series(struct metrics *m, const struct metric_family *family, const struct metric_label *labels,
                              size_t label_count);

// A gauge computed when the page is read; read is called on the reading thread, must not block nor call the
// registry. The same labels again replace read and arg; read NULL takes the series off the page. Once this
// returns, what was replaced is no longer called.
void metrics_series_read(struct metrics *m, const struct metric_family *family, const struct metric_label *labels,
                         size_t label_count, int64_t (*read)(void *), void *arg);

static inline void metric_add(struct metric *s, int64_t delta)
{
    atomic_fetch_add_explicit(&s->value, delta, memory_order_relaxed);
}

static inline void metric_set(struct metric *s, int64_t value)
{
    atomic_store_explicit(&s->value, value, memory_order_relaxed);
}

static inline int64_t metric_get(const struct metric *s)
{
    return atomic_load_explicit(&s->value, memory_order_relaxed);
}

// The whole page (text format 0.0.4), families sorted by name, series by labels, HELP and TYPE once each; label
// values escaped. Any thread.
void metrics_write(struct metrics *m, struct buf *page);

#endif
