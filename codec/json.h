// SPDX-License-Identifier: Apache-2.0
// JSON (RFC 8259) in memory, pulled value by value: no tree, no recursion, nothing allocated but for strings that do
// not stand in the text as they are. The first failure sticks: later calls give false and zeros, so that loops end and
// one json_result at the end tells.
//
//   json_reader_init(&r, text, &arena, 64);
//   if (json_enter_object(&r))
//       while (json_next_member(&r, &key))
//           if (bytes_equal_text(key, "name"))
//               json_string(&r, &name);   // a value that is not read is passed over by the next json_next_*
//   json_end(&r);
//   code = json_result(&r, e);
//
// Stricter than nothing, laxer than nothing: what RFC 8259 has no place for is an error. Where it leaves the choice: a
// UTF-8 BOM at the start is passed over; broken UTF-8 and surrogates without their other half become U+FFFD and are
// counted; equal keys in one object are handed out each time; numbers have any size, see the accessors.
#ifndef CODEC_JSON_H
#define CODEC_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json_string.h"

enum { JSON_MAX_DEPTH = 512 };

// What the next value is, told from its first character. JSON_NONE: there is none, or an error.
enum json_kind { JSON_NONE, JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_reader {
    const uint8_t *start, *at, *end;
    struct arena *arena;
    const char *error; // NULL = good; `at` is where it is
    enum err_code code;
    uint64_t repaired_strings;             // with broken UTF-8 or half a surrogate pair
    uint32_t depth, max_depth;             // arrays and objects that are open
    bool first;                            // nothing was read of the innermost one
    bool due;                              // its next value was announced and not read
    uint64_t objects[JSON_MAX_DEPTH / 64]; // a bit per level: object, not array
};

// text must outlive the strings. arena: for strings with escapes and broken ones. max_depth: at most JSON_MAX_DEPTH.
void json_reader_init(struct json_reader *r, struct bytes text, struct arena *arena, uint32_t max_depth);

enum json_kind json_peek_slow(struct json_reader *r);
extern const uint8_t json_kinds[256]; // by first character
static inline enum json_kind json_peek(struct json_reader *r)
{
    uint8_t kind = r->at < r->end ? json_kinds[*r->at] : JSON_NONE;
    return kind != JSON_NONE ? (enum json_kind)kind : json_peek_slow(r);
}
const char *json_kind_name(enum json_kind kind); // "an array"

// True = inside; then json_next_* gives its values until it gives false, which leaves it.
bool json_enter_array(struct json_reader *r);
bool json_enter_object(struct json_reader *r);
bool json_next_element(struct json_reader *r);
bool json_next_member(struct json_reader *r, struct bytes *key_out);

// The next value, which must be of this kind. False (and zero, empty) when it is not, and after an error.
bool json_string(struct json_reader *r, struct bytes *out);      // unescaped, valid UTF-8; in the text or in the arena
bool json_number(struct json_reader *r, struct bytes *out);      // as it stands
bool json_number_text(struct json_reader *r, struct bytes *out); // a number, or any string that may hold one
bool json_bool(struct json_reader *r, bool *out);
bool json_null(struct json_reader *r);
bool json_int64(struct json_reader *r, int64_t *out);
void json_skip(struct json_reader *r); // any value, checked all the same

// Between top-level values (JSON lines): is there another one? And: there must be none.
bool json_more(struct json_reader *r);
void json_end(struct json_reader *r);

// reason: a literal. Keeps the first.
void json_fail(struct json_reader *r, enum err_code code, const char *reason);
// ERR_OK, or the failure: "line 3, column 17: expected ',' or '}'". e may be NULL.
enum err_code json_result(const struct json_reader *r, struct err *e) MUST_USE;
// Both from 1, the column in bytes.
void json_place(const struct json_reader *r, size_t *line_out, size_t *column_out);

// A number's text (RFC 8259's grammar, checked). Exact: 1e3 and 10.0 are integers, 1.5 and what is out of range are not.
bool json_to_int64(struct bytes number, int64_t *out);
bool json_to_uint64(struct bytes number, uint64_t *out);
// Nearest double; false when it is past the largest one, or longer than 1000 characters.
bool json_to_double(struct bytes number, double *out);

// --- writing: text into a buf, whose failures stick; json_put_string is base's ---

void json_put_int64(struct buf *out, int64_t v);
void json_put_uint64(struct buf *out, uint64_t v);
// The shortest text that reads as the same double; "NaN", "Infinity", "-Infinity" in quotes as protobuf has them.
void json_put_double(struct buf *out, double v);

#endif
