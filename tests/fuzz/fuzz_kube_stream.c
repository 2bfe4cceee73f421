// SPDX-License-Identifier: Apache-2.0
// Input: 'l' or 'w', the size of the pieces, then an answer: a list or a watch. In pieces it says the same as at once, and
// what it says of objects can be found again in a snapshot.
#include "base/hash.h"
#include "kube/kube_decode.h"
#include "kube/kube_store.h"

#include <stdlib.h>

struct heard {
    uint64_t count, sum;
    struct kube_store *store;
};

static bool keeps(void *arg, enum kube_kind kind, enum kube_map map, struct bytes key)
{
    (void)arg, (void)kind, (void)map;
    return key.len % 8 != 7;
}

static void add(struct heard *h, struct bytes text)
{
    h->sum = hash_mix(h->sum, hash_bytes(text.data, text.len));
}

static void hear_object(struct heard *h, const struct kube_object *o)
{
    CHECK(o->name.len > 0 && o->uid.len > 0);
    add(h, o->namespace_name);
    add(h, o->name);
    add(h, o->uid);
    add(h, o->owner.name);
    for (int map = 0; map < KUBE_MAPS; map++)
        for (uint32_t i = 0; i < o->map_counts[map]; i++) {
            CHECK(o->maps[map][i].key.len % 8 != 7);
            add(h, o->maps[map][i].value);
        }
    for (uint32_t i = 0; i < o->pod.container_count; i++) {
        add(h, o->pod.containers[i].id);
        add(h, o->pod.containers[i].image);
    }
    h->sum = hash_mix(h->sum, o->bytes);
}

static void on_item(void *arg, struct kube_object *o)
{
    struct heard *h = arg;
    h->count++;
    hear_object(h, o);
    CHECK(kube_store_put(h->store, o, 1));
}

static void on_event(void *arg, const struct kube_event *event)
{
    struct heard *h = arg;
    CHECK((event->object != NULL) == (event->type <= KUBE_DELETED));
    h->sum = hash_mix(h->sum, (uint64_t)event->type);
    if (event->object != NULL)
        on_item(h, event->object);
    add(h, event->message);
    add(h, event->resource_version);
    h->sum = hash_mix(h->sum, (uint64_t)event->status * 2 + event->ends_initial);
}

static enum err_code feed(struct kube_stream *s, struct bytes data, size_t piece)
{
    struct err e = {0};
    enum err_code code = ERR_OK;
    for (size_t at = 0; at < data.len && code == ERR_OK; at += piece) {
        size_t len = data.len - at < piece ? data.len - at : piece;
        code = kube_stream_feed(s, (struct bytes){data.data + at, len}, &e);
        CHECK(code == e.code && (code == ERR_OK || e.text[0] != 0));
    }
    return code;
}

static enum err_code run(bool is_list, struct bytes data, size_t piece, struct heard *h)
{
    struct kube_list_meta meta = {.continue_token = NULL};
    struct kube_stream *s = kube_stream_create(&(struct kube_stream_options){.kind = KUBE_POD,
                                                                             .keep = {keeps, NULL},
                                                                             .on_item = is_list ? on_item : NULL,
                                                                             .on_event = is_list ? NULL : on_event,
                                                                             .arg = h});
    enum err_code code = feed(s, data, piece);
    if (is_list && code == ERR_OK)
        code = kube_stream_end_list(s, &meta, NULL);
    add(h, bytes_from_text(meta.continue_token));
    h->count += kube_stream_passed_over(s);
    free(meta.continue_token);
    kube_stream_destroy(&s);
    return code;
}

static void find_again(const struct kube_snapshot *s, const struct kube_object *o)
{
    const struct kube_container *container;
    const struct kube_object *named = kube_pod_by_name(s, o->namespace_name, o->name);
    CHECK(named != NULL && bytes_equal(named->name, o->name));
    for (uint32_t i = 0; i < o->pod.container_count; i++)
        if (kube_without_scheme(o->pod.containers[i].id).len > 0)
            (void)kube_pod_by_container(s, o->pod.containers[i].id, &container);
    for (uint32_t i = 0; i < o->pod.address_count; i++) {
        const struct kube_object *found = kube_pod_by_address(s, &o->pod.addresses[i], o->pod.start_nanos);
        CHECK(found == NULL || !found->pod.host_network);
    }
}

static void use_store(struct kube_store *store, struct bytes data)
{
    struct kube_object *o = kube_object_decode(data, KUBE_POD, &(struct kube_keep){keeps, NULL}, NULL);
    if (o != NULL)
        CHECK(kube_store_put(store, kube_object_ref(o), 1));
    struct kube_snapshot *s = kube_store_snapshot(store);
    if (o != NULL) {
        CHECK(kube_pod_by_uid(s, o->uid) == o);
        find_again(s, o);
    }
    kube_store_begin_list(store, KUBE_POD);
    kube_store_end_list(store, KUBE_POD, 2);
    kube_store_expire(store, 10);
    kube_snapshot_unref(&s);
    kube_object_unref(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char message[64];
    if (size < 2)
        return 0;
    const struct kube_store_options options = {.keep_deleted_nanos = 5};
    struct heard whole = {.store = kube_store_create(&options)}, pieces = {.store = kube_store_create(&options)};
    const struct bytes answer = {data + 2, size - 2};
    enum err_code code = run(data[0] == 'l', answer, SIZE_MAX / 2, &whole);
    CHECK(run(data[0] == 'l', answer, (size_t)data[1] % 64 + 1, &pieces) == code);
    CHECK(whole.count == pieces.count && whole.sum == pieces.sum);
    (void)kube_status_decode(answer, message, sizeof message);
    use_store(whole.store, answer);
    kube_store_destroy(&whole.store);
    kube_store_destroy(&pieces.store);
    return 0;
}
