// SPDX-License-Identifier: Apache-2.0
// The keys that all receivers with a server have in common, as the Collector names them.
#ifndef RECEIVERS_SERVER_SETTINGS_H
#define RECEIVERS_SERVER_SETTINGS_H

#include "base/limits.h"
#include "config/fields.h"
#include "net/http_server.h"
#include "pipeline/component.h"

struct server_tls_settings {
    struct tls_server_options options; // but for the lists
    struct config_strings cipher_suites, curves;
    int64_t reload_nanos;
};

struct server_settings {
    const char *endpoint;
    int transport; // enum server_transport
    bool has_tls, proxy_protocol;
    const char *authenticator; // id of an extension; NULL = everybody may send
    struct server_tls_settings tls;
    int64_t max_connections;
    uint64_t max_header_bytes;
    int64_t header_timeout_nanos, body_timeout_nanos, write_timeout_nanos, idle_timeout_nanos; // 0 = never
};

enum server_transport { SERVER_TCP, SERVER_UNIX };

extern const char *const server_transport_names[]; // for rows of type FIELD_ENUM

#define SERVER_AT(at_, member_) ((at_) + offsetof(struct server_settings, member_))

// The table behind `tls`.
#define SERVER_TLS_FIELDS(at_)                                                                                         \
    {.name = "cert_file",                                                                                              \
     .type = FIELD_STRING,                                                                                             \
     .offset = SERVER_AT(at_, tls.options.cert_file),                                                                  \
     .help = "certificate; read again when it changes"},                                                               \
        {.name = "cert_pem",                                                                                           \
         .type = FIELD_STRING,                                                                                         \
         .offset = SERVER_AT(at_, tls.options.cert_pem),                                                               \
         .help = "the same, in place"},                                                                                \
        {.name = "key_file",                                                                                           \
         .type = FIELD_STRING,                                                                                         \
         .offset = SERVER_AT(at_, tls.options.key_file),                                                               \
         .help = "its private key"},                                                                                   \
        {.name = "key_pem",                                                                                            \
         .type = FIELD_SECRET,                                                                                         \
         .offset = SERVER_AT(at_, tls.options.key_pem),                                                                \
         .help = "the same, in place"},                                                                                \
        {.name = "client_ca_file",                                                                                     \
         .type = FIELD_STRING,                                                                                         \
         .offset = SERVER_AT(at_, tls.options.client_ca_file),                                                         \
         .help = "clients must show a certificate that one of these signed"},                                          \
        {.name = "ca_file", .type = FIELD_IGNORED, .help = "client_ca_file says whom to trust"},                       \
        {.name = "ca_pem", .type = FIELD_IGNORED, .help = "client_ca_file says whom to trust"},                        \
        {.name = "client_ca_file_reload", .type = FIELD_IGNORED, .help = "files are always read again"},               \
        {.name = "include_system_ca_certs_pool", .type = FIELD_IGNORED, .help = "client_ca_file says whom to trust"},  \
        {.name = "min_version",                                                                                        \
         .type = FIELD_STRING,                                                                                         \
         .offset = SERVER_AT(at_, tls.options.parameters.min_version),                                                 \
         .default_text = "\"1.2\"",                                                                                    \
         .help = "oldest version of TLS"},                                                                             \
        {.name = "max_version",                                                                                        \
         .type = FIELD_STRING,                                                                                         \
         .offset = SERVER_AT(at_, tls.options.parameters.max_version),                                                 \
         .help = "newest version of TLS"},                                                                             \
        {.name = "cipher_suites",                                                                                      \
         .type = FIELD_STRING_LIST,                                                                                    \
         .offset = SERVER_AT(at_, tls.cipher_suites),                                                                  \
         .help = "names of IANA or OpenSSL; default: OpenSSL's choice"},                                               \
        {.name = "curve_preferences",                                                                                  \
         .type = FIELD_STRING_LIST,                                                                                    \
         .offset = SERVER_AT(at_, tls.curves),                                                                         \
         .help = "X25519, P256, P384, P521, X25519MLKEM768"},                                                          \
        {.name = "reload_interval",                                                                                    \
         .type = FIELD_DURATION,                                                                                       \
         .offset = SERVER_AT(at_, tls.reload_nanos),                                                                   \
         .default_text = "30s",                                                                                        \
         .min = 1e9,                                                                                                   \
         .max = 86400e9,                                                                                               \
         .help = "between looks whether the files changed"},                                                           \
    {                                                                                                                  \
        .name = NULL                                                                                                   \
    }

