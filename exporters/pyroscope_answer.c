// SPDX-License-Identifier: Apache-2.0
#include "exporters/pyroscope_answer.h"

#include "codec/json.h"
#include "exporters/peer_words.h"
#include "pipeline/retry.h"

#include <stdio.h>
#include <strings.h>

enum {
    MOST_DOUBTS = 3,
    SERVER_BURST = 2u << 20, // its default: one profile above it never passes
    CODE_MAX = 32,
};

struct words {
    char code[CODE_MAX]; // of Connect; "" = none
    char text[PEER_WORDS_MAX + 1];
};

static bool has_type(const struct http_response *response, const char *media_type)
{
    const char *type = http_response_header(response, "content-type");
    return type != NULL && strncasecmp(type, media_type, strlen(media_type)) == 0;
}

// {"code": "...", "message": "..."}
static bool read_connect_error(struct bytes body, struct arena *arena, struct bytes *code, struct bytes *message)
{
    struct json_reader r;
    struct bytes key;
    json_reader_init(&r, body, arena, 16);
    if (!json_enter_object(&r))
        return false;
    while (json_next_member(&r, &key))
        if (bytes_equal_text(key, "code") && json_peek(&r) == JSON_STRING)
            json_string(&r, code);
        else if (bytes_equal_text(key, "message") && json_peek(&r) == JSON_STRING)
            json_string(&r, message);
    return json_result(&r, NULL) == ERR_OK && (code->len > 0 || message->len > 0);
}

static void read_words(const struct http_response *response, struct words *out)
{
    struct arena arena;
    struct bytes code = {NULL, 0}, message = {NULL, 0};
    arena_init(&arena, 0);
    if (!read_connect_error(response->body, &arena, &code, &message)) {
        code = (struct bytes){NULL, 0};
        message = response->body;
    }
    peer_words_clean(message, has_type(response, "text/html"), out->text);
    char clean[PEER_WORDS_MAX + 1];
    peer_words_clean(code, false, clean);
    snprintf(out->code, sizeof out->code, "%.*s", CODE_MAX - 1, clean);
    arena_fini(&arena);
}

static const struct {
    int status;
    const char *remedy;
} remedies[] = {
    {400, NULL},
    {401, "are headers and auth.authenticator right?"},
    {403, "may these credentials send profiles for this tenant?"},
    {404,
     "is that the API's path there? endpoint may lack the server's base path, e.g. /pyroscope, or have one too much"},
    {405, "endpoint leads to something else"},
    {415, "endpoint leads to something else"},
};

static const char *remedy_of(int status)
{
    if (status >= 300 && status < 400)
        return "redirects are not followed: set endpoint to where it leads";
    for (size_t i = 0; i < COUNT_OF(remedies); i++)
        if (remedies[i].status == status)
            return remedies[i].remedy;
    return NULL;
}

static bool says(const struct words *w, const char *text)
{
    return strcasestr(w->text, text) != NULL;
}

// A server's words for a profile over a limit of its own, and for one over the burst: "push rate limit (4.0 MiB) exceeded
// while adding 2.5 MiB" is also said of a quota.
static bool blames_size(int status, const struct words *w, const struct record *r)
{
    if (status == 413)
        return true;
    if (status == 400 || status == 422)
        return says(w, "exceeds the size limit") || says(w, "exceeds the samples count limit") ||
               says(w, "body too large");
    return status == 429 && (says(w, "burst") || (says(w, "exceeded while adding") && r->raw_bytes > SERVER_BURST));
}

// Servers before 2.2 hide rate limits.
static bool may_repeat(int status, const struct words *w)
{
    return status == 408 || status == 429 || status >= 500 || (status == 422 && says(w, "rate limit"));
}

static struct verdict verdict_of(const struct pyroscope_request *request, int status, const struct words *w, bool again)
{
    const char *remedy = again ? NULL : remedy_of(status);
    return verdict_make(again ? VERDICT_RETRY : VERDICT_REFUSED, "%.*s answers %d%s%s%s%s%s%s%s",
                        (int)strcspn(request->url, "?"), request->url, status, w->code[0] != '\0' ? " " : "", w->code,
                        w->text[0] != '\0' ? ": " : "", w->text, remedy != NULL ? " (" : "",
                        remedy != NULL ? remedy : "", remedy != NULL ? ")" : "");
}

struct pyroscope_judgement pyroscope_answer_judge(const struct pyroscope_request *request,
                                                  const struct http_response *response)
{
    const int status = response->status;
    struct pyroscope_judgement j = {.verdict = {.kind = VERDICT_OK}};
    struct words w;
    if (status >= 200 && status < 300)
        return j;
    if (status == 0) {
        j.verdict = verdict_make(VERDICT_RETRY, "%s", response->error);
        return j;
    }
    read_words(response, &w);
    j.is_size = blames_size(status, &w, request->record);
    // That is also what a server says of a pprof that it cannot read.
    j.is_doubtful = status == 500 && strcmp(w.code, "unknown") == 0;
    const bool give_up = j.is_size || (j.is_doubtful && request->record->doubts + 1 >= MOST_DOUBTS);
    j.verdict = verdict_of(request, status, &w, !give_up && may_repeat(status, &w));
    j.verdict.retry_after_nanos = retry_after_parse(http_response_header(response, "retry-after"), request->now_nanos);
    return j;
}
