// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/perf_script.h"
#include "tests/support/stack_at.h"
#include "tests/support/test_files.h"
#include "tests/unit/codec/text_fixture.h"

#include <stdio.h>
#include <stdlib.h>

// --- lines ---

struct event_case {
    const char *line, *comm, *name;
    int64_t pid, tid, cpu, period; // -1 = not told
    uint64_t nanos;
    bool no_time;
};

static const struct event_case events[] = {
    {"busy 10027  1780.682189:   10101010 cpu-clock:pppH: ", "busy", "cpu-clock:pppH", -1, 10027, -1, 10101010,
     1780682189000, false},
    {"busy 10027/10028  1780.682189:   7 cycles:u: ", "busy", "cycles:u", 10027, 10028, -1, 7, 1780682189000, false},
    {"a.out  1 [003] 0.000000001: cycles:", "a.out", "cycles", -1, 1, 3, -1, 1, false},
    {"V8 Worker 12 9/8 [010] 3.5: sched:sched_switch: prev=a 1.5: x", "V8 Worker 12", "sched:sched_switch", 9, 8, 10,
     -1, 3500000000, false},
    {"            :123  123 1.000000: 1 cycles:", ":123", "cycles", -1, 123, -1, 1, 1000000000, false},
    {"odd 1.5: [x] (y) 77 2.0: 1 cycles:", "odd 1.5: [x] (y)", "cycles", -1, 77, -1, 1, 2000000000, false},
    {"swapper     0 [000] 2.0: 1 cpu_core/cycles/:", "swapper", "cpu_core/cycles/", -1, 0, 0, 1, 2000000000, false},
    {"unk -1 2.0: 1 cycles:", "unk", "cycles", -1, -1, -1, 1, 2000000000, false},
    {"x 5 2.0:", "x", "", -1, 5, -1, -1, 2000000000, false},
    {"java 12 cycles:", "java", "cycles", -1, 12, -1, -1, 0, true},
    {"java 12 13 cycles:", "java", "cycles", -1, 12, -1, 13, 0, true},
    {"my java 11/12 [001] 13 cycles:", "my java", "cycles", 11, 12, 1, 13, 0, true},
};

static void assert_bytes(struct bytes got, const char *want)
{
    if (!bytes_equal_text(got, want))
        fail_msg("\"%.*s\" is not \"%s\"", BYTES_PRINT(got), want);
}

static void events_of_many_shapes(void **state) // B12
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(events); i++) {
        const struct event_case *c = &events[i];
        struct perf_event e;
        assert_int_equal(perf_parse_event(bytes_from_text(c->line), true, &e), !c->no_time);
        if (!perf_parse_event(bytes_from_text(c->line), false, &e))
            fail_msg("%s", c->line);
        assert_bytes(e.comm, c->comm);
        assert_bytes(e.name, c->name);
        assert_int_equal(e.has_pid ? e.pid : -1, c->pid);
        assert_int_equal(e.tid, c->tid);
        assert_int_equal(e.has_cpu ? e.cpu : -1, c->cpu);
        assert_int_equal(e.has_period ? e.period : -1, c->period);
        assert_int_equal(e.has_time, !c->no_time);
        assert_int_equal(e.time_nanos, c->nanos);
    }
}

static void lines_that_are_no_events(void **state)
{
    (void)state;
    static const char *const lines[] = {"",
                                        ":",
                                        "x",
                                        "x:",
                                        "x y:",
                                        "12 cycles:",
                                        "a 1 2.0: 3 cycles",
                                        "a b 2.0:",
                                        "a 1 2.0: -3 c:",
                                        "a 1 2.0: 99999999999999999999 c:"};
    static const char *const times[] = {
        "a 1 2.: 1 c:", "a 1 .5: 1 c:", "a 1 2.0000000000: 1 c:", "a 1 99999999999.0: 1 c:"};
    struct perf_event e;
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (perf_parse_event(bytes_from_text(lines[i]), false, &e))
            fail_msg("\"%s\" is an event", lines[i]);
    for (size_t i = 0; i < COUNT_OF(times); i++)
        if (perf_parse_event(bytes_from_text(times[i]), true, &e))
            fail_msg("\"%s\" is an event", times[i]);
}

