// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_failed_check_names_itself_and_aborts(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        CHECK(1 + 1 == 3);
        _exit(0);
    }
    close(ends[1]);
    char text[512] = "";
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(text, "check_test.c:"));
    assert_non_null(strstr(text, "1 + 1 == 3 does not hold"));
}

static void a_held_check_evaluates_once(void **state)
{
    (void)state;
    int evaluated = 0;
    CHECK(++evaluated == 1);
    assert_int_equal(evaluated, 1);
}

struct outer {
    int before;
    struct inner {
        int value;
    } inner;
};

static void container_and_count(void **state)
{
    (void)state;
    struct outer o = {.before = 5};
    struct inner *i = &o.inner;
    assert_ptr_equal(CONTAINER_OF(i, struct outer, inner), &o);
    int array[7];
    assert_int_equal(COUNT_OF(array), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_check_names_itself_and_aborts),
        cmocka_unit_test(a_held_check_evaluates_once),
        cmocka_unit_test(container_and_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
