// SPDX-License-Identifier: Apache-2.0
// The rows for people: commented YAML, a Markdown table.
#include "config/fields_internal.h"

enum { PATH_MAX_BYTES = 512 };

const char *field_type_name(enum field_type type)
{
    static const char *const names[] = {
        [FIELD_BOOL] = "bool",
        [FIELD_INT] = "integer",
        [FIELD_DOUBLE] = "number",
        [FIELD_DURATION] = "duration",
        [FIELD_SIZE] = "size",
        [FIELD_STRING] = "string",
        [FIELD_SECRET] = "secret",
        [FIELD_ENUM] = "one of",
        [FIELD_STRING_LIST] = "list of strings",
        [FIELD_STRING_MAP] = "map of strings",
        [FIELD_ATTRIBUTES] = "map of values",
        [FIELD_ANY] = "value",
        [FIELD_STRUCT] = "map",
        [FIELD_STRUCT_LIST] = "list of maps",
        [FIELD_IGNORED] = "ignored",
    };
    return names[type];
}

static void print_type(const struct field *f, const char *separator, FILE *out)
{
    fputs(field_type_name(f->type), out);
    for (size_t i = 0; f->type == FIELD_ENUM && f->names[i]; i++)
        fprintf(out, "%s%s", i ? separator : " ", *f->names[i] ? f->names[i] : "\"\"");
}

static void print_range(const struct field *f, FILE *out)
{
    char min[48], max[48];
    field_print_number(f, f->min, min, sizeof min);
    field_print_number(f, f->max, max, sizeof max);
    if (f->max >= f->min)
        fprintf(out, "%s to %s", min, max);
    else
        fprintf(out, "%s or more", min);
}

// "# type, range, unit; help"
static void print_comment(const struct field *f, FILE *out)
{
    fputs(" # ", out);
    print_type(f, "|", out);
    if (f->unit)
        fprintf(out, ", %s", f->unit);
    if (field_has_range(f)) {
        fputs(", ", out);
        print_range(f, out);
    }
    if (f->required)
        fputs(", required", out);
    fprintf(out, "%s%s\n", f->help ? "; " : "", f->help ? f->help : "");
}

// lead is "# " inside of a table that is off unless its key is given.
static void print_rows(const struct field *fields, int indent, const char *lead, FILE *out)
{
    for (const struct field *f = fields; f->name; f++) {
        if (f->type == FIELD_IGNORED)
            continue;
        bool optional = f->type == FIELD_STRUCT_LIST || f->present_offset;
        const char *own_lead = f->present_offset ? "# " : lead;
        fprintf(out, "%s%*s%s:", own_lead, indent, "", f->name);
        if (f->type == FIELD_STRUCT_LIST)
            fputs(" []", out);
        else if (f->default_text && f->type != FIELD_STRUCT)
            fprintf(out, " %s", *f->default_text ? f->default_text : "\"\"");
        print_comment(f, out);
        if (f->type == FIELD_STRUCT || f->type == FIELD_STRUCT_LIST)
            print_rows(f->fields, indent + 2 + 2 * (f->type == FIELD_STRUCT_LIST), optional ? "# " : lead, out);
    }
}

void fields_print_yaml(const struct field *fields, int indent, FILE *out)
{
    print_rows(fields, indent, "", out);
}

static void walk(const struct field *fields, const char *path,
                 void (*visit)(void *arg, const char *path, const struct field *f), void *arg)
{
    for (const struct field *f = fields; f->name; f++) {
        char own[PATH_MAX_BYTES];
        snprintf(own, sizeof own, "%s%s%s", path, *path ? "." : "", f->name);
        visit(arg, own, f);
        if (f->type == FIELD_STRUCT || f->type == FIELD_STRUCT_LIST)
            walk(f->fields, own, visit, arg);
    }
}

void fields_walk(const struct field *fields, void (*visit)(void *arg, const char *path, const struct field *f),
                 void *arg)
{
    walk(fields, "", visit, arg);
}

// A bar would end the cell.
static void print_cell_text(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '|')
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void print_row(void *arg, const char *path, const struct field *f)
{
    FILE *out = arg;
    if (f->type == FIELD_IGNORED)
        return;
    fprintf(out, "| `%s` | ", path);
    print_type(f, ", ", out);
    fputs(" | ", out);
    if (f->default_text && f->type != FIELD_STRUCT) {
        fputc('`', out);
        print_cell_text(*f->default_text ? f->default_text : "\"\"", out);
        fputc('`', out);
    } else if (f->required)
        fputs("required", out);
    fputs(" | ", out);
    if (field_has_range(f))
        print_range(f, out);
    if (f->unit)
        fprintf(out, "%s%s", field_has_range(f) ? " " : "", f->unit);
    fputs(" | ", out);
    print_cell_text(f->help ? f->help : "", out);
    fputs(" |\n", out);
}

void fields_print_markdown(const struct field *fields, FILE *out)
{
    fputs("| key | type | default | range | meaning |\n|---|---|---|---|---|\n", out);
    fields_walk(fields, print_row, out);
}
