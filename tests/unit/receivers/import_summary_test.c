// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "receivers/import_summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What one of the two standard streams gets meanwhile.
struct capture {
    int stream, saved;
    FILE *file;
};

static void capture_begin(struct capture *c, int stream)
{
    fflush(NULL);
    c->stream = stream;
    c->saved = dup(stream);
    c->file = tmpfile();
    assert_non_null(c->file);
    assert_true(dup2(fileno(c->file), stream) >= 0);
}

// free() it.
static char *capture_end(struct capture *c)
{
    fflush(NULL);
    assert_true(dup2(c->saved, c->stream) >= 0);
    close(c->saved);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    rewind(c->file);
    assert_true(fread(text, 1, (1 << 16) - 1, c->file) < (1 << 16) - 1);
    fclose(c->file);
    return text;
}

static void found(struct import_summary *s, size_t files)
{
    const struct import_observer o = import_summary_observer(s);
    o.on_found(o.arg, files);
}

static struct profile_file file_of(enum file_outcome outcome, const char *why)
{
    struct profile_file f = {
        .path = "in/a.pb",
        .outcome = outcome,
        .profiles = 2,
        .samples = 10,
        .file_bytes = 1000,
    };
    f.profile_time_nanos = clock_wall_nanos(&clock_system);
    snprintf(f.e.text, sizeof f.e.text, "%s", why);
    f.e.code = why[0] != '\0' ? ERR_INVALID : ERR_OK;
    return f;
}

static void ended(struct import_summary *s, const struct profile_file *f, bool is_given)
{
    const struct import_observer o = import_summary_observer(s);
    o.on_file(o.arg, f, is_given);
}

// What stderr is told about one file.
static char *told(struct import_summary *s, const struct profile_file *f, bool is_given)
{
    struct capture c;
    capture_begin(&c, STDERR_FILENO);
    ended(s, f, is_given);
    return capture_end(&c);
}

static void is_told(struct import_summary *s, const struct profile_file *f, bool is_given, const char *expected)
{
    char *text = told(s, f, is_given);
    assert_string_equal(text, expected);
    free(text);
}

enum { OTHER = FILE_OUTCOME_COUNT }; // a file in a folder that is no profile

static void end_as(struct import_summary *s, int outcome)
{
    struct profile_file f = file_of(outcome == OTHER ? FILE_INVALID : (enum file_outcome)outcome, "why");
    if (outcome == OTHER)
        f.e.code = ERR_UNSUPPORTED;
    free(told(s, &f, false));
}

