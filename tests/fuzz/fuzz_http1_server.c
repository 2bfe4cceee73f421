// SPDX-License-Identifier: Apache-2.0
// The HTTP/1.1 engine in pieces. The first four bytes choose their length; what the handler and the time do; the largest
// body; which allocation fails.
#include "base/check.h"
#include "base/mem.h"
#include "tests/support/fake_link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    PARAMETERS = 4,
    BODY_UNIT_BYTES = 100,
    DEFERS = 1,
    OWN_REFUSALS = 2,
    LITTLE_MEMORY = 4,
    DRAINS = 8,
    SMALL_HEADERS = 16,
    SLOW = 32,
    LEAVES = 64,
    TRAILERS = 128,
    SLOW_PIECE_MS = 4000
};

static void answer_waiting(struct fake_link *f)
{
    for (size_t i = 0; i < f->waiting_count; i++)
        if (f->waiting[i] != NULL)
            fake_link_answer(f, i, 200, "late");
    f->waiting_count = 0;
}

static void start(struct fake_link *f, const uint8_t parameters[PARAMETERS])
{
    static const struct http_header trailer = {"grpc-status", "0"};
    uint8_t flags = parameters[1];
    fake_link_init(f);
    f->limits.max_header_bytes = (flags & SMALL_HEADERS) != 0 ? 128 : 4096;
    f->defers = (flags & DEFERS) != 0;
    f->own_refusals = (flags & OWN_REFUSALS) != 0;
    f->reserve_max = (flags & LITTLE_MEMORY) != 0 ? 64 : SIZE_MAX;
    f->trailers = &trailer;
    f->trailer_count = (flags & TRAILERS) != 0;
    f->max_body = BODY_UNIT_BYTES * (size_t)parameters[2];
    fake_link_start(f, http1_server_create);
}

static void feed(struct fake_link *f, struct bytes data, size_t step, uint8_t flags)
{
    for (size_t i = 0; i < data.len && !fake_link_finished(f); i += step) {
        if ((flags & LEAVES) != 0 && f->waiting_count > 0)
            break;
        if (!fake_link_receive(f, (struct bytes){data.data + i, data.len - i < step ? data.len - i : step}, step))
            i -= f->waiting_count > 0 ? step : 0; // it is not read yet
        if ((flags & SLOW) != 0)
            fake_link_at(f, f->now_ms + SLOW_PIECE_MS);
        if ((flags & LEAVES) == 0)
            answer_waiting(f);
        CHECK(f->waiting_count == 0 || !f->engine->ops->is_idle(f->engine));
        if (i > data.len / 2 && (flags & DRAINS) != 0)
            f->engine->ops->drain(f->engine);
    }
}

// However it is cut, it says the same.
static void check_whole(const struct fake_link *pieces, const uint8_t parameters[PARAMETERS], struct bytes data)
{
    struct fake_link whole;
    start(&whole, parameters);
    feed(&whole, data, data.len, parameters[1]);
    CHECK(whole.heads == pieces->heads && whole.requests == pieces->requests && whole.refusals == pieces->refusals);
    CHECK(strcmp(whole.last, pieces->last) == 0 &&
          bytes_equal(buf_bytes(&whole.last_body), buf_bytes(&pieces->last_body)));
    fake_link_fini(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fake_link f;
    if (size <= PARAMETERS)
        return 0;
    struct bytes received = {data + PARAMETERS, size - PARAMETERS};
    start(&f, data);
    mem_fail_from(data[3]);
    feed(&f, received, data[0] == 0 ? size : data[0], data[1]);
    mem_fail_from(0);
    CHECK(f.heads >= f.requests + f.refusals);
    if (data[3] == 0 && (data[1] & (DRAINS | SLOW | LEAVES)) == 0)
        check_whole(&f, data, received);
    fake_link_at(&f, f.now_ms + 3600 * 1000);
    CHECK(fake_link_finished(&f) || f.waiting_count > 0);
    fake_link_fini(&f);
    return 0;
}
