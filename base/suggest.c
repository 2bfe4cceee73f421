// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

enum { NAME_MAX_LEN = 96 }; // longer names get no suggestion: the work stays bounded

static char fold(char c)
{
    if (c == '_')
        return '-';
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same(char a, char b)
{
    return fold(a) == fold(b);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Insertions, deletions, changes and swaps of two neighbours count 1 each (optimal string alignment).
static size_t edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][NAME_MAX_LEN + 1];
    size_t *older = rows[0], *old = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b_len; j++)
        old[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            now[j] = least(least(old[j], now[j - 1]) + 1, old[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1));
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                now[j] = least(now[j], older[j - 2] + 1);
        }
        size_t *spare = older;
        older = old;
        old = now;
        now = spare;
    }
    return old[b_len];
}

const char *text_suggest(const char *name, const char *const *candidates, size_t count)
{
    size_t len = strlen(name);
    if (len > NAME_MAX_LEN)
        return NULL;
    const char *best = NULL;
    size_t best_distance = 2 + len / 3;
    for (size_t i = 0; i < count; i++) {
        size_t candidate_len = strlen(candidates[i]);
        if (candidate_len > NAME_MAX_LEN)
            continue;
        size_t d = edit_distance(name, len, candidates[i], candidate_len);
        // A name of which nothing is kept is not near, however short it is.
        if (d < best_distance && d < (len > candidate_len ? len : candidate_len)) {
            best = candidates[i];
            best_distance = d;
        }
    }
    return best;
}
