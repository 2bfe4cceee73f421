// SPDX-License-Identifier: Apache-2.0
#include "config/fields.h"

#include "config_testing.h"

struct inner {
    bool insecure;
    const char *ca_file;
};

struct item {
    const char *key;
    int action;
    struct config_any value;
};

struct settings {
    bool enabled;
    int64_t count, timeout_nanos, delay_nanos;
    double ratio;
    uint64_t max_bytes;
    const char *endpoint, *token, *note;
    int encoding;
    struct config_strings include;
    struct config_pairs headers;
    struct config_attributes attributes;
    struct config_any value;
    struct inner tls;
    bool tls_given;
    struct config_structs actions;
};

static const char *const encodings[] = {"proto", "json", "", NULL};
static const char *const actions[] = {"insert", "update", "delete", NULL};

#define AT(member) .offset = offsetof(struct settings, member)

static const struct field inner_fields[] = {
    {.name = "insecure", .type = FIELD_BOOL, .offset = offsetof(struct inner, insecure), .help = "no TLS"},
    {.name = "ca_file", .type = FIELD_STRING, .offset = offsetof(struct inner, ca_file), .required = true},
    {0},
};

static const struct field item_fields[] = {
    {.name = "key", .type = FIELD_STRING, .offset = offsetof(struct item, key), .required = true},
    {.name = "action",
     .type = FIELD_ENUM,
     .offset = offsetof(struct item, action),
     .names = actions,
     .default_text = "update"},
    {.name = "value", .type = FIELD_ANY, .offset = offsetof(struct item, value)},
    {0},
};

static const struct field fields[] = {
    {.name = "enabled", .type = FIELD_BOOL, AT(enabled), .default_text = "true", .help = "on or off"},
    {.name = "count", .type = FIELD_INT, AT(count), .default_text = "10", .min = 1, .max = 1000, .unit = "items"},
    {.name = "ratio", .type = FIELD_DOUBLE, AT(ratio), .default_text = "0.5", .min = 0, .max = 1},
    {.name = "timeout",
     .type = FIELD_DURATION,
     AT(timeout_nanos),
     .default_text = "30s",
     .min = 1e6,
     .max = 3.6e12,
     .help = "how long | to wait"},
    {.name = "delay", .type = FIELD_DURATION, AT(delay_nanos), .default_text = "0s", .min = 1},
    {.name = "max_size", .type = FIELD_SIZE, AT(max_bytes), .default_text = "64MiB", .min = 1024, .max = 1073741824},
    {.name = "endpoint", .type = FIELD_STRING, AT(endpoint), .default_text = "localhost:4318"},
    {.name = "url", .type = FIELD_STRING, AT(endpoint), .help = "old spelling of endpoint"},
    {.name = "note", .type = FIELD_STRING, AT(note), .default_text = "\"a # b\""},
    {.name = "token", .type = FIELD_SECRET, AT(token)},
    {.name = "encoding", .type = FIELD_ENUM, AT(encoding), .names = encodings, .default_text = "json"},
    {.name = "include", .type = FIELD_STRING_LIST, AT(include), .default_text = "[a, b]"},
    {.name = "headers", .type = FIELD_STRING_MAP, AT(headers), .default_text = "{x: y}"},
    {.name = "attributes", .type = FIELD_ATTRIBUTES, AT(attributes)},
    {.name = "value", .type = FIELD_ANY, AT(value)},
    {.name = "tls",
     .type = FIELD_STRUCT,
     AT(tls),
     .fields = inner_fields,
     .present_offset = 1 + offsetof(struct settings, tls_given)},
    {.name = "actions",
     .type = FIELD_STRUCT_LIST,
     AT(actions),
     .fields = item_fields,
     .struct_size = sizeof(struct item)},
    {.name = "read_buffer_size", .type = FIELD_IGNORED},
    {.name = "write_buffer_size", .type = FIELD_IGNORED},
    {0},
};

struct decoded {
    struct arena arena;
    struct config_errors errors;
    struct config_node *node;
    struct settings settings;
    bool ok;
};

