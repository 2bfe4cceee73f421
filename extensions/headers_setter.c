// SPDX-License-Identifier: Apache-2.0
// Headers of outgoing requests: fixed ones, from files, or from the resource attributes of what is sent.
#include "base/mem.h"
#include "base/secret_line.h"
#include "extensions/extensions.h"
#include "net/authenticator.h"

#include <pthread.h>
#include <strings.h>

enum header_action { HEADER_INSERT, HEADER_UPDATE, HEADER_UPSERT, HEADER_DELETE };

enum { NO_ATTRIBUTE = -1, MAX_FILE_VALUE_BYTES = 8 << 10 };

struct header_rule {
    int action; // enum header_action
    const char *key, *value, *value_file, *from_attribute, *from_context, *default_value;
};

struct setter_settings {
    struct config_structs headers; // struct header_rule
    const char *additional_auth;
};

// What changes of a rule.
struct rule_state {
    struct secret_line line; // of value_file
    ptrdiff_t attribute;     // in the authenticator's list, NO_ATTRIBUTE = none
};

struct setter {
    struct extension extension;
    struct authenticator authenticator;
    const struct setter_settings *settings;
    struct authenticator *next; // additional_auth; NULL = none
    const char **attributes;
    pthread_mutex_t lock; // of the states' texts and files
    struct rule_state *states;
};

#define RULE(member) offsetof(struct header_rule, member)
#define SETTING(member) offsetof(struct setter_settings, member)

static const char *const action_names[] = {[HEADER_INSERT] = "insert",
                                           [HEADER_UPDATE] = "update",
                                           [HEADER_UPSERT] = "upsert",
                                           [HEADER_DELETE] = "delete",
                                           NULL};

static const struct field rule_fields[] = {
    {.name = "action",
     .type = FIELD_ENUM,
     .offset = RULE(action),
     .default_text = "upsert",
     .names = action_names,
     .help = "insert: where it is missing; update: where it is there; upsert: in any case; delete"},
    {.name = "key", .type = FIELD_STRING, .offset = RULE(key), .required = true, .help = "name of the header"},
    {.name = "value", .type = FIELD_SECRET, .offset = RULE(value), .help = "what it says"},
    {.name = "value_file",
     .type = FIELD_STRING,
     .offset = RULE(value_file),
     .help = "the same from a file of one line; read again when it changes"},
    {.name = "from_attribute",
     .type = FIELD_STRING,
     .offset = RULE(from_attribute),
     .help = "the same from this resource attribute; requests are made apart for each of its values"},
    {.name = "default_value",
     .type = FIELD_STRING,
     .offset = RULE(default_value),
     .help = "where that attribute is missing; without it the header is left alone"},
    {.name = "from_context",
     .type = FIELD_STRING,
     .offset = RULE(from_context),
     .help = "not possible: see from_attribute"},
    {.name = NULL},
};

static const struct field setter_fields[] = {
    {.name = "headers",
     .type = FIELD_STRUCT_LIST,
     .fields = rule_fields,
     .struct_size = sizeof(struct header_rule),
     .offset = SETTING(headers),
     .help = "done in order, after what additional_auth does"},
    {.name = "additional_auth",
     .type = FIELD_STRING,
     .offset = SETTING(additional_auth),
     .help = "id of another extension that adds credentials, too"},
    {.name = NULL},
};

static const struct header_rule *rules_of(const struct setter_settings *s)
{
    return s->headers.items;
}

static bool is_value(const char *text)
{
    return http_header_valid("x", text);
}

// --- files ---

static bool refresh(struct setter *x, bool at_once)
{
    const struct component *c = &x->extension.component;
    bool changed = false;
    for (size_t i = 0; i < x->settings->headers.count; i++)
        changed =
            secret_line_refresh(&x->states[i].line, clock_monotonic_nanos(c->env->clock), at_once, &c->log) || changed;
    return changed;
}

// --- requests ---

// NULL: the header is left alone.
static const char *value_of(const struct header_rule *r, const struct rule_state *s, const char *const *values)
{
    if (s->attribute == NO_ATTRIBUTE)
        return s->line.text != NULL ? s->line.text : r->value;
    return values != NULL && values[s->attribute] != NULL ? values[s->attribute] : r->default_value;
}

static void apply_rule(const struct header_rule *r, const char *value, struct header_set *headers)
{
    bool there = header_set_has(headers, r->key);
    if (r->action == HEADER_DELETE)
        header_set_remove(headers, r->key);
    else if (value != NULL && (r->action == HEADER_UPSERT || there == (r->action == HEADER_UPDATE)))
        header_set_put(headers, r->key, value);
}

static void apply(struct authenticator *self, const char *const *values, struct header_set *headers)
{
    struct setter *x = CONTAINER_OF(self, struct setter, authenticator);
    if (x->next != NULL)
        x->next->ops->apply(x->next, NULL, headers);
    pthread_mutex_lock(&x->lock);
    (void)refresh(x, false);
    for (size_t i = 0; i < x->settings->headers.count; i++) {
        const struct header_rule *r = &rules_of(x->settings)[i];
        apply_rule(r, value_of(r, &x->states[i], values), headers);
    }
    pthread_mutex_unlock(&x->lock);
}

static bool renew(struct authenticator *self)
{
    struct setter *x = CONTAINER_OF(self, struct setter, authenticator);
    bool changed = x->next != NULL && x->next->ops->renew(x->next);
    pthread_mutex_lock(&x->lock);
    changed = refresh(x, true) || changed;
    pthread_mutex_unlock(&x->lock);
    return changed;
}

// --- settings ---

