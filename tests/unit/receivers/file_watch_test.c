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
#include <sched.h>
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

#define AT_ONCE ", settle_time: 0s"

// file: more keys of the section file, after a comma; more: keys of the receiver; exporter: its keys. Each may be "".
static void start(struct rig *r, const struct clock *clock, const char *file, const char *more, const char *exporter)
{
    fake_world_init(&r->world);
    fake_world_add_receiver(&r->world, &pprof_receiver);
    fake_world_add_extension(&r->world, &r->store.extension);
    int len = snprintf(r->yaml, sizeof r->yaml,
                       "extensions: {store: , fake: }\n"
                       "receivers:\n"
                       "  pprof:\n"
                       "    file: {include: \"%s/**/*.pb\", collection_interval: 10ms%s}\n%s"
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
    start(r, NULL, AT_ONCE, "", "");
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
    start(r, NULL, AT_ONCE, "", "");
    wait_outcome(r, "sent", 1);
    wait_outcome(r, "invalid", 1);
    const struct {
        const char *name;
        int64_t value;
    } expected[] = {{"otelcol_receiver_accepted_profile_samples", 3},
                    {"otelcol_receiver_failed_profile_samples", 1},
                    {"otelcol_receiver_refused_profile_samples", 0}};
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_int_equal(fake_service_counter(&r->service, expected[i].name, "receiver", "pprof", "transport", "file"),
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
    start(r, NULL, AT_ONCE, "", "");
    wait_outcome(r, "sent", 1);
    wait_outcome(r, "known", 1);
    pass_marker(r, "c.pb", 4);
    struct fake_seen seen = stop(r);
    assert_int_equal(seen.taken_count, 2);
    fini(r);
}

static void test_paths_tell_services_apart(void **state)
{
    struct rig *r = *state;
    char path[256];
    assert_int_equal(mkdir(test_folder_path(&r->folder, "cart", path), 0755), 0);
    assert_int_equal(mkdir(test_folder_path(&r->folder, "shop", path), 0755), 0);
    write_profile(r, "cart/a.pb", 3);
    write_profile(r, "shop/b.pb", 3);
    write_profile(r, "shop/again.pb", 3);
    write_profile(r, "none1.pb", 4);
    write_profile(r, "none2.pb", 5);
    start(r, NULL, AT_ONCE ", match: '(?P<service>cart|shop)/'", "", "");
    wait_outcome(r, "sent", 4);
    wait_outcome(r, "known", 1);
    struct fake_seen seen = stop(r);
    assert_int_equal(seen.taken_count, 4);
    const char *first = strstr(r->service.log, ".pb does not match file.match");
    assert_non_null(first);
    assert_null(strstr(first + strlen(".pb does"), "does not match"));
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

// Appears under its name as a whole, with this time.
static void place(struct rig *r, const char *name, struct bytes content, int64_t mtime_nanos)
{
    char from[256], to[256];
    test_folder_write(&r->folder, "part", content);
    set_mtime(r, "part", mtime_nanos);
    assert_int_equal(rename(test_folder_path(&r->folder, "part", from), test_folder_path(&r->folder, name, to)), 0);
}

static void place_profile(struct rig *r, const char *name, uint64_t samples, int64_t mtime_nanos)
{
    struct pprof_bytes p;
    craft(&p, samples);
    place(r, name, buf_bytes(&p.out), mtime_nanos);
    pprof_bytes_fini(&p);
}

static void append(struct rig *r, const char *name, struct bytes content, int64_t mtime_nanos)
{
    char path[256];
    FILE *f = fopen(test_folder_path(&r->folder, name, path), "ab");
    assert_non_null(f);
    assert_int_equal(fwrite(content.data, 1, content.len, f), content.len);
    assert_int_equal(fclose(f), 0);
    set_mtime(r, name, mtime_nanos);
}

static void test_growing_files_wait(void **state)
{
    struct rig *r = *state;
    struct pprof_bytes p;
    craft(&p, 7);
    const size_t half = p.out.len / 2;
    start(r, &r->world.clock, ", settle_time: 1s", "", "");
    const int64_t begin = atomic_load(&r->world.wall_nanos), long_ago = begin - 3600 * NANOS_PER_SECOND;
    place(r, "a.pb", (struct bytes){p.out.data, half}, begin);
    place_profile(r, "m1.pb", 11, long_ago); // complete by its own time
    wait_outcome(r, "sent", 1);
    fake_world_advance(&r->world, 900 * NANOS_PER_MS);
    append(r, "a.pb", (struct bytes){p.out.data + half, p.out.len - half}, begin + 900 * NANOS_PER_MS);
    fake_world_advance(&r->world, 200 * NANOS_PER_MS); // a second since it came, but not since it grew
    place_profile(r, "m2.pb", 12, long_ago);
    wait_outcome(r, "sent", 2);
    struct fake_seen before = fake_world_seen(&r->world);
    assert_false(took(&before, 7));
    fake_world_advance(&r->world, NANOS_PER_SECOND);
    wait_outcome(r, "sent", 3);
    assert_int_equal(outcome(r, "invalid"), 0); // never read by halves
    struct fake_seen seen = stop(r);
    assert_true(took(&seen, 7));
    pprof_bytes_fini(&p);
    fini(r);
}

static bool is_held(void *arg)
{
    struct rig *r = arg;
    return fake_world_seen(&r->world).sends >= 1 &&
           fake_service_counter(&r->service, "otelcol_receiver_accepted_profile_samples", "receiver", "pprof",
                                "transport", "file") >= 3;
}

static bool is_deleted(void *arg)
{
    return counter(arg, "profrelay_receiver_files_deleted") >= 1;
}

static void test_deleted_only_after_final(void **state)
{
    struct rig *r = *state;
    write_profile(r, "a.pb", 3);
    start(r, NULL, AT_ONCE ", after: delete", "    storage: store\n", ", answer: never");
    atomic_store(&r->world.answer, FAKE_NEVER);
    fake_world_wait(&r->world, is_held, r);
    assert_true(exists(r, "a.pb")); // in the queue, but not with the peer
    assert_int_equal(fake_storage_count(&r->store), 0);
    atomic_store(&r->world.answer, FAKE_OK);
    fake_world_wait(&r->world, is_deleted, r);
    assert_false(exists(r, "a.pb"));
    assert_int_equal(fake_storage_count(&r->store), 1);
    stop(r);
    fini(r);
}

static void test_nothing_is_deleted_while_the_peer_is_down(void **state)
{
    struct rig *r = *state;
    char name[32];
    for (unsigned i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "%u.pb", i);
        write_profile(r, name, i + 1);
    }
    start(r, NULL, AT_ONCE ", after: delete", "", ", answer: retry");
    wait_outcome(r, "gave_up", 3);
    struct fake_seen seen = stop(r);
    assert_int_equal(seen.taken_count, 0);
    for (unsigned i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "%u.pb", i);
        assert_true(exists(r, name));
    }
    fini(r);
}

static void test_new_content_under_the_name_is_not_deleted(void **state)
{
    struct rig *r = *state;
    write_profile(r, "a.pb", 3);
    start(r, NULL, AT_ONCE ", after: delete", "", ", answer: never");
    atomic_store(&r->world.answer, FAKE_NEVER);
    fake_world_wait(&r->world, is_held, r);
    write_profile(r, "a.pb", 4); // while the first is on its way
    atomic_store(&r->world.answer, FAKE_OK);
    wait_outcome(r, "sent", 2);
    fake_world_wait(&r->world, is_deleted, r);
    struct fake_seen seen = stop(r);
    assert_true(took(&seen, 3) && took(&seen, 4));
    assert_false(exists(r, "a.pb"));
    fini(r);
}

static void test_storage_that_fails_keeps_the_file(void **state)
{
    struct rig *r = *state;
    r->store.fail_put = true;
    write_profile(r, "a.pb", 3);
    start(r, NULL, AT_ONCE ", after: delete", "    storage: store\n", "");
    wait_outcome(r, "sent", 1);
    pass_marker(r, "b.pb", 4);
    struct fake_seen seen = stop(r);
    assert_int_equal(seen.taken_count, 2);
    assert_true(exists(r, "a.pb"));
    assert_non_null(strstr(r->service.log, "the storage cannot remember it"));
    fini(r);
}

static void test_refused_stays_and_is_not_offered_again(void **state)
{
    struct rig *r = *state;
    write_profile(r, "a.pb", 3);
    start(r, NULL, AT_ONCE ", after: delete", "", ", answer: refused");
    wait_outcome(r, "refused", 1);
    atomic_store(&r->world.answer, FAKE_OK);
    pass_marker(r, "b.pb", 4);
    pass_marker(r, "c.pb", 5);
    assert_int_equal(fake_world_seen(&r->world).sends, 3);
    assert_true(exists(r, "a.pb"));
    write_profile(r, "a.pb", 6); // changed: another chance
    wait_outcome(r, "sent", 3);
    struct fake_seen seen = stop(r);
    assert_true(took(&seen, 6));
    assert_false(took(&seen, 3));
    assert_non_null(strstr(r->service.log, "a.pb is refused"));
    fini(r);
}

static void test_gave_up_is_tried_again(void **state)
{
    struct rig *r = *state;
    write_profile(r, "a.pb", 3);
    start(r, NULL, AT_ONCE, "    storage: store\n", ", answer: retry");
    wait_outcome(r, "gave_up", 2);
    assert_int_equal(fake_storage_count(&r->store), 0);
    atomic_store(&r->world.answer, FAKE_OK);
    wait_outcome(r, "sent", 1);
    struct fake_seen seen = stop(r);
    assert_int_equal(seen.taken_count, 1);
    assert_int_equal(seen.taken[0], 3);
    assert_int_equal(fake_storage_count(&r->store), 1);
    fini(r);
}

static void test_partly_rejected_counts_as_sent(void **state)
{
    struct rig *r = *state;
    write_profile(r, "a.pb", 3);
    start(r, NULL, AT_ONCE ", after: delete", "", ", answer: partial");
    wait_outcome(r, "partial", 1);
    fake_world_wait(&r->world, is_deleted, r);
    assert_int_equal(stop(r).sends, 1);
    fini(r);
}

// One file is larger than all of memory_limit, the other would be once decoded.
static void test_budget_too_small(void **state)
{
    struct rig *r = *state;
    const size_t size = 5 << 20;
    uint8_t *zeros = mem_alloc(size);
    write_bytes(r, "large.pb", (struct bytes){zeros, size});
    free(zeros);
    write_profile(r, "a.pb", 3);
    write_profile(r, "many.pb", 450000);
    start(r, NULL, AT_ONCE, "", "");
    wait_outcome(r, "sent", 1);
    wait_outcome(r, "invalid", 2);
    struct fake_seen seen = stop(r);
    assert_int_equal(seen.taken_count, 1);
    assert_non_null(strstr(r->service.log,
                           "large.pb is not sent: the file has 5242880 bytes, service.memory_limit allows 4194304"));
    assert_non_null(strstr(r->service.log, "many.pb is not sent: "));
    fini(r);
}

static void test_max_file_size(void **state)
{
    struct rig *r = *state;
    write_profile(r, "a.pb", 1);
    write_profile(r, "b.pb", 1000);
    start(r, NULL, AT_ONCE ", max_file_size: 1KiB", "", "");
    wait_outcome(r, "sent", 1);
    wait_outcome(r, "invalid", 1);
    stop(r);
    assert_non_null(strstr(r->service.log, "max_file_size allows 1024"));
    fini(r);
}

// New files until one of them is sent: before the first look they count as old.
static bool new_file_is_sent(void *arg)
{
    struct rig *r = arg;
    static const char letters[] = "bcdefghijklmnopqrstuvwxyz";
    for (size_t i = 0; i < strlen(letters); i++) {
        char name[] = {letters[i], '.', 'p', 'b', 0};
        if (outcome(r, "sent") == 0 && !exists(r, name)) {
            write_profile(r, name, 100 + i);
            break;
        }
    }
    return outcome(r, "sent") >= 1;
}

static bool took_four(void *arg)
{
    struct fake_seen seen = fake_world_seen(&((struct rig *)arg)->world);
    return took(&seen, 4);
}

static void test_start_at_end(void **state)
{
    struct rig *r = *state;
    write_profile(r, "a.pb", 3);
    start(r, NULL, AT_ONCE ", start_at: end", "", "");
    fake_world_wait(&r->world, new_file_is_sent, r);
    pass_marker(r, "z2.pb", 55);
    struct fake_seen seen = fake_world_seen(&r->world);
    assert_false(took(&seen, 3));
    write_profile(r, "a.pb", 4); // new content is new
    fake_world_wait(&r->world, took_four, r);
    seen = stop(r);
    assert_true(took(&seen, 4));
    fini(r);
}

static void test_remembers_across_restarts(void **state)
{
    struct rig *r = *state;
    char from[256], to[256];
    write_profile(r, "a.pb", 3);
    write_profile(r, "b.pb", 4);
    start(r, NULL, AT_ONCE, "    storage: store\n", "");
    wait_outcome(r, "sent", 2);
    stop(r);
    assert_null(strstr(r->service.log, "no storage is named"));
    fini(r);

    rename(test_folder_path(&r->folder, "b.pb", from), test_folder_path(&r->folder, "renamed.pb", to));
    start(r, NULL, AT_ONCE, "    storage: store\n", "");
    wait_outcome(r, "known", 1); // under another name: known by its content
    pass_marker(r, "c.pb", 5);
    struct fake_seen seen = stop(r);
    assert_int_equal(seen.taken_count, 1);
    assert_int_equal(seen.taken[0], 5);
    fini(r);
}

static bool nothing_stored(void *arg)
{
    return fake_storage_count(&((struct rig *)arg)->store) == 0;
}

static bool five_stored(void *arg)
{
    return fake_storage_count(&((struct rig *)arg)->store) == 5;
}

static void test_forgets_what_is_gone(void **state)
{
    struct rig *r = *state;
    static const char *const names[] = {"a.pb", "a2.pb", "b.pb", "c.pb"};
    static const uint64_t samples[] = {3, 3, 4, 5};
    char path[256];
    start(r, NULL, AT_ONCE ", forget_after: 1ms", "    storage: store\n", "");
    for (size_t i = 0; i < COUNT_OF(names); i++)
        write_profile(r, names[i], samples[i]);
    wait_outcome(r, "sent", 3);
    wait_outcome(r, "known", 1);
    unlink(test_folder_path(&r->folder, "a.pb", path));
    pass_marker(r, "m.pb", 77);
    pass_marker(r, "m2.pb", 78);
    fake_world_wait(&r->world, five_stored, r); // a2 has the same content as a
    static const char *const rest[] = {"a2.pb", "b.pb", "c.pb", "m.pb", "m2.pb"};
    for (size_t i = 0; i < COUNT_OF(rest); i++)
        unlink(test_folder_path(&r->folder, rest[i], path));
    fake_world_wait(&r->world, nothing_stored, r);
    pass_marker(r, "again.pb", 3);
    struct fake_seen seen = stop(r);
    assert_int_equal(seen.taken_count, 6);
    fini(r);
}

enum { MANY = 60 };

static void write_many(struct rig *r)
{
    for (unsigned i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "%02u.pb", i);
        write_profile(r, name, i + 1);
    }
}

