// SPDX-License-Identifier: Apache-2.0
#include "pipeline/manual.h"

#include <string.h>

const struct command *command_find(const struct program *p, const char *name)
{
    for (const struct command *const *c = p->commands; *c != NULL; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

// --- for a terminal ---

void manual_print_overview(const struct program *p, FILE *out)
{
    fprintf(out, "profrelay " PROFRELAY_VERSION ": collects profiles and brings them to where they are read.\n\n"
                 "usage: profrelay [COMMAND] [OPTIONS]\n\n");
    for (const struct command *const *c = p->commands; *c != NULL; c++)
        fprintf(out, "  %-14s%-28s%s\n", (*c)->name, (*c)->arguments, (*c)->help);
    fprintf(out, "\n  --version     --help        profrelay COMMAND --help tells a command's options\n"
                 "\nOTLP profiles layout: 1.10/1.11 (v1development). Documentation: docs/ of the source.\n");
}

// The choices that the usage line does not name.
static void print_choices(const struct option *o, const char *before, FILE *out)
{
    char name[64];
    for (size_t i = 0; o->choice != NULL && option_choice(o, i, name, sizeof name); i++)
        fprintf(out, "%s%s", i == 0 ? before : ", ", name);
}

static void print_option(const struct option *o, FILE *out)
{
    char left[96];
    fprintf(out, "  %-30s %s", option_usage(o, left, sizeof left), o->help);
    print_choices(o, "; one of ", out);
    fputc('\n', out);
}

void manual_print_command(const struct command *c, FILE *out)
{
    fprintf(out, "usage: profrelay %s %s%s\n\n%s\n\n", c->name, c->arguments, c->options.count != 0 ? " [OPTIONS]" : "",
            c->help);
    if (c->text != NULL)
        fprintf(out, "%s\n\n", c->text);
    for (size_t i = 0; i < c->options.count; i++)
        print_option(&c->options.rows[i], out);
    fprintf(out, "  %-30s %s\n", "-h, --help", "this text");
    for (const struct command_example *x = c->examples; x != NULL && x->line != NULL; x++)
        fprintf(out, "%s  %s\n      %s\n", x == c->examples ? "\nexamples:\n" : "", x->line, x->what);
}

// --- as a page of the manual ---

static void roff_text(const char *text, FILE *out)
{
    for (bool line_start = true; *text != '\0'; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        line_start = *text == '\n';
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
    }
}

static void roff_line(const char *macro, const char *text, FILE *out)
{
    fputs(macro, out);
    roff_text(text, out);
    fputc('\n', out);
}

static void roff_paragraphs(const char *text, FILE *out)
{
    for (const char *end; (end = strstr(text, "\n\n")) != NULL; text = end + 2) {
        char one[2048];
        snprintf(one, sizeof one, "%.*s", (int)(end - text), text);
        roff_line(".PP\n", one, out);
    }
    roff_line(".PP\n", text, out);
}

static void roff_option(const struct option *o, FILE *out)
{
    char left[96];
    fprintf(out, ".TP\n.B ");
    roff_text(option_usage(o, left, sizeof left), out);
    fputc('\n', out);
    roff_text(o->help, out);
    print_choices(o, "; one of ", out);
    fputc('\n', out);
}

static void roff_command(const struct command *c, FILE *out)
{
    fprintf(out, ".SS ");
    roff_text(c->name, out);
    fprintf(out, "\n.B profrelay ");
    roff_text(c->name, out);
    fputc(' ', out);
    roff_text(c->arguments, out);
    fputs(c->options.count != 0 ? " [OPTIONS]" : "", out);
    roff_line("\n.PP\n", c->help, out);
    if (c->text != NULL)
        roff_paragraphs(c->text, out);
    for (size_t i = 0; i < c->options.count; i++)
        roff_option(&c->options.rows[i], out);
    for (const struct command_example *x = c->examples; x != NULL && x->line != NULL; x++) {
        roff_line(".PP\n", x->what, out);
        roff_line(".PP\n.RS\n.EX\n", x->line, out);
        fprintf(out, ".EE\n.RE\n");
    }
}

static const char roff_begin[] =
    ".\\\" SPDX-License-Identifier: Apache-2.0\n"
    ".TH PROFRELAY 1 \"\" \"profrelay " PROFRELAY_VERSION "\" \"User Commands\"\n"
    ".SH NAME\nprofrelay \\- collects profiles and brings them to where they are read\n"
    ".SH SYNOPSIS\n.B profrelay\n.RI [ COMMAND ]\n.RI [ OPTIONS ]\n"
    ".SH DESCRIPTION\n"
    "Without a command it runs as a service, configured like the OpenTelemetry Collector. The other commands send,\n"
    "convert and show profiles that lie on disk. A file named\n.B \\-\nis the standard input or output; files may be\n"
    "compressed with gzip or zstd. Each command has\n.BR \\-\\-help .\n"
    ".SH COMMANDS\n";

static const char roff_end[] =
    ".SH EXIT STATUS\n.TP\n.B 0\nall was done\n.TP\n.B 1\nit failed, or a part of it\n.TP\n.B 2\nwrong usage\n"
    ".SH ENVIRONMENT\n.TP\n"
    ".B OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME\n"
    "and their forms with PROFILES: what import uses where no option says more.\n";

void manual_print_roff(const struct program *p, FILE *out)
{
    fputs(roff_begin, out);
    for (const struct command *const *c = p->commands; *c != NULL; c++)
        roff_command(*c, out);
    fputs(roff_end, out);
}
