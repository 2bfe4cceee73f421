// SPDX-License-Identifier: Apache-2.0
#include "net/proxy.h"

#include "base/mem.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <strings.h>

struct address {
    size_t len; // 4 or 16
    uint8_t bytes[16];
};

static char *copy_bytes(struct bytes b)
{
    char *text = mem_alloc(b.len + 1);
    memcpy(text, b.data, b.len);
    return text;
}

static char *basic_authorization(struct bytes user_info)
{
    char *plain = mem_alloc(user_info.len + 2);
    size_t len = user_info.len;
    memcpy(plain, user_info.data, len);
    if (memchr(plain, ':', len) == NULL)
        plain[len++] = ':';
    char *value = NULL;
    if (percent_decode(plain, &len)) {
        value = mem_alloc(7 + 4 * (len / 3 + 1));
        memcpy(value, "Basic ", 6);
        EVP_EncodeBlock((unsigned char *)value + 6, (const unsigned char *)plain, (int)len);
    }
    free(plain);
    return value;
}

static void proxy_destroy(struct proxy **p)
{
    if (*p == NULL)
        return;
    free((*p)->host);
    free((*p)->authorization);
    free(*p);
    *p = NULL;
}

static enum err_code proxy_fill(struct proxy *p, const char *text, struct err *e)
{
    struct url u;
    enum err_code code = url_parse(text, &u, e);
    if (code != ERR_OK)
        return code;
    if (u.tls)
        return err_set(e, ERR_UNSUPPORTED, "a proxy that is itself reached by https:// is not supported: use http://");
    if (u.target.len > 1 || (u.target.len == 1 && u.target.data[0] != '/'))
        return err_set(e, ERR_INVALID, "the URL of a proxy has no path");
    p->host = copy_bytes(u.host);
    p->port = u.port;
    if (u.user_info.data != NULL && (p->authorization = basic_authorization(u.user_info)) == NULL)
        return err_set(e, ERR_INVALID, "the user info has a broken %%-escape");
    return ERR_OK;
}

static enum err_code proxy_create(const char *text, struct proxy **out, struct err *e)
{
    *out = MEM_NEW(struct proxy);
    // "proxy:3128" without a scheme is common
    size_t size = strlen(text) + sizeof "http://";
    char *full = mem_alloc(size);
    snprintf(full, size, "%s%s", strstr(text, "://") ? "" : "http://", text);
    enum err_code code =
        size > 4096 ? err_set(e, ERR_LIMIT, "the URL is longer than 4096 bytes") : proxy_fill(*out, full, e);
    free(full);
    if (code != ERR_OK)
        proxy_destroy(out);
    return code;
}

static const char *env_either(const char *upper, const char *lower)
{
    const char *value = getenv(upper);
    return value != NULL && *value != '\0' ? value : getenv(lower);
}

static enum err_code from_variable(const char *upper, const char *lower, struct proxy **out, struct err *e)
{
    const char *value = env_either(upper, lower);
    if (value == NULL || *value == '\0')
        return ERR_OK;
    enum err_code code = proxy_create(value, out, e);
    if (code != ERR_OK)
        err_prefix(e, "environment variable %s", upper);
    return code;
}

static enum err_code from_environment(struct proxy_rules *r, struct err *e)
{
    r->from_environment = true;
    enum err_code code = from_variable("HTTP_PROXY", "http_proxy", &r->http, e);
    if (code == ERR_OK)
        code = from_variable("HTTPS_PROXY", "https_proxy", &r->https, e);
    r->no_proxy = mem_copy_text(env_either("NO_PROXY", "no_proxy"));
    return code;
}

enum err_code proxy_rules_init(struct proxy_rules *out, const char *proxy_url, struct err *e)
{
    *out = (struct proxy_rules){0};
    enum err_code code = ERR_OK;
    if (proxy_url == NULL)
        code = from_environment(out, e);
    else if ((code = proxy_create(proxy_url, &out->http, e)) != ERR_OK)
        err_prefix(e, "proxy_url");
    if (proxy_url != NULL)
        out->https = out->http;
    if (code != ERR_OK)
        proxy_rules_fini(out);
    return code;
}

void proxy_rules_fini(struct proxy_rules *r)
{
    if (r->https == r->http)
        r->https = NULL;
    proxy_destroy(&r->http);
    proxy_destroy(&r->https);
    free(r->no_proxy);
    r->no_proxy = NULL;
}

