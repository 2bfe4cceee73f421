// SPDX-License-Identifier: Apache-2.0
// Objects as the tests of this folder need them.
#ifndef TESTS_UNIT_KUBE_OBJECTS_H
#define TESTS_UNIT_KUBE_OBJECTS_H

#include "kube/kube_model.h"

#include <stdlib.h>
#include <string.h>

#define B(text) bytes_from_text(text)

static inline struct ip_address address_of(const char *text)
{
    struct ip_address a;
    CHECK(ip_address_parse(B(text), &a));
    return a;
}

static inline struct kube_object *object_of(enum kube_kind kind, const char *namespace_name, const char *name,
                                            const char *uid)
{
    const struct kube_object draft = {.kind = kind,
                                      .namespace_name = B(namespace_name),
                                      .name = B(name),
                                      .uid = B(uid),
                                      .owner = {.kind = KUBE_NO_KIND}};
    struct kube_object *o = kube_object_create(&draft);
    CHECK(o != NULL);
    return o;
}

struct pod_shape {
    const char *name, *uid, *address, *container, *last_container;
    int64_t start_nanos, end_nanos;
    bool host_network, is_done;
};

static inline struct kube_object *pod_of(struct pod_shape shape)
{
    struct ip_address address = {{0}};
    const struct kube_container container = {
        .name = B("main"), .id = B(shape.container), .last_id = B(shape.last_container)};
    if (shape.address != NULL)
        address = address_of(shape.address);
    const struct kube_object draft = {.kind = KUBE_POD,
                                      .namespace_name = B("shop"),
                                      .name = B(shape.name),
                                      .uid = B(shape.uid),
                                      .owner = {.kind = KUBE_NO_KIND},
                                      .pod = {.start_nanos = shape.start_nanos,
                                              .end_nanos = shape.end_nanos,
                                              .addresses = &address,
                                              .address_count = shape.address != NULL,
                                              .containers = &container,
                                              .container_count = 1,
                                              .host_network = shape.host_network,
                                              .is_done = shape.is_done}};
    struct kube_object *o = kube_object_create(&draft);
    CHECK(o != NULL);
    return o;
}

#endif
