// SPDX-License-Identifier: Apache-2.0
// The commands around a configuration: run, validate, print-config, components.
#include "config/load.h"
#include "pipeline/main.h"
#include "pipeline/options.h"
#include "pipeline/service.h"

#include <stdio.h>
#include <string.h>

struct config_options {
    struct option_values configs, sets, feature_gates, help, mode;
};

// Everything a configuration command works on.
struct loaded {
    struct config config;
    struct config_errors errors;
    struct plan plan;
    bool planned;
};

enum { CONFIG_OPTION_COUNT = 5 };

// --help was asked for, or the usage was wrong: *exit_code_out says which.
static bool parse(const char *command, struct config_options *o, int argc, char **argv, int *exit_code_out)
{
    const struct option options[CONFIG_OPTION_COUNT] = {
        {"config", "FILE", "a path, file:PATH, env:NAME or yaml:a::b: VALUE; may be repeated, later ones win",
         &o->configs},
        {"set", "A.B.C=VALUE", "one value on top of every --config; may be repeated", &o->sets},
        {"feature-gates", "LIST", "accepted, so that start commands of the Collector work", &o->feature_gates},
        {"mode", "redacted|unredacted", "print-config: whether secrets are shown", &o->mode},
        {"help", NULL, "this text", &o->help},
    };
    struct err e = {0};
    int rest;
    if (options_parse(options, CONFIG_OPTION_COUNT, argc, argv, &rest, &e) != ERR_OK || rest != 0) {
        fprintf(stderr, "profrelay %s: %s\n", command, e.code != ERR_OK ? e.text : "takes options only; see --help");
        *exit_code_out = EXIT_USAGE;
        return false;
    }
    if (o->help.count != 0) {
        printf("usage: profrelay %s --config FILE [OPTIONS]\n\n", command);
        options_print(options, CONFIG_OPTION_COUNT);
        *exit_code_out = EXIT_OK;
        return false;
    }
    return true;
}

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

int command_run(const struct program *p, int argc, char **argv)
{
    struct config_options o = {0};
    struct loaded l;
    int code = EXIT_FAILED;
    if (!parse("run", &o, argc, argv, &code))
        return code;
    bool good = load_and_plan(p, &o, &l);
    config_errors_print(&l.errors, stderr);
    if (good) {
        const struct service_options options = {
            .plan = &l.plan,
            .metrics_page = p->metrics_page,
            .feature_gates = option_last(&o.feature_gates),
            .handle_signals = true,
        };
        code = service_run(&options);
    }
    unload(&o, &l);
    return code;
}

int command_validate(const struct program *p, int argc, char **argv)
{
    struct config_options o = {0};
    struct loaded l;
    int code = EXIT_FAILED;
    if (!parse("validate", &o, argc, argv, &code))
        return code;
    bool good = load_and_plan(p, &o, &l);
    config_errors_print(&l.errors, stderr);
    if (good)
        printf("the configuration is good: %zu pipelines\n", l.plan.pipeline_count);
    unload(&o, &l);
    return good ? EXIT_OK : EXIT_FAILED;
}

int command_print_config(const struct program *p, int argc, char **argv)
{
    (void)p;
    struct config_options o = {0};
    struct loaded l;
    int code = EXIT_FAILED;
    if (!parse("print-config", &o, argc, argv, &code))
        return code;
    const char *mode = option_last(&o.mode);
    bool good = load(&o, &l);
    config_errors_print(&l.errors, stderr);
    if (good)
        config_print(l.config.root, mode == NULL || strcmp(mode, "unredacted") != 0, stdout);
    unload(&o, &l);
    return good ? EXIT_OK : EXIT_FAILED;
}

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

int command_components(const struct program *p, int argc, char **argv)
{
    struct option_values markdown = {0}, help = {0};
    const struct option options[] = {
        {"markdown", NULL, "as tables for the documentation", &markdown},
        {"help", NULL, "this text", &help},
    };
    struct err e = {0};
    int rest;
    if (options_parse(options, COUNT_OF(options), argc, argv, &rest, &e) != ERR_OK || rest > 1) {
        fprintf(stderr, "profrelay components: %s\n", e.code != ERR_OK ? e.text : "takes one type at most");
        return EXIT_USAGE;
    }
    if (help.count != 0) {
        printf("usage: profrelay components [TYPE] [--markdown]\n\n");
        options_print(options, COUNT_OF(options));
        return EXIT_OK;
    }
    bool found = rest == 0;
    if (rest == 0) {
        printf(markdown.count != 0 ? "### `service`\n\n" : "service: Pipelines, and the program itself.\n");
        (markdown.count != 0 ? fields_print_markdown(service_fields, stdout)
                             : fields_print_yaml(service_fields, 2, stdout));
        printf("\n");
    }
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        for (size_t i = 0; i < p->modules->kinds[kind].count; i++) {
            const struct module *m = p->modules->kinds[kind].items[i];
            if (rest == 1 && module_find(&p->modules->kinds[kind], argv[0]) != m)
                continue;
            found = true;
            print_module((enum component_kind)kind, m, markdown.count != 0);
        }
    }
    if (!found)
        fprintf(stderr, "profrelay components: there is no \"%s\"; without a type all are listed\n", argv[0]);
    return found ? EXIT_OK : EXIT_USAGE;
}
