// SPDX-License-Identifier: Apache-2.0
#include "detect/settings.h"

#include "base/mem.h"
#include "detect/hostname.h"

static const struct field switch_on[] = {
    {.name = "enabled", .type = FIELD_BOOL, .default_text = "true", .help = "write it"}, {.name = NULL}};
static const struct field switch_off[] = {
    {.name = "enabled", .type = FIELD_BOOL, .default_text = "false", .help = "write it"}, {.name = NULL}};

// The n-th row has the n-th switch.
#define SWITCH(n_, name_, fields_)                                                                                     \
    {.name = (name_), .type = FIELD_STRUCT, .offset = (n_) * sizeof(struct detect_switch), .fields = (fields_)}
#define ON(n_, name_) SWITCH(n_, name_, switch_on)
#define OFF(n_, name_) SWITCH(n_, name_, switch_off)

const struct field detect_system_attributes[] = {
    ON(0, "host.name"),
    ON(1, "os.type"),
    OFF(2, "host.id"),
    OFF(3, "host.arch"),
    OFF(4, "host.ip"),
    OFF(5, "host.mac"),
    OFF(6, "host.cpu.vendor.id"),
    OFF(7, "host.cpu.family"),
    OFF(8, "host.cpu.model.id"),
    OFF(9, "host.cpu.model.name"),
    OFF(10, "host.cpu.stepping"),
    OFF(11, "os.description"),
    OFF(12, "os.name"),
    OFF(13, "os.version"),
    {.name = NULL},
};
const struct field detect_container_attributes[] = {ON(0, "container.id"), {.name = NULL}};
const struct field detect_k8s_api_attributes[] = {
    ON(0, "k8s.node.name"), OFF(1, "k8s.node.uid"), OFF(2, "k8s.cluster.uid"), {.name = NULL}};
const struct field detect_ec2_attributes[] = {
    ON(0, "cloud.account.id"), ON(1, "cloud.availability_zone"),
    ON(2, "cloud.platform"),   ON(3, "cloud.provider"),
    ON(4, "cloud.region"),     ON(5, "host.id"),
    ON(6, "host.image.id"),    ON(7, "host.name"),
    ON(8, "host.type"),        {.name = NULL},
};
const struct field detect_gcp_attributes[] = {
    ON(0, "cloud.account.id"), ON(1, "cloud.availability_zone"),
    ON(2, "cloud.platform"),   ON(3, "cloud.provider"),
    ON(4, "cloud.region"),     ON(5, "host.id"),
    ON(6, "host.name"),        ON(7, "host.type"),
    ON(8, "k8s.cluster.name"), {.name = NULL},
};
const struct field detect_azure_attributes[] = {
    ON(0, "azure.resourcegroup.name"),
    ON(1, "azure.vm.name"),
    ON(2, "azure.vm.scaleset.name"),
    ON(3, "azure.vm.size"),
    ON(4, "cloud.account.id"),
    OFF(5, "cloud.availability_zone"),
    ON(6, "cloud.platform"),
    ON(7, "cloud.provider"),
    ON(8, "cloud.region"),
    ON(9, "host.id"),
    ON(10, "host.name"),
    {.name = NULL},
};

#define AT(section_, member_) offsetof(struct detect_##section_##_settings, member_)
#define ATTRIBUTES(section_)                                                                                           \
    {.name = "resource_attributes",                                                                                    \
     .type = FIELD_STRUCT,                                                                                             \
     .offset = AT(section_, attributes),                                                                               \
     .fields = detect_##section_##_attributes,                                                                         \
     .help = "which are written"}
#define ENDPOINT(section_, url_)                                                                                       \
    {.name = "endpoint",                                                                                               \
     .type = FIELD_STRING,                                                                                             \
     .offset = AT(section_, endpoint),                                                                                 \
     .default_text = (url_),                                                                                           \
     .help = "of the metadata service; asked without a proxy"}
#define VARIABLE(name_, member_, default_, help_)                                                                      \
    {.name = (name_),                                                                                                  \
     .type = FIELD_STRING,                                                                                             \
     .offset = AT(k8s_downward, member_),                                                                              \
     .default_text = (default_),                                                                                       \
     .help = (help_)}

