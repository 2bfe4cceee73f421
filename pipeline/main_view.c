// SPDX-License-Identifier: Apache-2.0
// The commands that show profiles to a person: top, flamegraph, diff, show.
#include "pipeline/main_view.h"

#include "base/text.h"
#include "view/sample_types.h"

#include <string.h>
#include <strings.h>

enum { DEFAULT_ROWS = 30, MAX_NODES = 100000000 };

// --- begin and end ---

static enum err_code compile(struct view *v, const char *option, const struct option_values *values, struct regex **out)
{
    const char *pattern = option_last(values);
    if (pattern == NULL)
        return ERR_OK;
    enum err_code rc = regex_compile(bytes_from_text(pattern), out, &v->e);
    if (rc != ERR_OK)
        err_prefix(&v->e, "--%s", option);
    return rc;
}

static enum err_code parse_rows(struct view *v)
{
    const char *rows = option_last(&v->o->rows);
    v->rows = DEFAULT_ROWS;
    if (rows != NULL && (!int64_parse(rows, &v->rows) || v->rows < 0 || v->rows > UINT32_MAX))
        return err_set(&v->e, ERR_INVALID, "--rows is a number of rows, 0 for all");
    return ERR_OK;
}

static bool is_called(const char *path, const char *extension)
{
    const size_t len = strlen(path), n = strlen(extension);
    return len >= n && strcasecmp(path + len - n, extension) == 0;
}

static enum err_code check_output(struct view *v)
{
    const char *output = option_last(&v->o->output);
    if (output == NULL || v->o->to.count != 0 || strcmp(output, "-") == 0 || is_called(output, ".html") ||
        is_called(output, ".htm") || is_called(output, ".svg"))
        return ERR_OK;
    return err_set(&v->e, ERR_INVALID, "%s: a flame graph is .html or .svg; call it so, or give --to html or --to svg",
                   output);
}

static enum err_code read_options(struct view *v)
{
    enum err_code rc = compile(v, "focus", &v->o->focus, &v->focus);
    if (rc == ERR_OK)
        rc = compile(v, "ignore", &v->o->ignore, &v->ignore);
    if (rc == ERR_OK)
        rc = compile(v, "own", &v->o->own, &v->own);
    if (rc == ERR_OK)
        rc = parse_rows(v);
    if (rc == ERR_OK)
        rc = check_output(v);
    v->bad_usage = rc != ERR_OK;
    v->tree_options = (struct call_tree_options){
        .sample_type = bytes_from_text(option_last(&v->o->type)),
        .focus = v->focus,
        .ignore = v->ignore,
        .own = v->own,
        .max_nodes = MAX_NODES,
    };
    return rc;
}

static enum err_code open_view(struct view *v)
{
    const char *type = option_last(&v->o->type);
    struct value_type chosen;
    enum err_code rc = read_options(v);
    v->count = v->line->argument_count;
    for (int i = 0; rc == ERR_OK && i < v->count; i++) {
        rc = input_read(v->line, v->line->arguments[i], &v->o->input, &v->batches[i], &v->reports[i], &v->e);
        if (rc == ERR_OK && type != NULL &&
            sample_type_choose(v->batches[i], bytes_from_text(type), &chosen, &v->e) != ERR_OK) {
            err_prefix(&v->e, "%s", v->line->arguments[i]);
            rc = v->e.code;
        }
    }
    return rc;
}

static void close_view(struct view *v)
{
    for (int i = 0; i < v->count; i++)
        batch_unref(&v->batches[i]);
    regex_destroy(&v->focus);
    regex_destroy(&v->ignore);
    regex_destroy(&v->own);
}

static int run_view(const struct command_line *line, enum err_code (*show)(struct view *v))
{
    struct view v = {.line = line, .o = line->options};
    enum err_code rc = open_view(&v);
    if (rc == ERR_OK)
        rc = show(&v);
    close_view(&v);
    return rc == ERR_OK ? EXIT_OK : command_fail(line, v.bad_usage ? EXIT_USAGE : EXIT_FAILED, &v.e);
}

// --- the commands ---

static int run_top(const struct command_line *line)
{
    return run_view(line, view_show_table);
}

static int run_flamegraph(const struct command_line *line)
{
    const struct view_options *o = line->options;
    const struct err e = {ERR_INVALID, "where to? give -o OUT.html or -o OUT.svg"};
    return o->output.count != 0 ? run_view(line, view_show_flames) : command_fail(line, EXIT_USAGE, &e);
}

static int run_diff(const struct command_line *line)
{
    const struct err e = {ERR_INVALID, "the standard input can be one of the two only"};
    bool twice = strcmp(line->arguments[0], "-") == 0 && strcmp(line->arguments[1], "-") == 0;
    return twice ? command_fail(line, EXIT_USAGE, &e) : run_view(line, view_show_diff);
}

static int run_layout(const struct command_line *line)
{
    struct view v = {.line = line, .o = line->options};
    enum err_code rc = open_view(&v);
    if (rc == ERR_OK || v.reports[0].layout.layout != OTLP_LAYOUT_AUTO) {
        enum err_code shown = view_show_layout(&v);
        rc = rc == ERR_OK ? shown : rc;
    }
    close_view(&v);
    return rc == ERR_OK ? EXIT_OK : command_fail(line, v.bad_usage ? EXIT_USAGE : EXIT_FAILED, &v.e);
}

