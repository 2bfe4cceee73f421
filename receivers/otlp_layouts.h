// SPDX-License-Identifier: Apache-2.0
// The layouts of OTLP profiles that a receiver takes (codec/otlp_layout.h), and what it tells of those that come.
#ifndef RECEIVERS_OTLP_LAYOUTS_H
#define RECEIVERS_OTLP_LAYOUTS_H

#include "codec/otlp_layout.h"
#include "config/fields.h"
#include "pipeline/component.h"

enum { OTLP_TRANSLATE_OLD, OTLP_REJECT_OLD };

struct otlp_layout_settings {
    struct config_strings accept; // names; none = all
    int on_old;
    int assume; // enum otlp_layout
};

// A row for a receiver whose settings have these at this offset.
#define OTLP_LAYOUTS_FIELDS(at_)                                                                                       \
    {.name = "accept",                                                                                                 \
     .type = FIELD_STRING_LIST,                                                                                        \
     .offset = (at_) + offsetof(struct otlp_layout_settings, accept),                                                  \
     .help = "that are taken: current, 1.9, 1.8, 1.7, 1.5; default: all"},                                             \
        {.name = "on_old",                                                                                             \
         .type = FIELD_ENUM,                                                                                           \
         .offset = (at_) + offsetof(struct otlp_layout_settings, on_old),                                              \
         .default_text = "translate",                                                                                  \
         .names = otlp_on_old_names,                                                                                   \
         .help = "with a layout before 1.10"},                                                                         \
        {.name = "assume",                                                                                             \
         .type = FIELD_ENUM,                                                                                           \
         .offset = (at_) + offsetof(struct otlp_layout_settings, assume),                                              \
         .default_text = "auto",                                                                                       \
         .names = otlp_layout_names,                                                                                   \
         .help = "of a request that may be in this layout or in another; auto: it is refused"},                        \
    {                                                                                                                  \
        .name = NULL                                                                                                   \
    }

extern const char *const otlp_on_old_names[];

void otlp_layout_settings_check(const struct otlp_layout_settings *s, const struct component_check *check);
struct otlp_layout_rules otlp_layout_rules_of(const struct otlp_layout_settings *s);

// What came, by sender: counted, and told when a sender begins with an old layout or changes. Loop thread.
struct otlp_senders;
struct otlp_senders *otlp_senders_create(const struct component *c);
void otlp_senders_destroy(struct otlp_senders **s);
void otlp_senders_note(struct otlp_senders *s, const char *address, const struct otlp_layout_finding *found);

#endif
