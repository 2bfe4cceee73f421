# SPDX-License-Identifier: Apache-2.0
"""Receivers on one endpoint: each request goes to the one whose it is, and they come and go together."""
import signal

from support import http2, pprof_make
from support.grpc_raw import Connection, message
from support.process import Relay, config, run
from support.setup import otlp_exporter
from support.sink import Sink
from support.unix import UnixConnection

OTLP, GRPC = "/v1development/profiles", "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
PUSH = "/push.v1.PusherService/Push"


def post(path, where, body=b"", kind=None, method="POST"):
    connection = UnixConnection(path)
    connection.request(method, where, body, {"Content-Type": kind} if kind else {})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, data


def endpoint(folder):
    return {"endpoint": f"unix:{folder}/s"}


def shared_config(sink, receivers, loops=1):
    """receivers: in the order in which they start."""
    return config(receivers=receivers, exporters={"otlp_http": otlp_exporter(sink)},
                  service={"loops": loops, "pipelines": {"profiles": {"receivers": list(receivers), "exporters": ["otlp_http"]}}})


def receivers(folder, otlp_first, **pyroscope):
    """A receiver that shares nothing is between them, so that they would be on different loops."""
    both = [("otlp", {"protocols": {"grpc": endpoint(folder), "http": endpoint(folder)}}),
            ("pyroscope", {**endpoint(folder), **pyroscope})]
    first, last = both if otlp_first else reversed(both)
    return dict([first, ("otlp/alone", {"protocols": {"http": {"endpoint": "127.0.0.1:0"}}}), last])


def grpc_call(path, where, body):
    """What came as data of the answer."""
    connection = Connection(path)
    call = connection.call(where, message(body))
    connection.read_until(lambda c: call in c.ended)
    connection.close()
    return bytes(connection.data[call])


def each_has_its_own(folder, otlp_first):
    path = f"{folder}/s"
    with Sink() as sink, Relay(shared_config(sink, receivers(folder, otlp_first), loops=3), folder) as relay:
        assert post(path, "/ingest?name=a&format=pprof", pprof_make.make())[0] == 200
        sink.wait_accepted(1)
        came = sink.accepted()[0]
        assert post(path, OTLP, came, "application/x-protobuf")[0] == 200
        assert grpc_call(path, GRPC, came) == message()
        grpc_call(path, PUSH, b"")
        relay.wait_line("receiver/pyroscope\tunix: a request is refused: no profiles received")  # it has asked the right one
        assert grpc_call(path, "/grpc.health.v1.Health/Check", b"") == message(b"\x08\x01")
        sink.wait_accepted(3)
        assert post(path, "/ready", method="GET")[0] == 200
        for wrong in ("/nothing", "/v1/traces", "/wrong/ingest", "/"):
            status, text = post(path, wrong)
            assert status == 404 and OTLP.encode() in text and b"/ingest" in text, (wrong, status, text)
        assert len(relay.log("Pyroscope at unix:.*/s$")) == 1 and len(relay.log("OTLP/gRPC at unix:.*/s$")) == 1


def test_otlp_first(folder):
    each_has_its_own(folder, otlp_first=True)


def test_pyroscope_first(folder):
    each_has_its_own(folder, otlp_first=False)


def test_a_stop_ends_all_in_time(folder):
    """While requests of both are half sent."""
    path = f"{folder}/s"
    with Sink() as sink, Relay(shared_config(sink, receivers(folder, True)), folder) as relay:
        half = []
        for where, kind in ((OTLP, "application/x-protobuf"), ("/ingest?name=a", "text/plain")):
            connection = http2.connect(path, 60)
            connection.sendall(f"POST {where} HTTP/1.1\r\nHost: h\r\nContent-Type: {kind}\r\nContent-Length: 9\r\n\r\nx".encode())
            half.append(connection)
        assert post(path, "/ready", method="GET")[0] == 200  # they have come too
        relay.process.send_signal(signal.SIGTERM)
        relay.wait_line("Shutdown complete")
        assert relay.process.wait(60) == 0
        for connection in half:
            assert connection.recv(100) == b""
            connection.close()


def refused(folder, text, *words):
    (folder / "c.yaml").write_text(text)
    done = run("--config", folder / "c.yaml")
    assert done.returncode == 1 and all(w in done.stderr for w in words), done.stderr


def test_what_differs_is_an_error(folder):
    with Sink() as sink:
        refused(folder, shared_config(sink, receivers(folder, True, max_connections=7)),
                "receivers.pyroscope: ", "otlp listens on unix:", "with another max_connections: give both the same")
        two = {name: {"protocols": {"http": endpoint(folder)}} for name in ("otlp", "otlp/2")}
        refused(folder, shared_config(sink, two), "receivers.otlp/2: protocols.http: ",
                "receivers.otlp listens on unix:", "for the same requests: give them different endpoints")