const struct field detect_system_fields[] = {
    {.name = "hostname_sources",
     .type = FIELD_STRING_LIST,
     .offset = AT(system, hostname_sources),
     .default_text = "[dns, os]",
     .help = "of host.name, the first that has one: dns (the full name), cname, lookup (of the address), os"},
    ATTRIBUTES(system),
    {.name = NULL},
};
const struct field detect_container_fields[] = {ATTRIBUTES(container), {.name = NULL}};
const struct field detect_k8s_downward_fields[] = {
    VARIABLE("namespace_variable", namespace_name, "POD_NAMESPACE", "that has k8s.namespace.name"),
    VARIABLE("pod_name_variable", pod_name, "POD_NAME", "that has k8s.pod.name"),
    VARIABLE("pod_uid_variable", pod_uid, "POD_UID", "that has k8s.pod.uid"),
    VARIABLE("pod_ip_variable", pod_ip, NULL, "that has k8s.pod.ip; not written unless it is given"),
    VARIABLE("node_name_variable", node_name, "NODE_NAME", "that has k8s.node.name"),
    VARIABLE("container_name_variable", container_name, NULL,
             "that has k8s.container.name; not written unless it is given"),
    {.name = NULL},
};
const struct field detect_k8s_api_fields[] = {
    {.name = "node_from_env_var",
     .type = FIELD_STRING,
     .offset = AT(k8s_api, node_from_env_var),
     .default_text = "K8S_NODE_NAME",
     .help = "the variable that has k8s.node.name; the API is not asked"},
    {.name = "auth_type", .type = FIELD_IGNORED, .help = "the API is not asked"},
    ATTRIBUTES(k8s_api),
    {.name = NULL},
};
const struct field detect_ec2_fields[] = {
    ENDPOINT(ec2, "http://169.254.169.254"),
    {.name = "fail_on_missing_metadata",
     .type = FIELD_BOOL,
     .offset = AT(ec2, fail_on_missing_metadata),
     .default_text = "false",
     .help = "do not start when this detector fails"},
    {.name = "tags_from_imds", .type = FIELD_IGNORED, .help = "tags are not read"},
    {.name = "max_attempts", .type = FIELD_IGNORED, .help = "refresh_interval asks again"},
    {.name = "max_backoff", .type = FIELD_IGNORED, .help = "refresh_interval asks again"},
    ATTRIBUTES(ec2),
    {.name = NULL},
};
const struct field detect_gcp_fields[] = {
    ENDPOINT(gcp, "http://metadata.google.internal"),
    ATTRIBUTES(gcp),
    {.name = NULL},
};
const struct field detect_azure_fields[] = {
    ENDPOINT(azure, "http://169.254.169.254"),
    ATTRIBUTES(azure),
    {.name = NULL},
};

// --- checks ---

static void check_detectors(const struct config_strings *list, const struct component_check *check)
{
    if (list->count == 0)
        check_error(check, "detectors", "needs at least one, as in [env, system]");
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->items[i], *remedy = detector_missing_remedy(name);
        if (remedy != NULL)
            check_error(check, "detectors", "\"%s\" is not available: %s", name, remedy);
        else if (detector_find(name) == NULL)
            check_error(check, "detectors",
                        "there is no \"%s\"; there are env, system, container, k8s_downward, k8s_api, ec2, gcp, azure",
                        name);
        for (size_t k = 0; k < i; k++)
            if (strcmp(list->items[k], name) == 0)
                check_error(check, "detectors", "\"%s\" is there twice", name);
    }
}

static void check_endpoint(const char *url, const char *key, const struct component_check *check)
{
    struct err e;
    if (http_url_check(url, &e) != ERR_OK)
        check_error(check, key, "%s", e.text);
}

static void check_hostname_sources(const struct config_strings *list, const struct component_check *check)
{
    for (size_t i = 0; i < list->count; i++)
        if (!hostname_source_known(list->items[i]))
            check_error(check, "system.hostname_sources", "there is no \"%s\"; there are dns, os, cname, lookup",
                        list->items[i]);
    if (list->count == 0)
        check_error(check, "system.hostname_sources", "needs at least one, as in [dns, os]");
}

void detect_settings_check(const struct detect_settings *s, const struct component_check *check)
{
    check_detectors(&s->detectors, check);
    check_hostname_sources(&s->system.hostname_sources, check);
    check_endpoint(s->ec2.endpoint, "ec2.endpoint", check);
    check_endpoint(s->gcp.endpoint, "gcp.endpoint", check);
    check_endpoint(s->azure.endpoint, "azure.endpoint", check);
    // in the order of the rows
    if (s->k8s_api.attributes[1].enabled || s->k8s_api.attributes[2].enabled)
        check_error(
            check, "k8s_api",
            "k8s.node.uid and k8s.cluster.uid need the Kubernetes API: the processor k8s_attributes writes them");
}
