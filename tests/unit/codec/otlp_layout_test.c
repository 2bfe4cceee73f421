// SPDX-License-Identifier: Apache-2.0
// Telling the layouts apart: requests of which only one reading is legal, and those with several.
#include "wire_text.h"

#include "base/mem.h"
#include "codec/otlp_layout.h"
#include "tests/support/test_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { REQUEST_MAX = 1 << 16 };

#define LINKS(more) "4{} " more
#define STRINGS "5'' 5'a' 5'b' 5'c' 5'd' "
#define THREE_ATTRIBUTES "6{2{}} 6{1:1 2{1'x'}} 6{1:2 2{1'y'}} 6{1:3 2{1'z'}} "
#define STACKS "7{} 7{1[1]} "
#define DICTIONARY "2{1{} 2{} 2{2:5} 3{} 4{} " STRINGS THREE_ATTRIBUTES STACKS "}"
// A request of one profile with these fields.
#define REQUEST(dictionary, profile) dictionary " 1{2{2{" profile "}}}"
#define NEW(profile) REQUEST(DICTIONARY, "1{1:1} 3=9 " profile)
#define REFUSED OTLP_LAYOUT_AUTO

struct layout_case {
    const char *request;
    enum otlp_layout layout; // or REFUSED
    const char *word;        // in the evidence or the error
};

static enum err_code find(const char *request, const struct otlp_layout_hints *hints,
                          struct otlp_layout_finding *finding, struct err *e)
{
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    wire_text(&in, request);
    assert_true(buf_ok(&in));
    enum err_code code = otlp_layout_find(buf_bytes(&in), hints, finding, e);
    buf_fini(&in);
    return code;
}

static void check(const struct layout_case *c, const struct otlp_layout_hints *hints)
{
    struct otlp_layout_finding finding = {.layout = REFUSED};
    struct err e = {0};
    enum err_code code = find(c->request, hints, &finding, &e);
    const char *said = code == ERR_OK ? finding.evidence : e.text;
    if ((code == ERR_OK ? finding.layout : REFUSED) != c->layout || strstr(said, c->word) == NULL)
        fail_msg("%s: %s, \"%s\" instead of %s, \"%s\"", c->request, otlp_layout_names[finding.layout], said,
                 otlp_layout_names[c->layout], c->word);
}

static void check_all(const struct layout_case *cases, size_t count, const struct otlp_layout_hints *hints)
{
    for (size_t i = 0; i < count; i++)
        check(&cases[i], hints);
}

static void test_names(void **state)
{
    (void)state;
    enum otlp_layout layout;
    for (int l = 0; l < OTLP_LAYOUTS; l++) {
        assert_true(otlp_layout_from_name(otlp_layout_names[l], &layout));
        assert_int_equal(layout, l);
    }
    assert_true(otlp_layout_from_name("1.4", &layout) && layout == OTLP_LAYOUT_1_5);
    assert_true(otlp_layout_from_name("1.10", &layout) && layout == OTLP_LAYOUT_CURRENT);
    assert_true(otlp_layout_from_name("1.11", &layout) && layout == OTLP_LAYOUT_CURRENT);
    assert_false(otlp_layout_from_name("1.6", &layout));
    assert_false(otlp_layout_from_name("", &layout));
    assert_null(otlp_layout_names[OTLP_LAYOUTS]);
}

