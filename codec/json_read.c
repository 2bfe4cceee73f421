// SPDX-License-Identifier: Apache-2.0
#include "codec/json.h"

#include "codec/json_internal.h"

// --- errors and places ---

// The end is pulled to the cursor: every later read finds nothing, and the place stays known.
void json_fail(struct json_reader *r, enum err_code code, const char *reason)
{
    if (r->error == NULL) {
        r->error = reason;
        r->code = code;
    }
    r->end = r->at;
}

void json_place(const struct json_reader *r, size_t *line_out, size_t *column_out)
{
    size_t line = 1;
    const uint8_t *begin = r->start;
    for (const uint8_t *at; (at = memchr(begin, '\n', (size_t)(r->at - begin))) != NULL; line++)
        begin = at + 1;
    *line_out = line;
    *column_out = (size_t)(r->at - begin) + 1;
}

enum err_code json_result(const struct json_reader *r, struct err *e)
{
    size_t line, column;
    if (r->error == NULL)
        return ERR_OK;
    json_place(r, &line, &column);
    return err_set(e, r->code, "line %zu, column %zu: %s", line, column, r->error);
}

static bool fail(struct json_reader *r, const char *reason)
{
    json_fail(r, ERR_INVALID, reason);
    return false;
}

// --- between the values ---

static bool is_utf16(struct bytes text)
{
    return text.len >= 2 && ((text.data[0] == 0xFE && text.data[1] == 0xFF) ||
                             (text.data[0] == 0xFF && text.data[1] == 0xFE) || text.data[0] == 0 || text.data[1] == 0);
}

void json_reader_init(struct json_reader *r, struct bytes text, struct arena *arena, uint32_t max_depth)
{
    static const uint8_t nothing[1];
    CHECK(max_depth <= JSON_MAX_DEPTH);
    const uint8_t *start = text.len == 0 ? nothing : text.data;
    *r = (struct json_reader){
        .start = start, .at = start, .end = start + text.len, .arena = arena, .max_depth = max_depth};
    if (is_utf16(text))
        fail(r, "this is not UTF-8 (UTF-16 or UTF-32, by its first bytes): convert it");
    else if (text.len >= 3 && memcmp(text.data, "\xEF\xBB\xBF", 3) == 0)
        r->at += 3;
}

static void skip_space(struct json_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
        r->at++;
}

// The next character that is no space, 0 at the end (and after an error).
static inline uint8_t next_char(struct json_reader *r)
{
    if (r->at < r->end && *r->at > ' ')
        return *r->at;
    skip_space(r);
    return r->at < r->end ? *r->at : 0;
}

const uint8_t json_kinds[256] = {
    ['"'] = JSON_STRING, ['{'] = JSON_OBJECT, ['['] = JSON_ARRAY,  ['t'] = JSON_BOOL,   ['f'] = JSON_BOOL,
    ['n'] = JSON_NULL,   ['-'] = JSON_NUMBER, ['0'] = JSON_NUMBER, ['1'] = JSON_NUMBER, ['2'] = JSON_NUMBER,
    ['3'] = JSON_NUMBER, ['4'] = JSON_NUMBER, ['5'] = JSON_NUMBER, ['6'] = JSON_NUMBER, ['7'] = JSON_NUMBER,
    ['8'] = JSON_NUMBER, ['9'] = JSON_NUMBER,
};

static inline enum json_kind kind_of(uint8_t c)
{
    return (enum json_kind)json_kinds[c];
}

const char *json_kind_name(enum json_kind kind)
{
    static const char *const names[] = {
        [JSON_NONE] = "nothing",     [JSON_NULL] = "null",       [JSON_BOOL] = "true or false",
        [JSON_NUMBER] = "a number",  [JSON_STRING] = "a string", [JSON_ARRAY] = "an array",
        [JSON_OBJECT] = "an object",
    };
    return names[kind];
}

enum json_kind json_peek_slow(struct json_reader *r)
{
    enum json_kind kind = kind_of(next_char(r));
    if (kind == JSON_NONE)
        fail(r, r->at == r->end ? "the text ends where a value should be" : "a value should be here");
    return kind;
}

static bool expect(struct json_reader *r, enum json_kind kind)
{
    static const char *const reasons[] = {
        [JSON_NULL] = "null should be here",       [JSON_BOOL] = "true or false should be here",
        [JSON_NUMBER] = "a number should be here", [JSON_STRING] = "a string should be here",
        [JSON_ARRAY] = "an array should be here",  [JSON_OBJECT] = "an object should be here",
    };
    if (kind_of(next_char(r)) != kind) {
        if (json_peek(r) != JSON_NONE)
            fail(r, reasons[kind]);
        return false;
    }
    r->due = r->first = false;
    return true;
}

// --- arrays and objects ---

static bool is_object(const struct json_reader *r)
{
    uint32_t level = r->depth - 1;
    return (r->objects[level / 64] >> level % 64 & 1) != 0;
}

static bool enter(struct json_reader *r, enum json_kind kind)
{
    if (!expect(r, kind))
        return false;
    if (r->depth == r->max_depth) {
        json_fail(r, ERR_INVALID, "arrays and objects are nested deeper than is read");
        return false;
    }
    uint32_t level = r->depth++;
    uint64_t bit = (uint64_t)1 << level % 64;
    r->objects[level / 64] = kind == JSON_OBJECT ? r->objects[level / 64] | bit : r->objects[level / 64] & ~bit;
    r->first = true;
    r->at++;
    return true;
}

