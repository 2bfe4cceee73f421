// SPDX-License-Identifier: Apache-2.0
#include "processors/relabel_names.h"

#include "base/text.h"

// Of OpenTelemetry's semantic conventions: attributes of resources that rules make.
#define NAME(text) {text, sizeof(text) - 1}

static const struct {
    const char *text;
    size_t len;
} well_known[] = {
    NAME("cloud.account.id"),
    NAME("cloud.availability_zone"),
    NAME("cloud.platform"),
    NAME("cloud.provider"),
    NAME("cloud.region"),
    NAME("cloud.resource_id"),
    NAME("container.id"),
    NAME("container.image.name"),
    NAME("container.name"),
    NAME("container.runtime"),
    NAME("deployment.environment"),
    NAME("deployment.environment.name"),
    NAME("faas.name"),
    NAME("faas.version"),
    NAME("host.arch"),
    NAME("host.id"),
    NAME("host.image.id"),
    NAME("host.ip"),
    NAME("host.name"),
    NAME("host.type"),
    NAME("k8s.cluster.name"),
    NAME("k8s.cluster.uid"),
    NAME("k8s.container.name"),
    NAME("k8s.cronjob.name"),
    NAME("k8s.daemonset.name"),
    NAME("k8s.daemonset.uid"),
    NAME("k8s.deployment.name"),
    NAME("k8s.deployment.uid"),
    NAME("k8s.job.name"),
    NAME("k8s.job.uid"),
    NAME("k8s.namespace.name"),
    NAME("k8s.node.name"),
    NAME("k8s.node.uid"),
    NAME("k8s.pod.ip"),
    NAME("k8s.pod.name"),
    NAME("k8s.pod.uid"),
    NAME("k8s.replicaset.name"),
    NAME("k8s.replicaset.uid"),
    NAME("k8s.statefulset.name"),
    NAME("k8s.statefulset.uid"),
    NAME("os.name"),
    NAME("os.type"),
    NAME("os.version"),
    NAME("process.command"),
    NAME("process.command_line"),
    NAME("process.executable.name"),
    NAME("process.executable.path"),
    NAME("process.owner"),
    NAME("process.parent_pid"),
    NAME("process.pid"),
    NAME("process.runtime.description"),
    NAME("process.runtime.name"),
    NAME("process.runtime.version"),
    NAME("service.instance.id"),
    NAME("service.name"),
    NAME("service.namespace"),
    NAME("service.version"),
    NAME("telemetry.distro.name"),
    NAME("telemetry.distro.version"),
    NAME("telemetry.sdk.language"),
    NAME("telemetry.sdk.name"),
    NAME("telemetry.sdk.version"),
    NAME("thread.id"),
    NAME("thread.name"),
    NAME("vcs.ref.head.revision"),
    NAME("vcs.repository.url.full"),
};

// 0-9; A-Z, _ and a-z: a bit for each byte.
static const uint64_t fitting[4] = {0x03FF000000000000, 0x07FFFFFE87FFFFFE, 0, 0};

static bool fits_label(uint8_t c)
{
    return (fitting[c >> 6] >> (c & 63) & 1) != 0;
}

static size_t fitting_prefix(struct bytes key)
{
    size_t i = 0;
    while (i < key.len && fits_label(key.data[i]))
        i++;
    return i;
}

// How many bytes of the key become one character of the label.
static size_t take_char(struct bytes key, size_t at)
{
    size_t len = utf8_char_len((struct bytes){key.data + at, key.len - at});
    return len == 0 ? 1 : len;
}

bool label_name(struct arena *arena, struct bytes key, struct bytes *out)
{
    size_t at = fitting_prefix(key);
    *out = key;
    if (at == key.len)
        return true;
    uint8_t *name = arena_try_alloc(arena, key.len), *end = name;
    if (name == NULL)
        return false;
    memcpy(name, key.data, at);
    for (end += at; at < key.len; at += key.data[at] < 0x80 ? 1 : take_char(key, at))
        *end++ = fits_label(key.data[at]) ? key.data[at] : '_';
    *out = (struct bytes){name, (size_t)(end - name)};
    return true;
}

bool label_is_of(struct bytes label, struct bytes key)
{
    size_t i = 0, at = 0;
    for (; i < label.len && at < key.len; i++, at += take_char(key, at))
        if (label.data[i] != (fits_label(key.data[at]) ? key.data[at] : '_'))
            return false;
    return i == label.len && at == key.len;
}

struct bytes attribute_name(struct bytes label)
{
    for (size_t i = 0; i < COUNT_OF(well_known); i++) {
        if (well_known[i].len != label.len || well_known[i].text[0] != (char)label.data[0])
            continue;
        struct bytes key = {(const uint8_t *)well_known[i].text, well_known[i].len};
        if (label_is_of(label, key))
            return key;
    }
    return label;
}