// One field is enough.
static void test_wire_types(void **state)
{
    (void)state;
    static const struct layout_case cases[] = {
        {NEW("2{1:1 2[1] 4[7]}"), OTLP_LAYOUT_CURRENT, "Sample field 4 is length-delimited (not 1.8, 1.9)"},
        {NEW("2{1:1 2[7] 3[1]}"), OTLP_LAYOUT_1_9, "Sample field 3 is length-delimited (not 1.10 or later)"},
        {NEW("2{1:1 2[7] 3[1]} 8'0123456789abcdef'"), OTLP_LAYOUT_1_8, "Profile field 8 is length-delimited"},
        {NEW("2{1:1 2[7] 3[1]} 9:3"), OTLP_LAYOUT_1_8, "Profile field 9 is a varint"},
        {NEW("2{1:1 2[7] 3[1]} 12[1]"), OTLP_LAYOUT_1_8, "Profile field 12 is length-delimited"},
        {NEW("2{1:1 2[7] 5<9>} 12[1]"), OTLP_LAYOUT_1_8, "Profile field 12 is length-delimited"},
        {NEW("2{1:1 5<9>} 12[1]"), OTLP_LAYOUT_1_8, "only older layouts have"},
        {NEW("2{1:1 2[7] 3[1]} 7[1,2]"), OTLP_LAYOUT_1_8, "length of what would be an id"},
        {NEW("2{1:1 2[7] 3[1]} 8:3"), OTLP_LAYOUT_1_9, "Profile field 8 is a varint"},
        {REQUEST(DICTIONARY, "1{1:1 3:1} 3=9 2{1:1 2[7] 3[1]}"), OTLP_LAYOUT_1_8, "ValueType field 3"},
        {REQUEST("2{}", "1{1:1} 3[0,1] 2{2:2 3[7]}"), OTLP_LAYOUT_1_7, "Profile field 3 is length-delimited"},
        {REQUEST("2{}", "1{1:1} 3:0 3:1 2{2:2 3:7}"), OTLP_LAYOUT_1_7, "Profile field 3 is a varint"},
        {REQUEST("2{6{1'key' 2{1'x'}}}", "1{} 2{1:0 2:0 3:7}"), OTLP_LAYOUT_1_7, "attribute_table field 1"},
        {REQUEST("2{7{1:1 2:2}}", "1{} 2{1:0 2:0 3:7}"), OTLP_LAYOUT_1_7, "dictionary.7 field 2"},
        {REQUEST("", "1{} 4{} 10'' 10'x' 2{3[7]}"), OTLP_LAYOUT_1_5, "Profile field 4 is length-delimited"},
        {REQUEST("", "1{} 16:1 10'' 2{3[7]}"), OTLP_LAYOUT_1_5, "Profile field 16 is a varint"},
    };
    check_all(cases, COUNT_OF(cases), NULL);
}

// What older layouts have not may be of releases to come.
static void test_fields_to_come(void **state)
{
    (void)state;
    static const struct layout_case cases[] = {
        {NEW("2{1:1 2[1] 4[7] 6:1} 12[1] 30:1"), OTLP_LAYOUT_CURRENT, ""},
        {NEW("2{1:1 2[1] 4[7] 15'x'}"), OTLP_LAYOUT_CURRENT, ""},
    };
    check_all(cases, COUNT_OF(cases), NULL);
}

// The same wire types; which numbers can they be?
static void test_counts_and_indices(void **state)
{
    (void)state;
    static const struct layout_case cases[] = {
        {NEW("2{1:1 2[1,2,3] 5<9>}"), OTLP_LAYOUT_CURRENT, "numbers of values and timestamps"},
        {NEW("2{1:1 2[1,2] 5<9,10>} 2{1:1 2[1] 5<9,10>}"), OTLP_LAYOUT_CURRENT, "numbers of values and timestamps"},
        {NEW("2{1:1 2[7]}"), OTLP_LAYOUT_1_9, "numbers of values and timestamps"},
        {NEW("2{1:1 2:7}"), OTLP_LAYOUT_1_9, "numbers of values and timestamps"},
        {NEW("2{1:1 2:1 3:1}"), OTLP_LAYOUT_1_9, "numbers of values and timestamps"}, // async-profiler 4.3
        {NEW("2{1:1 2:1 4:1}"), OTLP_LAYOUT_CURRENT, "indices and counts"},           // async-profiler 4.5
        {NEW("2{1:1 2[4] 5<9>}"), OTLP_LAYOUT_1_9, "indices and counts"},
        {NEW("2{1:1 2[0] 5<9>}"), OTLP_LAYOUT_1_9, "indices and counts"},
        {NEW("2{1:1 2[2,2] 5<8,9>}"), OTLP_LAYOUT_1_9, "indices and counts"},
        {NEW("2{1:1 2[-1] 5<9>}"), OTLP_LAYOUT_1_9, "indices and counts"},
        {NEW("2{1:1 2:9 2:8 5=8 5=9}"), OTLP_LAYOUT_1_9, "indices and counts"},
        // nothing refers to the attributes but these
        {NEW("2{1:1 2[1,2,3] 5<7,8,9>}"), OTLP_LAYOUT_CURRENT, "nothing would refer to"},
    };
    check_all(cases, COUNT_OF(cases), NULL);
}

// A profile that is bad under each layout says nothing about the others, and the decoder says what is bad.
static void test_bad_profiles_say_nothing(void **state)
{
    (void)state;
    static const struct layout_case cases[] = {
        {NEW("2{1:9 2[1] 5<9>} }} 2{2{1{1:1} 3=9 2{1:1 2[5] 5<9>}"), OTLP_LAYOUT_1_9, "indices and counts"},
        {NEW("2{1:1 3[1] 4[1]} }} 2{2{1{1:1} 3=9 2{1:1 2[5] 5<9>}"), OTLP_LAYOUT_1_9, "indices and counts"},
        {NEW("2{1:1 3[0] 4[1]} }} 2{2{1{1:1} 3=9 2{1:1 2[5] 5<9>}"), OTLP_LAYOUT_1_9, "indices and counts"},
        {NEW("2{1:9 2[1] 5<9>}"), OTLP_LAYOUT_CURRENT, "no profile is in order"},
    };
    check_all(cases, COUNT_OF(cases), NULL);
}

