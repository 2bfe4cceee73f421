// SPDX-License-Identifier: Apache-2.0
// The YAML is read back by the parser that the program uses.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config/tree.h"
#include "pipeline/import_config.h"
#include "tests/support/test_folder.h"

#include <stdlib.h>

static const char *const variables[] = {
    "OTEL_EXPORTER_OTLP_ENDPOINT",         "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_PROFILES_HEADERS", "OTEL_SERVICE_NAME",
};

struct fixture {
    struct import_options o;
    const char *path; // NULL = a plain one
    struct buf yaml;
    struct arena arena;
    struct config_errors errors;
    struct config_node *root;
    struct err e;
};

static int set_up(void **state)
{
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    buf_init(&f->yaml, 1 << 20);
    arena_init(&f->arena, 0);
    config_errors_init(&f->errors);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    buf_fini(&f->yaml);
    arena_fini(&f->arena);
    config_errors_fini(&f->errors);
    free(f);
    return 0;
}

static void give(struct option_values *v, const char *value)
{
    v->items[v->count++] = value;
}

static enum err_code write_yaml(struct fixture *f)
{
    static char plain[] = "cpu.pb.gz";
    char *path = f->path != NULL ? (char *)(uintptr_t)f->path : plain;
    buf_clear(&f->yaml);
    f->yaml.len = 0;
    f->e = (struct err){0};
    return import_config_write(&f->o, &path, 1, &f->yaml, &f->e);
}

// Writes and parses; the tree is in root.
static void make(struct fixture *f)
{
    if (write_yaml(f) != ERR_OK)
        fail_msg("%s", f->e.text);
    f->root = config_parse_yaml(&f->arena, buf_bytes(&f->yaml), "test", &f->errors);
    if (f->root == NULL || f->errors.error_count != 0)
        fail_msg("%s in %.*s", f->errors.items[0].text, (int)f->yaml.len, (char *)f->yaml.data);
}

static const struct config_node *at(const struct fixture *f, const char *path)
{
    return config_get_path(f->root, path);
}

static void is_text(const struct fixture *f, const char *path, const char *text)
{
    const struct config_node *node = at(f, path);
    assert_non_null(node);
    assert_int_equal(node->kind, CONFIG_SCALAR);
    assert_string_equal(node->text, text);
}

static void is_string(const struct fixture *f, const char *path, const char *text)
{
    is_text(f, path, text);
    assert_true(at(f, path)->quoted);
}

#define HEADERS "exporters::otlp_http::headers"
#define ATTRIBUTES "receivers::import::resource_attributes"

static void fails(struct fixture *f, const char *text)
{
    assert_int_equal(write_yaml(f), ERR_INVALID);
    assert_string_equal(f->e.text, text);
}

static void defaults(void **state)
{
    struct fixture *f = *state;
    give(&f->o.to, "http://h:4318");
    make(f);
    assert_int_equal(at(f, "receivers::import::paths")->count, 1);
    assert_string_equal(at(f, "receivers::import::paths")->items[0]->text, "cpu.pb.gz");
    is_text(f, "receivers::import::dry_run", "false");
    is_string(f, "receivers::import::timestamp", "profile");
    assert_int_equal(at(f, ATTRIBUTES)->kind, CONFIG_NULL);
    is_string(f, "exporters::otlp_http::endpoint", "http://h:4318");
    is_string(f, "exporters::otlp_http::compression", "gzip");
    is_string(f, "exporters::otlp_http::retry_on_failure::max_elapsed_time", "1m");
    assert_int_equal(at(f, HEADERS)->kind, CONFIG_NULL);
    is_text(f, "service::telemetry::logs::level", "warn");
    is_text(f, "service::telemetry::metrics::level", "none");
    assert_string_equal(at(f, "service::pipelines::profiles::exporters")->items[0]->text, "otlp_http");
}

static void every_option_reaches_its_key(void **state)
{
    struct fixture *f = *state;
    give(&f->o.to, "first");
    give(&f->o.to, "https://h/v1development/profiles");
    give(&f->o.timestamp, "now");
    give(&f->o.retry_for, "5m");
    give(&f->o.compression, "zstd");
    give(&f->o.quiet, "true");
    make(f);
    is_string(f, "exporters::otlp_http::profiles_endpoint", "https://h/v1development/profiles");
    assert_null(at(f, "exporters::otlp_http::endpoint"));
    is_string(f, "receivers::import::timestamp", "now");
    is_string(f, "exporters::otlp_http::compression", "zstd");
    is_string(f, "exporters::otlp_http::retry_on_failure::max_elapsed_time", "5m");
    is_text(f, "service::telemetry::logs::level", "error");
}