// What the transports write themselves.
static bool is_reserved(const char *name)
{
    static const char *const names[] = {"content-encoding",  "content-length", "content-type",
                                        "connection",        "host",           "te",
                                        "transfer-encoding", "upgrade"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return strncasecmp(name, "grpc-", 5) == 0;
}

static void check_source(const struct header_rule *r, const char *at, const struct component_check *check)
{
    int sources = (r->value != NULL) + (r->value_file != NULL) + (r->from_attribute != NULL);
    struct secret_line tried = {0};
    struct err e = {0};
    if (r->from_context != NULL)
        check_error(check, at,
                    "from_context is not possible: what came in with a request is not kept with its profiles; use "
                    "from_attribute with a resource attribute");
    else if (r->action == HEADER_DELETE && sources > 0)
        check_error(check, at, "delete takes no value");
    else if (r->action != HEADER_DELETE && sources != 1)
        check_error(check, at, "give one of value, value_file and from_attribute");
    if (r->default_value != NULL && r->from_attribute == NULL)
        check_error(check, at, "default_value belongs to from_attribute");
    if ((r->value != NULL && !is_value(r->value)) || (r->default_value != NULL && !is_value(r->default_value)))
        check_error(check, at, "the value has line ends or other control characters");
    if (secret_line_load(&tried, r->value_file, MAX_FILE_VALUE_BYTES, is_value, &e) != ERR_OK)
        check_error(check, at, "value_file: %s", e.text);
    secret_text_forget(&tried.text);
}

static void check_rule(const struct header_rule *r, size_t number, const struct component_check *check)
{
    char at[64];
    snprintf(at, sizeof at, "headers[%zu]", number);
    if (r->key == NULL)
        return; // told already
    if (!http_header_valid(r->key, "x"))
        check_error(check, at, "key is not the name of a header: letters, digits and -");
    else if (is_reserved(r->key))
        check_error(check, at, "%s belongs to the transport", r->key);
    check_source(r, at, check);
}

static bool is_setter(const char *id)
{
    size_t len = strlen("headers_setter");
    return strncmp(id, "headers_setter", len) == 0 && (id[len] == '\0' || id[len] == '/');
}

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct setter_settings *s = settings;
    if (s->headers.count == 0)
        check_error(check, "headers", "is empty: it needs one header at least");
    for (size_t i = 0; i < s->headers.count; i++)
        check_rule(&rules_of(s)[i], i, check);
    if (s->additional_auth != NULL && is_setter(s->additional_auth))
        check_error(check, "additional_auth", "names a headers_setter: put its headers here instead");
    else
        auth_check(check, "additional_auth", s->additional_auth, AUTH_ROLE_CLIENT);
}

// --- life ---

static const struct authenticator_ops ops = {.apply = apply, .renew = renew};

static ptrdiff_t attribute_index(struct setter *x, const char *name)
{
    struct authenticator *a = &x->authenticator;
    for (size_t i = 0; i < a->attribute_count; i++)
        if (strcmp(x->attributes[i], name) == 0)
            return (ptrdiff_t)i;
    x->attributes[a->attribute_count] = name;
    return (ptrdiff_t)a->attribute_count++;
}

static enum err_code create(struct extension *self, const void *settings, struct err *e)
{
    (void)e;
    struct setter *x = (struct setter *)self;
    x->settings = settings;
    size_t count = x->settings->headers.count;
    x->states = mem_alloc(count * sizeof *x->states);
    x->attributes = mem_alloc(count * sizeof *x->attributes);
    x->authenticator = (struct authenticator){.ops = &ops, .attributes = x->attributes};
    for (size_t i = 0; i < count; i++) {
        const char *name = rules_of(x->settings)[i].from_attribute;
        x->states[i].attribute = name != NULL ? attribute_index(x, name) : NO_ATTRIBUTE;
    }
    CHECK(pthread_mutex_init(&x->lock, NULL) == 0);
    return ERR_OK;
}

static enum err_code start(struct extension *self, struct err *e)
{
    struct setter *x = (struct setter *)self;
    const struct component_env *env = self->component.env;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < x->settings->headers.count; i++)
        rc = secret_line_load(&x->states[i].line, rules_of(x->settings)[i].value_file, MAX_FILE_VALUE_BYTES, is_value,
                              e);
    if (rc != ERR_OK || x->settings->additional_auth == NULL)
        return rc;
    x->next = env->find_authenticator(env->service, x->settings->additional_auth, AUTH_ROLE_CLIENT, e);
    return x->next != NULL ? ERR_OK : e->code;
}

static void stop(struct extension *self)
{
    component_stopped(&self->component);
}

static void destroy(struct extension *self)
{
    struct setter *x = (struct setter *)self;
    for (size_t i = 0; i < x->settings->headers.count; i++)
        secret_text_forget(&x->states[i].line.text);
    free(x->states);
    free(x->attributes);
    pthread_mutex_destroy(&x->lock);
}

static struct authenticator *authenticator_of(struct extension *self)
{
    return &((struct setter *)self)->authenticator;
}

static unsigned auth_roles(const void *settings)
{
    (void)settings;
    return AUTH_ROLE_CLIENT;
}

const struct extension_module headers_setter_extension = {
    .module =
        {
            .type = "headers_setter",
            .help = "Sets headers of outgoing requests: fixed ones, from files, from resource attributes.",
            .settings_size = sizeof(struct setter_settings),
            .instance_size = sizeof(struct setter),
            .fields = setter_fields,
            .check = check_settings,
        },
    .create = create,
    .start = start,
    .stop = stop,
    .destroy = destroy,
    .authenticator = authenticator_of,
    .auth_roles = auth_roles,
};
