// SPDX-License-Identifier: Apache-2.0
// The pprof receiver as a user runs it: real files, the real service, a peer that does as it is told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "receivers/receivers.h"
#include "tests/support/fake_modules.h"
#include "tests/support/pprof_bytes.h"
#include "tests/support/test_folder.h"
#include "tests/unit/receivers/fake_storage.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct rig {
    struct test_folder folder;
    struct fake_storage store;
    struct fake_world world;
    struct fake_service service;
    char yaml[2048];
};

static int set_up(void **state)
{
    struct rig *r = MEM_NEW(struct rig);
    test_folder_init(&r->folder);
    fake_storage_init(&r->store);
    *state = r;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *r = *state;
    fake_storage_fini(&r->store);
    test_folder_fini(&r->folder);
    free(r);
    return 0;
}

// file: more keys of the section file; more: keys of the receiver; exporter: its keys. Each may be "".
static void start(struct rig *r, const struct clock *clock, const char *file, const char *more, const char *exporter)
{
    fake_world_init(&r->world);
    fake_world_add_receiver(&r->world, &pprof_receiver);
    fake_world_add_extension(&r->world, &r->store.extension);
    int len = snprintf(r->yaml, sizeof r->yaml,
                       "extensions: {store: , fake: }\n"
                       "receivers:\n"
                       "  pprof:\n"
                       "    file: {include: \"%s/**/*.pb\", collection_interval: 10ms, settle_time: 0s%s}\n%s"
                       "exporters: {fake: {retry_on_failure: {enabled: false}%s}}\n"
                       "service:\n"
                       "  extensions: [fake, store]\n"
                       "  workers: 2\n"
                       "  memory_limit: 4MiB\n"
                       "  telemetry: {metrics: {level: none}, logs: {level: debug}}\n"
                       "  pipelines: {profiles: {receivers: [pprof], exporters: [fake]}}\n",
                       r->folder.path, file, more, exporter);
    assert_true(len > 0 && (size_t)len < sizeof r->yaml);
    fake_service_start(&r->service, &r->world, clock, r->yaml);
    fake_service_wait_ready(&r->service);
    assert_non_null(r->service.service);
}

// Ends the run; the log stays readable until fini.
static struct fake_seen stop(struct rig *r)
{
    fake_service_stop(&r->service);
    assert_int_equal(fake_service_join(&r->service), 0);
    struct fake_seen seen = fake_world_seen(&r->world);
    assert_int_equal(seen.budget_at_end, 0);
    return seen;
}

static void fini(struct rig *r)
{
    fake_service_fini(&r->service);
    fake_world_fini(&r->world);
}

static void write_bytes(struct rig *r, const char *name, struct bytes content)
{
    char part[300], from[256], to[256];
    snprintf(part, sizeof part, "%s.part", name);
    test_folder_write(&r->folder, part, content);
    // Under its name at once, as a whole.
    assert_int_equal(rename(test_folder_path(&r->folder, part, from), test_folder_path(&r->folder, name, to)), 0);
}

static void craft(struct pprof_bytes *p, uint64_t samples)
{
    pprof_bytes_init(p);
    pprof_bytes_type(p, "cpu", "nanoseconds");
    pprof_bytes_function(p, 1, "main");
    pprof_bytes_location(p, 1, 0, 0x1000, 1);
    for (uint64_t i = 0; i < samples; i++) {
        const uint64_t location = 1;
        const int64_t value = (int64_t)i + 1;
        pprof_bytes_sample(p, &location, 1, &value, 1, NULL, 0);
    }
    pprof_bytes_number(p, 9, 1700000000123456789u);
}

// The number of samples tells files apart.
static void write_profile(struct rig *r, const char *name, uint64_t samples)
{
    struct pprof_bytes p;
    craft(&p, samples);
    write_bytes(r, name, buf_bytes(&p.out));
    pprof_bytes_fini(&p);
}

static bool exists(struct rig *r, const char *name)
{
    char path[256];
    return access(test_folder_path(&r->folder, name, path), F_OK) == 0;
}

static void set_mtime(struct rig *r, const char *name, int64_t nanos)
{
    char path[256];
    const struct timespec t = {(time_t)(nanos / NANOS_PER_SECOND), (long)(nanos % NANOS_PER_SECOND)};
    const struct timespec times[2] = {t, t};
    assert_int_equal(utimensat(AT_FDCWD, test_folder_path(&r->folder, name, path), times, 0), 0);
}

static int64_t outcome(struct rig *r, const char *name)
{
    return fake_service_counter(&r->service, "profrelay_receiver_files", "receiver", "pprof", "outcome", name);
}

static int64_t counter(struct rig *r, const char *name)
{
    return fake_service_counter(&r->service, name, "receiver", "pprof", NULL, NULL);
}

struct until {
    struct rig *rig;
    const char *outcome;
    int64_t at_least;
};

static bool has_outcome(void *arg)
{
    struct until *u = arg;
    return outcome(u->rig, u->outcome) >= u->at_least;
}

static void wait_outcome(struct rig *r, const char *name, int64_t at_least)
{
    struct until u = {r, name, at_least};
    fake_world_wait(&r->world, has_outcome, &u);
}

// Whatever could have been sent before this file, has: files go in the order of their age, looks follow one another.
static void pass_marker(struct rig *r, const char *name, uint64_t samples)
{
    int64_t sent = outcome(r, "sent");
    write_profile(r, name, samples);
    wait_outcome(r, "sent", sent + 1);
}

