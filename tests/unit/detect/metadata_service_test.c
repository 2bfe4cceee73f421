// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/detect/fixture.h"

#include "detect/metadata_service.h"
#include "tests/support/raw_peer.h"

#define OK(headers, length, body) "HTTP/1.1 200 OK\r\n" headers "Content-Length: " length "\r\n\r\n" body
#define NOT_FOUND "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
#define FLAVOR "Metadata-Flavor: Google\r\n"
#define EXPECT(line) {RAW_EXPECT, line " HTTP/1.1\r\n", 0}, {RAW_EXPECT, "\r\n\r\n", 0}
#define SEND(text) {RAW_SEND, text, 0}
#define GOOGLE "GET /computeMetadata/v1/"

struct world {
    struct detecting d;
    struct raw_peer *peer;
};

static void world_init(struct world *w)
{
    detecting_init(&w->d);
    w->peer = raw_peer_create(&w->d.env.loop.uv, NULL);
}

static void world_fini(struct world *w)
{
    raw_peer_destroy(&w->peer);
    detecting_fini(&w->d);
}

// name: of the detector. more: further YAML.
static void world_start(struct world *w, const char *name, const char *more, const struct variable *variables)
{
    char yaml[512];
    snprintf(yaml, sizeof yaml, "{detectors: [%s], %s: {endpoint: 'http://127.0.0.1:%d'}%s}", name, name,
             raw_peer_port(w->peer), more);
    detecting_create(&w->d, yaml, variables);
    detection_start(w->d.detection);
}

static void assert_outcome(const char *name, const struct raw_step *steps, size_t count,
                           const struct variable *variables, const char *expected, const char *logged)
{
    struct world w;
    world_init(&w);
    raw_peer_script(w.peer, steps, count);
    world_start(&w, name, "", variables);
    detecting_wait(&w.d);
    assert_known(&w.d, expected);
    if (logged != NULL)
        assert_logged(&w.d, logged);
    detecting_end(&w.d);
    world_fini(&w);
}

// --- EC2 ---

#define EC2_DOCUMENT                                                                                                   \
    "{\"accountId\":\"123456789012\",\"architecture\":\"x86_64\",\"availabilityZone\":\"eu-central-1b\","              \
    "\"billingProducts\":null,\"imageId\":\"ami-1\",\"instanceId\":\"i-0a\",\"instanceType\":\"m5.large\","            \
    "\"nested\":{\"region\":\"no\"},\"region\":\"eu-central-1\"}"

static void ec2_asks_with_a_token(void **state)
{
    (void)state;
    char document[1024];
    snprintf(document, sizeof document, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(EC2_DOCUMENT),
             EC2_DOCUMENT);
    const struct raw_step steps[] = {
        EXPECT("PUT /latest/api/token"),
        SEND(OK("", "6", "t0k3n\n")),
        EXPECT("GET /latest/dynamic/instance-identity/document"),
        SEND(document),
        EXPECT("GET /latest/meta-data/hostname"),
        SEND(OK("", "11", "ip-10-0-0-1")),
    };
    struct world w;
    world_init(&w);
    raw_peer_script(w.peer, steps, COUNT_OF(steps));
    world_start(&w, "ec2", "", NULL);
    detecting_wait(&w.d);
    assert_known(&w.d, "{\"host.id\":\"i-0a\",\"cloud.account.id\":\"123456789012\",\"cloud.region\":\"eu-central-1\","
                       "\"cloud.availability_zone\":\"eu-central-1b\",\"host.image.id\":\"ami-1\","
                       "\"host.type\":\"m5.large\",\"cloud.provider\":\"aws\",\"cloud.platform\":\"aws_ec2\","
                       "\"host.name\":\"ip-10-0-0-1\"}");
    const char *said = raw_peer_received(w.peer, 0);
    const char *token = strstr(said, "X-aws-ec2-metadata-token: t0k3n\r\n");
    assert_non_null(strstr(said, "X-aws-ec2-metadata-token-ttl-seconds: 60\r\n"));
    assert_non_null(token);
    assert_non_null(strstr(token + 1, "X-aws-ec2-metadata-token: t0k3n\r\n")); // both times
    assert_int_equal(raw_peer_connections(w.peer), 1);
    detecting_end(&w.d);
    world_fini(&w);
}

