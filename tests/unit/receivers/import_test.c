// SPDX-License-Identifier: Apache-2.0
// The receiver behind `profrelay import`, with a peer that does as it is told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "receivers/import.h"
#include "tests/support/fake_modules.h"
#include "tests/support/pprof_bytes.h"
#include "tests/support/test_folder.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct rig {
    struct test_folder folder;
    struct fake_world world;
    struct fake_service service;
    char yaml[2048];
    const char *said; // is in the log at the end; NULL = whatever
    // Told on the loop's thread; read after the end.
    size_t found;
    unsigned outcomes[FILE_OUTCOME_COUNT], given, ends;
    uint64_t samples;
};

static void on_found(void *arg, size_t files)
{
    ((struct rig *)arg)->found = files;
}

static void on_file(void *arg, const struct profile_file *f, bool is_given)
{
    struct rig *r = arg;
    r->outcomes[f->outcome]++;
    r->given += is_given;
    r->samples += f->outcome == FILE_SENT ? f->samples : 0;
}

static int on_end(void *arg)
{
    ((struct rig *)arg)->ends++;
    return 7;
}

static void begin(void *arg)
{
    struct rig *r = arg;
    const struct import_observer observer = {on_found, on_file, on_end, r};
    import_begin(service_component(r->service.service, KIND_RECEIVER, "import"), &observer);
}

static int set_up(void **state)
{
    struct rig *r = MEM_NEW(struct rig);
    test_folder_init(&r->folder);
    *state = r;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *r = *state;
    test_folder_fini(&r->folder);
    free(r);
    return 0;
}

// paths: a YAML list; more: keys of the receiver after a comma.
static void start(struct rig *r, const char *paths, const char *more, const char *exporter, const char *memory)
{
    fake_world_init(&r->world);
    fake_world_add_receiver(&r->world, &import_receiver);
    snprintf(r->yaml, sizeof r->yaml,
             "extensions: {fake: }\n"
             "receivers: {import: {paths: %s%s}}\n"
             "exporters: {fake: {%s}}\n"
             "service: {extensions: [fake], workers: 2, memory_limit: %s, telemetry: {logs: {level: warn}},\n"
             "  pipelines: {profiles: {receivers: [import], exporters: [fake]}}}\n",
             paths, more, exporter, memory);
    fake_service_start(&r->service, &r->world, NULL, r->yaml);
    fake_service_wait_ready(&r->service);
    struct component *c = service_component(r->service.service, KIND_RECEIVER, "import");
    assert_non_null(c);
    loop_call(c->loop, begin, r);
}

// The import asks for the end itself; its exit code is that of on_end.
static struct fake_seen join(struct rig *r)
{
    assert_int_equal(fake_service_join(&r->service), 7);
    assert_int_equal(r->ends, 1);
    unsigned told = 0;
    for (int o = 0; o < FILE_OUTCOME_COUNT; o++)
        told += r->outcomes[o];
    assert_int_equal(told, r->found); // each file once
    assert_null(strstr(r->service.log, "second time"));
    if (r->said != NULL)
        assert_non_null(strstr(r->service.log, r->said));
    struct fake_seen seen = fake_world_seen(&r->world);
    assert_int_equal(seen.budget_at_end, 0);
    fake_service_fini(&r->service);
    fake_world_fini(&r->world);
    return seen;
}

static void write_profile(struct rig *r, const char *name, uint64_t samples)
{
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_type(&p, "cpu", "nanoseconds");
    pprof_bytes_function(&p, 1, "main");
    pprof_bytes_location(&p, 1, 0, 0x1000, 1);
    for (uint64_t i = 0; i < samples; i++) {
        const uint64_t location = 1;
        const int64_t value = (int64_t)i + 1;
        pprof_bytes_sample(&p, &location, 1, &value, 1, NULL, 0);
    }
    pprof_bytes_number(&p, 9, 1700000000123456789u);
    test_folder_write(&r->folder, name, buf_bytes(&p.out));
    pprof_bytes_fini(&p);
}

static void write_some(struct rig *r)
{
    char path[256];
    write_profile(r, "a.pb", 3);
    write_profile(r, "b.pb", 4);
    write_profile(r, "same-as-b.pb", 4);
    assert_int_equal(mkdir(test_folder_path(&r->folder, "sub", path), 0755), 0);
    write_profile(r, "sub/c.pb", 5);
    test_folder_write(&r->folder, "bad.pb", BYTES_LITERAL("this is no profile"));
    test_folder_write(&r->folder, "empty.pb", BYTES_LITERAL(""));
}

static void start_folder(struct rig *r, const char *more, const char *exporter)
{
    char paths[300];
    snprintf(paths, sizeof paths, "[\"%s\"]", r->folder.path);
    start(r, paths, more, exporter, "64MiB");
}

static void test_imports_a_folder(void **state)
{
    struct rig *r = *state;
    write_some(r);
    start_folder(r, "", "");
    struct fake_seen seen = join(r);
    assert_int_equal(r->found, 6);
    assert_int_equal(r->outcomes[FILE_SENT], 3);
    assert_int_equal(r->outcomes[FILE_KNOWN], 1);
    assert_int_equal(r->outcomes[FILE_INVALID], 2);
    assert_int_equal(r->samples, 3 + 4 + 5);
    assert_int_equal(r->given, 0);
    assert_int_equal(seen.taken_count, 3);
}

