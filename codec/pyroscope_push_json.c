// SPDX-License-Identifier: Apache-2.0
// PushRequest from JSON into protobuf, so that one reader does the rest.
#include "base/base64.h"
#include "codec/json.h"
#include "codec/pyroscope_push_reader.h"
#include "codec/wire.h"

enum { JSON_DEPTH = 64 };

struct converter {
    struct json_reader json;
    struct buf *wire;
};

struct message;

// With a message: a list of them. Else a text, or with is_base64 bytes.
struct field {
    const char *name, *proto_name;
    const struct message *message;
    uint32_t number;
    bool is_base64;
};

struct message {
    const struct field *fields;
    size_t count;
};

#define MESSAGE(list) {list, COUNT_OF(list)}

static const struct field label_fields[] = {{"name", "name", NULL, PUSH_LABEL_NAME, false},
                                            {"value", "value", NULL, PUSH_LABEL_VALUE, false}};
static const struct message label = MESSAGE(label_fields);

static const struct field sample_fields[] = {{"rawProfile", "raw_profile", NULL, PUSH_SAMPLE_RAW_PROFILE, true}};
static const struct message sample = MESSAGE(sample_fields);

static const struct field series_fields[] = {{"labels", "labels", &label, PUSH_SERIES_LABELS, false},
                                             {"samples", "samples", &sample, PUSH_SERIES_SAMPLES, false}};
static const struct message series = MESSAGE(series_fields);

static const struct field request_fields[] = {{"series", "series", &series, PUSH_REQUEST_SERIES, false}};
static const struct message request = MESSAGE(request_fields);

static const struct field *find_field(const struct message *m, struct bytes key)
{
    for (size_t i = 0; i < m->count; i++)
        if (bytes_equal_text(key, m->fields[i].name) || bytes_equal_text(key, m->fields[i].proto_name))
            return &m->fields[i];
    return NULL;
}

static void put_base64(struct converter *c, const struct field *f, struct bytes text)
{
    size_t start = wire_begin(c->wire, f->number), len = 0;
    if (!buf_reserve(c->wire, base64_decoded_max(text.len)))
        return;
    if (!base64_decode(text, c->wire->data + c->wire->len, &len))
        json_fail(&c->json, ERR_INVALID, "rawProfile is not base64");
    c->wire->len += len;
    wire_end(c->wire, start);
}

static void read_text(struct converter *c, const struct field *f)
{
    struct bytes text;
    if (!json_string(&c->json, &text))
        return;
    if (f->is_base64)
        put_base64(c, f, text);
    else
        wire_put_bytes(c->wire, f->number, text);
}

static void read_message(struct converter *c, const struct message *m);

static void read_list(struct converter *c, const struct field *f)
{
    if (!json_enter_array(&c->json))
        return;
    while (json_next_element(&c->json)) {
        size_t start = wire_begin(c->wire, f->number);
        read_message(c, f->message);
        wire_end(c->wire, start);
    }
}

// Recurses as deep as the tables do.
static void read_message(struct converter *c, const struct message *m)
{
    struct bytes key;
    if (!json_enter_object(&c->json))
        return;
    while (json_next_member(&c->json, &key)) {
        const struct field *f = find_field(m, key);
        if (f != NULL && json_peek(&c->json) != JSON_NULL) // which is as if it were not there
            (f->message != NULL ? read_list : read_text)(c, f);
        if (!buf_ok(c->wire)) // ends the loops
            json_fail(&c->json, ERR_MEMORY, "out of memory");
    }
}

enum err_code pyroscope_push_from_json(struct bytes json, struct buf *out, struct err *e)
{
    struct converter c = {.wire = out};
    struct arena arena;
    arena_init(&arena, 0);
    json_reader_init(&c.json, json, &arena, JSON_DEPTH);
    read_message(&c, &request);
    json_end(&c.json);
    enum err_code code = json_result(&c.json, e);
    arena_fini(&arena);
    return code;
}
