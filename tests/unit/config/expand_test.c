// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"
#include "config/internal.h"
#include "config_testing.h"

// Variables and files of the tests; a long variable is made by the test itself.
static const char *fake_env(void *arg, const char *name)
{
    static const char *const variables[][2] = {
        {"HOST", "localhost"},
        {"PORT", "4317"},
        {"EMPTY", ""},
        {"ZEROS", "0123"},
        {"TRUE", "true"},
        {"MAP", "{a: 1, b: [x, '${env:HOST}']}"},
        {"LINES", "a: 1\nb: 2\n"},
        {"QUOTED", "\"5\""},
        {"BROKEN", "[not: yaml"},
        {"STAR", "*x"},
        {"COMMENT", "5 # five"},
        {"WORD_NULL", "null"},
        {"NAME", "HOST"},
        {"INNER", "<${env:HOST}>"},
        {"CHAIN", "${env:PORT}"},
        {"LOOP", "${env:LOOP}"},
        {"LOOP_IN_TEXT", "x${env:LOOP_IN_TEXT}"},
        {"LOOP_IN_MAP", "{a: '${env:LOOP_IN_MAP}', b: '${env:LOOP_IN_MAP}'}"},
        {"DOLLAR", "a$b$$c"},
        {"API_TOKEN", "s3cret"},
        {"UNKNOWN_INSIDE", "${env:NOT_SET}"},
    };
    (void)arg;
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        if (strcmp(variables[i][0], name) == 0)
            return variables[i][1];
    return strcmp(name, "HUGE") == 0 ? arg : NULL;
}

static bool fake_file(void *arg, const char *path, struct buf *text, struct err *e)
{
    (void)arg;
    if (strcmp(path, "/token") == 0)
        buf_add_text(text, "abc\n");
    else if (strcmp(path, "/crlf") == 0)
        buf_add_text(text, "abc\r\n");
    else if (strcmp(path, "/two") == 0)
        buf_add_text(text, "abc\n\n");
    else if (strcmp(path, "/map") == 0)
        buf_add_text(text, "x: 1\ny: ${env:HOST}\n");
    else if (strcmp(path, "/nul") == 0)
        buf_add(text, "a\0b", 3);
    else if (strcmp(path, "/pem") == 0)
        buf_add_text(text, "-----BEGIN-----\nAB: C\n-----END-----\n");
    else {
        err_set(e, ERR_IO, "cannot open: No such file or directory");
        return false;
    }
    return true;
}

struct expanded {
    struct arena arena;
    struct config_errors errors;
    struct config_node *root;
    bool ok;
};

static struct expanded expand_with(const char *yaml, void *arg)
{
    struct expanded x = {0};
    const struct config_sources sources = {fake_env, fake_file, arg};
    arena_init(&x.arena, 0);
    config_errors_init(&x.errors);
    x.root = config_parse_yaml(&x.arena, bytes_from_text(yaml), "f", &x.errors);
    assert_non_null(x.root);
    x.ok = config_expand(x.root, &x.arena, &sources, &x.errors);
    assert_true(x.ok == (x.errors.error_count == 0));
    return x;
}

static void release(struct expanded *x)
{
    arena_fini(&x->arena);
    config_errors_fini(&x->errors);
}

