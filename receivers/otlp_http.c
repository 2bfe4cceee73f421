// SPDX-License-Identifier: Apache-2.0
// OTLP/HTTP: which request is one of ours, and what the others are told.
#include "receivers/otlp_request.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

// Paths that senders of something else, or of long ago, have in their configuration.
static const struct {
    const char *path, *why;
} known_paths[] = {
    {"/v1/traces", "traces are not taken here"},
    {"/v1/metrics", "metrics are not taken here"},
    {"/v1/logs", "logs are not taken here"},
    {"/v1experimental/profiles", "OTLP profiles of before 1.4 are not taken: upgrade the sender"},
    {"/v1/profiles", "the path of OTLP profiles has the name of their development version"},
    {"/", "this is an OTLP receiver"},
};

static bool is_media_type(const char *header, const char *type)
{
    size_t len = strlen(type);
    return strncasecmp(header, type, len) == 0 && strchr(" \t;", header[len]) != NULL;
}

static enum otlp_speech speech_of(const struct http_exchange *x)
{
    const char *type = http_exchange_header(x, "content-type", NULL);
    if (type == NULL)
        return OTLP_SPEAKS_TEXT;
    if (is_media_type(type, "application/json"))
        return OTLP_SPEAKS_JSON;
    return is_media_type(type, "application/x-protobuf") || is_media_type(type, "application/protobuf")
               ? OTLP_SPEAKS_PROTO
               : OTLP_SPEAKS_TEXT;
}

static const char *known_path(struct bytes path)
{
    for (size_t i = 0; i < COUNT_OF(known_paths); i++)
        if (bytes_equal_text(path, known_paths[i].path))
            return known_paths[i].why;
    return NULL;
}

enum shared_wish otlp_http_wish(const struct otlp_listener *l, struct bytes path)
{
    if (bytes_equal_text(path, l->receiver->settings->path))
        return SHARED_MINE;
    return known_path(path) != NULL ? SHARED_LIKE_MINE : SHARED_NOT_MINE;
}

static void answer_no_path(struct otlp_listener *l, struct http_exchange *x, enum otlp_speech speech, struct bytes path)
{
    char text[1024], paths[768];
    const char *why = known_path(path);
    shared_server_paths(l->server, paths, sizeof paths);
    snprintf(text, sizeof text, "%s; %s", why != NULL ? why : "there is nothing at this path", paths);
    otlp_answer(l, x, speech, &(struct upload_outcome){.fate = UPLOAD_NO_SUCH_PATH, .text = text});
}

// What keeps a request from being read.
static bool check_head(const struct otlp_listener *l, const struct http_exchange *x, const struct http_head *head,
                       struct otlp_request_options *options, struct upload_outcome *out)
{
    *out = (struct upload_outcome){.fate = UPLOAD_TAKEN};
    if (!l->serves[OTLP_HTTP])
        *out =
            (struct upload_outcome){UPLOAD_NO_MEDIA_TYPE, .text = "this port speaks OTLP/gRPC (application/grpc); "
                                                                  "OTLP/HTTP has a port of its own, by default 4318"};
    else if (!bytes_equal_text(head->method, "POST"))
        *out = (struct upload_outcome){UPLOAD_NO_METHOD, .text = "profiles are sent with POST"};
    else if (options->speech == OTLP_SPEAKS_TEXT)
        *out = (struct upload_outcome){UPLOAD_NO_MEDIA_TYPE,
                                       .text = "unsupported media type, supported: application/x-protobuf, "
                                               "application/json"};
    else if (!upload_encoding_of(x, "content-encoding", &options->upload.compression))
        *out = (struct upload_outcome){UPLOAD_NO_ENCODING,
                                       .text = "unsupported content-encoding, supported: " UPLOAD_ENCODINGS};
    else if (!otlp_version_ok(x, &options->says_current, &out->text))
        out->fate = UPLOAD_INVALID;
    return out->fate == UPLOAD_TAKEN;
}

void otlp_http_head(struct otlp_listener *l, struct http_exchange *x, const struct http_head *head)
{
    const struct otlp_settings *s = l->receiver->settings;
    enum otlp_speech speech = speech_of(x);
    struct upload_outcome outcome;
    struct otlp_request_options options = {
        .speech = speech,
        .upload = {.transport = OTLP_HTTP,
                   .max_bytes = (size_t)s->max_body_bytes,
                   .limit_name = "max_request_body_size"},
    };
    bool known = bytes_equal_text(head->path, s->path);
    if (l->serves[OTLP_HTTP] && !known)
        answer_no_path(l, x, speech, head->path);
    else if (l->serves[OTLP_HTTP] && s->cors.allowed_origins.count > 0 && bytes_equal_text(head->method, "OPTIONS"))
        otlp_answer_preflight(l, x);
    else if (!check_head(l, x, head, &options, &outcome))
        otlp_answer(l, x, speech, &outcome);
    else
        otlp_request_begin(l, x, &options);
}