static struct decoded decode(const char *yaml)
{
    struct decoded d = {0};
    arena_init(&d.arena, 0);
    config_errors_init(&d.errors);
    memset(&d.settings, 0xAA, sizeof d.settings);
    if (yaml) {
        d.node = config_parse_yaml(&d.arena, bytes_from_text(yaml), "f", &d.errors);
        assert_non_null(d.node);
    }
    struct field_target target = {fields, &d.settings};
    d.ok = fields_decode(&target, 1, d.node, (struct config_position){"f", 9, 9}, "exporters.x/a", &d.arena, &d.errors);
    assert_true(d.ok == (d.errors.error_count == 0));
    return d;
}

static void release(struct decoded *d)
{
    arena_fini(&d->arena);
    config_errors_fini(&d->errors);
}

static void assert_defaults(const struct settings *s)
{
    assert_true(s->enabled);
    assert_int_equal(s->count, 10);
    assert_true(s->ratio == 0.5);
    assert_int_equal(s->timeout_nanos, 30000000000);
    assert_int_equal(s->delay_nanos, 0);
    assert_int_equal(s->max_bytes, 64 << 20);
    assert_string_equal(s->endpoint, "localhost:4318");
    assert_string_equal(s->note, "a # b");
    assert_null(s->token);
    assert_int_equal(s->encoding, 1);
    assert_int_equal(s->include.count, 2);
    assert_string_equal(s->include.items[1], "b");
    assert_int_equal(s->headers.count, 1);
    assert_string_equal(s->headers.items[0].value, "y");
    assert_int_equal(s->attributes.count, 0);
    assert_int_equal(s->value.kind, CONFIG_ANY_UNSET);
    assert_false(s->tls_given);
    assert_null(s->tls.ca_file);
    assert_int_equal(s->actions.count, 0);
}

static void fills_defaults(void **state)
{
    (void)state;
    static const char *const nothings[] = {NULL, "", "{}", "count: null\nheaders:\nendpoint: ~\ntoken:\nactions:\n"};
    for (size_t i = 0; i < COUNT_OF(nothings); i++) {
        struct decoded d = decode(nothings[i]);
        assert_messages(&d.errors, "");
        assert_defaults(&d.settings);
        release(&d);
    }
}

static void reads_every_type(void **state)
{
    (void)state;
    struct decoded d = decode("enabled: off\ncount: 0x10\nratio: 1\ntimeout: 1m30s\ndelay: 300ms\nmax_size: 2KiB\n"
                              "endpoint: 8080\nnote: ''\ntoken: 'abc'\nencoding: ''\ninclude: ' a , b,,c '\n"
                              "headers: {a: 1, b: 'two', c: }\n"
                              "value: [1, '1', 1.5, true, yes, null, {k: v}, 0123]\n"
                              "attributes: {s: x, i: -3, l: [a]}\n"
                              "tls: {insecure: true, ca_file: /ca}\n"
                              "actions:\n- key: a\n  action: delete\n- {key: b, value: 7}\n");
    const struct settings *s = &d.settings;
    assert_messages(&d.errors, "");
    assert_false(s->enabled);
    assert_int_equal(s->count, 16);
    assert_true(s->ratio == 1.0);
    assert_int_equal(s->timeout_nanos, 90000000000);
    assert_int_equal(s->delay_nanos, 300000000);
    assert_int_equal(s->max_bytes, 2048);
    assert_string_equal(s->endpoint, "8080");
    assert_string_equal(s->note, "");
    assert_string_equal(s->token, "abc");
    assert_int_equal(s->encoding, 2);
    assert_int_equal(s->include.count, 3);
    assert_string_equal(s->include.items[0], "a");
    assert_string_equal(s->include.items[2], "c");
    assert_int_equal(s->headers.count, 3);
    assert_string_equal(s->headers.items[0].name, "a");
    assert_string_equal(s->headers.items[0].value, "1");
    assert_string_equal(s->headers.items[2].value, "");
    static const enum config_any_kind kinds[] = {CONFIG_ANY_INT,  CONFIG_ANY_STRING, CONFIG_ANY_DOUBLE,
                                                 CONFIG_ANY_BOOL, CONFIG_ANY_STRING, CONFIG_ANY_UNSET,
                                                 CONFIG_ANY_MAP,  CONFIG_ANY_STRING};
    assert_int_equal(s->value.kind, CONFIG_ANY_LIST);
    assert_int_equal(s->value.count, COUNT_OF(kinds));
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        assert_int_equal(s->value.items[i].kind, kinds[i]);
    assert_int_equal(s->value.items[0].integer, 1);
    assert_string_equal(s->value.items[1].string, "1");
    assert_true(s->value.items[3].boolean);
    assert_string_equal(s->value.items[6].attributes[0].key, "k");
    assert_string_equal(s->value.items[7].string, "0123");
    assert_int_equal(s->attributes.count, 3);
    assert_int_equal(s->attributes.items[1].value.integer, -3);
    assert_true(s->tls_given && s->tls.insecure);
    assert_string_equal(s->tls.ca_file, "/ca");
    assert_int_equal(s->actions.count, 2);
    const struct item *items = s->actions.items;
    assert_int_equal(items[0].action, 2);
    assert_int_equal(items[1].action, 1);
    assert_int_equal(items[1].value.integer, 7);
    assert_int_equal(items[0].value.kind, CONFIG_ANY_UNSET);
    release(&d);
}

