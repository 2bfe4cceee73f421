// SPDX-License-Identifier: Apache-2.0
// The server's side of basicauth: logins that come in, held against lines of htpasswd.
#include "base/mem.h"
#include "extensions/authorization.h"
#include "extensions/basicauth.h"

#include <openssl/crypto.h>
#include <strings.h>

#define CHALLENGE "Basic realm=\"profrelay\", charset=\"UTF-8\""

enum { MAX_TRIES = 8 }; // logins that a request may bring

struct auth_attempt {
    struct auth_attempt *next; // of the same request
    char *hash;                // NULL: there is no such user, but that must not be told by the time it takes
    char *dummy;
    struct login_key key;
    uint64_t generation;
    char identity[AUTH_IDENTITY_SIZE];
    struct bytes password; // owned
};

static enum err_code add_inline(const struct basic_settings *s, struct htpasswd *users, struct err *e)
{
    return s->htpasswd_inline != NULL ? htpasswd_add(users, bytes_from_text(s->htpasswd_inline), e) : ERR_OK;
}

// secret_file's use.
static enum err_code use_users(void *arg, struct bytes text, struct err *e)
{
    struct basic *b = arg;
    struct htpasswd found;
    htpasswd_init(&found);
    enum err_code rc = htpasswd_add(&found, text, e);
    if (rc == ERR_OK && found.count == 0)
        rc = err_set(e, ERR_INVALID, "there is no user in it: it has lines of user:hash");
    if (rc == ERR_OK && (rc = add_inline(b->settings, &found, e)) != ERR_OK)
        err_prefix(e, "htpasswd.inline");
    if (rc == ERR_OK) {
        struct htpasswd old = b->users;
        b->users = found;
        found = old;
        if (b->cache != NULL)
            login_cache_forget_all(b->cache);
    }
    htpasswd_fini(&found);
    return rc;
}

enum err_code basic_load_users(struct basic *b, struct err *e)
{
    const struct basic_settings *s = b->settings;
    if (s->htpasswd_file == NULL)
        return add_inline(s, &b->users, e);
    b->file = (struct secret_file){.path = s->htpasswd_file, .use = use_users, .arg = b};
    return secret_file_load(&b->file, e);
}

static const char *any_slow_hash(const struct htpasswd *h)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->entries[i].is_slow)
            return h->entries[i].hash;
    return NULL;
}

static struct bytes copy_bytes(struct bytes b)
{
    uint8_t *copy = mem_alloc(b.len + 1);
    memcpy(copy, b.data, b.len);
    return (struct bytes){copy, b.len};
}

static void set_identity(char identity[AUTH_IDENTITY_SIZE], struct bytes user)
{
    size_t len = user.len < AUTH_IDENTITY_SIZE ? user.len : AUTH_IDENTITY_SIZE - 1;
    memcpy(identity, user.data, len);
    identity[len] = '\0';
}

static struct auth_attempt *make_attempt(const struct basic *b, const struct basic_credentials *c,
                                         const struct login_key *key, const struct htpasswd_entry *entry)
{
    struct auth_attempt *a = MEM_NEW(struct auth_attempt);
    a->hash = mem_copy_text(entry != NULL ? entry->hash : NULL);
    a->dummy = mem_copy_text(entry != NULL ? NULL : any_slow_hash(&b->users));
    a->key = *key;
    a->generation = b->cache->generation;
    a->password = copy_bytes(c->password);
    set_identity(a->identity, c->user);
    return a;
}

static void say_who(struct auth_answer *out, const char identity[AUTH_IDENTITY_SIZE])
{
    memcpy(out->identity, identity, AUTH_IDENTITY_SIZE);
    out->key_type = AUTH_KEY_SERVER;
}

static void free_attempt(struct auth_attempt *a)
{
    OPENSSL_cleanse((void *)(uintptr_t)a->password.data, a->password.len);
    free((void *)(uintptr_t)a->password.data);
    free(a->hash);
    free(a->dummy);
    free(a);
}

// What is known without a slow hash. SLOW: *entry_out is the user, or NULL for one that does not exist.
static enum auth_result judge(const struct basic *b, const struct basic_credentials *c, const struct login_key *key,
                              const struct htpasswd_entry **entry_out)
{
    enum login_known known = login_cache_find(b->cache, key);
    const struct htpasswd_entry *entry = htpasswd_find(&b->users, c->user);
    *entry_out = entry;
    if (known != LOGIN_UNKNOWN)
        return known == LOGIN_RIGHT ? AUTH_ACCEPTED : AUTH_REFUSED;
    if (entry != NULL ? entry->is_slow : any_slow_hash(&b->users) != NULL)
        return AUTH_SLOW;
    return entry != NULL && htpasswd_matches(entry->hash, c->password) ? AUTH_ACCEPTED : AUTH_REFUSED;
}