static void how_files_are_read(void **state)
{
    struct fixture *f = *state;
    give(&f->o.to, "http://h");
    make(f);
    assert_null(at(f, "receivers::import::format"));
    assert_null(at(f, "receivers::import::sample_rate"));
    assert_null(at(f, "receivers::import::match"));
    give(&f->o.match, "(?P<service>[^/]+)/\\d \"x\"");
    give(&f->o.input.from, "pprof");
    give(&f->o.input.sample_type, "wall");
    give(&f->o.input.sample_unit, "ms: #");
    give(&f->o.input.sample_rate, "99.5");
    give(&f->o.input.leaf_first, "true");
    give(&f->o.input.missing_count, "true");
    make(f);
    is_string(f, "receivers::import::match", "(?P<service>[^/]+)/\\d \"x\"");
    is_string(f, "receivers::import::format", "pprof");
    is_string(f, "receivers::import::sample_type", "wall");
    is_string(f, "receivers::import::sample_unit", "ms: #");
    is_text(f, "receivers::import::sample_rate", "99.5");
    is_text(f, "receivers::import::leaf_first", "true");
    is_text(f, "receivers::import::missing_count_is_one", "true");
    static const char *const bad[] = {"", "x", "0", "-1", "nan", "inf", "99x", "1e999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        f->o.input.sample_rate.items[0] = bad[i];
        fails(f, "--sample-rate is a number of samples per second above 0, such as 99");
    }
}

static void urls_in_any_case(void **state)
{
    struct fixture *f = *state;
    give(&f->o.to, "HTTP://h");
    make(f);
    is_string(f, "exporters::otlp_http::endpoint", "HTTP://h");
    give(&f->o.to, "HttpS://h");
    make(f);
    is_string(f, "exporters::otlp_http::endpoint", "HttpS://h");
}

static void to_a_folder(void **state)
{
    struct fixture *f = *state;
    give(&f->o.to, "out");
    make(f);
    is_string(f, "exporters::file::path", "out/profiles.otlp");
    is_text(f, "exporters::file::format", "otlp_proto");
    assert_string_equal(at(f, "service::pipelines::profiles::exporters")->items[0]->text, "file");
    give(&f->o.format, "otlp");
    make(f);
    is_string(f, "exporters::file::path", "out/profiles.otlp");
    give(&f->o.format, "pprof");
    make(f);
    is_string(f, "exporters::file::path", "out");
    is_text(f, "exporters::file::format", "pprof");
    give(&f->o.format, "json");
    fails(f, "--format names no format of files in a folder");
    f->o.format.count = 0;
    give(&f->o.format, "otlp_json");
    make(f);
    is_string(f, "exporters::file::path", "out/profiles.jsonl");
    is_text(f, "exporters::file::format", "otlp_json");
    give(&f->o.format, "folded");
    make(f);
    is_string(f, "exporters::file::path", "out");
    is_text(f, "exporters::file::format", "folded");
    give(&f->o.to, "");
    fails(f, "--to is empty: give a URL or a folder");
}

static void servers_need_their_scheme(void **state)
{
    struct fixture *f = *state;
    static const char *const servers[] = {"localhost:4318", "10.0.0.1:1", "[::1]:4318", "grpc://h", "h/p:80"};
    for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++) {
        f->o.to.count = 0;
        give(&f->o.to, servers[i]);
        fails(f, "--to: a URL begins with http:// or https://; a folder of that name is written ./NAME");
    }
    static const char *const folders[] = {"./localhost:4318", "/tmp/a:1", "a:b", "a:", ":1", "h:4318x", "C"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        give(&f->o.to, folders[i]);
        make(f);
        assert_non_null(at(f, "exporters::file"));
    }
}

static void dry_run_needs_no_target(void **state)
{
    struct fixture *f = *state;
    give(&f->o.dry_run, "true");
    make(f);
    is_text(f, "receivers::import::dry_run", "true");
    assert_non_null(at(f, "exporters::nop"));
    assert_string_equal(at(f, "service::pipelines::profiles::exporters")->items[0]->text, "nop");
}