static int run_show(const struct command_line *line)
{
    const struct view_options *o = line->options;
    if (o->layout.count != 0)
        return run_layout(line);
    return run_view(line, view_show_dump);
}

#define AT(member) offsetof(struct view_options, member)
#define TYPE_OPTION                                                                                                    \
    {.name = "type", .value = "TYPE", .help = "sample type, such as cpu; default: the file's own", .offset = AT(type)}
#define FOCUS_OPTIONS                                                                                                  \
    {.name = "focus", .value = "RE", .help = "only samples with such a function in the stack", .offset = AT(focus)},   \
    {                                                                                                                  \
        .name = "ignore", .value = "RE", .help = "no samples with such a function in the stack", .offset = AT(ignore)  \
    }
#define TABLE_OPTIONS                                                                                                  \
    {.name = "rows", .letter = 'n', .value = "N", .help = "at most so many; 0 = all; default 30", .offset = AT(rows)}, \
    {                                                                                                                  \
        .name = "raw", .help = "tab-separated whole numbers: self, total, function", .offset = AT(raw)                 \
    }
#define PAGE_OPTIONS                                                                                                   \
    {.name = "output",                                                                                                 \
     .letter = 'o',                                                                                                    \
     .files = true,                                                                                                    \
     .value = "OUT",                                                                                                   \
     .help = "the page, .html or .svg; - = standard output",                                                           \
     .offset = AT(output)},                                                                                            \
        {.name = "to", .value = "html|svg", .help = "whatever OUT is called", .offset = AT(to)},                       \
        {.name = "own",                                                                                                \
         .value = "RE",                                                                                                \
         .help = "functions, files or modules that are your own code",                                                 \
         .offset = AT(own)},                                                                                           \
    {                                                                                                                  \
        .name = "title", .value = "TEXT", .help = "above the graph; default: the name of the file",                    \
        .offset = AT(title)                                                                                            \
    }

static const struct option top_options[] = {
    TYPE_OPTION,   {.name = "by", .value = "self|total", .help = "what to sort by; default self", .offset = AT(by)},
    FOCUS_OPTIONS, TABLE_OPTIONS,
    INPUT_OPTIONS,
};
static const struct option flamegraph_options[] = {
    PAGE_OPTIONS,
    TYPE_OPTION,
    FOCUS_OPTIONS,
    INPUT_OPTIONS,
};
static const struct option diff_options[] = {
    TYPE_OPTION,
    {.name = "by", .value = "change|self|total", .help = "what to sort by; default change", .offset = AT(by)},
    FOCUS_OPTIONS,
    TABLE_OPTIONS,
    PAGE_OPTIONS,
    INPUT_OPTIONS,
};
static const struct option show_options[] = {
    {.name = "layout", .help = "OTLP: only which release's layout it has, and what says so", .offset = AT(layout)},
    INPUT_OPTIONS,
};

static const struct command_example top_examples[] = {
    {"profrelay top cpu.pb.gz", "the functions that take most of the time themselves"},
    {"profrelay top heap.pb.gz --type alloc_space --by total --focus 'json'", "who allocates under JSON functions"},
    {NULL, NULL},
};
static const struct command_example flamegraph_examples[] = {
    {"profrelay flamegraph cpu.pb.gz -o cpu.html", "one page that needs no network"},
    {"perf script | profrelay flamegraph - -o cpu.svg", "a still picture"},
    {NULL, NULL},
};
static const struct command_example diff_examples[] = {
    {"profrelay diff before.pb.gz after.pb.gz", "what became worse, what better"},
    {"profrelay diff before.pb.gz after.pb.gz -o diff.html", "and as a flame graph coloured by it"},
    {NULL, NULL},
};

static const struct command_example show_examples[] = {
    {"profrelay show cpu.pb.gz | less", "what is in it"},
    {"profrelay show --layout request.otlp", "which release of OTLP profiles it was written for"},
    {NULL, NULL},
};

const struct command top_command = {
    .name = "top",
    .arguments = "FILE",
    .help = "the functions that take the most",
    .options = OPTION_TABLE(top_options),
    .options_size = sizeof(struct view_options),
    .examples = top_examples,
    .min_arguments = 1,
    .max_arguments = 1,
    .files = true,
    .run = run_top,
};

const struct command flamegraph_command = {
    .name = "flamegraph",
    .arguments = "FILE -o OUT.html|OUT.svg",
    .help = "a flame graph in one file",
    .text = "The page shows every sample type of the file, the chosen one first; an .svg shows that one.",
    .options = OPTION_TABLE(flamegraph_options),
    .options_size = sizeof(struct view_options),
    .examples = flamegraph_examples,
    .min_arguments = 1,
    .max_arguments = 1,
    .files = true,
    .run = run_flamegraph,
};

const struct command diff_command = {
    .name = "diff",
    .arguments = "BEFORE AFTER [-o OUT.html]",
    .help = "what changed between two files",
    .options = OPTION_TABLE(diff_options),
    .options_size = sizeof(struct view_options),
    .examples = diff_examples,
    .min_arguments = 2,
    .max_arguments = 2,
    .files = true,
    .run = run_diff,
};

const struct command show_command = {
    .name = "show",
    .arguments = "FILE",
    .help = "everything a file says, as text",
    .options = OPTION_TABLE(show_options),
    .options_size = sizeof(struct view_options),
    .examples = show_examples,
    .min_arguments = 1,
    .max_arguments = 1,
    .files = true,
    .run = run_show,
};