static bool sent_some(void *arg)
{
    return fake_world_seen(arg).taken_count >= 5;
}

// Stopped in the middle: after a restart every file has arrived, none twice.
static void test_stop_in_the_middle(void **state)
{
    struct rig *r = *state;
    unsigned arrived[MANY + 1] = {0};
    write_many(r);
    start(r, NULL, AT_ONCE, "    storage: store\n", ", answer: slow");
    fake_world_wait(&r->world, sent_some, &r->world);
    struct fake_seen first = stop(r);
    assert_int_equal(fake_storage_count(&r->store), first.taken_count);
    fini(r);
    start(r, NULL, AT_ONCE, "    storage: store\n", ", answer: slow");
    if (first.taken_count < MANY)
        wait_outcome(r, "sent", MANY - first.taken_count);
    struct fake_seen second = stop(r);
    fini(r);
    for (unsigned i = 0; i < first.taken_count; i++)
        arrived[first.taken[i]]++;
    for (unsigned i = 0; i < second.taken_count; i++)
        arrived[second.taken[i]]++;
    for (unsigned i = 1; i <= MANY; i++)
        assert_int_equal(arrived[i], 1);
}

static bool ten_sends(void *arg)
{
    return fake_world_seen(arg).sends >= 10;
}

// A peer that hangs, and no patience: nothing is remembered, nothing deleted.
static void test_hurried_end(void **state)
{
    struct rig *r = *state;
    write_many(r);
    start(r, NULL, AT_ONCE ", after: delete", "    storage: store\n", ", answer: never");
    fake_world_wait(&r->world, ten_sends, &r->world);
    service_stop(r->service.service, 0);
    struct fake_seen seen = stop(r);
    assert_int_equal(seen.taken_count, 0);
    assert_int_equal(fake_storage_count(&r->store), 0);
    assert_true(exists(r, "00.pb") && exists(r, "59.pb"));
    fini(r);
}

