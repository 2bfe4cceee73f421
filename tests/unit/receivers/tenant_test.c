// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/http_engine.h"
#include "receivers/tenant.h"
#include "tests/support/fake_env.h"

#include <stdlib.h>
#include <string.h>

#define AT offsetof(struct tenant_settings, required)

static const struct field fields[] = {TENANT_FIELDS(AT)};

static void check(const void *settings, const struct component_check *c)
{
    tenant_settings_check(settings, "tenant", c);
}

static const struct module module = {
    .type = "x", .settings_size = sizeof(struct tenant_settings), .fields = fields, .check = check};

static const struct tenant_settings *settings(struct fake_env *f, const char *yaml)
{
    void *s;
    char *messages = fake_settings(f, KIND_RECEIVER, &module, yaml, &s);
    assert_string_equal(messages, "");
    free(messages);
    return s;
}

// What a request with these values of X-Scope-OrgID has; "!" and the reason if it is refused.
static char *tenant(const struct tenant_settings *s, const char *const *values)
{
    struct http_header headers[4];
    struct http_exchange x = {.head = {.headers = headers}};
    struct bytes id;
    const char *why;
    for (; values[x.head.header_count] != NULL; x.head.header_count++)
        headers[x.head.header_count] = (struct http_header){"x-scope-orgid", values[x.head.header_count]};
    struct buf out;
    buf_init(&out, 1 << 10);
    if (tenant_of(&x, s, &id, &why))
        buf_add(&out, id.data, id.len);
    else
        buf_add_format(&out, "!%s", why);
    buf_add_byte(&out, '\0');
    return (char *)out.data;
}

static void expect(const struct tenant_settings *s, const char *const *values, const char *wanted)
{
    char *got = tenant(s, values);
    if (strncmp(got, wanted, strlen(wanted)) != 0 || (wanted[0] != '!' && strcmp(got, wanted) != 0))
        fail_msg("%s, not %s", got, wanted);
    free(got);
}

#define SENT(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NOTHING ((const char *const[]){NULL})

static void tenants_of_requests(void **state)
{
    (void)state;
    struct fake_env f;
    fake_env_init(&f, 1);
    const struct tenant_settings *s = settings(&f, "{}");
    assert_string_equal(s->attribute, "");
    expect(s, NOTHING, "");
    expect(s, SENT(""), "");
    expect(s, SENT("team-a"), "team-a");
    expect(s, SENT("a", "a"), "a");
    expect(s, SENT("", "a"), "a");
    expect(s, SENT("a", "b"), "!the header that names the tenant says several");
    expect(s, SENT("a|b"), "!the tenant is not valid");
    s = settings(&f, "{required: true}");
    expect(s, NOTHING, "!no tenant: send the header");
    expect(s, SENT(""), "!no tenant: send the header");
    expect(s, SENT("a"), "a");
    s = settings(&f, "{required: true, default: other}");
    expect(s, NOTHING, "other");
    expect(s, SENT("a"), "a");
    expect(s, SENT(".."), "!the tenant is not valid");
    s = settings(&f, "{header: X-Team}");
    expect(s, SENT("a"), "");
    s = settings(&f, "{header: X-SCOPE-ORGID, attribute: tenant.id}");
    expect(s, SENT("a"), "a");
    assert_string_equal(s->attribute, "tenant.id");
    fake_env_fini(&f);
}

static void what_is_valid(void **state)
{
    (void)state;
    char text[TENANT_MAX_BYTES + 2];
    memset(text, 'x', sizeof text - 1);
    text[TENANT_MAX_BYTES + 1] = '\0';
    assert_false(tenant_valid(bytes_from_text(text)));
    text[TENANT_MAX_BYTES] = '\0';
    assert_true(tenant_valid(bytes_from_text(text)));
    for (unsigned c = 0; c < 256; c++) {
        const uint8_t byte[] = {'a', (uint8_t)c};
        bool good =
            c != 0 && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!-_.*'()", (int)c) != NULL;
        assert_int_equal(tenant_valid((struct bytes){byte, sizeof byte}), good);
    }
    assert_true(tenant_valid(BYTES_LITERAL("...")));
    assert_false(tenant_valid(BYTES_LITERAL("..")));
    assert_false(tenant_valid(BYTES_LITERAL(".")));
    assert_false(tenant_valid(BYTES_LITERAL("")));
}

static void settings_that_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *words;
    } cases[] = {
        {"{header: 'x y'}", "tenant.header: is not the name of a header"},
        {"{default: 'a b'}", "tenant.default: is no tenant: at most 150"},
        {"{default: '..'}", "tenant.default: is no tenant"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fake_env f;
        void *s;
        fake_env_init(&f, 1);
        char *messages = fake_settings(&f, KIND_RECEIVER, &module, cases[i].yaml, &s);
        if (strstr(messages, cases[i].words) == NULL)
            fail_msg("%s: %s", cases[i].yaml, messages);
        free(messages);
        fake_env_fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tenants_of_requests),
        cmocka_unit_test(what_is_valid),
        cmocka_unit_test(settings_that_are_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