static void test_files_that_are_named(void **state)
{
    struct rig *r = *state;
    char paths[600];
    write_some(r);
    snprintf(paths, sizeof paths, "[\"%s/a.pb\", \"%s/sub\", \"%s/a.pb\"]", r->folder.path, r->folder.path,
             r->folder.path);
    start(r, paths, "", "", "64MiB");
    join(r);
    assert_int_equal(r->found, 2);
    assert_int_equal(r->given, 1);
    assert_int_equal(r->outcomes[FILE_SENT], 2);
}

static void test_nothing_to_do(void **state)
{
    struct rig *r = *state;
    start_folder(r, "", "");
    join(r);
    assert_int_equal(r->found, 0);
}

static void test_paths_tell_services_apart(void **state)
{
    struct rig *r = *state;
    char path[256];
    write_profile(r, "a.pb", 3);
    write_profile(r, "b.pb", 3);
    assert_int_equal(mkdir(test_folder_path(&r->folder, "sub", path), 0755), 0);
    write_profile(r, "sub/c.pb", 3);
    start_folder(r, ", match: '(?P<service>sub)/'", "");
    struct fake_seen seen = join(r);
    assert_int_equal(r->outcomes[FILE_SENT], 2);
    assert_int_equal(r->outcomes[FILE_KNOWN], 1);
    assert_int_equal(seen.taken_count, 2);
}

static void test_lines_that_are_lost_are_said(void **state)
{
    struct rig *r = *state;
    test_folder_write(&r->folder, "a.folded", BYTES_LITERAL("a;b 1\nno count\n"));
    start_folder(r, "", "");
    r->said = "a.folded: lines passed over: 1, the first: line 2: ";
    join(r);
    assert_int_equal(r->outcomes[FILE_SENT], 1);
}

static void test_dry_run_sends_nothing(void **state)
{
    struct rig *r = *state;
    write_some(r);
    start_folder(r, ", dry_run: true", "");
    struct fake_seen seen = join(r);
    assert_int_equal(r->outcomes[FILE_SENT], 3);
    assert_int_equal(r->samples, 12);
    assert_int_equal(seen.encoded, 0);
}

static void test_what_the_peer_says(void **state)
{
    struct rig *r = *state;
    static const struct {
        const char *exporter;
        enum file_outcome outcome;
    } cases[] = {{"answer: partial", FILE_PARTIAL},
                 {"answer: refused", FILE_REFUSED},
                 {"answer: retry, retry_on_failure: {enabled: false}", FILE_GAVE_UP},
                 {"failures: 2, retry_on_failure: {initial_interval: 1ms}", FILE_SENT}};
    write_profile(r, "a.pb", 3);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        memset(r->outcomes, 0, sizeof r->outcomes);
        r->ends = 0;
        start_folder(r, "", cases[i].exporter);
        join(r);
        assert_int_equal(r->outcomes[cases[i].outcome], 1);
    }
}

// Little memory and slow peers: files wait for room, and all arrive.
static void test_little_memory(void **state)
{
    struct rig *r = *state;
    enum { FILES = 80 };
    char name[32], paths[300];
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "%02u.pb", i);
        write_profile(r, name, 100 + i);
    }
    snprintf(paths, sizeof paths, "\"%s\"", r->folder.path);
    start(r, paths, "", "answer: slow", "256KiB");
    struct fake_seen seen = join(r);
    assert_int_equal(r->outcomes[FILE_SENT], FILES);
    assert_int_equal(seen.taken_count, FILES);
}

static bool first_sends(void *arg)
{
    return fake_world_seen(arg).sends >= 10;
}

// Interrupted: the end comes, and nobody is told that what hangs has arrived.
static void test_interrupted(void **state)
{
    struct rig *r = *state;
    char name[32];
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "%02u.pb", i);
        write_profile(r, name, i + 1);
    }
    start_folder(r, "", "answer: never");
    fake_world_wait(&r->world, first_sends, &r->world);
    fake_service_stop(&r->service);
    fake_service_stop(&r->service);
    assert_int_equal(fake_service_join(&r->service), 0);
    assert_int_equal(r->ends, 0);
    assert_int_equal(r->outcomes[FILE_SENT], 0);
    assert_true(r->outcomes[FILE_GAVE_UP] >= 10);
    assert_int_equal(fake_world_seen(&r->world).budget_at_end, 0);
    fake_service_fini(&r->service);
    fake_world_fini(&r->world);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_imports_a_folder),
        IN_FOLDER(test_files_that_are_named),
        IN_FOLDER(test_nothing_to_do),
        IN_FOLDER(test_paths_tell_services_apart),
        IN_FOLDER(test_lines_that_are_lost_are_said),
        IN_FOLDER(test_dry_run_sends_nothing),
        IN_FOLDER(test_what_the_peer_says),
        IN_FOLDER(test_little_memory),
        IN_FOLDER(test_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
