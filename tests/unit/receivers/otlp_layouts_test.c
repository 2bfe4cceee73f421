// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "receivers/otlp_layouts.h"
#include "receivers/receivers.h"
#include "tests/support/fake_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- settings ---

static void settings_that_do_not_fit(void **state)
{
    (void)state;
    static const struct {
        const char *layouts, *message; // "" = good
    } cases[] = {
        {"{}", ""},
        {"{on_old: reject}", ""},
        {"{accept: [current, \"1.9\"], on_old: reject}", ""},
        {"{accept: [\"1.10\"], on_old: reject}", ""},
        {"{accept: [\"1.9\", \"1.4\"]}", ""},
        {"{accept: [\"1.6\"]}", "layouts.accept: \"1.6\" is no layout"},
        {"{accept: [auto]}", "layouts.accept: \"auto\" is no layout"},
        {"{accept: [\"1.9\", \"1.8\"], on_old: reject}", "layouts.on_old: reject leaves nothing"},
    };
    struct fake_env env;
    fake_env_init(&env, 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        void *settings;
        char yaml[256];
        snprintf(yaml, sizeof yaml, "{protocols: {grpc: {}}, layouts: %s}", cases[i].layouts);
        char *text = fake_settings(&env, KIND_RECEIVER, &otlp_receiver.module, yaml, &settings);
        if (cases[i].message[0] == '\0' ? text[0] != '\0' : strstr(text, cases[i].message) == NULL)
            fail_msg("%s: \"%s\"", yaml, text);
        free(text);
    }
    fake_env_fini(&env);
}

// --- senders ---

struct world {
    struct fake_env env;
    struct component component;
    struct otlp_senders *senders;
};

static void init(struct world *w)
{
    fake_env_init(&w->env, 1);
    w->component = (struct component){.id = "otlp", .log = {w->env.log, "receiver", "otlp"}, .env = &w->env.env};
    w->senders = otlp_senders_create(&w->component);
}

static void fini(struct world *w)
{
    otlp_senders_destroy(&w->senders);
    fake_env_fini(&w->env);
}

static void note(struct world *w, int sender, enum otlp_layout layout)
{
    char address[32];
    const struct otlp_layout_finding found = {layout, "because"};
    snprintf(address, sizeof address, "10.0.0.%d", sender);
    otlp_senders_note(w->senders, address, &found);
}

static unsigned lines_with(struct world *w, const char *words)
{
    unsigned n = 0;
    for (const char *at = fake_env_log(&w->env); (at = strstr(at, words)) != NULL; at++)
        n++;
    return n;
}

// More than a table with one place for each hash could hold apart.
static void each_sender_is_told_once(void **state)
{
    (void)state;
    enum { SENDERS = 100, ROUNDS = 3 };
    struct world w;
    init(&w);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < SENDERS; i++)
            note(&w, i, OTLP_LAYOUT_1_9);
    assert_int_equal(lines_with(&w, "sends the layout 1.9 of OTLP profiles (because)"), SENDERS);
    fini(&w);
}

static void changes_are_told(void **state)
{
    (void)state;
    static const enum otlp_layout sent[] = {OTLP_LAYOUT_CURRENT, OTLP_LAYOUT_CURRENT, OTLP_LAYOUT_1_8,
                                            OTLP_LAYOUT_1_8,     OTLP_LAYOUT_AUTO,    OTLP_LAYOUT_1_9,
                                            OTLP_LAYOUT_CURRENT};
    struct world w;
    init(&w);
    for (size_t i = 0; i < COUNT_OF(sent); i++)
        note(&w, 1, sent[i]);
    assert_int_equal(lines_with(&w, "10.0.0.1 sends"), 3);
    assert_int_equal(lines_with(&w, "10.0.0.1 sends the layout 1.8"), 1);
    assert_int_equal(lines_with(&w, "10.0.0.1 sends the layout 1.9"), 1);
    assert_int_equal(lines_with(&w, "10.0.0.1 sends the current layout of OTLP profiles now, no longer 1.9"), 1);
    fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_that_do_not_fit),
        cmocka_unit_test(each_sender_is_told_once),
        cmocka_unit_test(changes_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
