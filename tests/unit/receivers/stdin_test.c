// SPDX-License-Identifier: Apache-2.0
// The folded receiver on standard input, as a user runs it: a pipe or a file, the real service, a peer that does as it
// is told. The line i of the input is a stack of its own, so that samples count lines.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "receivers/receivers.h"
#include "receivers/stdin_reader.h"
#include "tests/support/fake_env.h"
#include "tests/support/fake_modules.h"
#include "tests/support/test_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct rig {
    struct fake_world world;
    struct fake_service service;
    char yaml[1024];
    int saved_stdin, writer; // writer: -1 once closed
    uint64_t wanted;
};

static void replace_stdin(struct rig *r, int fd)
{
    r->saved_stdin = dup(STDIN_FILENO);
    assert_true(r->saved_stdin >= 0);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    close(fd);
}

// keys: of the section stdin; exporter: its keys, after a comma.
static void start(struct rig *r, const char *keys, const char *exporter)
{
    fake_world_init(&r->world);
    fake_world_add_receiver(&r->world, &folded_receiver);
    int len = snprintf(r->yaml, sizeof r->yaml,
                       "receivers: {folded: {stdin: {%s}}}\n"
                       "extensions: {fake: }\n"
                       "exporters: {fake: {retry_on_failure: {enabled: false}%s}}\n"
                       "service:\n"
                       "  extensions: [fake]\n"
                       "  workers: 2\n"
                       "  telemetry: {metrics: {level: none}}\n"
                       "  pipelines: {profiles: {receivers: [folded], exporters: [fake]}}\n",
                       keys, exporter);
    assert_true(len > 0 && (size_t)len < sizeof r->yaml);
    fake_service_start(&r->service, &r->world, NULL, r->yaml);
    fake_service_wait_ready(&r->service);
}

static void start_with_pipe(struct rig *r, const char *keys, const char *exporter)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    r->writer = ends[1];
    replace_stdin(r, ends[0]);
    start(r, keys, exporter);
}

static void end_input(struct rig *r)
{
    close(r->writer);
    r->writer = -1;
}

// The program has ended, by itself or because it was asked to.
static struct fake_seen join(struct rig *r)
{
    assert_int_equal(fake_service_join(&r->service), 0);
    struct fake_seen seen = fake_world_seen(&r->world);
    assert_int_equal(seen.budget_at_end, 0);
    return seen;
}

static void fini(struct rig *r)
{
    fake_service_fini(&r->service);
    fake_world_fini(&r->world);
    assert_int_equal(dup2(r->saved_stdin, STDIN_FILENO), STDIN_FILENO);
    close(r->saved_stdin);
    if (r->writer >= 0)
        close(r->writer);
}

static uint64_t lines_taken(const struct fake_seen *seen)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < seen->taken_count; i++)
        sum += seen->taken[i];
    return sum;
}

static bool has_taken(void *arg)
{
    struct rig *r = arg;
    const struct fake_seen seen = fake_world_seen(&r->world);
    return lines_taken(&seen) >= r->wanted;
}

static void wait_taken(struct rig *r, uint64_t lines)
{
    r->wanted = lines;
    fake_world_wait(&r->world, has_taken, r);
}

static void say(struct rig *r, const char *text)
{
    size_t len = strlen(text);
    assert_int_equal(write(r->writer, text, len), len);
}

static void parts_end_at_line_ends(void **state)
{
    (void)state;
    struct rig r = {.writer = -1};
    start_with_pipe(&r, "interval: 10ms", "");
    say(&r, "a;b 1\nc 2\nd;e");
    wait_taken(&r, 2);
    say(&r, ";f 3\ng 4"); // the last line has no end
    wait_taken(&r, 3);
    end_input(&r);
    struct fake_seen seen = join(&r); // ends by itself: at_end is stop
    assert_int_equal(lines_taken(&seen), 4);
    assert_null(strstr(r.service.log, "passed over"));
    fini(&r);
}

static void a_file_is_read_to_its_end(void **state)
{
    (void)state;
    struct rig r = {.writer = -1};
    struct test_folder folder;
    char path[256];
    test_folder_init(&folder);
    test_folder_write(&folder, "in", BYTES_LITERAL("a 1\nb 2\n# comment\nnothing\nc 3\n"));
    replace_stdin(&r, open(test_folder_path(&folder, "in", path), O_RDONLY | O_CLOEXEC));
    start(&r, "interval: 1h", "");
    struct fake_seen seen = join(&r);
    assert_int_equal(lines_taken(&seen), 3);
    assert_non_null(strstr(r.service.log, "standard input: lines passed over: 1, the first: line 4:"));
    fini(&r);
    test_folder_fini(&folder);
}

static void the_end_of_input_need_not_be_the_end(void **state)
{
    (void)state;
    struct rig r = {.writer = -1};
    start_with_pipe(&r, "interval: 1h, at_end: keep", "");
    say(&r, "a 1\n");
    end_input(&r);
    wait_taken(&r, 1); // at the end of the input, not after an hour
    fake_service_stop(&r.service);
    struct fake_seen seen = join(&r);
    assert_int_equal(lines_taken(&seen), 1);
    fini(&r);
}

static bool was_refused_once(void *arg)
{
    return fake_world_seen(arg).sends > 0;
}

