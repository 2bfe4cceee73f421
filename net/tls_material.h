// SPDX-License-Identifier: Apache-2.0
// What both sides of TLS load: certificate and key, the file of authorities, parameters. Copied, watched for change.
// Only net/tls*.c include this.
#ifndef NET_TLS_MATERIAL_H
#define NET_TLS_MATERIAL_H

#include "base/file_mark.h"
#include "net/tls_parameters.h"
#include "net/tls_session.h"

enum { TLS_MATERIAL_FILES = 3 };

struct tls_material_source {
    const char *cert_file, *cert_pem, *key_file, *key_pem, *ca_file;
    const struct tls_parameters *parameters;
};

struct tls_material {
    char *cert_file, *cert_pem, *key_file, *key_pem, *ca_file;
    struct tls_parameters parameters;
    char **names; // that parameters points to
    size_t name_count;
    struct file_mark marks[TLS_MATERIAL_FILES];
};

void tls_material_init(struct tls_material *m, const struct tls_material_source *source);
void tls_material_fini(struct tls_material *m);
// Whether a file (time, size or inode) is another than when this was asked last; the first time it is.
bool tls_material_changed(struct tls_material *m);
// Parameters, then certificate and key where given; the authorities are the caller's.
enum err_code tls_material_apply(const struct tls_material *m, SSL_CTX *ctx, struct err *e) MUST_USE;

#endif
