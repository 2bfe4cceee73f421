// SPDX-License-Identifier: Apache-2.0
// OTLP/JSON into protobuf, by the tables of otlp_json_fields.c. The depth of recursion is that of the JSON, which
// the reader bounds.
#include "codec/otlp_json.h"
#include "codec/otlp_json_reader.h"
#include "codec/otlp_messages.h"

#include "base/limits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    // A nested value takes four levels at most: the kvlist, its list, the entry, the value.
    JSON_DEPTH = 4 * LIMIT_VALUE_DEPTH + 32,
    DEEP = 12, // where only nested values are
    LONG_LENGTH = 5,
    ARENA_KEPT = 1 << 20,
    RECOGNISE_BYTES = 1 << 16,
    RECOGNISE_KEYS = 4,
};

void otlp_json_fail(struct otlp_json_reader *r, const struct otlp_place *at, enum err_code code, const char *format,
                    ...)
{
    if (r->code != ERR_OK || r->json.error != NULL)
        return;
    char place[OTLP_PLACE_TEXT], text[512];
    size_t line, column;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    otlp_print_place(place, sizeof place, at);
    json_place(&r->json, &line, &column);
    r->code = err_set(r->e, code, "%s%s%s (line %zu, column %zu)", place, place[0] ? ": " : "", text, line, column);
    json_fail(&r->json, code, "");
}

bool otlp_json_expect(struct otlp_json_reader *r, const struct otlp_place *at, enum json_kind kind)
{
    enum json_kind found = json_peek(&r->json);
    if (found != kind && found != JSON_NONE)
        otlp_json_fail(r, at, ERR_INVALID, "%s should be here, found %s", json_kind_name(kind), json_kind_name(found));
    return found == kind;
}

static void read_message(struct otlp_json_reader *r, const struct otlp_place *at, const struct otlp_json_message *m);

// Moving the body at each of many levels would cost too much: its length takes five bytes, whatever it is.
static void end_deep(struct buf *out, size_t start)
{
    if (out->failed)
        return;
    size_t len = out->len - start - (LONG_LENGTH - 1);
    for (int i = 0; i < LONG_LENGTH; i++)
        out->data[start - 1 + (size_t)i] = (uint8_t)((len >> 7 * i & 0x7f) | (i < LONG_LENGTH - 1 ? 0x80 : 0));
}

static uint32_t number_of(const struct otlp_json_reader *r, const struct otlp_json_field *f)
{
    return f->numbers[r->until.layout];
}

static void read_sub(struct otlp_json_reader *r, const struct otlp_place *at, const struct otlp_json_field *f)
{
    bool deep = r->json.depth > DEEP;
    size_t start = wire_begin(&r->wire, number_of(r, f));
    if (deep)
        buf_add(&r->wire, "\0\0\0\0", LONG_LENGTH - 1);
    if (json_peek(&r->json) == JSON_NULL)
        json_null(&r->json); // in a list, where it has a place: an empty message
    else
        read_message(r, at, f->message);
    if (deep)
        end_deep(&r->wire, start);
    else
        wire_end(&r->wire, start);
}

static void read_one(struct otlp_json_reader *r, const struct otlp_place *at, const struct otlp_json_field *f)
{
    if (f->message != NULL) {
        read_sub(r, at, f);
        return;
    }
    wire_put_tag(&r->wire, number_of(r, f), otlp_json_wire_type(f->type));
    otlp_json_read_scalar(r, at, f);
}

static void read_list(struct otlp_json_reader *r, const struct otlp_place *parent, const struct otlp_json_field *f)
{
    struct otlp_place at = {parent, f->name, OTLP_NO_INDEX};
    if (!otlp_json_expect(r, &at, JSON_ARRAY) || !json_enter_array(&r->json))
        return;
    bool packed = otlp_json_is_packed(f);
    size_t start = packed ? wire_begin(&r->wire, number_of(r, f)) : 0;
    for (at.index = 0; json_next_element(&r->json); at.index++)
        (packed ? otlp_json_read_scalar : read_one)(r, &at, f);
    if (packed)
        wire_end(&r->wire, start);
}

static void read_field(struct otlp_json_reader *r, const struct otlp_place *parent, const struct otlp_json_field *f)
{
    struct otlp_place at = {parent, f->name, OTLP_NO_INDEX};
    if (!otlp_json_fits_layout(r, &at, f))
        return;
    if (f->type == OTLP_JSON_UNREAD)
        otlp_json_fail(r, &at, ERR_UNSUPPORTED,
                       "this name is of OTLP profiles %s, which are not read: upgrade the sender", f->note);
    else if (f->repeated)
        read_list(r, parent, f);
    else
        read_one(r, &at, f);
    if (r->arena.total_bytes > ARENA_KEPT)
        arena_fini(&r->arena);
}

