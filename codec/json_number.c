// SPDX-License-Identifier: Apache-2.0
// Numbers of JSON, exactly.
#include "codec/json_internal.h"

#include <math.h>
#include <stdlib.h>

enum { DOUBLE_TEXT_MAX = 1000 };
static const int64_t exponent_max = 1000000000; // far past what any digits can make up for

static bool is_digit(struct bytes text, size_t i)
{
    return i < text.len && text.data[i] >= '0' && text.data[i] <= '9';
}

static size_t skip_digits(struct bytes text, size_t i)
{
    while (is_digit(text, i))
        i++;
    return i;
}

// Behind the exponent at i, or i if there is none; 0 = it has no digits.
static size_t skip_exponent(struct bytes text, size_t i)
{
    if (i == text.len || (text.data[i] | 32) != 'e')
        return i;
    i++;
    if (i < text.len && (text.data[i] == '+' || text.data[i] == '-'))
        i++;
    return is_digit(text, i) ? skip_digits(text, i) : 0;
}

size_t json_number_len(struct bytes text)
{
    size_t i = text.len != 0 && text.data[0] == '-';
    if (!is_digit(text, i))
        return 0;
    i = text.data[i] == '0' ? i + 1 : skip_digits(text, i);
    if (is_digit(text, i))
        return 0;
    if (i < text.len && text.data[i] == '.') {
        if (!is_digit(text, i + 1))
            return 0;
        i = skip_digits(text, i + 1);
    }
    return skip_exponent(text, i);
}

// A number is `digits` (with a '.' somewhere, perhaps) without zeros at the end, times 10^exponent.
struct decimal {
    struct bytes digits;
    int64_t exponent;
    bool negative;
};

static int64_t read_exponent(struct bytes text)
{
    size_t i = text.len != 0 && (text.data[0] == '-' || text.data[0] == '+');
    int64_t e = 0;
    for (size_t k = i; k < text.len; k++)
        e = e < exponent_max ? e * 10 + text.data[k] - '0' : e;
    return i == 1 && text.data[0] == '-' ? -e : e;
}

static bool split(struct bytes number, struct decimal *out)
{
    if (number.len == 0 || json_number_len(number) != number.len)
        return false;
    size_t start = number.data[0] == '-', end = start, point = SIZE_MAX;
    for (; end < number.len && (number.data[end] | 32) != 'e'; end++)
        point = number.data[end] == '.' ? end : point;
    struct bytes exponent = {number.data + end + (end < number.len), number.len - end - (end < number.len)};
    *out = (struct decimal){{number.data + start, end - start}, read_exponent(exponent), start == 1};
    if (point != SIZE_MAX)
        out->exponent -= (int64_t)(end - point - 1);
    while (out->digits.len != 0 && (number.data[end - 1] == '0' || number.data[end - 1] == '.')) {
        out->exponent += number.data[end - 1] == '0';
        out->digits.len--;
        end--;
    }
    return true;
}

static bool times_ten_plus(uint64_t *v, uint64_t digit)
{
    return !__builtin_mul_overflow(*v, 10u, v) && !__builtin_add_overflow(*v, digit, v);
}

static bool magnitude(const struct decimal *d, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < d->digits.len; i++)
        if (d->digits.data[i] != '.' && !times_ten_plus(&v, (uint64_t)(d->digits.data[i] - '0')))
            return false;
    if (v != 0 && d->exponent < 0)
        return false;
    for (int64_t e = d->exponent; v != 0 && e > 0; e--)
        if (!times_ten_plus(&v, 0))
            return false;
    *out = v;
    return true;
}

// Up to 18 digits and nothing else: nearly all.
static bool plain_digits(struct bytes number, uint64_t *out)
{
    uint64_t v = 0;
    if (number.len == 0 || number.len > 18 || (number.data[0] == '0' && number.len > 1))
        return false;
    for (size_t i = 0; i < number.len; i++) {
        unsigned digit = number.data[i] - (unsigned)'0';
        if (digit > 9)
            return false;
        v = v * 10 + digit;
    }
    *out = v;
    return true;
}

bool json_to_uint64(struct bytes number, uint64_t *out)
{
    struct decimal d;
    *out = 0;
    if (plain_digits(number, out))
        return true;
    uint64_t v;
    if (!split(number, &d) || !magnitude(&d, &v) || (d.negative && v != 0))
        return false;
    *out = v;
    return true;
}

bool json_to_int64(struct bytes number, int64_t *out)
{
    struct decimal d;
    uint64_t v;
    *out = 0;
    if (plain_digits(number, &v)) {
        *out = (int64_t)v;
        return true;
    }
    if (!split(number, &d) || !magnitude(&d, &v) || v > (uint64_t)INT64_MAX + d.negative)
        return false;
    *out = d.negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

// Digits and a power of ten that doubles hold exactly: one exact operation gives the nearest double.
static bool exact_double(const struct decimal *d, double *out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct decimal whole = {d->digits, 0, false};
    uint64_t v;
    if (d->exponent < -22 || d->exponent > 22 || !magnitude(&whole, &v) || v > (uint64_t)1 << 53)
        return false;
    double size = d->exponent < 0 ? (double)v / powers[-d->exponent] : (double)v * powers[d->exponent];
    *out = d->negative ? -size : size;
    return true;
}

bool json_to_double(struct bytes number, double *out)
{
    struct decimal d;
    char text[DOUBLE_TEXT_MAX + 1];
    *out = 0;
    if (!split(number, &d))
        return false;
    if (exact_double(&d, out))
        return true;
    if (number.len > DOUBLE_TEXT_MAX)
        return false;
    memcpy(text, number.data, number.len);
    text[number.len] = 0;
    double v = strtod(text, NULL);
    *out = isfinite(v) ? v : 0;
    return isfinite(v) != 0;
}