static bool parse_address(struct bytes text, struct address *out)
{
    char copy[INET6_ADDRSTRLEN];
    if (text.len >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    if (inet_pton(AF_INET, copy, out->bytes) == 1)
        out->len = 4;
    else if (inet_pton(AF_INET6, copy, out->bytes) == 1)
        out->len = 16;
    else
        return false;
    return true;
}

static bool in_network(const struct address *a, const struct address *network, size_t bits)
{
    if (a->len != network->len || bits > 8 * a->len)
        return false;
    if (memcmp(a->bytes, network->bytes, bits / 8) != 0)
        return false;
    if (bits % 8 == 0)
        return true;
    uint8_t mask = (uint8_t)(0xFF00u >> (bits % 8));
    return ((a->bytes[bits / 8] ^ network->bytes[bits / 8]) & mask) == 0;
}

static bool parse_number(struct bytes text, size_t max, size_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || n > max)
            return false;
        n = n * 10 + text.data[i] - '0';
    }
    *out = n;
    return text.len > 0 && n <= max;
}

static bool equal_fold(struct bytes a, struct bytes b)
{
    return a.len == b.len && strncasecmp((const char *)a.data, (const char *)b.data, a.len) == 0;
}

static bool name_matches(struct bytes entry, struct bytes host)
{
    if (entry.len > 0 && entry.data[0] == '*')
        entry = (struct bytes){entry.data + 1, entry.len - 1};
    if (entry.len == 0)
        return false;
    if (host.len <= entry.len)
        return equal_fold(entry, host);
    struct bytes tail = {host.data + (host.len - entry.len), entry.len};
    return equal_fold(entry, tail) && (entry.data[0] == '.' || tail.data[-1] == '.');
}

// Cuts ":port" or the brackets off an entry; false when the port is another than the URL's.
static bool entry_port_fits(struct bytes *entry, uint16_t port)
{
    bool bracket = entry->len > 0 && entry->data[0] == '[';
    const uint8_t *end = entry->data + entry->len;
    const uint8_t *close = bracket ? memchr(entry->data, ']', entry->len) : NULL;
    const uint8_t *colon = close != NULL ? close + 1 : memchr(entry->data, ':', entry->len);
    bool bare_ipv6 = !bracket && colon != NULL && memchr(colon + 1, ':', (size_t)(end - colon - 1)) != NULL;
    if (bare_ipv6)
        return true;
    size_t wanted = port;
    if (colon != NULL && colon < end)
        if (!parse_number((struct bytes){colon + 1, (size_t)(end - colon - 1)}, 65535, &wanted))
            return false;
    if (close != NULL)
        *entry = (struct bytes){entry->data + 1, (size_t)(close - entry->data) - 1};
    else if (colon != NULL)
        entry->len = (size_t)(colon - entry->data);
    return wanted == port;
}

static bool entry_matches(struct bytes entry, const struct url *u)
{
    struct address host, network;
    bool host_is_address = parse_address(u->host, &host);
    const uint8_t *slash = memchr(entry.data, '/', entry.len);
    size_t bits;
    if (slash != NULL) {
        struct bytes base = {entry.data, (size_t)(slash - entry.data)};
        struct bytes tail = {slash + 1, entry.len - base.len - 1};
        return host_is_address && parse_address(base, &network) && parse_number(tail, 128, &bits) &&
               in_network(&host, &network, bits);
    }
    if (!entry_port_fits(&entry, u->port))
        return false;
    if (host_is_address)
        return parse_address(entry, &network) && in_network(&host, &network, 8 * network.len);
    return name_matches(entry, u->host);
}

bool no_proxy_matches(const char *list, const struct url *u)
{
    while (list != NULL && *list != '\0') {
        size_t len = strcspn(list, ", \t");
        struct bytes entry = {(const uint8_t *)list, len};
        if (len > 0 && (bytes_equal_text(entry, "*") || entry_matches(entry, u)))
            return true;
        list += len + (list[len] != '\0');
    }
    return false;
}

static bool is_loopback(const struct url *u)
{
    struct address a;
    static const uint8_t one[16] = {[15] = 1};
    if (!parse_address(u->host, &a))
        return equal_fold(u->host, BYTES_LITERAL("localhost"));
    return a.len == 4 ? a.bytes[0] == 127 : memcmp(a.bytes, one, sizeof one) == 0;
}

const struct proxy *proxy_rules_choose(const struct proxy_rules *r, const struct url *u)
{
    if (r->from_environment && (is_loopback(u) || no_proxy_matches(r->no_proxy, u)))
        return NULL;
    return u->tls ? r->https : r->http;
}