static enum auth_result try_login(struct basic *b, const struct basic_credentials *c, struct auth_answer *out)
{
    const struct htpasswd_entry *entry;
    const struct login_key key = login_cache_key(b->cache, c->user, c->password);
    enum auth_result result = judge(b, c, &key, &entry);
    if (result == AUTH_ACCEPTED) {
        char identity[AUTH_IDENTITY_SIZE];
        set_identity(identity, c->user);
        say_who(out, identity);
    } else if (result == AUTH_SLOW && !login_cache_begin_check(b->cache, basic_now(b))) {
        return AUTH_BUSY;
    } else if (result == AUTH_SLOW) {
        struct auth_attempt **last = &out->attempt;
        while (*last != NULL)
            last = &(*last)->next;
        *last = make_attempt(b, c, &key, entry);
    }
    return result;
}

// Of several logins in a request the first known one counts; those that are not known yet are looked into.
static enum auth_result check_logins(struct basic *b, const struct http_header *headers, size_t count,
                                     struct auth_answer *out)
{
    // By what they say when they are not right: one that could not be looked into might have been.
    static const unsigned weights[] = {[AUTH_REFUSED] = 0, [AUTH_SLOW] = 1, [AUTH_BUSY] = 2, [AUTH_ACCEPTED] = 3};
    enum auth_result result = AUTH_REFUSED;
    unsigned tries = 0;
    for (size_t i = 0; i < count && tries < MAX_TRIES && result != AUTH_ACCEPTED; i++) {
        struct basic_credentials c;
        if (strcasecmp(headers[i].name, "authorization") != 0 || !authorization_basic(headers[i].value, &c))
            continue;
        enum auth_result one = try_login(b, &c, out);
        OPENSSL_cleanse(c.room, sizeof c.room);
        out->reason = "unknown user or wrong password";
        if (weights[one] > weights[result])
            result = one;
        tries++;
    }
    return result;
}

static void drop_attempts(struct basic *b, struct auth_attempt *a)
{
    for (struct auth_attempt *next; a != NULL; a = next) {
        next = a->next;
        login_cache_end_check(b->cache, 0);
        free_attempt(a);
    }
}

static enum auth_result check(struct authenticator *self, const struct http_header *headers, size_t count,
                              struct auth_answer *out)
{
    struct basic *b = CONTAINER_OF(self, struct basic, authenticator);
    *out = (struct auth_answer){.reason = "no user and password", .challenge = CHALLENGE};
    pthread_mutex_lock(&b->lock);
    if (b->settings->htpasswd_file != NULL)
        (void)secret_file_refresh(&b->file, basic_now(b), false, &b->extension.component.log);
    enum auth_result result = check_logins(b, headers, count, out);
    if (result != AUTH_SLOW) {
        drop_attempts(b, out->attempt);
        out->attempt = NULL;
    }
    pthread_mutex_unlock(&b->lock);
    if (result == AUTH_BUSY)
        out->reason = "too many new passwords to check now";
    return result;
}

// The hash is computed without the lock.
static bool is_right(struct basic *b, const struct auth_attempt *a)
{
    int64_t start = basic_now(b);
    bool right = htpasswd_matches(a->hash != NULL ? a->hash : a->dummy, a->password) && a->hash != NULL;
    int64_t took = basic_now(b) - start;
    pthread_mutex_lock(&b->lock);
    if (a->generation == b->cache->generation)
        login_cache_store(b->cache, &a->key, right);
    login_cache_end_check(b->cache, took);
    pthread_mutex_unlock(&b->lock);
    return right;
}

static bool is_login(struct basic *b, const struct auth_attempt *a)
{
    // another request with the same login may have been faster
    pthread_mutex_lock(&b->lock);
    enum login_known known = login_cache_find(b->cache, &a->key);
    if (known != LOGIN_UNKNOWN)
        login_cache_end_check(b->cache, 0);
    pthread_mutex_unlock(&b->lock);
    return known == LOGIN_UNKNOWN ? is_right(b, a) : known == LOGIN_RIGHT;
}

static void forget(struct authenticator *self, struct auth_attempt *a)
{
    struct basic *b = CONTAINER_OF(self, struct basic, authenticator);
    pthread_mutex_lock(&b->lock);
    drop_attempts(b, a);
    pthread_mutex_unlock(&b->lock);
}

static enum auth_result verify(struct authenticator *self, struct auth_attempt *a, struct auth_answer *out)
{
    struct basic *b = CONTAINER_OF(self, struct basic, authenticator);
    bool right = false;
    *out = (struct auth_answer){.reason = "unknown user or wrong password", .challenge = CHALLENGE};
    for (struct auth_attempt *next; a != NULL && !right; a = next) {
        next = a->next;
        right = is_login(b, a);
        if (right)
            say_who(out, a->identity);
        free_attempt(a);
    }
    forget(self, a);
    return right ? AUTH_ACCEPTED : AUTH_REFUSED;
}

const struct authenticator_ops basic_server_ops = {.check = check, .verify = verify, .forget = forget};
