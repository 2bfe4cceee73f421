// SPDX-License-Identifier: Apache-2.0
// What exporters that send requests over HTTP share, whatever is in them: settings, headers, client, attempts on their way.
#ifndef EXPORTERS_HTTP_EXPORTER_H
#define EXPORTERS_HTTP_EXPORTER_H

#include "exporters/exporter.h"
#include "exporters/worker_compressors.h"
#include "net/header_set.h"

// The first member of an exporter's settings.
struct http_exporter_settings {
    int compression; // enum compression
    int64_t compression_level;
    int64_t timeout_nanos;
    uint64_t max_bytes; // of a request, before compression
    struct config_pairs headers;
    const char *authenticator;     // id of an extension; NULL = none
    struct tls_client_options tls; // but for the lists
    struct config_strings cipher_suites, curves;
    // Of HTTP/1.1.
    const char *proxy_url;
    int64_t idle_timeout_nanos;
};

extern const char *const http_exporter_compression_names[]; // of enum compression, and "", a Collector's none
enum compression http_exporter_compression(const struct http_exporter_settings *s);
extern const struct field http_exporter_params_fields[], http_exporter_auth_fields[];

#define HTTP_EXPORTER_SETTING(member) offsetof(struct http_exporter_settings, member)

#define HTTP_EXPORTER_TLS_FIELDS                                                                                       \
    {.name = "ca_file",                                                                                                \
     .type = FIELD_STRING,                                                                                             \
     .offset = HTTP_EXPORTER_SETTING(tls.ca_file),                                                                     \
     .help = "certificates to trust; default: the system's"},                                                          \
        {.name = "ca_pem",                                                                                             \
         .type = FIELD_STRING,                                                                                         \
         .offset = HTTP_EXPORTER_SETTING(tls.ca_pem),                                                                  \
         .help = "the same, in place"},                                                                                \
        {.name = "include_system_ca_certs_pool",                                                                       \
         .type = FIELD_BOOL,                                                                                           \
         .offset = HTTP_EXPORTER_SETTING(tls.include_system_ca),                                                       \
         .default_text = "false",                                                                                      \
         .help = "trust the system's, too"},                                                                           \
        {.name = "cert_file",                                                                                          \
         .type = FIELD_STRING,                                                                                         \
         .offset = HTTP_EXPORTER_SETTING(tls.cert_file),                                                               \
         .help = "client certificate; read again when it changes"},                                                    \
        {.name = "cert_pem",                                                                                           \
         .type = FIELD_STRING,                                                                                         \
         .offset = HTTP_EXPORTER_SETTING(tls.cert_pem),                                                                \
         .help = "the same, in place"},                                                                                \
        {.name = "key_file",                                                                                           \
         .type = FIELD_STRING,                                                                                         \
         .offset = HTTP_EXPORTER_SETTING(tls.key_file),                                                                \
         .help = "its private key"},                                                                                   \
        {.name = "key_pem",                                                                                            \
         .type = FIELD_SECRET,                                                                                         \
         .offset = HTTP_EXPORTER_SETTING(tls.key_pem),                                                                 \
         .help = "the same, in place"},                                                                                \
        {.name = "server_name_override",                                                                               \
         .type = FIELD_STRING,                                                                                         \
         .offset = HTTP_EXPORTER_SETTING(tls.server_name),                                                             \
         .help = "name to ask for and to verify instead of the endpoint's host"},                                      \
        {.name = "insecure_skip_verify",                                                                               \
         .type = FIELD_BOOL,                                                                                           \
         .offset = HTTP_EXPORTER_SETTING(tls.insecure_skip_verify),                                                    \
         .default_text = "false",                                                                                      \
         .help = "do not verify the peer's certificate"},                                                              \
        {.name = "min_version",                                                                                        \
         .type = FIELD_STRING,                                                                                         \
         .offset = HTTP_EXPORTER_SETTING(tls.parameters.min_version),                                                  \
         .default_text = "\"1.2\"",                                                                                    \
         .help = "oldest version of TLS"},                                                                             \
        {.name = "max_version",                                                                                        \
         .type = FIELD_STRING,                                                                                         \
         .offset = HTTP_EXPORTER_SETTING(tls.parameters.max_version),                                                  \
         .help = "newest version of TLS"},                                                                             \
        {.name = "cipher_suites",                                                                                      \
         .type = FIELD_STRING_LIST,                                                                                    \
         .offset = HTTP_EXPORTER_SETTING(cipher_suites),                                                               \
         .help = "names of IANA or OpenSSL; default: OpenSSL's choice"},                                               \
        {.name = "curve_preferences",                                                                                  \
         .type = FIELD_STRING_LIST,                                                                                    \
         .offset = HTTP_EXPORTER_SETTING(curves),                                                                      \
         .help = "X25519, P256, P384, P521, X25519MLKEM768"},                                                          \
        {.name = "reload_interval",                                                                                    \
         .type = FIELD_IGNORED,                                                                                        \
         .help = "files that changed are read before each new connection"}

