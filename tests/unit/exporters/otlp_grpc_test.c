// SPDX-License-Identifier: Apache-2.0
// The exporter against an HTTP/2 peer on loopback that answers what a script says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/mem.h"
#include "codec/compress.h"
#include "codec/otlp.h"
#include "codec/otlp_status.h"
#include "exporters/exporters.h"
#include "net/grpc_message.h"
#include "tests/support/batch_text.h"
#include "tests/support/fake_env.h"
#include "tests/support/http2_peer.h"
#include "tests/support/random_batch.h"
#include "tests/support/test_certs.h"
#include "tests/support/test_folder.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RAW = 1 << 24 };

struct world {
    struct fake_env env;
    struct http2_peer *peer;
    struct fake_component out;
    struct batch *batch;
};

// format gets the port: the component's YAML.
static void world_init(struct world *w, const struct http2_peer_options *peer, const struct http2_step *step,
                       const char *format)
{
    char yaml[1024], port[16], *at = strstr(format, "PORT");
    struct random_batch_options options = random_batch_defaults;
    options.max_resources = 1; // others are cut by a 400
    *w = (struct world){.batch = random_batch(7, &options)};
    fake_env_init(&w->env, 1);
    w->peer = http2_peer_create(&w->env.loop.uv, peer);
    http2_peer_script(w->peer, step, 1);
    snprintf(port, sizeof port, "%d", http2_peer_port(w->peer));
    assert_non_null(at);
    snprintf(yaml, sizeof yaml, "%.*s%s%s", (int)(at - format), format, port, at + 4);
    fake_component_init(&w->out, &w->env, KIND_EXPORTER, &otlp_grpc_exporter.module, yaml);
    struct err e = {0};
    assert_int_equal(fake_component_start(&w->out, &e), ERR_OK);
}

static void world_fini(struct world *w)
{
    fake_component_fini(&w->out);
    http2_peer_destroy(&w->peer);
    batch_unref(&w->batch);
    assert_int_equal(w->env.budget.used, 0);
    fake_env_fini(&w->env);
}

#define CLEAR "{endpoint: \"http://127.0.0.1:PORT\"}"

static const struct http_header grpc_headers[] = {{"content-type", "application/grpc"}};
static const struct http_header ok_trailers[] = {{"grpc-status", "0"}};
#define ANSWER(text, text_len, all_trailers, count)                                                                    \
    {.act = HTTP2_ANSWER,                                                                                              \
     .headers = grpc_headers,                                                                                          \
     .header_count = 1,                                                                                                \
     .body = (text),                                                                                                   \
     .body_len = (text_len),                                                                                           \
     .trailers = (all_trailers),                                                                                       \
     .trailer_count = (count)}

static const struct http2_step taken = ANSWER("\0\0\0\0\0", 5, ok_trailers, 1);

static struct verdict verdict_of_step(const struct http2_step *step, const char *yaml)
{
    struct world w;
    world_init(&w, NULL, step, yaml);
    struct verdict v = fake_export(&w.out, w.batch);
    world_fini(&w);
    return v;
}

static struct verdict verdict_of_status(int status, const char *message, const char *details)
{
    char number[16];
    snprintf(number, sizeof number, "%d", status);
    const struct http_header trailers[] = {
        {"grpc-status", number}, {"grpc-message", message}, {"grpc-status-details-bin", details}};
    const struct http2_step step = ANSWER(NULL, 0, trailers, details != NULL ? 3 : 2);
    return verdict_of_step(&step, CLEAR);
}

static void says(const struct verdict *v, const char *text)
{
    if (strstr(v->text, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, v->text);
}

// --- the request ---

static void sent(const struct world *w, const char *line)
{
    const char *head = http2_peer_seen(w->peer, 0)->head;
    if (strstr(head, line) == NULL)
        fail_msg("no \"%s\" in \"%s\"", line, head);
}

static void the_head_of_a_request(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, NULL, &taken,
               "{endpoint: \"127.0.0.1:PORT\", tls: {insecure: true}, headers: {X-Scope-OrgID: tenant}, "
               "user_agent: me/1, authority: other.example, balancer_name: pick_first}");
    assert_int_equal(fake_export(&w.out, w.batch).kind, VERDICT_OK);
    sent(&w, ":method: POST\n:scheme: http\n:authority: other.example\n"
             ":path: /opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export\n");
    sent(&w, "\ncontent-type: application/grpc\n");
    sent(&w, "\ngrpc-timeout: 5000000u\n");
    sent(&w, "\ngrpc-encoding: gzip\n");
    sent(&w, "\notlp-profiles-development-version: 1\n");
    sent(&w, "\nx-scope-orgid: tenant\n");
    sent(&w, "\nuser-agent: me/1\n");
    world_fini(&w);
}

