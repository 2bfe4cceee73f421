// SPDX-License-Identifier: Apache-2.0
// What Pyroscope's clients hear: an empty 200, or {"code","message"} as the server says it.
#include "base/buf.h"
#include "base/json_string.h"
#include "codec/otlp_status.h"
#include "receivers/pyroscope.h"

#include <inttypes.h>
#include <stdio.h>

enum { ANSWER_MAX_BYTES = 16 << 10, MOST_HEADERS = 5 };

static const struct {
    int http;
    enum grpc_status code; // Connect's are the same
    const char *text;      // where nobody says more
} fates[UPLOAD_FATES] = {
    [UPLOAD_TAKEN] = {200, GRPC_OK, NULL},
    [UPLOAD_INVALID] = {422, GRPC_INVALID_ARGUMENT, "the profile cannot be read"},
    [UPLOAD_UNREADABLE] = {415, GRPC_INVALID_ARGUMENT, "this format is not read"},
    [UPLOAD_TOO_LARGE] = {413, GRPC_RESOURCE_EXHAUSTED, "the request is too large"},
    [UPLOAD_BUSY] = {503, GRPC_UNAVAILABLE, "there is too much to do now"},
    [UPLOAD_OVER_LIMIT] = {429, GRPC_RESOURCE_EXHAUSTED, "more is sent than is taken"},
    [UPLOAD_REFUSED] = {422, GRPC_INVALID_ARGUMENT, "the profiles were refused"},
    [UPLOAD_TOO_SLOW] = {408, GRPC_DEADLINE_EXCEEDED, "the request body came too slowly"},
    [UPLOAD_UNAUTHENTICATED] = {401, GRPC_UNAUTHENTICATED, "the credentials are missing or not known"},
    [UPLOAD_LATE] = {504, GRPC_DEADLINE_EXCEEDED, "the request's own timeout has passed"},
    [UPLOAD_NO_NAME] = {400, GRPC_INVALID_ARGUMENT, "name: the query has no name of an application"},
    [UPLOAD_NO_MEDIA_TYPE] = {415, GRPC_INVALID_ARGUMENT, "this media type is not taken"},
    [UPLOAD_NO_ENCODING] = {415, GRPC_UNIMPLEMENTED, "this encoding is not taken; taken are " UPLOAD_ENCODINGS},
    [UPLOAD_NO_METHOD] = {405, GRPC_UNIMPLEMENTED, "this method is not taken here"},
    [UPLOAD_NO_SUCH_PATH] = {404, GRPC_UNIMPLEMENTED, "there is nothing here"},
};

static int64_t retry_delay(struct pyroscope_receiver *r, const struct upload_outcome *o)
{
    return upload_comes_again(o) ? upload_retry_delay(o, random_unit(&r->random)) : 0;
}

static const char *text_of(const struct upload_outcome *o)
{
    return o->text != NULL ? o->text : fates[o->fate].text;
}

static void write_error(const struct upload_outcome *o, struct buf *body)
{
    buf_add_format(body, "{\"code\":\"%s\",\"message\":", connect_code_name(fates[o->fate].code));
    json_put_string(body, bytes_from_text(text_of(o)));
    buf_add_text(body, "}\n");
}

void pyroscope_answer(struct pyroscope_receiver *r, struct http_exchange *x, const struct upload_outcome *o)
{
    struct http_header headers[MOST_HEADERS];
    size_t count = 0;
    char retry_after[24];
    struct buf body;
    buf_init(&body, ANSWER_MAX_BYTES);
    if (o->fate != UPLOAD_TAKEN) {
        headers[count++] = (struct http_header){"content-type", "application/json"};
        headers[count++] = (struct http_header){"x-content-type-options", "nosniff"};
        write_error(o, &body);
    }
    if (upload_comes_again(o)) {
        const int64_t seconds = retry_delay(r, o) / NANOS_PER_SECOND;
        snprintf(retry_after, sizeof retry_after, "%" PRId64, seconds);
        headers[count++] = (struct http_header){"retry-after", retry_after};
    }
    if (o->challenge != NULL)
        headers[count++] = (struct http_header){"www-authenticate", o->challenge};
    if (o->fate == UPLOAD_NO_ENCODING)
        headers[count++] = (struct http_header){"accept-encoding", UPLOAD_ENCODINGS};
    http_exchange_answer(
        x,
        &(struct http_answer){.status = fates[o->fate].http, .headers = headers, .header_count = count, .body = &body});
    buf_fini(&body);
}

// Series are independent, but the answer is one: the client hears what was not taken, in words that none of them
// understands as "send it again".
static bool is_partial(const struct upload_outcome *o)
{
    return o->fate == UPLOAD_TAKEN && o->rejected > 0;
}

// RetryInfo, which clients of gRPC read.
static void write_details(const struct upload_outcome *o, int64_t retry_after_nanos, struct buf *out)
{
    const struct otlp_status status = {
        .code = (int32_t)fates[o->fate].code,
        .message = bytes_from_text(text_of(o)),
        .retry_delay_nanos = retry_after_nanos,
    };
    if (retry_after_nanos > 0)
        otlp_status_encode(&status, out);
}

void pyroscope_answer_push(struct pyroscope_receiver *r, struct http_exchange *x, const struct connect_call *call,
                           const struct upload_outcome *o)
{
    char partial[512];
    struct buf details;
    const int64_t retry_after = retry_delay(r, o);
    buf_init(&details, ANSWER_MAX_BYTES);
    write_details(o, retry_after, &details);
    struct connect_answer a = {
        .status = fates[o->fate].code,
        .text = o->fate == UPLOAD_TAKEN ? NULL : text_of(o),
        .retry_after_nanos = retry_after,
        .details = buf_ok(&details) ? buf_bytes(&details) : (struct bytes){NULL, 0},
        .challenge = o->challenge,
        .accept_encoding = o->fate == UPLOAD_NO_ENCODING ? UPLOAD_ENCODINGS : NULL,
    };
    if (o->fate == UPLOAD_TOO_LARGE || o->fate == UPLOAD_NO_ENCODING)
        a.http_status = fates[o->fate].http;
    if (is_partial(o)) {
        snprintf(partial, sizeof partial, "%" PRIu64 " of the profiles are not taken, the others are: %s", o->rejected,
                 o->text != NULL ? o->text : "");
        a.status = GRPC_INVALID_ARGUMENT;
        a.text = partial;
    }
    connect_answer(x, call, &a);
    buf_fini(&details);
}
