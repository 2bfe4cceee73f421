// SPDX-License-Identifier: Apache-2.0
// The HTTP/2 engine behind its preface, in pieces. The first four bytes choose their length and whether the connection
// is lost with requests unanswered; what the handler and the time do; the largest body; which allocation of ours fails.
#include "base/check.h"
#include "base/mem.h"
#include "tests/support/fake_link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    PARAMETERS = 4,
    LEAVES = 128,
    BODY_UNIT_BYTES = 100,
    DEFERS = 1,
    OWN_REFUSALS = 2,
    LITTLE_MEMORY = 4,
    DRAINS = 8,
    TRAILS = 16,
    STREAMS = 32,
    SMALL_HEADERS = 64,
    SLOW = 128,
    SLOW_PIECE_MS = 4000,
    PING_MS = 3000
};

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0";

static void answer_waiting(struct fake_link *f)
{
    for (size_t i = 0; i < f->waiting_count; i++)
        if (f->waiting[i] != NULL)
            fake_link_answer(f, i, 200, "late");
    f->waiting_count = 0;
}

static void check_end(struct fake_link *f)
{
    answer_waiting(f);
    for (int i = 0; i < 5; i++) // idle, notice, goaway
        fake_link_at(f, f->now_ms + 3600 * 1000);
    CHECK(fake_link_finished(f));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct http_header trailers[] = {{"grpc-status", "0"}};
    struct fake_link f;
    if (size < PARAMETERS)
        return 0;
    fake_link_init(&f);
    f.limits.max_header_bytes = (data[1] & SMALL_HEADERS) != 0 ? 160 : 4096;
    f.limits.ping_least_ms = PING_MS;
    if ((data[1] & SLOW) != 0)
        f.limits.ping_after_ms = PING_MS;
    f.defers = (data[1] & DEFERS) != 0;
    f.own_refusals = (data[1] & OWN_REFUSALS) != 0;
    f.streams = (data[1] & STREAMS) != 0;
    f.reserve_max = (data[1] & LITTLE_MEMORY) != 0 ? 64 : SIZE_MAX;
    f.trailers = trailers;
    f.trailer_count = (data[1] & TRAILS) != 0;
    f.max_body = BODY_UNIT_BYTES * (size_t)data[2];
    fake_link_start(&f, http2_server_create);
    fake_link_receive(&f, (struct bytes){(const uint8_t *)preface, sizeof preface}, sizeof preface);
    mem_fail_from(data[3]);
    bool leaves = (data[0] & LEAVES) != 0;
    size_t step = data[0] % LEAVES == 0 ? size : data[0] % LEAVES;
    for (size_t i = PARAMETERS; i < size && !fake_link_finished(&f); i += step) {
        fake_link_receive(&f, (struct bytes){data + i, size - i < step ? size - i : step}, step);
        if ((data[1] & SLOW) != 0)
            fake_link_at(&f, f.now_ms + SLOW_PIECE_MS);
        if (f.waiting_count > FAKE_WAITING_MAX / 2 || (i % 3 == 0 && !leaves))
            answer_waiting(&f);
        if (i > size / 2 && (data[1] & DRAINS) != 0)
            f.engine->ops->drain(f.engine);
    }
    mem_fail_from(0);
    CHECK(f.heads >= f.requests + f.refusals);
    if (!leaves)
        check_end(&f);
    fake_link_fini(&f);
    return 0;
}
