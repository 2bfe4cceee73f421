// SPDX-License-Identifier: Apache-2.0
// Keeps a store's objects of one kind as the API has them: lists all, watches for changes, and begins anew where that is
// needed. Of the loop of its API.
#ifndef KUBE_KUBE_REFLECTOR_H
#define KUBE_KUBE_REFLECTOR_H

#include "kube/kube_answer.h"
#include "kube/kube_health.h"
#include "kube/kube_store.h"

struct kube_reflector_options {
    struct kube_api *api;
    struct kube_store *store;
    enum kube_kind kind;
    const char *path;           // of kube_resource_write; copied
    const char *namespace_name; // of them; NULL = all
    struct kube_keep keep;
    struct metrics *metrics;
    const char *watch_id;         // a label of them
    void (*on_change)(void *arg); // the store has another state that is worth a snapshot, or answered is true now
    void *arg;
};

enum kube_reflector_phase { KUBE_LISTS, KUBE_WATCHES };

struct kube_reflector {
    struct kube_reflector_options options;
    const struct kube_resource *resource;
    char *path;
    uv_timer_t timer;
    struct http_call *call;
    struct kube_stream *stream;
    enum kube_reflector_phase phase;
    char resource_version[64];
    char *continue_token;      // of the list that is being read
    struct kube_answer answer; // to the request that is under way
    int64_t asked_nanos;
    bool first_list;    // none was complete yet: what the API has at hand will do
    bool whole_list;    // in one answer: its pages went out of date before they were read
    bool full_objects;  // that is what is asked for: the API cannot give the metadata alone
    bool accepted;      // the API says yes to this request
    bool heard;         // and something was told by this watch
    bool relists_again; // it was told to list anew, and no watch has done well since
    bool let_in;        // since the last 401
    bool stopping;
    struct retry_state retry;
    struct kube_health health;
    _Atomic bool answered;            // listed, or known not to be listed
    _Atomic int64_t last_event_nanos; // monotonic; before the first one: of the start
    struct metric *relists, *events;
};

// In place; must not move until it is stopped.
void kube_reflector_init(struct kube_reflector *r, const struct kube_reflector_options *options);
void kube_reflector_start(struct kube_reflector *r);
// Asks for nothing more. The API must be closed then; on_stopped comes when the timer is gone.
void kube_reflector_stop(struct kube_reflector *r, uv_close_cb on_stopped); // its handle's data is the reflector
void kube_reflector_fini(struct kube_reflector *r);                         // after both

#endif
