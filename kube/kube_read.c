// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_read.h"

enum { MAX_DEPTH = 128 };

void kube_reader_init(struct kube_reader *r, struct bytes json)
{
    arena_init(&r->arena, 0);
    json_reader_init(&r->json, json, &r->arena, MAX_DEPTH);
}

void kube_reader_fini(struct kube_reader *r)
{
    arena_fini(&r->arena);
}

enum err_code kube_reader_run(struct kube_reader *r, const struct kube_member *members, size_t count, void *target,
                              struct err *e)
{
    if (json_peek(&r->json) != JSON_OBJECT)
        json_fail(&r->json, ERR_INVALID, "an object should be here");
    kube_read_members(r, members, count, target);
    json_end(&r->json);
    return json_result(&r->json, e);
}

bool kube_read_text(struct kube_reader *r, struct bytes *out)
{
    *out = (struct bytes){NULL, 0};
    if (json_peek(&r->json) == JSON_STRING)
        return json_string(&r->json, out);
    json_skip(&r->json);
    return false;
}

static void read_member(struct kube_reader *r, const struct kube_member *m, void *target)
{
    void *target_at = (uint8_t *)target + m->at;
    if (m->inner != NULL)
        kube_read_members(r, m->inner, m->inner_count, target_at);
    else if (m->read != NULL)
        m->read(r, m, target_at);
    else
        kube_read_text(r, target_at);
}

void kube_read_members(struct kube_reader *r, const struct kube_member *members, size_t count, void *target)
{
    struct bytes key;
    if (json_peek(&r->json) != JSON_OBJECT)
        return; // the next json_next_* passes over it
    json_enter_object(&r->json);
    while (json_next_member(&r->json, &key))
        for (size_t i = 0; i < count; i++)
            if (bytes_equal_text(key, members[i].name)) {
                read_member(r, &members[i], target);
                break;
            }
}

bool kube_enter_array(struct kube_reader *r)
{
    return json_peek(&r->json) == JSON_ARRAY && json_enter_array(&r->json);
}

void kube_read_bool(struct kube_reader *r, const struct kube_member *m, void *target_at)
{
    (void)m;
    bool *out = target_at;
    *out = false;
    if (json_peek(&r->json) == JSON_BOOL)
        json_bool(&r->json, out);
}

void kube_read_int64(struct kube_reader *r, const struct kube_member *m, void *target_at)
{
    (void)m;
    int64_t *out = target_at;
    struct bytes number;
    *out = 0;
    if (json_peek(&r->json) == JSON_NUMBER && json_number(&r->json, &number) && !json_to_int64(number, out))
        *out = 0;
}

void kube_read_raw(struct kube_reader *r, const struct kube_member *m, void *target_at)
{
    (void)m;
    struct bytes *out = target_at;
    json_peek(&r->json); // passes the space before it
    const uint8_t *start = r->json.at;
    json_skip(&r->json);
    *out = (struct bytes){start, (size_t)(r->json.at - start)};
}