static const struct {
    const char *line, *symbol, *module;
    uint64_t address;
    bool is_inlined;
} frames[] = {
    {"\t            11be burn+0x3d (/srv/busy)", "burn", "/srv/busy", 0x11be, false},
    {"\tffffffffaee8017b fput+0xb ([kernel.kallsyms])", "fput", "[kernel.kallsyms]", 0xffffffffaee8017b, false},
    {" 6ce258d4c544155 [unknown] ([unknown])", "", "", 0x6ce258d4c544155, false},
    {"\t 7f8 [unknown] (/lib/libjvm.so)", "", "/lib/libjvm.so", 0x7f8, false},
    {"\t 27304 __libc_start_main_impl+0x84 (inlined)", "__libc_start_main_impl", "", 0x27304, true},
    {"\t 1 std::f(int, char (*)(int))+0x1 (/opt/my app (x86)/a.so)", "std::f(int, char (*)(int))",
     "/opt/my app (x86)/a.so", 1, false},
    {"\t 1 (anonymous namespace)::operator()(int) const (/tmp/x (deleted))",
     "(anonymous namespace)::operator()(int) const", "/tmp/x (deleted)", 1, false},
    {"\t 1 a+b+0x+0x12 (/x)", "a+b+0x", "/x", 1, false},
    {"\t 1 a+b (/x)", "a+b", "/x", 1, false},
    {"\t 1 f)(x", "f)(x", "", 1, false},
    {"\t 1 f x)", "f x)", "", 1, false},
    {"\t 1 f(x)", "f(x)", "", 1, false},
    {"\t 7f00", "", "", 0x7f00, false},
    {"\t 1 ()", "", "", 1, false},
};

static void frames_of_many_shapes(void **state) // B12
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(frames); i++) {
        struct perf_frame f;
        if (!perf_parse_frame(bytes_from_text(frames[i].line), &f))
            fail_msg("%s", frames[i].line);
        assert_bytes(f.symbol, frames[i].symbol);
        assert_bytes(f.module, frames[i].module);
        assert_true(f.address == frames[i].address);
        assert_int_equal(f.is_inlined, frames[i].is_inlined);
    }
    static const char *const bad[] = {"", "\t", "THIS_IS_A_WEIRD_LINE", "0x1 f (x)", "11111111111111111 f (x)", "g f"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct perf_frame f;
        assert_false(perf_parse_frame(bytes_from_text(bad[i]), &f));
    }
}

static void source_lines(void **state)
{
    (void)state;
    struct bytes file;
    int64_t line;
    assert_true(perf_parse_source(BYTES_LITERAL("  my dir/busy.c:17"), &file, &line));
    assert_bytes(file, "my dir/busy.c");
    assert_int_equal(line, 17);
    assert_true(perf_parse_source(BYTES_LITERAL("  ??:0"), &file, &line));
    assert_int_equal(file.len, 0);
    assert_true(perf_parse_source(BYTES_LITERAL("  libc.so.6[2724a]"), &file, &line));
    assert_int_equal(file.len, 0);
    assert_false(perf_parse_source(BYTES_LITERAL("  WEIRD"), &file, &line));
    assert_false(perf_parse_source(BYTES_LITERAL("  :5"), &file, &line));
    assert_false(perf_parse_source(BYTES_LITERAL("  a:b"), &file, &line));
    assert_false(perf_parse_source(BYTES_LITERAL(""), &file, &line));
}

// --- files ---

#define EVENT "busy 10/11 [002] 1.5: 100 cpu-clock:pppH: \n"