static void replaces_references(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *tree;
    } cases[] = {
        {"k: ${env:HOST}", "k: localhost\n"},
        {"k: ${HOST}", "k: localhost\n"},
        {"k: '${env:HOST}'", "k: localhost\n"},
        {"k: ${env:HOST}:${env:PORT}", "k: localhost:4317\n"},
        {"k: ${env:PORT}", "k: 4317\n"},                    // typed
        {"k: \"${env:PORT}\"", "k: 4317\n"},                // the quotes are the reference's, not the value's
        {"k: ${env:PORT}${env:PORT}", "k: \"43174317\"\n"}, // text
        {"k: x${env:EMPTY}y", "k: xy\n"},
        {"k: ${env:EMPTY}", "k: null\n"},
        {"k: ${env:EMPTY}${env:EMPTY}", "k: \"\"\n"},
        {"k: ${env:NOPE:-fallback}", "k: fallback\n"},
        {"k: ${NOPE:-fallback}", "k: fallback\n"},
        {"k: ${MY_NOPE:-fallback}", "k: fallback\n"},
        {"k: ${env:NOPE:-5}", "k: 5\n"},
        {"k: ${env:NOPE:-}", "k: \"\"\n"},
        {"k: ${env:HOST:-fallback}", "k: localhost\n"},
        {"k: ${env:EMPTY:-fallback}", "k: null\n"}, // set, though empty
        {"k: ${env:NOPE:-http://x:1/}", "k: http://x:1/\n"},
        {"k: ${env:NOPE:-${env:HOST}}", "k: localhost\n"},
        {"k: ${env:${env:NAME}}", "k: localhost\n"},
        {"k: '${env:NOPE:-${env:NOPE2:-[1, 2]}}'", "k:\n  - 1\n  - 2\n"},
        {"k: ${env:CHAIN}", "k: 4317\n"},
        {"k: x${env:INNER}", "k: x<localhost>\n"},
        {"k: ${env:MAP}", "k:\n  a: 1\n  b:\n    - x\n    - localhost\n"},
        {"k: ${env:LINES}", "k:\n  a: 1\n  b: 2\n"},
        {"k: x${env:MAP}", "k: \"x{a: 1, b: [x, 'localhost']}\"\n"},
        {"k: ${env:BROKEN}", "k: \"[not: yaml\"\n"},
        {"k: ${env:STAR}", "k: \"*x\"\n"},
        {"k: ${file:/token}", "k: abc\n"},
        {"k: ${file:/crlf}", "k: abc\n"},
        {"k: Bearer ${file:/token}", "k: Bearer abc\n"},
        {"k: ${file:/map}", "k:\n  x: 1\n  y: localhost\n"},
        {"k: '${yaml:{a: 1}}'", "k: \"{a: 1}\"\n"}, // the first } closes
        {"k: '${yaml:[1, 2]}'", "k:\n  - 1\n  - 2\n"},
        {"k: ${yaml:7}", "k: 7\n"},
        {"k: $$", "k: $\n"},
        {"k: a$$b$c", "k: a$b$c\n"},
        {"k: $1 $ {x} $", "k: $1 $ {x} $\n"},
        {"k: $${env:HOST}", "k: \"$${env:HOST}\"\n"}, // printed so that it reads back
        {"k: $$${env:HOST}", "k: $localhost\n"},
        {"k: ${env:DOLLAR}", "k: a$b$c\n"},
        {"k: ${env:NOPE:-pa$$word}", "k: pa$word\n"},
        {"k: ${env:NOPE:-$${env:HOST}}", "k: \"$${env:HOST}\"\n"},
        {"k: ${env:NOPE:-a$}", "k: a$\n"},
        {"k: [a, \"${env:HOST}\", {b: \"${env:PORT}\"}]", "k:\n  - a\n  - localhost\n  - b: 4317\n"},
        {"${env:HOST}: 1", "${env:HOST}: 1\n"}, // keys are left alone
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct expanded x = expand_with(cases[i].yaml, NULL);
        assert_messages(&x.errors, "");
        assert_tree(x.root, cases[i].tree);
        release(&x);
    }
}

static void keeps_the_text_for_strings(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *original;
        enum config_kind kind;
        bool quoted;
    } cases[] = {
        {"k: ${env:ZEROS}", "0123", CONFIG_SCALAR, false},
        {"k: ${env:TRUE}", "true", CONFIG_SCALAR, false},
        {"k: ${env:QUOTED}", "\"5\"", CONFIG_SCALAR, true},
        {"k: ${env:COMMENT}", "5 # five", CONFIG_SCALAR, false},
        {"k: ${env:WORD_NULL}", "null", CONFIG_NULL, false},
        {"k: ${env:EMPTY}", "", CONFIG_NULL, false},
        {"k: ${env:MAP}", "{a: 1, b: [x, 'localhost']}", CONFIG_MAP, false},
        {"k: ${env:BROKEN}", "[not: yaml", CONFIG_SCALAR, true},
        {"k: ${env:CHAIN}", "4317", CONFIG_SCALAR, false},
        {"k: ${file:/two}", "abc\n", CONFIG_SCALAR, false},
        {"k: ${file:/pem}", "-----BEGIN-----\nAB: C\n-----END-----", CONFIG_SCALAR, true},
        {"k: ${env:NOPE:-$$1}", "$1", CONFIG_SCALAR, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct expanded x = expand_with(cases[i].yaml, NULL);
        const struct config_node *k = config_get(x.root, "k");
        assert_int_equal(k->kind, cases[i].kind);
        assert_string_equal(k->original, cases[i].original);
        assert_int_equal(k->quoted, cases[i].quoted);
        release(&x);
    }
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *messages;
    } cases[] = {
        {"k: 1\nl: ${env:NOPE}",
         "f:2:4: warning: Configuration references unset environment variable \"NOPE\": the value is empty\n"},
        {"l: x${NOPE}",
         "f:1:4: warning: Configuration references unset environment variable \"NOPE\": the value is empty\n"},
        {"l: ${env:UNKNOWN_INSIDE}",
         "f:1:4: warning: Configuration references unset environment variable \"NOT_SET\": the value is empty\n"},
        {"l: ${env:HOST", "f:1:4: a ${ is not closed with }; write $${ for a literal ${\n"},
        {"l: a ${env:X:-${env:HOST}", "f:1:4: a ${ is not closed with }; write $${ for a literal ${\n"},
        {"l: ${1}", "f:1:4: \"1\" cannot name an environment variable; write $${ for a literal ${\n"},
        {"l: ${}", "f:1:4: \"\" cannot name an environment variable; write $${ for a literal ${\n"},
        {"l: ${env:A-B}", "f:1:4: \"A-B\" cannot name an environment variable; write $${ for a literal ${\n"},
        {"l: ${vault:abc}", "f:1:4: unsupported scheme on URI \"vault:...\"; known are env, file and yaml\n"},
        {"l: ${https://x/y}", "f:1:4: ${https:...} is not read: fetch it with curl and use ${file:PATH}\n"},
        {"l: ${file:/nope}", "f:1:4: ${file:/nope}: cannot open: No such file or directory\n"},
        {"l: ${file:/nul}", "f:1:4: ${file:/nul}: the file holds a NUL byte, so it is no text\n"},
        {"l: ${env:LOOP}", "f:1:4: too many recursive expansions (more than 1000): a reference leads to itself\n"},
        {"l: ${env:LOOP_IN_TEXT}",
         "f:1:4: too many recursive expansions (more than 1000): a reference leads to itself\n"},
        {"a: ${1}\nb: ok\nc: ${2}", // all of them
         "f:1:4: \"1\" cannot name an environment variable; write $${ for a literal ${\n"
         "f:3:4: \"2\" cannot name an environment variable; write $${ for a literal ${\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct expanded x = expand_with(cases[i].yaml, NULL);
        assert_messages(&x.errors, cases[i].messages);
        release(&x);
    }
}

