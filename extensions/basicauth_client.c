// SPDX-License-Identifier: Apache-2.0
// The client's side of basicauth: user and password, in place or from files, in the header of what goes out.
#include "base/base64.h"
#include "base/mem.h"
#include "extensions/authorization.h"
#include "extensions/basicauth.h"

#include <openssl/crypto.h>

static bool is_printable(const char *text)
{
    for (; *text != '\0'; text++)
        if ((uint8_t)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

static void make_header(struct basic *b)
{
    struct buf pair, text;
    buf_init(&pair, SIZE_MAX);
    buf_init(&text, SIZE_MAX);
    buf_add_text(&pair, b->name.text != NULL ? b->name.text : b->settings->username);
    buf_add_byte(&pair, ':');
    buf_add_text(&pair, b->password.text != NULL ? b->password.text : b->settings->password);
    buf_add_text(&text, "Basic ");
    base64_encode(buf_bytes(&pair), &text);
    buf_add_byte(&text, '\0');
    CHECK(buf_ok(&pair) && buf_ok(&text)); // configuration, or a file of a few bytes
    secret_text_forget(&b->header);
    b->header = mem_copy_text((const char *)text.data);
    OPENSSL_cleanse(pair.data, pair.len);
    OPENSSL_cleanse(text.data, text.len);
    buf_fini(&pair);
    buf_fini(&text);
}

enum err_code basic_load_client(struct basic *b, struct err *e)
{
    const struct basic_settings *s = b->settings;
    enum err_code rc = secret_line_load(&b->name, s->username_file, BASIC_MAX_BYTES, is_printable, e);
    if (rc == ERR_OK)
        rc = secret_line_load(&b->password, s->password_file, BASIC_MAX_BYTES, is_printable, e);
    if (rc == ERR_OK)
        make_header(b);
    return rc;
}

static bool refresh_client(struct basic *b, bool at_once)
{
    const struct logger *log = &b->extension.component.log;
    bool name = secret_line_refresh(&b->name, basic_now(b), at_once, log);
    bool password = secret_line_refresh(&b->password, basic_now(b), at_once, log);
    if (name || password)
        make_header(b);
    return name || password;
}

static void apply(struct authenticator *self, const char *const *values, struct header_set *headers)
{
    struct basic *b = CONTAINER_OF(self, struct basic, authenticator);
    (void)values;
    pthread_mutex_lock(&b->lock);
    (void)refresh_client(b, false);
    header_set_put(headers, "Authorization", b->header);
    pthread_mutex_unlock(&b->lock);
}

static bool renew(struct authenticator *self)
{
    struct basic *b = CONTAINER_OF(self, struct basic, authenticator);
    pthread_mutex_lock(&b->lock);
    bool changed = refresh_client(b, true);
    pthread_mutex_unlock(&b->lock);
    return changed;
}

void basic_free_secrets(struct basic *b)
{
    htpasswd_fini(&b->users);
    secret_text_forget(&b->name.text);
    secret_text_forget(&b->password.text);
    secret_text_forget(&b->header);
}

const struct authenticator_ops basic_client_ops = {.apply = apply, .renew = renew};
