// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/mem.h"
#include "tests/support/test_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// A file without a name that holds so many bytes, told apart by their place.
static int file_of(size_t len)
{
    struct buf content;
    int fd = memfd_create("fd_test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    buf_init(&content, SIZE_MAX);
    for (size_t i = 0; i < len; i++)
        buf_add_byte(&content, (uint8_t)(i * 7 >> 3));
    assert_true(fd_write_all(fd, buf_bytes(&content)));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    buf_fini(&content);
    return fd;
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, FD_READ_BYTES, FD_READ_BYTES + 1, 3 * FD_READ_BYTES + 5};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct buf out;
        int fd = file_of(sizes[i]);
        buf_init(&out, sizes[i] + FD_READ_BYTES); // just enough
        assert_true(fd_read_to_end(fd, &out));
        assert_int_equal(out.len, sizes[i]);
        for (size_t k = 0; k < out.len; k++)
            if (out.data[k] != (uint8_t)(k * 7 >> 3))
                fail_msg("byte %zu differs", k);
        buf_fini(&out);
        close(fd);
    }
}

static void one_byte_too_many_is_too_large(void **state)
{
    (void)state;
    struct buf out;
    int fd = file_of(101);
    buf_init(&out, 100 + FD_READ_BYTES);
    assert_false(fd_read_to_end(fd, &out));
    assert_true(out.too_large);
    buf_fini(&out);
    close(fd);
}

static void failures_are_told_apart(void **state)
{
    (void)state;
    struct buf out;
    int folder = open("/", O_RDONLY | O_CLOEXEC), fd = file_of(10);
    buf_init(&out, SIZE_MAX);
    assert_false(fd_read_to_end(folder, &out));
    assert_int_equal(errno, EISDIR);
    assert_true(buf_ok(&out));
    buf_fini(&out);
    mem_fail_from(1);
    assert_false(fd_read_to_end(fd, &out));
    mem_fail_from(0);
    assert_true(out.failed && !out.too_large);
    assert_false(fd_write_all(folder, BYTES_LITERAL("a")));
    assert_int_equal(errno, EBADF);
    buf_fini(&out);
    close(folder);
    close(fd);
}

static void whole_files(void **state)
{
    (void)state;
    struct test_folder folder;
    struct buf out;
    char path[256];
    test_folder_init(&folder);
    test_folder_write(&folder, "f", BYTES_LITERAL("ten bytes."));
    test_folder_path(&folder, "f", path);
    assert_int_equal(fd_read_file(path, 10, &out), ERR_OK);
    assert_true(bytes_equal_text(buf_bytes(&out), "ten bytes."));
    buf_fini(&out);
    assert_int_equal(fd_read_file(path, 9, &out), ERR_LIMIT);
    buf_fini(&out);
    mem_fail_from(1);
    assert_int_equal(fd_read_file(path, 10, &out), ERR_MEMORY);
    mem_fail_from(0);
    buf_fini(&out);
    assert_int_equal(fd_read_file(folder.path, 10, &out), ERR_IO);
    assert_int_equal(errno, EISDIR);
    buf_fini(&out);
    test_folder_path(&folder, "none", path);
    assert_int_equal(fd_read_file(path, 10, &out), ERR_IO);
    assert_int_equal(errno, ENOENT);
    buf_fini(&out);
    assert_int_equal(mkfifo(path, 0600), 0); // nobody writes into it
    assert_int_equal(fd_read_file(path, 10, &out), ERR_OK);
    assert_int_equal(out.len, 0);
    buf_fini(&out);
    test_folder_fini(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(one_byte_too_many_is_too_large),
        cmocka_unit_test(failures_are_told_apart),
        cmocka_unit_test(whole_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