// A full queue: nothing is lost, each file arrives in the end.
static void test_full_queue(void **state)
{
    struct rig *r = *state;
    write_many(r);
    start(r, NULL, AT_ONCE, "", ", answer: slow, sending_queue: {queue_size: 1, num_consumers: 1}");
    wait_outcome(r, "sent", MANY);
    struct fake_seen seen = stop(r);
    assert_int_equal(seen.taken_count, MANY);
    fini(r);
}

static void test_storage_that_does_not_open(void **state)
{
    struct rig *r = *state;
    r->store.fail_open = true;
    fake_world_init(&r->world);
    fake_world_add_receiver(&r->world, &pprof_receiver);
    fake_world_add_extension(&r->world, &r->store.extension);
    fake_service_start(&r->service, &r->world, NULL,
                       "extensions: {store: }\nexporters: {fake: }\n"
                       "receivers: {pprof/x: {storage: store, file: {include: /nowhere}}}\n"
                       "service: {extensions: [store], pipelines: {profiles: {receivers: [pprof/x], exporters: "
                       "[fake]}}}\n");
    assert_int_equal(fake_service_join(&r->service), 1);
    assert_non_null(strstr(r->service.log, "cannot start: receivers.pprof/x: cannot open receiver_pprof/x"));
    fini(r);
}

