# SPDX-License-Identifier: Apache-2.0
"""examples/gateway.yaml as it stands: Pyroscope's clients and OTLP in, with a token; OTLP over gRPC out."""
import base64
import gzip
import http.client
import json
import re
import urllib.parse

from support import ROOT, otlp, pprof_make
from support.grpc_raw import Connection, message
from support.pprof_make import block
from support.process import Relay, config, run
from support.setup import otlp_exporter
from support.sink import Sink
from support.unix import UnixConnection

TOKEN = "first-token"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
BASIC = {"Authorization": "Basic " + base64.b64encode(f"any:{TOKEN}".encode()).decode()}
PUSH, OTLP = "/push.v1.PusherService/Push", "/v1development/profiles"
EXPORT = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"


def gateway(folder, backend, **more):
    tokens = folder / "tokens"
    tokens.write_text(f"{TOKEN} of the test\n")
    env = {"PROFRELAY_PYROSCOPE": "127.0.0.1:0", "PROFRELAY_GRPC": "127.0.0.1:0", "PROFRELAY_HTTP": "127.0.0.1:0",
           "PROFRELAY_HEALTH": "127.0.0.1:0", "PROFRELAY_METRICS_PORT": "0", "PROFRELAY_TOKENS": str(tokens),
           "PROFRELAY_UPSTREAM": f"http://127.0.0.1:{port(backend, 'OTLP/gRPC')}", **more}
    return Relay((ROOT / "examples/gateway.yaml").read_text(), folder, env=env, name="gateway.yaml")


