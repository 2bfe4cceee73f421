// SPDX-License-Identifier: Apache-2.0
// An extension that authenticates, with a folder for its files and a clock that stands still.
#ifndef TESTS_UNIT_EXTENSIONS_AUTH_FIXTURE_H
#define TESTS_UNIT_EXTENSIONS_AUTH_FIXTURE_H

#include "extensions/extensions.h"
#include "net/authenticator.h"
#include "tests/support/fake_env.h"
#include "tests/support/test_folder.h"

struct auth_rig {
    struct fake_env env;
    struct clock clock; // of env
    int64_t now_nanos;
    struct test_folder folder;
    struct fake_component component;
    struct authenticator *authenticator;
};

void auth_rig_init(struct auth_rig *r); // the folder and the clock
// Creates and starts; each @ in yaml becomes the folder's path.
void auth_rig_start(struct auth_rig *r, const struct extension_module *m, const char *yaml);
void auth_rig_fini(struct auth_rig *r);

void auth_rig_write(struct auth_rig *r, const char *name, const char *text); // as a new file
void auth_rig_later(struct auth_rig *r);                                     // the clock goes on by a second
// The messages of a check of these settings; free() them.
char *auth_rig_messages(struct auth_rig *r, const struct extension_module *m, const char *yaml);

// Ends a SLOW check by verify. headers: name, value, ..., NULL.
enum auth_result auth_rig_check(struct auth_rig *r, const char *const *headers, struct auth_answer *out);
// The value of one header after apply on these (name, value, ..., NULL); NULL = it is not there. free() it.
char *auth_rig_apply(struct auth_rig *r, const char *const *headers, const char *const *values, const char *name);

#define HEADERS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
