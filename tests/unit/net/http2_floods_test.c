// SPDX-License-Identifier: Apache-2.0
// Frames that no decent client sends, written by hand. Each flood must end the connection before it has cost much, and
// what it cost must not stay.
#include "tests/support/fake_link.h"

#include "base/mem.h"
#include "net/http2_purse.h"

#include <nghttp2/nghttp2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
size_t __sanitizer_get_current_allocated_bytes(void); // gcc has no header for it
static size_t allocated(void)
{
    return __sanitizer_get_current_allocated_bytes();
}
#else
static size_t allocated(void)
{
    return 0;
}
#endif

enum { COST_MAX_BYTES = 2 << 20, FRAMES_MAX = 200000 };

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// :method GET, :scheme http, :path /, :authority h
static const char get_block[] = "\x82\x86\x84\x41\x01h";

struct flood {
    struct fake_link f;
    size_t before, sent, most;
};

static void frame(struct flood *fl, uint8_t type, uint8_t flags, uint32_t id, const void *payload, size_t len)
{
    uint8_t *b = malloc(9 + len);
    const uint8_t head[9] = {(uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len,       type,       flags,
                             (uint8_t)(id >> 24),  (uint8_t)(id >> 16), (uint8_t)(id >> 8), (uint8_t)id};
    memcpy(b, head, 9);
    if (len > 0)
        memcpy(b + 9, payload, len);
    fl->sent += fake_link_receive(&fl->f, (struct bytes){b, 9 + len}, 9 + len);
    free(b);
    fl->f.out.len = 0; // the peer reads
    size_t now = allocated();
    if (now > fl->before && now - fl->before > fl->most)
        fl->most = now - fl->before;
}

static void begin(struct flood *fl)
{
    *fl = (struct flood){0};
    fake_link_init(&fl->f);
    fl->f.defers = true;
    fake_link_start(&fl->f, http2_server_create);
    fl->before = allocated();
    fake_link_receive(&fl->f, bytes_from_text(preface), 100);
    frame(fl, NGHTTP2_SETTINGS, 0, 0, NULL, 0);
}

static void end(struct flood *fl)
{
    assert_in_range(fl->most, 0, COST_MAX_BYTES);
    fake_link_fini(&fl->f);
}

static bool is_over(const struct flood *fl)
{
    return fake_link_finished(&fl->f);
}

static void test_rapid_reset(void **state)
{
    (void)state;
    struct flood fl;
    static const uint8_t cancel[4] = {0, 0, 0, NGHTTP2_CANCEL};
    begin(&fl);
    for (uint32_t id = 1; id < FRAMES_MAX && !is_over(&fl); id += 2) {
        frame(&fl, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, id, get_block, 6);
        frame(&fl, NGHTTP2_RST_STREAM, 0, id, cancel, 4);
    }
    assert_true(is_over(&fl));
    assert_in_range(fl.f.heads, 1, 1001);
    assert_int_equal(fl.f.aborts, fl.f.heads);
    end(&fl);
}

// The peer's faults make the server reset (CVE-2025-8671): a window update of 0 on each new stream.
static void test_made_to_reset(void **state)
{
    (void)state;
    struct flood fl;
    static const uint8_t nothing[4] = {0};
    begin(&fl);
    for (uint32_t id = 1; id < FRAMES_MAX && !is_over(&fl); id += 2) {
        frame(&fl, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, id, get_block, 6);
        frame(&fl, NGHTTP2_WINDOW_UPDATE, 0, id, nothing, 4);
    }
    assert_true(is_over(&fl));
    assert_in_range(fl.f.heads, 1, 1001);
    end(&fl);
}

struct repeated {
    uint8_t type, flags;
    const char *payload;
    size_t len;
    bool on_stream;
};

static void test_control_floods(void **state)
{
    (void)state;
    static const struct repeated rows[] = {
        {NGHTTP2_PING, 0, "12345678", 8, false},
        {NGHTTP2_PING, NGHTTP2_FLAG_ACK, "12345678", 8, false},
        {NGHTTP2_SETTINGS, 0, "", 0, false},
        {NGHTTP2_SETTINGS, 0, "\0\x04\0\0\0\x01", 6, false},
        {NGHTTP2_PRIORITY, 0, "\0\0\0\0\x10", 5, true},
        {NGHTTP2_WINDOW_UPDATE, 0, "\0\0\0\x01", 4, false},
        {NGHTTP2_WINDOW_UPDATE, 0, "\0\0\0\x01", 4, true},
        {NGHTTP2_DATA, 0, "", 0, true},
        {NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, "\x05\0\0\0\0\0", 6, true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct flood fl;
        begin(&fl);
        frame(&fl, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, get_block, 6);
        for (int n = 0; n < FRAMES_MAX && !is_over(&fl); n++)
            frame(&fl, rows[i].type, rows[i].flags, rows[i].on_stream, rows[i].payload, rows[i].len);
        if (!is_over(&fl) || fl.sent > 15000)
            fail_msg("row %zu: %zu frames were taken", i, fl.sent);
        end(&fl);
    }
}

static void test_continuations(void **state)
{
    (void)state;
    struct flood fl;
    begin(&fl);
    frame(&fl, NGHTTP2_HEADERS, 0, 1, get_block, 6);
    for (int n = 0; n < FRAMES_MAX && !is_over(&fl); n++)
        frame(&fl, NGHTTP2_CONTINUATION, 0, 1, "\x40\x01x\x01y", 5);
    assert_true(is_over(&fl));
    assert_in_range(fl.sent, 1, 20);
    assert_int_equal(fl.f.heads, 0);
    end(&fl);
}

// A header block that says the same long header by its one-byte number again and again.
static void test_header_bomb(void **state)
{
    (void)state;
    struct flood fl;
    char *block = malloc(16384);
    size_t len = 6;
    memcpy(block, get_block, len);
    memcpy(block + len, "\x40\x01x\x7F\x81\x1E", 6); // value of 127 + 3841 bytes, added to the table
    len += 6;
    memset(block + len, 'v', 3968);
    len += 3968;
    memset(block + len, 0xBE, 16384 - len); // 12 thousand times
    begin(&fl);
    for (uint32_t id = 1; id < 200 && !is_over(&fl); id += 2)
        frame(&fl, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, id, block, 16384);
    assert_int_equal(fl.f.heads, 0);
    end(&fl);
    free(block);
}

static void test_slow_header_block(void **state)
{
    (void)state;
    struct flood fl;
    begin(&fl);
    frame(&fl, NGHTTP2_HEADERS, 0, 1, get_block, 6);
    fake_link_at(&fl.f, fl.f.now_ms + 9999);
    assert_false(is_over(&fl));
    frame(&fl, NGHTTP2_CONTINUATION, 0, 1, "\x40\x01x\x01y", 5); // does not buy time
    fake_link_at(&fl.f, fl.f.now_ms + 1);
    assert_true(is_over(&fl));
    end(&fl);
}

static void test_skipped_stream_number(void **state)
{
    (void)state;
    struct flood fl;
    begin(&fl);
    frame(&fl, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 5, get_block, 6);
    frame(&fl, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 3, get_block, 6);
    assert_true(is_over(&fl));
    assert_int_equal(fl.f.heads, 1);
    end(&fl);
}

static void test_too_many_streams(void **state)
{
    (void)state;
    struct flood fl;
    begin(&fl);
    for (uint32_t id = 1; id < 400; id += 2) // the limit of 100 was not acknowledged
        frame(&fl, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, id, get_block, 6);
    assert_int_equal(fl.f.heads, 100);
    assert_false(is_over(&fl)); // the rest was refused
    end(&fl);
}

// More body than the windows allow.
static void test_ignored_windows(void **state)
{
    (void)state;
    struct flood fl;
    char *data = mem_alloc(16384);
    begin(&fl);
    frame(&fl, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, "\x83\x86\x84\x41\x01h", 6);
    fl.f.max_body = 1 << 30;
    fl.f.reserve_max = 100000;
    for (int n = 0; n < 2000 && !is_over(&fl); n++)
        frame(&fl, NGHTTP2_DATA, 0, 1, data, 16384);
    assert_int_equal(fl.f.last_refusal, 503);
    end(&fl);
    free(data);
}

static void put_frame(struct buf *out, uint8_t type, uint8_t flags, const void *payload, size_t len)
{
    const uint8_t head[9] = {(uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len, type, flags, 0, 0, 0, 1};
    buf_add(out, head, sizeof head);
    buf_add(out, payload, len);
}

// Whether stream 1 was answered to its end, and not reset before that.
static bool is_answered(const struct buf *out)
{
    for (size_t at = 0; at + 9 <= out->len;) {
        const uint8_t *f = out->data + at;
        bool mine = f[8] == 1;
        if (mine && f[3] == NGHTTP2_RST_STREAM)
            return false;
        if (mine && (f[4] & NGHTTP2_FLAG_END_STREAM) != 0)
            return true;
        at += 9 + ((size_t)f[0] << 16 | (size_t)f[1] << 8 | f[2]);
    }
    return false;
}

// The rest of a refused body, all read before a byte of the answer could be sent.
static void test_answer_behind_a_late_body(void **state)
{
    (void)state;
    static const uint8_t data[16384];
    static const char block[] = "\x83\x86\x04\x08/refused\x41\x01h";
    struct flood fl;
    struct buf all;
    begin(&fl);
    frame(&fl, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, NULL, 0); // the windows count from now on
    buf_init(&all, 1 << 20);
    put_frame(&all, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, block, sizeof block - 1);
    for (int i = 0; i < 40; i++)
        put_frame(&all, NGHTTP2_DATA, 0, data, sizeof data);
    assert_true(buf_ok(&all) && fake_link_receive(&fl.f, buf_bytes(&all), all.len));
    assert_true(is_answered(&fl.f.out));
    buf_fini(&all);
    fake_link_fini(&fl.f);
}

// Decent clients ping and reset, too: what is answered earns.
static void test_decent_use(void **state)
{
    (void)state;
    struct flood fl;
    begin(&fl);
    fl.f.defers = false;
    for (uint32_t id = 1; id < 30000; id += 2) {
        frame(&fl, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, id, get_block, 6);
        frame(&fl, NGHTTP2_PING, 0, 0, "12345678", 8);
        frame(&fl, NGHTTP2_WINDOW_UPDATE, 0, 0, "\0\0\0\x01", 4);
    }
    assert_false(is_over(&fl));
    assert_int_equal(fl.f.requests, 15000);
    end(&fl);
}

static void test_purse(void **state)
{
    (void)state;
    static const struct http2_purse_size size = {.capacity = 3, .per_second = 2};
    struct http2_purse p;
    http2_purse_fill(&p, &size, 1000);
    for (int i = 0; i < 3; i++)
        assert_true(http2_purse_pay(&p, &size, 1000));
    assert_false(http2_purse_pay(&p, &size, 1999));
    assert_true(http2_purse_pay(&p, &size, 2000));
    assert_true(http2_purse_pay(&p, &size, 2999));
    assert_false(http2_purse_pay(&p, &size, 2999));
    http2_purse_earn(&p, &size, 100);
    assert_int_equal(p.tokens, 3);
    assert_true(http2_purse_pay(&p, &size, UINT64_MAX));
}

static void test_ids(void **state)
{
    (void)state;
    struct http2_ids ids = {0};
    assert_true(http2_ids_open(&ids, 1));
    assert_true(http2_ids_open(&ids, 3));
    assert_true(http2_ids_open(&ids, 9));
    assert_true(http2_ids_open(&ids, 1) && http2_ids_open(&ids, 3) && http2_ids_open(&ids, 9));
    assert_false(http2_ids_open(&ids, 5));
    assert_false(http2_ids_open(&ids, 7));
    assert_true(http2_ids_open(&ids, 4) && http2_ids_open(&ids, 0)); // the library's affair
    assert_true(http2_ids_open(&ids, 135));
    assert_true(http2_ids_open(&ids, 9));
    assert_false(http2_ids_open(&ids, 11));
    assert_true(http2_ids_open(&ids, 7)); // too old to tell
    assert_true(http2_ids_open(&ids, INT32_MAX));
    assert_false(http2_ids_open(&ids, INT32_MAX - 2));
    ids = (struct http2_ids){0};
    assert_true(http2_ids_open(&ids, INT32_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rapid_reset),
        cmocka_unit_test(test_made_to_reset),
        cmocka_unit_test(test_control_floods),
        cmocka_unit_test(test_continuations),
        cmocka_unit_test(test_header_bomb),
        cmocka_unit_test(test_slow_header_block),
        cmocka_unit_test(test_skipped_stream_number),
        cmocka_unit_test(test_too_many_streams),
        cmocka_unit_test(test_ignored_windows),
        cmocka_unit_test(test_answer_behind_a_late_body),
        cmocka_unit_test(test_decent_use),
        cmocka_unit_test(test_purse),
        cmocka_unit_test(test_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
