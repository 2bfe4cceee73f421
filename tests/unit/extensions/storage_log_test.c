// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "extensions/storage_log.h"
#include "tests/support/test_files.h"
#include "tests/support/test_folder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct logger no_log;

// What a log holds, as "key=value" lines in order of keys.
struct found {
    char lines[64][64];
    size_t count;
};

static void on_pair(void *arg, struct bytes key, struct bytes value)
{
    struct found *f = arg;
    assert_in_range(f->count, 0, 63);
    snprintf(f->lines[f->count++], 64, "%.*s=%.*s ", BYTES_PRINT(key), BYTES_PRINT(value));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static char *found_text(struct found *f, char out[4096])
{
    qsort(f->lines, f->count, sizeof f->lines[0], by_text);
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < f->count; i++)
        len += (size_t)snprintf(out + len, 4096 - len, "%s", f->lines[i]);
    return out;
}

static void open_log(struct storage_log *l, const char *path, struct found *f)
{
    struct err e = {0};
    *f = (struct found){.count = 0};
    enum err_code rc = storage_log_open(l, path, true, &no_log, on_pair, f, &e);
    if (rc != ERR_OK)
        fprintf(stderr, "%s\n", e.text);
    assert_int_equal(rc, ERR_OK);
}

static void put(struct storage_log *l, const char *key, const char *value)
{
    struct err e = {0};
    assert_int_equal(storage_log_append(l, bytes_from_text(key), bytes_from_text(value), &e), ERR_OK);
}

static void sync_log(struct storage_log *l)
{
    struct err e = {0};
    assert_int_equal(storage_log_sync(l, &e), ERR_OK);
}

static void assert_holds(const char *path, const char *expected)
{
    struct storage_log l;
    struct found f;
    char text[4096];
    open_log(&l, path, &f);
    assert_string_equal(found_text(&f, text), expected);
    storage_log_close(&l);
}

static void the_last_value_of_a_key_counts(void **state)
{
    (void)state;
    struct test_folder folder;
    struct storage_log l;
    struct found f;
    char path[256];
    test_folder_init(&folder);
    open_log(&l, test_folder_path(&folder, "x.log", path), &f);
    assert_int_equal(f.count, 0);
    put(&l, "a", "1");
    put(&l, "b", "2");
    put(&l, "a", "3");
    put(&l, "c", "4");
    put(&l, "b", "");
    put(&l, "", "empty key");
    sync_log(&l);
    storage_log_close(&l);
    assert_holds(path, "=empty key a=3 c=4 ");
    open_log(&l, path, &f);
    put(&l, "b", "back");
    sync_log(&l);
    storage_log_close(&l);
    assert_holds(path, "=empty key a=3 b=back c=4 ");
    test_folder_fini(&folder);
}

// Four records; ends[i] is where record i ends.
static struct bytes make_log(const struct test_folder *folder, size_t ends[4])
{
    struct storage_log l;
    struct found f;
    char path[256];
    open_log(&l, test_folder_path(folder, "made.log", path), &f);
    static const char *const pairs[4][2] = {{"a", "1"}, {"b", "22"}, {"a", "333"}, {"c", "4444"}};
    for (size_t i = 0; i < 4; i++) {
        put(&l, pairs[i][0], pairs[i][1]);
        ends[i] = (size_t)l.size;
    }
    sync_log(&l);
    storage_log_close(&l);
    return test_read_file(path);
}

static const char *const after_records[] = {"", "a=1 ", "a=1 b=22 ", "a=333 b=22 ", "a=333 b=22 c=4444 "};

static size_t whole_records(const size_t ends[4], size_t len)
{
    size_t n = 0;
    while (n < 4 && ends[n] <= len)
        n++;
    return n;
}

