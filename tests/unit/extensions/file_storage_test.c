// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "extensions/extensions.h"
#include "tests/support/fake_env.h"
#include "tests/support/test_folder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
    struct test_folder folder;
    struct fake_env env;
    struct fake_component component;
    struct storage *storage;
};

static void world_open(struct world *w, const char *settings)
{
    struct err e = {0};
    char yaml[512];
    fake_env_init(&w->env, 1);
    snprintf(yaml, sizeof yaml, settings, w->folder.path);
    fake_component_init(&w->component, &w->env, KIND_EXTENSION, &file_storage_extension.module, yaml);
    assert_int_equal(fake_component_start(&w->component, &e), ERR_OK);
    w->storage = file_storage_extension.storage((struct extension *)w->component.instance.component);
}

static void world_close(struct world *w)
{
    fake_component_fini(&w->component);
    fake_env_fini(&w->env);
}

// --- clients ---

struct pairs {
    char text[4096];
};

static void on_pair(void *arg, struct bytes key, struct bytes value)
{
    struct pairs *p = arg;
    size_t len = strlen(p->text);
    snprintf(p->text + len, sizeof p->text - len, "%.*s=%.*s ", BYTES_PRINT(key), BYTES_PRINT(value));
}

static struct storage_client *open_client(struct world *w, const char *name, const char *expected)
{
    struct pairs p = {.text = ""};
    struct storage_client *c;
    struct err e = {0};
    assert_int_equal(w->storage->open(w->storage, name, on_pair, &p, &c, &e), ERR_OK);
    assert_string_equal(p.text, expected);
    return c;
}

struct counter {
    int ok, failed, wanted;
    struct loop *loop;
};

static void on_done(void *arg, bool failed)
{
    struct counter *c = arg;
    assert_true(loop_is_current(c->loop));
    *(failed ? &c->failed : &c->ok) += 1;
}

static bool all_done(void *arg)
{
    struct counter *c = arg;
    return c->ok + c->failed == c->wanted;
}

static void put(struct world *w, struct storage_client *client, const char *key, const char *value, struct counter *c)
{
    c->wanted++;
    w->storage->put(client, bytes_from_text(key), bytes_from_text(value), &w->env.loop, on_done, c);
}

static void wait_for(struct world *w, struct counter *c)
{
    fake_env_run_until(&w->env, all_done, c);
}

static void what_is_put_is_there_after_a_restart(void **state)
{
    (void)state;
    struct world w;
    test_folder_init(&w.folder);
    world_open(&w, "{directory: %s}");
    struct counter done = {.loop = &w.env.loop};
    struct storage_client *a = open_client(&w, "receiver/pprof/a", "");
    struct storage_client *b = open_client(&w, "receiver/pprof/b", "");
    put(&w, a, "k", "1", &done);
    put(&w, a, "gone", "x", &done);
    put(&w, b, "k", "of b", &done);
    put(&w, a, "k", "2", &done);
    put(&w, a, "gone", "", &done);
    wait_for(&w, &done);
    assert_int_equal(done.failed, 0);
    w.storage->close(&a);
    w.storage->close(&b);
    assert_null(a);
    world_close(&w);

    world_open(&w, "{directory: %s}");
    a = open_client(&w, "receiver/pprof/a", "k=2 ");
    b = open_client(&w, "receiver/pprof/b", "k=of b ");
    w.storage->close(&a);
    w.storage->close(&b);
    world_close(&w);
    test_folder_fini(&w.folder);
}

static void many_puts_keep_their_order(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    struct world w;
    char value[32];
    test_folder_init(&w.folder);
    world_open(&w, "{directory: %s}");
    struct counter done = {.loop = &w.env.loop};
    struct storage_client *c = open_client(&w, "x", "");
    for (int i = 0; i <= COUNT; i++) {
        snprintf(value, sizeof value, "%d", i);
        put(&w, c, "k", value, &done);
    }
    wait_for(&w, &done);
    assert_int_equal(done.ok, COUNT + 1);
    w.storage->close(&c);
    c = open_client(&w, "x", "k=2000 ");
    w.storage->close(&c);
    world_close(&w);
    test_folder_fini(&w.folder);
}

static void names_become_safe_files_of_their_own(void **state)
{
    (void)state;
    struct world w;
    char long_a[400], long_b[400];
    memset(long_a, '/', sizeof long_a);
    long_a[sizeof long_a - 1] = '\0';
    memcpy(long_b, long_a, sizeof long_b);
    long_b[sizeof long_b - 2] = 'b';
    const char *names[] = {"a/b", "a_b", "a%2fb", "..", "../up", "", long_a, long_b};
    struct storage_client *clients[COUNT_OF(names)];
    test_folder_init(&w.folder);
    world_open(&w, "{directory: %s, fsync: false}");
    struct counter done = {.loop = &w.env.loop};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        clients[i] = open_client(&w, names[i], "");
        put(&w, clients[i], "name", names[i], &done);
    }
    wait_for(&w, &done);
    char *files = test_folder_names(&w.folder);
    assert_non_null(strstr(files, "a%2fb.log"));
    assert_non_null(strstr(files, "a%252fb.log"));
    size_t count = 1;
    for (char *at = files; (at = strchr(at, ' ')) != NULL; at++)
        count++;
    assert_int_equal(count, COUNT_OF(names) + 1); // and the lock
    free(files);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        w.storage->close(&clients[i]);
    world_close(&w);
    test_folder_fini(&w.folder);
}

