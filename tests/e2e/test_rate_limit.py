# SPDX-License-Identifier: Apache-2.0
"""The processor `rate_limit`: a noisy neighbour hears 429 in each protocol, and the others go on."""
import base64
import json
import shutil
import subprocess
import urllib.parse

from support import Skip, otlp, pprof_make, pyroscope
from support.http2 import EXPORT, message
from support.pprof_make import block
from support.process import Relay, config
from support.setup import Arrivals, add, file_receiver, otlp_exporter, pipeline
from support.sink import Sink
from test_batch import request
from test_otlp_receiver import JSON, PROTO, port, post
from test_pyroscope import Client, error_of

RECEIVERS = {"otlp": {"protocols": {"grpc": {"endpoint": "127.0.0.1:0"}, "http": {"endpoint": "127.0.0.1:0"}}},
             "pyroscope/open": {"endpoint": "127.0.0.1:0"}}
# Ten at once, then one in 1000 s.
TEN = {"limits": [{"attribute": "service.name", "profiles": 0.001, "burst": "10000s"}]}
WAIT = range(900, 1005)
WAIT_TWO = range(1900, 2005)  # each type of a pprof's samples is a profile


def relay_config(sink, settings):
    pipelines = {"profiles": {"receivers": list(RECEIVERS), "processors": ["rate_limit"], "exporters": ["otlp_http"]}}
    return config(receivers=RECEIVERS, processors={"rate_limit": settings}, exporters={"otlp_http": otlp_exporter(sink)},
                  service={"pipelines": pipelines})


def call(folder, to_port, path, body):
    """The trailers of a call over gRPC; `details`: of google.rpc.Status."""
    if not shutil.which("curl"):
        raise Skip("no curl: apt-get install curl")
    (folder / "message").write_bytes(message(body))
    done = subprocess.run(["curl", "-sS", "--http2-prior-knowledge", "-H", "Content-Type: application/grpc", "-H", "TE: trailers",
                           "--data-binary", f"@{folder}/message", "-D", "-", "-o", "/dev/null",
                           f"http://127.0.0.1:{to_port}{path}"], capture_output=True, text=True, timeout=60)
    fields = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    details = fields.get("grpc-status-details-bin", "")
    return {**fields, "details": base64.b64decode(details + "=" * (-len(details) % 4))}


def ingest(client, service):
    query = urllib.parse.urlencode({"name": service, "from": "1795973800", "until": "1795973810", "format": "pprof"})
    return client.send("POST", f"/ingest?{query}", pprof_make.make(seed=1), Content_Type="application/octet-stream")


def services(sink):
    return [g.service for g in otlp.decode_all(sink.accepted())]


def test_a_noisy_neighbour(folder):
    with Sink() as sink, Relay(relay_config(sink, TEN), folder) as relay:
        noisy, calm = request("noisy", {"f": 1}), request("calm", {"f": 1})
        for _ in range(10):
            assert post(relay, noisy, PROTO)[0] == 200
        for _ in range(2):
            status, headers, body = post(relay, noisy, PROTO)
            assert status == 429 and int(headers["Retry-After"]) in WAIT, (status, headers.items())
            assert b"rate_limit: more than 0.001 profiles a second come from service.name noisy" in body, body
        status, _, body = post(relay, b'{"resourceProfiles":[{"resource":{"attributes":[{"key":"service.name","value":'
                                      b'{"stringValue":"noisy"}}]},"scopeProfiles":[{"profiles":[{}]}]}]}', JSON)
        assert status == 429 and json.loads(body)["code"] == 8, body

        client = Client(relay)
        series = block(1, block(1, block(1, b"service_name") + block(2, b"noisy")) + block(2, block(1, pprof_make.make(seed=1))))
        for answer in (call(folder, port(relay, "gRPC"), EXPORT, noisy), call(folder, client.port, pyroscope.PUSH, series)):
            assert answer["grpc-status"] == "8" and b"google.rpc.RetryInfo" in answer["details"], answer
        assert call(folder, port(relay, "gRPC"), EXPORT, calm)["grpc-status"] == "0"

        answer = ingest(client, "noisy")
        assert "service.name noisy" in error_of(answer, 429, "resource_exhausted")
        assert int(answer[1]["Retry-After"]) in WAIT_TWO
        error_of(client.push(({"service_name": "noisy", "__name__": "process_cpu"}, pprof_make.make(seed=1))), 429, "resource_exhausted")
        assert ingest(client, "calm")[0] == 200
        assert post(relay, calm, PROTO)[0] == 200

        sink.wait_accepted(13)
        assert set(services(sink)) == {"noisy", "calm"} and services(sink).count("noisy") == 10
        assert relay.metric("otelcol_processor_refused_profile_samples", processor="rate_limit") > 4
        assert relay.metric("otelcol_receiver_refused_profile_samples", receiver="otlp", transport="grpc") == 1
        relay.wait_line("refused: rate_limit: more than 0.001 profiles a second come from service.name noisy")