static struct batch *read(const char *text, struct decode_report *r)
{
    return text_read(&perf_script_format, bytes_from_text(text), NULL, r);
}

static void assert_folded(const char *text, const char *want, struct decode_report *r)
{
    struct batch *b = read(text, r);
    char *got = text_folded(b, NULL);
    assert_string_equal(got, want);
    free(got);
    batch_unref(&b);
}

static const struct batch_attribute *attribute_at(const struct batch *b, uint32_t set, uint32_t i)
{
    const struct batch_range range = b->dictionary->attribute_sets[set];
    assert_true(i < range.count);
    return &b->dictionary->attributes[b->dictionary->set_attributes[range.start + i]];
}

static void a_sample_with_all_it_says(void **state)
{
    (void)state;
    struct decode_report r;
    struct batch *b =
        read("# captured on: x\n" EVENT "\t ffff8000 do_sys+0x1 ([kernel.kallsyms])\n\t 11be main+0x3d (/srv/busy)\n"
             "  busy.c:7\n\nbusy 10/11 [002] 3.75: 50 cpu-clock:pppH: \n\t 11be main+0x3d (/srv/busy)\n",
             &r);
    const struct profile *p = text_profile(b, 0);
    const struct dictionary *d = b->dictionary;
    assert_int_equal(b->profile_count, 1);
    assert_int_equal(r.samples, 2);
    assert_int_equal(r.comment_lines, 2);
    assert_int_equal(r.bad_lines, 0);
    text_assert(b, p->sample_type.type, "cpu-clock");
    text_assert(b, p->sample_type.unit, "nanoseconds");
    assert_int_equal(p->period, 100);
    assert_int_equal(p->observations->values[0], 100);
    assert_int_equal(p->observations->values[1], 50);
    assert_null(p->observations->timestamps); // they count from the boot
    assert_int_equal(p->duration_nanos, 2250000000);
    const uint32_t set = p->columns->attribute_sets[0];
    assert_int_equal(d->attribute_sets[set].count, 4);
    static const char *const keys[] = {"thread.name", "thread.id", "process.pid", "cpu.logical_number"};
    static const int64_t numbers[] = {0, 11, 10, 2};
    for (uint32_t i = 0; i < 4; i++) {
        text_assert(b, attribute_at(b, set, i)->key, keys[i]);
        if (i > 0)
            assert_int_equal(attribute_at(b, set, i)->value.integer, numbers[i]);
    }
    assert_bytes(attribute_at(b, set, 0)->value.bytes, "busy");
    const struct batch_location *kernel = stack_at(d, p->columns->stacks[0], 0),
                                *own = stack_at(d, p->columns->stacks[0], 1),
                                *without_source = stack_at(d, p->columns->stacks[1], 0);
    text_assert(b, attribute_at(b, kernel->attribute_set, 0)->key, "profile.frame.type");
    assert_bytes(attribute_at(b, kernel->attribute_set, 0)->value.bytes, "kernel");
    assert_int_equal(own->attribute_set, 0);
    assert_int_equal(own->address, 0x11be);
    text_assert(b, d->mappings[own->mapping].filename, "/srv/busy");
    text_assert(b, d->functions[d->lines[own->line_start].function].filename, "busy.c");
    assert_int_equal(d->lines[own->line_start].line, 7);
    assert_int_equal(d->lines[without_source->line_start].line, 0);
    batch_unref(&b);
}

