// SPDX-License-Identifier: Apache-2.0
// The contract of extensions: services beside the pipelines. To add one: a file, one line in
// extensions/extensions.c, one in CMakeLists.txt, a test, a block in config.example.yaml, a page in docs/extensions/.
#ifndef EXTENSIONS_EXTENSION_H
#define EXTENSIONS_EXTENSION_H

#include "pipeline/authentication.h"
#include "pipeline/component.h"
#include "pipeline/storage.h"

struct extension_module;

// Settings of the module that shows the metrics page.
struct endpoint_settings {
    const char *endpoint; // "localhost:8888"
};

struct extension {
    struct component component;
    const struct extension_module *module;
};

struct extension_module {
    struct module module;
    enum err_code (*create)(struct extension *self, const void *settings, struct err *e);
    // Loop thread, before anything else starts. May be NULL.
    enum err_code (*start)(struct extension *self, struct err *e);
    // Loop thread, after everything else has stopped: calls component_stopped (also after a failed start) once quiet.
    void (*stop)(struct extension *self);
    void (*destroy)(struct extension *self);
    // What others may use; NULL = this extension offers none.
    struct storage *(*storage)(struct extension *self);
    struct authenticator *(*authenticator)(struct extension *self); // net/authenticator.h; valid from create on
    // As which (enum auth_role, may be both) it may be used with these settings; they may have errors.
    unsigned (*auth_roles)(const void *settings);
};

#endif
