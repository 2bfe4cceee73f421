// SPDX-License-Identifier: Apache-2.0
// The one file in C++.
#include "base/re2_program.h"

#include <re2/re2.h>

#include <cstdio>
#include <new>
#include <vector>

struct re2_program {
    re2::RE2 re2;
    std::map<int, std::string> names;

    re2_program(re2::StringPiece pattern, const re2::RE2::Options &options)
        : re2(pattern, options), names(re2.CapturingGroupNames())
    {
    }
};

enum re2_status re2_program_create(struct re2_text pattern, bool dot_all, size_t max_bytes, struct re2_program **out,
                                   char *error, size_t error_size)
{
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_dot_nl(dot_all);
    options.set_max_mem(static_cast<int64_t>(max_bytes));
    re2_program *p = new (std::nothrow) re2_program(re2::StringPiece(pattern.data, pattern.len), options);
    if (p == nullptr)
        return RE2_NO_MEMORY;
    if (p->re2.ok()) {
        *out = p;
        return RE2_GOOD;
    }
    enum re2_status status = p->re2.error_code() == re2::RE2::ErrorPatternTooLarge ? RE2_TOO_LARGE : RE2_BAD_PATTERN;
    std::snprintf(error, error_size, "%s", p->re2.error().c_str());
    delete p;
    return status;
}

void re2_program_destroy(struct re2_program *p)
{
    delete p;
}

unsigned re2_program_groups(const struct re2_program *p)
{
    return static_cast<unsigned>(p->re2.NumberOfCapturingGroups());
}

const char *re2_program_group_name(const struct re2_program *p, unsigned group)
{
    auto found = p->names.find(static_cast<int>(group));
    return found == p->names.end() ? nullptr : found->second.c_str();
}

bool re2_program_run(const struct re2_program *p, bool whole, struct re2_text text, size_t from,
                     struct re2_text *groups, unsigned count)
{
    enum { FEW = 16 };
    re2::StringPiece few[FEW];
    std::vector<re2::StringPiece> many(count > FEW ? count : 0);
    re2::StringPiece *found = count > FEW ? many.data() : few;
    auto anchor = whole ? re2::RE2::ANCHOR_BOTH : re2::RE2::UNANCHORED;
    if (!p->re2.Match(re2::StringPiece(text.data, text.len), from, text.len, anchor, found, static_cast<int>(count)))
        return false;
    for (unsigned i = 0; i < count; i++)
        groups[i] = re2_text{found[i].data(), found[i].size()};
    return true;
}