static void each_event_is_a_sample_type(void **state)
{
    (void)state;
    struct decode_report r;
    struct batch *b = read(
        "a 1 1.0: 5 cycles:uppp:\n\t 1 f (x)\n\na 1 1.0: 6 cycles:k:\n\t 1 g (x)\n\na 1 1.0: sched:sched_switch: x=1\n"
        "\t 1 h (x)\n\na 1 2.0: 7 cycles:uH:\n\t 1 f (x)\n\na 1 2.0: task-clock:\n\t 1 f (x)\n",
        &r);
    static const char *const types[] = {"cycles:u", "cycles:k", "sched:sched_switch", "task-clock"};
    static const int64_t sums[] = {12, 6, 1, 1};
    assert_int_equal(b->profile_count, COUNT_OF(types));
    assert_int_equal(r.sample_types, COUNT_OF(types));
    for (uint32_t i = 0; i < COUNT_OF(types); i++) {
        text_assert(b, text_profile(b, i)->sample_type.type, types[i]);
        text_assert(b, text_profile(b, i)->sample_type.unit, "count");
        assert_int_equal(text_sum(b, text_profile(b, i), NULL), sums[i]);
    }
    batch_unref(&b);
}

static void samples_without_a_chain(void **state)
{
    (void)state;
    struct decode_report r;
    assert_folded(
        "            bash  7 1.0:  5 cycles:  ffff f+0x1 (/x)\n            dd  7 1.5:  6 cycles:  ffff g (/x)\n"
        "a 1 2.0: 7 cycles:\n",
        "[unknown] 7\nf 5\ng 6\n", &r);
    assert_int_equal(r.bad_lines, 0);
}

static void a_weird_line_leaves_its_neighbours(void **state) // B12
{
    (void)state;
    struct decode_report r;
    assert_folded(EVENT "\t 1 f (x)\n\tWEIRD LINE\n\t 2 g (x)\n\nno event\n\t 3 h (x)\n\n" EVENT "\t 1 f (x)\n",
                  "f 100\ng;f 100\n", &r);
    assert_int_equal(r.bad_lines, 3);
    assert_string_equal(r.first_bad.text, "line 3: it is no frame of a sample");
    assert_folded(EVENT "\t 1 f (x)\njunk\n\t 2 g (x)\n", "f 100\n", &r); // ends the sample
    assert_int_equal(r.bad_lines, 2);
    assert_folded("a 1 1.0: PERF_RECORD_COMM: a:1/1\n" EVENT "\t 1 f (x)\r\n", "f 100\n", &r);
    assert_int_equal(r.bad_lines, 0);
    assert_int_equal(r.comment_lines, 1);
}

static void limits_hold(void **state)
{
    (void)state;
    struct decode_limits limits = decode_default_limits;
    const struct decode_options o = {.limits = &limits};
    static const char text[] = EVENT "\t 1 f (x)\n\t 2 g (x)\n\t 3 h (x)\n\n" EVENT "\t 1 f (x)\n\na 1 1.0: 1 other:\n";
    struct decode_report r;
    limits.max_stack_depth = 2;
    struct batch *b = text_read(&perf_script_format, bytes_from_text(text), &o, &r);
    char *got = text_folded(b, NULL);
    assert_string_equal(got, "[truncated];f 100\nf 100\n"); // B14
    assert_int_equal(r.cut_stacks, 1);
    free(got);
    batch_unref(&b);
    limits.max_samples = 2;
    text_refuse(&perf_script_format, bytes_from_text(text), &o, ERR_LIMIT, "max_samples");
    limits.max_sample_types = 1;
    text_refuse(&perf_script_format, bytes_from_text(text), &o, ERR_LIMIT, "max_sample_types");
    limits.max_batch_bytes = 2000;
    text_refuse(&perf_script_format, bytes_from_text(text), &o, ERR_LIMIT, "");
}

static void others_are_refused(void **state)
{
    (void)state;
    text_refuse(&perf_script_format, BYTES_LITERAL("a;b 5\n"), NULL, ERR_UNSUPPORTED,
                "folded stacks; line 1: it is no event");
    text_refuse(&perf_script_format, BYTES_LITERAL("# x\n\n"), NULL, ERR_INVALID, "only comments");
}