// No field in it means anything else: the newest.
static void test_equals(void **state)
{
    (void)state;
    static const struct layout_case cases[] = {
        {"", OTLP_LAYOUT_CURRENT, ""},
        {"2{}", OTLP_LAYOUT_CURRENT, ""},
        {"1{}", OTLP_LAYOUT_CURRENT, ""},
        {REQUEST("", ""), OTLP_LAYOUT_CURRENT, ""},
        {NEW(""), OTLP_LAYOUT_CURRENT, "would read otherwise"},
        {NEW("7''"), OTLP_LAYOUT_CURRENT, "would read otherwise"},
        {NEW("2{1:1 5<9>}"), OTLP_LAYOUT_CURRENT, "would read otherwise"},
        {NEW("2{1:1 5<9,10>} 7'0123456789abcdef'"), OTLP_LAYOUT_CURRENT, "would read otherwise"},
    };
    check_all(cases, COUNT_OF(cases), NULL);
}

#define AMBIGUOUS NEW("2{1:1 2[2] 5<9>}")
#define OLD_OR_NEW REQUEST("2{2{} 3{} 4{} 5'' 5'a' 7{}}", "1{} 2{1:0 2:0 3:0 5:0}")

static void test_what_stays_open_is_refused(void **state)
{
    (void)state;
    static const struct layout_case cases[] = {
        {AMBIGUOUS, REFUSED, "profiles 1.9 and as 1.10 or later, with other meaning"},
        {AMBIGUOUS, REFUSED, "layouts.assume"},
        {NEW("2{1:1 2:2 5=9}"), REFUSED, "profiles 1.9 and as 1.10 or later"},
        {NEW("2{1:1 2[1] 5<9>} 2{1:1 2[2] 5<9>} 2{1:1 2[3] 5<9>}"), REFUSED, "layouts.assume"}, // small values
    };
    check_all(cases, COUNT_OF(cases), NULL);
}

static void test_hints(void **state)
{
    (void)state;
    const struct otlp_layout_hints header = {.says_current = true}, old = {.assumed = OTLP_LAYOUT_1_9},
                                   both = {.says_current = true, .assumed = OTLP_LAYOUT_1_9},
                                   odd = {.assumed = OTLP_LAYOUT_1_7};
    check(&(struct layout_case){AMBIGUOUS, OTLP_LAYOUT_CURRENT, "otlp-profiles-development-version"}, &header);
    check(&(struct layout_case){AMBIGUOUS, OTLP_LAYOUT_1_9, "layouts.assume"}, &old);
    check(&(struct layout_case){AMBIGUOUS, OTLP_LAYOUT_CURRENT, "otlp-profiles-development-version"}, &both);
    check(&(struct layout_case){AMBIGUOUS, REFUSED, "nothing in it tells"}, &odd); // not among the possible
    // A container of 1.3 beside a profile is no reason to refuse it.
    check(&(struct layout_case){"1{2{2{2=9} 2{} 2{1{} 2{4[1]}}}}", OTLP_LAYOUT_CURRENT, ""}, &header);
    check(&(struct layout_case){"1{2{2{2=9} 2{} 2{1{} 2{4[1]}}}}", OTLP_LAYOUT_CURRENT, ""}, NULL);
    // Bytes that cannot be what the hints say.
    check(&(struct layout_case){NEW("2{1:1 2[7] 3[1]}"), OTLP_LAYOUT_1_9, "Sample field 3"}, &header);
    check(&(struct layout_case){NEW("2{1:1 2[1] 4[7]}"), OTLP_LAYOUT_CURRENT, "Sample field 4"}, &old);
}

// Strings by index came with 1.10.
static void test_references(void **state)
{
    (void)state;
    static const struct layout_case cases[] = {
        {DICTIONARY " 1{1{1{3:1 2{8:2}}} 2{2{1{} 3=9 2{1:1 2[2] 5<9>}}}}", OTLP_LAYOUT_CURRENT, "KeyValue field 3"},
        {DICTIONARY " 1{2{1{3{3:1 2{8:2}}} 2{1{} 3=9 2{1:1 2[2] 5<9>}}}}", OTLP_LAYOUT_CURRENT, "KeyValue field 3"},
        {DICTIONARY " 1{1{1{1'k' 2{1'v'}}} 2{2{1{} 3=9 2{1:1 2[2] 5<9>}}}}", REFUSED, "layouts.assume"},
    };
    check_all(cases, COUNT_OF(cases), NULL);
}

