// SPDX-License-Identifier: Apache-2.0
// Inside detect/: a cloud's metadata service, asked step by step.
#ifndef DETECT_METADATA_SERVICE_H
#define DETECT_METADATA_SERVICE_H

#include "detect/detector.h"

enum { METADATA_MAX_BODY_BYTES = 256 << 10, METADATA_MAX_TOKEN_BYTES = 1024, METADATA_STEP_SECONDS = 2 };

struct metadata_walk;

struct metadata_step {
    const char *method; // NULL = GET
    const char *path;
    bool optional;      // what is not there (404) is passed over
    const char *remedy; // of a failure; NULL = none is known
    // One of both: the body is a line of text that is this attribute; or use makes something of it.
    const char *key;
    enum err_code (*use)(struct metadata_walk *w, struct bytes body, struct err *e);
};

struct metadata_service {
    size_t endpoint;           // of the setting, in struct detect_settings
    struct http_header header; // of each request, until a step sets another
    struct http_header answer; // that each answer must have; name NULL = none
    const struct metadata_step *steps;
    size_t step_count;
    void (*finish)(struct metadata_walk *w); // after the last step; NULL = nothing
};

struct metadata_walk {
    struct detector_run *run;
    const struct metadata_service *service;
    size_t step;
    struct http_header header;
    struct http_call *call;
    char token[METADATA_MAX_TOKEN_BYTES + 1];
    bool is_cluster, is_located; // of gcp
};

void metadata_begin(struct detector_run *r, const struct metadata_service *service);
void metadata_cancel(struct detector_run *r); // a detector's cancel

// A body that is one printable line, in *out; anything else is not from a metadata service.
enum err_code metadata_line(struct bytes body, size_t max_bytes, struct bytes *out, struct err *e) MUST_USE;

// A text of a JSON document: member of the object `section` (NULL = the outermost).
struct metadata_member {
    const char *section, *member, *key;
};
// Adds those that are there; of several with one key the first row counts. ERR_INVALID unless the first row is there.
enum err_code metadata_document(struct metadata_walk *w, struct bytes body, const struct metadata_member *rows,
                                size_t count, struct err *e) MUST_USE;

#endif
