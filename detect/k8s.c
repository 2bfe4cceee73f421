// SPDX-License-Identifier: Apache-2.0
// What Kubernetes tells a pod by variables (the downward API); nobody is asked.
#include "detect/detector.h"

static bool add_variable(struct detector_run *r, const char *key, const char *variable)
{
    // an empty name is that of no variable
    const char *text = variable != NULL ? detector_env(r, variable) : NULL;
    detector_add_text(r, key, text);
    return text != NULL;
}

static void begin_downward(struct detector_run *r)
{
    const struct detect_settings *s = r->settings;
    const struct {
        const char *key, *variable;
    } variables[] = {
        {"k8s.namespace.name", s->k8s_downward.namespace_name},
        {"k8s.pod.name", s->k8s_downward.pod_name},
        {"k8s.pod.uid", s->k8s_downward.pod_uid},
        {"k8s.pod.ip", s->k8s_downward.pod_ip},
        {"k8s.node.name", s->k8s_downward.node_name},
        {"k8s.container.name", s->k8s_downward.container_name},
    };
    bool any = false;
    struct err e;
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        any |= add_variable(r, variables[i].key, variables[i].variable);
    if (!any)
        err_set(&e, ERR_INVALID,
                "none of its variables is set: give the container POD_NAME and the others by fieldRef");
    detector_end(r, any ? NULL : &e);
}

static void begin_node(struct detector_run *r)
{
    const char *variable = r->settings->k8s_api.node_from_env_var;
    struct err e;
    const bool found = add_variable(r, "k8s.node.name", variable);
    if (!found)
        err_set(&e, ERR_INVALID, "the variable %s is not set: give it to the container by fieldRef spec.nodeName",
                variable);
    detector_end(r, found ? NULL : &e);
}

const struct detector detector_k8s_downward = {.name = "k8s_downward", .begin = begin_downward};
const struct detector detector_k8s_api = {
    .name = "k8s_api",
    .alias = "k8snode",
    .attributes = detect_k8s_api_attributes,
    .switches = offsetof(struct detect_settings, k8s_api.attributes),
    .begin = begin_node,
};
