// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_event.h"

#include <stdio.h>

struct status {
    struct bytes kind, message;
    int64_t code;
};

static const struct kube_member status_members[] = {
    {.name = "kind", .at = offsetof(struct status, kind)},
    {.name = "message", .at = offsetof(struct status, message)},
    {.name = "code", .at = offsetof(struct status, code), .read = kube_read_int64},
};

static int status_code(const struct status *status)
{
    return status->code > 0 && status->code < 1000 ? (int)status->code : 0;
}

static enum err_code give_error(struct kube_event_sink *sink, struct bytes json, struct err *e)
{
    struct kube_reader reader;
    struct status status = {.code = 0};
    kube_reader_init(&reader, json);
    enum err_code code = kube_reader_run(&reader, status_members, COUNT_OF(status_members), &status, e);
    if (code == ERR_OK)
        sink->on_event(sink->arg, &(struct kube_event){
                                      .type = KUBE_ERROR, .status = status_code(&status), .message = status.message});
    kube_reader_fini(&reader);
    return code;
}

struct bookmark {
    struct bytes resource_version, end_mark;
};

static const struct kube_member bookmark_annotation_members[] = {
    {.name = "k8s.io/initial-events-end", .at = offsetof(struct bookmark, end_mark)},
};
static const struct kube_member bookmark_metadata_members[] = {
    {.name = "resourceVersion", .at = offsetof(struct bookmark, resource_version)},
    {.name = "annotations", KUBE_INNER(bookmark_annotation_members)},
};
static const struct kube_member bookmark_members[] = {{.name = "metadata", KUBE_INNER(bookmark_metadata_members)}};

static enum err_code give_bookmark(struct kube_event_sink *sink, struct bytes json, struct err *e)
{
    struct kube_reader reader;
    struct bookmark bookmark = {0};
    kube_reader_init(&reader, json);
    enum err_code code = kube_reader_run(&reader, bookmark_members, COUNT_OF(bookmark_members), &bookmark, e);
    if (code == ERR_OK)
        sink->on_event(sink->arg, &(struct kube_event){.type = KUBE_BOOKMARK,
                                                       .resource_version = bookmark.resource_version,
                                                       .ends_initial = bytes_equal_text(bookmark.end_mark, "true")});
    kube_reader_fini(&reader);
    return code;
}

static enum err_code give_change(struct kube_object_reader *o, struct kube_event_sink *sink, enum kube_event_type type,
                                 struct bytes json, struct err *e)
{
    struct kube_object *object;
    enum err_code code = kube_object_reader_run(o, json, &object, e);
    if (code == ERR_OK && object != NULL)
        sink->on_event(sink->arg, &(struct kube_event){.type = type, .object = object});
    sink->passed_over += code == ERR_OK && object == NULL;
    return code;
}

struct event_parts {
    struct bytes type, object;
};

static const struct kube_member event_members[] = {
    {.name = "type", .at = offsetof(struct event_parts, type)},
    {.name = "object", .at = offsetof(struct event_parts, object), .read = kube_read_raw},
};

static enum err_code give_event(struct kube_object_reader *o, struct kube_event_sink *sink,
                                const struct event_parts *event, struct err *e)
{
    static const char *const types[] = {
        [KUBE_ADDED] = "ADDED",       [KUBE_MODIFIED] = "MODIFIED", [KUBE_DELETED] = "DELETED",
        [KUBE_BOOKMARK] = "BOOKMARK", [KUBE_ERROR] = "ERROR",
    };
    size_t type = 0;
    while (type < COUNT_OF(types) && !bytes_equal_text(event->type, types[type]))
        type++;
    if (type == COUNT_OF(types) || event->object.len == 0)
        return err_set(e, ERR_INVALID, "this is no event of a watch");
    if (type == KUBE_ERROR)
        return give_error(sink, event->object, e);
    if (type == KUBE_BOOKMARK)
        return give_bookmark(sink, event->object, e);
    return give_change(o, sink, (enum kube_event_type)type, event->object, e);
}

enum err_code kube_event_run(struct kube_object_reader *o, struct bytes json, struct kube_event_sink *sink,
                             struct err *e)
{
    struct kube_reader reader;
    struct event_parts event = {0};
    kube_reader_init(&reader, json);
    enum err_code code = kube_reader_run(&reader, event_members, COUNT_OF(event_members), &event, e);
    if (code == ERR_OK)
        code = give_event(o, sink, &event, e);
    kube_reader_fini(&reader);
    return code;
}

// --- error answers ---

int kube_status_decode(struct bytes json, char *message_out, size_t size)
{
    struct kube_reader reader;
    struct status status = {.code = 0};
    message_out[0] = 0;
    kube_reader_init(&reader, json);
    bool is_one = kube_reader_run(&reader, status_members, COUNT_OF(status_members), &status, NULL) == ERR_OK &&
                  bytes_equal_text(status.kind, "Status");
    if (is_one)
        snprintf(message_out, size, "%.*s", BYTES_PRINT(status.message));
    kube_reader_fini(&reader);
    return is_one ? status_code(&status) : 0;
}
