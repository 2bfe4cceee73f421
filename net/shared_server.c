// SPDX-License-Identifier: Apache-2.0
#include "net/shared_server.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

struct shared_server {
    struct shared_listener *listener;
    struct shared_server *next;
    char *name, *paths;
    enum shared_wish (*wish)(void *arg, const struct http_exchange *x, const struct http_head *head);
    struct http_server_handler handler;
    void (*on_closed)(void *arg);
    void *on_closed_arg;
    bool closing;
};

struct shared_listener {
    struct shared_listener **all, *next;
    uv_loop_t *loop;
    struct http_server *server;
    int port;
    char *endpoint;
    struct http_server_options options; // of all users together; its endpoint and handler mean nothing
    struct tls_server_options tls;
    struct shared_server *users; // in the order in which they came
    bool draining;
    bool closing; // and no longer in the list
    bool closed;
};

bool shared_server_may_share(const char *endpoint)
{
    const char *colon = strrchr(endpoint, ':');
    return strncmp(endpoint, "unix:", 5) == 0 || colon == NULL || strcmp(colon, ":0") != 0;
}

// --- what is the same ---

#define NUMBER(name_, member_)                                                                                         \
    {(name_), offsetof(struct http_server_options, member_), sizeof((struct http_server_options *)NULL)->member_}

// By their names in a configuration.
static const struct number {
    const char *name;
    size_t offset, size;
} numbers[] = {
    NUMBER("max_connections", max_connections),
    NUMBER("max_concurrent_streams", max_streams),
    NUMBER("max_header_size", max_header_bytes),
    NUMBER("read_header_timeout", header_timeout_nanos),
    NUMBER("read_timeout", body_timeout_nanos),
    NUMBER("idle_timeout (or max_connection_idle)", idle_timeout_nanos),
    NUMBER("write_timeout", write_timeout_nanos),
    NUMBER("max_connection_age", max_age_nanos),
    NUMBER("max_connection_age_grace", max_age_grace_nanos),
    NUMBER("keepalive time", ping_after_nanos),
    NUMBER("keepalive timeout", ping_timeout_nanos),
    NUMBER("keepalive min_time", ping_least_nanos),
    NUMBER("keepalive permit_without_stream", pings_need_stream),
    NUMBER("tls.reload_interval", tls_reload_nanos),
};

static bool is_zero(const uint8_t *bytes, size_t size)
{
    static const uint8_t zeros[sizeof(int64_t)];
    return memcmp(bytes, zeros, size) == 0;
}

// Adds what `more` wishes; the name of what both wish differently.
static const char *merge_numbers(struct http_server_options *into, const struct http_server_options *more)
{
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        const struct number *n = &numbers[i];
        uint8_t *ours = (uint8_t *)into + n->offset;
        const uint8_t *theirs = (const uint8_t *)more + n->offset;
        if (is_zero(ours, n->size))
            memcpy(ours, theirs, n->size);
        else if (!is_zero(theirs, n->size) && memcmp(ours, theirs, n->size) != 0)
            return n->name;
    }
    return NULL;
}

static const char *merge(struct http_server_options *into, const struct http_server_options *more)
{
    if ((into->tls == NULL) != (more->tls == NULL) ||
        (into->tls != NULL && !tls_server_options_equal(into->tls, more->tls)))
        return "tls";
    if (into->protocols != more->protocols)
        return "protocols";
    if (into->proxy_protocol != more->proxy_protocol)
        return "proxy_protocol";
    return merge_numbers(into, more);
}

// --- whose a request is ---

static struct shared_server *choose(const struct shared_listener *l, const struct http_exchange *x,
                                    const struct http_head *head)
{
    struct shared_server *best = l->users;
    enum shared_wish most = SHARED_NOT_MINE;
    for (struct shared_server *s = l->users; s != NULL; s = s->next) {
        enum shared_wish wish = s->wish(s->handler.arg, x, head);
        if (wish > most) {
            best = s;
            most = wish;
        }
    }
    return best;
}

static void on_head(void *arg, struct http_exchange *x, const struct http_head *head)
{
    const struct http_server_handler *h = &choose(arg, x, head)->handler;
    http_exchange_set_handler(x, h);
    h->on_head(h->arg, x, head);
}

static void on_problem(void *arg, const struct http_peer *peer, const char *text)
{
    const struct shared_listener *l = arg;
    const struct http_server_handler *h = &l->users->handler;
    if (h->on_problem != NULL)
        h->on_problem(h->arg, peer, text);
}

// --- life ---

static struct shared_server *add_user(struct shared_listener *l, const struct shared_server_user *user)
{
    struct shared_server *s = MEM_NEW(struct shared_server), **at = &l->users;
    *s = (struct shared_server){
        .listener = l,
        .name = mem_copy_text(user->name),
        .paths = mem_copy_text(user->paths),
        .wish = user->wish,
        .handler = user->options.handler,
    };
    while (*at != NULL)
        at = &(*at)->next;
    *at = s;
    return s;
}

