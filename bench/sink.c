// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

struct sink {
    int listener, port;
    pthread_t thread;
};

// One request's head, then its body by Content-Length. False at the end of the connection.
static bool take_request(int fd)
{
    char head[16384];
    size_t len = 0;
    char *end = NULL;
    while (end == NULL) {
        ssize_t n = recv(fd, head + len, sizeof head - 1 - len, 0);
        if (n <= 0)
            return false;
        len += (size_t)n;
        head[len] = '\0';
        end = strstr(head, "\r\n\r\n");
        if (end == NULL && len == sizeof head - 1)
            return false;
    }
    const char *length = strcasestr(head, "content-length:");
    size_t body = length != NULL ? strtoull(length + 15, NULL, 10) : 0, have = len - (size_t)(end + 4 - head);
    char rest[65536];
    while (have < body) {
        ssize_t n = recv(fd, rest, body - have < sizeof rest ? body - have : sizeof rest, 0);
        if (n <= 0)
            return false;
        have += (size_t)n;
    }
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    return send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL) > 0;
}

static void *run_connection(void *arg)
{
    int fd = (int)(intptr_t)arg;
    while (take_request(fd))
        ;
    close(fd);
    return NULL;
}

static void *run_sink(void *arg)
{
    struct sink *s = arg;
    int fd;
    while ((fd = accept(s->listener, NULL, NULL)) >= 0) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, run_connection, (void *)(intptr_t)fd) == 0);
        pthread_detach(thread);
    }
    return NULL;
}

struct sink *sink_create(void)
{
    struct sink *s = MEM_NEW(struct sink);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(s->listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(s->listener, 64) == 0);
    CHECK(getsockname(s->listener, (struct sockaddr *)&address, &size) == 0);
    s->port = ntohs(address.sin_port);
    CHECK(pthread_create(&s->thread, NULL, run_sink, s) == 0);
    return s;
}

int sink_port(const struct sink *s)
{
    return s->port;
}

void sink_destroy(struct sink **s)
{
    shutdown((*s)->listener, SHUT_RDWR);
    pthread_join((*s)->thread, NULL);
    close((*s)->listener);
    free(*s);
    *s = NULL;
}
