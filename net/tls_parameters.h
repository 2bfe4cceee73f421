// SPDX-License-Identifier: Apache-2.0
// The Collector's keys for versions, cipher suites and curves, for both sides of TLS.
#ifndef NET_TLS_PARAMETERS_H
#define NET_TLS_PARAMETERS_H

#include "base/err.h"

#include <stddef.h>

struct tls_parameters {
    const char *min_version, *max_version; // "1.0" .. "1.3"; NULL or "": 1.2, the newest
    const char *const *cipher_suites;      // names of IANA or OpenSSL; NULL = OpenSSL's choice
    size_t cipher_suite_count;
    const char *const *curves; // "X25519", "P256", "P384", "P521", "X25519MLKEM768"; NULL = OpenSSL's choice
    size_t curve_count;
};

// Without OpenSSL's context: what is written is known.
enum err_code tls_parameters_check(const struct tls_parameters *p, struct err *e) MUST_USE;
// ctx is an SSL_CTX.
enum err_code tls_parameters_apply(const struct tls_parameters *p, void *context, struct err *e) MUST_USE;
// What an error of TLS says without the "tls." or "tls: " in front, for who names the key by its path.
const char *tls_error_text(const struct err *e);

#endif
