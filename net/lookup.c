// SPDX-License-Identifier: Apache-2.0
#include "net/lookup.h"

#include "base/mem.h"

#include <string.h>
#include <strings.h>

void address_list_fini(struct address_list *list)
{
    free(list->items);
    *list = (struct address_list){0};
}

static void take_loopback(uint16_t port, struct address_list *out)
{
    out->items = mem_alloc(2 * sizeof *out->items);
    out->count = 2;
    CHECK(uv_ip4_addr("127.0.0.1", port, (struct sockaddr_in *)&out->items[0]) == 0);
    CHECK(uv_ip6_addr("::1", port, (struct sockaddr_in6 *)&out->items[1]) == 0);
}

bool address_list_known(const char *host, uint16_t port, struct address_list *out)
{
    *out = (struct address_list){0};
    if (strcasecmp(host, "localhost") == 0) {
        take_loopback(port, out);
        return true;
    }
    struct sockaddr_storage address = {0};
    if (uv_ip4_addr(host, port, (struct sockaddr_in *)&address) != 0 &&
        uv_ip6_addr(host, port, (struct sockaddr_in6 *)&address) != 0)
        return false;
    out->items = mem_alloc(sizeof address);
    out->items[0] = address;
    out->count = 1;
    return true;
}

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)address)->sin_port = htons(port);
}

static bool take_addresses(const struct addrinfo *found, uint16_t port, struct address_list *out)
{
    size_t count = 0;
    for (const struct addrinfo *a = found; a != NULL; a = a->ai_next)
        count++;
    out->items = mem_try_array(count, sizeof *out->items);
    if (out->items == NULL)
        return false;
    for (const struct addrinfo *a = found; a != NULL; a = a->ai_next) {
        if (a->ai_addrlen > sizeof *out->items)
            continue;
        struct sockaddr_storage *to = &out->items[out->count++];
        memset(to, 0, sizeof *to);
        memcpy(to, a->ai_addr, a->ai_addrlen);
        set_port(to, port);
    }
    return out->count > 0;
}

static const char *reason(int status)
{
    if (status == UV_EAI_NONAME || status == UV_EAI_NODATA || status == UV_EAI_ADDRFAMILY)
        return "unknown host";
    return status == UV_EAI_AGAIN ? "the name service does not answer" : uv_strerror(status);
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *addresses)
{
    struct lookup *l = request->data;
    struct address_list found = {0};
    struct err e = {0};
    if (status < 0 || !take_addresses(addresses, l->port, &found)) {
        address_list_fini(&found);
        err_set(&e, ERR_UNAVAILABLE, "resolve %s: %s", l->host, status < 0 ? reason(status) : "out of memory");
    }
    uv_freeaddrinfo(addresses);
    l->on_done(l, &found, e.code != ERR_OK ? &e : NULL);
}

enum err_code lookup_start(struct lookup *l, uv_loop_t *loop, const char *host, uint16_t port,
                           void (*on_done)(struct lookup *l, struct address_list *found, const struct err *e),
                           struct err *e)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    *l = (struct lookup){.host = host, .port = port, .on_done = on_done};
    l->request.data = l;
    int status = uv_getaddrinfo(loop, &l->request, on_resolved, host, NULL, &hints);
    return status == 0 ? ERR_OK : err_set(e, ERR_UNAVAILABLE, "resolve %s: %s", host, reason(status));
}

void lookup_cancel(struct lookup *l)
{
    uv_cancel((uv_req_t *)&l->request);
}
