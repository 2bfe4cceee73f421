// SPDX-License-Identifier: Apache-2.0
// Reading the lines of old profiles word by word.
#include "codec/legacy.h"

bool legacy_is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void advance(struct bytes *text, size_t n)
{
    text->data += n;
    text->len -= n;
}

bool legacy_begins(struct bytes text, const char *with)
{
    const size_t n = strlen(with);
    return text.len >= n && memcmp(text.data, with, n) == 0;
}

bool legacy_find(struct bytes text, const char *what, size_t *at_out)
{
    const size_t n = strlen(what);
    const uint8_t *at = text.len < n ? NULL : memmem(text.data, text.len, what, n);
    if (at == NULL)
        return false;
    *at_out = (size_t)(at - text.data);
    return true;
}

bool legacy_has(struct bytes text, const char *what)
{
    size_t at;
    return legacy_find(text, what, &at);
}

bool legacy_take(struct bytes *text, const char *literal)
{
    if (!legacy_begins(*text, literal))
        return false;
    advance(text, strlen(literal));
    return true;
}

void legacy_take_spaces(struct bytes *text)
{
    while (text->len > 0 && *text->data == ' ')
        advance(text, 1);
}

struct bytes legacy_trim(struct bytes text)
{
    while (text.len > 0 && legacy_is_space(*text.data))
        advance(&text, 1);
    while (text.len > 0 && legacy_is_space(text.data[text.len - 1]))
        text.len--;
    return text;
}

struct bytes legacy_stack_text(struct bytes text)
{
    size_t n = 0;
    while (n < text.len && memchr(" x0123456789abcdefABCDEF", text.data[n], 24) != NULL)
        n++;
    return (struct bytes){text.data, n};
}

bool legacy_is_blank(struct bytes line)
{
    const struct bytes t = legacy_trim(line);
    return t.len == 0 || *t.data == '#';
}

struct bytes legacy_take_word(struct bytes *text)
{
    while (text->len > 0 && legacy_is_space(*text->data))
        advance(text, 1);
    struct bytes word = {text->data, 0};
    while (word.len < text->len && !legacy_is_space(word.data[word.len]))
        word.len++;
    advance(text, word.len);
    return word;
}

bool legacy_take_digits(struct bytes *text, struct bytes *out)
{
    *out = (struct bytes){text->data, 0};
    while (out->len < text->len && out->data[out->len] >= '0' && out->data[out->len] <= '9')
        out->len++;
    advance(text, out->len);
    return out->len > 0;
}

static int digit_of(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

// Digits of this base from the front of *text; how many there were. *too_large: more than 64 bits.
static size_t take_number(struct bytes *text, unsigned base, uint64_t *out, bool *too_large)
{
    size_t n = 0;
    *out = 0;
    *too_large = false;
    for (; n < text->len; n++) {
        const unsigned digit = (unsigned)digit_of(text->data[n]);
        if (digit >= base)
            break;
        if (__builtin_mul_overflow(*out, base, out) || __builtin_add_overflow(*out, digit, out))
            *too_large = true;
    }
    advance(text, n);
    return n;
}

bool legacy_take_hex(struct bytes *text, uint64_t *out, bool *too_large)
{
    return take_number(text, 16, out, too_large) > 0;
}

static bool signed_of(uint64_t magnitude, bool negative, int64_t *out)
{
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *out = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

bool legacy_take_int64(struct bytes *text, int64_t *out)
{
    struct bytes rest = *text;
    const bool negative = legacy_take(&rest, "-");
    uint64_t magnitude;
    bool too_large;
    if (take_number(&rest, 10, &magnitude, &too_large) == 0 || too_large || !signed_of(magnitude, negative, out))
        return false;
    *text = rest;
    return true;
}

static unsigned take_base(struct bytes *text)
{
    static const struct {
        const char *prefix;
        unsigned base;
    } bases[] = {{"0x", 16}, {"0X", 16}, {"0o", 8}, {"0O", 8}, {"0b", 2}, {"0B", 2}};
    for (size_t i = 0; i < COUNT_OF(bases); i++)
        if (legacy_take(text, bases[i].prefix))
            return bases[i].base;
    return text->len > 1 && legacy_begins(*text, "0") ? 8 : 10;
}

bool legacy_go_int64(struct bytes text, int64_t *out)
{
    const bool negative = legacy_take(&text, "-");
    if (!negative)
        (void)legacy_take(&text, "+");
    const unsigned base = take_base(&text);
    uint64_t magnitude;
    bool too_large;
    return take_number(&text, base, &magnitude, &too_large) > 0 && !too_large && text.len == 0 &&
           signed_of(magnitude, negative, out);
}

int64_t legacy_multiply(int64_t a, int64_t b)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
    return product;
}
