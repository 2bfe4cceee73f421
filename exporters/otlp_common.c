// SPDX-License-Identifier: Apache-2.0
#include "exporters/otlp_common.h"

#include "codec/otlp.h"
#include "exporters/http_auth.h"
#include "exporters/otlp_encode.h"
#include "exporters/otlp_layouts.h"
#include "exporters/peer_words.h"

void otlp_settings_check(const struct otlp_settings *s, const char *const *reserved,
                         const struct component_check *check)
{
    otlp_layouts_check(s, check);
    http_exporter_check(&s->http, reserved, check);
}

void otlp_exporter_init(struct otlp_exporter *x, const struct otlp_settings *settings, const struct http_header *own,
                        size_t own_count)
{
    x->settings = settings;
    http_exporter_init(&x->http, &settings->http, &otlp_encoder, own, own_count);
    otlp_layouts_init(x);
}

void otlp_flight_headers(const struct http_flight *f, struct header_set *out)
{
    const struct record *r = send_record(f->send);
    http_exporter_headers(f->exporter, out);
    otlp_layouts_headers((const struct otlp_exporter *)f->exporter, r, out);
    http_auth_add(f->exporter, r, out);
}

void otlp_flight_end(struct http_flight *f, const struct verdict *v)
{
    otlp_layouts_note((struct otlp_exporter *)f->exporter, send_record(f->send), v);
    http_flight_end(f, v);
}

struct verdict otlp_judge_success(const struct otlp_exporter *x, struct bytes body)
{
    int64_t rejected = 0;
    struct bytes message = {NULL, 0};
    char text[PEER_WORDS_MAX + 1];
    // Taken is taken: an answer we cannot read does not undo it.
    if (!otlp_decode_response(body, &rejected, &message))
        return (struct verdict){.kind = VERDICT_OK};
    peer_words_clean(message, false, text);
    if (rejected > 0) {
        struct verdict v = verdict_make(VERDICT_PARTIAL, "%s", text);
        v.rejected_profiles = (uint64_t)rejected;
        return v;
    }
    if (text[0] != '\0')
        log_warn(&x->http.exporter.component.log, "the peer took a request with a warning: %s", text);
    return (struct verdict){.kind = VERDICT_OK};
}