def backend(folder, sink):
    """What speaks gRPC, and passes on to the sink."""
    text = config(receivers={"otlp": {"protocols": {"grpc": {"endpoint": "127.0.0.1:0"}}}},
                  exporters={"otlp_http": otlp_exporter(sink)},
                  service={"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["otlp_http"]}}})
    return Relay(text, folder, name="backend.yaml")


def port(relay, what):
    return int(re.search(r"port (\d+)", relay.wait_line(f"{what} at .*port"))[1])


def over_tcp(relay, what):
    return http.client.HTTPConnection("127.0.0.1", port(relay, what), timeout=60)


def ask(connection, method, path, headers, body=b""):
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, data


def form(**parts):
    """As Go's SDK sends it."""
    text = b"".join(f'--x\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n\r\n'.encode() + data + b"\r\n"
                    for name, data in parts.items())
    return {"Content-Type": "multipart/form-data; boundary=x"}, text + b"--x--\r\n"


def push(service, profile):
    """As Python's and Rust's SDKs send it."""
    labels = {"__name__": "process_cpu", "service_name": service, "region": "eu"}
    series = b"".join(block(1, block(1, k.encode()) + block(2, v.encode())) for k, v in labels.items())
    series += block(2, block(1, profile) + block(2, b"7d1c3f0e-0000-4000-8000-000000000001"))
    return {"Content-Type": "application/proto", "Content-Encoding": "gzip"}, gzip.compress(block(1, series))


def ingest_path(service, **query):
    return "/ingest?" + urllib.parse.urlencode({"name": service + "{region=eu}", "from": "1795973800", "until": "1795973810", **query})


def otlp_request(folder, profile):
    (folder / "p.pb.gz").write_bytes(profile)
    done = run("convert", folder / "p.pb.gz", folder / "p.otlp")
    assert done.returncode == 0, done.stderr
    return {"Content-Type": "application/x-protobuf"}, (folder / "p.otlp").read_bytes()


def groups(sink, count):
    """{service: group} of the first so many requests."""
    sink.wait_accepted(count)
    return {g.service: g for g in otlp.decode_all(sink.accepted())}


def test_each_way_in_arrives(folder):
    profile = pprof_make.make(seed=7)
    raw = {"Content-Type": "application/octet-stream"}, profile
    uploads = [("go", BEARER, "", form(profile=profile)), ("node", BASIC, "/pyroscope", raw), ("push", BEARER, "", None),
               ("rust", BASIC, "/v1/profiles/pyroscope/", None)]
    with Sink() as sink, backend(folder, sink) as behind, gateway(folder, behind) as relay:
        for service, credentials, prefix, ready in uploads:
            headers, body = ready or push(service, profile)
            path = (ingest_path(service, **({"format": "pprof"} if service == "node" else {})) if ready else PUSH)
            status, text = ask(over_tcp(relay, "Pyroscope"), "POST", prefix + path, {**headers, **credentials}, body)
            assert (status, text) == (200, b""), (service, status, text)
        arrived = groups(sink, len(uploads))
        assert set(arrived) == {"go", "node", "push", "rust"}
        for service, group in arrived.items():
            assert group.resource["region"] == "eu" and group.resource["deployment.environment.name"] == "production", group.resource
            otlp.assert_same(profile, group, service)
        relay.wait_metric("otelcol_exporter_sent_profile_samples", 4 * 20 * 2)


def test_otlp_arrives(folder):
    with Sink() as sink, backend(folder, sink) as behind, gateway(folder, behind) as relay:
        headers, body = otlp_request(folder, pprof_make.make(seed=8))
        assert ask(over_tcp(relay, "OTLP/HTTP"), "POST", OTLP, headers, body)[0] == 401
        assert ask(over_tcp(relay, "OTLP/HTTP"), "POST", OTLP, {**headers, **BASIC}, body)[0] == 200
        sink.wait_accepted(1)
        connection = Connection(port(relay, "OTLP/gRPC"))
        call = connection.call(EXPORT, message(body), headers=[("authorization", f"Bearer {TOKEN}")])
        connection.read_until(lambda c: call in c.ended)
        connection.close()
        sink.wait_accepted(2)


def test_strangers_are_told_so(folder):
    header = {"PROFRELAY_TOKEN_HEADER": "x-vendor-token", "PROFRELAY_TOKEN_SCHEME": ""}
    with Sink() as sink, backend(folder, sink) as behind, gateway(folder, behind, **header) as relay:
        for path, good, bad in (("/validate", {"x-vendor-token": TOKEN}, {"x-vendor-token": "other"}),
                                ("/otlp/v1/validate", BASIC, {}), ("/pyroscope/validate", BEARER, {"Authorization": "Bearer x"})):
            status, text = ask(over_tcp(relay, "Pyroscope"), "GET", path, good)
            assert status == 200 and json.loads(text) == {"valid": True, "keyType": "Server"}, (path, status, text)
            status, text = ask(over_tcp(relay, "Pyroscope"), "GET", path, bad)
            assert status == 401 and json.loads(text)["valid"] is False, (path, status, text)
        status, text = ask(over_tcp(relay, "Pyroscope"), "POST", ingest_path("a"), {}, b"main;work 1")
        assert status == 401 and json.loads(text)["code"] == "unauthenticated", (status, text)
        relay.wait_line("a request is refused: ")
        assert sink.count() == 0


def test_what_the_page_says_to_try(folder):
    with Sink() as sink, backend(folder, sink) as behind, gateway(folder, behind) as relay:
        assert ask(over_tcp(relay, "Pyroscope"), "GET", "/ready", {})[0] == 200
        status, text = ask(over_tcp(relay, "Pyroscope"), "POST", "/ingest?name=try", BASIC, b"main;work 1")
        assert (status, text) == (200, b"")
        group = groups(sink, 1)["try"]
        assert [sum(s["values"]) for p in group.profiles for s in p["samples"]] == [10_000_000], group


def test_one_port_for_both(folder):
    path = str(folder / "s")
    same = {"PROFRELAY_PYROSCOPE": f"unix:{path}", "PROFRELAY_HTTP": f"unix:{path}"}
    with Sink() as sink, backend(folder, sink) as behind, gateway(folder, behind, **same):
        headers, body = otlp_request(folder, pprof_make.make(seed=9))
        assert ask(UnixConnection(path), "POST", OTLP, {**headers, **BEARER}, body)[0] == 200
        headers, body = push("pushed", pprof_make.make(seed=10))
        assert ask(UnixConnection(path), "POST", "/pyroscope" + PUSH, {**headers, **BEARER}, body)[0] == 200
        assert "pushed" in groups(sink, 2)
        status, text = ask(UnixConnection(path), "POST", "/wrong", BEARER)
        assert status == 404 and b"/ingest" in text and OTLP.encode() in text, (status, text)
