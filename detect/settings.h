// SPDX-License-Identifier: Apache-2.0
// What is asked, and which attributes are wanted: the Collector's keys.
#ifndef DETECT_SETTINGS_H
#define DETECT_SETTINGS_H

#include "config/fields.h"
#include "pipeline/component.h"

struct detect_switch {
    bool enabled;
};

// One switch for each row of resource_attributes, in the order of the rows; more than any detector has.
enum { DETECT_SWITCHES = 16 };

struct detect_system_settings {
    struct config_strings hostname_sources;
    struct detect_switch attributes[DETECT_SWITCHES];
};
struct detect_container_settings {
    struct detect_switch attributes[DETECT_SWITCHES];
};
struct detect_k8s_downward_settings { // names of variables
    const char *namespace_name, *pod_name, *pod_uid, *pod_ip, *node_name, *container_name;
};
struct detect_k8s_api_settings {
    const char *node_from_env_var;
    struct detect_switch attributes[DETECT_SWITCHES];
};
struct detect_ec2_settings {
    const char *endpoint;
    bool fail_on_missing_metadata;
    struct detect_switch attributes[DETECT_SWITCHES];
};
struct detect_gcp_settings {
    const char *endpoint;
    struct detect_switch attributes[DETECT_SWITCHES];
};
struct detect_azure_settings {
    const char *endpoint;
    struct detect_switch attributes[DETECT_SWITCHES];
};

struct detect_settings {
    struct config_strings detectors; // in order: what an earlier one found is not replaced
    int64_t timeout_nanos, refresh_nanos;
    bool fail_on_missing_metadata;
    const char *root_path; // of proc and etc; "/"
    struct detect_system_settings system;
    struct detect_container_settings container;
    struct detect_k8s_downward_settings k8s_downward;
    struct detect_k8s_api_settings k8s_api;
    struct detect_ec2_settings ec2;
    struct detect_gcp_settings gcp;
    struct detect_azure_settings azure;
};

// The rows of resource_attributes: their names are the attributes, their offsets those of the switches.
extern const struct field detect_system_attributes[], detect_container_attributes[], detect_k8s_api_attributes[],
    detect_ec2_attributes[], detect_gcp_attributes[], detect_azure_attributes[];
// The sections of the detectors.
extern const struct field detect_system_fields[], detect_container_fields[], detect_k8s_downward_fields[],
    detect_k8s_api_fields[], detect_ec2_fields[], detect_gcp_fields[], detect_azure_fields[];

#define DETECT_SECTION(at_, section_)                                                                                  \
    {.name = #section_,                                                                                                \
     .type = FIELD_STRUCT,                                                                                             \
     .offset = (at_) + offsetof(struct detect_settings, section_),                                                     \
     .fields = detect_##section_##_fields,                                                                             \
     .help = "the detector of this name"}

// at_: of the struct detect_settings in the settings.
#define DETECT_FIELDS(at_)                                                                                             \
    {.name = "detectors",                                                                                              \
     .type = FIELD_STRING_LIST,                                                                                        \
     .offset = (at_) + offsetof(struct detect_settings, detectors),                                                    \
     .default_text = "[env]",                                                                                          \
     .help = "env, system, container, k8s_downward, k8s_api, ec2, gcp, azure; what an earlier one finds counts"},      \
        {.name = "timeout",                                                                                            \
         .type = FIELD_DURATION,                                                                                       \
         .offset = (at_) + offsetof(struct detect_settings, timeout_nanos),                                            \
         .default_text = "5s",                                                                                         \
         .min = 1e6,                                                                                                   \
         .max = 3600e9,                                                                                                \
         .help = "of all detectors together; nothing is received before"},                                             \
        {.name = "refresh_interval",                                                                                   \
         .type = FIELD_DURATION,                                                                                       \
         .offset = (at_) + offsetof(struct detect_settings, refresh_nanos),                                            \
         .default_text = "0s",                                                                                         \
         .max = -1,                                                                                                    \
         .help = "how often the detectors are asked again; 0 = never"},                                                \
        {.name = "fail_on_missing_metadata",                                                                           \
         .type = FIELD_BOOL,                                                                                           \
         .offset = (at_) + offsetof(struct detect_settings, fail_on_missing_metadata),                                 \
         .default_text = "false",                                                                                      \
         .help = "do not start when a detector fails"},                                                                \
        {.name = "root_path",                                                                                          \
         .type = FIELD_STRING,                                                                                         \
         .offset = (at_) + offsetof(struct detect_settings, root_path),                                                \
         .default_text = "/",                                                                                          \
         .help = "where proc and etc are: the host's root, mounted into a container"},                                 \
        {.name = "retry", .type = FIELD_IGNORED, .help = "refresh_interval asks again"}, DETECT_SECTION(at_, system),  \
        DETECT_SECTION(at_, container), DETECT_SECTION(at_, k8s_downward), DETECT_SECTION(at_, k8s_api),               \
        {.name = "k8snode",                                                                                            \
         .type = FIELD_STRUCT,                                                                                         \
         .offset = (at_) + offsetof(struct detect_settings, k8s_api),                                                  \
         .fields = detect_k8s_api_fields,                                                                              \
         .help = "the old name of k8s_api"},                                                                           \
        DETECT_SECTION(at_, ec2), DETECT_SECTION(at_, gcp), DETECT_SECTION(at_, azure)

void detect_settings_check(const struct detect_settings *s, const struct component_check *check);

#endif
