// SPDX-License-Identifier: Apache-2.0
// What the OTLP exporters share beyond what all over HTTP do: layouts, and answers to an export request.
#ifndef EXPORTERS_OTLP_COMMON_H
#define EXPORTERS_OTLP_COMMON_H

#include "exporters/http_exporter.h"

#define OTLP_VERSION_HEADER "otlp-profiles-development-version"

// The first member of an exporter's settings.
struct otlp_settings {
    struct http_exporter_settings http;
    int layout;            // of otlp_layout_choices
    int string_references; // enum otlp_reference_choice
    int zero_link;         // enum otlp_zero_link_choice
};

enum otlp_reference_choice { OTLP_INLINE, OTLP_INDEXED };
enum otlp_zero_link_choice { OTLP_LINK_EMPTY, OTLP_LINK_ZEROS };

extern const char *const otlp_layout_choices[], *const otlp_reference_choices[], *const otlp_zero_link_choices[];

#define OTLP_SETTING(member) offsetof(struct otlp_settings, member)

#define OTLP_REQUEST_FIELDS(timeout_text, most)                                                                        \
    HTTP_EXPORTER_COMPRESSION_FIELDS("gzip"), HTTP_EXPORTER_TIMEOUT_FIELD(timeout_text),                               \
        HTTP_EXPORTER_SIZE_FIELD("max_request_bytes", (most),                                                          \
                                 "of one request before compression; larger ones are split"),                          \
        {.name = "layout",                                                                                             \
         .type = FIELD_ENUM,                                                                                           \
         .offset = OTLP_SETTING(layout),                                                                               \
         .default_text = "current",                                                                                    \
         .names = otlp_layout_choices,                                                                                 \
         .help =                                                                                                       \
             "of OTLP profiles, for peers of older releases; auto: an older one when the peer understands no newer"},  \
        {.name = "string_references",                                                                                  \
         .type = FIELD_ENUM,                                                                                           \
         .offset = OTLP_SETTING(string_references),                                                                    \
         .default_text = "inline",                                                                                     \
         .names = otlp_reference_choices,                                                                              \
         .help = "indexed: attributes of resources and scopes name texts by index; not every backend reads that"},     \
        {.name = "zero_link",                                                                                          \
         .type = FIELD_ENUM,                                                                                           \
         .offset = OTLP_SETTING(zero_link),                                                                            \
         .default_text = "empty",                                                                                      \
         .names = otlp_zero_link_choices,                                                                              \
         .help = "how link 0 is spelled; zeros: as ids of zeros, which some backends refuse"},                         \
        HTTP_EXPORTER_HEADER_FIELDS

// The first member of an exporter.
struct otlp_exporter {
    struct http_exporter http;
    const struct otlp_settings *settings;
    _Atomic unsigned spoken; // enum otlp_layout of what is encoded; written on the loop thread
    struct metric *layout_lost;
};

// As http_exporter_check and http_exporter_init.
void otlp_settings_check(const struct otlp_settings *s, const char *const *reserved,
                         const struct component_check *check);
void otlp_exporter_init(struct otlp_exporter *x, const struct otlp_settings *settings, const struct http_header *own,
                        size_t own_count);

// The headers of one attempt, credentials and all; header_set_fini them.
void otlp_flight_headers(const struct http_flight *f, struct header_set *out);
// Notes which layout was taken, then http_flight_end.
void otlp_flight_end(struct http_flight *f, const struct verdict *v);

// Of a peer's ExportProfilesServiceResponse.
struct verdict otlp_judge_success(const struct otlp_exporter *x, struct bytes body);

#endif