// As after kill -9 at any moment of a write: what was whole is there, and the log goes on from there.
static void a_log_cut_anywhere_keeps_what_is_whole(void **state)
{
    (void)state;
    struct test_folder folder;
    struct storage_log l;
    struct found f;
    char path[256], text[4096];
    size_t ends[4];
    test_folder_init(&folder);
    struct bytes all = make_log(&folder, ends);
    test_folder_path(&folder, "cut.log", path);
    for (size_t len = 0; len <= all.len; len++) {
        struct stat st;
        size_t records = whole_records(ends, len);
        test_folder_write(&folder, "cut.log", (struct bytes){all.data, len});
        open_log(&l, path, &f);
        assert_string_equal(found_text(&f, text), after_records[records]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, records == 0 ? 0 : ends[records - 1]);
        put(&l, "z", "9");
        sync_log(&l);
        storage_log_close(&l);
        char expected[128];
        snprintf(expected, sizeof expected, "%sz=9 ", after_records[records]);
        assert_holds(path, expected);
    }
    free((void *)(uintptr_t)all.data);
    test_folder_fini(&folder);
}

static void a_flipped_bit_never_gives_a_wrong_pair(void **state)
{
    (void)state;
    struct test_folder folder;
    struct storage_log l;
    struct found f;
    char path[256], text[4096];
    size_t ends[4];
    test_folder_init(&folder);
    struct bytes all = make_log(&folder, ends);
    uint8_t *damaged = mem_alloc(all.len);
    test_folder_path(&folder, "flipped.log", path);
    for (size_t bit = 0; bit < 8 * all.len; bit++) {
        memcpy(damaged, all.data, all.len);
        damaged[bit / 8] ^= (uint8_t)(1u << bit % 8);
        test_folder_write(&folder, "flipped.log", (struct bytes){damaged, all.len});
        open_log(&l, path, &f);
        // whole_records counts those that end before the damage
        assert_string_equal(found_text(&f, text), after_records[whole_records(ends, bit / 8)]);
        storage_log_close(&l);
    }
    free(damaged);
    free((void *)(uintptr_t)all.data);
    test_folder_fini(&folder);
}

static void damage_is_told(void **state)
{
    (void)state;
    struct test_folder folder;
    struct storage_log l;
    char path[256], *text = NULL;
    size_t len;
    struct err e;
    FILE *stream = open_memstream(&text, &len);
    struct log *log = log_create(&(struct log_options){.stream = stream});
    const struct logger logger = {log, "extension", "file_storage"};
    test_folder_init(&folder);
    test_folder_write(&folder, "x.log", BYTES_LITERAL("nonsense"));
    assert_int_equal(storage_log_open(&l, test_folder_path(&folder, "x.log", path), true, &logger, NULL, NULL, &e),
                     ERR_OK);
    storage_log_close(&l);
    log_destroy(&log);
    fclose(stream);
    assert_non_null(strstr(text, "x.log is damaged at byte 0: the 8 bytes from there on are cut off"));
    free(text);
    test_folder_fini(&folder);
}

static void fill_with_garbage(struct storage_log *l)
{
    char value[1025];
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    put(l, "keep", "this");
    for (int i = 0; i < 100; i++)
        put(l, "often", value);
    put(l, "often", "last");
    sync_log(l);
}

static off_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void garbage_goes_when_opened(void **state)
{
    (void)state;
    struct test_folder folder;
    struct storage_log l;
    struct found f;
    char path[256];
    test_folder_init(&folder);
    open_log(&l, test_folder_path(&folder, "x.log", path), &f);
    fill_with_garbage(&l);
    storage_log_close(&l);
    assert_true(size_of(path) > 100 * 1024);
    assert_holds(path, "keep=this often=last ");
    assert_int_equal(size_of(path), 2 * 20 + strlen("keepthisoftenlast"));
    assert_holds(path, "keep=this often=last ");
    char *names = test_folder_names(&folder);
    assert_string_equal(names, "x.log");
    free(names);
    test_folder_fini(&folder);
}