static void ec2_failures_are_named(void **state)
{
    (void)state;
    const struct raw_step forbidden[] = {EXPECT("PUT /latest/api/token"),
                                         SEND("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")};
    assert_outcome(
        "ec2", forbidden, COUNT_OF(forbidden), NULL, "{}",
        "/latest/api/token: the answer is 403; in a container the instance's HttpPutResponseHopLimit must be "
        "2 or more");
    const struct raw_step moved[] = {
        EXPECT("PUT /latest/api/token"),
        SEND("HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n")};
    assert_outcome("ec2", moved, COUNT_OF(moved), NULL, "{}", "the answer is 302");
    const struct raw_step page[] = {EXPECT("PUT /latest/api/token"), SEND(OK("", "14", "<html>\n<body>\n"))};
    assert_outcome("ec2", page, COUNT_OF(page), NULL, "{}", "the answer is not a line of text");
    static const char *const documents[] = {
        OK("", "5", "{\"a\":"),
        OK("", "2", "[]"),
        OK("", "0", ""),
        OK("", "14", "{\"region\":\"x\"}"),
        OK("", "17", "{\"instanceId\":12}"),
        OK("", "3", "{}x"),
    };
    for (size_t i = 0; i < COUNT_OF(documents); i++) {
        const struct raw_step steps[] = {EXPECT("PUT /latest/api/token"), SEND(OK("", "1", "t")),
                                         EXPECT("GET /latest/dynamic/instance-identity/document"), SEND(documents[i])};
        assert_outcome("ec2", steps, COUNT_OF(steps), NULL, "{}", "detector ec2: http://127.0.0.1:");
    }
}

static void strange_peers_end(void **state)
{
    (void)state;
    const struct raw_step garbage[] = {{RAW_EXPECT, "PUT", 0}, {RAW_SEND, "\x16\x03 what?\r\n\r\n", 0}};
    assert_outcome("ec2", garbage, COUNT_OF(garbage), NULL, "{}", "detector ec2: http://127.0.0.1:");
    const struct raw_step cut[] = {{RAW_EXPECT, "PUT", 0}, {RAW_SEND, OK("", "100", "t"), 0}, {RAW_CLOSE, NULL, 0}};
    assert_outcome("ec2", cut, COUNT_OF(cut), NULL, "{}", "detector ec2: http://127.0.0.1:");
    const struct raw_step reset[] = {{RAW_EXPECT, "PUT", 0}, {RAW_RESET, NULL, 0}};
    assert_outcome("ec2", reset, COUNT_OF(reset), NULL, "{}", "detector ec2: http://127.0.0.1:");
    const struct raw_step huge[] = {{RAW_EXPECT, "PUT", 0},
                                    {RAW_SEND, "HTTP/1.1 200 OK\r\n\r\n", 0},
                                    {RAW_SEND, "0123456789012345678901234567890123456789", 10000},
                                    {RAW_CLOSE, NULL, 0}};
    assert_outcome("ec2", huge, COUNT_OF(huge), NULL, "{}", "detector ec2: http://127.0.0.1:");
    char token[1200] = "";
    snprintf(token, sizeof token, "HTTP/1.1 200 OK\r\nContent-Length: 1025\r\n\r\n%01025d", 0);
    const struct raw_step long_token[] = {{RAW_EXPECT, "PUT", 0}, {RAW_SEND, token, 0}};
    assert_outcome("ec2", long_token, COUNT_OF(long_token), NULL, "{}", "has 1025 bytes, allowed are 1024");
}

static void who_hangs_is_left_behind(void **state)
{
    (void)state;
    struct world w;
    const struct raw_step steps[] = {{RAW_EXPECT, "PUT", 0}};
    const struct variable variables[] = {{"OTEL_RESOURCE_ATTRIBUTES", "a=1"}, {NULL, NULL}};
    char yaml[256];
    struct err e = {0};
    world_init(&w);
    raw_peer_script(w.peer, steps, COUNT_OF(steps));
    snprintf(yaml, sizeof yaml,
             "{detectors: [ec2, env], timeout: 30ms, ec2: {endpoint: 'http://127.0.0.1:%d',"
             " fail_on_missing_metadata: true}}",
             raw_peer_port(w.peer));
    detecting_create(&w.d, yaml, variables);
    detection_start(w.d.detection);
    detecting_wait(&w.d);
    assert_known(&w.d, "{\"a\":\"1\"}");
    assert_int_equal(detection_ready(w.d.detection, &e), ERR_IO);
    assert_string_equal(e.text, "detector ec2: no answer within timeout (0.03s)");
    detecting_end(&w.d);
    world_fini(&w);
}

static bool peer_is_asked(void *arg)
{
    const struct world *w = arg;
    return raw_peer_connections(w->peer) == 1 && raw_peer_received_len(w->peer, 0) > 0;
}

