// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"
#include "config/internal.h"
#include "config_testing.h"

struct parsed {
    struct arena arena;
    struct config_errors errors;
    struct config_node *root;
};

static struct parsed parse(const char *text)
{
    struct parsed p = {0};
    arena_init(&p.arena, 0);
    config_errors_init(&p.errors);
    p.root = config_parse_yaml(&p.arena, bytes_from_text(text), "f.yaml", &p.errors);
    return p;
}

static void release(struct parsed *p)
{
    arena_fini(&p->arena);
    config_errors_fini(&p->errors);
}

static void reads_what_yaml_says(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *tree;
    } cases[] = {
        {"a: 1\nb: [x, 'y']\nc:\n  d: null\n", "a: 1\nb:\n  - x\n  - y\nc:\n  d: null\n"},
        {"a: {b: {c: d}}", "a:\n  b:\n    c: d\n"},
        {"a: ~\nb:\nc: ''\nd: {}\ne: []", "a: null\nb: null\nc: \"\"\nd: {}\ne: []\n"},
        {"a: '1'\nb: \"true\"\nc: !!str 5\nd: !!int 5", "a: \"1\"\nb: \"true\"\nc: \"5\"\nd: 5\n"},
        {"a: &x {k: v}\nb: *x", "a:\n  k: v\nb:\n  k: v\n"},
        {"a: &x [1, &y 2]\nb: [*y, *x]", "a:\n  - 1\n  - 2\nb:\n  - 2\n  -\n    - 1\n    - 2\n"},
        {"a: &x 1\nb: &x 2\nc: *x", "a: 1\nb: 2\nc: 2\n"},
        // Own keys win over merged ones, earlier maps over later ones.
        {"x: &x {k: 1, l: 2}\ny: &y {l: 3, m: 4}\nz:\n  k: 0\n  <<: [*x, *y]\n",
         "x:\n  k: 1\n  l: 2\ny:\n  l: 3\n  m: 4\nz:\n  k: 0\n  l: 2\n  m: 4\n"},
        {"x: &x {k: 1}\nz: {<<: *x, k: 2}", "x:\n  k: 1\nz:\n  k: 2\n"},
        {"z: {'<<': 1}", "z:\n  \"<<\": 1\n"},
        {"a: |\n  two\n  lines\n", "a: \"two\\nlines\\n\"\n"},
        {"l:\n- a: 1\n  b: 2\n- []\n- - 3\n", "l:\n  - a: 1\n    b: 2\n  - []\n  -\n    - 3\n"},
        {"\xef\xbb\xbf"
         "a: 1",
         "a: 1\n"},
        {"---\na: 1\n...\n", "a: 1\n"},
        {"", "{}\n"},
        {"# nothing\n", "{}\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct parsed p = parse(cases[i].yaml);
        assert_messages(&p.errors, "");
        assert_non_null(p.root);
        assert_tree(p.root, cases[i].tree);
        release(&p);
    }
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *messages;
    } cases[] = {
        {"a: 1\nb: 2\na: 3\n", "f.yaml:3:1: the key \"a\" is given twice, first at f.yaml:1:1\n"},
        {"m:\n  x: {k: 1, k: 2, k: 3}", "f.yaml:2:13: the key \"k\" is given twice, first at f.yaml:2:7\n"
                                        "f.yaml:2:19: the key \"k\" is given twice, first at f.yaml:2:7\n"},
        {"a: 1\n---\nb: 2\n", "f.yaml:2:1: a second YAML document begins here; only one is read\n"},
        {"a: !secret x\nb: !!binary aGk=\n",
         "f.yaml:1:4: the tag \"!secret\" is not known here, remove it\n"
         "f.yaml:2:4: the tag \"tag:yaml.org,2002:binary\" is not known here, remove it\n"},
        {"a: !!set {b: 1}", "f.yaml:1:4: the tag \"tag:yaml.org,2002:set\" is not known here, remove it\n"},
        {"a: *nope\n", "f.yaml:1:4: the alias *nope has no anchor &nope before it\n"},
        {"a: &a [*a]\n", "f.yaml:1:8: the alias *a has no anchor &a before it\n"},
        {"a: {<<: 1}\n", "f.yaml:1:9: << takes a map or a list of maps\n"},
        {"? [a]\n: 1\n", "f.yaml:1:3: a key must be text\n"},
        {"{? : 1}", "f.yaml:1:4: a key is missing before the colon\n"},
        {"a: \"x\\0y\"\n", "f.yaml:1:4: the text holds a NUL character\n"},
        {"\"x\\0y\": 1\n", "f.yaml:1:1: the key holds a NUL character\n"},
        {"a:\n\tb: 1\n", "f.yaml:2:1: not YAML: the line is indented with a tab; use spaces\n"},
        {"a: [1, 2\nb: 3", "f.yaml:2:2: not YAML: did not find expected ',' or ']', while parsing a flow sequence that "
                           "begins in line 1\n"},
        {"a: b: c", "f.yaml:1:5: not YAML: mapping values are not allowed in this context\n"},
        {"a: \x01", "f.yaml: not YAML: control characters are not allowed at byte 3\n"},
        {"a: \xff", "f.yaml: not YAML: invalid leading UTF-8 octet at byte 3\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct parsed p = parse(cases[i].yaml);
        assert_messages(&p.errors, cases[i].messages);
        assert_null(p.root);
        release(&p);
    }
}

