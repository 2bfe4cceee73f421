// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    struct option_values to, header, quiet;
    struct err e;
    int rest;
};

enum { OPTION_COUNT = 3 };

static void describe(struct fixture *f, struct option out[OPTION_COUNT])
{
    out[0] = (struct option){"to", "URL|DIR", "where to", &f->to};
    out[1] = (struct option){"header", "K=V", "may be repeated", &f->header};
    out[2] = (struct option){"quiet", NULL, "say less", &f->quiet};
}

// argv: terminated by NULL, rearranged.
static enum err_code parse(struct fixture *f, char **argv)
{
    struct option options[OPTION_COUNT];
    int argc = 0;
    while (argv[argc] != NULL)
        argc++;
    *f = (struct fixture){.rest = -1};
    describe(f, options);
    return options_parse(options, OPTION_COUNT, argc, argv, &f->rest, &f->e);
}

#define ARGS(...) ((char *[]){__VA_ARGS__, NULL})

static void both_spellings_and_order(void **state)
{
    (void)state;
    struct fixture f;
    assert_int_equal(parse(&f, ARGS("--header=a=1", "--header", "b=2", "--header=", "--to", "x")), ERR_OK);
    assert_int_equal(f.header.count, 3);
    assert_string_equal(f.header.items[0], "a=1");
    assert_string_equal(f.header.items[1], "b=2");
    assert_string_equal(f.header.items[2], "");
    assert_string_equal(option_last(&f.header), "");
    assert_string_equal(option_last(&f.to), "x");
    assert_null(option_last(&f.quiet));
    assert_int_equal(f.rest, 0);
}

static void what_is_no_option_comes_to_the_front(void **state)
{
    (void)state;
    struct fixture f;
    char *argv[] = {"--to", "u", "one", "--quiet", "-", "two", "--", "--to", "--", NULL};
    assert_int_equal(parse(&f, argv), ERR_OK);
    assert_int_equal(f.rest, 5);
    const char *rest[] = {"one", "-", "two", "--to", "--"};
    for (int i = 0; i < f.rest; i++)
        assert_string_equal(argv[i], rest[i]);
    assert_int_equal(f.to.count, 1);
    assert_int_equal(f.quiet.count, 1);
    assert_int_equal(parse(&f, ARGS("--")), ERR_OK);
    assert_int_equal(f.rest, 0);
}

static void an_option_takes_whatever_follows(void **state)
{
    (void)state;
    struct fixture f;
    assert_int_equal(parse(&f, ARGS("--to", "--quiet")), ERR_OK);
    assert_string_equal(option_last(&f.to), "--quiet");
    assert_int_equal(f.quiet.count, 0);
}

static void switches(void **state)
{
    (void)state;
    struct fixture f;
    assert_int_equal(parse(&f, ARGS("--quiet", "file")), ERR_OK);
    assert_string_equal(option_last(&f.quiet), "true");
    assert_int_equal(f.rest, 1);
    assert_int_equal(parse(&f, ARGS("--quiet=true")), ERR_OK);
    assert_int_equal(f.quiet.count, 1);
    assert_int_equal(parse(&f, ARGS("--quiet", "--quiet=false")), ERR_OK);
    assert_int_equal(f.quiet.count, 0);
    assert_int_equal(parse(&f, ARGS("--quiet=maybe")), ERR_INVALID);
    assert_string_equal(f.e.text, "--quiet takes no value, or true or false");
}

static void fails(const char *text, char **argv)
{
    struct fixture f;
    assert_int_equal(parse(&f, argv), ERR_INVALID);
    assert_string_equal(f.e.text, text);
}

static void errors_say_what_and_never_the_value(void **state)
{
    (void)state;
    fails("unknown option --haeder, did you mean --header?", ARGS("--haeder=Authorization=s3cr3t"));
    fails("unknown option --something-else", ARGS("--something-else"));
    fails("unknown option --", ARGS("--=x"));
    fails("unknown option --t, did you mean --to?", ARGS("--t"));
    fails("unknown option --tox, did you mean --to?", ARGS("--tox"));
    fails("--to needs a value: --to URL|DIR", ARGS("file", "--to"));
}

static void names_of_any_length(void **state)
{
    (void)state;
    char name[4096];
    memset(name, 'x', sizeof name - 1);
    memcpy(name, "--", 2);
    name[sizeof name - 1] = '\0';
    struct fixture f;
    assert_int_equal(parse(&f, ARGS(name)), ERR_INVALID);
    assert_true(strlen(f.e.text) < 200);
}

static void too_many_of_one(void **state)
{
    (void)state;
    for (int separate = 0; separate < 2; separate++) {
        struct fixture f;
        char *argv[2 * COUNT_OF(f.header.items) + 3] = {NULL};
        size_t count = COUNT_OF(f.header.items), n = 0;
        for (size_t i = 0; i < count; i++)
            argv[n++] = "--header=a=b";
        assert_int_equal(parse(&f, argv), ERR_OK);
        assert_int_equal(f.header.count, count);
        argv[n++] = separate ? "--header" : "--header=Authorization=s3cr3t";
        argv[n++] = separate ? "Authorization=s3cr3t" : NULL;
        fails("--header is given more than 64 times", argv);
    }
}

static void help_has_a_line_each(void **state)
{
    (void)state;
    struct fixture f = {.rest = 0};
    struct option options[OPTION_COUNT];
    char text[512] = "";
    describe(&f, options);
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
    options_print(options, OPTION_COUNT);
    fflush(stdout);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    close(saved);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, "  --to URL|DIR                   where to\n"
                              "  --header K=V                   may be repeated\n"
                              "  --quiet                        say less\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_spellings_and_order),
        cmocka_unit_test(what_is_no_option_comes_to_the_front),
        cmocka_unit_test(an_option_takes_whatever_follows),
        cmocka_unit_test(switches),
        cmocka_unit_test(errors_say_what_and_never_the_value),
        cmocka_unit_test(names_of_any_length),
        cmocka_unit_test(too_many_of_one),
        cmocka_unit_test(help_has_a_line_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
