// SPDX-License-Identifier: Apache-2.0
// Any bytes either are refused with a reason or give a valid batch; what is written of it reads and is written the same
// again. The first byte chooses the options.
#include "codec/folded.h"
#include "profile/validate.h"

#include <stdlib.h>

static const struct decode_limits limits = {
    .max_samples = 1 << 16,
    .max_stack_depth = 256,
    .max_line_bytes = 4096,
    .max_batch_bytes = (size_t)64 << 20,
};

static struct batch *decode(struct bytes data, const struct decode_options *o)
{
    struct decode_report report = {0};
    struct err e = {0};
    struct batch *b = NULL;
    enum err_code code = folded_decode(data, data, o, &b, &report, &e);
    CHECK((code == ERR_OK) == (b != NULL));
    CHECK(code == ERR_OK || (e.code == code && e.text[0] != '\0'));
    CHECK(b == NULL || batch_validate(b, &e) == ERR_OK);
    CHECK(b == NULL || report.samples == b->sample_count);
    return b;
}

// False when the sums do not fit.
static bool encode(const struct batch *b, struct buf *out)
{
    const struct encode_options o = {0};
    struct encode_report report = {0};
    struct err e = {0};
    buf_init(out, (size_t)1 << 30);
    enum err_code code = folded_encode(b, &o, out, &report, &e);
    CHECK(code == ERR_OK || code == ERR_LIMIT);
    return code == ERR_OK;
}

static void write_and_read_again(const struct batch *b)
{
    static const struct decode_options plain = {0};
    struct buf first, second;
    if (encode(b, &first)) {
        struct batch *again = decode(buf_bytes(&first), &plain);
        CHECK(again != NULL && encode(again, &second));
        CHECK(bytes_equal(buf_bytes(&first), buf_bytes(&second)));
        batch_unref(&again);
        buf_fini(&second);
    }
    buf_fini(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const struct bytes text = {data + 1, size - 1};
    const struct decode_options o = {
        .limits = &limits,
        .folded =
            {
                .sample_rate = (data[0] & 1) != 0 ? 97 : 0,
                .leaf_first = (data[0] & 2) != 0,
                .missing_count_is_one = (data[0] & 4) != 0,
                .frame_suffixes_to_types = (data[0] & 8) != 0,
            },
    };
    (void)folded_recognise(text);
    struct batch *b = decode(text, &o);
    if (b != NULL)
        write_and_read_again(b);
    batch_unref(&b);
    return 0;
}