// What YAML or the configuration would read as something else.
static const char *const hostile[] = {
    "plain",
    "",
    " spaces around ",
    "say \"hello\"",
    "back\\slash \\n \\\"",
    "'single'",
    "line\nbreak\r\n",
    "\ttab\x01\x1f\x7f",
    "${env:HOME} ${x} $$ $HOME",
    "a: b",
    "# comment",
    "- item",
    "{a: b}, [c]",
    "*alias &anchor !tag %percent @at `tick`",
    "true",
    "null",
    "~",
    "0x10",
    "1e3",
    "\n  otlp_http:\n",
    "caf\xc3\xa9",
    "next\xc2\x85line \xe2\x80\xa8 \xe2\x80\xa9 separators",
    "\xc2\x80 \xc2\x9f controls",
    "\xef\xbb\xbfmark \xef\xbf\xbe \xef\xbf\xbf",
    "\xf0\x9f\x94\xa5 \xf4\x8f\xbf\xbf",
};

static void hostile_values_stay_as_they_are(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        char assignment[256], to[256];
        f->o = (struct import_options){.quiet = {.count = 0}};
        f->path = hostile[i];
        snprintf(assignment, sizeof assignment, "name=%s", hostile[i]);
        snprintf(to, sizeof to, "http://%s", hostile[i]);
        give(&f->o.header_files, "/dev/null");
        give(&f->o.attributes, assignment);
        give(&f->o.headers, assignment);
        give(&f->o.service, hostile[i]);
        give(&f->o.timestamp, hostile[i]);
        give(&f->o.retry_for, hostile[i]);
        give(&f->o.compression, hostile[i]);
        give(&f->o.to, to);
        make(f);
        assert_string_equal(at(f, "receivers::import::paths")->items[0]->text, hostile[i]);
        assert_true(at(f, "receivers::import::paths")->items[0]->quoted);
        is_string(f, ATTRIBUTES "::name", hostile[i]);
        is_string(f, ATTRIBUTES "::service.name", hostile[i]);
        is_string(f, HEADERS "::name", hostile[i]);
        is_string(f, "receivers::import::timestamp", hostile[i]);
        is_string(f, "exporters::otlp_http::retry_on_failure::max_elapsed_time", hostile[i]);
        is_string(f, "exporters::otlp_http::compression", hostile[i]);
        is_string(f, "exporters::otlp_http::endpoint", to);
        assert_int_equal(f->root->count, 3);
    }
}

static void hostile_names_stay_as_they_are(void **state)
{
    struct fixture *f = *state;
    give(&f->o.to, "out");
    give(&f->o.attributes, "a\"\n: {=x=y");
    give(&f->o.attributes, "<<=x");
    make(f);
    assert_int_equal(at(f, ATTRIBUTES)->count, 2);
    assert_string_equal(at(f, ATTRIBUTES)->entries[0].key, "a\"\n: {");
    assert_string_equal(at(f, ATTRIBUTES)->entries[0].value->text, "x=y");
    assert_string_equal(at(f, ATTRIBUTES)->entries[1].key, "<<");
}

static void what_is_not_text_is_named(void **state)
{
    struct fixture *f = *state;
    give(&f->o.to, "http://h");
    f->path = "caf\xe9.pb";
    fails(f, "a path is not UTF-8: name the folder it is in");
    f->path = NULL;
    give(&f->o.attributes, "a=\xff");
    fails(f, "an attribute is not UTF-8");
    f->o.attributes.count = 0;
    give(&f->o.headers, "a=\xff");
    fails(f, "a header is not UTF-8");
}

static void assignments_need_a_name(void **state)
{
    struct fixture *f = *state;
    give(&f->o.to, "http://h");
    give(&f->o.attributes, "s3cr3t");
    fails(f, "--attribute wants NAME=VALUE");
    f->o.attributes.items[0] = "=s3cr3t";
    fails(f, "--attribute wants NAME=VALUE");
    f->o.attributes.items[0] = "empty=";
    give(&f->o.headers, "Authorization: s3cr3t");
    fails(f, "--header wants NAME=VALUE");
    f->o.headers.items[0] = "Authorization=a=b=";
    make(f);
    is_string(f, ATTRIBUTES "::empty", "");
    is_string(f, HEADERS "::Authorization", "a=b=");
}

static void the_last_of_equal_names_counts(void **state)
{
    struct fixture *f = *state;
    give(&f->o.to, "http://h");
    give(&f->o.headers, "x-a=1");
    give(&f->o.headers, "X-A=2");
    give(&f->o.attributes, "k=1");
    give(&f->o.attributes, "K=2");
    give(&f->o.attributes, "k=3");
    make(f);
    assert_int_equal(at(f, HEADERS)->count, 1);
    is_string(f, HEADERS "::X-A", "2");
    assert_int_equal(at(f, ATTRIBUTES)->count, 2);
    is_string(f, ATTRIBUTES "::k", "3");
    is_string(f, ATTRIBUTES "::K", "2");
}