static void a_client_is_open_once(void **state)
{
    (void)state;
    struct world w;
    struct err e = {0};
    struct storage_client *second = NULL;
    test_folder_init(&w.folder);
    world_open(&w, "{directory: %s}");
    struct storage_client *c = open_client(&w, "x", "");
    assert_int_equal(w.storage->open(w.storage, "x", on_pair, NULL, &second, &e), ERR_INVALID);
    assert_non_null(strstr(e.text, "x is open in "));
    w.storage->close(&c);
    world_close(&w);
    test_folder_fini(&w.folder);
}

static enum err_code try_start(const char *yaml, struct err *e)
{
    struct fake_env f;
    struct fake_component c;
    fake_env_init(&f, 1);
    fake_component_init(&c, &f, KIND_EXTENSION, &file_storage_extension.module, yaml);
    enum err_code rc = fake_component_start(&c, e);
    fake_component_fini(&c);
    fake_env_fini(&f);
    return rc;
}

static void two_processes_do_not_share_a_folder(void **state)
{
    (void)state;
    struct world w;
    struct err e = {0};
    char yaml[256];
    test_folder_init(&w.folder);
    world_open(&w, "{directory: %s}");
    snprintf(yaml, sizeof yaml, "{directory: %s}", w.folder.path);
    assert_int_equal(try_start(yaml, &e), ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "is in use by another process"));
    world_close(&w);
    assert_int_equal(try_start(yaml, &e), ERR_OK);
    test_folder_fini(&w.folder);
}

static void a_missing_folder_names_the_key(void **state)
{
    (void)state;
    struct test_folder folder;
    struct err e = {0};
    struct stat st;
    char yaml[256], path[256];
    test_folder_init(&folder);
    snprintf(yaml, sizeof yaml, "{directory: %s/a/b}", folder.path);
    assert_int_equal(try_start(yaml, &e), ERR_IO);
    assert_non_null(strstr(e.text, "create_directory: true"));
    snprintf(yaml, sizeof yaml, "{directory: %s/a/b, create_directory: true, directory_permissions: '0700'}",
             folder.path);
    assert_int_equal(try_start(yaml, &e), ERR_OK);
    assert_int_equal(stat(test_folder_path(&folder, "a/b", path), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    snprintf(yaml, sizeof yaml, "{directory: %s/a/b/lock}", folder.path);
    assert_int_equal(try_start(yaml, &e), ERR_IO);
    assert_non_null(strstr(e.text, "is not a directory"));
    test_folder_fini(&folder);
}

// RLIMIT_FSIZE stands in for a full disk.
static void a_full_disk_fails_the_put_only(void **state)
{
    (void)state;
    struct world w;
    struct rlimit old, small;
    char large[2048];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    test_folder_init(&w.folder);
    world_open(&w, "{directory: %s}");
    struct counter done = {.loop = &w.env.loop};
    struct storage_client *c = open_client(&w, "x", "");
    put(&w, c, "a", "1", &done);
    wait_for(&w, &done);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){1000, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    put(&w, c, "b", large, &done);
    wait_for(&w, &done);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(done.failed, 1);
    assert_non_null(strstr(fake_env_log(&w.env), "a change of x is not stored: "));
    put(&w, c, "c", "3", &done);
    wait_for(&w, &done);
    assert_int_equal(done.failed, 1);
    w.storage->close(&c);
    c = open_client(&w, "x", "a=1 c=3 ");
    w.storage->close(&c);
    world_close(&w);
    test_folder_fini(&w.folder);
}

static void a_put_without_memory_fails(void **state)
{
    (void)state;
    struct world w;
    test_folder_init(&w.folder);
    world_open(&w, "{directory: %s}");
    struct counter done = {.loop = &w.env.loop};
    struct storage_client *c = open_client(&w, "x", "");
    mem_fail_from(1);
    put(&w, c, "a", "1", &done);
    mem_fail_from(0);
    wait_for(&w, &done);
    assert_int_equal(done.failed, 1);
    w.storage->close(&c);
    world_close(&w);
    test_folder_fini(&w.folder);
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
    struct fake_env f;
    void *settings;
    fake_env_init(&f, 1);
    char *text = fake_settings(&f, KIND_EXTENSION, &file_storage_extension.module,
                               "{directory: '', directory_permissions: rwx}", &settings);
    assert_string_equal(text, "test:1:2: extensions.file_storage: directory: must not be empty\n"
                              "test:1:17: extensions.file_storage: directory_permissions: must be an octal mode such "
                              "as \"0750\", found \"rwx\"\n");
    free(text);
    text = fake_settings(&f, KIND_EXTENSION, &file_storage_extension.module,
                         "{timeout: 1s, compaction: {on_start: true}, max_size: 1, recreate: true}", &settings);
    assert_non_null(strstr(text, "warning: "));
    assert_null(strstr(text, "error"));
    assert_string_equal(strchr(text, '\n'), "\n"); // one warning for all
    free(text);
    fake_env_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_there_after_a_restart),
        cmocka_unit_test(many_puts_keep_their_order),
        cmocka_unit_test(names_become_safe_files_of_their_own),
        cmocka_unit_test(a_client_is_open_once),
        cmocka_unit_test(two_processes_do_not_share_a_folder),
        cmocka_unit_test(a_missing_folder_names_the_key),
        cmocka_unit_test(a_full_disk_fails_the_put_only),
        cmocka_unit_test(a_put_without_memory_fails),
        cmocka_unit_test(wrong_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
