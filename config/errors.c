// SPDX-License-Identifier: Apache-2.0
#include "config/errors.h"

#include <stdarg.h>
#include <string.h>

enum { MESSAGES_MAX = 100, MESSAGE_BYTES = 2048 };

void config_errors_init(struct config_errors *e)
{
    *e = (struct config_errors){0};
    arena_init(&e->arena, 0);
}

void config_errors_fini(struct config_errors *e)
{
    arena_fini(&e->arena);
    *e = (struct config_errors){0};
}

// Messages hold pieces of the input; a terminal should not obey them. U+0080 to U+009F are controls too.
static void hide_controls(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++) {
        if (*p < 0x20 || *p == 0x7f)
            *p = '?';
        if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
            p[0] = p[1] = '?';
    }
}

static const char *keep_text(struct config_errors *e, const char *text)
{
    char *copy = arena_copy_text(&e->arena, text, strlen(text));
    hide_controls(copy);
    return copy;
}

static void add(struct config_errors *e, struct config_position at, bool warning, const char *text)
{
    e->error_count += !warning;
    if (e->count == MESSAGES_MAX) {
        e->left_out++;
        return;
    }
    if (!e->items) {
        e->items = arena_alloc(&e->arena, MESSAGES_MAX * sizeof *e->items);
        e->capacity = MESSAGES_MAX;
    }
    if (at.source)
        at.source = keep_text(e, at.source);
    e->items[e->count++] = (struct config_message){at, keep_text(e, text), warning};
}

void config_error(struct config_errors *e, struct config_position at, const char *format, ...)
{
    char text[MESSAGE_BYTES];
    va_list args;
    if (!e)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    add(e, at, false, text);
}

void config_warning(struct config_errors *e, struct config_position at, const char *format, ...)
{
    char text[MESSAGE_BYTES];
    va_list args;
    if (!e)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    add(e, at, true, text);
}

// Sources in the order in which they were first complained about; unknown ones last.
static size_t source_rank(const struct config_errors *e, const char *source)
{
    if (!source)
        return e->count;
    for (size_t i = 0; i < e->count; i++)
        if (e->items[i].at.source && strcmp(e->items[i].at.source, source) == 0)
            return i;
    return e->count;
}

static bool stands_before(const struct config_errors *e, const struct config_message *a, const struct config_message *b)
{
    size_t rank_a = source_rank(e, a->at.source), rank_b = source_rank(e, b->at.source);
    if (rank_a != rank_b)
        return rank_a < rank_b;
    if (a->at.line != b->at.line)
        return a->at.line < b->at.line;
    return a->at.column < b->at.column;
}

static void print_message(const struct config_message *m, FILE *out)
{
    if (m->at.source && m->at.line > 0)
        fprintf(out, "%s:%d:%d: ", m->at.source, m->at.line, m->at.column);
    else if (m->at.source)
        fprintf(out, "%s: ", m->at.source);
    fprintf(out, "%s%s\n", m->warning ? "warning: " : "", m->text);
}

void config_errors_print(const struct config_errors *e, FILE *out)
{
    const struct config_message *sorted[MESSAGES_MAX];
    for (size_t i = 0; i < e->count; i++) {
        size_t place = i;
        for (; place > 0 && stands_before(e, &e->items[i], sorted[place - 1]); place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = &e->items[i];
    }
    for (size_t i = 0; i < e->count; i++)
        print_message(sorted[i], out);
    if (e->left_out > 0)
        fprintf(out, "and %zu more\n", e->left_out);
}
