// SPDX-License-Identifier: Apache-2.0
// Whose profiles a request brings: a header, by Pyroscope's rules.
#ifndef RECEIVERS_TENANT_H
#define RECEIVERS_TENANT_H

#include "config/fields.h"
#include "net/http_server.h"
#include "pipeline/component.h"

enum { TENANT_MAX_BYTES = 150 };

struct tenant_settings {
    bool required;
    const char *header;
    const char *attribute; // of the resource; "" = none
    const char *otherwise; // NULL = nobody
};

// The table behind `tenant`. at_: of the struct tenant_settings.
#define TENANT_FIELDS(at_)                                                                                             \
    {.name = "required",                                                                                               \
     .type = FIELD_BOOL,                                                                                               \
     .offset = (at_) + offsetof(struct tenant_settings, required),                                                     \
     .default_text = "false",                                                                                          \
     .help = "a request without the header is refused with 401"},                                                      \
        {.name = "header",                                                                                             \
         .type = FIELD_STRING,                                                                                         \
         .offset = (at_) + offsetof(struct tenant_settings, header),                                                   \
         .default_text = "X-Scope-OrgID",                                                                              \
         .help = "that names the tenant"},                                                                             \
        {.name = "attribute",                                                                                          \
         .type = FIELD_STRING,                                                                                         \
         .offset = (at_) + offsetof(struct tenant_settings, attribute),                                                \
         .default_text = "\"\"",                                                                                       \
         .help = "resource attribute that it becomes; \"\" = none"},                                                   \
        {.name = "default",                                                                                            \
         .type = FIELD_STRING,                                                                                         \
         .offset = (at_) + offsetof(struct tenant_settings, otherwise),                                                \
         .help = "tenant of requests without the header"},                                                             \
    {                                                                                                                  \
        .name = NULL                                                                                                   \
    }

// key: of the section ("tenant").
void tenant_settings_check(const struct tenant_settings *s, const char *key, const struct component_check *check);

// At most 150 of A-Z a-z 0-9 ! - _ . * ' ( ), and neither "." nor "..".
bool tenant_valid(struct bytes id);

// The tenant of a request, empty if it has none; lives as long as the exchange's head, or the settings. False: *why_not_out
// says why the request is refused.
bool tenant_of(const struct http_exchange *x, const struct tenant_settings *s, struct bytes *out,
               const char **why_not_out);

#endif
