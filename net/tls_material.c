// SPDX-License-Identifier: Apache-2.0
#include "net/tls_material.h"

#include "base/mem.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>

static const char *const *copy_names(struct tls_material *m, const char *const *names, size_t count)
{
    if (count == 0)
        return NULL;
    char **at = m->names + m->name_count;
    for (size_t i = 0; i < count; i++)
        at[i] = mem_copy_text(names[i]);
    m->name_count += count;
    return (const char *const *)at;
}

static bool use_pem_chain(SSL_CTX *ctx, const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    CHECK(bio != NULL);
    X509 *x = PEM_read_bio_X509(bio, NULL, tls_no_password, NULL);
    bool ok = x != NULL && SSL_CTX_use_certificate(ctx, x) == 1;
    X509_free(x);
    while (ok && (x = PEM_read_bio_X509(bio, NULL, tls_no_password, NULL)) != NULL)
        ok = SSL_CTX_add0_chain_cert(ctx, x) == 1;
    BIO_free(bio);
    return ok;
}

static bool use_pem_key(SSL_CTX *ctx, const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    CHECK(bio != NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, tls_no_password, NULL);
    bool ok = key != NULL && SSL_CTX_use_PrivateKey(ctx, key) == 1;
    EVP_PKEY_free(key);
    BIO_free(bio);
    return ok;
}

static enum err_code load_certificate(const struct tls_material *m, SSL_CTX *ctx, struct err *e)
{
    if (m->cert_file != NULL && SSL_CTX_use_certificate_chain_file(ctx, m->cert_file) != 1)
        return err_set(e, ERR_IO, "tls.cert_file %s: %s", m->cert_file, tls_library_reason());
    if (m->cert_pem != NULL && !use_pem_chain(ctx, m->cert_pem))
        return err_set(e, ERR_INVALID, "tls.cert_pem: %s", tls_library_reason());
    ERR_clear_error();
    if (m->key_file != NULL && SSL_CTX_use_PrivateKey_file(ctx, m->key_file, SSL_FILETYPE_PEM) != 1)
        return err_set(e, ERR_IO, "tls.key_file %s: %s", m->key_file, tls_library_reason());
    if (m->key_pem != NULL && !use_pem_key(ctx, m->key_pem))
        return err_set(e, ERR_INVALID, "tls.key_pem: %s", tls_library_reason());
    bool given = m->cert_file != NULL || m->cert_pem != NULL;
    if (given && SSL_CTX_check_private_key(ctx) != 1)
        return err_set(e, ERR_INVALID, "tls.%s%s: the key does not belong to the certificate",
                       m->key_file != NULL ? "key_file " : "key_pem", m->key_file != NULL ? m->key_file : "");
    return ERR_OK;
}

void tls_material_init(struct tls_material *m, const struct tls_material_source *source)
{
    const struct tls_parameters *p = source->parameters;
    *m = (struct tls_material){
        .cert_file = mem_copy_text(source->cert_file),
        .cert_pem = mem_copy_text(source->cert_pem),
        .key_file = mem_copy_text(source->key_file),
        .key_pem = mem_copy_text(source->key_pem),
        .ca_file = mem_copy_text(source->ca_file),
        .names = mem_alloc((p->cipher_suite_count + p->curve_count + 2) * sizeof *m->names),
        .parameters = *p,
    };
    m->parameters.cipher_suites = copy_names(m, p->cipher_suites, p->cipher_suite_count);
    m->parameters.curves = copy_names(m, p->curves, p->curve_count);
    m->parameters.min_version = m->names[m->name_count++] = mem_copy_text(p->min_version);
    m->parameters.max_version = m->names[m->name_count++] = mem_copy_text(p->max_version);
}

void tls_material_fini(struct tls_material *m)
{
    for (size_t i = 0; i < m->name_count; i++)
        free(m->names[i]);
    free(m->names);
    free(m->cert_file);
    free(m->cert_pem);
    if (m->key_pem != NULL)
        OPENSSL_cleanse(m->key_pem, strlen(m->key_pem));
    free(m->key_pem);
    free(m->key_file);
    free(m->ca_file);
    *m = (struct tls_material){0};
}

bool tls_material_changed(struct tls_material *m)
{
    const char *const paths[TLS_MATERIAL_FILES] = {m->cert_file, m->key_file, m->ca_file};
    bool changed = false;
    for (size_t i = 0; i < TLS_MATERIAL_FILES; i++) {
        struct file_mark mark = paths[i] != NULL ? file_mark_of(paths[i]) : (struct file_mark){0};
        changed = changed || !file_mark_equal(&mark, &m->marks[i]);
        m->marks[i] = mark;
    }
    return changed;
}

enum err_code tls_material_apply(const struct tls_material *m, SSL_CTX *ctx, struct err *e)
{
    enum err_code code = tls_parameters_apply(&m->parameters, ctx, e);
    return code == ERR_OK ? load_certificate(m, ctx, e) : code;
}
