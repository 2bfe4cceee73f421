// SPDX-License-Identifier: Apache-2.0
#include "receivers/tenant.h"

#include <stdio.h>
#include <strings.h>

#define RULE "at most 150 letters, digits and any of !-_.*'(), and neither \".\" nor \"..\""

static bool is_tenant_byte(uint8_t c)
{
    bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'), digit = c >= '0' && c <= '9';
    return letter || digit || (c != '\0' && strchr("!-_.*'()", c) != NULL);
}

bool tenant_valid(struct bytes id)
{
    bool good = id.len > 0 && id.len <= TENANT_MAX_BYTES && !bytes_equal_text(id, ".") && !bytes_equal_text(id, "..");
    for (size_t i = 0; good && i < id.len; i++)
        good = is_tenant_byte(id.data[i]);
    return good;
}

void tenant_settings_check(const struct tenant_settings *s, const char *key, const struct component_check *check)
{
    char at[128];
    snprintf(at, sizeof at, "%s.header", key);
    if (!http_header_valid(s->header, "x"))
        check_error(check, at, "is not the name of a header: letters, digits and -");
    snprintf(at, sizeof at, "%s.default", key);
    if (s->otherwise != NULL && !tenant_valid(bytes_from_text(s->otherwise)))
        check_error(check, at, "is no tenant: " RULE);
}

// Of all the header's lines; false if they do not say the same.
static bool find_header(const struct http_exchange *x, const char *name, struct bytes *out)
{
    const struct http_head *head = http_exchange_head(x);
    for (size_t i = 0; i < head->header_count; i++) {
        const struct bytes value = bytes_from_text(head->headers[i].value);
        if (strcasecmp(head->headers[i].name, name) != 0)
            continue;
        if (out->len > 0 && !bytes_equal(*out, value))
            return false;
        *out = value;
    }
    return true;
}

bool tenant_of(const struct http_exchange *x, const struct tenant_settings *s, struct bytes *out,
               const char **why_not_out)
{
    *out = (struct bytes){NULL, 0};
    *why_not_out = "the header that names the tenant says several: send it once";
    if (!find_header(x, s->header, out))
        return false;
    if (out->len == 0)
        *out = bytes_from_text(s->otherwise);
    *why_not_out = "no tenant: send the header that names it, X-Scope-OrgID unless it is configured otherwise";
    if (out->len == 0)
        return !s->required;
    *why_not_out = "the tenant is not valid: " RULE;
    return tenant_valid(*out);
}