static void exit_codes(void **state)
{
    (void)state;
    static const struct {
        size_t found;
        int outcomes[4]; // + 1, 0 ends
        int code;
    } cases[] = {
        {0, {0}, 1},
        {1, {FILE_SENT + 1}, 0},
        {2, {FILE_SENT + 1, FILE_KNOWN + 1}, 0},
        {1, {FILE_KNOWN + 1}, 0},
        {2, {FILE_SENT + 1, OTHER + 1}, 0},
        {1, {OTHER + 1}, 1},
        {2, {FILE_SENT + 1}, 1}, // interrupted
        {1, {0}, 1},
        {1, {FILE_PARTIAL + 1}, 1},
        {2, {FILE_SENT + 1, FILE_PARTIAL + 1}, 1},
        {2, {FILE_SENT + 1, FILE_GAVE_UP + 1}, 1},
        {2, {FILE_SENT + 1, FILE_REFUSED + 1}, 1},
        {2, {FILE_SENT + 1, FILE_INVALID + 1}, 1},
        {2, {FILE_SENT + 1, FILE_UNREADABLE + 1}, 1},
        {2, {FILE_SENT + 1, FILE_CHANGED + 1}, 1},
        {2, {FILE_SENT + 1, FILE_IN_FLIGHT + 1}, 1},
        {2, {FILE_SENT + 1, FILE_BUSY + 1}, 1},
        {4, {FILE_SENT + 1, FILE_KNOWN + 1, OTHER + 1, FILE_INVALID + 1}, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct import_summary s;
        import_summary_init(&s, false, false, false);
        s.found = cases[i].found;
        for (size_t k = 0; k < 4 && cases[i].outcomes[k] != 0; k++)
            end_as(&s, cases[i].outcomes[k] - 1);
        const struct import_observer o = import_summary_observer(&s);
        if (import_summary_exit_code(&s) != cases[i].code || o.on_end(o.arg) != cases[i].code)
            fail_msg("case %zu: %d", i, import_summary_exit_code(&s));
    }
}

static void each_file_that_fails_is_named(void **state)
{
    (void)state;
    struct import_summary s;
    import_summary_init(&s, false, false, false);
    found(&s, 8);
    struct profile_file f = file_of(FILE_SENT, "");
    is_told(&s, &f, true, "");
    f = file_of(FILE_KNOWN, "");
    is_told(&s, &f, true, "");
    f = file_of(FILE_REFUSED, "the peer answers 400");
    is_told(&s, &f, false, "not sent: in/a.pb: the peer answers 400\n");
    f = file_of(FILE_PARTIAL, "2 too old");
    is_told(&s, &f, false, "partly rejected: in/a.pb: 2 too old\n");
    f = file_of(FILE_IN_FLIGHT, "");
    is_told(&s, &f, false, "not sent: in/a.pb: in_flight\n");
    f = file_of(FILE_INVALID, "damaged");
    is_told(&s, &f, false, "not sent: in/a.pb: damaged\n");
    f.e.code = ERR_UNSUPPORTED;
    is_told(&s, &f, false, "skipped: in/a.pb: damaged\n");
    is_told(&s, &f, true, "not sent: in/a.pb: damaged\n"); // it was named
}

static void complaints_come_to_an_end(void **state)
{
    (void)state;
    struct import_summary s;
    struct capture c;
    size_t lines = 0;
    const struct profile_file f = file_of(FILE_INVALID, "damaged");
    import_summary_init(&s, false, false, true);
    s.found = 1000;
    capture_begin(&c, STDERR_FILENO);
    for (int i = 0; i < 1000; i++)
        ended(&s, &f, false);
    char *text = capture_end(&c);
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_int_equal(lines, 51);
    assert_non_null(strstr(text, "\nmore files have errors; they are counted below\n"));
    free(text);
    assert_int_equal(s.outcomes[FILE_INVALID], 1000);
}

#define REFUSES "; Pyroscope refuses profiles older than an hour by default: use --timestamp now for it\n"

static void old_profiles_are_hinted_at_once(void **state)
{
    (void)state;
    struct import_summary s;
    struct profile_file f = file_of(FILE_SENT, "");
    import_summary_init(&s, false, false, true);
    s.found = 5;
    f.profile_time_nanos -= 3590 * NANOS_PER_SECOND;
    is_told(&s, &f, true, "");
    f.profile_time_nanos -= 3700 * NANOS_PER_SECOND;
    f.profiles = 0;
    is_told(&s, &f, true, "");
    f.profiles = 1;
    f.outcome = FILE_GAVE_UP;
    is_told(&s, &f, true, "not sent: in/a.pb: gave_up\n");
    f.outcome = FILE_SENT;
    is_told(&s, &f, true, "hint: in/a.pb is 2 hours old" REFUSES);
    is_told(&s, &f, true, "");
    import_summary_init(&s, false, false, false);
    is_told(&s, &f, true, "");
}

static void ages_in_words(void **state)
{
    (void)state;
    static const struct {
        int64_t hours;
        const char *text;
    } cases[] = {{1, "1 hour"}, {2, "2 hours"}, {47, "47 hours"}, {48, "2 days"}, {24 * 400, "400 days"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct import_summary s;
        char expected[256];
        struct profile_file f = file_of(FILE_PARTIAL, "x");
        import_summary_init(&s, false, false, true);
        f.profile_time_nanos -= (cases[i].hours * 3600 + 60) * NANOS_PER_SECOND;
        snprintf(expected, sizeof expected, "hint: in/a.pb is %s old" REFUSES "partly rejected: in/a.pb: x\n",
                 cases[i].text);
        is_told(&s, &f, true, expected);
    }
}

static void hostile_names_and_words(void **state)
{
    (void)state;
    struct import_summary s;
    struct profile_file f = file_of(FILE_REFUSED, "no\r\nsent 5\x1b[2J\x7f");
    f.path = "a\n\x1b]0;x\x07 caf\xc3\xa9 \xc2\x9b \xff";
    import_summary_init(&s, false, false, true);
    is_told(&s, &f, true, "not sent: a\\x0a\\x1b]0;x\\x07 caf\xc3\xa9 \\x9b \\xff: no\\x0d\\x0asent 5\\x1b[2J\\x7f\n");
}

static char *printed(const struct import_summary *s)
{
    struct capture c;
    capture_begin(&c, STDOUT_FILENO);
    import_summary_print(s);
    return capture_end(&c);
}

// The time it took is not the test's to say.
static void prints(const struct import_summary *s, const char *first, const char *rest)
{
    char *text = printed(s);
    if (strncmp(text, first, strlen(first)) != 0)
        fail_msg("%s", text);
    assert_string_equal(strchr(text, '\n') + 1, rest);
    free(text);
}

static void the_closing_summary(void **state)
{
    (void)state;
    struct import_summary s;
    import_summary_init(&s, false, false, false);
    s.found = 13;
    static const int all[] = {FILE_SENT,    FILE_SENT,    FILE_PARTIAL,    FILE_KNOWN,   OTHER,     FILE_INVALID,
                              FILE_REFUSED, FILE_GAVE_UP, FILE_UNREADABLE, FILE_CHANGED, FILE_BUSY, FILE_IN_FLIGHT};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        end_as(&s, all[i]);
    prints(&s, "sent 3 of 13 files: 6 profiles, 30 samples, 3.0 KB in ",
           "  1 skipped: the same content was sent under another name\n"
           "  1 skipped: not profiles\n"
           "  1 partly rejected by the peer\n"
           "  1 not sent: not readable as a profile\n"
           "  1 not sent: not readable at all\n"
           "  1 not sent: refused by the peer\n"
           "  1 not sent: not delivered in time\n"
           "  1 not sent: changed while being read\n"
           "  1 not sent: too large for the memory limit\n"
           "  1 not sent: same content still under way\n"
           "  1 not tried: interrupted\n");
    import_summary_init(&s, true, false, false);
    s.found = 1;
    end_as(&s, FILE_SENT);
    prints(&s, "would send 1 of 1 file: 2 profiles, 10 samples, 1.0 KB in ", "");
}

static void nothing_found_is_said(void **state)
{
    (void)state;
    struct import_summary s;
    struct capture c;
    import_summary_init(&s, false, false, true);
    capture_begin(&c, STDERR_FILENO);
    found(&s, 0);
    char *text = capture_end(&c);
    assert_non_null(strstr(text, "nothing is there"));
    free(text);
    prints(&s, "sent 0 of 0 files: 0 profiles, 0 samples, 0 B in ", "");
}

static void progress_on_a_terminal(void **state)
{
    (void)state;
    struct import_summary s;
    const struct profile_file f = file_of(FILE_SENT, "");
    import_summary_init(&s, false, true, false);
    s.found = 2;
    is_told(&s, &f, true, "\r\x1b[K[###############...............] 1 of 2 files, 1.0 KB");
    is_told(&s, &f, true, ""); // too soon for the next
    s.shown_nanos = 1;
    s.ended = 1;
    is_told(&s, &f, true, "\r\x1b[K[##############################] 2 of 2 files, 3.0 KB");
    const struct profile_file bad = file_of(FILE_INVALID, "damaged");
    is_told(&s, &bad, true, "\r\x1b[Knot sent: in/a.pb: damaged\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes),
        cmocka_unit_test(each_file_that_fails_is_named),
        cmocka_unit_test(complaints_come_to_an_end),
        cmocka_unit_test(old_profiles_are_hinted_at_once),
        cmocka_unit_test(ages_in_words),
        cmocka_unit_test(hostile_names_and_words),
        cmocka_unit_test(the_closing_summary),
        cmocka_unit_test(nothing_found_is_said),
        cmocka_unit_test(progress_on_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