static void garbage_goes_while_running(void **state)
{
    (void)state;
    struct test_folder folder;
    struct storage_log l;
    struct found f;
    char path[256];
    test_folder_init(&folder);
    open_log(&l, test_folder_path(&folder, "x.log", path), &f);
    fill_with_garbage(&l);
    storage_log_review(&l);
    assert_int_equal(size_of(path), 2 * 20 + strlen("keepthisoftenlast"));
    put(&l, "after", "it");
    sync_log(&l);
    storage_log_review(&l); // too small to look at
    storage_log_close(&l);
    assert_holds(path, "after=it keep=this often=last ");
    test_folder_fini(&folder);
}

// RLIMIT_FSIZE stands in for a full disk.
static void a_full_disk_leaves_a_valid_log(void **state)
{
    (void)state;
    struct test_folder folder;
    struct storage_log l;
    struct found f;
    struct err e = {0};
    struct rlimit old, small;
    char path[256];
    test_folder_init(&folder);
    open_log(&l, test_folder_path(&folder, "x.log", path), &f);
    put(&l, "a", "1");
    sync_log(&l);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){(rlim_t)l.size + 10, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum err_code rc = storage_log_append(&l, BYTES_LITERAL("b"), BYTES_LITERAL("2"), &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(rc, ERR_IO);
    assert_non_null(strstr(e.text, "x.log: File too large"));
    assert_int_equal(size_of(path), l.size);
    put(&l, "c", "3");
    sync_log(&l);
    storage_log_close(&l);
    assert_holds(path, "a=1 c=3 ");
    test_folder_fini(&folder);
}

static void limits_are_named(void **state)
{
    (void)state;
    struct test_folder folder;
    struct storage_log l;
    struct found f;
    struct err e = {0};
    char path[256];
    uint8_t *large = mem_alloc(STORAGE_KEY_MAX + 1);
    test_folder_init(&folder);
    open_log(&l, test_folder_path(&folder, "x.log", path), &f);
    assert_int_equal(storage_log_append(&l, (struct bytes){large, STORAGE_KEY_MAX + 1}, BYTES_LITERAL("v"), &e),
                     ERR_LIMIT);
    assert_non_null(strstr(e.text, "a key of 65537 bytes (at most 65536)"));
    storage_log_close(&l);
    free(large);
    assert_int_equal(storage_log_open(&l, test_folder_path(&folder, "none/x.log", path), true, &no_log, NULL, NULL, &e),
                     ERR_IO);
    storage_log_close(&l);
    test_folder_fini(&folder);
}

static void without_memory_it_fails_clean(void **state)
{
    (void)state;
    struct test_folder folder;
    size_t ends[4];
    char path[256];
    test_folder_init(&folder);
    free((void *)(uintptr_t)make_log(&folder, ends).data);
    test_folder_path(&folder, "made.log", path);
    enum err_code rc = ERR_MEMORY;
    size_t n = 1;
    for (; rc != ERR_OK; n++) {
        struct storage_log l;
        struct err e = {0};
        mem_fail_from(n);
        rc = storage_log_open(&l, path, true, &no_log, NULL, NULL, &e);
        mem_fail_from(0);
        assert_true(rc == ERR_OK || rc == ERR_MEMORY);
        storage_log_close(&l);
        assert_in_range(n, 1, 100);
    }
    assert_in_range(n, 3, 100);
    assert_holds(path, after_records[4]);
    test_folder_fini(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_value_of_a_key_counts),
        cmocka_unit_test(a_log_cut_anywhere_keeps_what_is_whole),
        cmocka_unit_test(a_flipped_bit_never_gives_a_wrong_pair),
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(garbage_goes_when_opened),
        cmocka_unit_test(garbage_goes_while_running),
        cmocka_unit_test(a_full_disk_leaves_a_valid_log),
        cmocka_unit_test(limits_are_named),
        cmocka_unit_test(without_memory_it_fails_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
