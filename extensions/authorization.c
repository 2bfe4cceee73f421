// SPDX-License-Identifier: Apache-2.0
#include "extensions/authorization.h"

#include "base/base64.h"

#include <strings.h>

bool authorization_rest(const char *value, const char *scheme, struct bytes *rest_out)
{
    size_t len = strlen(scheme);
    if (len > 0 && (strncasecmp(value, scheme, len) != 0 || value[len] != ' '))
        return false;
    value += len;
    value += strspn(value, " \t");
    size_t rest = strlen(value);
    while (rest > 0 && strchr(" \t", value[rest - 1]) != NULL)
        rest--;
    *rest_out = (struct bytes){(const uint8_t *)value, rest};
    return true;
}

bool authorization_basic(const char *value, struct basic_credentials *out)
{
    struct bytes text;
    size_t len;
    if (!authorization_rest(value, "Basic", &text) || base64_decoded_max(text.len) > sizeof out->room ||
        !base64_decode(text, out->room, &len))
        return false;
    const uint8_t *colon = len > 0 ? memchr(out->room, ':', len) : NULL;
    if (colon == NULL)
        return false;
    size_t user = (size_t)(colon - out->room);
    out->user = (struct bytes){out->room, user};
    out->password = (struct bytes){colon + 1, len - user - 1};
    return true;
}
