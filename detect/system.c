// SPDX-License-Identifier: Apache-2.0
// The machine itself: its name, its system, its addresses, its processor.
#include "base/text.h"
#include "detect/hostname.h"
#include "detect/local_file.h"

#include <stdio.h>
#include <sys/utsname.h>

enum { MAX_ADDRESSES = 64, ADDRESS_SIZE = 48, TEXT_SIZE = 512 };

// --- os ---

// NAME="value" of os-release, without the quotes.
static bool release_value(struct bytes line, const char *name, struct bytes *out)
{
    const size_t len = strlen(name);
    if (line.len <= len || memcmp(line.data, name, len) != 0 || line.data[len] != '=')
        return false;
    *out = (struct bytes){line.data + len + 1, line.len - len - 1};
    const bool quoted =
        out->len >= 2 && (out->data[0] == '"' || out->data[0] == '\'') && out->data[out->len - 1] == out->data[0];
    if (quoted)
        *out = (struct bytes){out->data + 1, out->len - 2};
    return true;
}

static void add_release(struct detector_run *r, const struct utsname *kernel)
{
    struct local_file f;
    struct bytes line, value;
    char description[TEXT_SIZE];
    if (!local_file_open(&f, r->settings->root_path, "etc/os-release")) {
        local_file_close(&f);
        (void)local_file_open(&f, r->settings->root_path, "usr/lib/os-release");
    }
    while (local_file_next(&f, &line)) {
        if (release_value(line, "ID", &value))
            detector_add(r, "os.name", value);
        else if (release_value(line, "VERSION_ID", &value))
            detector_add(r, "os.version", value);
        else if (release_value(line, "PRETTY_NAME", &value)) {
            snprintf(description, sizeof description, "%.*s (%s %s %s)", BYTES_PRINT(value), kernel->sysname,
                     kernel->release, kernel->machine);
            detector_add_text(r, "os.description", description);
        }
    }
    local_file_close(&f);
}

// The names of the semantic conventions.
static const char *architecture(const char *machine)
{
    static const struct {
        const char *machine, *name;
    } known[] = {
        {"x86_64", "amd64"}, {"aarch64", "arm64"}, {"armv6l", "arm32"}, {"armv7l", "arm32"}, {"i386", "x86"},
        {"i686", "x86"},     {"ppc64le", "ppc64"}, {"ppc64", "ppc64"},  {"s390x", "s390x"},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i].machine, machine) == 0)
            return known[i].name;
    return machine;
}

static void add_host_id(struct detector_run *r)
{
    char id[TEXT_SIZE];
    local_file_first_line(r->settings->root_path, "etc/machine-id", id, sizeof id);
    if (id[0] == '\0')
        local_file_first_line(r->settings->root_path, "var/lib/dbus/machine-id", id, sizeof id);
    detector_add_text(r, "host.id", id);
}

// --- addresses ---

struct address_texts {
    char texts[MAX_ADDRESSES][ADDRESS_SIZE];
    const char *list[MAX_ADDRESSES];
    uint32_t count;
};

static void add_once(struct address_texts *a, const char *text)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (strcmp(a->list[i], text) == 0)
            return;
    if (a->count == MAX_ADDRESSES)
        return;
    snprintf(a->texts[a->count], ADDRESS_SIZE, "%s", text);
    a->list[a->count] = a->texts[a->count];
    a->count++;
}

static void add_ip(struct address_texts *a, const uv_interface_address_t *at)
{
    char text[ADDRESS_SIZE];
    const bool good = at->address.address4.sin_family == AF_INET6
                          ? uv_ip6_name(&at->address.address6, text, sizeof text) == 0
                          : uv_ip4_name(&at->address.address4, text, sizeof text) == 0;
    if (good)
        add_once(a, text);
}

static void add_mac(struct address_texts *a, const uv_interface_address_t *at)
{
    const unsigned char *m = (const unsigned char *)at->phys_addr;
    char text[ADDRESS_SIZE];
    snprintf(text, sizeof text, "%02X-%02X-%02X-%02X-%02X-%02X", m[0], m[1], m[2], m[3], m[4], m[5]);
    if (strcmp(text, "00-00-00-00-00-00") != 0)
        add_once(a, text);
}

static void add_addresses(struct detector_run *r, const char *key,
                          void (*add)(struct address_texts *a, const uv_interface_address_t *at))
{
    struct address_texts a = {.count = 0};
    uv_interface_address_t *found;
    int count;
    if (!detector_wants(r, key) || uv_interface_addresses(&found, &count) != 0)
        return;
    for (int i = 0; i < count; i++)
        if (!found[i].is_internal)
            add(&a, &found[i]);
    uv_free_interface_addresses(found, count);
    detector_add_list(r, key, a.list, a.count);
}

// --- the processor ---

// "model name\t: Intel(R) ...", of the first one.
static void add_processor(struct detector_run *r)
{
    static const struct {
        const char *name, *key;
    } known[] = {
        {"vendor_id", "host.cpu.vendor.id"},   {"cpu family", "host.cpu.family"}, {"model", "host.cpu.model.id"},
        {"model name", "host.cpu.model.name"}, {"stepping", "host.cpu.stepping"},
    };
    struct local_file f;
    struct bytes line;
    (void)local_file_open(&f, r->settings->root_path, "proc/cpuinfo");
    while (local_file_next(&f, &line) && line.len > 0) {
        const uint8_t *colon = memchr(line.data, ':', line.len);
        if (colon == NULL)
            continue;
        const size_t at = (size_t)(colon - line.data);
        const struct bytes name = text_trim((struct bytes){line.data, at});
        for (size_t i = 0; i < COUNT_OF(known); i++)
            if (bytes_equal_text(name, known[i].name))
                detector_add(r, known[i].key, text_trim((struct bytes){colon + 1, line.len - at - 1}));
    }
    local_file_close(&f);
}

static void begin(struct detector_run *r)
{
    struct utsname kernel;
    detector_add_text(r, "os.type", "linux");
    if (uname(&kernel) == 0) {
        detector_add_text(r, "host.arch", architecture(kernel.machine));
        add_release(r, &kernel);
    }
    add_host_id(r);
    add_addresses(r, "host.ip", add_ip);
    add_addresses(r, "host.mac", add_mac);
    add_processor(r);
    hostname_begin(r);
}

const struct detector detector_system = {
    .name = "system",
    .attributes = detect_system_attributes,
    .switches = offsetof(struct detect_settings, system.attributes),
    .begin = begin,
    .cancel = hostname_cancel,
};