static void read_message(struct otlp_json_reader *r, const struct otlp_place *at, const struct otlp_json_message *m)
{
    struct bytes key;
    if (!otlp_json_expect(r, at, JSON_OBJECT) || !json_enter_object(&r->json))
        return;
    while (json_next_member(&r->json, &key)) {
        enum json_kind kind = json_peek(&r->json);
        const struct otlp_json_field *f = otlp_json_field_named(m, key, r->until.layout, kind == JSON_ARRAY);
        if (f != NULL && kind != JSON_NULL) // which is as if it were not there
            read_field(r, at, f);
        if (r->wire.failed) // ends the loops
            otlp_json_fail(r, at, r->wire.too_large ? ERR_LIMIT : ERR_MEMORY,
                           r->wire.too_large ? "the request is larger than max_batch_bytes" : "out of memory");
    }
}

static void read_request(struct otlp_json_reader *r)
{
    const struct json_reader start = r->json;
    otlp_json_begin_layout(r);
    do {
        r->again = false;
        r->json = start;
        buf_clear(&r->wire);
        read_message(r, NULL, &otlp_json_request);
    } while (r->again);
}

// --- files ---

static enum err_code add_request(struct otlp_json_reader *r, struct otlp_messages *m)
{
    struct otlp_layout_finding found;
    otlp_json_find_layout(r, &found);
    enum err_code rc = otlp_layout_may_come(&found, m->options, r->e);
    return rc == ERR_OK ? otlp_messages_add_known(m, buf_bytes(&r->wire), &found) : rc;
}

static enum err_code read_requests(struct otlp_json_reader *r, struct otlp_messages *m)
{
    enum err_code rc = ERR_OK;
    for (uint64_t number = 1; rc == ERR_OK && json_more(&r->json); number++) {
        read_request(r);
        if (r->json.error != NULL || r->wire.len == 0)
            continue;
        rc = add_request(r, m);
        if (rc != ERR_OK && number > 1)
            err_prefix(r->e, "request %" PRIu64, number);
    }
    if (rc == ERR_OK && r->code == ERR_OK)
        r->code = json_result(&r->json, r->e);
    return rc != ERR_OK ? rc : r->code;
}

enum err_code otlp_messages_add_json(struct otlp_messages *m, struct bytes data)
{
    struct otlp_json_reader r = {.e = m->e};
    size_t max_bytes = decode_limits_of(m->options)->max_batch_bytes;
    arena_init(&r.arena, max_bytes);
    buf_init(&r.wire, max_bytes != 0 && max_bytes < UINT32_MAX ? max_bytes : UINT32_MAX);
    json_reader_init(&r.json, data, &r.arena, JSON_DEPTH);
    m->code = read_requests(&r, m);
    m->repaired_strings += r.json.repaired_strings;
    arena_fini(&r.arena);
    buf_fini(&r.wire);
    return m->code;
}

enum err_code otlp_json_decode(struct bytes data, const struct decode_options *options, struct batch **out,
                               struct decode_report *report, struct err *e)
{
    struct otlp_messages m;
    otlp_messages_init(&m, options, e);
    (void)!otlp_messages_add_json(&m, data);
    return otlp_messages_finish(&m, out, report);
}

static bool is_request_key(struct bytes key)
{
    const struct otlp_json_field *f = otlp_json_field_named(&otlp_json_request, key, OTLP_LAYOUT_CURRENT, false);
    return f != NULL && f->type != OTLP_JSON_UNREAD;
}

bool otlp_json_recognise(struct bytes data)
{
    struct json_reader r;
    struct arena arena;
    struct bytes key;
    bool found = false;
    data.len = data.len < RECOGNISE_BYTES ? data.len : RECOGNISE_BYTES;
    arena_init(&arena, RECOGNISE_BYTES);
    json_reader_init(&r, data, &arena, JSON_DEPTH);
    if (json_peek(&r) == JSON_OBJECT && json_enter_object(&r))
        for (int i = 0; i < RECOGNISE_KEYS && !found && json_next_member(&r, &key); i++)
            found = is_request_key(key) && json_peek(&r) != JSON_STRING && json_peek(&r) != JSON_NUMBER;
    arena_fini(&arena);
    return found;
}
