// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/ip_address.h"

#include "base/check.h"

#define B(text) bytes_from_text(text)

static void addresses_are_read(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "1.2.3",
                                      "1.2.3.4:80",
                                      "[::1]",
                                      "fe80::1%eth0",
                                      "1.2.3.4 ",
                                      "localhost",
                                      "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"};
    struct ip_address a, b;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(ip_address_parse(B(bad[i]), &a));
    assert_false(ip_address_parse((struct bytes){(const uint8_t *)"1.2.3.4\0", 8}, &a));
    assert_true(ip_address_parse(B("10.0.0.7"), &a));
    assert_true(ip_address_parse(B("::ffff:10.0.0.7"), &b));
    assert_memory_equal(&a, &b, sizeof a);
    assert_true(ip_address_parse(B("fd00::7"), &a));
    assert_true(ip_address_parse(B("FD00:0:0:0:0:0:0:7"), &b));
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(a.bytes[0], 0xFD);
    assert_int_equal(a.bytes[15], 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(addresses_are_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
