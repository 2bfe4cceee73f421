// SPDX-License-Identifier: Apache-2.0
// The contract of processors: no I/O, no formats. To add one: a file like processors/resource.c, one line in
// processors/processors.c, one in CMakeLists.txt, a test, a block in config.example.yaml, a page in docs/processors/.
#ifndef PROCESSORS_PROCESSOR_H
#define PROCESSORS_PROCESSOR_H

#include "pipeline/component.h"
#include "profile/batch.h"

struct processor_module;

struct processor {
    struct component component;
    const struct processor_module *module;
    // Set by create when process reads and changes the attributes of resources and scopes alone: it is given unread
    // batches (profile/origin.h), too.
    bool takes_unread;
};

struct processor_module {
    struct module module;
    // One batch at a time, in order; otherwise process may run on several workers at once.
    bool serial;
    enum err_code (*create)(struct processor *self, const void *settings, struct err *e);
    // Changes *batch (replacing the reference), leaves it, or sets it to NULL to drop it on purpose. An error
    // is counted and logged by the driver; *batch must then be as it came.
    enum err_code (*process)(struct processor *self, struct batch **batch, struct err *e);
    void (*destroy)(struct processor *self);
};

#endif
