// SPDX-License-Identifier: Apache-2.0
// Where objects stand in an answer: a list's between the brackets of its `items`, a watch's one behind the other.
#include "kube/kube_cutter.h"
#include "kube/kube_event.h"

#include "base/mem.h"
#include "base/text.h"

enum state {
    ENVELOPE, // a list, outside of its items
    ITEMS,    // between them
    IN_ITEM,
    LIST_END,
    EVENTS, // between them
    IN_EVENT,
};

struct kube_stream {
    struct kube_stream_options options;
    struct kube_object_reader object_reader;
    struct kube_cutter cutter;
    enum state state;
    struct buf envelope; // the list without its items
    struct kube_scanner envelope_scanner;
    bool had_items;
    bool item_may_follow;  // at the beginning and behind a comma
    bool item_must_follow; // behind a comma
    enum err_code failed;
    uint64_t position; // of the next byte in the answer
    uint64_t objects;  // taken
    uint64_t items_passed_over;
    struct kube_event_sink sink;
};

struct kube_stream *kube_stream_create(const struct kube_stream_options *options)
{
    struct kube_stream *s = MEM_NEW(struct kube_stream);
    CHECK((options->on_item != NULL) != (options->on_event != NULL));
    s->options = *options;
    s->sink = (struct kube_event_sink){options->on_event, options->arg, 0};
    s->state = options->on_item != NULL ? ENVELOPE : EVENTS;
    kube_object_reader_init(&s->object_reader, options->kind, &options->keep);
    kube_cutter_init(&s->cutter);
    buf_init(&s->envelope, KUBE_OBJECT_MAX_BYTES);
    return s;
}

void kube_stream_destroy(struct kube_stream **stream)
{
    struct kube_stream *s = *stream;
    if (s == NULL)
        return;
    kube_object_reader_fini(&s->object_reader);
    kube_cutter_fini(&s->cutter);
    buf_fini(&s->envelope);
    free(s);
    *stream = NULL;
}

uint64_t kube_stream_passed_over(const struct kube_stream *s)
{
    return s->items_passed_over + s->sink.passed_over;
}

// --- what stands around a list's items ---

struct envelope {
    struct bytes kind, resource_version, continue_token;
};

static const struct kube_member list_metadata_members[] = {
    {.name = "resourceVersion", .at = offsetof(struct envelope, resource_version)},
    {.name = "continue", .at = offsetof(struct envelope, continue_token)},
};

static const struct kube_member envelope_members[] = {
    {.name = "kind", .at = offsetof(struct envelope, kind)},
    {.name = "metadata", KUBE_INNER(list_metadata_members)},
};

static bool list_kind_fits(enum kube_kind kind, struct bytes said)
{
    const struct bytes suffix = BYTES_LITERAL("List");
    if (said.len < suffix.len || memcmp(said.data + said.len - suffix.len, suffix.data, suffix.len) != 0)
        return said.len == 0;
    const struct bytes stem = {said.data, said.len - suffix.len};
    return stem.len == 0 || bytes_equal_text(stem, kube_kind_name(kind)) ||
           bytes_equal_text(stem, "PartialObjectMetadata");
}

static enum err_code check_list_kind(const struct kube_stream *s, struct bytes said, struct err *e)
{
    if (list_kind_fits(s->options.kind, said))
        return ERR_OK;
    return err_set(e, ERR_INVALID, "the answer's kind is not %sList, which was asked for",
                   kube_kind_name(s->options.kind));
}

// What is there of it when the items begin: a wrong list gives none out.
static enum err_code check_beginning(const struct kube_stream *s, struct err *e)
{
    struct kube_reader reader;
    struct envelope envelope = {0};
    kube_reader_init(&reader, buf_bytes(&s->envelope));
    KUBE_READ(&reader, envelope_members, &envelope);
    enum err_code code = check_list_kind(s, envelope.kind, e);
    kube_reader_fini(&reader);
    return code;
}

static size_t trim(struct bytes text, size_t len)
{
    while (len > 0 && text.data[len - 1] <= ' ')
        len--;
    return len;
}

static bool take_last(struct bytes text, size_t *len, const char *last)
{
    size_t n = strlen(last);
    *len = trim(text, *len);
    if (*len < n || memcmp(text.data + *len - n, last, n) != 0)
        return false;
    *len -= n;
    return true;
}

// Behind `"items":` on the first level. What else could end in these characters is no JSON, and refused in the end.
static bool is_before_items(const struct kube_stream *s)
{
    struct bytes text = buf_bytes(&s->envelope);
    size_t len = text.len;
    return s->envelope_scanner.depth == 1 && take_last(text, &len, ":") && take_last(text, &len, "\"items\"") &&
           (len = trim(text, len)) > 0 && (text.data[len - 1] == '{' || text.data[len - 1] == ',');
}

// --- a list ---

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static enum err_code add_to_envelope(struct kube_stream *s, uint8_t byte, struct err *e)
{
    buf_add_byte(&s->envelope, byte);
    if (buf_ok(&s->envelope))
        return ERR_OK;
    return s->envelope.too_large ? err_set(e, ERR_LIMIT, "a list says too much beside its items")
                                 : err_set(e, ERR_MEMORY, "out of memory for a list");
}

static enum err_code begin_items(struct kube_stream *s, struct err *e)
{
    if (s->had_items)
        return err_set(e, ERR_INVALID, "a list has items twice");
    s->state = ITEMS;
    s->had_items = s->item_may_follow = true;
    s->item_must_follow = false;
    return check_beginning(s, e);
}

