// SPDX-License-Identifier: Apache-2.0
#include "net/url.h"

#include "base/mem.h"
#include "net/http_client.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <strings.h>

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_host_byte(uint8_t c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
}

static size_t find_any(struct bytes text, const char *set)
{
    size_t i = 0;
    while (i < text.len && strchr(set, text.data[i]) == NULL)
        i++;
    return i;
}

static struct bytes skip(struct bytes b, size_t n)
{
    return (struct bytes){b.data + n, b.len - n};
}

static enum err_code parse_port(struct bytes text, uint32_t min, uint16_t *port_out, struct err *e)
{
    uint32_t port = 0;
    bool ok = text.len > 0 && text.len <= 5;
    for (size_t i = 0; ok && i < text.len; i++) {
        ok = is_digit(text.data[i]);
        port = port * 10 + text.data[i] - '0';
    }
    if (!ok || port > 65535 || port < min)
        return err_set(e, ERR_INVALID, "port \"%.*s\" is not a number in %u..65535", BYTES_PRINT(text), min);
    *port_out = (uint16_t)port;
    return ERR_OK;
}

static enum err_code check_ipv6(struct bytes host, struct err *e)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    bool ok = host.len < sizeof text;
    if (ok) {
        memcpy(text, host.data, host.len);
        text[host.len] = '\0';
        ok = inet_pton(AF_INET6, text, &address) == 1;
    }
    return ok ? ERR_OK : err_set(e, ERR_INVALID, "\"[%.*s]\" is not an IPv6 address", BYTES_PRINT(host));
}

static enum err_code check_name(struct bytes host, struct err *e)
{
    bool ok = host.len > 0 && host.len <= URL_HOST_MAX;
    for (size_t i = 0; ok && i < host.len; i++)
        ok = is_host_byte(host.data[i]);
    if (ok)
        return ERR_OK;
    return err_set(e, ERR_INVALID, host.len == 0 ? "the host is missing" : "\"%.*s\" is not a host name",
                   BYTES_PRINT(host));
}

// host[:port], the host in brackets when it is IPv6; port_text is empty without a port.
static enum err_code split_host(struct bytes text, struct bytes *host_out, bool *is_ipv6_out, struct bytes *port_text,
                                bool *has_port_out, struct err *e)
{
    *is_ipv6_out = text.len > 0 && text.data[0] == '[';
    size_t end = find_any(text, *is_ipv6_out ? "]" : ":");
    if (*is_ipv6_out && end == text.len)
        return err_set(e, ERR_INVALID, "the bracket of an IPv6 address is not closed");
    size_t begin = *is_ipv6_out ? 1 : 0;
    *host_out = (struct bytes){text.data + begin, end - begin};
    struct bytes rest = skip(text, end + begin);
    *has_port_out = rest.len > 0;
    if (rest.len > 0 && rest.data[0] != ':')
        return err_set(e, ERR_INVALID, "\"%.*s\" behind the host is not a port", BYTES_PRINT(rest));
    *port_text = rest.len > 0 ? skip(rest, 1) : rest;
    return *is_ipv6_out ? check_ipv6(*host_out, e) : check_name(*host_out, e);
}

static enum err_code parse_authority(struct bytes authority, struct url *u, struct err *e)
{
    size_t at = authority.len;
    while (at > 0 && authority.data[at - 1] != '@')
        at--;
    if (at > 0) {
        u->user_info = (struct bytes){authority.data, at - 1};
        authority = skip(authority, at);
    }
    struct bytes port = {NULL, 0};
    bool has_port = false;
    enum err_code code = split_host(authority, &u->host, &u->is_ipv6, &port, &has_port, e);
    if (code != ERR_OK || !has_port)
        return code;
    return parse_port(port, 1, &u->port, e);
}

static enum err_code check_target(struct bytes target, struct err *e)
{
    for (size_t i = 0; i < target.len; i++) {
        uint8_t c = target.data[i];
        if (c == '#')
            return err_set(e, ERR_INVALID, "a fragment (#...) has no meaning here");
        if (c <= ' ' || c >= 0x7F)
            return err_set(e, ERR_INVALID, "byte 0x%02x in the path must be written as %%%02X", c, c);
    }
    return ERR_OK;
}

enum err_code url_parse(const char *text, struct url *out, struct err *e)
{
    *out = (struct url){0};
    struct bytes rest = bytes_from_text(text);
    if (strncasecmp(text, "https://", 8) == 0) {
        out->tls = true;
        rest = skip(rest, 8);
    } else if (strncasecmp(text, "http://", 7) == 0) {
        rest = skip(rest, 7);
    } else {
        return err_set(e, ERR_INVALID, "a URL must begin with http:// or https://");
    }
    out->port = out->tls ? 443 : 80;
    size_t end = find_any(rest, "/?#");
    out->target = skip(rest, end);
    enum err_code code = parse_authority((struct bytes){rest.data, end}, out, e);
    if (code == ERR_OK)
        code = check_target(out->target, e);
    // a password with a bare '/' in it would land in what looks like a port or a path
    if (code != ERR_OK && strchr(text, '@') != NULL)
        err_set(e, code,
                "the URL is malformed; it is not shown because it may hold a password (write / as %%2F there)");
    return code;
}

char *url_authority(const struct url *u, bool always_port, char out[URL_AUTHORITY_MAX])
{
    char port[8] = "";
    if (always_port || u->port != (u->tls ? 443 : 80))
        snprintf(port, sizeof port, ":%u", u->port);
    snprintf(out, URL_AUTHORITY_MAX, u->is_ipv6 ? "[%.*s]%s" : "%.*s%s", BYTES_PRINT(u->host), port);
    return out;
}

char *authority_format(const char *host, uint16_t port, char out[URL_AUTHORITY_MAX])
{
    snprintf(out, URL_AUTHORITY_MAX, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
    return out;
}

enum err_code endpoint_parse(const char *text, char host_out[URL_HOST_MAX + 1], uint16_t *port_out, struct err *e)
{
    struct bytes host, port;
    bool is_ipv6, has_port;
    enum err_code code = split_host(bytes_from_text(text), &host, &is_ipv6, &port, &has_port, e);
    if (code == ERR_OK && !has_port)
        code = err_set(e, ERR_INVALID, "the port is missing: write host:port");
    if (code == ERR_OK)
        code = parse_port(port, 0, port_out, e);
    if (code == ERR_OK) {
        memcpy(host_out, host.data, host.len);
        host_out[host.len] = '\0';
    }
    return code;
}

enum err_code http_url_check(const char *url, struct err *e)
{
    struct url parts;
    enum err_code code = url_parse(url, &parts, e);
    if (code == ERR_OK && parts.user_info.data != NULL)
        return err_set(e, ERR_INVALID, "a URL must not carry a user name or password: use headers or an authenticator");
    return code;
}

char *http_url_join(const char *base, const char *path)
{
    size_t query = strcspn(base, "?"), len = query;
    while (len > 0 && base[len - 1] == '/')
        len--;
    while (*path == '/')
        path++;
    size_t size = strlen(base) + strlen(path) + 2;
    char *joined = mem_alloc(size);
    snprintf(joined, size, "%.*s/%s%s", (int)len, base, path, base + query);
    return joined;
}
