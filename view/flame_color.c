// SPDX-License-Identifier: Apache-2.0
#include "view/flame_parts.h"

static size_t last_of(struct bytes text, const char *characters)
{
    size_t i = text.len;
    while (i > 0 && strchr(characters, text.data[i - 1]) == NULL)
        i--;
    return i;
}

// The folder of the source, or what stands before the function in its name (a class, a namespace), or the module.
static struct bytes package_of(const struct call_function *f)
{
    struct bytes folder = {f->file.data, last_of(f->file, "/\\")};
    if (folder.len > 0)
        return folder;
    struct bytes space = {f->name.data, last_of(f->name, ".:/$")};
    return space.len > 0 ? space : f->module;
}

uint32_t flame_color(const struct call_function *f)
{
    struct bytes package = package_of(f);
    uint32_t hash = 2166136261u; // FNV-1a: the same in every picture, and nothing is looked up with it
    for (size_t i = 0; i < package.len; i++)
        hash = (hash ^ package.data[i]) * 16777619u;
    return (hash ^ hash >> 16) % FLAME_HUES + (f->own ? 0 : FLAME_HUES);
}

uint32_t flame_step(double share_before, double share_after)
{
    double larger = share_before > share_after ? share_before : share_after;
    double change = larger > 0 ? (share_after - share_before) / larger * 2 : 0;
    change = change < -1 ? -1 : change > 1 ? 1 : change;
    const double half = (FLAME_STEPS - 1) / 2.0;
    return (uint32_t)((change + 1) * half + 0.5);
}
