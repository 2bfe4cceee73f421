// SPDX-License-Identifier: Apache-2.0
// A detection by itself: settings from YAML, an environment and a root of the test's own.
#ifndef TESTS_UNIT_DETECT_FIXTURE_H
#define TESTS_UNIT_DETECT_FIXTURE_H

// cmocka.h wants these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "detect/detection.h"
#include "tests/support/fake_env.h"
#include "tests/support/test_folder.h"

#include <stdio.h>
#include <stdlib.h>

static const struct field test_fields[] = {DETECT_FIELDS(0), {.name = NULL}};

static void test_check(const void *settings, const struct component_check *check)
{
    detect_settings_check(settings, check);
}

static const struct module test_module = {
    .type = "detect", .settings_size = sizeof(struct detect_settings), .fields = test_fields, .check = test_check};

struct variable {
    const char *name, *value;
};

struct detecting {
    struct fake_env env;
    struct component owner;
    struct test_folder root;
    const struct variable *variables; // ended by one without a name
    struct detection *detection;
    bool stopped;
};

static const char *test_variable(void *arg, const char *name)
{
    const struct variable *v = ((struct detecting *)arg)->variables;
    while (v != NULL && v->name != NULL && strcmp(v->name, name) != 0)
        v++;
    return v != NULL ? v->value : NULL;
}

// %s in yaml is the root. Not started yet.
static inline void detecting_create(struct detecting *d, const char *yaml, const struct variable *variables)
{
    void *settings;
    char text[4096];
    snprintf(text, sizeof text, yaml, d->root.path);
    char *messages = fake_settings(&d->env, KIND_PROCESSOR, &test_module, text, &settings);
    assert_string_equal(messages, "");
    free(messages);
    d->variables = variables;
    d->owner = (struct component){.kind = "processor",
                                  .id = "detect",
                                  .log = {d->env.log, "processor", "detect"},
                                  .loop = &d->env.loop,
                                  .env = &d->env.env};
    d->detection = detection_create(&d->owner, settings, &(struct detect_environment){test_variable, d});
}

static inline void detecting_init(struct detecting *d)
{
    *d = (struct detecting){.stopped = false};
    fake_env_init(&d->env, 1);
    test_folder_init(&d->root);
}

static void test_stopped(void *arg)
{
    ((struct detecting *)arg)->stopped = true;
}

static bool test_has_stopped(void *arg)
{
    return ((struct detecting *)arg)->stopped;
}

static inline void detecting_end(struct detecting *d)
{
    d->stopped = false;
    detection_stop(d->detection, test_stopped, d);
    fake_env_run_until(&d->env, test_has_stopped, d);
    detection_destroy(&d->detection);
}

static inline void detecting_fini(struct detecting *d)
{
    test_folder_fini(&d->root);
    fake_env_fini(&d->env);
}

static bool test_is_ready(void *arg)
{
    return detection_ready(((struct detecting *)arg)->detection, NULL) != ERR_UNAVAILABLE;
}

static inline void detecting_wait(struct detecting *d)
{
    fake_env_run_until(&d->env, test_is_ready, d);
}

// What is known, as JSON; free() it.
static inline char *detecting_text(struct detecting *d)
{
    struct detected *found = detection_current(d->detection);
    struct buf out;
    size_t len;
    buf_init(&out, 1 << 20);
    const struct value v = {.kind = VALUE_KVLIST, .count = found->count, .entries = found->list};
    value_print(&out, &v);
    buf_add_byte(&out, '\0');
    detected_unref(&found);
    return (char *)buf_take(&out, &len);
}

static inline void assert_known(struct detecting *d, const char *expected)
{
    char *text = detecting_text(d);
    assert_string_equal(text, expected);
    free(text);
}

// From the beginning to the end.
static inline void assert_found(struct detecting *d, const char *yaml, const struct variable *variables,
                                const char *expected)
{
    detecting_create(d, yaml, variables);
    detection_start(d->detection);
    detecting_wait(d);
    assert_known(d, expected);
    detecting_end(d);
}

static inline void assert_logged(struct detecting *d, const char *part)
{
    if (strstr(fake_env_log(&d->env), part) == NULL)
        fail_msg("not in the log: %s\n%s", part, fake_env_log(&d->env));
}

#endif
