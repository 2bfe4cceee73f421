// SPDX-License-Identifier: Apache-2.0
// The client's side of basicauth: user and password, in place or from files, in the header of what goes out.
#include "base/base64.h"
#include "base/mem.h"
#include "extensions/authorization.h"
#include "extensions/basicauth.h"

#include <openssl/crypto.h>

static void forget_text(char **text)
{
    if (*text != NULL)
        OPENSSL_cleanse(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

// secret_file's use: one line.
static enum err_code use_word(void *arg, struct bytes text, struct err *e)
{
    struct word *w = arg;
    while (text.len > 0 && memchr("\r\n", text.data[text.len - 1], 2) != NULL)
        text.len--;
    if (text.len == 0)
        return err_set(e, ERR_INVALID, "it is empty");
    if (text.len > BASIC_MAX_BYTES)
        return err_set(e, ERR_LIMIT, "it has %zu bytes, allowed are %d", text.len, BASIC_MAX_BYTES);
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] < ' ' || text.data[i] == 0x7f)
            return err_set(e, ERR_INVALID, "it has more than one line, or control characters");
    forget_text(&w->text);
    w->text = mem_alloc(text.len + 1);
    memcpy(w->text, text.data, text.len);
    return ERR_OK;
}

static enum err_code load_word(struct word *w, const char *path, struct err *e)
{
    if (path == NULL)
        return ERR_OK;
    w->file = (struct secret_file){.path = path, .use = use_word, .arg = w};
    return secret_file_load(&w->file, e);
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
    forget_text(&b->header);
    b->header = mem_copy_text((const char *)text.data);
    OPENSSL_cleanse(pair.data, pair.len);
    OPENSSL_cleanse(text.data, text.len);
    buf_fini(&pair);
    buf_fini(&text);
}

enum err_code basic_load_client(struct basic *b, struct err *e)
{
    enum err_code rc = load_word(&b->name, b->settings->username_file, e);
    if (rc == ERR_OK)
        rc = load_word(&b->password, b->settings->password_file, e);
    if (rc == ERR_OK)
        make_header(b);
    return rc;
}

static bool refresh_word(struct basic *b, struct word *w, bool at_once)
{
    return w->file.path != NULL && secret_file_refresh(&w->file, basic_now(b), at_once, &b->extension.component.log);
}

static bool refresh_client(struct basic *b, bool at_once)
{
    bool name = refresh_word(b, &b->name, at_once), password = refresh_word(b, &b->password, at_once);
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
    forget_text(&b->name.text);
    forget_text(&b->password.text);
    forget_text(&b->header);
}

const struct authenticator_ops basic_client_ops = {.apply = apply, .renew = renew};
