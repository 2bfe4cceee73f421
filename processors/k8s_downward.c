// SPDX-License-Identifier: Apache-2.0
#include "processors/k8s_downward.h"

#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "kube/kube_store.h"
#include "processors/attribute_actions.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 1 << 20, LINE_MAX_PAIRS = 1 << 14 }; // Kubernetes allows 256 KiB of annotations

#define SETTING(member) offsetof(struct k8s_downward_settings, member)

const struct field k8s_downward_fields[] = {
    {.name = "name_env",
     .type = FIELD_STRING,
     .offset = SETTING(name_env),
     .default_text = "POD_NAME",
     .help = "variable with the pod's name (metadata.name)"},
    {.name = "namespace_env",
     .type = FIELD_STRING,
     .offset = SETTING(namespace_env),
     .default_text = "POD_NAMESPACE",
     .help = "with its namespace (metadata.namespace)"},
    {.name = "uid_env",
     .type = FIELD_STRING,
     .offset = SETTING(uid_env),
     .default_text = "POD_UID",
     .help = "with its uid (metadata.uid)"},
    {.name = "ip_env",
     .type = FIELD_STRING,
     .offset = SETTING(ip_env),
     .default_text = "POD_IP",
     .help = "with its address, or several with commas between (status.podIP, status.podIPs)"},
    {.name = "node_env",
     .type = FIELD_STRING,
     .offset = SETTING(node_env),
     .default_text = "NODE_NAME",
     .help = "with its node's name (spec.nodeName)"},
    {.name = "container_env",
     .type = FIELD_STRING,
     .offset = SETTING(container_env),
     .default_text = "CONTAINER_NAME",
     .help = "with the name of the container that profiles are of"},
    {.name = "labels_file",
     .type = FIELD_STRING,
     .offset = SETTING(labels_file),
     .help = "mounted file with the pod's labels (metadata.labels)"},
    {.name = "annotations_file",
     .type = FIELD_STRING,
     .offset = SETTING(annotations_file),
     .help = "mounted file with its annotations (metadata.annotations)"},
    {.name = "refresh_interval",
     .type = FIELD_DURATION,
     .offset = SETTING(refresh_nanos),
     .default_text = "30s",
     .min = 1e8,
     .max = 8.64e13,
     .help = "how often the files are looked at"},
    {.name = NULL},
};

// --- lines of key="value" ---

struct line_reader {
    struct arena *arena;
    struct bytes rest;
    size_t line; // from 1
    void *pairs; // struct kube_pair[]
    size_t capacity, count;
    struct err *e;
};

static enum err_code bad_line(const struct line_reader *r, const char *why)
{
    return err_set(r->e, ERR_INVALID, "line %zu is not key=\"value\": %s", r->line, why);
}

static struct bytes cut_line(struct line_reader *r)
{
    const uint8_t *end = memchr(r->rest.data, '\n', r->rest.len);
    const struct bytes line = {r->rest.data, end == NULL ? r->rest.len : (size_t)(end - r->rest.data)};
    const size_t used = line.len + (end != NULL);
    r->rest = (struct bytes){r->rest.data + used, r->rest.len - used};
    r->line++;
    return line;
}

static bool read_hex(struct bytes text, size_t digits, uint32_t *out)
{
    *out = 0;
    if (text.len < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        const uint8_t c = text.data[i];
        const uint32_t digit = c >= '0' && c <= '9'   ? c - (uint32_t)'0'
                               : c >= 'a' && c <= 'f' ? c - (uint32_t)'a' + 10
                               : c >= 'A' && c <= 'F' ? c - (uint32_t)'A' + 10
                                                      : 16;
        if (digit == 16)
            return false;
        *out = *out << 4 | digit;
    }
    return true;
}

static size_t put_code_point(uint32_t c, uint8_t *out)
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    const size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = len; i-- > 1; c >>= 6)
        out[i] = (uint8_t)(0x80 | (c & 0x3F));
    out[0] = (uint8_t)(leads[len] | c);
    return len;
}

// What stands behind a backslash: how much of it was used, 0 = it is no escape. At most 4 bytes go to out.
static size_t read_escape(struct bytes text, uint8_t *out, size_t *len_out)
{
    static const char letters[] = "abfnrtv\\\"'", meant[] = "\a\b\f\n\r\t\v\\\"'";
    const char *letter = text.len == 0 ? NULL : memchr(letters, text.data[0], sizeof letters - 1);
    uint32_t number;
    *len_out = 1;
    if (letter != NULL) {
        out[0] = (uint8_t)meant[letter - letters];
        return 1;
    }
    const size_t digits = text.len == 0         ? 0
                          : text.data[0] == 'x' ? 2
                          : text.data[0] == 'u' ? 4
                          : text.data[0] == 'U' ? 8
                                                : 0;
    if (digits == 0 || !read_hex((struct bytes){text.data + 1, text.len - 1}, digits, &number) || number > 0x10FFFF)
        return 0;
    if (digits == 2)
        out[0] = (uint8_t)number; // a byte that is no character
    else
        *len_out = put_code_point(number, out);
    return 1 + digits;
}

