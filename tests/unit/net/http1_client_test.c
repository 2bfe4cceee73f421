// SPDX-License-Identifier: Apache-2.0
#include "net/http1_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void writes(const char *method, bool absolute, const char *authorization, const struct http_header *headers,
                   size_t count, const char *body, const char *wanted)
{
    struct url u;
    struct buf head;
    assert_int_equal(url_parse("http://host:8080?x=1", &u, NULL), ERR_OK);
    struct http1_request_line line = {&u, "agent/1", absolute, authorization, false};
    struct http_request request = {
        .method = method, .headers = headers, .header_count = count, .body = bytes_from_text(body)};
    buf_init(&head, 4096);
    http1_request_write(&head, &line, &request);
    buf_add_byte(&head, 0);
    assert_string_equal((const char *)head.data, wanted);
    buf_fini(&head);
}

static void test_request_head(void **state)
{
    (void)state;
    const struct http_header own[] = {{"host", "other"},
                                      {"USER-AGENT", "mine"},
                                      {"Content-Length", "7"},
                                      {"transfer-encoding", "chunked"},
                                      {"X-A", "b"}};
    writes("GET", false, NULL, NULL, 0, NULL, "GET /?x=1 HTTP/1.1\r\nHost: host:8080\r\nUser-Agent: agent/1\r\n\r\n");
    writes("POST", false, NULL, NULL, 0, NULL,
           "POST /?x=1 HTTP/1.1\r\nHost: host:8080\r\nUser-Agent: agent/1\r\nContent-Length: 0\r\n\r\n");
    writes("POST", true, "Basic x", own, COUNT_OF(own), "abc",
           "POST http://host:8080/?x=1 HTTP/1.1\r\nProxy-Authorization: Basic x\r\nContent-Length: 3\r\nhost: other\r\n"
           "USER-AGENT: mine\r\nX-A: b\r\n\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