bool json_enter_array(struct json_reader *r)
{
    return enter(r, JSON_ARRAY);
}

bool json_enter_object(struct json_reader *r)
{
    return enter(r, JSON_OBJECT);
}

// Passes the comma before the next value; false = the container is left.
static bool go_on(struct json_reader *r, uint8_t close)
{
    uint8_t c = next_char(r);
    bool first = r->first;
    if (c == close) {
        r->at++;
        r->depth--;
        r->first = false;
        return false;
    }
    if (!first && c != ',')
        return fail(r, close == ']' ? "',' or ']' should be here" : "',' or '}' should be here");
    r->at += !first;
    r->first = false;
    return true;
}

bool json_next_element(struct json_reader *r)
{
    if (r->due)
        json_skip(r);
    if (r->error != NULL || !go_on(r, ']'))
        return false;
    r->due = true;
    return json_peek(r) != JSON_NONE;
}

static bool go_on_to_key(struct json_reader *r)
{
    return go_on(r, '}') && (next_char(r) == '"' || fail(r, "a key in quotes should be here"));
}

static bool pass_colon(struct json_reader *r)
{
    if (next_char(r) != ':')
        return fail(r, "':' should be here");
    r->at++;
    return true;
}

bool json_next_member(struct json_reader *r, struct bytes *key_out)
{
    *key_out = (struct bytes){NULL, 0};
    if (r->due)
        json_skip(r);
    if (r->error != NULL || !go_on_to_key(r) || !json_read_string(r, key_out) || !pass_colon(r))
        return false;
    r->due = true;
    return true;
}

// --- values ---

bool json_string(struct json_reader *r, struct bytes *out)
{
    *out = (struct bytes){NULL, 0};
    return expect(r, JSON_STRING) && json_read_string(r, out);
}

bool json_number(struct json_reader *r, struct bytes *out)
{
    *out = (struct bytes){NULL, 0};
    if (!expect(r, JSON_NUMBER))
        return false;
    size_t len = json_number_len((struct bytes){r->at, (size_t)(r->end - r->at)});
    if (len == 0)
        return fail(r, "a number that JSON does not have");
    *out = (struct bytes){r->at, len};
    r->at += len;
    return true;
}

// Digits in quotes, as OTLP writes 64-bit numbers; else nothing is read.
static bool take_quoted_digits(struct json_reader *r, struct bytes *out)
{
    const uint8_t *start = r->at + 1, *at = start;
    while (at < r->end && *at >= '0' && *at <= '9')
        at++;
    if (at >= r->end || *at != '"')
        return false;
    *out = (struct bytes){start, (size_t)(at - start)};
    r->at = at + 1;
    r->due = r->first = false;
    return true;
}

bool json_number_text(struct json_reader *r, struct bytes *out)
{
    if (next_char(r) != '"')
        return json_number(r, out);
    return take_quoted_digits(r, out) || json_string(r, out);
}

static bool take_word(struct json_reader *r, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
        return fail(r, "a word that JSON does not have");
    r->at += len;
    return true;
}

bool json_bool(struct json_reader *r, bool *out)
{
    *out = false;
    if (!expect(r, JSON_BOOL))
        return false;
    bool yes = *r->at == 't';
    *out = take_word(r, yes ? "true" : "false") && yes;
    return r->error == NULL;
}

bool json_null(struct json_reader *r)
{
    return expect(r, JSON_NULL) && take_word(r, "null");
}

bool json_int64(struct json_reader *r, int64_t *out)
{
    struct bytes number;
    *out = 0;
    if (!json_number(r, &number))
        return false;
    if (json_to_int64(number, out))
        return true;
    r->at = number.data;
    return fail(r, "not an integer of 64 bits");
}

// One value that holds no others, or the opening of one that does.
static void skip_one(struct json_reader *r)
{
    struct json_raw_string string;
    struct bytes number;
    bool truth;
    switch (json_peek(r)) {
    case JSON_NONE:
        break;
    case JSON_NULL:
        json_null(r);
        break;
    case JSON_BOOL:
        json_bool(r, &truth);
        break;
    case JSON_NUMBER:
        json_number(r, &number);
        break;
    case JSON_STRING:
        if (expect(r, JSON_STRING))
            json_scan_string(r, &string);
        break;
    case JSON_ARRAY:
        json_enter_array(r);
        break;
    case JSON_OBJECT:
        json_enter_object(r);
        break;
    }
}

// What comes before the next value of the innermost container; false = it is left.
static bool skip_to_value(struct json_reader *r)
{
    struct json_raw_string key;
    return is_object(r) ? go_on_to_key(r) && json_scan_string(r, &key) && pass_colon(r) : go_on(r, ']');
}

void json_skip(struct json_reader *r)
{
    uint32_t outside = r->depth;
    skip_one(r);
    while (r->error == NULL && r->depth > outside)
        if (skip_to_value(r))
            skip_one(r);
    r->due = false;
}

// --- around the values ---

bool json_more(struct json_reader *r)
{
    if (r->due)
        json_skip(r);
    if (r->error != NULL)
        return false;
    CHECK(r->depth == 0);
    skip_space(r);
    r->due = r->at < r->end;
    return r->due;
}

void json_end(struct json_reader *r)
{
    if (json_more(r))
        fail(r, "something follows the value");
}
