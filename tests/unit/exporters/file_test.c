// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/compress.h"
#include "codec/formats.h"
#include "codec/otlp.h"
#include "codec/pprof.h"
#include "exporters/exporters.h"
#include "tests/support/batch_text.h"
#include "tests/support/fake_env.h"
#include "tests/support/pprof_bytes.h"
#include "tests/support/test_files.h"
#include "tests/support/test_folder.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
    struct test_folder folder;
    struct fake_env env;
    struct fake_component file;
};

// settings with %s for the folder.
static void world_init(struct world *w, const char *settings)
{
    char yaml[512];
    test_folder_init(&w->folder);
    fake_env_init(&w->env, 2);
    snprintf(yaml, sizeof yaml, settings, w->folder.path);
    fake_component_init(&w->file, &w->env, KIND_EXPORTER, &file_exporter.module, yaml);
}

static void world_start(struct world *w)
{
    struct err e = {0};
    assert_int_equal(fake_component_start(&w->file, &e), ERR_OK);
}

static void world_fini(struct world *w)
{
    fake_component_fini(&w->file);
    fake_env_fini(&w->env);
    test_folder_fini(&w->folder);
}

static struct batch *decode(struct bytes data, const char *service)
{
    struct err e;
    struct decode_report report;
    struct batch *b;
    const struct key_value name = {BYTES_LITERAL("service.name"), value_string(bytes_from_text(service))};
    const struct decode_options options = {.resource_attributes = &name, .resource_attribute_count = 1};
    assert_int_equal(pprof_decode(data, &options, &b, &report, &e), ERR_OK);
    return b;
}

static struct batch *small_batch(const char *service)
{
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    struct batch *b = decode(buf_bytes(&p.out), service);
    pprof_bytes_fini(&p);
    return b;
}

static void assert_same_batch(const struct batch *a, const struct batch *b)
{
    struct buf one, two;
    buf_init(&one, 1 << 20);
    buf_init(&two, 1 << 20);
    batch_text(a, &one);
    batch_text(b, &two);
    buf_add_byte(&one, '\0');
    buf_add_byte(&two, '\0');
    assert_string_equal((char *)one.data, (char *)two.data);
    buf_fini(&one);
    buf_fini(&two);
}

// The messages of an otlp_proto file as batches; returns how many there are.
static size_t read_messages(struct bytes file, struct batch **out, size_t max)
{
    size_t count = 0;
    for (size_t at = 0; at < file.len; count++) {
        struct err e;
        struct buf raw;
        const uint8_t *p = file.data + at;
        assert_true(file.len - at >= 4 && count < max);
        size_t len = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
        assert_true(len <= file.len - at - 4);
        struct bytes body = {p + 4, len};
        buf_init(&raw, 1 << 24);
        assert_int_equal(decompress(compression_detect(body), body, 1 << 24, "test", &raw, &e), ERR_OK);
        assert_int_equal(otlp_decode(buf_bytes(&raw), &otlp_default_limits, &out[count], &e), ERR_OK);
        buf_fini(&raw);
        at += 4 + len;
    }
    return count;
}

static void free_file(struct bytes file)
{
    free((void *)(uintptr_t)file.data);
}