#define HTTP_EXPORTER_COMPRESSION_FIELDS(compression_text)                                                             \
    {.name = "compression",                                                                                            \
     .type = FIELD_ENUM,                                                                                               \
     .offset = HTTP_EXPORTER_SETTING(compression),                                                                     \
     .default_text = (compression_text),                                                                               \
     .names = http_exporter_compression_names,                                                                         \
     .help = "of the request body"},                                                                                   \
        {.name = "compression_params", .type = FIELD_STRUCT, .fields = http_exporter_params_fields, .help = "tuning"}

#define HTTP_EXPORTER_TIMEOUT_FIELD(timeout_text)                                                                      \
    {.name = "timeout",                                                                                                \
     .type = FIELD_DURATION,                                                                                           \
     .offset = HTTP_EXPORTER_SETTING(timeout_nanos),                                                                   \
     .default_text = (timeout_text),                                                                                   \
     .min = (double)NANOS_PER_MS,                                                                                      \
     .max = 86400e9,                                                                                                   \
     .help = "of one attempt, from connecting to the whole answer"}

#define HTTP_EXPORTER_SIZE_FIELD(key, most, text)                                                                      \
    {.name = (key),                                                                                                    \
     .type = FIELD_SIZE,                                                                                               \
     .offset = HTTP_EXPORTER_SETTING(max_bytes),                                                                       \
     .default_text = (most),                                                                                           \
     .min = 1024,                                                                                                      \
     .max = 2147483648.0,                                                                                              \
     .help = (text)}

#define HTTP_EXPORTER_HEADER_FIELDS                                                                                    \
    {.name = "headers",                                                                                                \
     .type = FIELD_STRING_MAP,                                                                                         \
     .offset = HTTP_EXPORTER_SETTING(headers),                                                                         \
     .help = "sent with every request"},                                                                               \
        {.name = "auth", .type = FIELD_STRUCT, .fields = http_exporter_auth_fields, .help = "credentials of requests"}

// Of HTTP/1.1, with the keys of a Collector's client that mean nothing here.
#define HTTP_EXPORTER_CLIENT_FIELDS                                                                                    \
    {.name = "proxy_url",                                                                                              \
     .type = FIELD_SECRET,                                                                                             \
     .offset = HTTP_EXPORTER_SETTING(proxy_url),                                                                       \
     .help = "default: HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the environment"},                                      \
        {.name = "tls", .type = FIELD_STRUCT, .fields = http_exporter_tls_fields, .help = "for https endpoints"},      \
        {.name = "idle_conn_timeout",                                                                                  \
         .type = FIELD_DURATION,                                                                                       \
         .offset = HTTP_EXPORTER_SETTING(idle_timeout_nanos),                                                          \
         .default_text = "90s",                                                                                        \
         .min = 0,                                                                                                     \
         .max = 86400e9,                                                                                               \
         .help = "connections unused for this long are closed"},                                                       \
        {.name = "read_buffer_size", .type = FIELD_IGNORED, .help = "no meaning here"},                                \
        {.name = "write_buffer_size", .type = FIELD_IGNORED, .help = "no meaning here"},                               \
        {.name = "max_idle_conns", .type = FIELD_IGNORED, .help = "sending_queue.num_consumers bounds connections"},   \
        {.name = "max_idle_conns_per_host",                                                                            \
         .type = FIELD_IGNORED,                                                                                        \
         .help = "sending_queue.num_consumers bounds connections"},                                                    \
        {.name = "max_conns_per_host",                                                                                 \
         .type = FIELD_IGNORED,                                                                                        \
         .help = "sending_queue.num_consumers bounds connections"},                                                    \
        {.name = "disable_keep_alives", .type = FIELD_IGNORED, .help = "connections are kept"},                        \
        {.name = "force_attempt_http2", .type = FIELD_IGNORED, .help = "requests are HTTP/1.1"}
