// SPDX-License-Identifier: Apache-2.0
// The commands around a configuration: run, validate, print-config, components.
#include "base/text.h"
#include "config/load.h"
#include "pipeline/main.h"
#include "pipeline/resolve.h"
#include "pipeline/service.h"

#include <stdio.h>
#include <string.h>

struct config_options {
    struct option_values configs, sets, feature_gates, mode, no_resolve;
};

// Everything a configuration command works on.
struct loaded {
    struct config config;
    struct config_errors errors;
    struct plan plan;
    bool planned;
};

static bool load(const struct config_options *o, struct loaded *l)
{
    config_errors_init(&l->errors);
    l->planned = false;
    const struct config_arguments arguments = {o->configs.items, o->configs.count, o->sets.items, o->sets.count};
    if (o->configs.count == 0)
        config_error(&l->errors, (struct config_position){0},
                     "at least one config flag must be provided: profrelay --config FILE");
    return o->configs.count != 0 && config_load(&l->config, &arguments, &l->errors);
}

static bool load_and_plan(const struct program *p, const struct config_options *o, struct loaded *l)
{
    if (!load(o, l))
        return false;
    l->planned = true;
    return plan_make(&l->plan, p->modules, l->config.root, &l->errors);
}

static void unload(const struct config_options *o, struct loaded *l)
{
    if (l->planned)
        plan_fini(&l->plan);
    if (o->configs.count != 0)
        config_fini(&l->config);
    config_errors_fini(&l->errors);
}

static int run(const struct command_line *line)
{
    const struct config_options *o = line->options;
    struct loaded l;
    int code = EXIT_FAILED;
    bool good = load_and_plan(line->program, o, &l);
    config_errors_print(&l.errors, stderr);
    if (good) {
        const struct service_options options = {
            .plan = &l.plan,
            .metrics_page = line->program->metrics_page,
            .feature_gates = option_last(&o->feature_gates),
            .handle_signals = true,
        };
        code = service_run(&options);
    }
    unload(o, &l);
    return code;
}

static int run_validate(const struct command_line *line)
{
    const struct config_options *o = line->options;
    struct loaded l;
    bool good = load_and_plan(line->program, o, &l);
    if (l.planned && o->no_resolve.count == 0)
        resolve_hosts(&l.plan);
    good = good && l.errors.error_count == 0;
    config_errors_print(&l.errors, stderr);
    if (good)
        printf("the configuration is good: %s\n", TEXT_COUNT(l.plan.pipeline_count, "pipeline"));
    unload(line->options, &l);
    return good ? EXIT_OK : EXIT_FAILED;
}

static int run_print_config(const struct command_line *line)
{
    const struct config_options *o = line->options;
    struct loaded l;
    const char *mode = option_last(&o->mode);
    bool good = load(o, &l);
    config_errors_print(&l.errors, stderr);
    if (good)
        config_print(l.config.root, mode == NULL || strcmp(mode, "unredacted") != 0, stdout);
    unload(o, &l);
    return good ? EXIT_OK : EXIT_FAILED;
}

// --- components ---

struct components_options {
    struct option_values markdown;
};

// The same text that config.example.yaml and the reference pages are held against.
static void print_module(enum component_kind kind, const struct module *m, bool markdown)
{
    printf(markdown ? "### %s `%s`\n\n%s" : "%s %s: %s", kind_names[kind], m->type, m->help);
    for (const char *const *a = m->aliases; a != NULL && *a != NULL; a++)
        printf("%s%s", a == m->aliases ? " Also: " : ", ", *a);
    printf(markdown ? "\n\n" : "\n");
    (markdown ? fields_print_markdown(m->fields, stdout) : fields_print_yaml(m->fields, 2, stdout));
    if (kind_common_fields(kind) != NULL && !markdown)
        fields_print_yaml(kind_common_fields(kind), 2, stdout);
    printf("\n");
}

static void print_service(bool markdown)
{
    printf(markdown ? "### `service`\n\n" : "service: Pipelines, and the program itself.\n");
    (markdown ? fields_print_markdown(service_fields, stdout) : fields_print_yaml(service_fields, 2, stdout));
    printf("\n");
}

