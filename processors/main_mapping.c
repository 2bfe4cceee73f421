// SPDX-License-Identifier: Apache-2.0
#include "processors/main_mapping.h"

#include "base/check.h"
#include "profile/stack.h"

enum { SAMPLES_LOOKED_AT = 32, PATH_MAX_BYTES = 512, TYPES_LOOKED_AT = 8 }; // of a resource, a path, a location

static bool ends_with(struct bytes text, const char *end)
{
    const size_t len = strlen(end);
    return text.len >= len && memcmp(text.data + text.len - len, end, len) == 0;
}

static bool contains(struct bytes text, const char *part)
{
    return text.len > 0 && memmem(text.data, text.len, part, strlen(part)) != NULL;
}

// "[vdso]", "[kernel.kallsyms]", "//anon", "/lib/libc.so.6", "/memfd:jit"
static bool is_program(struct bytes path)
{
    static const char *const endings[] = {".so", ".ko", ".jar", ".dll", ".dylib"};
    if (path.len == 0 || path.len > PATH_MAX_BYTES || path.data[0] == '[' || contains(path, ".so.") ||
        contains(path, "//anon") || contains(path, "/memfd:") || contains(path, "kallsyms") ||
        contains(path, "vmlinux"))
        return false;
    for (size_t i = 0; i < COUNT_OF(endings); i++)
        if (ends_with(path, endings[i]))
            return false;
    return true;
}

// Modules of the kernel have names like programs: "i915".
static bool is_of_kernel(const struct dictionary *d, const struct batch_location *l)
{
    const struct batch_range set = d->attribute_sets[l->attribute_set];
    for (uint32_t i = 0; i < set.count && i < TYPES_LOOKED_AT; i++) {
        const struct batch_attribute *a = &d->attributes[d->set_attributes[set.start + i]];
        if (a->value.kind == VALUE_STRING && bytes_equal_text(a->value.bytes, "kernel") &&
            bytes_equal_text(d->strings[a->key], "profile.frame.type"))
            return true;
    }
    return false;
}

struct search {
    const struct dictionary *dictionary;
    uint32_t samples_left, *frames_left;
    struct bytes found;
};

// Stacks are leaf first: the last one found stands next to the root.
static void search_stack(struct search *s, uint32_t stack)
{
    const struct dictionary *d = s->dictionary;
    struct stack_reader reader;
    uint32_t location, last = 0;
    s->samples_left--;
    stack_reader_init(&reader, d, stack);
    for (; *s->frames_left > 0 && stack_next(&reader, &location); (*s->frames_left)--) {
        const uint32_t mapping = d->locations[location].mapping;
        if (mapping == 0 || mapping == last)
            continue;
        last = mapping;
        const struct bytes path = d->strings[d->mappings[mapping].filename];
        if (is_program(path) && !is_of_kernel(d, &d->locations[location]))
            s->found = path;
    }
}

static bool is_over(const struct search *s)
{
    return s->found.len > 0 || s->samples_left == 0 || *s->frames_left == 0;
}

static void search_scope(struct search *s, const struct scope *scope)
{
    for (uint32_t p = 0; p < scope->profile_count && !is_over(s); p++) {
        const struct columns *c = scope->profiles[p].columns;
        for (uint32_t i = 0; i < c->sample_count && !is_over(s); i++)
            search_stack(s, c->stacks[i]);
    }
}

struct bytes main_mapping_find(const struct batch *b, const struct resource *r, uint32_t *frames_left)
{
    struct search s = {b->dictionary, SAMPLES_LOOKED_AT, frames_left, {NULL, 0}};
    for (uint32_t i = 0; b->dictionary != NULL && i < r->scope_count && !is_over(&s); i++)
        search_scope(&s, r->scopes[i]);
    return s.found;
}
