// SPDX-License-Identifier: Apache-2.0
#include "codec/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void json_put_uint64(struct buf *out, uint64_t v)
{
    char text[20], *at = text + sizeof text;
    do {
        *--at = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    buf_add(out, at, (size_t)(text + sizeof text - at));
}

void json_put_int64(struct buf *out, int64_t v)
{
    if (v < 0)
        buf_add_byte(out, '-');
    json_put_uint64(out, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void json_put_double(struct buf *out, double v)
{
    char text[40];
    if (!isfinite(v)) {
        buf_add_text(out, isnan(v) ? "\"NaN\"" : v < 0 ? "\"-Infinity\"" : "\"Infinity\"");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    buf_add_text(out, text);
}
