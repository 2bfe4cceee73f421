// SPDX-License-Identifier: Apache-2.0
// The contract of receivers. To add one: a file like receivers/pprof.c with a const struct receiver_module at
// its end, one line in receivers/receivers.c, one in CMakeLists.txt, a test, a block in config.example.yaml,
// a page in docs/receivers/.
#ifndef RECEIVERS_RECEIVER_H
#define RECEIVERS_RECEIVER_H

#include "pipeline/component.h"
#include "pipeline/consumer.h"

struct receiver_module;

// What every instance begins with.
struct receiver {
    struct component component;
    const struct receiver_module *module;
    struct consumer *next; // takes batches; workers only
    // resource_attributes of the configuration; live as long as the receiver.
    const struct key_value *resource_attributes;
    uint32_t resource_attribute_count;
};

enum { RECEIVER_TRANSPORTS = 2, RECEIVER_ENDPOINTS = 2 };

struct receiver_module {
    struct module module;
    const char *transports[RECEIVER_TRANSPORTS]; // label of the metrics: "file"; "grpc" and "http"
    // What it listens on and may share with other receivers (net/shared_server.h): those that do are on one loop. Answers
    // how many; NULL = none.
    size_t (*endpoints)(const void *settings, const char *out[RECEIVER_ENDPOINTS]);
    // Fills the zeroed instance; no I/O. settings live as long as the instance. On failure destroy is called.
    enum err_code (*create)(struct receiver *self, const void *settings, struct err *e);
    // Loop thread. Begins to receive.
    enum err_code (*start)(struct receiver *self, struct err *e);
    // Loop thread, does not block: take in nothing new. May be called without start.
    void (*close)(struct receiver *self);
    // Loop thread, after close: calls component_stopped (also after a failed start) once every verdict has come and every handle is closed.
    void (*stop)(struct receiver *self);
    // Frees what create and start made (not the instance).
    void (*destroy)(struct receiver *self);
};

// Counts what came in: otelcol_receiver_{accepted,refused,failed}_profile_samples. Any thread.
enum receiver_outcome { RECEIVER_ACCEPTED, RECEIVER_REFUSED, RECEIVER_FAILED };
// transport: index into the module's.
void receiver_count(struct receiver *self, unsigned transport, enum receiver_outcome outcome, uint64_t samples);

#endif