static void it_may_stop_while_it_asks(void **state)
{
    (void)state;
    struct world w;
    const struct raw_step steps[] = {{RAW_EXPECT, "never", 0}};
    world_init(&w);
    raw_peer_script(w.peer, steps, COUNT_OF(steps));
    world_start(&w, "azure", "", NULL);
    fake_env_run_until(&w.d.env, peer_is_asked, &w);
    detecting_end(&w.d); // while it asks
    world_start(&w, "azure", "", NULL);
    detecting_end(&w.d); // before it is connected
    world_fini(&w);
}

static void no_proxy_has_a_say(void **state)
{
    (void)state;
    const struct raw_step steps[] = {{RAW_EXPECT, "GET /metadata/instance/compute", 0},
                                     {RAW_EXPECT, "\r\n\r\n", 0},
                                     SEND(OK("", "13", "{\"vmId\":\"v1\"}"))};
    setenv("HTTP_PROXY", "http://127.0.0.2:1", 1);
    setenv("http_proxy", "http://127.0.0.2:1", 1);
    // loopback goes direct anyway; another name of it does not
    struct world w;
    char yaml[256];
    world_init(&w);
    raw_peer_script(w.peer, steps, COUNT_OF(steps));
    snprintf(yaml, sizeof yaml, "{detectors: [azure], azure: {endpoint: 'http://0.0.0.0:%d'}}", raw_peer_port(w.peer));
    detecting_create(&w.d, yaml, NULL);
    detection_start(w.d.detection);
    detecting_wait(&w.d);
    assert_known(&w.d, "{\"host.id\":\"v1\",\"cloud.provider\":\"azure\",\"cloud.platform\":\"azure_vm\"}");
    detecting_end(&w.d);
    world_fini(&w);
    unsetenv("HTTP_PROXY");
    unsetenv("http_proxy");
}

// --- Azure ---

static void azure_describes_the_machine(void **state)
{
    (void)state;
    static const char body[] =
        "{\"name\":\"vm-1\",\"location\":\"westeurope\",\"osProfile\":{\"adminUsername\":\"a\",\"computerName\":\"host-"
        "1\"},"
        "\"resourceGroupName\":\"rg\",\"subscriptionId\":\"sub\",\"tags\":\"\",\"vmId\":\"id-1\",\"vmScaleSetName\":"
        "\"\","
        "\"vmSize\":\"Standard_D2\",\"zone\":\"1\",\"plan\":{\"name\":\"no\"},\"publicKeys\":[]}";
    char answer[1024];
    snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", sizeof body - 1, body);
    const struct raw_step steps[] = {EXPECT("GET /metadata/instance/compute?api-version=2021-02-01&format=json"),
                                     SEND(answer)};
    struct world w;
    world_init(&w);
    raw_peer_script(w.peer, steps, COUNT_OF(steps));
    world_start(&w, "azure", "", NULL);
    detecting_wait(&w.d);
    assert_known(&w.d, "{\"host.id\":\"id-1\",\"host.name\":\"host-1\",\"azure.vm.name\":\"vm-1\","
                       "\"cloud.region\":\"westeurope\",\"cloud.account.id\":\"sub\",\"azure.vm.size\":\"Standard_D2\","
                       "\"azure.resourcegroup.name\":\"rg\",\"cloud.provider\":\"azure\","
                       "\"cloud.platform\":\"azure_vm\"}");
    assert_non_null(strstr(raw_peer_received(w.peer, 0), "Metadata: true\r\n"));
    detecting_end(&w.d);
    world_fini(&w);
}

static enum err_code read_document(struct detector_run *r, struct bytes body, struct err *e)
{
    static const struct metadata_member members[] = {{NULL, "id", "host.id"}, {"os", "name", "host.name"}};
    static const struct detector all = {.name = "all"};
    struct metadata_walk w = {.run = r};
    *r = (struct detector_run){.detector = &all};
    arena_init(&r->found.arena, 0);
    return metadata_document(&w, body, members, COUNT_OF(members), e);
}

static void documents_may_be_cut(void **state)
{
    (void)state;
    static const char text[] =
        "{\"id\":\"a\\u0020b\",\"n\":[1,{\"id\":2}],\"os\":{\"name\":\"x\",\"id\":\"no\"},\"z\":null}";
    struct detector_run r;
    struct err e;
    for (size_t len = 0; len < sizeof text - 1; len++) {
        assert_int_equal(read_document(&r, (struct bytes){(const uint8_t *)text, len}, &e), ERR_INVALID);
        assert_int_equal(r.found.count, 0);
        detector_found_fini(&r.found);
    }
    size_t n = 1;
    for (bool whole = false; !whole; n++) {
        assert_in_range(n, 1, 50);
        mem_fail_from(n);
        const enum err_code rc = read_document(&r, BYTES_LITERAL(text), &e);
        mem_fail_from(0);
        assert_true(rc == ERR_OK || rc == ERR_MEMORY);
        whole = rc == ERR_OK && !r.failed;
        assert_true(!whole || (r.found.count == 2 && bytes_equal_text(r.found.list[0].value.bytes, "a b") &&
                               bytes_equal_text(r.found.list[1].value.bytes, "x")));
        detector_found_fini(&r.found);
    }
    assert_in_range(n, 4, 50);
}