def test_nothing_of_a_request_is_taken_unless_all_is(folder):
    with Sink() as sink, Relay(relay_config(sink, TEN), folder) as relay:
        both = request("a", {"f": 1}) + request("b", {"f": 1})  # messages that follow each other are one
        for _ in range(9):
            assert post(relay, request("a", {"f": 1}), PROTO)[0] == 200
        assert post(relay, both, PROTO)[0] == 200
        assert [post(relay, both, PROTO)[0] for _ in range(3)] == [429] * 3
        assert [post(relay, request("b", {"f": 1}), PROTO)[0] for _ in range(10)] == [200] * 9 + [429]


def test_who_comes_again_is_taken(folder):
    limits = {"limits": [{"attribute": "service.name", "profiles": 4, "burst": "250ms"}]}
    with Sink() as sink, Relay(relay_config(sink, limits), folder) as relay:
        refused = 0
        for i in range(5):
            while (answer := post(relay, request("a", {f"f{i}": 1}), PROTO))[0] != 200:
                assert answer[0] == 429 and 1 <= int(answer[1]["Retry-After"]) <= 5, answer
                refused += 1
        assert refused > 0
        sink.wait_accepted(5)
        assert len(services(sink)) == 5


def test_files_wait(folder):
    (folder / "in").mkdir()
    names = [f"file{i}" for i in range(6)]
    limits = {"limits": [{"attribute": "service.name", "profiles": 20, "burst": "100ms"}]}
    with Sink() as sink:
        arrivals = Arrivals(sink)
        text = json.loads(pipeline(folder, {"pprof/a": file_receiver(folder / "in", "a", file={"settle_time": "0s"})},
                                   {"otlp_http": otlp_exporter(sink)}, processors={"rate_limit": limits}))
        text["service"]["pipelines"]["profiles"]["processors"] = ["rate_limit"]
        for name in names:
            add(folder / "in", name)
        with Relay(json.dumps(text), folder) as relay:
            arrivals.wait([("a", name) for name in names])
            assert relay.metric("otelcol_processor_refused_profile_samples") > 0
        assert set(arrivals.counts().values()) == {1}


def test_what_is_too_much_may_be_dropped(folder):
    with Sink() as sink, Relay(relay_config(sink, {**TEN, "on_limit": "drop"}), folder) as relay:
        both = request("a", {"f": 1}) + request("b", {"f": 1})
        for _ in range(9):
            assert post(relay, request("a", {"f": 1}), PROTO)[0] == 200
        assert [post(relay, both, PROTO)[0] for _ in range(3)] == [200] * 3
        sink.wait_accepted(12)
        assert (services(sink).count("a"), services(sink).count("b")) == (10, 3)
        assert relay.metric("profrelay_processor_over_limit_profile_samples", attribute="service.name") == 2
        relay.wait_line("dropped: rate_limit: more than 0.001 profiles a second come from service.name a")