// Between the quotes; what comes out is not longer than what went in.
static enum err_code unescape(struct line_reader *r, struct bytes text, struct bytes *out)
{
    uint8_t *plain = arena_try_alloc(r->arena, text.len + 1);
    size_t len = 0, made;
    if (plain == NULL)
        return attribute_no_memory(r->e);
    for (size_t i = 0; i < text.len;) {
        if (text.data[i] == '"')
            return bad_line(r, "there is a quote inside");
        if (text.data[i] != '\\') {
            plain[len++] = text.data[i++];
            continue;
        }
        const size_t used = read_escape((struct bytes){text.data + i + 1, text.len - i - 1}, plain + len, &made);
        if (used == 0)
            return bad_line(r, "there is an unknown escape");
        i += 1 + used;
        len += made;
    }
    *out = (struct bytes){plain, len};
    return utf8_valid(*out) ? ERR_OK : bad_line(r, "the value is not UTF-8");
}

static enum err_code read_line(struct line_reader *r, struct bytes line)
{
    struct kube_pair pair;
    const uint8_t *equal = memchr(line.data, '=', line.len);
    if (equal == NULL || equal == line.data)
        return bad_line(r, "there is no key");
    const struct bytes key = {line.data, (size_t)(equal - line.data)};
    const struct bytes value = {equal + 1, line.len - key.len - 1};
    if (value.len < 2 || value.data[0] != '"' || value.data[value.len - 1] != '"')
        return bad_line(r, "there are no quotes");
    if (!utf8_valid(key))
        return bad_line(r, "the key is not UTF-8");
    if (!arena_try_copy(r->arena, key, &pair.key) ||
        !mem_try_grow(&r->pairs, &r->capacity, r->count + 1, sizeof pair, SIZE_MAX))
        return attribute_no_memory(r->e);
    enum err_code rc = unescape(r, (struct bytes){value.data + 1, value.len - 2}, &pair.value);
    if (rc == ERR_OK)
        ((struct kube_pair *)r->pairs)[r->count++] = pair;
    return rc;
}

enum err_code k8s_downward_parse(struct bytes text, struct arena *arena, struct kube_pair **pairs_out,
                                 size_t *count_out, struct err *e)
{
    struct line_reader r = {.arena = arena, .rest = text, .e = e};
    enum err_code rc = ERR_OK;
    while (rc == ERR_OK && r.rest.len > 0) {
        const struct bytes line = cut_line(&r);
        if (r.count == LINE_MAX_PAIRS)
            rc = err_set(e, ERR_LIMIT, "there are more than %d lines", LINE_MAX_PAIRS);
        else if (line.len > 0)
            rc = read_line(&r, line);
    }
    *pairs_out = r.pairs;
    *count_out = r.count;
    return rc;
}

// --- files ---

static enum err_code read_file(const char *path, struct buf *out, struct err *e)
{
    enum err_code rc = fd_read_file(path, FILE_MAX_BYTES, out);
    if (rc == ERR_LIMIT)
        return err_set(e, ERR_LIMIT, "%s has more than %d bytes", path, FILE_MAX_BYTES);
    if (rc == ERR_IO)
        return err_set(e, ERR_IO, "%s cannot be read: %s; mount a volume of the downward API there", path,
                       strerror(errno));
    return rc == ERR_OK ? ERR_OK : attribute_no_memory(e);
}

static enum err_code read_pairs(const char *path, struct arena *arena, struct kube_pair **pairs_out, size_t *count_out,
                                struct err *e)
{
    struct buf text;
    *pairs_out = NULL;
    *count_out = 0;
    if (path == NULL)
        return ERR_OK;
    enum err_code rc = read_file(path, &text, e);
    if (rc == ERR_OK) {
        rc = k8s_downward_parse(buf_bytes(&text), arena, pairs_out, count_out, e);
        if (rc != ERR_OK)
            err_prefix(e, "%s", path);
    }
    buf_fini(&text);
    return rc;
}

// --- the pod ---

// What a pod is put together from.
struct draft {
    struct kube_object object;
    struct kube_container container;
    struct ip_address addresses[16];
    struct kube_pair *pairs[KUBE_MAPS];
    struct arena arena;
};

struct bytes k8s_downward_variable(const char *name)
{
    return bytes_from_text(name == NULL || name[0] == '\0' ? NULL : getenv(name));
}

