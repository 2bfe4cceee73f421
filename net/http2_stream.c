// SPDX-License-Identifier: Apache-2.0
#include "net/http2_client.h"

#include "base/mem.h"

void http2_stream_init(struct http2_stream *s, size_t max_body_bytes)
{
    *s = (struct http2_stream){.reset_code = HTTP2_NO_RESET};
    http1_headers_init(&s->headers);
    http1_headers_init(&s->trailers);
    buf_init(&s->body, max_body_bytes);
}

void http2_stream_fini(struct http2_stream *s)
{
    http1_headers_fini(&s->headers);
    http1_headers_fini(&s->trailers);
    buf_fini(&s->body);
    free(s->list);
    free(s->trailer_list);
    s->list = s->trailer_list = NULL;
}

void http2_stream_view(const struct http2_stream *s, struct http_response *out)
{
    *out = (struct http_response){.outcome = HTTP_ANSWERED,
                                  .status = s->status,
                                  .headers = s->list,
                                  .header_count = s->headers.count,
                                  .trailers = s->trailer_list,
                                  .trailer_count = s->trailers.count,
                                  .body = buf_bytes(&s->body),
                                  .reset_code = HTTP2_NO_RESET};
}
