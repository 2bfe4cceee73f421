// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "base/mem.h"
#include "receivers/pyroscope.h"

#include <string.h>

enum { MOST_PATH_BYTES = 4096 };

static const struct {
    const char *path;
    enum pyroscope_route route;
    bool takes_profiles;
} routes[] = {
    {"/ingest", PYROSCOPE_ROUTE_INGEST, true},
    {"/" PYROSCOPE_PUSH_PATH, PYROSCOPE_ROUTE_PUSH, true},
    {"/ready", PYROSCOPE_ROUTE_READY, false},
    {"/validate", PYROSCOPE_ROUTE_VALIDATE, false},
};

// Without the slashes that follow another; what is longer than any route gives nothing.
static struct bytes squeeze(struct bytes path, char room[MOST_PATH_BYTES])
{
    size_t len = 0;
    for (size_t i = 0; i < path.len; i++) {
        bool doubled = path.data[i] == '/' && len > 0 && room[len - 1] == '/';
        if (doubled)
            continue;
        if (len == MOST_PATH_BYTES)
            return BYTES_LITERAL("");
        room[len++] = (char)path.data[i];
    }
    return (struct bytes){(const uint8_t *)room, len};
}

static enum pyroscope_route route_below(struct bytes prefix, struct bytes path)
{
    if (path.len < prefix.len || memcmp(path.data, prefix.data, prefix.len) != 0)
        return PYROSCOPE_ROUTE_NONE;
    const struct bytes rest = {path.data + prefix.len, path.len - prefix.len};
    for (size_t i = 0; i < COUNT_OF(routes); i++)
        if (bytes_equal_text(rest, routes[i].path))
            return routes[i].route;
    return PYROSCOPE_ROUTE_NONE;
}

// "/" and "/pyroscope/" as what stands in front of "/ingest".
static struct bytes without_last_slash(const char *prefix)
{
    struct bytes b = bytes_from_text(prefix);
    while (b.len > 0 && b.data[b.len - 1] == '/')
        b.len--;
    return b;
}

enum pyroscope_route pyroscope_route_of(const struct config_strings *prefixes, struct bytes path)
{
    char room[MOST_PATH_BYTES];
    const struct bytes short_path = squeeze(path, room);
    enum pyroscope_route route = PYROSCOPE_ROUTE_NONE;
    if (bytes_equal_text(short_path, "/otlp/v1/validate"))
        return PYROSCOPE_ROUTE_VALIDATE;
    for (size_t i = 0; route == PYROSCOPE_ROUTE_NONE && i < prefixes->count; i++)
        route = route_below(without_last_slash(prefixes->items[i]), short_path);
    return route;
}

char *pyroscope_paths_text(const struct config_strings *prefixes)
{
    struct buf text;
    size_t len;
    const char *before = "clients of Pyroscope send with POST to ";
    buf_init(&text, SIZE_MAX);
    for (size_t i = 0; i < prefixes->count; i++) {
        const struct bytes prefix = without_last_slash(prefixes->items[i]);
        for (size_t k = 0; k < COUNT_OF(routes); k++) {
            if (routes[k].takes_profiles) {
                buf_add_format(&text, "%s%.*s%s", before, BYTES_PRINT(prefix), routes[k].path);
                before = ", ";
            }
        }
    }
    buf_add_byte(&text, '\0');
    CHECK(buf_ok(&text));
    return (char *)buf_take(&text, &len);
}