static void reads_other_forms(void **state)
{
    (void)state;
    struct decoded d = decode("include: [x, 'y, z']\nheaders: [{name: A, value: 1}, {value: 2, name: A}]\nurl: u:1\n"
                              "delay: 0\n");
    assert_messages(&d.errors, "f:4:8: exporters.x/a: delay: expected 1ns or more, found 0s\n");
    assert_int_equal(d.settings.include.count, 2);
    assert_string_equal(d.settings.include.items[1], "y, z");
    assert_int_equal(d.settings.headers.count, 2);
    assert_string_equal(d.settings.headers.items[1].value, "2");
    assert_string_equal(d.settings.endpoint, "u:1");
    release(&d);
    d = decode("include: ''");
    assert_int_equal(d.settings.include.count, 0);
    release(&d);
    d = decode("include: one");
    assert_int_equal(d.settings.include.count, 1);
    release(&d);
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *messages;
    } cases[] = {
        {"cuont: 1\nencodin: x\nzzzzzz: 1",
         "f:1:1: exporters.x/a: unknown key \"cuont\", did you mean \"count\"?\n"
         "f:2:1: exporters.x/a: unknown key \"encodin\", did you mean \"encoding\"?\n"
         "f:3:1: exporters.x/a: unknown key \"zzzzzz\"\n"},
        {"[1]", "f:1:1: exporters.x/a: expected a map, found a list\n"},
        {"text", "f:1:1: exporters.x/a: expected a map, found \"text\"\n"},
        {"enabled: maybe", "f:1:10: exporters.x/a: enabled: expected true or false, found \"maybe\"\n"},
        {"enabled: 'yes'", "f:1:10: exporters.x/a: enabled: expected true or false, found the string \"yes\"; write it "
                           "without quotes\n"},
        {"enabled: [true]", "f:1:10: exporters.x/a: enabled: expected true or false, found a list\n"},
        {"count: abc", "f:1:8: exporters.x/a: count: expected a whole number, found \"abc\"\n"},
        {"count: 1.5", "f:1:8: exporters.x/a: count: expected a whole number, found \"1.5\"\n"},
        {"count: '5'",
         "f:1:8: exporters.x/a: count: expected a whole number, found the string \"5\"; write it without quotes\n"},
        {"count: 1001", "f:1:8: exporters.x/a: count: expected 1 to 1000, found 1001\n"},
        {"count: 0", "f:1:8: exporters.x/a: count: expected 1 to 1000, found 0\n"},
        {"count: {}", "f:1:8: exporters.x/a: count: expected a whole number, found a map\n"},
        {"ratio: x", "f:1:8: exporters.x/a: ratio: expected a number, found \"x\"\n"},
        {"ratio: 1.25", "f:1:8: exporters.x/a: ratio: expected 0 to 1, found 1.25\n"},
        {"ratio: 1e999", "f:1:8: exporters.x/a: ratio: expected a number, found \"1e999\"\n"},
        {"timeout: abc", "f:1:10: exporters.x/a: timeout: expected a duration such as 5s, found \"abc\"\n"},
        {"timeout: 2h", "f:1:10: exporters.x/a: timeout: expected 1ms to 1h, found 2h\n"},
        {"timeout: 1500000", "f:1:10: warning: exporters.x/a: timeout: 1500000 means 1500000 nanoseconds; write "
                             "1500000s\n"},
        {"timeout: 30", "f:1:10: warning: exporters.x/a: timeout: 30 means 30 nanoseconds; write 30s\n"
                        "f:1:10: exporters.x/a: timeout: expected 1ms to 1h, found 30ns\n"},
        {"delay: 0s", ""}, // the default itself
        {"delay: -1s", "f:1:8: exporters.x/a: delay: expected 1ns or more, found -1s\n"},
        {"max_size: big", "f:1:11: exporters.x/a: max_size: expected a size such as 64MiB, found \"big\"\n"},
        {"max_size: 2GiB", "f:1:11: exporters.x/a: max_size: expected 1KiB to 1GiB, found 2GiB\n"},
        {"max_size: 1023", "f:1:11: exporters.x/a: max_size: expected 1KiB to 1GiB, found 1023\n"},
        {"endpoint: [a]", "f:1:11: exporters.x/a: endpoint: expected a string, found a list\n"},
        {"token: {a: b}", "f:1:8: exporters.x/a: token: expected a string, found a map\n"},
        {"encoding: jsn",
         "f:1:11: exporters.x/a: encoding: expected one of \"proto\", \"json\", \"\", found \"jsn\", did "
         "you mean \"json\"?\n"},
        {"include: {a: b}", "f:1:10: exporters.x/a: include: expected a list of strings, found a map\n"},
        {"include: [a, [b], null]", "f:1:14: exporters.x/a: include[1]: expected a string, found a list\n"
                                    "f:1:19: exporters.x/a: include[2]: expected a string, found nothing\n"},
        {"headers: s3cret",
         "f:1:10: exporters.x/a: headers: expected a map of strings, or a list of maps with name and "
         "value, found a value that is not shown\n"},
        {"headers: [{name: a}]",
         "f:1:11: exporters.x/a: headers[0]: expected a map with the keys name and value, found "
         "a map\n"},
        {"headers: {a: [1]}", "f:1:14: exporters.x/a: headers.a: expected a string, found a list\n"},
        {"attributes: [1]", "f:1:13: exporters.x/a: attributes: expected a map, found a list\n"},
        {"tls: {insecur: true}", "f:1:6: exporters.x/a: tls: the key \"ca_file\" is required\n"
                                 "f:1:7: exporters.x/a: tls: unknown key \"insecur\", did you mean \"insecure\"?\n"},
        {"tls:", "f:1:5: exporters.x/a: tls: the key \"ca_file\" is required\n"},
        {"tls: x", "f:1:6: exporters.x/a: tls: expected a map, found \"x\"\n"},
        {"actions: {key: a}", "f:1:10: exporters.x/a: actions: expected a list of maps, found a map\n"},
        {"actions: [{key: a, action: x}, {action: insert}]",
         "f:1:28: exporters.x/a: actions[0].action: expected one of \"insert\", \"update\", \"delete\", found "
         "\"x\"\n"
         "f:1:32: exporters.x/a: actions[1]: the key \"key\" is required\n"},
        {"read_buffer_size: 5\ncount: 3\nwrite_buffer_size: {}",
         "f:1:1: warning: exporters.x/a: these keys have no meaning here and are ignored: read_buffer_size, "
         "write_buffer_size\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct decoded d = decode(cases[i].yaml);
        assert_messages(&d.errors, cases[i].messages);
        release(&d);
    }
}

