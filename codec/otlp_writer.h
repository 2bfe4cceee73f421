// SPDX-License-Identifier: Apache-2.0
// Writing protobuf into a buf with one bounds check per item instead of one per byte: ask for room, then put
// through a raw pointer. Internal to codec/otlp_*.c.
#ifndef CODEC_OTLP_WRITER_H
#define CODEC_OTLP_WRITER_H

#include "codec/otlp_emit.h"
#include "codec/otlp_reader.h"
#include "profile/prune.h"

#include <endian.h>

enum { OTLP_MAX_VARINT = 10, OTLP_SAMPLE_BYTES = 10 /* of a usual one */ };

struct otlp_ranges { // where each attribute set's encoded list lies in `pool`; start_plus_one 0 = not yet
    uint32_t *start_plus_one;
    struct buf pool;
};

struct otlp_texts;      // otlp_write_texts.c
struct otlp_old_writer; // otlp_write_old.c

struct otlp_writer {
    struct buf *out;
    size_t max_bytes; // of out; room for an item may be asked past it, the end checks what was used
    uint8_t *at, *end;
    const struct batch *batch;
    struct prune prune;
    struct otlp_ranges sets;
    const struct otlp_emission *how;
    // Numbers of fields in the layout, by those of today.
    uint8_t sample[6], profile[OTLP_PROFILE_KEY_VALUES + 1];
    struct otlp_texts *texts;    // strings by index; NULL = inline
    bool by_index;               // so are those being written
    struct otlp_old_writer *old; // up to 1.7
    struct otlp_emission_report *report;
};

// Begins to write at the end of out.
void otlp_writer_open(struct otlp_writer *w, struct buf *out);
// What was written belongs to out; ERR_LIMIT, ERR_MEMORY: out->len is to be put back.
enum err_code otlp_writer_close(struct otlp_writer *w, struct err *e) MUST_USE;
// False when memory or the maximum is out; then nothing may be put.
bool otlp_writer_grow(struct otlp_writer *w, size_t bytes);

static inline bool otlp_room(struct otlp_writer *w, size_t bytes)
{
    return (size_t)(w->end - w->at) >= bytes || otlp_writer_grow(w, bytes);
}

static inline size_t otlp_varint_size(uint64_t v)
{
    return ((unsigned)(63 - __builtin_clzll(v | 1)) * 9 + 73) / 64;
}

static inline uint8_t *otlp_put_varint(uint8_t *to, uint64_t v)
{
    while (v >= 0x80) {
        *to++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *to++ = (uint8_t)v;
    return to;
}

// Field numbers here are below 16: a tag is one byte.
static inline uint8_t *otlp_put_tag(uint8_t *to, unsigned number, enum wire_type type)
{
    *to++ = (uint8_t)(number << 3 | (unsigned)type);
    return to;
}

static inline uint8_t *otlp_put_uint(uint8_t *to, unsigned number, uint64_t v)
{
    return v == 0 ? to : otlp_put_varint(otlp_put_tag(to, number, WIRE_VARINT), v);
}

static inline uint8_t *otlp_put_fixed64(uint8_t *to, uint64_t v)
{
    uint64_t little_endian = htole64(v);
    memcpy(to, &little_endian, sizeof little_endian);
    return to + sizeof little_endian;
}

static inline uint8_t *otlp_put_raw(uint8_t *to, const void *data, size_t len)
{
    if (len != 0)
        memcpy(to, data, len);
    return to + len;
}

// Written even when empty; needs 11 + len bytes of room.
static inline uint8_t *otlp_put_bytes(uint8_t *to, unsigned number, struct bytes b)
{
    to = otlp_put_varint(otlp_put_tag(to, number, WIRE_LEN), b.len);
    return otlp_put_raw(to, b.data, b.len);
}

// A submessage within room already asked for, usually below 128 bytes: one byte is left for its length, and
// otlp_small_end moves the body up when that is too little (needs up to 9 bytes more room).
static inline uint8_t *otlp_small_begin(uint8_t *to, unsigned number)
{
    return otlp_put_tag(to, number, WIRE_LEN) + 1;
}

uint8_t *otlp_small_end_long(uint8_t *body, uint8_t *to);
static inline uint8_t *otlp_small_end(uint8_t *body, uint8_t *to)
{
    size_t len = (size_t)(to - body);
    if (len >= 0x80)
        return otlp_small_end_long(body, to);
    body[-1] = (uint8_t)len;
    return to;
}

// A submessage of any size. expected_bytes decides how many bytes are left for the length; a good guess saves
// moving the body.
struct otlp_open {
    size_t body; // offset in out
    size_t length_size;
};
struct otlp_open otlp_begin(struct otlp_writer *w, unsigned number, size_t expected_bytes);
void otlp_end(struct otlp_writer *w, struct otlp_open open);
// A bytes or string field of any size; nothing when empty.
void otlp_text_field(struct otlp_writer *w, unsigned number, struct bytes b);

static inline void otlp_empty_field(struct otlp_writer *w, unsigned number)
{
    if (otlp_room(w, 2))
        w->at = otlp_put_bytes(w->at, number, (struct bytes){NULL, 0});
}

// The encoded packed list (length, then indices) of an attribute set other than 0, without its tag; copying
// OTLP_SET_SLACK bytes from it is always safe. Length 0 after a failure.
enum { OTLP_SET_SLACK = 16 };
struct bytes otlp_attribute_list(struct otlp_writer *w, uint32_t set);

static inline uint8_t *otlp_put_list(uint8_t *to, struct bytes list)
{
    if (list.len > OTLP_SET_SLACK)
        return otlp_put_raw(to, list.data, list.len);
    memcpy(to, list.data, OTLP_SET_SLACK);
    return to + list.len;
}

// otlp_encode.c: the messages Resource and InstrumentationScope, as field 1 of their containers. Written even when empty:
// some readers take their absence badly.
void otlp_write_resource(struct otlp_writer *w, const struct resource *r);
void otlp_write_scope(struct otlp_writer *w, const struct scope *s);
// otlp_write_texts.c: numbers of texts in the string table, which grows by those it does not have.
bool otlp_texts_init(struct otlp_writer *w) MUST_USE; // once w->prune is made
void otlp_texts_fini(struct otlp_writer *w);
uint32_t otlp_text_number(struct otlp_writer *w, struct bytes text);
void otlp_write_more_texts(struct otlp_writer *w); // behind the strings of the dictionary
// otlp_write_value.c
void otlp_write_value(struct otlp_writer *w, unsigned number, const struct value *v);
void otlp_write_entry(struct otlp_writer *w, unsigned number, const struct key_value *kv);
// otlp_write_dictionary.c
void otlp_write_dictionary(struct otlp_writer *w);
// otlp_write_profile.c
void otlp_write_profile(struct otlp_writer *w, const struct profile *p);
// otlp_write_old.c: what is other up to 1.7.
bool otlp_old_writer_init(struct otlp_writer *w) MUST_USE;
void otlp_old_writer_fini(struct otlp_writer *w);
void otlp_write_old_samples(struct otlp_writer *w, const struct profile *p); // with the list of their locations
void otlp_write_old_attributes(struct otlp_writer *w);                       // with their units

#endif