static void recognised_by_content(void **state) // B4
{
    (void)state;
    assert_ptr_equal(format_recognise(BYTES_LITERAL("# c\n\n" EVENT), "out.folded"), &perf_script_format);
    assert_ptr_equal(format_recognise(BYTES_LITERAL("java 12 cycles:\n\t 1 f (x)\n"), "out.perf"), &perf_script_format);
    assert_ptr_not_equal(format_recognise(BYTES_LITERAL("2026-01-01 10:00:00.123: message\n"), NULL),
                         &perf_script_format);
    assert_ptr_not_equal(format_recognise(BYTES_LITERAL("java 12 cycles:\n"), NULL), &perf_script_format);
}

static const char small[] =
    "# c\n" EVENT "\t ff f+0x1 ([kernel.kallsyms])\n\t 11 m (/a)\n  m.c:7\n\nx 1 2.0: 3 cycles:\n\t 5 caf\xe9 (/b)\nj";

static void cut_and_failing(void **state)
{
    (void)state;
    text_cut_everywhere(&perf_script_format, bytes_from_text(small));
    text_fail_everywhere(&perf_script_format, bytes_from_text(small));
}

// --- the corpus ---

static const struct {
    const char *file;
    uint64_t samples, bad;
    int64_t sum, iteration, eighty, twenty;
} corpus[] = {
    {"recorded/perf-script.txt", 69, 0, 696969690, 69, 48, 21},
    {"recorded/perf-script-header.txt", 69, 0, 696969690, 69, 48, 21},
    {"recorded/perf-script-dwarf.txt", 55, 0, 555555550, 55, 41, 14},
    {"one-sample.linux-perf.txt", 1, 0, 1001001, 0, 0, 0},
    {"simple-with-header.linux-perf.txt", 136, 0, 136136136, 0, 0, 0},
    {"inferno-go-stacks.txt", 5, 0, 1250000, 0, 0, 0},
    {"inferno-java-inline.txt", 22, 0, 222222220, 0, 0, 0},
    {"inferno-weird-stack-line.txt", 2, 1, 500000, 0, 0, 0},
};

// How many samples have the name in their stack, and how many as leaf.
static int64_t count_through(const struct batch *b, const char *name)
{
    const struct profile *p = text_profile(b, 0);
    return text_sum(b, p, name) / p->observations->values[0]; // all of one period
}

static void corpus_reads_as_its_readme_says(void **state)
{
    (void)state;
    if (test_corpus_dir() == NULL)
        skip();
    for (size_t i = 0; i < COUNT_OF(corpus); i++) {
        char path[256];
        struct decode_report r;
        snprintf(path, sizeof path, "perf/%s", corpus[i].file);
        const struct bytes data = text_corpus_file(path);
        print_message("%s\n", path);
        assert_ptr_equal(format_recognise(data, NULL), &perf_script_format);
        struct batch *b = text_read(&perf_script_format, data, NULL, &r), *arrived = text_through_otlp(b);
        assert_int_equal(r.samples, corpus[i].samples);
        assert_int_equal(r.bad_lines, corpus[i].bad);
        assert_int_equal(text_sum(b, text_profile(b, 0), NULL), corpus[i].sum);
        assert_int_equal(count_through(b, "iteration"), corpus[i].iteration);
        assert_int_equal(count_through(arrived, "burn_eighty"), corpus[i].eighty);
        assert_int_equal(count_through(arrived, "burn_twenty"), corpus[i].twenty);
        batch_unref(&b);
        batch_unref(&arrived);
        free((void *)data.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_many_shapes),
        cmocka_unit_test(lines_that_are_no_events),
        cmocka_unit_test(frames_of_many_shapes),
        cmocka_unit_test(source_lines),
        cmocka_unit_test(a_sample_with_all_it_says),
        cmocka_unit_test(each_event_is_a_sample_type),
        cmocka_unit_test(samples_without_a_chain),
        cmocka_unit_test(a_weird_line_leaves_its_neighbours),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(recognised_by_content),
        cmocka_unit_test(cut_and_failing),
        cmocka_unit_test(corpus_reads_as_its_readme_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
