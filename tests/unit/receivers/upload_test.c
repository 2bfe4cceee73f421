// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "receivers/upload.h"

#include <string.h>

static void the_sender_is_read_from_the_address(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint8_t address[16];
    } cases[] = {
        {"127.0.0.1", {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1}},
        {"10.1.2.255", {[10] = 0xff, [11] = 0xff, 10, 1, 2, 255}},
        {"::1", {[15] = 1}},
        {"fe80::1:2", {0xfe, 0x80, [13] = 1, [15] = 2}},
        {"::ffff:10.1.2.3", {[10] = 0xff, [11] = 0xff, 10, 1, 2, 3}},
        {"unix", {0}},
        {"", {0}},
        {"10.1.2", {0}},
        {"10.1.2.256", {0}},
        {"fe80::1::2", {0}},
        {"10.1.2.3:80", {0}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct sender s = upload_sender_of(cases[i].text);
        assert_memory_equal(s.address.bytes, cases[i].address, sizeof s.address.bytes);
    }
}

static void what_comes_again_hears_when(void **state)
{
    (void)state;
    for (int fate = 0; fate < UPLOAD_FATES; fate++)
        assert_int_equal(upload_comes_again(&(struct upload_outcome){.fate = (enum upload_fate)fate}),
                         fate == UPLOAD_BUSY || fate == UPLOAD_OVER_LIMIT);
    const struct upload_outcome o = {.fate = UPLOAD_OVER_LIMIT, .retry_after_nanos = 4 * NANOS_PER_SECOND + 1};
    assert_int_equal(upload_retry_delay(&o, 0), 5 * NANOS_PER_SECOND); // never too early
    assert_in_range(upload_retry_delay(&o, 0.999), 5 * NANOS_PER_SECOND, 9 * NANOS_PER_SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sender_is_read_from_the_address),
        cmocka_unit_test(what_comes_again_hears_when),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