static void check_messages(const char *settings)
{
    enum { COUNT = 20 };
    struct world w;
    struct fake_delivery deliveries[COUNT];
    struct batch *sent[COUNT], *found[COUNT];
    char path[256], service[32];
    world_init(&w, settings);
    world_start(&w);
    for (int i = 0; i < COUNT; i++) {
        snprintf(service, sizeof service, "service-%d", i);
        sent[i] = small_batch(service);
        fake_export_begin(&w.file, sent[i], &deliveries[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        fake_export_wait(&w.file, &deliveries[i]);
        assert_int_equal(deliveries[i].verdict.kind, VERDICT_OK);
    }
    struct bytes file = test_read_file(test_folder_path(&w.folder, "out.bin", path));
    assert_int_equal(read_messages(file, found, COUNT), COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_same_batch(found[i], sent[i]);
        batch_unref(&found[i]);
        batch_unref(&sent[i]);
    }
    free_file(file);
    world_fini(&w);
}

static void otlp_messages_keep_content_and_order(void **state)
{
    (void)state;
    check_messages("{path: %s/out.bin}");
    check_messages("{path: %s/out.bin, format: proto, compression: gzip}");
    check_messages("{path: %s/out.bin, format: otlp_proto, compression: zstd}");
}

static void json_is_a_line_for_each_message(void **state)
{
    (void)state;
    const struct format_choice choice = {.format = &otlp_json_format};
    struct world w;
    world_init(&w, "{path: %s/out.json, format: json}");
    world_start(&w);
    struct batch *one = small_batch("a"), *two = small_batch("b"), *back;
    assert_int_equal(fake_export(&w.file, one).kind, VERDICT_OK);
    assert_int_equal(fake_export(&w.file, two).kind, VERDICT_OK);
    char path[256];
    struct err e = {0};
    struct bytes file = test_read_file(test_folder_path(&w.folder, "out.json", path));
    const uint8_t *line_end = memchr(file.data, '\n', file.len);
    assert_non_null(line_end);
    struct bytes first = {file.data, (size_t)(line_end - file.data)};
    assert_int_equal(file.data[file.len - 1], '\n');
    assert_int_equal(format_decode(first, &choice, NULL, &back, NULL, &e), ERR_OK);
    assert_same_batch(back, one);
    batch_unref(&back);
    assert_int_equal(format_decode(file, &choice, NULL, &back, NULL, &e), ERR_OK);
    assert_int_equal(back->resource_count, 2);
    batch_unref(&back);
    batch_unref(&one);
    batch_unref(&two);
    free_file(file);
    world_fini(&w);
}

// The Collector's way: compressed messages are no lines.
static void compressed_json_stands_behind_its_length(void **state)
{
    (void)state;
    const struct format_choice choice = {.path = NULL};
    struct world w;
    world_init(&w, "{path: %s/out.json, format: otlp_json, compression: zstd}");
    world_start(&w);
    struct batch *b = small_batch("a"), *back;
    assert_int_equal(fake_export(&w.file, b).kind, VERDICT_OK);
    char path[256];
    struct err e = {0};
    struct bytes file = test_read_file(test_folder_path(&w.folder, "out.json", path));
    assert_int_equal((size_t)file.data[2] << 8 | file.data[3], file.len - 4);
    assert_int_equal(compression_detect((struct bytes){file.data + 4, file.len - 4}), COMPRESSION_ZSTD);
    assert_int_equal(format_decode(file, &choice, NULL, &back, NULL, &e), ERR_OK);
    assert_same_batch(back, b);
    batch_unref(&back);
    batch_unref(&b);
    free_file(file);
    world_fini(&w);
}

static void a_folded_file_for_each_sample_type(void **state)
{
    (void)state;
    struct world w;
    struct batch *b = small_batch("shop");
    world_init(&w, "{path: %s, format: folded}");
    world_start(&w);
    assert_int_equal(fake_export(&w.file, b).kind, VERDICT_OK);
    char *names = test_folder_names(&w.folder);
    const struct scope *s = b->resources[0]->scopes[0];
    size_t count = 1;
    for (char *name = names; (name = strchr(name, ' ')) != NULL; name++)
        count++;
    assert_int_equal(count, s->profile_count);
    for (uint32_t i = 0; i < s->profile_count; i++) {
        char start[64];
        snprintf(start, sizeof start, "shop-%.*s-",
                 BYTES_PRINT(b->dictionary->strings[s->profiles[i].sample_type.type]));
        assert_non_null(strstr(names, start));
    }
    assert_non_null(strstr(names, ".folded"));
    free(names);
    batch_unref(&b);
    world_fini(&w);
}

static void a_pprof_file_per_profile(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "{path: %s/new/out, format: pprof, create_directory: true, directory_permissions: '0700'}");
    world_start(&w);
    struct batch *b = small_batch("a/b .c");
    for (int i = 0; i < 2; i++) // the second time it replaces itself
        assert_int_equal(fake_export(&w.file, b).kind, VERDICT_OK);
    snprintf(w.folder.path + strlen(w.folder.path), 16, "/new/out");
    char *name = test_folder_names(&w.folder);
    char path[256];
    assert_null(strchr(name, ' '));
    assert_int_equal(strncmp(name, "a_b_.c-", 7), 0);
    assert_non_null(strstr(name, ".pb.gz"));
    struct bytes file = test_read_file(test_folder_path(&w.folder, name, path));
    assert_int_equal(compression_detect(file), COMPRESSION_GZIP);
    struct batch *back = decode(file, "a/b .c");
    assert_same_batch(back, b);
    batch_unref(&back);
    batch_unref(&b);
    free_file(file);
    free(name);
    w.folder.path[strlen(w.folder.path) - strlen("/new/out")] = '\0';
    world_fini(&w);
}

static void names_are_safe_and_tell_profiles_apart(void **state)
{
    (void)state;
    struct world w;
    char long_name[300];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    const char *services[] = {"../../etc/x", ".hidden", "", long_name};
    world_init(&w, "{path: %s, format: pprof, compression: none}");
    world_start(&w);
    for (size_t i = 0; i < COUNT_OF(services); i++) {
        struct batch *b = small_batch(services[i]);
        assert_int_equal(fake_export(&w.file, b).kind, VERDICT_OK);
        batch_unref(&b);
    }
    char *names = test_folder_names(&w.folder);
    size_t count = 1;
    for (char *name = names; (name = strchr(name, ' ')) != NULL; name++)
        count++;
    assert_int_equal(count, COUNT_OF(services));
    assert_int_equal(strncmp(names, "_._.._etc_x-", 12), 0);
    assert_non_null(strstr(names, " _hidden-"));
    assert_non_null(strstr(names, " unknown-"));
    assert_null(strstr(names, ".gz"));
    free(names);
    world_fini(&w);
}

static void a_disk_in_trouble_means_retry(void **state)
{
    (void)state;
    struct world w;
    char path[256];
    world_init(&w, "{path: %s/sub/out.bin, create_directory: true}");
    world_start(&w);
    struct batch *b = small_batch("a");
    assert_int_equal(unlink(test_folder_path(&w.folder, "sub/out.bin", path)), 0);
    assert_int_equal(rmdir(test_folder_path(&w.folder, "sub", path)), 0);
    struct verdict v = fake_export(&w.file, b);
    assert_int_equal(v.kind, VERDICT_RETRY);
    assert_non_null(strstr(v.text, "sub/out.bin: No such file or directory"));
    // mended while we run
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(fake_export(&w.file, b).kind, VERDICT_OK);
    batch_unref(&b);
    world_fini(&w);
}

static void cancel_gives_back_what_waits(void **state)
{
    (void)state;
    enum { COUNT = 6 };
    struct world w;
    struct fake_delivery deliveries[COUNT];
    world_init(&w, "{path: %s/out.bin}");
    world_start(&w);
    struct batch *b = small_batch("a");
    for (int i = 0; i < COUNT; i++)
        fake_export_begin(&w.file, b, &deliveries[i]);
    uv_run(&w.env.loop.uv, UV_RUN_NOWAIT); // the queue hands its records out
    instance_cancel(&w.file.instance);
    int ok = 0, again = 0;
    for (int i = 0; i < COUNT; i++) {
        fake_export_wait(&w.file, &deliveries[i]);
        ok += deliveries[i].verdict.kind == VERDICT_OK;
        again += deliveries[i].verdict.kind == VERDICT_RETRY;
    }
    assert_int_equal(ok + again, COUNT);
    assert_true(ok >= 1);
    char path[256];
    struct batch *found[COUNT];
    struct bytes file = test_read_file(test_folder_path(&w.folder, "out.bin", path));
    assert_int_equal(read_messages(file, found, COUNT), ok);
    for (int i = 0; i < ok; i++)
        batch_unref(&found[i]);
    free_file(file);
    batch_unref(&b);
    world_fini(&w);
}

static void a_missing_folder_is_said_at_start(void **state)
{
    (void)state;
    static const struct {
        const char *settings, *expected;
    } cases[] = {
        {"{path: %s/none/out.bin}", "none does not exist; create it or set create_directory: true"},
        {"{path: %s/none, format: pprof}", "none does not exist; create it or set create_directory: true"},
        {"{path: %s/file, format: pprof}", "file is not a folder"},
        {"{path: %s/file/x, create_directory: true}", "Not a directory"},
        {"{path: %s/file}", "holds something else"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        struct err e = {0};
        world_init(&w, cases[i].settings);
        test_folder_write(&w.folder, "file", BYTES_LITERAL("some text"));
        assert_int_not_equal(fake_component_start(&w.file, &e), ERR_OK);
        if (i == 3)
            assert_true(strstr(e.text, "Not a directory") != NULL || strstr(e.text, "File exists") != NULL);
        else
            assert_non_null(strstr(e.text, cases[i].expected));
        world_fini(&w);
    }
}

static void a_cut_is_told_in_the_log(void **state)
{
    (void)state;
    struct world w;
    static const uint8_t half[] = {0, 0, 0, 9, 0x0A, 1};
    world_init(&w, "{path: %s/out.bin}");
    test_folder_write(&w.folder, "out.bin", (struct bytes){half, sizeof half});
    world_start(&w);
    assert_non_null(strstr(fake_env_log(&w.env), "half a message of 6 bytes was cut off the end of"));
    world_fini(&w);
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        {"{format: pprof}", "test:1:1: exporters.file: the key \"path\" is required\n"},
        {"path: ''", "test:1:1: exporters.file: path: must not be empty\n"},
        {"{path: a, format: pprof, compression: zstd}",
         "test:1:26: exporters.file: compression: pprof files are read as gzip or uncompressed; use gzip or none\n"},
        {"{path: a, directory_permissions: '0999'}",
         "test:1:11: exporters.file: directory_permissions: must be an octal mode such as \"0755\", found \"0999\"\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fake_env f;
        void *settings;
        fake_env_init(&f, 1);
        char *text = fake_settings(&f, KIND_EXPORTER, &file_exporter.module, cases[i].yaml, &settings);
        assert_string_equal(text, cases[i].expected);
        free(text);
        fake_env_fini(&f);
    }
}

static void encoding_without_memory_fails_clean(void **state)
{
    (void)state;
    static const char *const settings[] = {"{path: %s, format: pprof}", "{path: %s/x, compression: gzip}",
                                           "{path: %s/x, format: json}", "{path: %s, format: folded}"};
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        struct world w;
        struct err e = {0};
        world_init(&w, settings[i]);
        struct batch *b = small_batch("a");
        struct exporter *x = (struct exporter *)w.file.instance.component;
        enum err_code rc = ERR_MEMORY;
        size_t n = 1;
        for (; rc != ERR_OK; n++) {
            struct record_list records;
            record_list_init(&records);
            mem_fail_from(n);
            rc = file_exporter.encode(x, b, &records, &e);
            mem_fail_from(0);
            assert_true(rc == ERR_OK || rc == ERR_MEMORY);
            record_list_fini(&records);
            assert_in_range(n, 1, 1000);
        }
        assert_in_range(n, 4, 1000);
        batch_unref(&b);
        world_fini(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(otlp_messages_keep_content_and_order),
        cmocka_unit_test(json_is_a_line_for_each_message),
        cmocka_unit_test(compressed_json_stands_behind_its_length),
        cmocka_unit_test(a_folded_file_for_each_sample_type),
        cmocka_unit_test(a_pprof_file_per_profile),
        cmocka_unit_test(names_are_safe_and_tell_profiles_apart),
        cmocka_unit_test(a_disk_in_trouble_means_retry),
        cmocka_unit_test(cancel_gives_back_what_waits),
        cmocka_unit_test(a_missing_folder_is_said_at_start),
        cmocka_unit_test(a_cut_is_told_in_the_log),
        cmocka_unit_test(wrong_settings_are_named),
        cmocka_unit_test(encoding_without_memory_fails_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
