// SPDX-License-Identifier: Apache-2.0
// User and password (RFC 7617): sent with what goes out, or asked for of what comes in.
#include "extensions/basicauth.h"

#include "base/mem.h"
#include "extensions/extensions.h"

#define SETTING(member) offsetof(struct basic_settings, member)

static const struct field htpasswd_fields[] = {
    {.name = "file",
     .type = FIELD_STRING,
     .offset = SETTING(htpasswd_file),
     .help = "lines of htpasswd; read again when it changes"},
    {.name = "inline",
     .type = FIELD_SECRET,
     .offset = SETTING(htpasswd_inline),
     .help = "the same, in place; a user's line here counts instead of one in the file"},
    {.name = NULL},
};

static const struct field client_fields[] = {
    {.name = "username", .type = FIELD_STRING, .offset = SETTING(username), .help = "the user's name"},
    {.name = "username_file",
     .type = FIELD_STRING,
     .offset = SETTING(username_file),
     .help = "the same from a file; read again when it changes"},
    {.name = "password", .type = FIELD_SECRET, .offset = SETTING(password), .help = "the password"},
    {.name = "password_file",
     .type = FIELD_STRING,
     .offset = SETTING(password_file),
     .help = "the same from a file; read again when it changes"},
    {.name = NULL},
};

static const struct field basic_fields[] = {
    {.name = "htpasswd",
     .type = FIELD_STRUCT,
     .fields = htpasswd_fields,
     .present_offset = 1 + SETTING(has_htpasswd),
     .help = "for a receiver: users and hashes of their passwords"},
    {.name = "client_auth",
     .type = FIELD_STRUCT,
     .fields = client_fields,
     .present_offset = 1 + SETTING(has_client),
     .help = "for an exporter: what it sends"},
    {.name = NULL},
};

static void check_server(const struct basic_settings *s, const struct component_check *check)
{
    struct basic tried = {.settings = s};
    struct err e = {0};
    htpasswd_init(&tried.users);
    if (s->htpasswd_file == NULL && s->htpasswd_inline == NULL)
        check_error(check, "htpasswd", "no users are given: set htpasswd.file or htpasswd.inline");
    else if (basic_load_users(&tried, &e) != ERR_OK)
        check_error(check, s->htpasswd_file != NULL ? "htpasswd.file" : "htpasswd.inline", "%s", e.text);
    else if (tried.users.count == 0)
        check_error(check, "htpasswd.inline", "there is no user in it: it has lines of user:hash");
    basic_free_secrets(&tried);
}

static bool has_one(const char *a, const char *b)
{
    return (a == NULL) != (b == NULL);
}

static void check_client(const struct basic_settings *s, const struct component_check *check)
{
    struct basic tried = {.settings = s};
    struct err e = {0};
    bool complete = has_one(s->username, s->username_file) && has_one(s->password, s->password_file);
    if (!has_one(s->username, s->username_file))
        check_error(check, "client_auth", "give either username or username_file");
    if (!has_one(s->password, s->password_file))
        check_error(check, "client_auth", "give either password or password_file");
    if (complete && basic_load_client(&tried, &e) != ERR_OK)
        check_error(check,
                    tried.name.text == NULL && s->username_file != NULL ? "client_auth.username_file"
                                                                        : "client_auth.password_file",
                    "%s", e.text);
    const char *name = tried.name.text != NULL ? tried.name.text : s->username;
    if (name != NULL && strchr(name, ':') != NULL)
        check_error(check, "client_auth", "the user's name has a colon: Basic cannot send it");
    basic_free_secrets(&tried);
}

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct basic_settings *s = settings;
    if (s->has_htpasswd == s->has_client)
        check_error(check, "", "has one role: give either htpasswd (for receivers) or client_auth (for exporters)");
    if (s->has_htpasswd)
        check_server(s, check);
    if (s->has_client)
        check_client(s, check);
}

static enum err_code create(struct extension *self, const void *settings, struct err *e)
{
    (void)e;
    struct basic *b = (struct basic *)self;
    b->settings = settings;
    b->authenticator.ops = b->settings->has_client ? &basic_client_ops : &basic_server_ops;
    htpasswd_init(&b->users);
    CHECK(pthread_mutex_init(&b->lock, NULL) == 0);
    return ERR_OK;
}

static enum err_code start(struct extension *self, struct err *e)
{
    struct basic *b = (struct basic *)self;
    if (b->settings->has_client)
        return basic_load_client(b, e);
    b->cache = MEM_NEW(struct login_cache);
    login_cache_init(b->cache, basic_now(b));
    return basic_load_users(b, e);
}

static void stop(struct extension *self)
{
    component_stopped(&self->component);
}

static void destroy(struct extension *self)
{
    struct basic *b = (struct basic *)self;
    basic_free_secrets(b);
    free(b->cache);
    pthread_mutex_destroy(&b->lock);
}

static struct authenticator *authenticator_of(struct extension *self)
{
    return &((struct basic *)self)->authenticator;
}

static unsigned auth_roles(const void *settings)
{
    const struct basic_settings *s = settings;
    return (s->has_htpasswd ? AUTH_ROLE_SERVER : 0U) | (s->has_client ? AUTH_ROLE_CLIENT : 0U);
}

const struct extension_module basicauth_extension = {
    .module =
        {
            .type = "basicauth",
            .help = "Sends a user and a password, or asks for them.",
            .settings_size = sizeof(struct basic_settings),
            .instance_size = sizeof(struct basic),
            .fields = basic_fields,
            .check = check_settings,
        },
    .create = create,
    .start = start,
    .stop = stop,
    .destroy = destroy,
    .authenticator = authenticator_of,
    .auth_roles = auth_roles,
};
