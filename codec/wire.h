// SPDX-License-Identifier: Apache-2.0
// Protocol Buffers' wire format (protobuf.dev/programming-guides/encoding): a bounds-checked cursor with a
// sticky error, and a writer. No recursion, no allocation in the reader.
#ifndef CODEC_WIRE_H
#define CODEC_WIRE_H

#include "base/buf.h"
#include "base/bytes.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LEN = 2, WIRE_FIXED32 = 5 };

struct wire_reader {
    const uint8_t *start, *at, *end;
    const char *error; // NULL = good; the first reason sticks and every later read gives zeros
};

struct wire_field {
    uint32_t number; // 1..2^29-1
    enum wire_type type;
    uint64_t varint;    // VARINT, FIXED64, FIXED32
    struct bytes bytes; // LEN; inside the reader's input
};

void wire_reader_init(struct wire_reader *r, struct bytes data);
// The next field with its value; false at the end or after an error. Groups, field number 0, varints over
// ten bytes (or with bits past 64) and lengths past the end are errors.
bool wire_next(struct wire_reader *r, struct wire_field *f);
// The first field of this number that has a length: text, bytes, a message. len 0 = there is none.
struct bytes wire_find(struct bytes message, uint32_t number);
// The same for callers that read the tag themselves, to have a fast path for the fields they expect.
bool wire_value(struct wire_reader *r, uint64_t tag, struct wire_field *f);
uint64_t wire_varint_slow(struct wire_reader *r);
size_t wire_count_varints(struct bytes b); // packed ones: those that end in b; whether they are good is not looked at
static inline uint64_t wire_varint(struct wire_reader *r)
{
    const uint8_t *at = r->at;
    if (r->end - at >= 2) {
        bool two = at[0] >= 0x80;
        if (!two || at[1] < 0x80) {
            r->at = at + 1 + two;
            return two ? (at[0] & 0x7fu) | (unsigned)at[1] << 7 : at[0];
        }
    }
    return wire_varint_slow(r);
}
// The next field if it is a LEN with this one-byte tag and a length of one or two bytes; else false, and
// nothing is read: wire_next sees to it.
static inline bool wire_take_bytes(struct wire_reader *r, uint8_t tag, struct bytes *out)
{
    const uint8_t *at = r->at;
    if (r->end - at < 3 || at[0] != tag || (at[1] >= 0x80 && at[2] >= 0x80))
        return false;
    bool two = at[1] >= 0x80;
    size_t len = two ? (at[1] & 0x7fu) | (size_t)at[2] << 7 : at[1];
    at += two ? 3 : 2;
    if (len > (size_t)(r->end - at))
        return false;
    *out = (struct bytes){at, len};
    r->at = at + len;
    return true;
}
void wire_fail(struct wire_reader *r, const char *reason); // keeps the first
size_t wire_offset(const struct wire_reader *r);           // of the cursor, for messages

// A growable list of u64 that repeated integer fields are read into, packed, unpacked and mixed.
struct wire_list {
    uint64_t *items;
    size_t count, capacity;
};
void wire_list_fini(struct wire_list *l);
// Appends one occurrence of a repeated varint field (or fixed64 with fixed). False = wrong wire type,
// damage (r->error says so) or out of memory (r->error == wire_no_memory).
extern const char wire_no_memory[];
bool wire_list_add(struct wire_list *l, struct wire_reader *r, const struct wire_field *f, bool fixed64) MUST_USE;

// Writing: fields into a buf; failures stick in the buf.
void wire_put_varint(struct buf *out, uint64_t v);
// For long lists: writes v at `to`, where 10 bytes must be free, and gives the place behind it.
static inline uint8_t *wire_write_varint(uint8_t *to, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *to++ = (uint8_t)(v | 0x80);
    *to = (uint8_t)v;
    return to + 1;
}
void wire_put_tag(struct buf *out, uint32_t number, enum wire_type type);
void wire_put_uint(struct buf *out, uint32_t number, uint64_t v);      // left out when 0
void wire_put_fixed64(struct buf *out, uint32_t number, uint64_t v);   // left out when 0
void wire_put_bytes(struct buf *out, uint32_t number, struct bytes b); // written even when empty
size_t wire_varint_size(uint64_t v);
// A submessage whose length is not known yet: begin returns where it starts, end fills the length in
// (moving the body when the length needs more than the one byte left for it).
size_t wire_begin(struct buf *out, uint32_t number);
void wire_end(struct buf *out, size_t start);

#endif