static void knows_where_things_stand(void **state)
{
    (void)state;
    struct parsed p = parse("a:\n  bc:  value\n  l: [1,\n      {x: y}]\n");
    struct config_node *a = config_get(p.root, "a");
    assert_int_equal(a->entries[0].key_at.line, 2);
    assert_int_equal(a->entries[0].key_at.column, 3);
    struct config_node *value = config_get_path(p.root, "a::bc");
    assert_string_equal(value->text, "value");
    assert_int_equal(value->at.line, 2);
    assert_int_equal(value->at.column, 8);
    assert_string_equal(value->at.source, "f.yaml");
    struct config_node *y = config_get(config_get(a, "l")->items[1], "x");
    assert_int_equal(y->at.line, 4);
    assert_int_equal(y->at.column, 11);
    release(&p);
}

static void gets_only_what_is_there(void **state)
{
    (void)state;
    struct parsed p = parse("ab:\n  c: {d: 1}\nl: [1]\n");
    assert_null(config_get(NULL, "a"));
    assert_null(config_get(p.root, "a"));
    assert_null(config_get(p.root, "abc"));
    assert_null(config_get(config_get(p.root, "l"), "1"));
    assert_non_null(config_get_path(p.root, "ab::c::d"));
    assert_null(config_get_path(p.root, "ab::c::d::e"));
    assert_null(config_get_path(p.root, "ab::x"));
    assert_null(config_get_path(p.root, "ab::"));
    assert_null(config_get_path(NULL, "ab"));
    release(&p);
}

static void bounds_depth(void **state)
{
    (void)state;
    char text[3 * LIMIT_CONFIG_DEPTH + 8] = "";
    for (int depth = LIMIT_CONFIG_DEPTH; depth <= LIMIT_CONFIG_DEPTH + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        text[2 * depth] = '\0';
        // The innermost list is at depth - 1.
        struct parsed p = parse(text);
        assert_non_null(p.root);
        release(&p);
    }
    memset(text, '[', LIMIT_CONFIG_DEPTH + 2);
    text[LIMIT_CONFIG_DEPTH + 2] = '\0';
    struct parsed p = parse(text);
    assert_null(p.root);
    assert_messages(&p.errors, "f.yaml:1:66: nested more than 64 levels deep\n");
    release(&p);
}

static void bounds_depth_of_aliases(void **state)
{
    (void)state;
    char text[1024] = "a: &a ";
    size_t len = strlen(text);
    for (int i = 0; i < 40; i++)
        text[len++] = '[';
    for (int i = 0; i < 40; i++)
        text[len++] = ']';
    len += (size_t)snprintf(text + len, sizeof text - len, "\nb: ");
    for (int i = 0; i < 40; i++)
        text[len++] = '[';
    len += (size_t)snprintf(text + len, sizeof text - len, "*a");
    for (int i = 0; i < 40; i++)
        text[len++] = ']';
    struct parsed p = parse(text);
    assert_null(p.root);
    assert_int_equal(p.errors.error_count, 1);
    release(&p);
}

static void bounds_aliases_of_aliases(void **state)
{
    (void)state;
    char text[2048];
    size_t len = (size_t)snprintf(text, sizeof text, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 12; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s*a%d", j ? "," : "", i - 1);
        len += (size_t)snprintf(text + len, sizeof text - len, "]\n");
    }
    struct parsed p = parse(text);
    assert_null(p.root);
    assert_int_equal(p.errors.error_count, 1);
    assert_non_null(strstr(p.errors.items[0].text, "more than 200000 values, each use of an alias counted"));
    release(&p);
}

static void bounds_bytes(void **state)
{
    (void)state;
    size_t len = LIMIT_CONFIG_BYTES + 1;
    char *text = malloc(len + 1);
    memset(text, '#', len);
    text[len] = '\0';
    struct parsed p = parse(text);
    assert_null(p.root);
    assert_messages(&p.errors, "f.yaml: 4194305 bytes, allowed are 4194304\n");
    release(&p);
    text[len - 1] = '\0';
    p = parse(text);
    assert_non_null(p.root);
    release(&p);
    free(text);
}

