// SPDX-License-Identifier: Apache-2.0
// A scripted API server: one answer for each connection, in order; each request makes a new one.
#ifndef TESTS_UNIT_KUBE_API_FIXTURE_H
#define TESTS_UNIT_KUBE_API_FIXTURE_H

#include "base/mem.h"
#include "kube/kube_reflector.h"
#include "tests/support/fake_env.h"
#include "tests/support/loop_step.h"
#include "tests/support/raw_peer.h"
#include "tests/support/test_certs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define STATUS(line) "HTTP/1.1 " line "\r\nConnection: close\r\n\r\n"
#define OK STATUS("200 OK")
#define POD(name, rv)                                                                                                  \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"shop\",\"uid\":\"uid-" name "\",\"resourceVersion\":\"" rv   \
    "\"},\"spec\":{\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Running\"}}"
#define LIST_OF(kind, rv, cont, items)                                                                                 \
    "{\"kind\":\"" kind "\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" rv "\",\"continue\":\"" cont   \
    "\"},\"items\":[" items "]}"
#define LIST(rv, cont, items) LIST_OF("PodList", rv, cont, items)
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define FAILURE(code, message)                                                                                         \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"" message "\",\"code\":" code "}"
#define BOOKMARK(rv)                                                                                                   \
    EVENT("BOOKMARK", "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" rv "\"}}")

enum { MAX_ANSWERS = 16 };

struct api_fixture {
    struct fake_env env;
    struct logger log;
    struct raw_peer *peer;
    SSL_CTX *tls;
    struct raw_step steps[MAX_ANSWERS][4];
    size_t answers;
    char url[128];
    struct kube_watch_settings settings;
};

static inline void api_init(struct api_fixture *f, SSL_CTX *tls)
{
    *f = (struct api_fixture){.tls = tls};
    fake_env_init(&f->env, 1);
    f->log = (struct logger){f->env.log, "processor", "k8s_attributes"};
    f->peer = raw_peer_create(&f->env.loop.uv, tls);
    snprintf(f->url, sizeof f->url, "http%s://127.0.0.1:%d", tls != NULL ? "s" : "", raw_peer_port(f->peer));
    f->settings = (struct kube_watch_settings){
        .auth_type = KUBE_AUTH_NONE,
        .endpoint = f->url,
        .api_qps = 1000,
        .api_burst = 1000,
        .api_timeout_nanos = 5 * NANOS_PER_SECOND,
        .pod_delete_grace_nanos = 60 * NANOS_PER_SECOND,
    };
}

static inline void api_fini(struct api_fixture *f)
{
    raw_peer_destroy(&f->peer);
    fake_env_fini(&f->env);
}

// The next request is answered so, and then: RAW_CLOSE, RAW_CUT, or RAW_EXPECT (of what never comes: it hangs).
static inline void api_answer(struct api_fixture *f, const char *text, enum raw_step_kind then)
{
    struct raw_step *steps = f->steps[f->answers++];
    size_t count = 0;
    assert_true(f->answers <= MAX_ANSWERS);
    if (f->tls != NULL)
        steps[count++] = (struct raw_step){RAW_START_TLS, NULL, 0};
    steps[count++] = (struct raw_step){RAW_EXPECT, "\r\n\r\n", 0};
    if (text != NULL)
        steps[count++] = (struct raw_step){RAW_SEND, text, 0};
    steps[count++] = (struct raw_step){then, "never", 0};
    raw_peer_script(f->peer, steps, count);
}

// A watch that stays.
static inline void api_watch(struct api_fixture *f, const char *text)
{
    api_answer(f, text, RAW_EXPECT);
}

static inline void api_list(struct api_fixture *f, const char *text)
{
    api_answer(f, text, RAW_CLOSE);
}

static inline void assert_asked(const struct api_fixture *f, size_t i, const char *text)
{
    if (raw_peer_connections(f->peer) <= i || strstr(raw_peer_received(f->peer, i), text) == NULL)
        fail_msg("request %zu of %zu is \"%s\", wanted \"%s\"", i, raw_peer_connections(f->peer),
                 raw_peer_connections(f->peer) > i ? raw_peer_received(f->peer, i) : "", text);
}

static inline void assert_logged(struct api_fixture *f, const char *text, bool wanted)
{
    const char *log = fake_env_log(&f->env);
    if ((strstr(log, text) != NULL) != wanted)
        fail_msg("\"%s\" is %sin the log:\n%s", text, wanted ? "not " : "", log);
}

struct api_wait {
    struct api_fixture *f;
    size_t requests;
};

static inline bool has_asked(void *arg)
{
    const struct api_wait *w = arg;
    size_t n = raw_peer_connections(w->f->peer);
    return n >= w->requests && strstr(raw_peer_received(w->f->peer, w->requests - 1), "\r\n\r\n") != NULL;
}

// Until so many requests have come.
static inline void api_run_until(struct api_fixture *f, size_t requests)
{
    struct api_wait w = {f, requests};
    fake_env_run_until(&f->env, has_asked, &w);
}

#endif
