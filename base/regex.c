// SPDX-License-Identifier: Apache-2.0
#include "base/regex.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/re2_program.h"

struct regex {
    struct re2_program *program;
    uint32_t groups;
};

// --- what RE2 and Go read differently ---

struct scan {
    struct bytes pattern;
    size_t at;
};

static bool looking_at(const struct scan *s, const char *text)
{
    size_t len = strlen(text);
    return s->pattern.len - s->at >= len && memcmp(s->pattern.data + s->at, text, len) == 0;
}

static void copy(struct scan *s, size_t count, struct buf *out)
{
    size_t left = s->pattern.len - s->at;
    count = count < left ? count : left;
    buf_add(out, s->pattern.data + s->at, count);
    s->at += count;
}

static void copy_until(struct scan *s, const char *end, struct buf *out)
{
    while (s->at < s->pattern.len && !looking_at(s, end))
        copy(s, 1, out);
    copy(s, strlen(end), out);
}

// From [ to ]; a ] at the beginning is a member, [:alpha:] a class in the class.
static void copy_class(struct scan *s, struct buf *out)
{
    copy(s, looking_at(s, "[^") ? 2 : 1, out);
    if (looking_at(s, "]"))
        copy(s, 1, out);
    while (s->at < s->pattern.len && !looking_at(s, "]")) {
        if (looking_at(s, "[:"))
            copy_until(s, ":]", out);
        else
            copy(s, looking_at(s, "\\") ? 2 : 1, out);
    }
    copy(s, 1, out);
}

// (?P<name> for (?<name>. False: there is a \C, which is none of Go's and would cut characters.
static bool translate(struct bytes pattern, struct buf *out)
{
    struct scan s = {pattern, 0};
    while (s.at < pattern.len) {
        if (looking_at(&s, "\\C"))
            return false;
        if (looking_at(&s, "\\Q")) {
            copy_until(&s, "\\E", out);
        } else if (looking_at(&s, "[")) {
            copy_class(&s, out);
        } else if (looking_at(&s, "(?<") && !looking_at(&s, "(?<=") && !looking_at(&s, "(?<!")) {
            buf_add_text(out, "(?P<");
            s.at += 3;
        } else {
            copy(&s, looking_at(&s, "\\") ? 2 : 1, out);
        }
    }
    return true;
}

// --- compiling ---

static enum err_code create_program(struct bytes pattern, struct bytes translated, bool dot_all,
                                    struct re2_program **out, struct err *e)
{
    char why[256] = "";
    const struct re2_text text = {translated.len == 0 ? "" : (const char *)translated.data, translated.len};
    switch (re2_program_create(text, dot_all, REGEX_MAX_PROGRAM_BYTES, out, why, sizeof why)) {
    case RE2_GOOD:
        break;
    case RE2_BAD_PATTERN:
        return err_set(e, ERR_INVALID, "\"%.*s\" is no regular expression: %s", BYTES_PRINT(pattern), why);
    case RE2_TOO_LARGE:
        return err_set(e, ERR_LIMIT, "the regular expression \"%.*s\" is too large: %s", BYTES_PRINT(pattern), why);
    case RE2_NO_MEMORY:
        return err_set(e, ERR_MEMORY, "out of memory for a regular expression");
    }
    return ERR_OK;
}

static enum err_code compile_program(struct bytes pattern, bool dot_all, struct re2_program **out, struct err *e)
{
    struct buf translated;
    enum err_code rc;
    buf_init(&translated, SIZE_MAX);
    if (!translate(pattern, &translated))
        rc = err_set(e, ERR_INVALID, "\"%.*s\" is no regular expression: there is no \\C", BYTES_PRINT(pattern));
    else if (!buf_ok(&translated))
        rc = err_set(e, ERR_MEMORY, "out of memory for a regular expression");
    else
        rc = create_program(pattern, buf_bytes(&translated), dot_all, out, e);
    buf_fini(&translated);
    return rc;
}

static enum err_code compile(struct bytes pattern, bool dot_all, struct regex **out, struct err *e)
{
    struct re2_program *program = NULL;
    *out = NULL;
    enum err_code rc = compile_program(pattern, dot_all, &program, e);
    if (rc != ERR_OK)
        return rc;
    uint32_t groups = re2_program_groups(program);
    if (groups > REGEX_MAX_GROUPS) {
        re2_program_destroy(program);
        return err_set(e, ERR_LIMIT, "the regular expression has %u groups, allowed are %d", groups, REGEX_MAX_GROUPS);
    }
    *out = MEM_NEW(struct regex);
    **out = (struct regex){program, groups};
    return ERR_OK;
}

enum err_code regex_compile(struct bytes pattern, struct regex **out, struct err *e)
{
    return compile(pattern, false, out, e);
}

enum err_code regex_compile_dot_all(struct bytes pattern, struct regex **out, struct err *e)
{
    return compile(pattern, true, out, e);
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

enum err_code regex_check_names(const struct regex *r, struct err *e)
{
    if (r->groups == 0)
        return err_set(e, ERR_INVALID, "has no group: name what is to be taken, as in (?P<service>[^/]+)");
    for (uint32_t i = 1; i <= r->groups; i++)
        if (regex_group_name(r, i) == NULL)
            return err_set(e, ERR_INVALID,
                           "group %u has no name: write (?P<name>...), or (?:...) for one that is not to be taken", i);
    return ERR_OK;
}

// --- matching ---

static bool run(const struct regex *r, bool whole, struct bytes text, size_t from, struct bytes *groups, uint32_t count)
{
    struct re2_text found[REGEX_MAX_GROUPS + 1];
    // An empty text must not be a null pointer: its groups could not be told from those that took no part.
    const struct re2_text t = {text.len == 0 ? "" : (const char *)text.data, text.len};
    uint32_t wanted = count > r->groups + 1 ? r->groups + 1 : count;
    if (!re2_program_run(r->program, whole, t, from, found, wanted))
        return false;
    for (uint32_t i = 0; i < wanted; i++)
        groups[i] = (struct bytes){(const uint8_t *)found[i].data, found[i].len};
    for (uint32_t i = wanted; i < count; i++)
        groups[i] = (struct bytes){NULL, 0};
    return true;
}

bool regex_match(const struct regex *r, struct bytes text, struct bytes *groups, uint32_t count)
{
    return run(r, true, text, 0, groups, count);
}

bool regex_search(const struct regex *r, struct bytes text, struct bytes *groups, uint32_t count)
{
    return run(r, false, text, 0, groups, count);
}

bool regex_search_from(const struct regex *r, struct bytes text, size_t from, struct bytes *groups, uint32_t count)
{
    CHECK(from <= text.len);
    return run(r, false, text, from, groups, count);
}