static bool took(const struct fake_seen *seen, uint64_t samples)
{
    for (unsigned i = 0; i < seen->taken_count; i++)
        if (seen->taken[i] == samples)
            return true;
    return false;
}

static void test_sent_once(void **state)
{
    struct rig *r = *state;
    write_profile(r, "a.pb", 3);
    write_profile(r, "not-matched.txt", 99);
    start(r, NULL, "", "", "");
    wait_outcome(r, "sent", 1);
    pass_marker(r, "b.pb", 4);
    set_mtime(r, "a.pb", 5 * NANOS_PER_SECOND); // touched, the same inside
    wait_outcome(r, "known", 1);
    pass_marker(r, "c.pb", 5);
    assert_int_equal(outcome(r, "known"), 1);
    struct fake_seen seen = stop(r);
    assert_int_equal(seen.taken_count, 3);
    assert_int_equal(seen.taken[0], 3);
    assert_int_equal(seen.taken[1], 4);
    assert_int_equal(seen.taken[2], 5);
    assert_true(exists(r, "a.pb"));
    assert_non_null(strstr(r->service.log, "no storage is named"));
    fini(r);
}

static void test_counts_what_came_in(void **state)
{
    struct rig *r = *state;
    write_profile(r, "a.pb", 3);
    write_bytes(r, "bad.pb", BYTES_LITERAL("this is no profile"));
    start(r, NULL, "", "", "");
    wait_outcome(r, "sent", 1);
    wait_outcome(r, "invalid", 1);
    const struct {
        const char *name;
        int64_t value;
    } expected[] = {{"otelcol_receiver_accepted_profile_samples", 3},
                    {"otelcol_receiver_failed_profile_samples", 1},
                    {"otelcol_receiver_refused_profile_samples", 0}};
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_int_equal(
            fake_service_counter(&r->service, expected[i].name, "receiver", "pprof", "transport", "file"),
            expected[i].value);
    pass_marker(r, "c.pb", 5);
    assert_int_equal(outcome(r, "invalid"), 1); // left alone until it changes
    write_profile(r, "bad.pb", 6);
    wait_outcome(r, "sent", 3);
    stop(r);
    assert_non_null(strstr(r->service.log, "/bad.pb is not sent: "));
    fini(r);
}

static void test_identical_content_is_one_profile(void **state)
{
    struct rig *r = *state;
    char path[256];
    assert_int_equal(mkdir(test_folder_path(&r->folder, "sub", path), 0755), 0);
    write_profile(r, "a.pb", 3);
    write_profile(r, "sub/b.pb", 3);
    start(r, NULL, "", "", "");
    wait_outcome(r, "sent", 1);
    wait_outcome(r, "known", 1);
    pass_marker(r, "c.pb", 4);
    struct fake_seen seen = stop(r);
    assert_int_equal(seen.taken_count, 2);
    fini(r);
}

static void test_the_same_file_of_two_services_is_two(void **state)
{
    struct rig *r = *state;
    write_profile(r, "a.pb", 3);
    fake_world_init(&r->world);
    fake_world_add_receiver(&r->world, &pprof_receiver);
    fake_world_add_extension(&r->world, &r->store.extension);
    snprintf(r->yaml, sizeof r->yaml,
             "extensions: {store: }\n"
             "receivers:\n"
             "  pprof: {storage: store, resource_attributes: {service.name: one}, file: &f {include: \"%s/*.pb\", "
             "collection_interval: 10ms, settle_time: 0s}}\n"
             "  pprof/2: {storage: store, resource_attributes: {service.name: two}, file: *f}\n"
             "exporters: {fake: }\n"
             "service: {loops: 2, extensions: [store], pipelines: {profiles: {receivers: [pprof, pprof/2], "
             "exporters: [fake]}}}\n",
             r->folder.path);
    fake_service_start(&r->service, &r->world, NULL, r->yaml);
    fake_service_wait_ready(&r->service);
    wait_outcome(r, "sent", 1);
    while (fake_service_counter(&r->service, "profrelay_receiver_files", "receiver", "pprof/2", "outcome", "sent") < 1)
        sched_yield();
    fake_service_stop(&r->service);
    assert_int_equal(fake_service_join(&r->service), 0);
    assert_int_equal(fake_world_seen(&r->world).taken_count, 2);
    assert_int_equal(fake_storage_count(&r->store), 2); // one key each
    fini(r);
}

static void test_growing_files_wait(void **state)
{
    struct rig *r = *state;
    struct pprof_bytes p;
    craft(&p, 7);
    start(r, &r->world.clock, ", settle_time: 1s", "", "");
    fini_not_yet:;
    const int64_t now = atomic_load(&r->world.wall_nanos);
    test_folder_write(&r->folder, "a.part", (struct bytes){p.out.data, p.out.len / 2});
    set_mtime(r, "a.part", now);
    char from[256], to[256];
    rename(test_folder_path(&r->folder, "a.part", from), test_folder_path(&r->folder, "a.pb", to));
    (void)&&fini_not_yet;
    write_profile(r, "m1.part2", 11);
    set_mtime(r, "m1.part2", now - 3600 * NANOS_PER_SECOND); // complete long since
    rename(test_folder_path(&r->folder, "m1.part2", from), test_folder_path(&r->folder, "m1.pb", to));
    wait_outcome(r, "sent", 1);
    pprof_bytes_fini(&p);
    stop(r);
    fini(r);
}