// --- Google ---

#define GOOGLE_OK(length, body) SEND(OK(FLAVOR, length, body))

static void gcp_describes_an_instance(void **state)
{
    (void)state;
    const struct raw_step steps[] = {
        EXPECT(GOOGLE "project/project-id"),
        GOOGLE_OK("4", "shop"),
        EXPECT(GOOGLE "instance/attributes/cluster-name"),
        SEND(NOT_FOUND),
        EXPECT(GOOGLE "instance/attributes/cluster-location"),
        SEND(NOT_FOUND),
        EXPECT(GOOGLE "instance/zone"),
        GOOGLE_OK("32", "projects/123/zones/us-central1-c"),
        EXPECT(GOOGLE "instance/id"),
        GOOGLE_OK("2", "42"),
        EXPECT(GOOGLE "instance/name"),
        GOOGLE_OK("4", "vm-1"),
        EXPECT(GOOGLE "instance/machine-type"),
        GOOGLE_OK("35", "projects/123/machineTypes/e2-medium"),
    };
    assert_outcome("gcp", steps, COUNT_OF(steps), NULL,
                   "{\"cloud.account.id\":\"shop\",\"cloud.availability_zone\":\"us-central1-c\","
                   "\"cloud.region\":\"us-central1\",\"host.id\":\"42\",\"host.name\":\"vm-1\","
                   "\"host.type\":\"e2-medium\",\"cloud.provider\":\"gcp\",\"cloud.platform\":\"gcp_compute_engine\"}",
                   NULL);
}

static void gcp_describes_a_cluster(void **state)
{
    (void)state;
    const struct variable variables[] = {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {NULL, NULL}};
    const struct raw_step steps[] = {
        EXPECT(GOOGLE "project/project-id"),
        GOOGLE_OK("4", "shop"),
        EXPECT(GOOGLE "instance/attributes/cluster-name"),
        GOOGLE_OK("2", "c1"),
        EXPECT(GOOGLE "instance/attributes/cluster-location"),
        GOOGLE_OK("11", "us-central1"),
        EXPECT(GOOGLE "instance/zone"),
        GOOGLE_OK("32", "projects/123/zones/us-central1-c"),
        EXPECT(GOOGLE "instance/id"),
        GOOGLE_OK("2", "42"),
        EXPECT(GOOGLE "instance/name"),
        SEND(NOT_FOUND),
        EXPECT(GOOGLE "instance/machine-type"),
        GOOGLE_OK("35", "projects/123/machineTypes/e2-medium"),
    };
    assert_outcome("gcp", steps, COUNT_OF(steps), variables,
                   "{\"cloud.account.id\":\"shop\",\"k8s.cluster.name\":\"c1\",\"cloud.region\":\"us-central1\","
                   "\"host.id\":\"42\",\"cloud.provider\":\"gcp\",\"cloud.platform\":\"gcp_kubernetes_engine\"}",
                   NULL);
}

static void gcp_believes_only_the_metadata_server(void **state)
{
    (void)state;
    const struct raw_step steps[] = {EXPECT(GOOGLE "project/project-id"), SEND(OK("", "4", "shop"))};
    assert_outcome(
        "gcp", steps, COUNT_OF(steps), NULL, "{}",
        "/computeMetadata/v1/project/project-id: the answer has no header Metadata-Flavor: Google; something "
        "else answers there");
    const struct raw_step none[] = {EXPECT(GOOGLE "project/project-id"), SEND(NOT_FOUND)};
    assert_outcome("gcp", none, COUNT_OF(none), NULL, "{}", "the answer is 404");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ec2_asks_with_a_token),
        cmocka_unit_test(ec2_failures_are_named),
        cmocka_unit_test(strange_peers_end),
        cmocka_unit_test(who_hangs_is_left_behind),
        cmocka_unit_test(it_may_stop_while_it_asks),
        cmocka_unit_test(no_proxy_has_a_say),
        cmocka_unit_test(azure_describes_the_machine),
        cmocka_unit_test(documents_may_be_cut),
        cmocka_unit_test(gcp_describes_an_instance),
        cmocka_unit_test(gcp_describes_a_cluster),
        cmocka_unit_test(gcp_believes_only_the_metadata_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
