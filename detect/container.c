// SPDX-License-Identifier: Apache-2.0
// The id of the container the program is in: from its cgroup where that is seen (v1, or v2 without a namespace of its
// own), else from what the runtime mounts into it.
#include "detect/detector.h"
#include "detect/local_file.h"

#include <ctype.h>

enum { ID_CHARACTERS = 64, SHORTEST_ECS = 33 };

static bool is_hex_run(struct bytes text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!isdigit(text.data[i]) && (text.data[i] < 'a' || text.data[i] > 'f'))
            return false;
    return true;
}

// 64 hex digits; or 32 and a number, as on ECS: f1b1...-0123456789.
static bool is_id(struct bytes text)
{
    if (text.len == ID_CHARACTERS)
        return is_hex_run(text);
    if (text.len <= SHORTEST_ECS || text.data[SHORTEST_ECS - 1] != '-' ||
        !is_hex_run((struct bytes){text.data, SHORTEST_ECS - 1}))
        return false;
    for (size_t i = SHORTEST_ECS; i < text.len; i++)
        if (!isdigit(text.data[i]))
            return false;
    return true;
}

static struct bytes last_segment(struct bytes path)
{
    size_t start = path.len;
    while (start > 0 && path.data[start - 1] != '/')
        start--;
    return (struct bytes){path.data + start, path.len - start};
}

// "cri-containerd-ID.scope", "docker-ID.scope", "ID", ":cri-containerd:ID".
static bool id_of_segment(struct bytes segment, struct bytes *out)
{
    static const struct bytes scope = {(const uint8_t *)".scope", 6};
    if (segment.len > scope.len && memcmp(segment.data + segment.len - scope.len, scope.data, scope.len) == 0)
        segment.len -= scope.len;
    *out = segment;
    if (is_id(segment))
        return true;
    if (segment.len <= ID_CHARACTERS)
        return false;
    *out = (struct bytes){segment.data + segment.len - ID_CHARACTERS, ID_CHARACTERS};
    return (out->data[-1] == '-' || out->data[-1] == ':') && is_hex_run(*out);
}

// "4:memory:/kubepods/besteffort/pod.../ID"
static bool find_in_cgroup(struct bytes line, struct bytes *out)
{
    return line.len > 0 && id_of_segment(last_segment(line), out);
}

static bool next_word(struct bytes *text, struct bytes *word)
{
    size_t len = 0;
    while (len < text->len && text->data[len] != ' ')
        len++;
    *word = (struct bytes){text->data, len};
    const size_t taken = len + (len < text->len);
    *text = (struct bytes){text->data + taken, text->len - taken};
    return len > 0;
}

// The segment behind "containers" or "overlay-containers". Behind "sandboxes" stands the id of the pod's own.
static bool id_of_path(struct bytes path, struct bytes *out)
{
    bool behind = false;
    while (path.len > 0) {
        size_t len = 0;
        while (len < path.len && path.data[len] != '/')
            len++;
        *out = (struct bytes){path.data, len};
        if (behind && is_id(*out))
            return true;
        behind = bytes_equal_text(*out, "containers") || bytes_equal_text(*out, "overlay-containers");
        const size_t taken = len + (len < path.len);
        path = (struct bytes){path.data + taken, path.len - taken};
    }
    return false;
}

// "ID PARENT MAJOR:MINOR ROOT MOUNT_POINT ...": the root is where the runtime keeps the file. CRI-O and Podman mount
// /run/.containerenv from the container's folder, but /etc/hostname from that of the pod.
static bool find_in_mounts(struct bytes line, bool of_container_env, struct bytes *out)
{
    struct bytes word, root, point;
    for (int i = 0; i < 3; i++)
        if (!next_word(&line, &word))
            return false;
    return next_word(&line, &root) && next_word(&line, &point) &&
           bytes_equal_text(point, "/run/.containerenv") == of_container_env && id_of_path(root, out);
}

static bool find_mount(struct bytes line, struct bytes *out)
{
    return find_in_mounts(line, false, out);
}

static bool find_container_env(struct bytes line, struct bytes *out)
{
    return find_in_mounts(line, true, out);
}

static bool look(struct detector_run *r, const char *path, bool (*find)(struct bytes line, struct bytes *out))
{
    struct local_file f;
    struct bytes line, id;
    bool found = false;
    (void)local_file_open(&f, r->settings->root_path, path);
    while (!found && local_file_next(&f, &line))
        found = find(line, &id);
    if (found)
        detector_add(r, "container.id", id);
    local_file_close(&f);
    return found;
}

static void begin(struct detector_run *r)
{
    static const struct {
        const char *path;
        bool (*find)(struct bytes line, struct bytes *out);
    } places[] = {
        {"proc/self/cgroup", find_in_cgroup},
        {"proc/self/mountinfo", find_container_env},
        {"proc/self/mountinfo", find_mount},
    };
    size_t i = 0;
    while (i < COUNT_OF(places) && !look(r, places[i].path, places[i].find))
        i++;
    detector_end(r, NULL); // outside a container there is none
}

const struct detector detector_container = {
    .name = "container",
    .attributes = detect_container_attributes,
    .switches = offsetof(struct detect_settings, container.attributes),
    .begin = begin,
};