static void what_a_peer_does_not_take_is_kept(void **state)
{
    (void)state;
    struct rig r = {.writer = -1};
    start_with_pipe(&r, "interval: 10ms", ", answer: retry");
    say(&r, "a 1\nb 2\n");
    fake_world_wait(&r.world, was_refused_once, &r.world);
    say(&r, "c 3\n");
    atomic_store(&r.world.answer, FAKE_OK);
    wait_taken(&r, 3);
    end_input(&r);
    struct fake_seen seen = join(&r);
    assert_int_equal(lines_taken(&seen), 3); // each once
    fini(&r);
}

// Writes numbered lines until the pipe takes no more.
static uint64_t fill(struct rig *r, uint64_t from)
{
    assert_int_equal(fcntl(r->writer, F_SETFL, O_NONBLOCK), 0);
    for (uint64_t line = from;; line++) {
        char text[32];
        int len = snprintf(text, sizeof text, "frame%010llu 1\n", (unsigned long long)line);
        ssize_t n = write(r->writer, text, (size_t)len);
        if (n != len) {
            assert_int_equal(errno, EAGAIN);
            return line;
        }
    }
}

static bool one_is_unanswered(void *arg)
{
    return fake_world_seen(arg).unanswered > 0;
}

static void a_writer_waits_instead_of_losing(void **state)
{
    (void)state;
    enum { PIPE_BYTES = 4096, MOST_READ = 4 * (4096 + (64 << 10)) };
    struct rig r = {.writer = -1};
    start_with_pipe(&r, "interval: 10ms, max_size: 4096", ", answer: never");
    assert_true(fcntl(r.writer, F_SETPIPE_SZ, PIPE_BYTES) >= PIPE_BYTES);
    uint64_t lines = fill(&r, 0);
    fake_world_wait(&r.world, one_is_unanswered, &r.world);
    // Whatever is read in the meantime has an end.
    uint64_t more;
    while ((more = fill(&r, lines)) != lines)
        lines = more;
    assert_in_range(lines * 17, 1, MOST_READ);
    atomic_store(&r.world.answer, FAKE_OK);
    wait_taken(&r, lines);
    end_input(&r);
    struct fake_seen seen = join(&r);
    assert_int_equal(lines_taken(&seen), lines);
    fini(&r);
}

static void a_line_larger_than_a_part_is_passed_over(void **state)
{
    (void)state;
    struct rig r = {.writer = -1};
    static char line[200001];
    memset(line, 'x', sizeof line - 1);
    memcpy(line + sizeof line - 5, " 77\n", 4);
    line[sizeof line - 1] = '\0';
    start_with_pipe(&r, "interval: 10ms, max_size: 4096", "");
    say(&r, "a 1\n");
    wait_taken(&r, 1);
    say(&r, line);
    say(&r, "b 2\n");
    wait_taken(&r, 2);
    end_input(&r);
    struct fake_seen seen = join(&r);
    assert_int_equal(lines_taken(&seen), 2);
    assert_non_null(strstr(r.service.log, "a line of standard input has more than stdin.max_size, 4096 bytes"));
    fini(&r);
}

// A signal does not lose what was read: it is tried once more.
static void the_end_of_the_program_sends_what_was_read(void **state)
{
    (void)state;
    struct rig r = {.writer = -1};
    start_with_pipe(&r, "interval: 10ms", ", answer: retry");
    say(&r, "a 1\nb 2\n");
    fake_world_wait(&r.world, was_refused_once, &r.world);
    atomic_store(&r.world.answer, FAKE_OK);
    fake_service_stop(&r.service);
    struct fake_seen seen = join(&r);
    assert_int_equal(lines_taken(&seen), 2);
    fini(&r);
}

static void note_stopped(void *arg)
{
    *(bool *)arg = true;
}

static bool is_stopped(void *arg)
{
    return *(bool *)arg;
}

static void standard_input_has_one_reader(void **state)
{
    (void)state;
    struct fake_env env;
    fake_env_init(&env, 1);
    struct receiver receiver = {.component = {.loop = &env.loop, .env = &env.env}};
    const struct stdin_settings settings = {.interval_nanos = 3600 * NANOS_PER_SECOND, .max_bytes = 4096};
    const struct profile_file_options options = {.format = NULL};
    struct stdin_reader *first, *second;
    struct err e = {0};
    bool stopped = false;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(stdin_reader_create(&receiver, ends[0], &settings, &options, &first, &e), ERR_OK);
    assert_int_equal(stdin_reader_create(&receiver, ends[0], &settings, &options, &second, &e), ERR_IO);
    assert_non_null(strstr(e.text, "because another receiver does"));
    assert_null(second);
    stdin_reader_stop(first, note_stopped, &stopped);
    fake_env_run_until(&env, is_stopped, &stopped);
    close(ends[0]);
    close(ends[1]);
    fake_env_fini(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_end_at_line_ends),
        cmocka_unit_test(a_file_is_read_to_its_end),
        cmocka_unit_test(the_end_of_input_need_not_be_the_end),
        cmocka_unit_test(what_a_peer_does_not_take_is_kept),
        cmocka_unit_test(a_writer_waits_instead_of_losing),
        cmocka_unit_test(a_line_larger_than_a_part_is_passed_over),
        cmocka_unit_test(the_end_of_the_program_sends_what_was_read),
        cmocka_unit_test(standard_input_has_one_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
