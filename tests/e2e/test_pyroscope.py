# SPDX-License-Identifier: Apache-2.0
"""The receiver `pyroscope`: paths, answers, tenants, a shared listener. What real clients send is in
test_pyroscope_recordings.py."""
import gzip
import http.client
import json
import urllib.parse

from support import otlp, pprof_make, pyroscope, sink
from support.pprof_make import block, varint
from support.process import Relay, config
from support.setup import otlp_exporter
from support.sink import Sink
from support.unix import UnixConnection

SECONDS = pprof_make.TIME // 10**9
PPROF = "application/octet-stream"


class Client:
    """One request a connection, as SDKs do that come every ten seconds."""

    def __init__(self, relay, receiver="pyroscope/open"):
        self.port = pyroscope.port(relay, receiver)

    def send(self, method, path, body=b"", **headers):
        """(status, headers, body); names of headers are written with _ for -."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, answer.headers, data

    def ingest(self, name, body, prefix="", headers=None, **query):
        path = f"{prefix}/ingest?" + urllib.parse.urlencode({"name": name, "from": SECONDS, "until": SECONDS + 10, **query})
        return self.send("POST", path, body, **(headers or {}))

    def push(self, *series, **headers):
        """series: (labels, profile)."""
        body = b"".join(block(1, b"".join(block(1, block(1, k.encode()) + block(2, v.encode())) for k, v in labels.items()) +
                              block(2, block(1, profile))) for labels, profile in series)
        return self.send("POST", pyroscope.PUSH, body, Content_Type="application/proto", **headers)


def running(folder, test, exporter=None, **settings):
    with Sink() as s, Relay(pyroscope.relay_config({"otlp_http": otlp_exporter(s, **(exporter or {}))}, **settings), folder) as relay:
        test(Client(relay), s, relay)


def error_of(answer, status, code):
    assert answer[0] == status, answer
    assert answer[1]["content-type"] == "application/json"
    error = json.loads(answer[2])
    assert error["code"] == code, error
    return error["message"]


def only_group(s):
    s.wait_accepted(1)
    (group,) = otlp.decode_all(s.accepted())
    return group


def test_wrong_paths_are_told_the_right_ones(folder):
    def test(client, _, relay):
        for path in ["/", "/ingest/", "/v2/ingest", "/pyroscope", "/pyroscope/api/ingest", "/push.v1.PusherService/Pull"]:
            text = error_of(client.send("POST", path, b"x"), 404, "unimplemented")
            assert "/pyroscope/ingest" in text and pyroscope.PUSH in text, text
        relay.wait_line("a request is refused: there is nothing at /v2/ingest")
        status, headers, _body = client.send("GET", "/ingest?name=a")  # what a followed redirect would be
        assert (status, headers["allow"]) == (405, "POST")

    running(folder, test)


def test_a_probe_is_ready(folder):
    running(folder, lambda client, _, __: [assert_status(client.send("GET", p), 200) for p in ["/ready", "/pyroscope/ready"]])


def assert_status(answer, status):
    assert answer[0] == status, answer


def test_what_is_refused_says_why(folder):
    def test(client, s, relay):
        profile = pprof_make.make()
        assert "character 4" in error_of(client.ingest("app{a=b", profile, format="pprof"), 400, "invalid_argument")
        error_of(client.send("POST", "/ingest?format=pprof", profile), 400, "invalid_argument")
        error_of(client.ingest("a", profile[:-9], format="pprof"), 422, "invalid_argument")
        assert "folded" in error_of(client.ingest("a", b"\x7fELF\x02\x01" + bytes(100)), 422, "invalid_argument")
        assert "JFR" in error_of(client.ingest("a", b"FLR\0\0\x02\0\0" + bytes(100), format="jfr"), 415, "invalid_argument")
        answer = client.ingest("a", profile, headers={"Content-Encoding": "br"}, format="pprof")
        error_of(answer, 415, "unimplemented")
        assert "zstd" in answer[1]["accept-encoding"]
        error_of(client.ingest("a", b"[object FormData]"), 422, "invalid_argument")
        client.ingest("good", profile, format="pprof")
        assert only_group(s).resource["service.name"] == "good"
        assert relay.metric("otelcol_receiver_failed_profile_samples") > 0

    running(folder, test)


def test_limits_are_told_with_figures(folder):
    def test(client, s, _):
        text = error_of(client.ingest("a", bytes(70000), format="pprof"), 413, "resource_exhausted")
        assert "70000" in text and "65536" in text and "max_request_body_size" in text, text
        bomb = gzip.compress(bytes(10_000_000))
        for send in [lambda: client.ingest("a", bomb, format="pprof"),
                     lambda: client.ingest("a", bomb, headers={"Content-Encoding": "gzip"}, format="pprof"),
                     lambda: client.push(({"service_name": "a"}, bomb)),
                     lambda: client.ingest("a", bomb)]:
            status, _headers, body = send()
            assert status == 413 and b"65536" in body, (status, body)
        client.ingest("good", pprof_make.make(), format="pprof")
        assert only_group(s).resource["service.name"] == "good"

    running(folder, test, max_request_body_size="64KiB")


def test_series_are_independent(folder):
    def test(client, s, relay):
        profile = pprof_make.make(types=(("cpu", "nanoseconds"),))
        answer = client.push(({"service_name": "one", "__name__": "process_cpu"}, profile),
                             ({"service_name": "two", "__name__": "process_cpu"}, profile[:-9]),
                             ({"service_name": "three", "__name__": "process_cpu"}, profile))
        text = error_of(answer, 400, "invalid_argument")
        assert text.startswith("1 of the profiles are not taken, the others are: series "), text
        s.wait_accepted(1)
        groups = otlp.decode_all(s.accepted())
        assert sorted(g.resource["service.name"] for g in groups) == ["one", "three"]
        for group in groups:
            otlp.assert_same(profile, group, group.resource["service.name"])
        assert relay.metric("otelcol_receiver_failed_profile_samples") == 1

    running(folder, test)


def test_the_answer_does_not_wait_for_upstream(folder):
    def test(client, s, relay):
        s.behave(sink.hold())
        for i in range(3):
            assert_status(client.ingest(f"app{i}", pprof_make.make(seed=i), format="pprof"), 200)
        status, headers, body = 0, {}, b""
        for i in range(8):  # one is with the sender, two wait
            status, headers, body = client.ingest(f"more{i}", pprof_make.make(seed=10 + i), format="pprof")
            if status != 200:
                break
        assert status == 503 and b"unavailable" in body and b"sending queue is full" in body, (status, body)
        assert int(headers["retry-after"]) >= 1
        s.behave()
        s.release()
        relay.wait_metric("otelcol_exporter_sent_profile_samples", 1)

    running(folder, test, exporter={"sending_queue": {"queue_size": 2, "num_consumers": 1}})


def test_a_body_that_grows_gets_more_memory(folder):
    """Each format says when it was memory that did not suffice: it is tried again with more of the budget."""
    words = [f"function_{i * 7919 % 100003}" for i in range(60000)]
    folded = "".join(f"{a};{b};{a}{b} 3\n" for a, b in zip(words, reversed(words))).encode()
    scope = {"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": w} for w in words]},
             "profiles": [{"type": "sampled", "name": "p", "unit": "none", "startValue": 0, "endValue": len(words),
                           "samples": [[i, len(words) - 1 - i] for i in range(len(words))], "weights": [1] * len(words)}]}
    tree = b"\0\0" + varint(len(words)) + b"".join(varint(len(w)) + w.encode() + b"\x03\0" for w in words)

    def test(client, s, _):
        for i, (body, query) in enumerate([(folded, "folded"), (folded, "lines"), (json.dumps(scope).encode(), "speedscope"), (tree, "tree")]):
            assert_status(client.ingest("big", body, format=query), 200)
            s.wait_accepted(i + 1)
            (group,) = otlp.decode_all(s.accepted()[i:])
            (profile,) = group.profiles
            assert len(profile["samples"]) == len(words), (query, len(profile["samples"]))

    running(folder, test)


def test_tenants(folder):
    def test(_, s, relay):
        client = Client(relay, "pyroscope/tenant")
        profile = pprof_make.make()
        assert "tenant" in error_of(client.ingest("a", profile, format="pprof"), 401, "unauthenticated")
        error_of(client.ingest("a", profile, headers={"X-Scope-OrgID": "a/b"}, format="pprof"), 401, "unauthenticated")
        assert_status(client.ingest("a", profile, headers={"X-Scope-OrgID": "team-1"}, format="pprof"), 200)
        assert only_group(s).resource["tenant"] == "team-1"

    running(folder, test)


def test_labels_may_be_the_scopes(folder):
    def test(client, s, _):
        client.ingest("a{region=eu}", pprof_make.make(), format="pprof")
        group = only_group(s)
        assert group.resource["service.name"] == "a" and "region" not in group.resource

    running(folder, test, labels="scope")


def test_times_that_make_no_sense_are_counted(folder):
    def test(client, s, relay):
        query = {"name": "a", "from": "0", "until": "17", "format": "folded"}
        assert_status(client.send("POST", "/ingest?" + urllib.parse.urlencode(query), b"x;y 2\n"), 200)
        s.wait_accepted(1)
        assert relay.metric("profrelay_receiver_repaired_times") > 0

    running(folder, test)


def test_one_listener_for_otlp_and_pyroscope(folder):
    path = str(folder / "socket")
    shared = {"endpoint": f"unix:{path}"}
    profile = pprof_make.make()
    with Sink() as s:
        text = config(receivers={"otlp": {"protocols": {"http": shared}}, "pyroscope": shared},
                      exporters={"otlp_http": otlp_exporter(s)},
                      service={"pipelines": {"profiles": {"receivers": ["otlp", "pyroscope"], "exporters": ["otlp_http"]}}})
        with Relay(text, folder):
            def post(where, body, **headers):
                connection = UnixConnection(path)
                connection.request("POST", where, body, {k.replace("_", "-"): v for k, v in headers.items()})
                answer = connection.getresponse()
                data = answer.read()
                connection.close()
                return answer.status, data

            assert post(f"/ingest?name=shop&format=pprof&from={SECONDS}", profile)[0] == 200
            s.wait_accepted(1)
            came = s.accepted()[0]
            assert post("/v1development/profiles", came, Content_Type="application/x-protobuf")[0] == 200
            s.wait_accepted(2)
            for group in otlp.decode_all(s.accepted()):
                otlp.assert_same(profile, group, "shop")
            status, data = post("/nothing", b"")
            assert status == 404 and b"/ingest" in data and b"/v1development/profiles" in data, data
