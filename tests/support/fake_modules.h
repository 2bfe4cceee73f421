// SPDX-License-Identifier: Apache-2.0
// Modules that do as a test says, in tables of their own, and a service that runs them on a thread of its own.
// A world holds the descriptors, so that its instances find it without globals.
//
// receivers.fake:   {batches: 3, fail: create|start}: batch i (from 0) has i + 1 samples
// processors.fake:  {action: pass|drop|fail|memory, fail: create}; processors.serial: the same, one at a time
// processors.gate:  {action: pass|refuse, fail: create|start, not_ready: 3 (so often it says so; -1: and fails then)}
// exporters.fake:   {answer: ok|partial|retry|refused|slow|never, failures: 2, records: 1, record_bytes: 100,
//                    encode: ok|invalid|memory, fail: create|start}
// extensions.fake:  {fail: create|start}
#ifndef TESTS_SUPPORT_FAKE_MODULES_H
#define TESTS_SUPPORT_FAKE_MODULES_H

#include "exporters/exporter.h"
#include "extensions/extension.h"
#include "pipeline/service.h"
#include "processors/processor.h"
#include "receivers/receiver.h"

enum { FAKE_TAKEN_MAX = 1024, FAKE_VERDICTS = 4 };

enum fake_answer {
    FAKE_OK,
    FAKE_PARTIAL,
    FAKE_RETRY,
    FAKE_REFUSED,
    FAKE_SLOW,  // ok, from a timer
    FAKE_NEVER, // until it is cancelled, or answer changes to one of the others
};

// What happened so far.
struct fake_seen {
    unsigned created[KIND_COUNT], started[KIND_COUNT], stopped[KIND_COUNT], destroyed[KIND_COUNT];
    unsigned closed, cancelled;           // receivers, exporters
    unsigned encoded, sends, unanswered;  // exporters
    unsigned held, finals[FAKE_VERDICTS]; // receivers, by verdict_kind
    unsigned processing, processing_max;  // at the same time, in serial processors
    uint64_t processed[FAKE_TAKEN_MAX];   // sample counts of the batches, in order
    unsigned processed_count;
    struct sender sender;           // of the last of them, where it is told
    uint64_t taken[FAKE_TAKEN_MAX]; // sample counts of the records a peer took, in order
    unsigned taken_count;
    size_t budget_at_end; // when the first extension stops
};

struct fake_world {
    struct receiver_module receiver;
    struct processor_module processor, serial, gate;
    struct exporter_module exporter;
    struct extension_module extension;
    const struct module *receivers[2], *processors[3], *exporters[1], *extensions[2];
    struct module_tables modules;
    struct clock clock;
    _Atomic int64_t wall_nanos, monotonic_nanos; // of clock
    _Atomic int answer;                          // enum fake_answer for all exporters; -1 = as configured
    pthread_mutex_t lock;                        // of seen
    pthread_cond_t changed;
    struct fake_seen seen;
};

void fake_world_init(struct fake_world *w);
void fake_world_fini(struct fake_world *w);
struct fake_seen fake_world_seen(struct fake_world *w);
void fake_world_advance(struct fake_world *w, int64_t nanos); // both times of the clock
// Puts a real receiver or extension beside the fake one.
void fake_world_add_receiver(struct fake_world *w, const struct receiver_module *m);
void fake_world_add_extension(struct fake_world *w, const struct extension_module *m);

// A batch of one profile with so many samples; one reference.
struct batch *fake_batch(uint32_t samples);

// A service over a configuration.
struct fake_service {
    struct fake_world *world;
    const struct clock *clock; // NULL = the system's
    struct arena arena;
    struct plan plan;
    pthread_t thread;
    struct service *service; // once it is ready
    struct metrics *metrics;
    bool ended;
    int exit_code;
    char *log; // after fake_service_join
    size_t log_size;
    FILE *log_stream;
};

// Plans (aborting with the messages on stderr if that fails) and runs.
void fake_service_start(struct fake_service *f, struct fake_world *w, const struct clock *clock, const char *yaml);
// Waits until it is ready, or has ended.
void fake_service_wait_ready(struct fake_service *f);
// Waits until holds(arg) says true; aborts after a minute.
void fake_world_wait(struct fake_world *w, bool (*holds)(void *arg), void *arg);
// The value of a series with up to two labels (name NULL = none); 0 if it was never touched.
int64_t fake_service_counter(struct fake_service *f, const char *name, const char *label, const char *value,
                             const char *label2, const char *value2);
// Asks it to end, without waiting.
void fake_service_stop(struct fake_service *f);
// Waits for the end, returns the exit code.
int fake_service_join(struct fake_service *f);
void fake_service_fini(struct fake_service *f);

#endif
