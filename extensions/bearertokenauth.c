// SPDX-License-Identifier: Apache-2.0
// Tokens: sent with what goes out, asked for of what comes in. Clients of vendors send the same token in a header of the
// vendor's, as Bearer, or as the password of Basic: a server takes all three.
#include "base/mem.h"
#include "base/secret_line.h"
#include "extensions/authorization.h"
#include "extensions/extensions.h"
#include "net/authenticator.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <strings.h>

enum {
    MAX_TOKENS = 10000,
    MAX_TRIES = 8, // tokens that a request may bring
};

struct bearer_settings {
    const char *header, *scheme, *token, *filename;
    struct config_strings tokens, browser_tokens;
};

enum token_type { TOKEN_UNKNOWN, TOKEN_SERVER, TOKEN_BROWSER };

struct digest {
    uint8_t bytes[SHA256_DIGEST_LENGTH];
    enum token_type type;
};

struct token_list {
    char *first; // what a client sends: scheme and token
    struct digest *digests;
    size_t count, capacity;
};

struct bearer {
    struct extension extension;
    struct authenticator authenticator;
    const struct bearer_settings *settings;
    pthread_mutex_t lock; // of what follows
    struct token_list tokens;
    struct secret_file file;
};

#define SETTING(member) offsetof(struct bearer_settings, member)

static const struct field bearer_fields[] = {
    {.name = "header",
     .type = FIELD_STRING,
     .offset = SETTING(header),
     .default_text = "Authorization",
     .help = "that the token stands in"},
    {.name = "scheme",
     .type = FIELD_STRING,
     .offset = SETTING(scheme),
     .default_text = "Bearer",
     .help = "in front of the token, with a space; \"\" = the token alone"},
    {.name = "token", .type = FIELD_SECRET, .offset = SETTING(token), .help = "the token"},
    {.name = "tokens",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(tokens),
     .help = "several: any of them may come in, the first one is sent"},
    {.name = "filename",
     .type = FIELD_STRING,
     .offset = SETTING(filename),
     .help = "tokens from a file instead: the first word of each line; read again when it changes"},
    {.name = "browser_tokens",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(browser_tokens),
     .help = "more, of type Browser: known, but refused for sending"},
    {.name = NULL},
};

// --- tokens ---

static void tokens_fini(struct token_list *l)
{
    secret_text_forget(&l->first);
    free(l->digests);
    *l = (struct token_list){0};
}

static struct digest digest_of(struct bytes token, enum token_type type)
{
    struct digest d = {.type = type};
    SHA256(token.data, token.len, d.bytes);
    return d;
}

static void set_first(struct token_list *l, const char *scheme, struct bytes token)
{
    size_t size = strlen(scheme) + 1 + token.len + 1;
    l->first = mem_alloc(size);
    snprintf(l->first, size, "%s%s%.*s", scheme, scheme[0] != '\0' ? " " : "", (int)token.len,
             (const char *)token.data);
}

static bool is_word(struct bytes token)
{
    bool good = token.len > 0;
    for (size_t i = 0; i < token.len; i++)
        good = good && token.data[i] > ' ' && token.data[i] != 0x7f;
    return good;
}

static enum err_code tokens_add(struct token_list *l, const char *scheme, struct bytes token, enum token_type type,
                                struct err *e)
{
    void *digests = l->digests;
    if (!is_word(token) || token.len > INT32_MAX)
        return err_set(e, ERR_INVALID, "token %zu is empty or has spaces or control characters", l->count + 1);
    if (l->count == MAX_TOKENS)
        return err_set(e, ERR_LIMIT, "there are more than the %d tokens that are allowed", MAX_TOKENS);
    if (!mem_try_grow(&digests, &l->capacity, l->count + 1, sizeof *l->digests, MAX_TOKENS))
        return err_set(e, ERR_MEMORY, "no memory for the tokens");
    l->digests = digests;
    if (l->count == 0)
        set_first(l, scheme, token);
    l->digests[l->count++] = digest_of(token, type);
    return ERR_OK;
}

static enum err_code tokens_add_all(struct token_list *l, const char *scheme, const struct config_strings *tokens,
                                    enum token_type type, struct err *e)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < tokens->count; i++)
        rc = tokens_add(l, scheme, bytes_from_text(tokens->items[i]), type, e);
    return rc;
}

static struct bytes take_line(struct bytes *rest)
{
    const uint8_t *end = memchr(rest->data, '\n', rest->len);
    size_t len = end != NULL ? (size_t)(end - rest->data) : rest->len, taken = end != NULL ? len + 1 : len;
    struct bytes line = {rest->data, len};
    *rest = (struct bytes){rest->data + taken, rest->len - taken};
    return line;
}

