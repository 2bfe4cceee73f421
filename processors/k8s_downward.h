// SPDX-License-Identifier: Apache-2.0
// Inside processors/: the pod we run in ourselves, as the downward API tells it: by the environment and mounted files.
#ifndef PROCESSORS_K8S_DOWNWARD_H
#define PROCESSORS_K8S_DOWNWARD_H

#include "kube/kube_decode.h"
#include "kube/kube_snapshot.h"
#include "pipeline/component.h"

// The section `downward`. Names of variables, and paths.
struct k8s_downward_settings {
    const char *name_env, *namespace_env, *uid_env, *ip_env, *node_env, *container_env;
    const char *labels_file, *annotations_file; // NULL = none
    int64_t refresh_nanos;
};

extern const struct field k8s_downward_fields[];

// The value of a variable; empty if there is none. Lives as long as the environment.
struct bytes k8s_downward_variable(const char *name);

// A snapshot of this one pod (one reference). ERR_INVALID, ERR_LIMIT, ERR_IO: what a variable or a file says is no use;
// the text says which. Reads files.
enum err_code k8s_downward_read(const struct k8s_downward_settings *s, const struct kube_keep *keep,
                                struct kube_snapshot **out, struct err *e) MUST_USE;

// Lines of key="value", as the kubelet writes labels and annotations; keys and values lie in the arena, in *pairs_out (to
// be freed). ERR_INVALID names the line.
enum err_code k8s_downward_parse(struct bytes text, struct arena *arena, struct kube_pair **pairs_out,
                                 size_t *count_out, struct err *e) MUST_USE;

#endif