static void the_name_of_the_service(void **state)
{
    struct fixture *f = *state;
    give(&f->o.to, "http://h");
    setenv("OTEL_SERVICE_NAME", "from-env", 1);
    make(f);
    is_string(f, ATTRIBUTES "::service.name", "from-env");
    give(&f->o.attributes, "service.name=attribute");
    make(f);
    is_string(f, ATTRIBUTES "::service.name", "attribute");
    give(&f->o.service, "said");
    make(f);
    is_string(f, ATTRIBUTES "::service.name", "said");
    assert_int_equal(at(f, ATTRIBUTES)->count, 1);
}

static void where_to_from_the_environment(void **state)
{
    struct fixture *f = *state;
    static const char nowhere[] = "where to? give --to URL or --to DIR, or set OTEL_EXPORTER_OTLP_ENDPOINT";
    fails(f, nowhere);
    setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "", 1);
    setenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "", 1);
    setenv("OTEL_SERVICE_NAME", "", 1);
    fails(f, nowhere);
    setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://base", 1);
    make(f);
    is_string(f, "exporters::otlp_http::endpoint", "http://base");
    assert_int_equal(at(f, ATTRIBUTES)->kind, CONFIG_NULL);
    setenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "http://whole/path", 1);
    make(f);
    is_string(f, "exporters::otlp_http::profiles_endpoint", "http://whole/path");
    give(&f->o.to, "http://said");
    make(f);
    is_string(f, "exporters::otlp_http::endpoint", "http://said");
}

static void list_is(struct fixture *f, const char *list, size_t count)
{
    setenv("OTEL_EXPORTER_OTLP_HEADERS", list, 1);
    make(f);
    const struct config_node *headers = at(f, HEADERS);
    assert_int_equal(headers->kind == CONFIG_NULL ? 0 : headers->count, count);
}

static void lists_of_headers(void **state)
{
    struct fixture *f = *state;
    give(&f->o.to, "http://h");
    list_is(f, "", 0);
    list_is(f, " , ,,", 0);
    list_is(f, "novalue,=noname, =x", 0);
    list_is(f, "a=1,b=2,", 2);
    is_string(f, HEADERS "::b", "2");
    list_is(f, " a = 1 ,\tb=2\t, nothing , c=d=e", 3);
    is_string(f, HEADERS "::a", "1");
    is_string(f, HEADERS "::b", "2");
    is_string(f, HEADERS "::c", "d=e");
    list_is(f, "novalue,a=%20x%2Cy%3d%C3%A9%25%20", 1);
    is_string(f, HEADERS "::a", " x,y=\xc3\xa9% ");
    list_is(f, "a=100%,b=%4,c=%,d=%zz,e=%4g,f=%-1,g=% 4,h=%0x,i=%%41,j=%41", 10);
    static const char *const values[] = {"100%", "%4", "%", "%zz", "%4g", "%-1", "% 4", "%0x", "%A", "A"};
    for (size_t i = 0; i < 10; i++)
        assert_string_equal(at(f, HEADERS)->entries[i].value->text, values[i]);
    setenv("OTEL_EXPORTER_OTLP_HEADERS", "a=x%00y", 1);
    fails(f, "OTEL_EXPORTER_OTLP_HEADERS: %00 cannot be sent");
}

static void long_values_are_whole(void **state)
{
    struct fixture *f = *state;
    enum { LEN = 100000 };
    char *list = malloc(LEN + 3);
    assert_non_null(list);
    memset(list, 'v', LEN + 2);
    memcpy(list, "a=", 2);
    list[LEN + 2] = '\0';
    give(&f->o.to, "http://h");
    list_is(f, list, 1);
    is_string(f, HEADERS "::a", list + 2);
    free(list);
}

static void which_list_of_headers(void **state)
{
    struct fixture *f = *state;
    give(&f->o.to, "http://h");
    setenv("OTEL_EXPORTER_OTLP_PROFILES_HEADERS", "a=profiles", 1);
    list_is(f, "a=all,b=all", 1);
    is_string(f, HEADERS "::a", "profiles");
    setenv("OTEL_EXPORTER_OTLP_PROFILES_HEADERS", "", 1);
    list_is(f, "a=all,b=all", 2);
    give(&f->o.headers, "c=said");
    list_is(f, "a=all,b=all", 1);
    is_string(f, HEADERS "::c", "said");
}

