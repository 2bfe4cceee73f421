// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/options.h"

#include <string.h>

struct values {
    struct option_values to, header, quiet, kind, format;
};

struct fixture {
    struct values v;
    struct err e;
    int rest;
    bool help;
};

static const char *format_name(size_t i)
{
    static const char *const names[] = {"pprof", "folded", NULL};
    return names[i];
}

static const struct option rows[] = {
    {.name = "to", .letter = 'o', .value = "URL|DIR", .help = "where to", .offset = offsetof(struct values, to)},
    {.name = "header", .value = "K=V", .help = "may be repeated", .offset = offsetof(struct values, header)},
    {.name = "quiet", .letter = 'q', .help = "say less", .offset = offsetof(struct values, quiet)},
    {.name = "kind", .value = "a|bc|d", .help = "one of three", .offset = offsetof(struct values, kind)},
    {.name = "format", .value = "FORMAT", .choice = format_name, .help = "", .offset = offsetof(struct values, format)},
};
static const struct option_table table = {rows, sizeof rows / sizeof rows[0]};

// argv: terminated by NULL, rearranged.
static enum err_code parse(struct fixture *f, char **argv)
{
    int argc = 0;
    while (argv[argc] != NULL)
        argc++;
    *f = (struct fixture){.rest = -1};
    return options_parse(&table, &f->v, argc, argv, &f->rest, &f->help, &f->e);
}

#define ARGS(...) ((char *[]){__VA_ARGS__, NULL})

static void both_spellings_and_order(void **state)
{
    (void)state;
    struct fixture f;
    assert_int_equal(parse(&f, ARGS("--header=a=1", "--header", "b=2", "--header=", "--to", "x")), ERR_OK);
    assert_int_equal(f.v.header.count, 3);
    assert_string_equal(f.v.header.items[0], "a=1");
    assert_string_equal(f.v.header.items[1], "b=2");
    assert_string_equal(f.v.header.items[2], "");
    assert_string_equal(option_last(&f.v.header), "");
    assert_string_equal(option_last(&f.v.to), "x");
    assert_null(option_last(&f.v.quiet));
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
    assert_int_equal(f.v.to.count, 1);
    assert_int_equal(f.v.quiet.count, 1);
    assert_int_equal(parse(&f, ARGS("--")), ERR_OK);
    assert_int_equal(f.rest, 0);
}

static void an_option_takes_whatever_follows(void **state)
{
    (void)state;
    struct fixture f;
    assert_int_equal(parse(&f, ARGS("--to", "--quiet")), ERR_OK);
    assert_string_equal(option_last(&f.v.to), "--quiet");
    assert_int_equal(f.v.quiet.count, 0);
}

static void switches(void **state)
{
    (void)state;
    struct fixture f;
    assert_int_equal(parse(&f, ARGS("--quiet", "file")), ERR_OK);
    assert_string_equal(option_last(&f.v.quiet), "true");
    assert_int_equal(f.rest, 1);
    assert_int_equal(parse(&f, ARGS("--quiet=true")), ERR_OK);
    assert_int_equal(f.v.quiet.count, 1);
    assert_int_equal(parse(&f, ARGS("--quiet", "--quiet=false")), ERR_OK);
    assert_int_equal(f.v.quiet.count, 0);
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
        char *argv[2 * COUNT_OF(f.v.header.items) + 3] = {NULL};
        size_t count = COUNT_OF(f.v.header.items), n = 0;
        for (size_t i = 0; i < count; i++)
            argv[n++] = "--header=a=b";
        assert_int_equal(parse(&f, argv), ERR_OK);
        assert_int_equal(f.v.header.count, count);
        argv[n++] = separate ? "--header" : "--header=Authorization=s3cr3t";
        argv[n++] = separate ? "Authorization=s3cr3t" : NULL;
        fails("--header is given more than 64 times", argv);
    }
}

static void letters(void **state)
{
    (void)state;
    struct fixture f;
    assert_int_equal(parse(&f, ARGS("-o", "x", "-", "-q", "-oy", "-o=z")), ERR_OK);
    assert_int_equal(f.v.to.count, 3);
    assert_string_equal(f.v.to.items[0], "x");
    assert_string_equal(f.v.to.items[1], "y");
    assert_string_equal(f.v.to.items[2], "=z");
    assert_int_equal(f.v.quiet.count, 1);
    assert_int_equal(f.rest, 1);
    fails("--to needs a value: --to URL|DIR", ARGS("-o"));
    fails("unknown option -x; a file whose name begins with - is written ./-NAME", ARGS("-x"));
    fails("unknown option -x; a file whose name begins with - is written ./-NAME", ARGS("-xSECRET"));
    fails("-q takes no value: options of one letter stand alone", ARGS("-qx"));
    assert_int_equal(parse(&f, ARGS("--", "-x")), ERR_OK);
    assert_int_equal(f.rest, 1);
}

static void help_ends_it(void **state)
{
    (void)state;
    struct fixture f;
    assert_int_equal(parse(&f, ARGS("a", "--help", "--no-such-thing")), ERR_OK);
    assert_true(f.help);
    assert_int_equal(parse(&f, ARGS("-h")), ERR_OK);
    assert_true(f.help);
    assert_int_equal(parse(&f, ARGS("--to", "--help", "--", "-h")), ERR_OK);
    assert_false(f.help);
    fails("unknown option --hepl, did you mean --help?", ARGS("--hepl"));
}

static void choices(void **state)
{
    (void)state;
    struct fixture f;
    assert_int_equal(parse(&f, ARGS("--kind", "a", "--kind=bc", "--kind", "d", "--format", "folded")), ERR_OK);
    assert_int_equal(f.v.kind.count, 3);
    fails("--kind takes one of: a, bc, d", ARGS("--kind", "b"));
    fails("--kind takes one of: a, bc, d", ARGS("--kind="));
    fails("--kind takes one of: a, bc, d", ARGS("--kind", "a|bc"));
    fails("--format takes one of: pprof, folded", ARGS("--format=s3cr3t"));
    char text[64];
    assert_true(option_choice(&rows[3], 1, text, sizeof text));
    assert_string_equal(text, "bc");
    assert_false(option_choice(&rows[3], 3, text, sizeof text));
    assert_false(option_choice(&rows[0], 0, text, sizeof text));
    assert_false(option_choice(&rows[2], 0, text, sizeof text));
    assert_false(option_choice(&rows[4], 2, text, sizeof text));
}

static void usage(void **state)
{
    (void)state;
    char text[64];
    assert_string_equal(option_usage(&rows[0], text, sizeof text), "-o, --to URL|DIR");
    assert_string_equal(option_usage(&rows[1], text, sizeof text), "--header K=V");
    assert_string_equal(option_usage(&rows[2], text, sizeof text), "-q, --quiet");
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
        cmocka_unit_test(letters),
        cmocka_unit_test(help_ends_it),
        cmocka_unit_test(choices),
        cmocka_unit_test(usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
