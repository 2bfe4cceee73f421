// SPDX-License-Identifier: Apache-2.0
// What the OTLP exporters share: settings, encoding, attempts on their way, the peer's words.
#ifndef EXPORTERS_OTLP_COMMON_H
#define EXPORTERS_OTLP_COMMON_H

#include "exporters/exporter.h"
#include "exporters/worker_compressors.h"
#include "net/http_client.h"

#define OTLP_VERSION_HEADER "otlp-profiles-development-version"

// The first member of an exporter's settings.
struct otlp_settings {
    int compression; // enum compression
    int64_t compression_level;
    int64_t timeout_nanos;
    uint64_t max_request_bytes;
    int layout;            // of otlp_layout_choices
    int string_references; // enum otlp_reference_choice
    int zero_link;         // enum otlp_zero_link_choice
    struct config_pairs headers;
    const char *authenticator;     // id of an extension; NULL = none
    struct tls_client_options tls; // but for the lists
    struct config_strings cipher_suites, curves;
};

enum otlp_reference_choice { OTLP_INLINE, OTLP_INDEXED };
enum otlp_zero_link_choice { OTLP_LINK_EMPTY, OTLP_LINK_ZEROS };

extern const char *const otlp_layout_choices[], *const otlp_reference_choices[], *const otlp_zero_link_choices[];
extern const char *const otlp_compression_names[]; // of enum compression, and "", a Collector's none
enum compression otlp_compression(const struct otlp_settings *s);
extern const struct field otlp_params_fields[], otlp_auth_fields[];

#define OTLP_SETTING(member) offsetof(struct otlp_settings, member)

#define OTLP_TLS_FIELDS                                                                                                \
    {.name = "ca_file",                                                                                                \
     .type = FIELD_STRING,                                                                                             \
     .offset = OTLP_SETTING(tls.ca_file),                                                                              \
     .help = "certificates to trust; default: the system's"},                                                          \
        {.name = "ca_pem", .type = FIELD_STRING, .offset = OTLP_SETTING(tls.ca_pem), .help = "the same, in place"},    \
        {.name = "include_system_ca_certs_pool",                                                                       \
         .type = FIELD_BOOL,                                                                                           \
         .offset = OTLP_SETTING(tls.include_system_ca),                                                                \
         .default_text = "false",                                                                                      \
         .help = "trust the system's, too"},                                                                           \
        {.name = "cert_file",                                                                                          \
         .type = FIELD_STRING,                                                                                         \
         .offset = OTLP_SETTING(tls.cert_file),                                                                        \
         .help = "client certificate; read again when it changes"},                                                    \
        {.name = "cert_pem",                                                                                           \
         .type = FIELD_STRING,                                                                                         \
         .offset = OTLP_SETTING(tls.cert_pem),                                                                         \
         .help = "the same, in place"},                                                                                \
        {.name = "key_file", .type = FIELD_STRING, .offset = OTLP_SETTING(tls.key_file), .help = "its private key"},   \
        {.name = "key_pem", .type = FIELD_SECRET, .offset = OTLP_SETTING(tls.key_pem), .help = "the same, in place"},  \
        {.name = "server_name_override",                                                                               \
         .type = FIELD_STRING,                                                                                         \
         .offset = OTLP_SETTING(tls.server_name),                                                                      \
         .help = "name to ask for and to verify instead of the endpoint's host"},                                      \
        {.name = "insecure_skip_verify",                                                                               \
         .type = FIELD_BOOL,                                                                                           \
         .offset = OTLP_SETTING(tls.insecure_skip_verify),                                                             \
         .default_text = "false",                                                                                      \
         .help = "do not verify the peer's certificate"},                                                              \
        {.name = "min_version",                                                                                        \
         .type = FIELD_STRING,                                                                                         \
         .offset = OTLP_SETTING(tls.parameters.min_version),                                                           \
         .default_text = "\"1.2\"",                                                                                    \
         .help = "oldest version of TLS"},                                                                             \
        {.name = "max_version",                                                                                        \
         .type = FIELD_STRING,                                                                                         \
         .offset = OTLP_SETTING(tls.parameters.max_version),                                                           \
         .help = "newest version of TLS"},                                                                             \
        {.name = "cipher_suites",                                                                                      \
         .type = FIELD_STRING_LIST,                                                                                    \
         .offset = OTLP_SETTING(cipher_suites),                                                                        \
         .help = "names of IANA or OpenSSL; default: OpenSSL's choice"},                                               \
        {.name = "curve_preferences",                                                                                  \
         .type = FIELD_STRING_LIST,                                                                                    \
         .offset = OTLP_SETTING(curves),                                                                               \
         .help = "X25519, P256, P384, P521, X25519MLKEM768"},                                                          \
        {.name = "reload_interval",                                                                                    \
         .type = FIELD_IGNORED,                                                                                        \
         .help = "files that changed are read before each new connection"}

