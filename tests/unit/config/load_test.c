// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"
#include "config_testing.h"

#include <unistd.h>

enum { ARGUMENTS_MAX = 6 };

static char folder[64];

static const char *path_of(const char *name)
{
    static char paths[8][128];
    static size_t next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(path_of(name), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/profrelay-config-XXXXXX");
    return mkdtemp(folder) ? chdir(folder) : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"one.yaml",   "two.yaml", "token",   "list.yaml",
                                        "empty.yaml", "big.yaml", "bad.yaml"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unlink(path_of(names[i]));
    return chdir("/") || rmdir(folder);
}

struct loaded {
    struct config config;
    struct config_errors errors;
    bool ok;
};

static size_t count_texts(const char *const *texts)
{
    size_t n = 0;
    while (n < ARGUMENTS_MAX && texts[n])
        n++;
    return n;
}

static struct loaded load(const char *const *configs, const char *const *sets)
{
    struct loaded l = {0};
    struct config_arguments arguments = {configs, count_texts(configs), sets, count_texts(sets)};
    config_errors_init(&l.errors);
    l.ok = config_load(&l.config, &arguments, &l.errors);
    assert_true(l.ok == (l.errors.error_count == 0));
    return l;
}

static void release(struct loaded *l)
{
    // Messages outlive the tree.
    config_fini(&l->config);
    free(messages_text(&l->errors));
    config_errors_fini(&l->errors);
}

static void merges_all_sources(void **state)
{
    (void)state;
    write_file("one.yaml", "a: {b: 1, c: [1, 2]}\nprocessors: {x: }\nk: ${env:PROFRELAY_TEST_A}\n");
    write_file("two.yaml", "a: {c: [3]}\nprocessors:\n");
    write_file("empty.yaml", "# nothing\n");
    write_file("token", "s3cret\n");
    setenv("PROFRELAY_TEST_A", "from env", 1);
    setenv("PROFRELAY_TEST_YAML", "e: {f: 2}\n", 1);
    static const struct {
        const char *configs[ARGUMENTS_MAX], *sets[ARGUMENTS_MAX], *tree;
    } cases[] = {
        {{"one.yaml"}, {0}, "a:\n  b: 1\n  c:\n    - 1\n    - 2\nprocessors:\n  x: null\nk: from env\n"},
        {{"file:one.yaml", "two.yaml"}, {0}, "a:\n  b: 1\n  c:\n    - 3\nprocessors: null\nk: from env\n"},
        {{"two.yaml", "empty.yaml"}, {0}, "a:\n  c:\n    - 3\nprocessors: null\n"},
        {{"empty.yaml"}, {0}, "{}\n"},
        {{"env:PROFRELAY_TEST_YAML"}, {0}, "e:\n  f: 2\n"},
        {{"yaml:a::b: 2s"}, {0}, "a:\n  b: 2s\n"},
        {{"yaml:{a::b: 1, a::c: 2, d: 3}"}, {0}, "a:\n  b: 1\n  c: 2\nd: 3\n"},
        {{"yaml:a: {x::y: 1}"}, {0}, "a:\n  x::y: 1\n"},
        {{"empty.yaml"},
         {"a.b=1", "a.c = [x, y]", " d =", "e==f"},
         "a:\n  b: 1\n  c:\n    - x\n    - y\nd: null\ne: =f\n"},
        {{"two.yaml"}, {"a.c=5", "k=${file:token}"}, "a:\n  c: 5\nprocessors: null\nk: s3cret\n"},
        {{"yaml:u: ${file:token}"}, {"v=x:${PROFRELAY_TEST_A}"}, "u: s3cret\nv: x:from env\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct loaded l = load(cases[i].configs, cases[i].sets);
        assert_messages(&l.errors, "");
        assert_tree(l.config.root, cases[i].tree);
        release(&l);
    }
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    write_file("list.yaml", "- 1\n");
    write_file("bad.yaml", "a: 1\na: 2\nb: ${1}\n");
    unsetenv("PROFRELAY_TEST_UNSET");
    static const struct {
        const char *configs[ARGUMENTS_MAX], *sets[ARGUMENTS_MAX], *messages;
    } cases[] = {
        {{0}, {0}, "at least one config flag must be provided: --config FILE\n"},
        {{"nope.yaml"}, {0}, "nope.yaml: cannot open: No such file or directory\n"},
        {{"file:/nope/x"}, {0}, "/nope/x: cannot open: No such file or directory\n"},
        {{"/tmp"}, {0}, "/tmp: cannot read: Is a directory\n"},
        {{"list.yaml"}, {0}, "list.yaml:1:1: expected a map of keys at the top, found a list\n"},
        {{"yaml:word"}, {0}, "yaml:word:1:1: expected a map of keys at the top, found text\n"},
        {{"env:PROFRELAY_TEST_UNSET"}, {0}, "env:PROFRELAY_TEST_UNSET: the environment variable is not set\n"},
        {{"env:a b"}, {0}, "env:a b: this cannot name an environment variable\n"},
        {{"http://x/y"}, {0}, "--config: http: is not read: fetch it with curl and pass the file\n"},
        {{"https://x/y"}, {0}, "--config: https: is not read: fetch it with curl and pass the file\n"},
        {{"s3://bucket"}, {0}, "--config: unsupported scheme on URI \"s3://bucket\"; known are file, env and yaml\n"},
        {{"yaml:a: 1"}, {"b"}, "--set: missing equal sign in \"b\", write --set a.b.c=value\n"},
        {{"yaml:a: 1"}, {"a..b=1"}, "--set a..b: the path has an empty key\n"},
        {{"yaml:a: 1"}, {"=1"}, "--set : the path has an empty key\n"},
        {{"yaml:a: 1"},
         {"b=["},
         "--set b:2:1: not YAML: did not find expected node content, while parsing a flow node that begins in line "
         "2\n"},
        {{"yaml:a::::b: 1"}, {0}, "yaml:a::::b::1:1: the path has an empty key\n"},
        {{"bad.yaml", "nope.yaml"},
         {"x"},
         "bad.yaml:2:1: the key \"a\" is given twice, first at bad.yaml:1:1\n"
         "bad.yaml:3:4: \"1\" cannot name an environment variable; write $${ for a literal ${\n"
         "nope.yaml: cannot open: No such file or directory\n"
         "--set: missing equal sign in \"x\", write --set a.b.c=value\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct loaded l = load(cases[i].configs, cases[i].sets);
        assert_messages(&l.errors, cases[i].messages);
        release(&l);
    }
}

static void warns_about_unset_variables(void **state)
{
    (void)state;
    unsetenv("PROFRELAY_TEST_UNSET");
    struct loaded l = load((const char *const[]){"yaml:a: ${PROFRELAY_TEST_UNSET}", NULL}, (const char *const[]){NULL});
    assert_true(l.ok);
    assert_messages(&l.errors, "yaml:a::1:4: warning: Configuration references unset environment variable "
                               "\"PROFRELAY_TEST_UNSET\": the value is empty\n");
    assert_tree(l.config.root, "a: null\n");
    release(&l);
}

static void bounds_the_file(void **state)
{
    (void)state;
    FILE *f = fopen(path_of("big.yaml"), "w");
    for (int i = 0; i <= LIMIT_CONFIG_BYTES; i++)
        fputc('#', f);
    fclose(f);
    struct loaded l = load((const char *const[]){"big.yaml", NULL}, (const char *const[]){NULL});
    assert_messages(&l.errors, "big.yaml: larger than 4194304 bytes\n");
    release(&l);
}

static void bounds_the_path_of_a_set(void **state)
{
    (void)state;
    char set[] = "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a=1";
    struct loaded l = load((const char *const[]){"yaml:a: 1", NULL}, (const char *const[]){set, NULL});
    assert_int_equal(l.errors.error_count, 1);
    assert_non_null(strstr(l.errors.items[0].text, "the path has more than 32 keys"));
    release(&l);
}

static char *print_text_of(const char *yaml, bool redact)
{
    struct arena arena;
    struct config_errors errors;
    arena_init(&arena, 0);
    config_errors_init(&errors);
    struct config_node *root = config_parse_yaml(&arena, bytes_from_text(yaml), "p", &errors);
    assert_non_null(root);
    char *text = tree_text(root, redact);
    arena_fini(&arena);
    config_errors_fini(&errors);
    return text;
}

#define TEN_KEYS "key-key-key-key-key-key-key-key-key-key-"
#define LONG_KEY TEN_KEYS TEN_KEYS TEN_KEYS TEN_KEYS

static void prints_what_reads_back(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "a: \"x: y\"\n",     "a: \" lead\"\n",
        "a: \"trail \"\n",   "a: \"x #y\"\n",
        "a: x#y\n",          "a: \"- x\"\n",
        "a: \"#x\"\n",       "a: \"&x\"\n",
        "a: \"true\"\n",     "a: \"null\"\n",
        "a: \"12\"\n",       "a: \"1.5\"\n",
        "a: \"0123\"\n",     "a: 12\n",
        "a: true\n",         "a: \"l\\n\\tm\\x01\\\"\\\\\"\n",
        "a: \"\xc3\xa9\"\n", "a: http://x:1/y?z\n",
        "\"1\": a\n",        "\"a: b\": c\n",
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *text = print_text_of(cases[i], false);
        assert_string_equal(text, cases[i]);
        free(text);
    }
    char *once = print_text_of("a: [[], [[1, 2], {x: {y: z}}], {b: [c], d: {}}]", false);
    char *twice = print_text_of(once, false);
    assert_string_equal(once, twice);
    assert_string_equal(once,
                        "a:\n  - []\n  -\n    -\n      - 1\n      - 2\n    - x:\n        y: z\n  - b:\n      - c\n"
                        "    d: {}\n");
    free(once);
    free(twice);
}

static void hides_secrets(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *text;
    } cases[] = {
        {"token: abc", "token: \"[REDACTED]\"\n"},
        {"token: ''", "token: \"[REDACTED]\"\n"},
        {"token:", "token: null\n"},
        {"tokens: [a, b]", "tokens:\n  - \"[REDACTED]\"\n  - \"[REDACTED]\"\n"},
        {"headers: {Dataset: x, n: 5}", "headers:\n  Dataset: \"[REDACTED]\"\n  n: \"[REDACTED]\"\n"},
        {"headers: {name: x, key: y}", "headers:\n  name: \"[REDACTED]\"\n  key: \"[REDACTED]\"\n"},
        {"extensions: {bearertokenauth: {filename: f, header: h, token: t}}",
         "extensions:\n  bearertokenauth:\n    filename: f\n    header: h\n    token: \"[REDACTED]\"\n"},
        {"extensions: {headers_setter: {headers: [{key: k, action: insert, value: v}]}}",
         "extensions:\n  headers_setter:\n    headers:\n      - key: k\n        action: insert\n"
         "        value: \"[REDACTED]\"\n"},
        {"headers: [{name: a, value: b}]", "headers:\n  - name: a\n    value: \"[REDACTED]\"\n"},
        {"password_file: /x", "password_file: /x\n"},
        {"endpoint: https://u:p@host:1/x", "endpoint: https://u:[REDACTED]@host:1/x\n"},
        {"endpoint: https://u:p@host:1/x?key=k", "endpoint: https://u:[REDACTED]@host:1/x?[REDACTED]\n"},
        {"endpoint: https://host:1/x?a=?b", "endpoint: https://host:1/x?[REDACTED]\n"},
        {"endpoint: https://host:1/x?", "endpoint: https://host:1/x?\n"},
        {"match: /(?P<a>b)://c", "match: /(?P<a>b)://c\n"},
        {"endpoint: https://u@host:1/x@y", "endpoint: https://u@host:1/x@y\n"},
        {"endpoint: https://host:1/a:b@c", "endpoint: https://host:1/a:b@c\n"},
        {"client_auth: {username: u, password: p}", "client_auth:\n  username: u\n  password: \"[REDACTED]\"\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *text = print_text_of(cases[i].yaml, true);
        assert_string_equal(text, cases[i].text);
        free(text);
    }
    struct config_node raw = {.kind = CONFIG_SCALAR, .text = "a\xff", .quoted = true};
    struct config_entry entry = {"k", {0}, &raw};
    struct config_node map = {.kind = CONFIG_MAP, .entries = &entry, .count = 1};
    char *repaired = tree_text(&map, true);
    assert_string_equal(repaired, "k: \"a\xef\xbf\xbd\"\n");
    free(repaired);
    char *open = print_text_of("token: abc", false);
    assert_string_equal(open, "token: abc\n");
    free(open);
    write_file("token", "s3cret\n");
    struct loaded l = load((const char *const[]){"yaml:a: ${file:token}", NULL}, (const char *const[]){NULL});
    char *text = tree_text(l.config.root, true);
    assert_string_equal(text, "a: \"[REDACTED]\"\n");
    free(text);
    release(&l);
    text = tree_text(NULL, true);
    assert_string_equal(text, "{}\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_all_sources),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(warns_about_unset_variables),
        cmocka_unit_test(bounds_the_file),
        cmocka_unit_test(bounds_the_path_of_a_set),
        cmocka_unit_test(prints_what_reads_back),
        cmocka_unit_test(hides_secrets),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
