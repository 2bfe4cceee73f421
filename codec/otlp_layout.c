// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_layout.h"

const char *const otlp_layout_names[OTLP_LAYOUTS + 1] = {"auto", "1.5", "1.7", "1.8", "1.9", "current", NULL};

bool otlp_layout_from_name(const char *name, enum otlp_layout *out)
{
    static const struct {
        const char *name;
        enum otlp_layout layout;
    } others[] = {{"1.4", OTLP_LAYOUT_1_5}, {"1.10", OTLP_LAYOUT_CURRENT}, {"1.11", OTLP_LAYOUT_CURRENT}};
    for (size_t i = 0; i < OTLP_LAYOUTS; i++) {
        if (strcmp(name, otlp_layout_names[i]) == 0) {
            *out = (enum otlp_layout)i;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(name, others[i].name) == 0) {
            *out = others[i].layout;
            return true;
        }
    }
    return false;
}
