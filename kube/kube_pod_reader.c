// SPDX-License-Identifier: Apache-2.0
// What a pod asked for and what runs of it.
#include "kube/kube_object_reader.h"

#include "base/clock.h"

#include <time.h>

// More than any pod has; the rest of a list is passed over.
enum { MAX_CONTAINERS = 512, MAX_ADDRESSES = 16 };

enum { REGULAR, INIT, EPHEMERAL };

// --- containers ---

struct container_status {
    struct kube_container container;
    struct bytes finished_at;
};

static const struct kube_member finished_members[] = {{.name = "finishedAt"}};
static const struct kube_member state_members[] = {{.name = "terminated", KUBE_INNER(finished_members)}};
static const struct kube_member terminated_members[] = {{.name = "containerID"}};
static const struct kube_member last_state_members[] = {{.name = "terminated", KUBE_INNER(terminated_members)}};

static void read_count(struct kube_reader *r, const struct kube_member *m, void *target_at)
{
    int64_t count;
    uint32_t *out = target_at;
    kube_read_int64(r, m, &count);
    *out = count < 0 ? 0 : count > INT32_MAX ? INT32_MAX : (uint32_t)count;
}

static const struct kube_member container_members[] = {
    {.name = "name", .at = offsetof(struct kube_container, name)},
    {.name = "image", .at = offsetof(struct kube_container, image)},
};

// Here `image` is what the runtime makes of it; the pod's own text is in its spec.
static const struct kube_member status_members[] = {
    {.name = "name", .at = offsetof(struct kube_container, name)},
    {.name = "containerID", .at = offsetof(struct kube_container, id)},
    {.name = "imageID", .at = offsetof(struct kube_container, image_id)},
    {.name = "restartCount", .at = offsetof(struct kube_container, restart_count), .read = read_count},
    {.name = "state", .at = offsetof(struct container_status, finished_at), KUBE_INNER(state_members)},
    {.name = "lastState", .at = offsetof(struct kube_container, last_id), KUBE_INNER(last_state_members)},
};

static struct kube_container container_of_role(int role)
{
    return (struct kube_container){.is_init = role == INIT, .is_ephemeral = role == EPHEMERAL};
}

static struct kube_container *add_container(struct kube_object_reader *o, int role)
{
    struct kube_container *c = kube_list_add(o, &o->containers, sizeof *c, MAX_CONTAINERS);
    if (c != NULL)
        *c = container_of_role(role);
    return c;
}

static void read_containers(struct kube_reader *r, const struct kube_member *m, void *target_at)
{
    struct kube_object_reader *o = target_at;
    struct kube_container *c;
    if (!kube_enter_array(r))
        return;
    while (json_next_element(&r->json))
        if ((c = add_container(o, m->arg)) != NULL)
            KUBE_READ(r, container_members, c);
}

static void read_statuses(struct kube_reader *r, const struct kube_member *m, void *target_at)
{
    struct kube_object_reader *o = target_at;
    if (!kube_enter_array(r))
        return;
    while (json_next_element(&r->json)) {
        struct container_status *s = kube_list_add(o, &o->statuses, sizeof *s, MAX_CONTAINERS);
        if (s == NULL)
            continue;
        *s = (struct container_status){.container = container_of_role(m->arg)};
        KUBE_READ(r, status_members, s);
    }
}

static struct kube_container *find_container(struct kube_object_reader *o, const struct kube_container *status)
{
    struct kube_container *containers = o->containers.items;
    for (size_t i = 0; i < o->containers.count; i++)
        if (containers[i].is_init == status->is_init && containers[i].is_ephemeral == status->is_ephemeral &&
            bytes_equal(containers[i].name, status->name))
            return &containers[i];
    return NULL;
}

static void join_status(struct kube_object_reader *o, const struct kube_container *status)
{
    struct kube_container *c = find_container(o, status);
    if (c == NULL && (c = add_container(o, REGULAR)) == NULL)
        return;
    struct kube_container joined = *status;
    joined.image = c->image;
    joined.id = kube_without_scheme(status->id);
    joined.last_id = kube_without_scheme(status->last_id);
    joined.image_id = kube_without_scheme(status->image_id);
    *c = joined;
}

// --- addresses ---

static void add_address(struct kube_object_reader *o, struct bytes text)
{
    struct ip_address address;
    const struct ip_address *known = o->addresses.items;
    if (!ip_address_parse(text, &address))
        return;
    for (size_t i = 0; i < o->addresses.count; i++)
        if (memcmp(&known[i], &address, sizeof address) == 0)
            return;
    struct ip_address *place = kube_list_add(o, &o->addresses, sizeof address, MAX_ADDRESSES);
    if (place != NULL)
        *place = address;
}