static enum err_code read_addresses(const struct k8s_downward_settings *s, struct draft *d, struct err *e)
{
    struct bytes rest = k8s_downward_variable(s->ip_env);
    while (rest.len > 0) {
        const uint8_t *comma = memchr(rest.data, ',', rest.len);
        const struct bytes one = {rest.data, comma == NULL ? rest.len : (size_t)(comma - rest.data)};
        const size_t used = one.len + (comma != NULL);
        if (d->object.pod.address_count == COUNT_OF(d->addresses) ||
            !ip_address_parse(one, &d->addresses[d->object.pod.address_count]))
            return err_set(e, ERR_INVALID, "%s is \"%.*s\", which is not an address", s->ip_env, BYTES_PRINT(one));
        d->object.pod.address_count++;
        rest = (struct bytes){rest.data + used, rest.len - used};
    }
    d->object.pod.addresses = d->addresses;
    return ERR_OK;
}

static enum err_code read_map(struct draft *d, enum kube_map map, const char *path, const struct kube_keep *keep,
                              struct err *e)
{
    size_t count, kept = 0;
    enum err_code rc = read_pairs(path, &d->arena, &d->pairs[map], &count, e);
    struct kube_pair *pairs = d->pairs[map];
    for (size_t i = 0; rc == ERR_OK && i < count; i++)
        if (keep->keeps(keep->arg, KUBE_POD, map, pairs[i].key))
            pairs[kept++] = pairs[i];
    d->object.maps[map] = pairs;
    d->object.map_counts[map] = (uint32_t)kept;
    return rc;
}

// A replicaset's pods are called after it: NAME-HASH-xxxxx, where the hash is a label, too.
static void find_owner(struct draft *d)
{
    const struct bytes name = d->object.name;
    struct bytes hash;
    size_t len = name.len;
    while (len > 0 && name.data[len - 1] != '-')
        len--;
    if (len < 2 || !kube_object_find(&d->object, KUBE_LABELS, "pod-template-hash", &hash) || hash.len + 1 >= len - 1)
        return;
    const struct bytes set = {name.data, len - 1};
    if (memcmp(set.data + set.len - hash.len, hash.data, hash.len) == 0)
        d->object.owner = (struct kube_owner){.kind = KUBE_REPLICASET, .name = set};
}

static enum err_code read_draft(const struct k8s_downward_settings *s, const struct kube_keep *keep, struct draft *d,
                                struct err *e)
{
    struct kube_object *o = &d->object;
    o->kind = KUBE_POD;
    o->owner.kind = KUBE_NO_KIND;
    o->name = k8s_downward_variable(s->name_env);
    o->namespace_name = k8s_downward_variable(s->namespace_env);
    o->uid = k8s_downward_variable(s->uid_env);
    o->pod.node_name = k8s_downward_variable(s->node_env);
    d->container.name = k8s_downward_variable(s->container_env);
    o->pod.containers = &d->container;
    o->pod.container_count = d->container.name.len > 0;
    if (o->name.len == 0)
        return err_set(
            e, ERR_INVALID,
            "%s is not set: give the container the variable with valueFrom.fieldRef.fieldPath: metadata.name",
            s->name_env);
    enum err_code rc = read_addresses(s, d, e);
    if (rc == ERR_OK)
        rc = read_map(d, KUBE_LABELS, s->labels_file, keep, e);
    return rc == ERR_OK ? read_map(d, KUBE_ANNOTATIONS, s->annotations_file, keep, e) : rc;
}

static enum err_code make_snapshot(const struct kube_object *draft, struct kube_snapshot **out, struct err *e)
{
    struct kube_object *pod = kube_object_create(draft);
    if (pod == NULL)
        return attribute_no_memory(e);
    struct kube_store *store = kube_store_create(&(const struct kube_store_options){0});
    if (kube_store_put(store, pod, 0))
        *out = kube_store_snapshot(store);
    kube_store_destroy(&store);
    return *out != NULL ? ERR_OK : attribute_no_memory(e);
}

enum err_code k8s_downward_read(const struct k8s_downward_settings *s, const struct kube_keep *keep,
                                struct kube_snapshot **out, struct err *e)
{
    struct draft *d = MEM_NEW(struct draft);
    arena_init(&d->arena, 0);
    *out = NULL;
    enum err_code rc = read_draft(s, keep, d, e);
    if (rc == ERR_OK) {
        find_owner(d);
        rc = make_snapshot(&d->object, out, e);
    }
    for (size_t i = 0; i < KUBE_MAPS; i++)
        free(d->pairs[i]);
    arena_fini(&d->arena);
    free(d);
    return rc;
}