extern const struct field http_exporter_tls_fields[];

// reserved: NULL-terminated names that a header must not have, each followed by the reason.
void http_exporter_check(const struct http_exporter_settings *s, const char *const *reserved,
                         const struct component_check *check);
// Names the host behind a good URL, or the proxy's, for validate. as_https: the proxy is that of https, as for HTTP/2.
void http_exporter_check_host(const char *url, const char *proxy_url, bool as_https, const char *key,
                              const struct component_check *check);
// A URL that requests go to over HTTP/1.1; may be NULL.
void http_exporter_check_url(const struct http_exporter_settings *s, const char *url, const char *key,
                             const struct component_check *check);

struct http_exporter;

// One attempt on its way.
struct http_flight {
    struct http_flight *next, **link;
    struct http_exporter *exporter;
    struct send *send;
    void *call;       // of the transport
    bool is_repeated; // with credentials that were read anew
};

// What an exporter does with a batch that goes to one place with one set of headers (http_partition.h).
struct http_exporter_encoder {
    // As in exporter_module.
    enum err_code (*encode)(struct exporter *self, const struct batch *batch, struct record_list *out, struct err *e);
    bool (*takes_unread)(struct exporter *self, const struct batch *batch); // may be NULL
    enum err_code (*replace)(struct exporter *self, const struct record *r, const struct verdict *refusal,
                             struct record_list *out, struct err *e);
    const char *size_key;     // of the settings' max_bytes
    const char *size_allowed; // in front of its figure: "KEY allows"
};

// The first member of an exporter.
struct http_exporter {
    struct exporter exporter;
    const struct http_exporter_settings *settings;
    const struct http_exporter_encoder *encoder;
    struct http_header *headers;
    size_t header_count;
    struct worker_compressors compressors;
    struct authenticator *authenticator; // NULL = none
    const char *own_attribute;           // of the resource, behind the authenticator's; NULL = none
    struct http_client *client;
    struct http_flight *flights;
    // What is known of the peer's limit: the largest part of a request too large that it took, SIZE_MAX = nothing is
    // known; and the smallest request that was too large. The second on the loop thread only.
    _Atomic size_t taken_bytes;
    size_t refused_bytes;
    struct metric *too_large;
};

// own: headers of ours, borrowed, which the user's of the same name replace.
void http_exporter_init(struct http_exporter *x, const struct http_exporter_settings *settings,
                        const struct http_exporter_encoder *encoder, const struct http_header *own, size_t own_count);
// x->client, with the settings' TLS. Loop thread.
enum err_code http_exporter_connect(struct http_exporter *x, struct http_client_options options,
                                    struct err *e) MUST_USE;
// The same for HTTP/1.1 requests to url, and their credentials.
enum err_code http_exporter_start(struct http_exporter *x, const char *url, struct err *e) MUST_USE;
// Members of exporter_module.
void http_exporter_stop(struct exporter *self);
void http_exporter_destroy(struct exporter *self);

// Whether the user's headers have it.
bool http_exporter_is_given(const struct http_exporter *x, const char *name);
// The exporter's headers, for one attempt; header_set_fini them.
void http_exporter_headers(const struct http_exporter *x, struct header_set *out);

struct http_flight *http_flight_begin(struct http_exporter *x, struct send *s);
// Notes what it says of sizes, frees it, then send_done.
void http_flight_end(struct http_flight *f, const struct verdict *v);
// POST over HTTP/1.1. The headers are ended here.
void http_flight_post(struct http_flight *f, const char *url, struct header_set *headers, struct bytes body,
                      void (*on_done)(void *arg, const struct http_response *response));
void http_exporter_cancel(struct http_exporter *x, void (*cancel)(struct http_flight *f));
void http_exporter_cancel_posts(struct exporter *self); // as exporter_module.cancel

#endif