static void a_wrong_value_leaves_the_default(void **state)
{
    (void)state;
    struct decoded d = decode("count: 5000\nenabled: x\ninclude: {}\n");
    assert_int_equal(d.errors.error_count, 3);
    assert_defaults(&d.settings);
    release(&d);
}

static void values_of_references(void **state)
{
    (void)state;
    struct decoded d = decode("{}");
    char map_text[] = "{a: 1}", secret_text[] = "hunter2";
    struct config_node map = {.kind = CONFIG_MAP, .original = map_text, .origin = "${env:M}", .at = {"f", 1, 2}},
                       empty = {.kind = CONFIG_NULL, .original = "", .at = {"f", 1, 3}},
                       secret = {.kind = CONFIG_SCALAR, .text = secret_text, .secret = true, .at = {"f", 1, 4}},
                       word_null = {.kind = CONFIG_NULL, .original = "null", .at = {"f", 1, 5}},
                       typed = {.kind = CONFIG_SCALAR, .text = "5", .original = "5 # five", .origin = "${env:X}"};
    struct config_entry entries[] = {
        {"endpoint", {0}, &map},    {"note", {0}, &map},      {"include", {0}, &map},   {"max_size", {0}, &secret},
        {"token", {0}, &typed},     {"count", {0}, &typed},   {"timeout", {0}, &empty}, {"headers", {0}, &empty},
        {"ratio", {0}, &word_null}, {"url", {0}, &word_null},
    };
    struct config_node root = {.kind = CONFIG_MAP, .entries = entries, .count = COUNT_OF(entries)};
    struct field_target target = {fields, &d.settings};
    assert_false(fields_decode(&target, 1, &root, (struct config_position){0}, "x", &d.arena, &d.errors));
    assert_messages(&d.errors, "f:1:2: x: include: expected a list of strings, found a map (from ${env:M})\n"
                               "f:1:4: x: max_size: expected a size such as 64MiB, found a value that is not shown\n");
    assert_string_equal(d.settings.endpoint, "null"); // "url" came later
    assert_true(d.settings.ratio == 0.5);
    assert_string_equal(d.settings.note, "{a: 1}");
    assert_string_equal(d.settings.token, "5 # five");
    assert_int_equal(d.settings.count, 5);
    assert_int_equal(d.settings.timeout_nanos, 30000000000);
    assert_int_equal(d.settings.headers.count, 1);
    release(&d);
}

