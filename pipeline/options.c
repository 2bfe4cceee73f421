// SPDX-License-Identifier: Apache-2.0
#include "pipeline/options.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

static enum err_code add(const struct option *o, const char *value, struct err *e)
{
    struct option_values *v = o->values;
    if (v->count == COUNT_OF(v->items))
        return err_set(e, ERR_INVALID, "--%s is given more than %zu times", o->name, COUNT_OF(v->items));
    v->items[v->count++] = value;
    return ERR_OK;
}

// value NULL = the switch stands alone. "=false" takes back what came before.
static enum err_code add_switch(const struct option *o, const char *value, struct err *e)
{
    if (value != NULL && strcmp(value, "false") == 0) {
        o->values->count = 0;
        return ERR_OK;
    }
    if (value != NULL && strcmp(value, "true") != 0)
        return err_set(e, ERR_INVALID, "--%s takes no value, or true or false", o->name);
    return add(o, "true", e);
}

static const struct option *find(const struct option *options, size_t count, const char *name, size_t len)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(options[i].name) == len && memcmp(options[i].name, name, len) == 0)
            return &options[i];
    return NULL;
}

static enum err_code unknown(const struct option *options, size_t count, const char *name, size_t len, struct err *e)
{
    const char *names[64];
    char given[128];
    size_t n = 0;
    for (; n < count && n < COUNT_OF(names); n++)
        names[n] = options[n].name;
    snprintf(given, sizeof given, "%.*s", (int)len, name);
    const char *near = text_suggest(given, names, n);
    if (near != NULL)
        return err_set(e, ERR_INVALID, "unknown option --%s, did you mean --%s?", given, near);
    return err_set(e, ERR_INVALID, "unknown option --%s", given);
}

// The option at argv[*i]; moves *i over a value that stands by itself.
static enum err_code parse_one(const struct option *options, size_t count, int argc, char **argv, int *i, struct err *e)
{
    const char *name = argv[*i] + 2;
    size_t len = strcspn(name, "=");
    const struct option *o = find(options, count, name, len);
    if (o == NULL)
        return unknown(options, count, name, len, e);
    if (o->value == NULL)
        return add_switch(o, name[len] == '=' ? name + len + 1 : NULL, e);
    if (name[len] == '=')
        return add(o, name + len + 1, e);
    if (*i + 1 >= argc)
        return err_set(e, ERR_INVALID, "--%s needs a value: --%s %s", o->name, o->name, o->value);
    *i += 1;
    return add(o, argv[*i], e);
}

enum err_code options_parse(const struct option *options, size_t count, int argc, char **argv, int *rest_out,
                            struct err *e)
{
    bool only_rest = false;
    *rest_out = 0;
    for (int i = 0; i < argc; i++) {
        if (!only_rest && strcmp(argv[i], "--") == 0) {
            only_rest = true;
        } else if (only_rest || strncmp(argv[i], "--", 2) != 0) {
            argv[(*rest_out)++] = argv[i];
        } else {
            enum err_code rc = parse_one(options, count, argc, argv, &i, e);
            if (rc != ERR_OK)
                return rc;
        }
    }
    return ERR_OK;
}

void options_print(const struct option *options, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", options[i].name, options[i].value != NULL ? " " : "",
                 options[i].value != NULL ? options[i].value : "");
        printf("  %-30s %s\n", left, options[i].help);
    }
}
