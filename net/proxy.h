// SPDX-License-Identifier: Apache-2.0
// Which proxy a URL goes through: one that is configured, or HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
#ifndef NET_PROXY_H
#define NET_PROXY_H

#include "net/url.h"

struct proxy {
    char *host;
    uint16_t port;
    char *authorization; // value of Proxy-Authorization or NULL; a secret
};

struct proxy_rules {
    struct proxy *http, *https; // NULL = direct
    char *no_proxy;
    bool from_environment; // then loopback goes direct, as everybody's does
};

// proxy_url NULL: the environment is read, once, here. The environment must not change meanwhile.
enum err_code proxy_rules_init(struct proxy_rules *out, const char *proxy_url, struct err *e) MUST_USE;
void proxy_rules_fini(struct proxy_rules *r);

// NULL = direct; the proxy lives as long as the rules.
const struct proxy *proxy_rules_choose(const struct proxy_rules *r, const struct url *u);

// NO_PROXY's list: "*", names (with their subdomains), ".suffix", addresses, CIDR, each with an optional port.
bool no_proxy_matches(const char *list, const struct url *u);

#endif
