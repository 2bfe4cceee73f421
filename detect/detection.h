// SPDX-License-Identifier: Apache-2.0
// What can be found out about the place the program runs at: by detectors, each of which asks one source (the environment,
// the system, a cloud's metadata service). All I/O is done here, on the loop; what was found is published as a whole.
//
// To add a detector: a file like detect/container.c, its line in detector.c, its settings and rows in settings.{h,c}.
#ifndef DETECT_DETECTION_H
#define DETECT_DETECTION_H

#include "detect/settings.h"
#include "pipeline/component.h"
#include "profile/value.h"

// What was found; never changed once it is published.
struct detected {
    _Atomic uint32_t refs;
    const struct key_value *list; // each key once
    uint32_t count;
    struct arena arena;
};

void detected_unref(struct detected **d); // any thread

// The environment of the process, for tests to replace.
struct detect_environment {
    const char *(*get)(void *arg, const char *name); // NULL = not set
    void *arg;
};

struct detection;

// In create; nothing is asked yet. The settings are borrowed. environment NULL = the real one.
struct detection *detection_create(struct component *owner, const struct detect_settings *settings,
                                   const struct detect_environment *environment);
// In start: begins the first round, whose end (or timeout) detection_ready waits for. Then rounds follow by
// refresh_interval; a detector that fails leaves what it found before.
void detection_start(struct detection *d);
// As a processor's ready: ERR_UNAVAILABLE = not yet. With fail_on_missing_metadata the failure of a detector is one.
enum err_code detection_ready(const struct detection *d, struct err *e) MUST_USE;
// One reference of what is known now; never NULL. Any thread.
struct detected *detection_current(struct detection *d);
// In stop, also when never started: on_stopped follows, perhaps from inside.
void detection_stop(struct detection *d, void (*on_stopped)(void *arg), void *arg);
void detection_destroy(struct detection **d); // after stop, or when never started

#endif
