// SPDX-License-Identifier: Apache-2.0
// What the otlp_json_read*.c files share while one request is put into protobuf.
#ifndef CODEC_OTLP_JSON_READER_H
#define CODEC_OTLP_JSON_READER_H

#include "codec/json.h"
#include "codec/otlp_json_fields.h"
#include "codec/otlp_reader.h"

// A name that bounds the layouts the request may have.
struct otlp_json_witness {
    enum otlp_layout layout;
    const struct otlp_json_field *field; // NULL = none so far
    char place[160];
};

// A request is read as of the newest layout that its names so far allow. A name that is older than that makes it be read
// again from its start, as of the older one: at most once for each layout.
// The first failure sticks, here or (syntax, memory) in the reader; both end every loop over the reader.
struct otlp_json_reader {
    struct json_reader json;
    struct arena arena; // strings of the field being read
    struct buf wire;
    struct err *e;
    enum err_code code;
    struct otlp_json_witness since, until; // the latter's layout is the one it is read as
    bool again;
};

void otlp_json_fail(struct otlp_json_reader *r, const struct otlp_place *at, enum err_code code, const char *format,
                    ...) PRINTF_LIKE(4, 5);
// otlp_json_layout.c: forgets the request before.
void otlp_json_begin_layout(struct otlp_json_reader *r);
// Takes note of a name that is not of all layouts. False: the request has to be read again, or failed.
bool otlp_json_note_layout(struct otlp_json_reader *r, const struct otlp_place *at, const struct otlp_json_field *f);
static inline bool otlp_json_fits_layout(struct otlp_json_reader *r, const struct otlp_place *at,
                                         const struct otlp_json_field *f)
{
    return (f->since <= r->since.layout && f->until >= r->until.layout) || otlp_json_note_layout(r, at, f);
}
// After a request: which one it was.
void otlp_json_find_layout(const struct otlp_json_reader *r, struct otlp_layout_finding *out);

// False (and failed) when the next value is of another kind.
bool otlp_json_expect(struct otlp_json_reader *r, const struct otlp_place *at, enum json_kind kind);
// Puts the value that comes next into r->wire, without a tag: with its length in front where it has one.
void otlp_json_read_scalar(struct otlp_json_reader *r, const struct otlp_place *at, const struct otlp_json_field *f);

#endif