static void bounds_recursion_through_maps(void **state)
{
    (void)state;
    struct expanded x = expand_with("l: ${env:LOOP_IN_MAP}", NULL);
    assert_false(x.ok);
    assert_non_null(strstr(x.errors.items[0].text, "too many recursive expansions"));
    release(&x);
}

static void bounds_nested_bodies(void **state)
{
    (void)state;
    enum { LEVELS = 20000 };
    char *text = malloc(2 * LEVELS + 8);
    memcpy(text, "l: ", 4);
    for (size_t i = 0; i < LEVELS; i++)
        memcpy(text + 3 + 2 * i, "${", 3);
    struct expanded x = expand_with(text, NULL);
    assert_messages(&x.errors, "f:1:4: too many recursive expansions (more than 1000): a reference leads to itself\n");
    release(&x);
    free(text);
}

static void bounds_the_bytes_of_values(void **state)
{
    (void)state;
    size_t len = LIMIT_CONFIG_BYTES;
    char *huge = malloc(len + 2);
    memset(huge, 'x', len);
    huge[len] = '\0';
    struct expanded x = expand_with("a: ${env:HUGE}", huge);
    assert_true(x.ok);
    assert_int_equal(strlen(config_get(x.root, "a")->text), len);
    release(&x);
    x = expand_with("a: x${env:HUGE}", huge);
    assert_messages(&x.errors, "f:1:4: the value with its references replaced is larger than 4194304 bytes\n");
    release(&x);
    x = expand_with("[\"${env:HUGE}\", \"${env:HUGE}\", \"${env:HUGE}\", \"${env:HUGE}\", \"${env:HUGE}\"]", huge);
    assert_messages(&x.errors, "f:1:62: ${env:HUGE}: 4194304 bytes, allowed are 4194304 for one value and 16777216 for "
                               "all\n");
    release(&x);
    huge[len] = 'x';
    huge[len + 1] = '\0';
    x = expand_with("a: ${env:HUGE}", huge);
    assert_false(x.ok);
    release(&x);
    free(huge);
}

static void keeps_place_and_origin(void **state)
{
    (void)state;
    struct expanded x = expand_with("q: 1\nk:  ${env:MAP}\nf: ${file:/map}\n", NULL);
    const struct config_node *b = config_get_path(x.root, "k::b");
    assert_int_equal(b->at.line, 2);
    assert_int_equal(b->at.column, 5);
    assert_int_equal(b->items[1]->at.line, 2);
    assert_int_equal(config_get(x.root, "k")->entries[0].key_at.line, 2);
    assert_string_equal(b->origin, "${env:MAP}");
    assert_string_equal(b->items[1]->origin, "${env:MAP}");
    assert_string_equal(config_get_path(x.root, "f::x")->origin, "${file:/map}");
    assert_null(config_get(x.root, "q")->origin);
    release(&x);
}

static void marks_secrets(void **state)
{
    (void)state;
    struct expanded x = expand_with("a: ${file:/token}\nb: x ${env:API_TOKEN}\nc: ${env:HOST}\nd: ${file:/map}\n"
                                    "e: [\"${env:API_TOKEN}\", \"${env:HOST}\"]\nf: plain\n",
                                    NULL);
    assert_true(config_get(x.root, "a")->secret);
    assert_true(config_get(x.root, "b")->secret);
    assert_false(config_get(x.root, "c")->secret);
    assert_false(config_get_path(x.root, "d::x")->secret);
    assert_true(config_get(x.root, "e")->items[0]->secret);
    assert_false(config_get(x.root, "e")->items[1]->secret);
    assert_false(config_get(x.root, "f")->secret);
    release(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replaces_references),    cmocka_unit_test(keeps_the_text_for_strings),
        cmocka_unit_test(says_what_is_wrong),     cmocka_unit_test(bounds_recursion_through_maps),
        cmocka_unit_test(bounds_nested_bodies),   cmocka_unit_test(bounds_the_bytes_of_values),
        cmocka_unit_test(keeps_place_and_origin), cmocka_unit_test(marks_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
