// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/receivers/otlp_fixture.h"

#include "base/mem.h"
#include "codec/otlp.h"
#include "codec/wire.h"
#include "receivers/otlp.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static enum err_code start_and_tell(struct receiver *self, struct err *e)
{
    struct otlp_rig *r = CONTAINER_OF(self->module, struct otlp_rig, module);
    const struct otlp_receiver *o = (const struct otlp_receiver *)self;
    enum err_code rc = otlp_receiver.start(self, e);
    if (o->listeners[OTLP_GRPC].server != NULL)
        r->grpc_port = shared_server_port(o->listeners[OTLP_GRPC].server);
    if (o->listeners[OTLP_HTTP].server != NULL)
        r->http_port = shared_server_port(o->listeners[OTLP_HTTP].server);
    return rc;
}

static void make_requests(struct otlp_rig *r)
{
    struct err e;
    struct batch *b = fake_batch(3);
    buf_init(&r->three, SIZE_MAX);
    buf_init(&r->broken, SIZE_MAX);
    assert_int_equal(otlp_encode(b, &r->three, &e), ERR_OK);
    batch_unref(&b);
    static const uint32_t path[] = {1, 2, 2, 2}; // resource_profiles, scope_profiles, profiles, samples
    size_t starts[COUNT_OF(path)];
    for (size_t i = 0; i < COUNT_OF(path); i++)
        starts[i] = wire_begin(&r->broken, path[i]);
    wire_put_uint(&r->broken, 1, 99);
    for (size_t i = COUNT_OF(path); i-- > 0;)
        wire_end(&r->broken, starts[i]);
}

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

void otlp_rig_start(struct otlp_rig *r, const struct otlp_rig_options *o)
{
    make_requests(r);
    fake_world_init(&r->world);
    r->module = otlp_receiver;
    r->module.start = start_and_tell;
    fake_world_add_receiver(&r->world, &r->module);
    int len = snprintf(r->yaml, sizeof r->yaml,
                       "receivers: {otlp: {protocols: {grpc: {endpoint: \"127.0.0.1:0\"%s}, http: {endpoint: "
                       "\"127.0.0.1:0\"%s}}}}\n"
                       "extensions: {fake: }\n"
                       "exporters: {fake: {retry_on_failure: {enabled: false}%s}}\n"
                       "service:\n"
                       "  {extensions: [fake], workers: 2, telemetry: {metrics: {level: none}}%s,\n"
                       "   pipelines: {profiles: {receivers: [otlp], exporters: [fake]}}}\n",
                       or_empty(o->grpc), or_empty(o->http), or_empty(o->exporter), or_empty(o->service));
    assert_true(len > 0 && (size_t)len < sizeof r->yaml);
    fake_service_start(&r->service, &r->world, NULL, r->yaml);
    fake_service_wait_ready(&r->service);
}

struct fake_seen otlp_rig_stop(struct otlp_rig *r)
{
    fake_service_stop(&r->service);
    assert_int_equal(fake_service_join(&r->service), 0);
    struct fake_seen seen = fake_world_seen(&r->world);
    assert_int_equal(seen.budget_at_end, 0);
    fake_service_fini(&r->service);
    fake_world_fini(&r->world);
    buf_fini(&r->three);
    buf_fini(&r->broken);
    return seen;
}

int otlp_rig_connect(const struct otlp_rig *r)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)r->http_port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

void otlp_rig_send(int fd, const void *data, size_t len)
{
    const char *at = data;
    while (len > 0) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
        if (n <= 0)
            return; // the server has heard enough
        at += n;
        len -= (size_t)n;
    }
}

void otlp_rig_post(int fd, const char *headers, struct bytes body)
{
    char head[1024];
    int len =
        snprintf(head, sizeof head,
                 "POST " PROFILES_PATH " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%sContent-Length: %zu\r\n\r\n",
                 headers, body.len);
    assert_true(len > 0 && (size_t)len < sizeof head);
    otlp_rig_send(fd, head, (size_t)len);
    otlp_rig_send(fd, body.data, body.len);
}

char *otlp_rig_read_all(int fd, size_t *len_out)
{
    struct buf all;
    char piece[4096];
    buf_init(&all, 1 << 20);
    for (ssize_t n; (n = recv(fd, piece, sizeof piece, 0)) > 0;)
        buf_add(&all, piece, (size_t)n);
    *len_out = all.len;
    buf_add_byte(&all, '\0');
    assert_true(buf_ok(&all));
    return (char *)all.data;
}

char *otlp_rig_read_until(int fd, const char *end)
{
    struct buf all;
    char c;
    buf_init(&all, 1 << 20);
    while (recv(fd, &c, 1, 0) == 1) {
        buf_add(&all, &c, 1);
        if (all.len >= strlen(end) && memcmp(all.data + all.len - strlen(end), end, strlen(end)) == 0)
            break;
    }
    buf_add_byte(&all, '\0');
    assert_true(buf_ok(&all));
    return (char *)all.data;
}

static int read_answer(int fd, char **head_out, struct buf *body_out)
{
    size_t len;
    int status = 0;
    char *all = otlp_rig_read_all(fd, &len);
    char *end = strstr(all, "\r\n\r\n");
    assert_non_null(end);
    assert_int_equal(sscanf(all, "HTTP/1.1 %d ", &status), 1);
    if (body_out != NULL) {
        buf_init(body_out, SIZE_MAX);
        buf_add(body_out, end + 4, len - (size_t)(end + 4 - all));
    }
    end[2] = '\0';
    if (head_out != NULL)
        *head_out = all;
    else
        free(all);
    close(fd);
    return status;
}

int otlp_rig_ask(struct otlp_rig *r, const char *headers, struct bytes body, char **head_out, struct buf *body_out)
{
    int fd = otlp_rig_connect(r);
    otlp_rig_post(fd, headers, body);
    return read_answer(fd, head_out, body_out);
}

int otlp_rig_ask_raw(struct otlp_rig *r, const char *request, char **head_out, struct buf *body_out)
{
    int fd = otlp_rig_connect(r);
    otlp_rig_send(fd, request, strlen(request));
    return read_answer(fd, head_out, body_out);
}