static void read_address(struct kube_reader *r, const struct kube_member *m, void *target_at)
{
    (void)m;
    struct bytes text;
    if (kube_read_text(r, &text))
        add_address(target_at, text);
}

static void read_addresses(struct kube_reader *r, const struct kube_member *m, void *target_at)
{
    (void)m;
    static const struct kube_member members[] = {{.name = "ip", .read = read_address}};
    if (!kube_enter_array(r))
        return;
    while (json_next_element(&r->json))
        KUBE_READ(r, members, target_at);
}

// --- the pod ---

// Lists go to the reader itself: their `at` is 0.
#define POD(field) offsetof(struct kube_object_reader, draft.pod.field)

static const struct kube_member spec_members[] = {
    {.name = "nodeName", .at = POD(node_name)},
    {.name = "hostname", .at = POD(hostname)},
    {.name = "hostNetwork", .at = POD(host_network), .read = kube_read_bool},
    {.name = "containers", .read = read_containers, .arg = REGULAR},
    {.name = "initContainers", .read = read_containers, .arg = INIT},
    {.name = "ephemeralContainers", .read = read_containers, .arg = EPHEMERAL},
};

static const struct kube_member status_of_pod_members[] = {
    {.name = "phase", .at = offsetof(struct kube_object_reader, phase)},
    {.name = "startTime", .at = POD(start_time)},
    {.name = "podIP", .read = read_address},
    {.name = "podIPs", .read = read_addresses},
    {.name = "containerStatuses", .read = read_statuses, .arg = REGULAR},
    {.name = "initContainerStatuses", .read = read_statuses, .arg = INIT},
    {.name = "ephemeralContainerStatuses", .read = read_statuses, .arg = EPHEMERAL},
};

void kube_read_pod_part(struct kube_reader *r, const struct kube_member *m, void *target_at)
{
    const struct kube_object_reader *o = target_at;
    if (o->kind != KUBE_POD)
        return;
    if (m->arg == KUBE_POD_SPEC)
        KUBE_READ(r, spec_members, target_at);
    else
        KUBE_READ(r, status_of_pod_members, target_at);
}

// Times of the API are of whole seconds: it may have run until the next.
static int64_t end_of(const struct kube_object_reader *o)
{
    const struct container_status *statuses = o->statuses.items;
    int64_t last = 0;
    for (size_t i = 0; i < o->statuses.count; i++) {
        int64_t end = kube_time_parse(statuses[i].finished_at);
        last = end > last ? end : last;
    }
    return last == 0 || last > INT64_MAX - NANOS_PER_SECOND ? 0 : last + NANOS_PER_SECOND;
}

void kube_pod_finish(struct kube_object_reader *o)
{
    struct kube_pod *p = &o->draft.pod;
    const struct container_status *statuses = o->statuses.items;
    for (size_t i = 0; i < o->statuses.count; i++)
        join_status(o, &statuses[i].container);
    p->containers = o->containers.items;
    p->container_count = (uint32_t)o->containers.count;
    p->addresses = o->addresses.items;
    p->address_count = (uint32_t)o->addresses.count;
    p->start_nanos = kube_time_parse(p->start_time);
    p->is_done = bytes_equal_text(o->phase, "Succeeded") || bytes_equal_text(o->phase, "Failed");
    p->end_nanos = p->is_done ? end_of(o) : 0;
}

// --- times ---

// The nanoseconds of a fraction (".25"), if one is here.
static int64_t take_fraction(const char **at)
{
    int64_t nanos = 0, unit = NANOS_PER_SECOND;
    if (**at != '.')
        return 0;
    for (++*at; **at >= '0' && **at <= '9'; ++*at) {
        unit /= 10;
        nanos += unit * (**at - '0');
    }
    return nanos;
}

int64_t kube_time_parse(struct bytes text)
{
    char copy[64];
    struct tm parts = {0}, zone = {0};
    int64_t nanos;
    if (text.len == 0 || text.len >= sizeof copy)
        return 0;
    memcpy(copy, text.data, text.len);
    copy[text.len] = 0;
    const char *at = strptime(copy, "%Y-%m-%dT%H:%M:%S", &parts);
    if (at == NULL)
        return 0;
    int64_t fraction = take_fraction(&at);
    at = strptime(at, "%z", &zone);
    if (at == NULL || *at != 0 || __builtin_mul_overflow(timegm(&parts) - zone.tm_gmtoff, NANOS_PER_SECOND, &nanos))
        return 0;
    return __builtin_add_overflow(nanos, fraction, &nanos) ? 0 : nanos;
}
