// SPDX-License-Identifier: Apache-2.0
#include "detect/metadata_service.h"

#include "base/mem.h"
#include "base/text.h"
#include "codec/json.h"

#include <strings.h>

enum { LINE_MAX_BYTES = 1024, DOCUMENT_DEPTH = 16, DOCUMENT_MEMBERS = 16 };

static const struct metadata_step *step_of(const struct metadata_walk *w)
{
    return &w->service->steps[w->step];
}

static const char *endpoint_of(const struct metadata_walk *w)
{
    return *(const char *const *)((const char *)w->run->settings + w->service->endpoint);
}

static void finish(struct metadata_walk *w, const struct err *e)
{
    struct detector_run *r = w->run;
    r->state = NULL;
    free(w);
    detector_end(r, e);
}

static void ask(struct metadata_walk *w);

static void go_on(struct metadata_walk *w)
{
    if (++w->step < w->service->step_count) {
        ask(w);
        return;
    }
    if (w->service->finish != NULL)
        w->service->finish(w);
    finish(w, NULL);
}

// --- an answer ---

static enum err_code check_answer(const struct metadata_walk *w, const struct http_response *response, struct err *e)
{
    const struct http_header *wanted = &w->service->answer;
    const char *found = wanted->name != NULL ? http_response_header(response, wanted->name) : NULL;
    if (response->outcome != HTTP_ANSWERED)
        return err_set(e, response->error_code, "%s", response->error);
    if (response->status != 200)
        return err_set(e, ERR_INVALID, "the answer is %d", response->status);
    if (wanted->name != NULL && (found == NULL || strcasecmp(found, wanted->value) != 0))
        return err_set(e, ERR_INVALID, "the answer has no header %s: %s; something else answers there", wanted->name,
                       wanted->value);
    return ERR_OK;
}

static enum err_code use_answer(struct metadata_walk *w, const struct http_response *response, struct err *e)
{
    const struct metadata_step *s = step_of(w);
    struct bytes line = {NULL, 0};
    enum err_code rc = check_answer(w, response, e);
    if (rc != ERR_OK)
        return rc;
    if (s->use != NULL)
        return s->use(w, response->body, e);
    rc = metadata_line(response->body, LINE_MAX_BYTES, &line, e);
    if (rc == ERR_OK)
        detector_add(w->run, s->key, line);
    return rc;
}

static void on_done(void *arg, const struct http_response *response)
{
    struct metadata_walk *w = arg;
    const struct metadata_step *s = step_of(w);
    struct err e = {0};
    const bool absent = s->optional && response->outcome == HTTP_ANSWERED && response->status == 404;
    w->call = NULL;
    if (absent || use_answer(w, response, &e) == ERR_OK) {
        go_on(w);
        return;
    }
    err_prefix(&e, "%s%s", endpoint_of(w), s->path);
    if (s->remedy != NULL)
        err_set(&e, e.code, "%s; %s", e.text, s->remedy);
    finish(w, &e);
}

// --- a question ---

static void ask(struct metadata_walk *w)
{
    const struct metadata_step *s = step_of(w);
    struct err e = {0};
    struct http_client *client = detector_http_client(w->run, &e);
    if (client == NULL) {
        finish(w, &e);
        return;
    }
    char *url = http_url_join(endpoint_of(w), s->path);
    const struct http_request request = {
        .method = s->method != NULL ? s->method : "GET",
        .url = url,
        .headers = &w->header,
        .header_count = w->header.name != NULL,
        .timeout_nanos = METADATA_STEP_SECONDS * NANOS_PER_SECOND,
        .max_response_bytes = METADATA_MAX_BODY_BYTES,
    };
    w->call = http_client_send(client, &request, on_done, w);
    free(url);
}

void metadata_begin(struct detector_run *r, const struct metadata_service *service)
{
    struct metadata_walk *w = MEM_NEW(struct metadata_walk);
    w->run = r;
    w->service = service;
    w->header = service->header;
    r->state = w;
    ask(w);
}

void metadata_cancel(struct detector_run *r)
{
    const struct metadata_walk *w = r->state;
    http_call_cancel(w->call);
}

// --- what the bodies say ---

enum err_code metadata_line(struct bytes body, size_t max_bytes, struct bytes *out, struct err *e)
{
    while (body.len > 0 && (body.data[body.len - 1] == '\n' || body.data[body.len - 1] == '\r'))
        body.len--;
    if (body.len > max_bytes)
        return err_set(e, ERR_LIMIT, "the answer has %zu bytes, allowed are %zu", body.len, max_bytes);
    for (size_t i = 0; i < body.len; i++)
        if (body.data[i] < ' ' || body.data[i] == 0x7f)
            return err_set(e, ERR_INVALID, "the answer is not a line of text");
    if (!utf8_valid(body))
        return err_set(e, ERR_INVALID, "the answer is not UTF-8");
    *out = body;
    return ERR_OK;
}

struct document {
    struct json_reader json;
    const struct metadata_member *rows;
    size_t count;
    struct bytes found[DOCUMENT_MEMBERS];
};

static bool same_section(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

// One text may be several attributes.
static void take_text(struct document *d, const char *section, struct bytes member)
{
    struct bytes text;
    if (!json_string(&d->json, &text))
        return;
    for (size_t i = 0; i < d->count; i++)
        if (same_section(d->rows[i].section, section) && bytes_equal_text(member, d->rows[i].member))
            d->found[i] = text;
}

static const char *find_section(const struct document *d, struct bytes member)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->rows[i].section != NULL && bytes_equal_text(member, d->rows[i].section))
            return d->rows[i].section;
    return NULL;
}

static void read_section(struct document *d, const char *section)
{
    struct bytes member;
    (void)json_enter_object(&d->json);
    while (json_next_member(&d->json, &member))
        if (json_peek(&d->json) == JSON_STRING)
            take_text(d, section, member);
}

static void read_document(struct document *d)
{
    struct bytes member;
    (void)json_enter_object(&d->json);
    while (json_next_member(&d->json, &member)) {
        const enum json_kind kind = json_peek(&d->json);
        const char *section = kind == JSON_OBJECT ? find_section(d, member) : NULL;
        if (kind == JSON_STRING)
            take_text(d, NULL, member);
        else if (section != NULL)
            read_section(d, section);
    }
    json_end(&d->json);
}

enum err_code metadata_document(struct metadata_walk *w, struct bytes body, const struct metadata_member *rows,
                                size_t count, struct err *e)
{
    struct document d = {.rows = rows, .count = count};
    struct arena arena;
    CHECK(count <= DOCUMENT_MEMBERS);
    arena_init(&arena, METADATA_MAX_BODY_BYTES * 4);
    json_reader_init(&d.json, body, &arena, DOCUMENT_DEPTH);
    read_document(&d);
    enum err_code rc = json_result(&d.json, e);
    if (rc == ERR_OK && d.found[0].len == 0)
        rc = err_set(e, ERR_INVALID, "the answer has no \"%s\": it does not describe an instance", rows[0].member);
    for (size_t i = 0; rc == ERR_OK && i < count; i++)
        detector_add(w->run, rows[i].key, d.found[i]);
    arena_fini(&arena);
    return rc;
}