// Those of that type, or all; false if there is none.
static bool print_modules(const struct module_tables *modules, const char *type, bool markdown)
{
    bool found = type == NULL;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        for (size_t i = 0; i < modules->kinds[kind].count; i++) {
            const struct module *m = modules->kinds[kind].items[i];
            if (type != NULL && module_find(&modules->kinds[kind], type) != m)
                continue;
            found = true;
            print_module((enum component_kind)kind, m, markdown);
        }
    }
    return found;
}

static int run_components(const struct command_line *line)
{
    const struct components_options *o = line->options;
    const char *type = line->argument_count != 0 ? line->arguments[0] : NULL;
    bool markdown = o->markdown.count != 0;
    if (type == NULL)
        print_service(markdown);
    if (print_modules(line->program->modules, type, markdown))
        return EXIT_OK;
    struct err e;
    err_set(&e, ERR_INVALID, "there is no \"%s\"; without a type all are listed", type);
    return command_fail(line, EXIT_USAGE, &e);
}

static const char *module_name(const struct program *p, size_t i)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        if (i < p->modules->kinds[kind].count)
            return p->modules->kinds[kind].items[i]->type;
        i -= p->modules->kinds[kind].count;
    }
    return NULL;
}

// --- what they are called ---

#define CONFIG_OPTIONS                                                                                                 \
    {.name = "config",                                                                                                 \
     .letter = 'c',                                                                                                    \
     .files = true,                                                                                                    \
     .value = "FILE",                                                                                                  \
     .help = "a path, file:PATH, env:NAME or yaml:a::b: VALUE; may be repeated, later ones win",                       \
     .offset = offsetof(struct config_options, configs)},                                                              \
        {.name = "set",                                                                                                \
         .value = "A.B.C=VALUE",                                                                                       \
         .help = "one value on top of every --config; may be repeated",                                                \
         .offset = offsetof(struct config_options, sets)},                                                             \
    {                                                                                                                  \
        .name = "feature-gates", .value = "LIST", .help = "accepted, so that start commands of the Collector work",    \
        .offset = offsetof(struct config_options, feature_gates)                                                       \
    }

static const struct option config_rows[] = {CONFIG_OPTIONS};
static const struct option validate_rows[] = {
    CONFIG_OPTIONS,
    {.name = "no-resolve",
     .help = "do not ask for the addresses of the hosts that are named",
     .offset = offsetof(struct config_options, no_resolve)},
};
static const struct option print_config_rows[] = {
    CONFIG_OPTIONS,
    {.name = "mode",
     .value = "redacted|unredacted",
     .help = "whether secrets are shown; default redacted",
     .offset = offsetof(struct config_options, mode)},
};
static const struct option components_rows[] = {
    {.name = "markdown",
     .help = "as tables for the documentation",
     .offset = offsetof(struct components_options, markdown)},
};

static const struct command_example run_examples[] = {
    {"profrelay --config profrelay.yaml", "the word run may be left out"},
    {"profrelay run -c base.yaml -c site.yaml --set service.telemetry.logs.level=debug", "several, merged"},
    {NULL, NULL},
};

const struct command run_command = {
    .name = "run",
    .arguments = "--config FILE",
    .help = "collect profiles until a signal comes (also without the word run)",
    .options = OPTION_TABLE(config_rows),
    .options_size = sizeof(struct config_options),
    .examples = run_examples,
    .run = run,
};

const struct command validate_command = {
    .name = "validate",
    .arguments = "--config FILE",
    .help = "say everything that is wrong with a configuration",
    .options = OPTION_TABLE(validate_rows),
    .options_size = sizeof(struct config_options),
    .run = run_validate,
};

const struct command print_config_command = {
    .name = "print-config",
    .arguments = "--config FILE",
    .help = "the configuration after merging and ${...}, secrets hidden",
    .options = OPTION_TABLE(print_config_rows),
    .options_size = sizeof(struct config_options),
    .run = run_print_config,
};

const struct command components_command = {
    .name = "components",
    .arguments = "[TYPE]",
    .help = "what there is to configure, with every key",
    .options = OPTION_TABLE(components_rows),
    .options_size = sizeof(struct components_options),
    .max_arguments = 1,
    .word = module_name,
    .run = run_components,
};