static void looks_in_all_targets(void **state)
{
    (void)state;
    struct decoded d = decode("count: 5\nca_file: /x\n");
    struct inner inner;
    struct field_target targets[] = {{inner_fields, &inner}, {fields, &d.settings}};
    config_errors_fini(&d.errors);
    config_errors_init(&d.errors);
    assert_true(fields_decode(targets, 2, d.node, (struct config_position){0}, "x", &d.arena, &d.errors));
    assert_string_equal(inner.ca_file, "/x");
    assert_int_equal(d.settings.count, 5);
    // Required keys are asked for in each target.
    assert_false(fields_decode(targets, 2, NULL, (struct config_position){"f", 2, 1}, "x", &d.arena, &d.errors));
    assert_messages(&d.errors, "f:2:1: x: the key \"ca_file\" is required\n");
    release(&d);
}

static void reports_at_the_key(void **state)
{
    (void)state;
    struct config_position component_at = {"f", 9, 9};
    struct decoded d = decode("tls: {ca_file: /x}\nactions:\n- key: a\n- {key: b}\n");
    static const struct {
        const char *key, *message;
    } cases[] = {
        {"", "f:9:9: c: bad 1\n"},
        {"tls", "f:1:1: c: tls: bad 1\n"},
        {"tls.ca_file", "f:1:7: c: tls.ca_file: bad 1\n"},
        {"tls.nope", "f:1:1: c: tls.nope: bad 1\n"},
        {"nope.x", "f:9:9: c: nope.x: bad 1\n"},
        {"actions[1].key", "f:4:4: c: actions[1].key: bad 1\n"},
        {"actions[1]", "f:4:3: c: actions[1]: bad 1\n"},
        {"actions[9].key", "f:2:1: c: actions[9].key: bad 1\n"},
        {"tls[0]", "f:1:1: c: tls[0]: bad 1\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct config_errors errors;
        config_errors_init(&errors);
        fields_error(d.node, component_at, "c", cases[i].key, &errors, "bad %d", 1);
        assert_messages(&errors, cases[i].message);
        config_errors_fini(&errors);
    }
    fields_error(NULL, component_at, "c", "a.b", &d.errors, "bad");
    assert_messages(&d.errors, "f:9:9: c: a.b: bad\n");
    release(&d);
}

static char *printed(void (*print)(FILE *out))
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    print(out);
    fclose(out);
    return text;
}