static void test_layouts_that_cannot_be_read(void **state)
{
    (void)state;
    static const struct layout_case cases[] = {
        {"1{2{2{1'0123456789abcdef' 2=9 3=10 8{}}}}", REFUSED, "1.3, which is not read: upgrade its sender"},
        {REQUEST("", "1{} 3[0] 4:9 5:1 6{} 2{2:1 3[7]}"), REFUSED, "1.6, whose requests cannot carry their tables"},
    };
    check_all(cases, COUNT_OF(cases), NULL);
}

static void test_broken_bytes(void **state)
{
    (void)state;
    static const uint8_t broken[] = {0x0a, 0x02, 0x12, 0x00, 0x12, 0x7f};
    struct otlp_layout_finding finding;
    struct err e = {0};
    assert_int_equal(otlp_layout_find((struct bytes){broken, sizeof broken}, NULL, &finding, &e), ERR_INVALID);
    assert_non_null(strstr(e.text, "at byte 6 of the request"));
}

static const char *const everything = NEW("2{1:1 2[2] 5<9>} 2{1:1 2:2 5=9} 10'x' 11[1]");

static void test_cut_at_each_byte(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    wire_text(&in, everything);
    for (size_t len = 0; len < in.len; len++) {
        struct otlp_layout_finding finding;
        struct err e = {0};
        uint8_t *copy = mem_alloc(len + 1); // a read past the end is seen
        memcpy(copy + 1, in.data, len);
        if (otlp_layout_find((struct bytes){copy + 1, len}, NULL, &finding, &e) != ERR_OK)
            assert_true(e.text[0] != 0);
        else
            assert_in_range(finding.layout, OTLP_LAYOUT_1_5, OTLP_LAYOUT_CURRENT);
        free(copy);
    }
    buf_fini(&in);
}

static void test_failing_allocator(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, REQUEST_MAX);
    wire_text(&in, AMBIGUOUS);
    size_t n = 1;
    for (enum err_code code = ERR_MEMORY; code == ERR_MEMORY; n++) {
        struct otlp_layout_finding finding;
        struct err e = {0};
        mem_fail_from(n);
        code = otlp_layout_find(buf_bytes(&in), NULL, &finding, &e);
        mem_fail_from(0);
    }
    assert_int_equal(n, 5); // keys, and users of two tables
    buf_fini(&in);
}

// "common-1.9-goproto.pb" is in layout 1.9, "ebpf-layout-1.7.bin" in 1.7; what the names get wrong stands here.
static enum otlp_layout layout_in_name(const char *name)
{
    enum otlp_layout layout;
    char version[8] = {0};
    if (strcmp(name, "sig-profiling-profile.otlp") == 0)
        return OTLP_LAYOUT_1_8;
    const char *at = strstr(name, "1.");
    size_t len = 2 + strspn(at + 2, "0123456789");
    memcpy(version, at, len);
    assert_true(otlp_layout_from_name(version, &layout));
    return layout;
}

static void check_file(void *arg, const char *path, struct bytes content)
{
    size_t *count = arg;
    const char *name = strrchr(path, '/') + 1, *dot = strrchr(name, '.');
    struct otlp_layout_finding finding;
    struct err e = {0};
    if (strcmp(dot, ".pb") != 0 && strcmp(dot, ".bin") != 0 && strcmp(dot, ".otlp") != 0)
        return;
    if (otlp_layout_find(content, NULL, &finding, &e) != ERR_OK)
        fail_msg("%s: %s", name, e.text);
    if (finding.layout != layout_in_name(name))
        fail_msg("%s: %s, %s", name, otlp_layout_names[finding.layout], finding.evidence);
    ++*count;
}

static void test_corpus(void **state)
{
    (void)state;
    size_t count = 0;
    if (test_corpus_dir() == NULL)
        skip();
    test_each_corpus_file("otlp", check_file, &count);
    test_each_corpus_file("otlp/official", check_file, &count);
    assert_true(count >= 27);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_wire_types),
        cmocka_unit_test(test_fields_to_come),
        cmocka_unit_test(test_counts_and_indices),
        cmocka_unit_test(test_bad_profiles_say_nothing),
        cmocka_unit_test(test_equals),
        cmocka_unit_test(test_what_stays_open_is_refused),
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_layouts_that_cannot_be_read),
        cmocka_unit_test(test_broken_bytes),
        cmocka_unit_test(test_cut_at_each_byte),
        cmocka_unit_test(test_failing_allocator),
        cmocka_unit_test(test_corpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
