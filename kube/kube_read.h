// SPDX-License-Identifier: Apache-2.0
// The API's JSON read by tables: each kind of object says which members it wants and where they go. What is not of the
// expected kind (null above all) counts as not there. Internal to the decoder.
#ifndef KUBE_KUBE_READ_H
#define KUBE_KUBE_READ_H

#include "codec/json.h"

struct kube_reader {
    struct json_reader json;
    struct arena arena; // of texts with escapes
};

struct kube_member {
    const char *name;
    size_t at;                       // a place in the target
    const struct kube_member *inner; // of an object: its members, whose places are counted from this one
    size_t inner_count;
    void (*read)(struct kube_reader *r, const struct kube_member *m, void *target_at); // neither: a text
    int arg;
};
#define KUBE_INNER(members) .inner = (members), .inner_count = COUNT_OF(members)

void kube_reader_init(struct kube_reader *r, struct bytes json);
void kube_reader_fini(struct kube_reader *r);
// The whole text is one object. Its texts live as long as the reader.
enum err_code kube_reader_run(struct kube_reader *r, const struct kube_member *members, size_t count, void *target,
                              struct err *e) MUST_USE;

void kube_read_members(struct kube_reader *r, const struct kube_member *members, size_t count, void *target);
#define KUBE_READ(reader, members, target) kube_read_members(reader, members, COUNT_OF(members), target)
// True: inside; then json_next_element.
bool kube_enter_array(struct kube_reader *r);
void kube_read_bool(struct kube_reader *r, const struct kube_member *m, void *target_at);  // to a bool
void kube_read_int64(struct kube_reader *r, const struct kube_member *m, void *target_at); // to an int64_t
void kube_read_raw(struct kube_reader *r, const struct kube_member *m, void *target_at);   // to bytes: the value's JSON
bool kube_read_text(struct kube_reader *r, struct bytes *out);

#endif
