// SPDX-License-Identifier: Apache-2.0
// multipart/form-data (RFC 7578, RFC 2046 §5.1) of a body that is there whole: parts are borrowed from it.
#ifndef CODEC_MULTIPART_H
#define CODEC_MULTIPART_H

#include "base/bytes.h"
#include "base/err.h"

enum { MULTIPART_MAX_PARTS = 64, MULTIPART_MAX_BOUNDARY = 70 };

struct multipart_part {
    struct bytes name;         // of Content-Disposition, as it stands between the quotes: multipart_find knows escapes
    struct bytes filename;     // the same; data NULL = not given
    struct bytes content_type; // data NULL = not given
    struct bytes body;
};

struct multipart {
    struct multipart_part parts[MULTIPART_MAX_PARTS];
    size_t count;
};

// "multipart/form-data; boundary=..." in any spelling RFC 9110 §5.6.6 allows. False: it is no such type. ERR is for one
// without a usable boundary.
bool multipart_is(struct bytes content_type);
// Lines end with CRLF, or all with LF: the first boundary's line decides, so that a lone LF in binary content ends nothing.
// Errors name the part (from 1) and the place. Time is linear in the body's length.
enum err_code multipart_parse(struct bytes content_type, struct bytes body, struct multipart *out,
                              struct err *e) MUST_USE;
const struct multipart_part *multipart_find(const struct multipart *m, const char *name); // the first; NULL = none

#endif