// Writes the header file and asks for it.
static void use_file(struct fixture *f, const struct test_folder *folder, char path[256], struct bytes content)
{
    test_folder_write(folder, "headers", content);
    f->o.header_files.count = 0;
    give(&f->o.header_files, test_folder_path(folder, "headers", path));
}

static void header_files(void **state)
{
    struct fixture *f = *state;
    struct test_folder folder;
    char path[256];
    test_folder_init(&folder);
    give(&f->o.to, "http://h");
    use_file(
        f, &folder, path,
        BYTES_LITERAL("# a comment\r\n\n  # another\nAuthorization: Basic eDp5=\r\nX-One=1:2\n \t X-Two \t:\tb \t\n"
                      "x-three:\nX-One: ${x} \"q\" #no"));
    give(&f->o.headers, "X-TWO=said");
    make(f);
    assert_int_equal(at(f, HEADERS)->count, 4);
    is_string(f, HEADERS "::Authorization", "Basic eDp5=");
    is_string(f, HEADERS "::X-One", "${x} \"q\" #no");
    is_string(f, HEADERS "::X-TWO", "said");
    is_string(f, HEADERS "::x-three", "");
    use_file(f, &folder, path, BYTES_LITERAL(""));
    make(f);
    is_string(f, HEADERS "::X-TWO", "said");
    test_folder_fini(&folder);
}

static void broken_header_files(void **state)
{
    struct fixture *f = *state;
    struct test_folder folder;
    char path[256], text[512];
    static char longest[17 << 10];
    test_folder_init(&folder);
    give(&f->o.to, "http://h");
    use_file(f, &folder, path, BYTES_LITERAL("a: b\n\nBearer s3cr3t\n"));
    snprintf(text, sizeof text, "%s:3: each line is NAME: VALUE or NAME=VALUE", path);
    fails(f, text);
    use_file(f, &folder, path, BYTES_LITERAL(" : s3cr3t\n"));
    snprintf(text, sizeof text, "%s:1: each line is NAME: VALUE or NAME=VALUE", path);
    fails(f, text);
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "a: ", 3);
    use_file(f, &folder, path, (struct bytes){(uint8_t *)longest, sizeof longest});
    snprintf(text, sizeof text, "%s:1: the line is longer than 16382 bytes", path);
    fails(f, text);
    f->o.header_files.items[0] = folder.path;
    snprintf(text, sizeof text, "cannot read the header file %s: Is a directory", folder.path);
    fails(f, text);
    f->o.header_files.items[0] = test_folder_path(&folder, "absent", path);
    snprintf(text, sizeof text, "cannot open the header file %s: No such file or directory", path);
    fails(f, text);
    test_folder_fini(&folder);
}

static void too_much_of_it(void **state)
{
    struct fixture *f = *state;
    give(&f->o.to, "http://h");
    buf_fini(&f->yaml);
    buf_init(&f->yaml, 100);
    assert_int_equal(write_yaml(f), ERR_LIMIT);
    assert_string_equal(f->e.text, "the files and options named take more than 100 bytes: name folders instead");
    buf_fini(&f->yaml);
    buf_init(&f->yaml, 1 << 20);
    char list[8192] = "";
    for (size_t i = 0, len = 0; i < 1001; i++)
        len += (size_t)snprintf(list + len, sizeof list - len, "%zx=1,", i);
    setenv("OTEL_EXPORTER_OTLP_HEADERS", list, 1);
    fails(f, "more than 1000 headers or attributes");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(defaults),
        TEST(every_option_reaches_its_key),
        TEST(how_files_are_read),
        TEST(urls_in_any_case),
        TEST(to_a_folder),
        TEST(servers_need_their_scheme),
        TEST(dry_run_needs_no_target),
        TEST(hostile_values_stay_as_they_are),
        TEST(hostile_names_stay_as_they_are),
        TEST(what_is_not_text_is_named),
        TEST(assignments_need_a_name),
        TEST(the_last_of_equal_names_counts),
        TEST(the_name_of_the_service),
        TEST(where_to_from_the_environment),
        TEST(lists_of_headers),
        TEST(long_values_are_whole),
        TEST(which_list_of_headers),
        TEST(header_files),
        TEST(broken_header_files),
        TEST(too_much_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
