// SPDX-License-Identifier: Apache-2.0
// The watch on a cluster's objects, shared by all that ask for the same: lists, watches, relists, backs off, and publishes
// snapshots. While the API is away the last snapshot serves. It belongs to the service: whoever joins first makes it.
#ifndef KUBE_KUBE_WATCH_H
#define KUBE_KUBE_WATCH_H

#include "config/fields.h"
#include "kube/kube_decode.h"
#include "kube/kube_snapshot.h"
#include "pipeline/component.h"

enum kube_auth_type { KUBE_AUTH_SERVICE_ACCOUNT, KUBE_AUTH_KUBECONFIG, KUBE_AUTH_NONE };

// A row of filter.labels or filter.fields.
enum kube_filter_op { KUBE_EQUALS, KUBE_NOT_EQUALS, KUBE_EXISTS, KUBE_DOES_NOT_EXIST };
struct kube_filter_row {
    const char *key, *value;
    int op; // enum kube_filter_op
};

// What decides what is watched and how: the Collector's keys, and some of ours. The same settings, the same watch.
struct kube_watch_settings {
    int auth_type;                      // enum kube_auth_type
    const char *context;                // of the kubeconfig; NULL = its current one
    const char *kubeconfig;             // NULL = $KUBECONFIG, else ~/.kube/config
    const char *endpoint;               // of the API; NULL = what the credentials say
    const char *service_account_folder; // with token, ca.crt and namespace
    double api_qps;                     // requests a second
    int64_t api_burst;
    int64_t api_timeout_nanos; // without a byte of an answer
    int64_t pod_delete_grace_nanos;
    const char *node, *node_from_env_var;
    const char *namespace_name;           // NULL = all
    struct config_structs labels, fields; // of struct kube_filter_row
};

extern const char *const kube_auth_names[];
extern const struct field kube_filter_fields[]; // of the section `filter`

// The rows of these keys, between others. at_: of the struct kube_watch_settings in the settings.
#define KUBE_WATCH_FIELDS(at_)                                                                                         \
    {.name = "auth_type",                                                                                              \
     .type = FIELD_ENUM,                                                                                               \
     .offset = (at_) + offsetof(struct kube_watch_settings, auth_type),                                                \
     .default_text = "serviceAccount",                                                                                 \
     .names = kube_auth_names,                                                                                         \
     .help = "how to log in to the API; none: without credentials, at endpoint"},                                      \
        {.name = "context",                                                                                            \
         .type = FIELD_STRING,                                                                                         \
         .offset = (at_) + offsetof(struct kube_watch_settings, context),                                              \
         .help = "of the kubeconfig; not set = its current-context"},                                                  \
        {.name = "kubeconfig",                                                                                         \
         .type = FIELD_STRING,                                                                                         \
         .offset = (at_) + offsetof(struct kube_watch_settings, kubeconfig),                                           \
         .help = "file for auth_type kubeConfig; not set = $KUBECONFIG, else ~/.kube/config"},                         \
        {.name = "endpoint",                                                                                           \
         .type = FIELD_STRING,                                                                                         \
         .offset = (at_) + offsetof(struct kube_watch_settings, endpoint),                                             \
         .help = "address of the API, https://HOST:PORT; not set = what the credentials say"},                         \
        {.name = "service_account_folder",                                                                             \
         .type = FIELD_STRING,                                                                                         \
         .offset = (at_) + offsetof(struct kube_watch_settings, service_account_folder),                               \
         .default_text = "/var/run/secrets/kubernetes.io/serviceaccount",                                              \
         .help = "with token, ca.crt and namespace, for auth_type serviceAccount"},                                    \
        {.name = "kube_api_qps",                                                                                       \
         .type = FIELD_DOUBLE,                                                                                         \
         .offset = (at_) + offsetof(struct kube_watch_settings, api_qps),                                              \
         .default_text = "5",                                                                                          \
         .min = 0.01,                                                                                                  \
         .max = 10000,                                                                                                 \
         .help = "requests a second to the API, on average"},                                                          \
        {.name = "kube_api_burst",                                                                                     \
         .type = FIELD_INT,                                                                                            \
         .offset = (at_) + offsetof(struct kube_watch_settings, api_burst),                                            \
         .default_text = "10",                                                                                         \
         .min = 1,                                                                                                     \
         .max = 10000,                                                                                                 \
         .unit = "requests",                                                                                           \
         .help = "that may go out at once"},                                                                           \
        {.name = "kube_api_timeout",                                                                                   \
         .type = FIELD_DURATION,                                                                                       \
         .offset = (at_) + offsetof(struct kube_watch_settings, api_timeout_nanos),                                    \
         .default_text = "30s",                                                                                        \
         .min = 1e8,                                                                                                   \
         .max = 3.6e12,                                                                                                \
         .help = "a list that stalls for so long is asked for again; a watch after five times that"},                  \
        {.name = "watch_sync_period",                                                                                  \
         .type = FIELD_IGNORED,                                                                                        \
         .help = "the Collector replays its cache then; here each snapshot is made of all that is known"},             \
        {.name = "pod_delete_grace_period",                                                                            \
         .type = FIELD_DURATION,                                                                                       \
         .offset = (at_) + offsetof(struct kube_watch_settings, pod_delete_grace_nanos),                               \
         .default_text = "120s",                                                                                       \
         .max = 8.64e13,                                                                                               \
         .help = "a pod that is gone is still found for so long"},                                                     \
        {.name = "filter",                                                                                             \
         .type = FIELD_STRUCT,                                                                                         \
         .offset = (at_),                                                                                              \
         .fields = kube_filter_fields,                                                                                 \
         .help = "which pods are watched"}

void kube_watch_settings_check(const struct kube_watch_settings *s, const struct component_check *check);

// What a user of the watch wants to know. Lives as long as the user.
struct kube_needs {
    bool kinds[KUBE_KINDS]; // pods always
    struct kube_keep keep;
};

struct kube_watch;
struct kube_watches; // those of a service; a pointer to it, NULL at the beginning: component_env.watches

// In create, before anything starts: the watch with these settings, made if there is none. No I/O.
struct kube_watch *kube_watch_join(struct component *user, const struct kube_watch_settings *settings,
                                   const struct kube_needs *needs);
// In start, loop 0: the first call begins. ERR: credentials that cannot be read.
enum err_code kube_watch_start(struct kube_watch *w, struct err *e) MUST_USE;
// True once every kind was listed.
bool kube_watch_synced(const struct kube_watch *w);
// One reference of the newest snapshot; NULL before there is any. Any thread, never blocks for long.
struct kube_snapshot *kube_watch_snapshot(struct kube_watch *w);
// In stop, loop 0: on_left follows, perhaps from inside; with the last user all connections are closed before it.
void kube_watch_leave(struct kube_watch *w, struct component *user, void (*on_left)(void *arg), void *arg);
// In destroy: nothing of the watch is used any more.
void kube_watch_release(struct kube_watch *w);

#endif