#define SERVER_TIMEOUT_FIELD(at_, name_, member_, default_, help_)                                                     \
    {.name = (name_),                                                                                                  \
     .type = FIELD_DURATION,                                                                                           \
     .offset = SERVER_AT(at_, member_),                                                                                \
     .default_text = (default_),                                                                                       \
     .min = 0,                                                                                                         \
     .max = 86400e9,                                                                                                   \
     .help = (help_)}

// tls_: the table above, of the same at_.
#define SERVER_FIELDS(at_, endpoint_, tls_)                                                                            \
    {.name = "endpoint",                                                                                               \
     .type = FIELD_STRING,                                                                                             \
     .offset = SERVER_AT(at_, endpoint),                                                                               \
     .default_text = (endpoint_),                                                                                      \
     .help = "HOST:PORT to listen on; \":PORT\" is everywhere, \"unix:/PATH\" a Unix socket"},                         \
        {.name = "transport",                                                                                          \
         .type = FIELD_ENUM,                                                                                           \
         .offset = SERVER_AT(at_, transport),                                                                          \
         .default_text = "tcp",                                                                                        \
         .names = server_transport_names,                                                                              \
         .help = "unix: the endpoint is a path"},                                                                      \
        {.name = "tls",                                                                                                \
         .type = FIELD_STRUCT,                                                                                         \
         .fields = (tls_),                                                                                             \
         .present_offset = 1 + SERVER_AT(at_, has_tls),                                                                \
         .help = "TLS; without it, clear text"},                                                                       \
        {.name = "proxy_protocol",                                                                                     \
         .type = FIELD_BOOL,                                                                                           \
         .offset = SERVER_AT(at_, proxy_protocol),                                                                     \
         .default_text = "false",                                                                                      \
         .help = "every connection begins with PROXY v1 or v2, others are closed"},                                    \
        {.name = "max_connections",                                                                                    \
         .type = FIELD_INT,                                                                                            \
         .offset = SERVER_AT(at_, max_connections),                                                                    \
         .default_text = "4096",                                                                                       \
         .min = 1,                                                                                                     \
         .max = 1000000,                                                                                               \
         .help = "at a time; more wait, or replace one that is idle"},                                                 \
        {.name = "max_header_size",                                                                                    \
         .type = FIELD_SIZE,                                                                                           \
         .offset = SERVER_AT(at_, max_header_bytes),                                                                   \
         .default_text = "64KiB",                                                                                      \
         .min = 1024,                                                                                                  \
         .max = 1 << 20,                                                                                               \
         .help = "of a request's headers"},                                                                            \
        SERVER_TIMEOUT_FIELD(at_, "read_header_timeout", header_timeout_nanos, "10s",                                  \
                             "from a request's first byte to the end of its head; 0 = never"),                         \
        SERVER_TIMEOUT_FIELD(at_, "read_timeout", body_timeout_nanos, "60s",                                           \
                             "for a body, and one second more for each 16 KiB that came; 0 = never"),                  \
        SERVER_TIMEOUT_FIELD(at_, "write_timeout", write_timeout_nanos, "30s",                                         \
                             "in which a client takes nothing of an answer; 0 = never"),                               \
        SERVER_TIMEOUT_FIELD(at_, "idle_timeout", idle_timeout_nanos, "5m",                                            \
                             "of a connection without a request; 0 = never")

// The table behind `auth`.
#define SERVER_AUTH_FIELDS(at_)                                                                                        \
    {.name = "authenticator",                                                                                          \
     .type = FIELD_STRING,                                                                                             \
     .offset = SERVER_AT(at_, authenticator),                                                                          \
     .help = "id of an extension that tells who may send"},                                                            \
        {.name = "request_params", .type = FIELD_IGNORED, .help = "credentials are taken from headers"},               \
    {                                                                                                                  \
        .name = NULL                                                                                                   \
    }

#define SERVER_AUTH_FIELD(table_)                                                                                      \
    {.name = "auth", .type = FIELD_STRUCT, .fields = (table_), .help = "credentials that a request needs"}

// key: of the section these settings stand in ("protocols.http", "" = the component). Opens the files.
void server_settings_check(const struct server_settings *s, const char *key, const struct component_check *check);
// "WHAT at ENDPOINT, port N"; a Unix socket has none (0).
void server_settings_log_address(const struct logger *log, const char *what, const char *endpoint, int port);
// Where it listens, however that is written: for receiver_module.endpoints.
const char *server_settings_endpoint(const struct server_settings *s);
bool server_settings_same_tls(const struct server_settings *a, const struct server_settings *b);
// Fills all of out but the handler; *tls and the texts must live until the server is created. text: room for the endpoint.
void server_settings_apply(const struct server_settings *s, char text[LIMIT_PATH_BYTES], struct tls_server_options *tls,
                           struct http_server_options *out);

#endif