static struct bytes first_word(struct bytes line)
{
    size_t start = 0, end;
    while (start < line.len && memchr(" \t\r", line.data[start], 3) != NULL)
        start++;
    for (end = start; end < line.len && memchr(" \t\r", line.data[end], 3) == NULL;)
        end++;
    return (struct bytes){line.data + start, end - start};
}

static enum err_code tokens_from_text(struct token_list *l, const char *scheme, struct bytes text, struct err *e)
{
    enum err_code rc = ERR_OK;
    while (rc == ERR_OK && text.len > 0) {
        struct bytes word = first_word(take_line(&text));
        if (word.len > 0 && word.data[0] != '#')
            rc = tokens_add(l, scheme, word, TOKEN_SERVER, e);
    }
    if (rc == ERR_OK && l->count == 0)
        rc = err_set(e, ERR_INVALID, "there is no token in it: it has one in each line, the first word");
    return rc;
}

// After the others: what a client sends is the first of those.
static enum err_code add_browser_tokens(struct token_list *l, const struct bearer_settings *s, struct err *e)
{
    return tokens_add_all(l, s->scheme, &s->browser_tokens, TOKEN_BROWSER, e);
}

// secret_file's use.
static enum err_code use_file(void *arg, struct bytes text, struct err *e)
{
    struct bearer *b = arg;
    struct token_list found = {0};
    enum err_code rc = tokens_from_text(&found, b->settings->scheme, text, e);
    if (rc == ERR_OK)
        rc = add_browser_tokens(&found, b->settings, e);
    if (rc == ERR_OK) {
        struct token_list old = b->tokens;
        b->tokens = found;
        found = old;
    }
    tokens_fini(&found);
    return rc;
}

static enum err_code tokens_load(struct bearer *b, struct err *e)
{
    const struct bearer_settings *s = b->settings;
    if (s->filename != NULL) {
        b->file = (struct secret_file){.path = s->filename, .use = use_file, .arg = b};
        return secret_file_load(&b->file, e);
    }
    const struct config_strings one = {&s->token, 1};
    enum err_code rc = tokens_add_all(&b->tokens, s->scheme, s->token != NULL ? &one : &s->tokens, TOKEN_SERVER, e);
    return rc == ERR_OK ? add_browser_tokens(&b->tokens, s, e) : rc;
}

static bool refresh(struct bearer *b, bool at_once)
{
    const struct component *c = &b->extension.component;
    return b->settings->filename != NULL &&
           secret_file_refresh(&b->file, clock_monotonic_nanos(c->env->clock), at_once, &c->log);
}

// --- the server's side ---

// All are compared, in full, whichever it is. In two lists, it is the lesser type.
static enum token_type type_of(const struct token_list *l, struct bytes token)
{
    const struct digest d = digest_of(token, TOKEN_UNKNOWN);
    unsigned found = 0;
    for (size_t i = 0; i < l->count; i++)
        found |= (unsigned)(CRYPTO_memcmp(d.bytes, l->digests[i].bytes, sizeof d.bytes) == 0) << l->digests[i].type;
    return (found & 1U << TOKEN_BROWSER) != 0 ? TOKEN_BROWSER : found != 0 ? TOKEN_SERVER : TOKEN_UNKNOWN;
}

struct search {
    const struct token_list *tokens;
    unsigned tries;
    enum token_type found; // of the first that is known
};

static void try_token(struct search *s, struct bytes token)
{
    if (token.len == 0 || s->tries++ >= MAX_TRIES)
        return;
    enum token_type type = type_of(s->tokens, token);
    if (s->found == TOKEN_UNKNOWN)
        s->found = type;
}

static void try_header(struct search *s, const struct bearer_settings *settings, const struct http_header *h)
{
    struct bytes token;
    struct basic_credentials basic;
    bool is_ours = strcasecmp(h->name, settings->header) == 0;
    if (is_ours && authorization_rest(h->value, settings->scheme, &token)) {
        try_token(s, token);
        if (settings->scheme[0] != '\0')
            return;
    }
    if (strcasecmp(h->name, "authorization") != 0)
        return;
    if (authorization_rest(h->value, "Bearer", &token))
        try_token(s, token);
    else if (authorization_basic(h->value, &basic))
        try_token(s, basic.password);
}

