// SPDX-License-Identifier: Apache-2.0
// The API's JSON, read as it comes: a list's items and a watch's events are cut out of the stream one by one, so that
// memory is bounded by the largest object, not by the list.
#ifndef KUBE_KUBE_DECODE_H
#define KUBE_KUBE_DECODE_H

#include "base/buf.h"
#include "base/err.h"
#include "kube/kube_model.h"

enum { KUBE_OBJECT_MAX_BYTES = 4 << 20 };

// Which labels and annotations are kept: none without keeps.
struct kube_keep {
    bool (*keeps)(void *arg, enum kube_kind kind, enum kube_map map, struct bytes key);
    void *arg;
};

enum kube_event_type { KUBE_ADDED, KUBE_MODIFIED, KUBE_DELETED, KUBE_BOOKMARK, KUBE_ERROR };

struct kube_event {
    enum kube_event_type type;
    struct kube_object *object;    // of the first three; the callee takes it over
    struct bytes resource_version; // BOOKMARK; borrowed
    bool ends_initial;             // BOOKMARK: annotation k8s.io/initial-events-end
    int status;                    // ERROR: metav1.Status.code
    struct bytes message;          // ERROR; borrowed, not clean: clean_text_add is for people's eyes
};

// What a complete list said beside its items.
struct kube_list_meta {
    char resource_version[64];
    char *continue_token; // malloc'ed; NULL = that was all
};

struct kube_stream; // one response body

// kind: of the objects asked for (what the answer says of its kind must agree). on_item: of a list, takes the object over;
// on_event: of a watch. One of both. They must not destroy the stream.
struct kube_stream_options {
    enum kube_kind kind;
    struct kube_keep keep;
    void (*on_item)(void *arg, struct kube_object *o);
    void (*on_event)(void *arg, const struct kube_event *event);
    void *arg;
};

struct kube_stream *kube_stream_create(const struct kube_stream_options *options);
void kube_stream_destroy(struct kube_stream **s); // may be NULL
// ERR_INVALID: it is not what it should be (the text names the place); ERR_LIMIT: an object is too large; ERR_MEMORY. After
// an error nothing more is read. An object that has no name or uid is passed over and counted.
enum err_code kube_stream_feed(struct kube_stream *s, struct bytes data, struct err *e) MUST_USE;
// The end of a list's body: ERR_INVALID if it broke off. Gives out what a list said.
enum err_code kube_stream_end_list(struct kube_stream *s, struct kube_list_meta *out, struct err *e) MUST_USE;

// Objects without name or uid.
uint64_t kube_stream_passed_over(const struct kube_stream *s);

// One object. keep may be NULL: nothing. NULL with e set.
struct kube_object *kube_object_decode(struct bytes json, enum kube_kind kind, const struct kube_keep *keep,
                                       struct err *e) MUST_USE;
// A metav1.Status body, as error answers have it: its message and code (0 = it is none).
int kube_status_decode(struct bytes json, char *message_out, size_t size);

#endif
