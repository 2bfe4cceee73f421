// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/secret_file.h"
#include "tests/support/test_folder.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct world {
    struct test_folder folder;
    char path[256];
    struct secret_file file;
    char used[64];
    unsigned uses;
    int64_t now;
    struct log *log;
    struct logger logger;
    FILE *stream;
    char *text;
    size_t len;
};

static enum err_code use(void *arg, struct bytes text, struct err *e)
{
    struct world *w = arg;
    if (text.len == 0)
        return err_set(e, ERR_INVALID, "it is empty");
    w->uses++;
    snprintf(w->used, sizeof w->used, "%.*s", (int)text.len, (const char *)text.data);
    return ERR_OK;
}

static void write_file(struct world *w, const char *text)
{
    test_folder_write(&w->folder, "f", bytes_from_text(text));
}

static void init(struct world *w)
{
    *w = (struct world){.now = NANOS_PER_SECOND};
    test_folder_init(&w->folder);
    w->file = (struct secret_file){.path = test_folder_path(&w->folder, "f", w->path), .use = use, .arg = w};
    w->stream = open_memstream(&w->text, &w->len);
    w->log = log_create(&(struct log_options){.stream = w->stream});
    w->logger = (struct logger){w->log, "extension", "x"};
}

static void fini(struct world *w)
{
    log_destroy(&w->log);
    fclose(w->stream);
    free(w->text);
    test_folder_fini(&w->folder);
}

static void start(struct world *w, const char *text)
{
    struct err e = {0};
    init(w);
    write_file(w, text);
    assert_int_equal(secret_file_load(&w->file, &e), ERR_OK);
    assert_string_equal(w->used, text);
}

static bool look(struct world *w)
{
    w->now += NANOS_PER_SECOND;
    return secret_file_refresh(&w->file, w->now, false, &w->logger);
}

static unsigned lines(struct world *w)
{
    unsigned n = 0;
    fflush(w->stream);
    for (const char *c = w->text; c != NULL && *c != '\0'; c++)
        n += *c == '\n';
    return n;
}

static void a_change_is_taken(void **state)
{
    (void)state;
    struct world w;
    start(&w, "one\n");
    assert_false(look(&w));
    write_file(&w, "other\n");
    assert_false(secret_file_refresh(&w.file, w.now, false, &w.logger)); // within the second
    assert_true(look(&w));
    assert_string_equal(w.used, "other\n");
    assert_false(look(&w));
    assert_int_equal(w.uses, 2);
    fini(&w);
}

static void half_a_file_waits(void **state)
{
    (void)state;
    struct world w;
    start(&w, "one");
    write_file(&w, "two-");
    assert_false(look(&w));
    write_file(&w, "two-and-the-rest");
    assert_false(look(&w)); // it has changed since
    assert_string_equal(w.used, "one");
    assert_true(look(&w));
    assert_string_equal(w.used, "two-and-the-rest");
    assert_int_equal(w.uses, 2);
    fini(&w);
}

static void at_once_takes_what_there_is(void **state)
{
    (void)state;
    struct world w;
    start(&w, "one");
    assert_false(secret_file_refresh(&w.file, w.now, true, &w.logger));
    write_file(&w, "no end");
    assert_true(secret_file_refresh(&w.file, w.now, true, &w.logger));
    assert_string_equal(w.used, "no end");
    fini(&w);
}

static void what_cannot_be_used_is_told_once(void **state)
{
    (void)state;
    struct world w;
    start(&w, "one\n");
    write_file(&w, "");
    assert_false(look(&w));
    assert_false(look(&w)); // settled: still nothing
    assert_int_equal(lines(&w), 1);
    assert_non_null(strstr(w.text, "stays in use"));
    assert_false(look(&w));
    assert_int_equal(unlink(w.path), 0);
    assert_false(look(&w));
    assert_false(look(&w));
    assert_int_equal(lines(&w), 2);
    assert_string_equal(w.used, "one\n");
    write_file(&w, "back\n");
    assert_true(look(&w));
    assert_string_equal(w.used, "back\n");
    fini(&w);
}

static void assert_load_fails(struct world *w, const char *words)
{
    struct err e = {0};
    assert_int_not_equal(secret_file_load(&w->file, &e), ERR_OK);
    assert_non_null(strstr(e.text, w->file.path));
    if (strstr(e.text, words) == NULL)
        fail_msg("%s", e.text);
}

static void files_that_fail(void **state)
{
    (void)state;
    struct world w;
    init(&w);
    assert_load_fails(&w, "No such file");
    write_file(&w, "");
    assert_load_fails(&w, "it is empty");
    uint8_t *much = mem_alloc(SECRET_FILE_MAX_BYTES + 1);
    test_folder_write(&w.folder, "f", (struct bytes){much, SECRET_FILE_MAX_BYTES + 1});
    free(much);
    assert_load_fails(&w, "more than the 1048576 bytes");
    w.file.path = w.folder.path;
    assert_load_fails(&w, "is not a file");
    fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_taken),
        cmocka_unit_test(half_a_file_waits),
        cmocka_unit_test(at_once_takes_what_there_is),
        cmocka_unit_test(what_cannot_be_used_is_told_once),
        cmocka_unit_test(files_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
