// SPDX-License-Identifier: Apache-2.0
#include "net/listener.h"

#include "base/mem.h"
#include "net/url.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

struct listener {
    union listener_socket socket;
    uv_loop_t *loop;
    bool is_unix, waiting;
    int port;
    void (*on_waiting)(void *arg);
    void *arg;
    void (*on_closed)(void *arg);
    void *on_closed_arg;
};

static void on_connection(uv_stream_t *stream, int status)
{
    struct listener *l = stream->data;
    if (status < 0)
        return; // e.g. EMFILE: libuv has closed who could not be taken
    l->waiting = true;
    l->on_waiting(l->arg);
}

static void on_socket_closed(uv_handle_t *handle)
{
    struct listener *l = handle->data;
    void (*on_closed)(void *) = l->on_closed;
    void *arg = l->on_closed_arg;
    free(l);
    if (on_closed != NULL)
        on_closed(arg);
}

void listener_close(struct listener **listener, void (*on_closed)(void *arg), void *arg)
{
    struct listener *l = *listener;
    *listener = NULL;
    l->on_closed = on_closed;
    l->on_closed_arg = arg;
    uv_close(&l->socket.handle, on_socket_closed);
}

static void note_port(struct listener *l)
{
    struct sockaddr_storage address;
    int len = sizeof address;
    if (l->is_unix || uv_tcp_getsockname(&l->socket.tcp, (struct sockaddr *)&address, &len) < 0)
        return;
    l->port = ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                                  : ((struct sockaddr_in *)&address)->sin_port);
}

static struct listener *create(uv_loop_t *loop, bool is_unix)
{
    struct listener *l = MEM_NEW(struct listener);
    l->loop = loop;
    l->is_unix = is_unix;
    CHECK((is_unix ? uv_pipe_init(loop, &l->socket.pipe, 0) : uv_tcp_init(loop, &l->socket.tcp)) == 0);
    l->socket.handle.data = l;
    return l;
}

// Listens, or closes *l and answers libuv's error.
static int listen_or_close(struct listener **l, int status)
{
    if (status == 0)
        status = uv_listen(&(*l)->socket.stream, BACKLOG, on_connection);
    if (status < 0)
        listener_close(l, NULL, NULL);
    return status;
}

// IPv4 first: "localhost" then is where everybody expects it.
static int listen_on_first(uv_loop_t *loop, const struct addrinfo *addresses, const int families[2],
                           struct listener **out)
{
    int status = UV_EAI_NONAME;
    for (size_t f = 0; f < 2; f++)
        for (const struct addrinfo *a = addresses; a != NULL; a = a->ai_next) {
            if (a->ai_family != families[f])
                continue;
            *out = create(loop, false);
            status = listen_or_close(out, uv_tcp_bind(&(*out)->socket.tcp, a->ai_addr, 0));
            if (status == 0)
                return 0;
        }
    return status;
}

static enum err_code listen_tcp(uv_loop_t *loop, const char *endpoint, struct listener **out, struct err *e)
{
    static const int four_first[] = {AF_INET, AF_INET6}, six_first[] = {AF_INET6, AF_INET};
    char host[URL_HOST_MAX + 1] = "", port_text[8], text[32];
    uint16_t port;
    bool everywhere = endpoint[0] == ':';
    if (everywhere) { // IPv6 takes IPv4 too, where there is any
        snprintf(text, sizeof text, "h%s", endpoint);
        endpoint = text;
    }
    enum err_code code = endpoint_parse(endpoint, host, &port, e);
    if (code != ERR_OK)
        return code;
    uv_getaddrinfo_t request;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    snprintf(port_text, sizeof port_text, "%u", port);
    // RFC 6761 §6.3: localhost needs no name service
    const char *name = everywhere ? NULL : strcasecmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    int status = uv_getaddrinfo(loop, &request, NULL, name, port_text, &hints);
    if (status < 0)
        return err_set(e, ERR_IO, "resolve %s: %s", host, uv_strerror(status));
    status = listen_on_first(loop, request.addrinfo, everywhere ? six_first : four_first, out);
    uv_freeaddrinfo(request.addrinfo);
    return status == 0 ? ERR_OK : err_set(e, ERR_IO, "%s", uv_strerror(status));
}

// A socket file that nobody listens on any more is what a killed process left.
static void remove_stale(const char *path, const struct sockaddr_un *address)
{
    struct stat s;
    if (lstat(path, &s) < 0 || !S_ISSOCK(s.st_mode))
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 && errno == ECONNREFUSED)
        unlink(path);
    close(fd);
}

static enum err_code listen_unix(uv_loop_t *loop, const char *path, struct listener **out, struct err *e)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof address.sun_path)
        return err_set(e, ERR_INVALID, "the path of a Unix socket has 1 to %zu bytes", sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, len);
    remove_stale(path, &address);
    *out = create(loop, true);
    int status = listen_or_close(out, uv_pipe_bind(&(*out)->socket.pipe, path));
    return status == 0 ? ERR_OK : err_set(e, ERR_IO, "%s", uv_strerror(status));
}

enum err_code listener_create(uv_loop_t *loop, const char *endpoint, void (*on_waiting)(void *arg), void *arg,
                              struct listener **out, struct err *e)
{
    *out = NULL;
    enum err_code code = strncmp(endpoint, "unix:", 5) == 0 ? listen_unix(loop, endpoint + 5, out, e)
                                                            : listen_tcp(loop, endpoint, out, e);
    if (code != ERR_OK) {
        err_prefix(e, "listen on %s", endpoint);
        return code;
    }
    struct listener *l = *out;
    CHECK(l != NULL);
    l->on_waiting = on_waiting;
    l->arg = arg;
    note_port(l);
    return ERR_OK;
}

int listener_port(const struct listener *l)
{
    return l->port;
}

bool listener_accept(struct listener *l, union listener_socket *socket)
{
    if (l->is_unix)
        CHECK(uv_pipe_init(l->loop, &socket->pipe, 0) == 0);
    else
        CHECK(uv_tcp_init(l->loop, &socket->tcp) == 0);
    l->waiting = false;
    return uv_accept(&l->socket.stream, &socket->stream) == 0;
}

bool listener_has_waiting(const struct listener *l)
{
    return l->waiting;
}