static enum err_code take_envelope(struct kube_stream *s, uint8_t byte, struct err *e)
{
    bool begins_items = byte == '[' && !s->envelope_scanner.in_string && is_before_items(s);
    if (s->envelope_scanner.depth == 0 && byte != '{')
        return is_space(byte) ? ERR_OK : err_set(e, ERR_INVALID, "this is not a list of the Kubernetes API");
    enum err_code code = add_to_envelope(s, byte, e);
    kube_scan_byte(&s->envelope_scanner, byte);
    if (code == ERR_OK && begins_items)
        code = begin_items(s, e);
    else if (s->envelope_scanner.depth == 0)
        s->state = LIST_END;
    return code;
}

static enum err_code take_between_items(struct kube_stream *s, uint8_t byte, struct err *e)
{
    if (is_space(byte))
        return ERR_OK;
    if (byte == ',' && !s->item_may_follow) {
        s->item_may_follow = s->item_must_follow = true;
    } else if (byte == ']' && !s->item_must_follow) {
        s->state = ENVELOPE;
        kube_scan_byte(&s->envelope_scanner, byte);
        return add_to_envelope(s, byte, e);
    } else {
        return err_set(e, ERR_INVALID, s->item_may_follow ? "an object should be here" : "',' or ']' should be here");
    }
    return ERR_OK;
}

static enum err_code use_item(struct kube_stream *s, struct bytes json, struct err *e)
{
    struct kube_object *object;
    enum err_code code = kube_object_reader_run(&s->object_reader, json, &object, e);
    if (code != ERR_OK)
        return code;
    s->item_may_follow = s->item_must_follow = false;
    if (object != NULL)
        s->options.on_item(s->options.arg, object);
    else
        s->items_passed_over++;
    return ERR_OK;
}

// --- both ---

static enum err_code take_object(struct kube_stream *s, struct bytes *data, struct err *e)
{
    struct bytes whole;
    enum err_code code = kube_cutter_take(&s->cutter, data, &whole, e);
    if (code == ERR_OK && whole.len > 0) {
        code = s->state == IN_ITEM ? use_item(s, whole, e) : kube_event_run(&s->object_reader, whole, &s->sink, e);
        s->state = s->state == IN_ITEM ? ITEMS : EVENTS;
        s->objects += code == ERR_OK;
    }
    return code;
}

// One byte between objects. One that begins an object is left to take_object.
static enum err_code take_byte(struct kube_stream *s, uint8_t byte, bool *left, struct err *e)
{
    *left = byte == '{' && (s->state == EVENTS || (s->state == ITEMS && s->item_may_follow));
    if (*left) {
        s->state = s->state == EVENTS ? IN_EVENT : IN_ITEM;
        return ERR_OK;
    }
    if (s->state == ENVELOPE)
        return take_envelope(s, byte, e);
    if (s->state == ITEMS)
        return take_between_items(s, byte, e);
    return is_space(byte) ? ERR_OK
                          : err_set(e, ERR_INVALID,
                                    s->state == EVENTS ? "this is no event of a watch" : "something follows the list");
}

static enum err_code take(struct kube_stream *s, struct bytes *data, struct err *e)
{
    bool left;
    if (s->state == IN_ITEM || s->state == IN_EVENT)
        return take_object(s, data, e);
    enum err_code code = take_byte(s, *data->data, &left, e);
    if (code == ERR_OK && !left)
        *data = (struct bytes){data->data + 1, data->len - 1};
    return code;
}

enum err_code kube_stream_feed(struct kube_stream *s, struct bytes data, struct err *e)
{
    if (s->failed != ERR_OK)
        return err_set(e, s->failed, "the answer was broken before");
    while (data.len > 0 && s->failed == ERR_OK) {
        size_t before = data.len;
        s->failed = take(s, &data, e);
        s->position += before - data.len;
    }
    if (s->failed != ERR_OK)
        err_prefix(e, "near byte %llu, behind %s", (unsigned long long)s->position, TEXT_COUNT(s->objects, "object"));
    return s->failed;
}

// --- the end of a list ---

static enum err_code copy_list_meta(const struct envelope *from, struct kube_list_meta *out, struct err *e)
{
    struct bytes version = from->resource_version, token = from->continue_token;
    if (version.len >= sizeof out->resource_version || (token.len > 0 && memchr(token.data, 0, token.len) != NULL))
        return err_set(e, ERR_INVALID, "the list's resourceVersion or continue is none");
    if (version.len > 0)
        memcpy(out->resource_version, version.data, version.len);
    if (token.len == 0)
        return ERR_OK;
    out->continue_token = mem_try_alloc(token.len + 1);
    if (out->continue_token == NULL)
        return err_set(e, ERR_MEMORY, "out of memory for a list's continue");
    memcpy(out->continue_token, token.data, token.len);
    out->continue_token[token.len] = 0;
    return ERR_OK;
}

enum err_code kube_stream_end_list(struct kube_stream *s, struct kube_list_meta *out, struct err *e)
{
    struct kube_reader reader;
    struct envelope envelope = {0};
    *out = (struct kube_list_meta){.continue_token = NULL};
    if (s->failed != ERR_OK)
        return err_set(e, s->failed, "the answer was broken before");
    if (s->state != LIST_END)
        return err_set(e, ERR_INVALID, "the list breaks off behind %s", TEXT_COUNT(s->objects, "object"));
    kube_reader_init(&reader, buf_bytes(&s->envelope));
    enum err_code code = kube_reader_run(&reader, envelope_members, COUNT_OF(envelope_members), &envelope, e);
    if (code == ERR_OK)
        code = check_list_kind(s, envelope.kind, e);
    if (code == ERR_OK)
        code = copy_list_meta(&envelope, out, e);
    kube_reader_fini(&reader);
    return code;
}