static void assert_same_batch(const struct batch *a, const struct batch *b)
{
    struct buf one, two;
    buf_init(&one, MAX_RAW);
    buf_init(&two, MAX_RAW);
    batch_text(a, &one);
    batch_text(b, &two);
    assert_true(one.len > 100 && bytes_equal(buf_bytes(&one), buf_bytes(&two)));
    buf_fini(&one);
    buf_fini(&two);
}

static void check_body(const char *yaml, enum compression compression)
{
    struct world w;
    struct buf raw;
    struct batch *arrived;
    struct grpc_message message;
    struct err e;
    world_init(&w, NULL, &taken, yaml);
    assert_int_equal(fake_export(&w.out, w.batch).kind, VERDICT_OK);
    const struct http2_seen *seen = http2_peer_seen(w.peer, 0);
    assert_int_equal(grpc_message_parse(buf_bytes(&seen->body), MAX_RAW, &message, &e), ERR_OK);
    assert_int_equal(message.compressed, compression != COMPRESSION_NONE);
    assert_int_equal(strstr(seen->head, "grpc-encoding: ") != NULL, message.compressed);
    buf_init(&raw, MAX_RAW);
    assert_int_equal(decompress(compression, message.payload, MAX_RAW, "test", &raw, &e), ERR_OK);
    assert_int_equal(otlp_decode(buf_bytes(&raw), &otlp_default_limits, &arrived, &e), ERR_OK);
    assert_same_batch(w.batch, arrived);
    batch_unref(&arrived);
    buf_fini(&raw);
    world_fini(&w);
}

static void bodies_arrive_as_they_were(void **state)
{
    (void)state;
    check_body(CLEAR, COMPRESSION_GZIP);
    check_body("{endpoint: \"dns:///127.0.0.1:PORT\", tls: {insecure: true}, compression: zstd}", COMPRESSION_ZSTD);
    check_body("{endpoint: \"http://127.0.0.1:PORT/\", compression: none}", COMPRESSION_NONE);
}

static int choose_h2(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
                     unsigned in_len, void *arg)
{
    static const unsigned char h2[] = "\2h2";
    (void)ssl;
    (void)arg;
    return SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_len, h2, 3, in, in_len) == OPENSSL_NPN_NEGOTIATED
               ? SSL_TLSEXT_ERR_OK
               : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void tls_is_on_by_default(void **state)
{
    (void)state;
    struct test_ca ca;
    struct world w;
    struct test_folder folder;
    char path[256], yaml[512];
    test_ca_init(&ca);
    test_folder_init(&folder);
    test_folder_write(&folder, "ca.pem", bytes_from_text(ca.pem));
    SSL_CTX *context = test_server_context(&ca, "DNS:collector.example", 1);
    SSL_CTX_set_alpn_select_cb(context, choose_h2, NULL);
    snprintf(yaml, sizeof yaml,
             "{endpoint: \"127.0.0.1:PORT\", tls: {ca_file: %s, server_name_override: collector.example}}",
             test_folder_path(&folder, "ca.pem", path));
    world_init(&w, &(struct http2_peer_options){.tls = context}, &taken, yaml);
    assert_int_equal(fake_export(&w.out, w.batch).kind, VERDICT_OK);
    sent(&w, ":scheme: https\n");
    world_fini(&w);
    world_init(&w, &(struct http2_peer_options){.tls = context}, &taken, "{endpoint: \"https://127.0.0.1:PORT\"}");
    struct verdict v = fake_export(&w.out, w.batch);
    assert_int_equal(v.kind, VERDICT_RETRY);
    says(&v, "certificate verify failed");
    world_fini(&w);
    test_folder_fini(&folder);
    SSL_CTX_free(context);
    test_ca_fini(&ca);
}

