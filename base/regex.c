// SPDX-License-Identifier: Apache-2.0
#include "base/regex.h"

#include "base/mem.h"
#include "base/re2_program.h"

struct regex {
    struct re2_program *program;
    uint32_t groups;
};

enum err_code regex_compile(struct bytes pattern, struct regex **out, struct err *e)
{
    char why[256] = "";
    struct re2_program *program = NULL;
    const struct re2_text text = {pattern.len == 0 ? "" : (const char *)pattern.data, pattern.len};
    *out = NULL;
    switch (re2_program_create(text, REGEX_MAX_PROGRAM_BYTES, &program, why, sizeof why)) {
    case RE2_GOOD:
        break;
    case RE2_BAD_PATTERN:
        return err_set(e, ERR_INVALID, "\"%.*s\" is no regular expression: %s", BYTES_PRINT(pattern), why);
    case RE2_TOO_LARGE:
        return err_set(e, ERR_LIMIT, "the regular expression \"%.*s\" is too large: %s", BYTES_PRINT(pattern), why);
    case RE2_NO_MEMORY:
        return err_set(e, ERR_MEMORY, "out of memory for a regular expression");
    }
    uint32_t groups = re2_program_groups(program);
    if (groups > REGEX_MAX_GROUPS) {
        re2_program_destroy(program);
        return err_set(e, ERR_LIMIT, "the regular expression has %u groups, allowed are %d", groups, REGEX_MAX_GROUPS);
    }
    *out = MEM_NEW(struct regex);
    **out = (struct regex){program, groups};
    return ERR_OK;
}

void regex_destroy(struct regex **r)
{
    if (*r != NULL)
        re2_program_destroy((*r)->program);
    free(*r);
    *r = NULL;
}

uint32_t regex_group_count(const struct regex *r)
{
    return r->groups;
}

const char *regex_group_name(const struct regex *r, uint32_t group)
{
    return re2_program_group_name(r->program, group);
}

static bool run(const struct regex *r, bool whole, struct bytes text, struct bytes *groups, uint32_t count)
{
    struct re2_text found[REGEX_MAX_GROUPS + 1];
    // An empty text must not be a null pointer: its groups could not be told from those that took no part.
    const struct re2_text t = {text.len == 0 ? "" : (const char *)text.data, text.len};
    uint32_t wanted = count > r->groups + 1 ? r->groups + 1 : count;
    if (!re2_program_run(r->program, whole, t, found, wanted))
        return false;
    for (uint32_t i = 0; i < wanted; i++)
        groups[i] = (struct bytes){(const uint8_t *)found[i].data, found[i].len};
    for (uint32_t i = wanted; i < count; i++)
        groups[i] = (struct bytes){NULL, 0};
    return true;
}

bool regex_match(const struct regex *r, struct bytes text, struct bytes *groups, uint32_t count)
{
    return run(r, true, text, groups, count);
}

bool regex_search(const struct regex *r, struct bytes text, struct bytes *groups, uint32_t count)
{
    return run(r, false, text, groups, count);
}
