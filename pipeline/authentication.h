// SPDX-License-Identifier: Apache-2.0
// The key `auth.authenticator` of receivers and exporters: it names an extension that can what is asked of it.
#ifndef PIPELINE_AUTHENTICATION_H
#define PIPELINE_AUTHENTICATION_H

#include "pipeline/component.h"

// What an extension does as an authenticator (net/authenticator.h); may be both.
enum auth_role {
    AUTH_ROLE_SERVER = 1, // tells whether a request may come in
    AUTH_ROLE_CLIENT = 2, // adds credentials to requests
};

// Adds an error unless id (NULL = none is named) is started and has the role. key: "auth.authenticator".
void auth_check(const struct component_check *check, const char *key, const char *id, enum auth_role role);

#endif