static void the_peer_may_want_a_certificate(void **state)
{
    (void)state;
    struct test_ca ca;
    struct world w;
    struct test_folder folder;
    char cert[256], key[256], yaml[1024];
    test_ca_init(&ca);
    test_folder_init(&folder);
    SSL_CTX *context = test_server_context(&ca, "IP:127.0.0.1", 1);
    SSL_CTX_set_alpn_select_cb(context, choose_h2, NULL);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    assert_int_equal(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca.cert), 1);
    test_write_certificate(&ca, test_folder_path(&folder, "cert.pem", cert), test_folder_path(&folder, "key.pem", key));
    snprintf(yaml, sizeof yaml,
             "{endpoint: \"127.0.0.1:PORT\", tls: {insecure_skip_verify: true, cert_file: %s, key_file: %s}}", cert,
             key);
    world_init(&w, &(struct http2_peer_options){.tls = context}, &taken, yaml);
    assert_int_equal(fake_export(&w.out, w.batch).kind, VERDICT_OK);
    world_fini(&w);
    world_init(&w, &(struct http2_peer_options){.tls = context}, &taken,
               "{endpoint: \"127.0.0.1:PORT\", tls: {insecure_skip_verify: true}}");
    assert_int_equal(fake_export(&w.out, w.batch).kind, VERDICT_RETRY);
    world_fini(&w);
    SSL_CTX_free(context);
    test_folder_fini(&folder);
    test_ca_fini(&ca);
}

// --- the answer ---

static void every_status(void **state)
{
    (void)state;
    static const enum verdict_kind kinds[] = {
        [GRPC_CANCELLED] = VERDICT_RETRY,
        [GRPC_UNKNOWN] = VERDICT_REFUSED,
        [GRPC_INVALID_ARGUMENT] = VERDICT_REFUSED,
        [GRPC_DEADLINE_EXCEEDED] = VERDICT_RETRY,
        [GRPC_NOT_FOUND] = VERDICT_REFUSED,
        [GRPC_ALREADY_EXISTS] = VERDICT_REFUSED,
        [GRPC_PERMISSION_DENIED] = VERDICT_REFUSED,
        [GRPC_RESOURCE_EXHAUSTED] = VERDICT_REFUSED,
        [GRPC_FAILED_PRECONDITION] = VERDICT_REFUSED,
        [GRPC_ABORTED] = VERDICT_RETRY,
        [GRPC_OUT_OF_RANGE] = VERDICT_RETRY,
        [GRPC_UNIMPLEMENTED] = VERDICT_REFUSED,
        [GRPC_INTERNAL] = VERDICT_REFUSED,
        [GRPC_UNAVAILABLE] = VERDICT_RETRY,
        [GRPC_DATA_LOSS] = VERDICT_RETRY,
        [GRPC_UNAUTHENTICATED] = VERDICT_REFUSED,
    };
    for (int i = GRPC_CANCELLED; i <= GRPC_UNAUTHENTICATED; i++) {
        struct verdict v = verdict_of_status(i, "so%20it\x25 1B[ is", NULL);
        if (v.kind != kinds[i])
            fail_msg("%d is verdict %d: %s", i, (int)v.kind, v.text);
        says(&v, "http://127.0.0.1:");
        says(&v, " answers ");
        says(&v, grpc_status_name((enum grpc_status)i));
        assert_int_equal(v.retry_after_nanos, 0);
    }
    struct verdict v = verdict_of_status(12, "unknown service", NULL);
    says(&v, "UNIMPLEMENTED: unknown service (it speaks no gRPC profiles service");
    assert_int_equal(verdict_of_status(77, "", NULL).kind, VERDICT_REFUSED);
}

static void words_that_would_harm(void **state)
{
    (void)state;
    struct verdict v = verdict_of_status(3, "a%1B%5B31m%0Ab", NULL);
    says(&v, "INVALID_ARGUMENT: a [31m b");
}

static struct verdict verdict_with_delay(int status, int64_t delay_nanos)
{
    struct buf raw, text;
    buf_init(&raw, 1024);
    buf_init(&text, 1024);
    const struct otlp_status status_later = {
        .code = status, .message = BYTES_LITERAL("later"), .retry_delay_nanos = delay_nanos};
    otlp_status_encode(&status_later, &raw);
    base64_encode(buf_bytes(&raw), &text);
    buf_add_byte(&text, '\0');
    assert_true(buf_ok(&raw) && buf_ok(&text));
    struct verdict v = verdict_of_status(status, "later", (const char *)text.data);
    buf_fini(&raw);
    buf_fini(&text);
    return v;
}