static void truncated_text_never_harms(void **state)
{
    (void)state;
    static const char text[] =
        "a: &x {k: 'v', l: [1, \"\\u00e9\"]}\nb:\n  <<: *x\n  c: |\n    t\n  d: !!str 5\n  ? e\n  : f\n";
    for (size_t len = 0; len <= sizeof text - 1; len++) {
        struct arena arena;
        struct config_errors errors;
        uint8_t *copy = malloc(len ? len : 1);
        memcpy(copy, text, len);
        arena_init(&arena, 0);
        config_errors_init(&errors);
        struct config_node *root = config_parse_yaml(&arena, (struct bytes){copy, len}, "t", &errors);
        assert_true((root != NULL) == (errors.error_count == 0));
        config_errors_fini(&errors);
        arena_fini(&arena);
        free(copy);
    }
}

static void merges_as_the_collector_does(void **state)
{
    (void)state;
    static const struct {
        const char *base, *later, *tree;
    } cases[] = {
        {"a: {b: 1, c: 2}", "a: {c: 3, d: 4}", "a:\n  b: 1\n  c: 3\n  d: 4\n"},
        {"a: [1, 2]", "a: [3]", "a:\n  - 3\n"},
        {"processors: {x: 1}", "processors:", "processors: null\n"},
        {"processors: {x: 1}", "processors: {}", "processors:\n  x: 1\n"},
        {"a: 1", "a: {b: 2}", "a:\n  b: 2\n"},
        {"a: {b: 2}", "a: 1", "a: 1\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct parsed base = parse(cases[i].base), later = parse(cases[i].later);
        assert_tree(config_merge(&base.arena, base.root, later.root), cases[i].tree);
        release(&base);
        release(&later);
    }
}

static void reads_plain_scalars(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_int;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-5", true, -5},
        {"+5", true, 5},
        {"0x1F", true, 31},
        {"-0x10", true, -16},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"0x8000000000000000", false, 0},
        {"0123", false, 0},
        {"1_000", false, 0},
        {"0x", false, 0},
        {"0x-1", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"1.0", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t value;
        assert_int_equal(config_scalar_int(cases[i].text, &value), cases[i].is_int);
        if (cases[i].is_int)
            assert_true(value == cases[i].value);
    }
    double number;
    static const char *const numbers[] = {"0", "1.5", "-.5", "1e3", "2.", "+1.25e-3"};
    static const char *const others[] = {"", ".", "inf", "nan", "0x1p3", "1.2.3", "e5", "--1", "1e", "0123", "1-2"};
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        assert_true(config_scalar_double(numbers[i], &number));
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(config_scalar_double(others[i], &number));
    assert_true(config_scalar_double("1.5", &number) && number == 1.5);
}

static void knows_special_names(void **state)
{
    (void)state;
    static const char *const secret[] = {"token",   "password",  "API_TOKEN", "headers", "Authorization",
                                         "api_key", "x-api-key", "key_pem",   "secret"};
    static const char *const open[] = {"endpoint", "password_file", "key_file", "name", ""};
    for (size_t i = 0; i < COUNT_OF(secret); i++)
        assert_true(config_key_is_secret(secret[i]));
    for (size_t i = 0; i < COUNT_OF(open); i++)
        assert_false(config_key_is_secret(open[i]));
    assert_true(config_env_name_valid("_A1"));
    assert_false(config_env_name_valid("1A"));
    assert_false(config_env_name_valid("A-B"));
    assert_false(config_env_name_valid(""));
    assert_int_equal(config_scheme_length("file:x"), 4);
    assert_int_equal(config_scheme_length("c:\\x"), 0);
    assert_int_equal(config_scheme_length("/a:b"), 0);
    assert_int_equal(config_scheme_length("./a:b"), 0);
    assert_int_equal(config_scheme_length("plain.yaml"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_yaml_says),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(knows_where_things_stand),
        cmocka_unit_test(gets_only_what_is_there),
        cmocka_unit_test(bounds_depth),
        cmocka_unit_test(bounds_depth_of_aliases),
        cmocka_unit_test(bounds_aliases_of_aliases),
        cmocka_unit_test(bounds_bytes),
        cmocka_unit_test(truncated_text_never_harms),
        cmocka_unit_test(merges_as_the_collector_does),
        cmocka_unit_test(reads_plain_scalars),
        cmocka_unit_test(knows_special_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
