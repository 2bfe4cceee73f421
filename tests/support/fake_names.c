// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_names.h"

#include "base/mem.h"

#include <netdb.h>
#include <string.h>
#include <uv.h>

struct fake_names fake_names;

static struct addrinfo *make_address(const char *text)
{
    struct addrinfo *a = MEM_NEW(struct addrinfo);
    struct sockaddr_storage *address = MEM_NEW(struct sockaddr_storage);
    bool is_ipv6 = strchr(text, ':') != NULL;
    if (is_ipv6)
        CHECK(uv_ip6_addr(text, 0, (struct sockaddr_in6 *)address) == 0);
    else
        CHECK(uv_ip4_addr(text, 0, (struct sockaddr_in *)address) == 0);
    a->ai_family = address->ss_family;
    a->ai_addr = (struct sockaddr *)address;
    a->ai_addrlen = is_ipv6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    return a;
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
    (void)host;
    (void)service;
    (void)hints;
    fake_names.lookups++;
    if (fake_names.waits) {
        sem_post(&fake_names.asked);
        sem_wait(&fake_names.may_go);
    }
    *out = NULL;
    for (size_t i = fake_names.count; i-- > 0 && fake_names.error == 0;) {
        struct addrinfo *a = make_address(fake_names.addresses[i]);
        a->ai_next = *out;
        *out = a;
    }
    if (*out != NULL && fake_names.canonical != NULL)
        (*out)->ai_canonname = mem_copy_text(fake_names.canonical);
    return fake_names.error;
}

void freeaddrinfo(struct addrinfo *list)
{
    while (list != NULL) {
        struct addrinfo *next = list->ai_next;
        free(list->ai_addr);
        free(list->ai_canonname);
        free(list);
        list = next;
    }
}