static void assert_planned(struct fake_world *w, const char *receiver, const char *expected)
{
    struct arena arena;
    struct config_errors errors;
    struct plan plan;
    char yaml[1024], *text = NULL;
    size_t len;
    arena_init(&arena, 0);
    config_errors_init(&errors);
    snprintf(yaml, sizeof yaml,
             "receivers: {pprof: %s}\nexporters: {fake: }\n"
             "service: {pipelines: {profiles: {receivers: [pprof], exporters: [fake]}}}\n",
             receiver);
    const struct config_node *root = config_parse_yaml(&arena, bytes_from_text(yaml), "c", &errors);
    assert_non_null(root);
    (void)plan_make(&plan, &w->modules, root, &errors);
    FILE *out = open_memstream(&text, &len);
    config_errors_print(&errors, out);
    fclose(out);
    if (strncmp(text, expected, strlen(expected)) != 0)
        assert_string_equal(text, expected);
    plan_fini(&plan);
    config_errors_fini(&errors);
    arena_fini(&arena);
    free(text);
}

static void test_settings(void **state)
{
    (void)state;
    struct fake_world w;
    fake_world_init(&w);
    fake_world_add_receiver(&w, &pprof_receiver);
    assert_planned(&w, "{file: {include: \"/a/*.pb\"}}", "");
    assert_planned(&w, "{file: {include: [/a, /b], exclude: /c, timestamp: now}}", "c:1:");
    assert_planned(&w, "", "c:1:13: receivers.pprof: has nothing to read: add file:");
    assert_planned(&w, "{file: {include: []}}", "c:1:28: receivers.pprof: file.include: names no files");
    assert_planned(&w, "{file: {include: /a}, storage: s}",
                   "c:1:42: receivers.pprof: storage: no extension \"s\" is started");
    assert_planned(&w, "{file: {include: /a, after: move}}", "c:1:");
    assert_planned(&w, "{file: {include: /a, match: '(?P<service>x)'}}", "");
    assert_planned(&w, "{file: {include: /a, match: '(x)'}}",
                   "c:1:41: receivers.pprof: file.match: group 1 has no name");
    assert_planned(&w, "{file: {include: /a, collection_interval: 1ms}}", "c:1:");
    fake_world_fini(&w);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_sent_once),
        IN_FOLDER(test_counts_what_came_in),
        IN_FOLDER(test_identical_content_is_one_profile),
        IN_FOLDER(test_the_same_file_of_two_services_is_two),
        IN_FOLDER(test_paths_tell_services_apart),
        IN_FOLDER(test_growing_files_wait),
        IN_FOLDER(test_deleted_only_after_final),
        IN_FOLDER(test_nothing_is_deleted_while_the_peer_is_down),
        IN_FOLDER(test_new_content_under_the_name_is_not_deleted),
        IN_FOLDER(test_storage_that_fails_keeps_the_file),
        IN_FOLDER(test_refused_stays_and_is_not_offered_again),
        IN_FOLDER(test_gave_up_is_tried_again),
        IN_FOLDER(test_partly_rejected_counts_as_sent),
        IN_FOLDER(test_budget_too_small),
        IN_FOLDER(test_max_file_size),
        IN_FOLDER(test_start_at_end),
        IN_FOLDER(test_remembers_across_restarts),
        IN_FOLDER(test_forgets_what_is_gone),
        IN_FOLDER(test_stop_in_the_middle),
        IN_FOLDER(test_hurried_end),
        IN_FOLDER(test_full_queue),
        IN_FOLDER(test_storage_that_does_not_open),
        cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
