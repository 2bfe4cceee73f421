// SPDX-License-Identifier: Apache-2.0
// What a plain scalar means, and which names are special.
#include "base/text.h"
#include "config/internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

bool config_scalar_is_null(const char *text)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};
    return is_one_of(text, words);
}

bool config_scalar_bool(const char *text, bool *value_out)
{
    static const char *const yes[] = {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", NULL};
    static const char *const no[] = {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", NULL};
    *value_out = is_one_of(text, yes);
    return *value_out || is_one_of(text, no);
}

static bool parse_hex(const char *digits, bool negative, int64_t *value_out)
{
    char *end;
    if (!isxdigit((unsigned char)*digits))
        return false;
    errno = 0;
    unsigned long long value = strtoull(digits, &end, 16);
    if (errno || *end || value > INT64_MAX)
        return false;
    *value_out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

bool config_scalar_int(const char *text, int64_t *value_out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
        return parse_hex(digits + 2, *text == '-', value_out);
    // 0123 is octal to some readers and decimal to others: neither here.
    if (digits[0] == '0' && digits[1])
        return false;
    return int64_parse(text, value_out);
}

bool config_scalar_double(const char *text, double *value_out)
{
    char *end;
    const char *digits = text + (*text == '-' || *text == '+');
    // strtod also takes "inf", "nan" and hex, which are strings in YAML.
    if (strspn(digits, "0123456789.eE+-") != strlen(digits) || !strpbrk(digits, "0123456789") || digits[0] == '+' ||
        digits[0] == '-' || digits[0] == 'e' || digits[0] == 'E')
        return false;
    if (digits[0] == '0' && isdigit((unsigned char)digits[1]))
        return false;
    *value_out = strtod(text, &end);
    return *end == '\0';
}

bool config_env_name_valid(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return *name == '\0';
}

size_t config_scheme_length(const char *uri)
{
    size_t len = 0;
    if (!isalpha((unsigned char)uri[0]))
        return 0;
    while (isalnum((unsigned char)uri[len]) || (uri[len] && strchr("+.-", uri[len])))
        len++;
    return uri[len] == ':' && len >= 2 ? len : 0;
}

bool config_key_is_secret(const char *key)
{
    static const char *const parts[] = {"token",      "passwd",  "password",   "secret",      "authorization",
                                        "api_key",    "api-key", "apikey",     "key_pem",     "cookie",
                                        "credential", "headers", "access_key", "private_key", "passphrase"};
    size_t len = strlen(key);
    if (len > 5 && strcasecmp(key + len - 5, "_file") == 0)
        return false;
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (strcasestr(key, parts[i]))
            return true;
    return false;
}
