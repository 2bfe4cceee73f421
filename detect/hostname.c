// SPDX-License-Identifier: Apache-2.0
#include "detect/hostname.h"

#include "base/mem.h"
#include "detect/local_file.h"

#include <netdb.h>
#include <string.h>

enum { NAME_SIZE = 256 };

static const char *const sources[] = {"dns", "os", "cname", "lookup"};
enum source { SOURCE_DNS, SOURCE_OS, SOURCE_CNAME, SOURCE_LOOKUP };

struct search {
    struct detector_run *run; // NULL = nobody waits any more
    size_t next;              // of the configured sources
    enum source source;       // the one at hand
    char name[NAME_SIZE];     // what the kernel says
    union {
        uv_getaddrinfo_t forward;
        uv_getnameinfo_t reverse;
    } request;
};

bool hostname_source_known(const char *source)
{
    for (size_t i = 0; i < COUNT_OF(sources); i++)
        if (strcmp(sources[i], source) == 0)
            return true;
    return false;
}

static enum source source_of(const char *text)
{
    size_t i = 0;
    while (i + 1 < COUNT_OF(sources) && strcmp(sources[i], text) != 0)
        i++;
    return (enum source)i;
}

static void finish(struct search *s, const struct err *e)
{
    struct detector_run *r = s->run;
    r->state = NULL;
    free(s);
    detector_end(r, e);
}

// False when it is not worth being a name: no domain, or that of every machine.
static bool take_full_name(struct search *s, const char *name)
{
    const size_t len = name != NULL ? strlen(name) : 0;
    if (len == 0 || strchr(name, '.') == NULL || strncmp(name, "localhost", 9) == 0)
        return false;
    detector_add(s->run, "host.name", (struct bytes){(const uint8_t *)name, len - (name[len - 1] == '.')});
    finish(s, NULL);
    return true;
}

static void try_next(struct search *s);

static void on_reverse(uv_getnameinfo_t *request, int status, const char *hostname, const char *port)
{
    struct search *s = request->data;
    (void)port;
    if (s->run == NULL)
        free(s);
    else if (status != 0 || !take_full_name(s, hostname))
        try_next(s);
}

static void ask_reverse(struct search *s, const struct sockaddr *address)
{
    uv_loop_t *loop = detector_loop(s->run);
    s->request.reverse.data = s;
    if (uv_getnameinfo(loop, &s->request.reverse, on_reverse, address, NI_NAMEREQD) != 0)
        try_next(s);
}

static void on_forward(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct search *s = request->data;
    struct sockaddr_storage address = {0};
    const bool good = status == 0 && found != NULL;
    if (s->run == NULL) {
        free(s);
    } else if (!good) {
        try_next(s);
    } else if (s->source == SOURCE_LOOKUP || !take_full_name(s, found->ai_canonname)) {
        memcpy(&address, found->ai_addr, found->ai_addrlen);
        if (s->source == SOURCE_CNAME)
            try_next(s);
        else
            ask_reverse(s, (const struct sockaddr *)&address);
    }
    if (found != NULL)
        uv_freeaddrinfo(found);
}

static void ask_forward(struct search *s)
{
    const struct addrinfo hints = {.ai_flags = AI_CANONNAME, .ai_socktype = SOCK_STREAM};
    s->request.forward.data = s;
    if (uv_getaddrinfo(detector_loop(s->run), &s->request.forward, on_forward, s->name, NULL, &hints) != 0)
        try_next(s);
}

static void try_next(struct search *s)
{
    const struct config_strings *configured = &s->run->settings->system.hostname_sources;
    struct err e;
    if (s->next == configured->count || s->name[0] == '\0') {
        err_set(&e, ERR_INVALID, "no host name by system.hostname_sources; add `os`");
        finish(s, &e);
        return;
    }
    s->source = source_of(configured->items[s->next++]);
    if (s->source != SOURCE_OS) {
        ask_forward(s);
        return;
    }
    detector_add_text(s->run, "host.name", s->name);
    finish(s, NULL);
}

// In a container that sees the host's files, the kernel says the container's name.
static void find_name(struct search *s)
{
    const char *root = s->run->settings->root_path;
    size_t size = sizeof s->name;
    if (strcmp(root, "/") != 0)
        local_file_first_line(root, "etc/hostname", s->name, sizeof s->name);
    if (s->name[0] == '\0' && uv_os_gethostname(s->name, &size) != 0)
        s->name[0] = '\0';
}

void hostname_begin(struct detector_run *r)
{
    if (!detector_wants(r, "host.name")) {
        detector_end(r, NULL);
        return;
    }
    struct search *s = MEM_NEW(struct search);
    s->run = r;
    r->state = s;
    find_name(s);
    try_next(s);
}

void hostname_cancel(struct detector_run *r)
{
    struct search *s = r->state;
    struct err e;
    r->state = NULL;
    s->run = NULL;
    (void)uv_cancel((uv_req_t *)&s->request);
    detector_end(r, (err_set(&e, ERR_CANCELLED, "the host's name was not found in time"), &e));
}