#define OTLP_REQUEST_FIELDS(timeout, most)                                                                             \
    {.name = "compression",                                                                                            \
     .type = FIELD_ENUM,                                                                                               \
     .offset = OTLP_SETTING(compression),                                                                              \
     .default_text = "gzip",                                                                                           \
     .names = otlp_compression_names,                                                                                  \
     .help = "of the request body"},                                                                                   \
        {.name = "compression_params", .type = FIELD_STRUCT, .fields = otlp_params_fields, .help = "tuning"},          \
        {.name = "timeout",                                                                                            \
         .type = FIELD_DURATION,                                                                                       \
         .offset = OTLP_SETTING(timeout_nanos),                                                                        \
         .default_text = (timeout),                                                                                    \
         .min = (double)NANOS_PER_MS,                                                                                  \
         .max = 86400e9,                                                                                               \
         .help = "of one attempt, from connecting to the whole answer"},                                               \
        {.name = "max_request_bytes",                                                                                  \
         .type = FIELD_SIZE,                                                                                           \
         .offset = OTLP_SETTING(max_request_bytes),                                                                    \
         .default_text = (most),                                                                                       \
         .min = 1024,                                                                                                  \
         .max = 2147483648.0,                                                                                          \
         .help = "of one request before compression; larger ones are split"},                                          \
        {.name = "layout",                                                                                             \
         .type = FIELD_ENUM,                                                                                           \
         .offset = OTLP_SETTING(layout),                                                                               \
         .default_text = "current",                                                                                    \
         .names = otlp_layout_choices,                                                                                 \
         .help =                                                                                                       \
             "of OTLP profiles, for peers of older releases; auto: an older one when the peer understands no newer"},  \
        {.name = "string_references",                                                                                  \
         .type = FIELD_ENUM,                                                                                           \
         .offset = OTLP_SETTING(string_references),                                                                    \
         .default_text = "inline",                                                                                     \
         .names = otlp_reference_choices,                                                                              \
         .help = "indexed: attributes of resources and scopes name texts by index; not every backend reads that"},     \
        {.name = "zero_link",                                                                                          \
         .type = FIELD_ENUM,                                                                                           \
         .offset = OTLP_SETTING(zero_link),                                                                            \
         .default_text = "empty",                                                                                      \
         .names = otlp_zero_link_choices,                                                                              \
         .help = "how link 0 is spelled; zeros: as ids of zeros, which some backends refuse"},                         \
        {.name = "headers",                                                                                            \
         .type = FIELD_STRING_MAP,                                                                                     \
         .offset = OTLP_SETTING(headers),                                                                              \
         .help = "sent with every request"},                                                                           \
        {.name = "auth", .type = FIELD_STRUCT, .fields = otlp_auth_fields, .help = "credentials of requests"}

// reserved: NULL-terminated names that a header must not have, each followed by the reason.
void otlp_settings_check(const struct otlp_settings *s, const char *const *reserved,
                         const struct component_check *check);

// Names the host behind a good URL, or the proxy's, for validate. as_https: the proxy is that of https, as for HTTP/2.
void otlp_check_host(const char *url, const char *proxy_url, bool as_https, const char *key,
                     const struct component_check *check);

struct otlp_exporter;

// One attempt on its way.
struct otlp_flight {
    struct otlp_flight *next, **link;
    struct otlp_exporter *exporter;
    struct send *send;
    void *call;       // of the transport
    bool is_repeated; // with credentials that were read anew
};

// The first member of an exporter.
struct otlp_exporter {
    struct exporter exporter;
    const struct otlp_settings *settings;
    struct http_header *headers;
    size_t header_count;
    struct worker_compressors compressors;
    struct authenticator *authenticator; // NULL = none
    struct http_client *client;
    struct otlp_flight *flights;
    // What is known of the peer's limit: the largest part of a request too large that it took, SIZE_MAX = nothing is
    // known; and the smallest request that was too large. The second on the loop thread only.
    _Atomic size_t taken_bytes;
    size_t refused_bytes;
    struct metric *too_large;
    _Atomic unsigned spoken; // enum otlp_layout of what is encoded; written on the loop thread
    struct metric *layout_lost;
};

// own: headers of ours, borrowed, which the user's of the same name replace.
void otlp_exporter_init(struct otlp_exporter *x, const struct otlp_settings *settings, const struct http_header *own,
                        size_t own_count);
// x->client, with the settings' TLS. Loop thread.
enum err_code otlp_exporter_connect(struct otlp_exporter *x, struct http_client_options options,
                                    struct err *e) MUST_USE;
// Members of exporter_module; encode and replace are in otlp_encode.h.
void otlp_exporter_stop(struct exporter *self);
void otlp_exporter_destroy(struct exporter *self);

struct otlp_flight *otlp_flight_begin(struct otlp_exporter *x, struct send *s);
void otlp_flight_end(struct otlp_flight *f, const struct verdict *v); // frees it, then send_done
void otlp_exporter_cancel(struct otlp_exporter *x, void (*cancel)(struct otlp_flight *f));

// Of a peer's ExportProfilesServiceResponse.
struct verdict otlp_judge_success(const struct otlp_exporter *x, struct bytes body);

enum { OTLP_MAX_WORDS = 160 };
// What a peer says goes to logs and terminals: no controls, no broken characters, no runs of spaces; of a page
// only its text.
void otlp_clean_words(struct bytes raw, bool is_page, char out[OTLP_MAX_WORDS + 1]);

#endif