static void free_user(struct shared_server *s)
{
    free(s->name);
    free(s->paths);
    free(s);
}

static struct shared_listener *find(struct shared_listener *all, const char *endpoint)
{
    if (!shared_server_may_share(endpoint))
        return NULL;
    while (all != NULL && strcmp(all->endpoint, endpoint) != 0)
        all = all->next;
    return all;
}

static enum err_code join(struct shared_listener *l, const struct shared_server_user *user, struct err *e)
{
    CHECK(l->users != NULL); // or it would not be in the list
    for (const struct shared_server *s = l->users; s != NULL; s = s->next)
        if (s->wish == user->wish)
            return err_set(e, ERR_INVALID, "%s listens on %s too, for the same requests: give them different endpoints",
                           s->name, l->endpoint);
    struct http_server_options merged = l->options;
    const char *different = merge(&merged, &user->options);
    if (different != NULL)
        return err_set(e, ERR_INVALID, "%s listens on %s too, with another %s: give both the same", l->users->name,
                       l->endpoint, different);
    l->options = merged;
    http_server_limit(l->server, &merged);
    return ERR_OK;
}

static enum err_code create(struct shared_listener **all, uv_loop_t *loop, const struct http_server_options *options,
                            struct shared_listener **out, struct err *e)
{
    struct shared_listener *l = MEM_NEW(struct shared_listener);
    struct http_server_options ours = *options;
    ours.handler = (struct http_server_handler){.arg = l, .on_head = on_head, .on_problem = on_problem};
    enum err_code rc = http_server_create(loop, &ours, &l->server, e);
    if (rc != ERR_OK) {
        free(l);
        return rc;
    }
    l->all = all;
    l->next = *all;
    *all = l;
    l->loop = loop;
    l->port = http_server_port(l->server);
    l->endpoint = mem_copy_text(options->endpoint);
    l->options = ours;
    if (options->tls != NULL) {
        l->tls = *options->tls;
        l->options.tls = &l->tls;
    }
    *out = l;
    return ERR_OK;
}

enum err_code shared_server_open(struct shared_listener **all, uv_loop_t *loop, const struct shared_server_user *user,
                                 struct shared_server **out, struct err *e)
{
    struct shared_listener *l = find(*all, user->options.endpoint);
    CHECK(l == NULL || l->loop == loop);
    enum err_code rc = l != NULL ? join(l, user, e) : create(all, loop, &user->options, &l, e);
    *out = rc == ERR_OK ? add_user(l, user) : NULL;
    return rc;
}

int shared_server_port(const struct shared_server *s)
{
    return s->listener->port;
}

static void add_text(char *out, size_t size, const char *text)
{
    size_t len = strlen(out);
    if (text != NULL)
        snprintf(out + len, size - len, "%s%s", len > 0 ? "; " : "", text);
}

void shared_server_paths(const struct shared_server *s, char *out, size_t size)
{
    out[0] = '\0';
    add_text(out, size, s->paths);
    for (const struct shared_server *o = s->listener->users; o != NULL; o = o->next)
        if (o != s)
            add_text(out, size, o->paths);
}

void shared_server_drain(struct shared_server *s)
{
    struct shared_listener *l = s->listener;
    if (l->draining || l->closing)
        return;
    l->draining = true;
    http_server_drain(l->server, NULL, NULL);
}

// Of those who have closed; with the last the listener goes.
static void end_users(struct shared_listener *l)
{
    struct shared_server *ended = NULL;
    for (struct shared_server **at = &l->users; *at != NULL;) {
        struct shared_server *s = *at;
        if (!s->closing) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        s->next = ended;
        ended = s;
    }
    if (l->users == NULL) {
        free(l->endpoint);
        free(l);
    }
    while (ended != NULL) {
        struct shared_server *s = ended;
        ended = s->next;
        if (s->on_closed != NULL)
            s->on_closed(s->on_closed_arg);
        free_user(s);
    }
}

static void on_server_closed(void *arg)
{
    struct shared_listener *l = arg;
    l->closed = true;
    end_users(l);
}

static void close_listener(struct shared_listener *l)
{
    struct shared_listener **at = l->all;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    l->closing = true;
    http_server_close(&l->server, on_server_closed, l);
}

void shared_server_close(struct shared_server **server, void (*on_closed)(void *arg), void *arg)
{
    struct shared_server *s = *server;
    if (s == NULL)
        return;
    *server = NULL;
    s->on_closed = on_closed;
    s->on_closed_arg = arg;
    s->closing = true;
    if (!s->listener->closing)
        close_listener(s->listener);
    else if (s->listener->closed)
        end_users(s->listener);
}