static void print_yaml(FILE *out)
{
    fields_print_yaml(fields, 2, out);
}

static void print_markdown(FILE *out)
{
    fields_print_markdown(fields, out);
}

static void prints_yaml_that_means_the_defaults(void **state)
{
    (void)state;
    char *text = printed(print_yaml);
    struct decoded d = decode(text);
    assert_messages(&d.errors, "");
    assert_defaults(&d.settings);
    release(&d);
    static const char *const lines[] = {
        "  enabled: true # bool; on or off\n",
        "  count: 10 # integer, items, 1 to 1000\n",
        "  timeout: 30s # duration, 1ms to 1h; how long | to wait\n",
        "  token: # secret\n",
        "  encoding: json # one of proto|json|\"\"\n",
        "#   tls: # map\n#     insecure: # bool; no TLS\n#     ca_file: # string, required\n",
        "  actions: [] # list of maps\n#       key: # string, required\n#       action: update",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (!strstr(text, lines[i]))
            fail_msg("missing: %s in\n%s", lines[i], text);
    assert_null(strstr(text, "read_buffer_size"));
    free(text);
}

static void prints_markdown(void **state)
{
    (void)state;
    char *text = printed(print_markdown);
    static const char *const lines[] = {
        "| key | type | default | range | meaning |\n|---|---|---|---|---|\n",
        "| `count` | integer | `10` | 1 to 1000 items |  |\n",
        "| `timeout` | duration | `30s` | 1ms to 1h | how long \\| to wait |\n",
        "| `delay` | duration | `0s` | 1ns or more |  |\n",
        "| `encoding` | one of proto, json, \"\" | `json` |  |  |\n",
        "| `tls.ca_file` | string | required |  |  |\n",
        "| `actions.action` | one of insert, update, delete | `update` |  |  |\n",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (!strstr(text, lines[i]))
            fail_msg("missing: %s in\n%s", lines[i], text);
    assert_null(strstr(text, "read_buffer_size"));
    free(text);
}

static void add_path(void *arg, const char *path, const struct field *f)
{
    assert_non_null(f->name);
    fprintf(arg, "%s ", path);
}

static void walk_paths(FILE *out)
{
    fields_walk(fields, add_path, out);
}

static void walks_every_row(void **state)
{
    (void)state;
    char *all = printed(walk_paths);
    assert_string_equal(all, "enabled count ratio timeout delay max_size endpoint url note token encoding include "
                             "headers attributes value tls tls.insecure tls.ca_file actions actions.key "
                             "actions.action actions.value read_buffer_size write_buffer_size ");
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_defaults),
        cmocka_unit_test(reads_every_type),
        cmocka_unit_test(reads_other_forms),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(a_wrong_value_leaves_the_default),
        cmocka_unit_test(values_of_references),
        cmocka_unit_test(looks_in_all_targets),
        cmocka_unit_test(reports_at_the_key),
        cmocka_unit_test(prints_yaml_that_means_the_defaults),
        cmocka_unit_test(prints_markdown),
        cmocka_unit_test(walks_every_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
