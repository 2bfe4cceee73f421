# SPDX-License-Identifier: Apache-2.0
"""health_check, gRPC health and reflection, and strangers who leave calls open or never stop asking."""
import http.client
import json
import re
import signal
import time

from support import corpus
from support.grpc_raw import REFLECT, WATCH, Connection, message
from support.process import TIMEOUT, Relay, config
from support.setup import otlp_exporter
from support.sink import Sink, hold, status

SERVING, NOT_SERVING = message(b"\x08\x01"), message(b"\x08\x02")
LIST_SERVICES = message(b"\x3a\x01*")
# What one relay may take for what strangers do here; sanitizers take a multiple.
STRANGERS_BYTES = 64 << 20


def relay_config(sink, health=None, grpc=None):
    receiver = {"protocols": {"grpc": {"endpoint": "127.0.0.1:0", **(grpc or {})}, "http": {"endpoint": "127.0.0.1:0"}}}
    return config(receivers={"otlp": receiver}, exporters={"otlp_http": otlp_exporter(sink)},
                  extensions={"health_check": {"endpoint": "127.0.0.1:0", **(health or {})}},
                  service={"extensions": ["health_check"], "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["otlp_http"]}}})


def port(relay, what):
    return int(re.search(r"port (\d+)", relay.wait_line(f"{what} at .*port"))[1])


def page(relay, path="/"):
    """(status, what the page says)"""
    connection = http.client.HTTPConnection("127.0.0.1", port(relay, "health"), timeout=TIMEOUT)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, json.loads(body)


def wait_page(relay, done):
    end = time.monotonic() + TIMEOUT
    while not done(*page(relay)):
        assert time.monotonic() < end, page(relay)
    return page(relay)


def post(relay):
    connection = http.client.HTTPConnection("127.0.0.1", port(relay, "OTLP/HTTP"), timeout=TIMEOUT)
    body = (corpus("otlp") / "official" / "common-1.10.pb").read_bytes()
    connection.request("POST", "/v1development/profiles", body, {"Content-Type": "application/x-protobuf"})
    assert connection.getresponse().status == 200
    connection.close()


def test_ready_then_draining(folder):
    with Sink() as sink, Relay(relay_config(sink), folder) as relay:
        code, said = page(relay)
        assert code == 200 and said["status"] == "Server available" and said["state"] == "ready", said
        assert said["exporters"]["otlp_http"]["status"] == "ok", said
        sink.behave(default=hold())
        post(relay)
        sink.wait(lambda s: len(s.requests) == 1, "the request")
        relay.signal(signal.SIGTERM)
        code, said = wait_page(relay, lambda code, _: code != 200)
        assert code == 503 and said["state"] == "draining" and "upSince" not in said, said
        sink.behave()
        sink.release()
        assert relay.wait() == 0
        assert sink.count(lambda r: r.accepted) == 1


def test_a_failing_exporter_is_told(folder):
    strict = {"component_health": {"include_recoverable_errors": True, "recovery_duration": "0s"}}
    for health, failing_code in (({}, 200), (strict, 500)):
        with Sink() as sink, Relay(relay_config(sink, health), folder) as relay:
            sink.behave(default=status(503, "away \x1b[1m"))
            post(relay)
            code, said = wait_page(relay, lambda _, said: said["exporters"]["otlp_http"]["status"] != "ok")
            exporter = said["exporters"]["otlp_http"]
            assert code == failing_code and said["state"] == "ready", (code, said)
            assert exporter["status"] == "failing" and "503" in exporter["lastError"], exporter
            assert "\x1b" not in exporter["lastError"] and exporter["failingSince"].endswith("Z"), exporter
            sink.behave()
            wait_page(relay, lambda code, said: code == 200 and said["exporters"]["otlp_http"]["status"] == "ok")


def test_thousand_watches_hold_nobody_up(folder):
    with Sink() as sink, Relay(relay_config(sink), folder) as relay:
        before = relay.rss_bytes()
        connections = [Connection(port(relay, "OTLP/gRPC")) for _ in range(5)]
        for c in connections:
            for _ in range(200):
                c.call(WATCH, message())
            c.read_until(lambda c: len(c.data) == 200 and all(d == SERVING for d in c.data.values()))
        assert relay.rss_bytes() - before < STRANGERS_BYTES
        post(relay)
        sink.wait_accepted(1)
        assert page(relay)[0] == 200
        begin = time.monotonic()
        relay.signal(signal.SIGTERM)
        for c in connections:
            c.read_to_end()
            assert all(d == SERVING + NOT_SERVING for d in c.data.values()) and len(c.ended) == 200 and c.goaways >= 1
            c.close()
        assert relay.wait() == 0
        assert time.monotonic() - begin < 20


def test_watches_are_bounded(folder):
    with Sink() as sink, Relay(relay_config(sink, grpc={"max_connections": 50}), folder) as relay:
        c = Connection(port(relay, "OTLP/gRPC"))
        for _ in range(60):
            c.call(WATCH, message())
        c.read_until(lambda c: len(c.ended) == 10 and sum(d == SERVING for d in c.data.values()) == 50)
        c.close()
        again = Connection(port(relay, "OTLP/gRPC"))
        again.call(WATCH, message())
        again.read_until(lambda c: c.data[1] or c.ended)
        again.close()


def test_reflection_without_an_end(folder):
    """Who reads is answered as long as he likes; who does not is refused, and holds little until then."""
    with Sink() as sink, Relay(relay_config(sink), folder) as relay:
        before = relay.rss_bytes()
        reader = Connection(port(relay, "OTLP/gRPC"), window=(1 << 31) - 1)
        reader.frame(8, 0, 0, ((1 << 31) - 1 - 65535).to_bytes(4, "big"))
        stream = reader.call(REFLECT, LIST_SERVICES, end=False)
        reader.read_until(lambda c: c.data[stream])
        answer = bytes(reader.data[stream])
        for _ in range(200):
            reader.frame(0, 0, stream, LIST_SERVICES * 100)
        reader.read_until(lambda c: len(c.data[stream]) == 20001 * len(answer))
        reader.frame(0, 1, stream)
        reader.read_until(lambda c: stream in c.ended)
        assert reader.data[stream] == answer * 20001
        reader.close()
        deaf = Connection(port(relay, "OTLP/gRPC"), window=0)
        for _ in range(60):
            stream = deaf.call(REFLECT, end=False)
            for _ in range(10):
                deaf.frame(0, 0, stream, LIST_SERVICES * 2000)
        assert relay.rss_bytes() - before < STRANGERS_BYTES
        post(relay)
        sink.wait_accepted(1)
        deaf.close()


def test_garbage_for_reflection(folder):
    with Sink() as sink, Relay(relay_config(sink), folder) as relay:
        c = Connection(port(relay, "OTLP/gRPC"))
        for junk in (b"\xff" * 5, message(b"\xff" * 100), b"\0\xff\xff\xff\xff" + b"x" * 16000, message(b"\x22\x7f"), b"\x01\0\0\0\0"):
            stream = c.call(REFLECT, junk, end=False)
            c.read_until(lambda c, s=stream: s in c.ended)
            assert c.data[stream] == b""
        stream = c.call(REFLECT, LIST_SERVICES + b"\0\0")
        c.read_until(lambda c: stream in c.ended)
        assert b"ServerReflection" in c.data[stream]
        c.close()
