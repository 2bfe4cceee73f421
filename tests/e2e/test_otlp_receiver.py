# SPDX-License-Identifier: Apache-2.0
"""The receiver `otlp` over HTTP, from clients that are not ours; what arrives is judged by Google's protobuf runtime."""
import gzip
import http.client
import json
import re
import shutil
import subprocess
import zlib

from support import Skip, corpus, otlp
from support.process import Relay, config
from support.setup import otlp_exporter
from support.sink import Sink, hold

PATH = "/v1development/profiles"
PROTO, JSON = {"Content-Type": "application/x-protobuf"}, {"Content-Type": "application/json"}


def relay_config(sink, http=None, exporter=None, **more):
    receiver = {"protocols": {"grpc": {"endpoint": "127.0.0.1:0"}, "http": {"endpoint": "127.0.0.1:0", **(http or {})}}}
    receiver.update(more.pop("receiver", {}))
    service = {"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["otlp_http"]}}, **more.pop("service", {})}
    return config(receivers={"otlp": receiver}, exporters={"otlp_http": otlp_exporter(sink, **(exporter or {}))}, service=service, **more)


def port(relay, protocol="HTTP"):
    return int(re.search(r"port (\d+)", relay.wait_line(f"OTLP/{protocol} at .*port"))[1])


def post(relay, body, headers, path=PATH, method="POST"):
    """(status, headers, body)"""
    connection = http.client.HTTPConnection("127.0.0.1", port(relay), timeout=60)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, answer.headers, data


def zstd(data):
    if not shutil.which("zstd"):
        raise Skip("no zstd: apt-get install zstd")
    return subprocess.run(["zstd", "-qc"], input=data, stdout=subprocess.PIPE, check=True).stdout


def raw_deflate(data):
    c = zlib.compressobj(wbits=-15)
    return c.compress(data) + c.flush()


def assert_same(sent, got, what):
    """Two requests say the same, but for how their tables are laid out."""
    def plain(body):
        return [(g.resource, g.scope_name, g.scope_attributes, sorted(map(repr, g.profiles))) for g in otlp.decode(body)]
    assert plain(sent) == plain(got), what


def test_what_is_sent_arrives(folder):
    root = corpus("otlp") / "official"
    ways = [("identity", lambda d: d), ("gzip", gzip.compress), ("zstd", zstd), ("deflate", zlib.compress), ("deflate", raw_deflate)]
    with Sink() as sink, Relay(relay_config(sink), folder) as relay:
        count = 0
        for name in ("common", "shapes"):
            sent = (root / f"{name}-1.10.pb").read_bytes()
            for encoding, pack in ways:
                status, headers, body = post(relay, pack(sent), {**PROTO, "Content-Encoding": encoding, "otlp-profiles-development-version": "1"})
                assert (status, headers["Content-Type"], body) == (200, "application/x-protobuf", b""), (status, body)
                count += 1
                sink.wait_accepted(count)
                assert_same(sent, sink.accepted()[-1], f"{name} {encoding}")
            for variant in ("", "-refs", "-goproto"):
                text = (root / f"{name}-1.10{variant}.json").read_bytes()
                status, headers, body = post(relay, text, JSON)
                assert (status, headers["Content-Type"], body) == (200, "application/json", b"{}"), (status, body)
                count += 1
                sink.wait_accepted(count)
                assert_same((root / f"{name}-1.10{variant}.pb").read_bytes(), sink.accepted()[-1], f"{name}{variant} JSON")
        assert relay.metric("otelcol_receiver_accepted_profile_samples", receiver="otlp", transport="http") > 0
        assert relay.metric("otelcol_receiver_accepted_profile_samples", receiver="otlp", transport="grpc") == 0


def test_attributes_of_the_receiver_are_added(folder):
    sent = (corpus("otlp") / "official" / "common-1.10.pb").read_bytes()
    with Sink() as sink, Relay(relay_config(sink, receiver={"resource_attributes": {"from": "here"}}), folder) as relay:
        assert post(relay, sent, PROTO)[0] == 200
        sink.wait_accepted(1)
        assert all(g.resource["from"] == "here" for g in otlp.decode(sink.accepted()[0]))


def test_bad_files_are_refused_and_the_rest_goes_on(folder):
    root = corpus("otlp")
    good = (root / "official" / "common-1.10.pb").read_bytes()
    with Sink() as sink, Relay(relay_config(sink), folder) as relay:
        for name in ("ebpf-layout-1.9-bad-stack-index.bin", "async-profiler-layout-1.7-bad-function-index.bin"):
            status, _, body = post(relay, (root / name).read_bytes(), PROTO)
            assert status == 400 and body, (name, status, body)
        status, _, body = post(relay, good[:-1], JSON)
        assert status == 400 and json.loads(body)["code"] == 3, body
        assert post(relay, good, PROTO)[0] == 200
        sink.wait_accepted(1)


def test_refusals_do_not_flood_the_log(folder):
    with Sink() as sink, Relay(relay_config(sink), folder) as relay:
        for _ in range(40):
            assert post(relay, b"\xff", PROTO)[0] == 400
        relay.terminate()
        assert 1 <= len(relay.log("a request is refused")) <= 21, relay.tail()  # 10 in 10 s, twice, and how many more
        relay.wait_line('more like "...: a request is refused')


def test_a_bomb_is_refused(folder):
    with Sink() as sink, Relay(relay_config(sink, service={"memory_limit": "64MiB"}), folder) as relay:
        before = relay.rss_bytes()
        for encoding, body in (("gzip", gzip.compress(bytes(200 << 20))), ("zstd", zstd(bytes(200 << 20)))):
            status, _, answer = post(relay, body, {**JSON, "Content-Encoding": encoding})
            assert status in (413, 503), (status, answer)
        assert relay.metric("profrelay_memory_used_bytes") == 0
        assert relay.rss_bytes() - before < 200 << 20  # sanitizers hold on to what was freed


def test_a_full_queue_says_come_again(folder):
    sent = (corpus("otlp") / "official" / "common-1.10.pb").read_bytes()
    exporter = {"sending_queue": {"queue_size": 2, "num_consumers": 1}}
    with Sink() as sink, Relay(relay_config(sink, exporter=exporter), folder) as relay:
        sink.behave(default=hold())
        taken = 0
        for _ in range(10):
            status, headers, body = post(relay, sent, PROTO)
            taken += status == 200
            assert status == 200 or (status == 503 and int(headers["Retry-After"]) >= 1 and body), (status, body)
        assert 2 <= taken < 10, taken
        sink.behave()
        sink.release()
        sink.wait_accepted(taken)
        assert sink.count(lambda r: r.accepted) == taken
