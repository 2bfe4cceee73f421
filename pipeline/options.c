// SPDX-License-Identifier: Apache-2.0
#include "pipeline/options.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

struct parser {
    const struct option_table *table;
    void *values;
    int argc;
    char **argv;
    int at;
    bool help;
    struct err *e;
};

// --- what a row allows ---

// The i-th of "a|b|c"; what has capitals ("URL|DIR") describes.
static bool written_choice(const char *value, size_t i, char *out, size_t out_size)
{
    if (value == NULL || strchr(value, '|') == NULL || strpbrk(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != NULL)
        return false;
    for (; i != 0; i--) {
        const char *bar = strchr(value, '|');
        if (bar == NULL)
            return false;
        value = bar + 1;
    }
    snprintf(out, out_size, "%.*s", (int)strcspn(value, "|"), value);
    return true;
}

bool option_choice(const struct option *o, size_t i, char *out, size_t out_size)
{
    if (o->choice == NULL)
        return written_choice(o->value, i, out, out_size);
    const char *name = o->choice(i);
    if (name != NULL)
        snprintf(out, out_size, "%s", name);
    return name != NULL;
}

static enum err_code check_choice(struct parser *p, const struct option *o, const char *value)
{
    char one[64], all[512] = "";
    size_t i = 0, len = 0;
    for (; option_choice(o, i, one, sizeof one); i++) {
        if (strcmp(one, value) == 0)
            return ERR_OK;
        len += (size_t)snprintf(all + len, sizeof all - len, "%s%s", i == 0 ? "" : ", ", one);
        len = len < sizeof all ? len : sizeof all - 1;
    }
    return i == 0 ? ERR_OK : err_set(p->e, ERR_INVALID, "--%s takes one of: %s", o->name, all);
}

char *option_usage(const struct option *o, char *out, size_t out_size)
{
    char letter[8] = "";
    if (o->letter != 0)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(out, out_size, "%s--%s%s%s", letter, o->name, o->value != NULL ? " " : "",
             o->value != NULL ? o->value : "");
    return out;
}

// --- parsing ---

static struct option_values *values_of(const struct parser *p, const struct option *o)
{
    return (struct option_values *)(void *)((char *)p->values + o->offset);
}

static enum err_code add(struct parser *p, const struct option *o, const char *value)
{
    struct option_values *v = values_of(p, o);
    if (v->count == COUNT_OF(v->items))
        return err_set(p->e, ERR_INVALID, "--%s is given more than %zu times", o->name, COUNT_OF(v->items));
    v->items[v->count++] = value;
    return o->value != NULL ? check_choice(p, o, value) : ERR_OK;
}

// value NULL = the switch stands alone. "=false" takes back what came before.
static enum err_code add_switch(struct parser *p, const struct option *o, const char *value)
{
    if (value != NULL && strcmp(value, "false") == 0) {
        values_of(p, o)->count = 0;
        return ERR_OK;
    }
    if (value != NULL && strcmp(value, "true") != 0)
        return err_set(p->e, ERR_INVALID, "--%s takes no value, or true or false", o->name);
    return add(p, o, "true");
}

static enum err_code add_next(struct parser *p, const struct option *o)
{
    if (p->at + 1 >= p->argc)
        return err_set(p->e, ERR_INVALID, "--%s needs a value: --%s %s", o->name, o->name, o->value);
    return add(p, o, p->argv[++p->at]);
}

static const struct option *find(const struct option_table *t, const char *name, size_t len)
{
    for (size_t i = 0; i < t->count; i++)
        if (strlen(t->rows[i].name) == len && memcmp(t->rows[i].name, name, len) == 0)
            return &t->rows[i];
    return NULL;
}

static enum err_code unknown(const struct parser *p, const char *name, size_t len)
{
    const char *names[64] = {"help"};
    char given[128];
    size_t n = 1;
    for (; n <= p->table->count && n < COUNT_OF(names); n++)
        names[n] = p->table->rows[n - 1].name;
    snprintf(given, sizeof given, "%.*s", (int)len, name);
    const char *near = text_suggest(given, names, n);
    if (near != NULL)
        return err_set(p->e, ERR_INVALID, "unknown option --%s, did you mean --%s?", given, near);
    return err_set(p->e, ERR_INVALID, "unknown option --%s", given);
}

// The option at argv[at]; moves `at` over a value that stands by itself.
static enum err_code parse_name(struct parser *p)
{
    const char *name = p->argv[p->at] + 2;
    size_t len = strcspn(name, "=");
    const struct option *o = find(p->table, name, len);
    p->help = strcmp(name, "help") == 0;
    if (p->help)
        return ERR_OK;
    if (o == NULL)
        return unknown(p, name, len);
    if (o->value == NULL)
        return add_switch(p, o, name[len] == '=' ? name + len + 1 : NULL);
    return name[len] == '=' ? add(p, o, name + len + 1) : add_next(p, o);
}

static const struct option *find_letter(const struct option_table *t, char letter)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].letter == letter)
            return &t->rows[i];
    return NULL;
}

static enum err_code parse_letter(struct parser *p)
{
    const char *text = p->argv[p->at];
    const struct option *o = find_letter(p->table, text[1]);
    p->help = strcmp(text, "-h") == 0;
    if (p->help)
        return ERR_OK;
    if (o == NULL)
        return err_set(p->e, ERR_INVALID, "unknown option -%c; a file whose name begins with - is written ./-NAME",
                       text[1]);
    if (o->value == NULL && text[2] != '\0')
        return err_set(p->e, ERR_INVALID, "-%c takes no value: options of one letter stand alone", text[1]);
    if (o->value == NULL)
        return add_switch(p, o, NULL);
    return text[2] != '\0' ? add(p, o, text + 2) : add_next(p, o);
}

enum err_code options_parse(const struct option_table *table, void *values, int argc, char **argv, int *rest_out,
                            bool *help_out, struct err *e)
{
    struct parser p = {.table = table, .values = values, .argc = argc, .argv = argv, .e = e};
    bool only_rest = false;
    *help_out = false;
    *rest_out = 0;
    for (; p.at < argc && !p.help; p.at++) {
        char *text = argv[p.at];
        enum err_code rc = ERR_OK;
        if (!only_rest && strcmp(text, "--") == 0)
            only_rest = true;
        else if (only_rest || text[0] != '-' || text[1] == '\0')
            argv[(*rest_out)++] = text;
        else
            rc = text[1] == '-' ? parse_name(&p) : parse_letter(&p);
        if (rc != ERR_OK)
            return rc;
    }
    *help_out = p.help;
    return ERR_OK;
}