static void delays_of_the_peer(void **state)
{
    (void)state;
    static const struct {
        int status;
        enum verdict_kind kind;
        int64_t delay, expected;
    } cases[] = {
        {GRPC_UNAVAILABLE, VERDICT_RETRY, 1500 * NANOS_PER_MS, 1500 * NANOS_PER_MS},
        {GRPC_RESOURCE_EXHAUSTED, VERDICT_RETRY, 7 * NANOS_PER_SECOND, 7 * NANOS_PER_SECOND},
        {GRPC_RESOURCE_EXHAUSTED, VERDICT_REFUSED, 0, 0},
        {GRPC_UNAVAILABLE, VERDICT_RETRY, 900000 * NANOS_PER_SECOND, 86400 * NANOS_PER_SECOND},
        {GRPC_INVALID_ARGUMENT, VERDICT_REFUSED, NANOS_PER_SECOND, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct verdict v = verdict_with_delay(cases[i].status, cases[i].delay);
        if (v.kind != cases[i].kind || v.retry_after_nanos != cases[i].expected)
            fail_msg("case %zu: verdict %d after %lld: %s", i, (int)v.kind, (long long)v.retry_after_nanos, v.text);
    }
    assert_int_equal(verdict_of_status(GRPC_RESOURCE_EXHAUSTED, "", "%%%").kind, VERDICT_REFUSED);
}

static void partial_success(void **state)
{
    (void)state;
    static const char body[] = "\0\0\0\0\x0b\x0a\x09\x08\x03\x12\x05too\nx";
    const struct http2_step partial = ANSWER(body, sizeof body - 1, ok_trailers, 1);
    struct verdict v = verdict_of_step(&partial, CLEAR);
    assert_int_equal(v.kind, VERDICT_PARTIAL);
    assert_int_equal(v.rejected_profiles, 3);
    assert_string_equal(v.text, "too x");
}

// As grpc-go answers, not asked to.
static struct verdict verdict_of_gzip(const char *coding, size_t cut)
{
    struct buf body;
    struct err e;
    uint8_t prefix[GRPC_PREFIX_BYTES] = {0};
    struct compressor *c = compressor_create(COMPRESSION_GZIP, 0);
    buf_init(&body, 1024);
    buf_add(&body, prefix, sizeof prefix);
    assert_int_equal(compressor_run(c, BYTES_LITERAL("\x0a\x09\x08\x03\x12\x05too x"), &body, &e), ERR_OK);
    compressor_destroy(&c);
    body.len -= cut;
    grpc_prefix_write(true, (uint32_t)(body.len - GRPC_PREFIX_BYTES), body.data);
    const struct http_header headers[] = {{"content-type", "application/grpc"}, {"grpc-encoding", coding}};
    struct http2_step step = ANSWER((const char *)body.data, body.len, ok_trailers, 1);
    step.headers = headers;
    step.header_count = 2;
    struct verdict v = verdict_of_step(&step, CLEAR);
    buf_fini(&body);
    return v;
}

static void compressed_answers(void **state)
{
    (void)state;
    struct verdict v = verdict_of_gzip("gzip", 0);
    assert_int_equal(v.kind, VERDICT_PARTIAL);
    assert_int_equal(v.rejected_profiles, 3);
    assert_int_equal(verdict_of_gzip("gzip", 3).kind, VERDICT_OK);
    assert_int_equal(verdict_of_gzip("br", 0).kind, VERDICT_OK);
    assert_int_equal(verdict_of_gzip("identity", 0).kind, VERDICT_OK);
    const struct http2_step cut = ANSWER("\0\0\0\0\3x", 6, ok_trailers, 1);
    assert_int_equal(verdict_of_step(&cut, CLEAR).kind, VERDICT_OK);
    const struct http2_step nothing = ANSWER(NULL, 0, ok_trailers, 1);
    assert_int_equal(verdict_of_step(&nothing, CLEAR).kind, VERDICT_OK);
}

// The first request meets this, what is made of it is taken. Are there parts?
static bool parts_after(int status, const char *message)
{
    char number[16];
    snprintf(number, sizeof number, "%d", status);
    const struct http_header trailers[] = {{"grpc-status", number}, {"grpc-message", message}};
    const struct http2_step steps[] = {ANSWER(NULL, 0, trailers, 2), taken};
    struct world w;
    world_init(&w, NULL, steps, CLEAR);
    http2_peer_script(w.peer, steps, COUNT_OF(steps));
    struct verdict v = fake_export(&w.out, w.batch);
    bool split = http2_peer_requests(w.peer) > 2;
    assert_int_equal(v.kind, split ? VERDICT_OK : status == GRPC_OUT_OF_RANGE ? VERDICT_RETRY : VERDICT_REFUSED);
    assert_int_equal(strstr(fake_env_log(&w.env), "set max_request_bytes") != NULL, split);
    world_fini(&w);
    return split;
}

// What it finds wrong in one of several resources costs no other.
static void a_faulty_request_is_cut(void **state)
{
    (void)state;
    const struct http_header trailers[] = {{"grpc-status", "3"}, {"grpc-message", "no period"}};
    const struct http2_step steps[] = {ANSWER(NULL, 0, trailers, 2), taken};
    struct world w;
    world_init(&w, NULL, steps, CLEAR);
    batch_unref(&w.batch);
    w.batch = random_batch(7, NULL);
    assert_true(w.batch->resource_count > 1);
    http2_peer_script(w.peer, steps, COUNT_OF(steps));
    assert_int_equal(fake_export(&w.out, w.batch).kind, VERDICT_OK);
    assert_int_equal(http2_peer_requests(w.peer), 3);
    world_fini(&w);
}

static void requests_too_large_for_the_peer(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *message;
        bool split;
    } cases[] = {
        {GRPC_RESOURCE_EXHAUSTED, "grpc: received message larger than max (5000000 vs. 4194304)", true},
        {GRPC_RESOURCE_EXHAUSTED, "grpc: received message after decompression larger than max 4194304", true},
        {GRPC_RESOURCE_EXHAUSTED, "gRPC message exceeds maximum size 4194304: 5000000", true},
        {GRPC_RESOURCE_EXHAUSTED, "Received message exceeds the maximum configured message size.", true},
        {GRPC_OUT_OF_RANGE, "Error, decoded message length too large: found 5 bytes, the limit is: 4 bytes", true},
        {GRPC_RESOURCE_EXHAUSTED, "too many requests", false}, // small: it may be a quota
        {GRPC_OUT_OF_RANGE, "no such thing", false},
        {GRPC_INVALID_ARGUMENT, "larger than max", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (parts_after(cases[i].status, cases[i].message) != cases[i].split)
            fail_msg("%s", cases[i].message);
}

static void what_is_no_grpc(void **state)
{
    (void)state;
    struct http2_step step = {.act = HTTP2_ANSWER, .status = 503, .body = "<html>"};
    struct verdict v = verdict_of_step(&step, CLEAR);
    assert_int_equal(v.kind, VERDICT_RETRY);
    says(&v, "UNAVAILABLE: no gRPC answer, but HTTP status 503");
    step.status = 404;
    v = verdict_of_step(&step, CLEAR);
    assert_int_equal(v.kind, VERDICT_REFUSED);
    says(&v, "is this the port of gRPC?");
    step.status = 200;
    assert_int_equal(verdict_of_step(&step, CLEAR).kind, VERDICT_REFUSED);
}

static void answers_that_do_not_come(void **state)
{
    (void)state;
    static const struct {
        struct http2_step step;
        enum verdict_kind kind;
        const char *text;
    } cases[] = {
        {{.act = HTTP2_CUT}, VERDICT_RETRY, "gives no answer: "},
        {{.act = HTTP2_RESET, .code = NGHTTP2_INTERNAL_ERROR}, VERDICT_RETRY, "gives no answer: "},
        {{.act = HTTP2_RESET, .code = NGHTTP2_ENHANCE_YOUR_CALM}, VERDICT_RETRY, "gives no answer: "},
        {{.act = HTTP2_SAY_NOTHING}, VERDICT_RETRY, "gives no answer: "},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct verdict v = verdict_of_step(&cases[i].step, "{endpoint: \"http://127.0.0.1:PORT\", timeout: 50ms}");
        assert_int_equal(v.kind, cases[i].kind);
        says(&v, cases[i].text);
    }
}

// The exporter is not told what the other side speaks: it must say so.
static void a_peer_without_tls(void **state)
{
    (void)state;
    struct verdict v = verdict_of_step(&taken, "{endpoint: \"127.0.0.1:PORT\"}");
    assert_int_equal(v.kind, VERDICT_RETRY);
    says(&v, "TLS is the default here; for clear text set tls.insecure: true");
}

static bool request_arrived(void *arg)
{
    return http2_peer_requests(((struct world *)arg)->peer) > 0;
}

static void cancel_ends_what_hangs(void **state)
{
    (void)state;
    struct world w;
    struct fake_delivery d = {0};
    static const struct http2_step nothing = {.act = HTTP2_SAY_NOTHING};
    world_init(&w, NULL, &nothing, "{endpoint: \"http://127.0.0.1:PORT\", timeout: 24h}");
    fake_export_begin(&w.out, w.batch, &d);
    fake_env_run_until(&w.env, request_arrived, &w);
    otlp_grpc_exporter.cancel((struct exporter *)w.out.instance.component);
    fake_export_wait(&w.out, &d);
    assert_int_equal(d.verdict.kind, VERDICT_RETRY);
    world_fini(&w);
}

// --- settings ---

static void check_messages(const char *yaml, const char *expected)
{
    struct fake_env env;
    void *settings;
    fake_env_init(&env, 1);
    char *messages = fake_settings(&env, KIND_EXPORTER, &otlp_grpc_exporter.module, yaml, &settings);
    fake_env_fini(&env);
    bool same = strcmp(messages, expected) == 0;
    if (!same)
        print_error("%s", messages);
    free(messages);
    assert_true(same);
}

#define ID "exporters.otlp_grpc: "

static void settings_that_are_good(void **state)
{
    (void)state;
    static const char *const endpoints[] = {"h:4317",         "[::1]:4317",    "http://h:4317", "https://h",
                                            "HTTPS://h:443/", "dns:///h:4317", "unix:/run/s",   "unix:///run/s"};
    for (size_t i = 0; i < COUNT_OF(endpoints); i++) {
        char yaml[256];
        snprintf(yaml, sizeof yaml, "{endpoint: \"%s\", keepalive: {time: 30s, timeout: 5s}, wait_for_ready: true}",
                 endpoints[i]);
        check_messages(yaml, "");
    }
    check_messages("{endpoint: \"h:1\", read_buffer_size: 1}",
                   "test:1:19: warning: " ID "these keys have no meaning here and are ignored: read_buffer_size\n");
}

static void settings_that_are_wrong(void **state)
{
    (void)state;
    check_messages("{}", "test:1:1: " ID "requires a non-empty \"endpoint\": HOST:PORT of a gRPC server\n");
    check_messages("endpoint: http://h:4317/v1development/profiles\n",
                   "test:1:1: " ID
                   "endpoint: a gRPC endpoint has no path: leave it out, or use the exporter otlp_http\n");
    check_messages("endpoint: http://u:s3cr3t@h/\n",
                   "test:1:1: " ID "endpoint: a URL must not carry a user name or password: use headers or an "
                   "authenticator\n");
    check_messages("endpoint: \"unix:\"\n", "test:1:1: " ID "endpoint: unix: needs the path of a socket\n");
    check_messages("endpoint: \"grpc://h:1\"\n",
                   "test:1:1: " ID "endpoint: write HOST:PORT, dns:///HOST:PORT, http://, https:// or unix:PATH\n");
    check_messages("endpoint: \":4317\"\n", "test:1:1: " ID "endpoint: the host is missing\n");
    check_messages("endpoint: h:0\n",
                   "test:1:1: " ID "endpoint: expected HOST:PORT of the server, e.g. collector:4317\n");
    check_messages("endpoint: h:1\nheaders: {Content-Type: x, te: y}\n",
                   "test:2:1: " ID "headers: Content-Type belongs to gRPC: leave it out\n"
                   "test:2:1: " ID "headers: TE belongs to gRPC: leave it out\n");
    check_messages("endpoint: h:1\nbalancer_name: x\n",
                   "test:2:16: " ID "balancer_name: expected one of \"pick_first\", \"round_robin\", found \"x\"\n");
}

int main(void)
{
    static const char *const proxies[] = {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"};
    for (size_t i = 0; i < COUNT_OF(proxies); i++)
        unsetenv(proxies[i]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_of_a_request),
        cmocka_unit_test(bodies_arrive_as_they_were),
        cmocka_unit_test(tls_is_on_by_default),
        cmocka_unit_test(the_peer_may_want_a_certificate),
        cmocka_unit_test(every_status),
        cmocka_unit_test(words_that_would_harm),
        cmocka_unit_test(delays_of_the_peer),
        cmocka_unit_test(partial_success),
        cmocka_unit_test(compressed_answers),
        cmocka_unit_test(a_faulty_request_is_cut),
        cmocka_unit_test(requests_too_large_for_the_peer),
        cmocka_unit_test(what_is_no_grpc),
        cmocka_unit_test(answers_that_do_not_come),
        cmocka_unit_test(a_peer_without_tls),
        cmocka_unit_test(cancel_ends_what_hangs),
        cmocka_unit_test(settings_that_are_good),
        cmocka_unit_test(settings_that_are_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