static enum auth_result check(struct authenticator *self, const struct http_header *headers, size_t count,
                              struct auth_answer *out)
{
    static const char *const types[] = {
        [TOKEN_UNKNOWN] = NULL, [TOKEN_SERVER] = AUTH_KEY_SERVER, [TOKEN_BROWSER] = AUTH_KEY_BROWSER};
    struct bearer *b = CONTAINER_OF(self, struct bearer, authenticator);
    struct search s = {.tokens = &b->tokens};
    pthread_mutex_lock(&b->lock);
    (void)refresh(b, false);
    for (size_t i = 0; i < count; i++)
        try_header(&s, b->settings, &headers[i]);
    pthread_mutex_unlock(&b->lock);
    *out = (struct auth_answer){
        .key_type = types[s.found],
        .reason = s.found == TOKEN_BROWSER ? "a key of type Browser may not send profiles"
                  : s.tries > 0            ? "unknown token"
                                           : "no token",
        .challenge = "Bearer realm=\"profrelay\"",
    };
    return s.found == TOKEN_SERVER ? AUTH_ACCEPTED : AUTH_REFUSED;
}

// --- the client's side ---

static void apply(struct authenticator *self, const char *const *values, struct header_set *headers)
{
    struct bearer *b = CONTAINER_OF(self, struct bearer, authenticator);
    (void)values;
    pthread_mutex_lock(&b->lock);
    (void)refresh(b, false);
    header_set_put(headers, b->settings->header, b->tokens.first);
    pthread_mutex_unlock(&b->lock);
}

static bool renew(struct authenticator *self)
{
    struct bearer *b = CONTAINER_OF(self, struct bearer, authenticator);
    pthread_mutex_lock(&b->lock);
    bool changed = refresh(b, true);
    pthread_mutex_unlock(&b->lock);
    return changed;
}

// --- the extension ---

static void check_tokens(const struct bearer_settings *s, const struct component_check *check)
{
    struct bearer tried = {.settings = s};
    struct token_list browsers = {0};
    struct err e = {0};
    const char *key = s->filename != NULL ? "filename" : s->token != NULL ? "token" : "tokens";
    if (add_browser_tokens(&browsers, s, &e) != ERR_OK)
        check_error(check, "browser_tokens", "%s", e.text);
    else if (tokens_load(&tried, &e) != ERR_OK)
        check_error(check, key, "%s", e.text);
    tokens_fini(&browsers);
    tokens_fini(&tried.tokens);
}

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct bearer_settings *s = settings;
    if (!http_header_valid(s->header, "x"))
        check_error(check, "header", "is not the name of a header: letters, digits and -");
    if (s->scheme[0] != '\0' && !is_word(bytes_from_text(s->scheme)))
        check_error(check, "scheme", "must be one word, such as Bearer, or \"\"");
    if (s->token == NULL && s->tokens.count == 0 && s->filename == NULL)
        check_error(check, "", "no token is given: set token, tokens or filename");
    else if ((s->token != NULL) + (s->tokens.count > 0) + (s->filename != NULL) > 1)
        check_error(check, "", "give one of token, tokens and filename, not several");
    else
        check_tokens(s, check);
}

static const struct authenticator_ops ops = {.check = check, .apply = apply, .renew = renew};

static enum err_code create(struct extension *self, const void *settings, struct err *e)
{
    (void)e;
    struct bearer *b = (struct bearer *)self;
    b->settings = settings;
    b->authenticator.ops = &ops;
    CHECK(pthread_mutex_init(&b->lock, NULL) == 0);
    return ERR_OK;
}

static enum err_code start(struct extension *self, struct err *e)
{
    return tokens_load((struct bearer *)self, e);
}

static void stop(struct extension *self)
{
    component_stopped(&self->component);
}

static void destroy(struct extension *self)
{
    struct bearer *b = (struct bearer *)self;
    tokens_fini(&b->tokens);
    pthread_mutex_destroy(&b->lock);
}

static struct authenticator *authenticator_of(struct extension *self)
{
    return &((struct bearer *)self)->authenticator;
}

static unsigned auth_roles(const void *settings)
{
    (void)settings;
    return AUTH_ROLE_SERVER | AUTH_ROLE_CLIENT;
}

const struct extension_module bearertokenauth_extension = {
    .module =
        {
            .type = "bearertokenauth",
            .help = "Sends a token, or asks for one of several.",
            .settings_size = sizeof(struct bearer_settings),
            .instance_size = sizeof(struct bearer),
            .fields = bearer_fields,
            .check = check_settings,
        },
    .create = create,
    .start = start,
    .stop = stop,
    .destroy = destroy,
    .authenticator = authenticator_of,
    .auth_roles = auth_roles,
};
