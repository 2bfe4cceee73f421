# SPDX-License-Identifier: Apache-2.0
"""The exporter `pyroscope` against a server that answers as told; what it sends is read by Google's protobuf runtime."""
import email
import gzip
import json
import re
import time
import urllib.parse
from collections import Counter

from support import otlp, pprof_make, pyroscope
from support.process import Relay, config, run
from support.setup import add, file_receiver, pipeline
from support.sink import Behaviour, Sink, ok

CODES = {400: "invalid_argument", 401: "unauthenticated", 403: "permission_denied", 404: "unimplemented",
         413: "resource_exhausted", 415: "unknown", 422: "unknown", 429: "resource_exhausted", 500: "unknown",
         503: "unavailable"}


def error(status, message, **headers):
    """As Connect tells it."""
    body = json.dumps({"code": CODES.get(status, "internal"), "message": message}).encode()
    return Behaviour(status=status, headers={"Content-Type": "application/json", **headers}, body=body)


def exporter(sink, base="", **settings):
    retry = {"initial_interval": "20ms", "max_interval": "50ms", **settings.pop("retry_on_failure", {})}
    return {"endpoint": sink.endpoint + base, "retry_on_failure": retry, **settings}


def simple(folder, sink, base="", **settings):
    (folder / "in").mkdir(exist_ok=True)
    return pipeline(folder, {"pprof/a": file_receiver(folder / "in", "shop")}, {"pyroscope": exporter(sink, base, **settings)})


def pushed(request):
    """The one series of a request and its one profile."""
    (labels, profiles), = otlp.parse_push(request.body)
    profile, = profiles
    return labels, profile


def total(profiles):
    """Every sample of every type, and how often it is there."""
    found = Counter()
    for profile in profiles:
        for one in otlp.read_pprof(profile):
            for sample, count in one["samples"].items():
                found[(one["type"], sample)] += count
    return found


def test_a_file_is_pushed(folder):
    with Sink() as sink, Relay(simple(folder, sink, "/pyroscope/", tenant={"id": "team-a"}), folder):
        data = add(folder / "in", "one", time_nanos=time.time_ns())
        sink.wait_accepted(1)
        request, = sink.requests
        labels, profile = pushed(request)
        assert (request.method, request.path) == ("POST", "/pyroscope" + pyroscope.PUSH)
        assert request.headers["content-type"] == "application/proto"
        assert request.headers["connect-protocol-version"] == "1"
        assert request.headers["x-scope-orgid"] == "team-a"
        assert "content-encoding" not in request.headers
        assert labels["service_name"] == "shop" and labels["__name__"] == "process_cpu" and labels["__delta__"] == "false", labels
        assert profile[:2] == b"\x1f\x8b"
        assert total([profile]) == total([data])
        sent, came = otlp.parse_pprof(data), otlp.parse_pprof(profile)
        assert (came.time_nanos, came.duration_nanos, came.period) == (sent.time_nanos, sent.duration_nanos, sent.period)


def test_other_ways_to_compress_and_to_write_the_address(folder):
    settings = {"profile_compression": "none", "compression": "gzip"}
    with Sink() as sink, Relay(simple(folder, sink, "/base" + pyroscope.PUSH, **settings), folder):
        data = add(folder / "in", "one")
        sink.wait_accepted(1)
        request, = sink.requests
        assert request.path == "/base" + pyroscope.PUSH and request.headers["content-encoding"] == "gzip"
        _, profile = pushed(request)
        assert profile[:2] != b"\x1f\x8b" and total([profile]) == total([data])


def test_names_of_sample_types_have_no_dashes(folder):
    with Sink() as sink, Relay(simple(folder, sink), folder):
        add(folder / "in", "one", types=(("wall-cpu", "nanoseconds"), ("lock-count", "count")), default_type="lock-count",
            functions=2)
        sink.wait_accepted(1)
        profile = otlp.parse_pprof(pushed(sink.requests[0])[1])
        strings = profile.string_table
        assert [strings[t.type] for t in profile.sample_type] == ["wall_cpu", "lock_count"]
        assert strings[profile.default_sample_type] == "lock_count"


def test_one_type_of_several(folder):
    with Sink() as sink, Relay(simple(folder, sink, primary_type="auto"), folder):
        data = add(folder / "in", "one", types=(("samples", "count"), ("cpu", "nanoseconds")))
        sink.wait_accepted(1)
        profile, = otlp.read_pprof(pushed(sink.requests[0])[1])
        assert profile["type"] == ("cpu", "nanoseconds")
        assert profile["samples"] == otlp.read_pprof(data)[1]["samples"]


def test_what_is_tried_again(folder):
    script = [error(429, "push rate limit (4.0 MiB) exceeded while adding 30 KiB"), error(503, "later"), error(408, "slow"),
              error(500, "dial tcp: lookup failed"), error(422, "rate limit exceeded"), Behaviour(cut="body")]
    with Sink() as sink, Relay(simple(folder, sink), folder) as relay:
        sink.behave(ok(), script)
        data = add(folder / "in", "one")
        sink.wait_accepted(1)
        assert len(sink.requests) == len(script) + 1
        assert len({r.raw for r in sink.requests}) == 1  # the same bytes
        assert total([pushed(sink.requests[-1])[1]]) == total([data])
        assert "exceeded while adding" in relay.wait_line("sending fails, will retry")
        relay.wait_line("sending works again")


def test_what_is_refused_for_good(folder):
    cases = [(400, "profile out of ingestion window\x1b[31m"), (401, "no credentials"), (403, "not yours"),
             (404, "404 page not found"), (415, "what"), (422, "malformed profile")]
    with Sink() as sink, Relay(simple(folder, sink), folder) as relay:
        for status, words in cases:
            sink.behave(ok(), [error(status, words)])
            before = sink.count()
            add(folder / "in", f"case{status}")
            line = relay.wait_line(f"refuses .* answers {status} {CODES[status]}: ")
            assert words.replace("\x1b", " ") in line and "\x1b" not in line, line
            assert sink.count() == before + 1
        assert sink.endpoint + pyroscope.PUSH in relay.log("answers 404")[0]
        assert "base path" in relay.log("answers 404")[0]
        assert relay.metric("otelcol_exporter_send_failed_profile_samples") > 0


def test_a_500_that_stays_unknown_is_given_up(folder):
    with Sink() as sink, Relay(simple(folder, sink), folder) as relay:
        sink.behave(error(500, "failed to parse profile"))
        add(folder / "in", "one")
        relay.wait_line("refuses .*500 unknown: failed to parse profile")
        assert sink.count() == 3


def check_parts(sink, data, parts):
    profiles = [pushed(r)[1] for r in parts]
    assert total(profiles) == total([data])
    assert len({json.dumps(pushed(r)[0]) for r in parts}) == 1  # the same series
    times = [otlp.parse_pprof(p).time_nanos for p in profiles]
    assert len(set(times)) == len(times), times
    assert max(times) - otlp.parse_pprof(data).time_nanos < 1_000_000_000


LARGE = {"samples": 3000, "functions": 500, "locations": 1000, "depth": 20}


def test_large_profiles_are_cut_here(folder):
    with Sink() as sink, Relay(simple(folder, sink, max_profile_bytes="64KiB"), folder) as relay:
        data = add(folder / "in", "one", **LARGE)
        relay.wait_metric("otelcol_exporter_sent_profile_samples", 2 * LARGE["samples"])
        check_parts(sink, data, sink.requests)
        assert len(sink.requests) > 2
        assert all(len(gzip.decompress(pushed(r)[1])) <= 65536 for r in sink.requests)


def test_many_samples_are_cut_here(folder):
    with Sink() as sink, Relay(simple(folder, sink, max_profile_samples=1000), folder) as relay:
        data = add(folder / "in", "one", **LARGE)
        relay.wait_metric("otelcol_exporter_sent_profile_samples", 2 * LARGE["samples"])
        check_parts(sink, data, sink.requests)
        assert 3 <= len(sink.requests) <= 8
        assert all(len(otlp.parse_pprof(pushed(r)[1]).sample) <= 1000 for r in sink.requests)


class Small(Sink):
    """Refuses profiles of more than `most` bytes, inflated."""

    def __init__(self, refusal, most=60_000):
        self.refusal, self.most = refusal, most
        super().__init__(judge=lambda headers: ok())

    def _note(self, request):
        profile = pushed(request)[1] if pyroscope.PUSH in request.path else request.body
        if len(otlp.inflated(profile)) > self.most:
            vars(request.behaviour).update(vars(self.refusal))
        super()._note(request)


def check_refused(folder, refusal, **settings):
    with Small(refusal) as sink, Relay(simple(folder, sink, **settings), folder) as relay:
        data = add(folder / "in", "one", **LARGE)
        relay.wait_metric("otelcol_exporter_sent_profile_samples", 2 * LARGE["samples"])
        accepted = [r for r in sink.requests if r.accepted]
        assert len(accepted) > 1
        if settings.get("api") != "ingest":
            check_parts(sink, data, accepted)
        else:
            assert total([r.body for r in accepted]) == total([data])
            assert len({r.path for r in accepted}) == 1
        assert relay.metric("otelcol_exporter_send_failed_profile_samples") == 0
        assert "max_profile_bytes" in relay.wait_line("splitting to about")


def test_what_a_proxy_finds_too_large_is_cut(folder):
    page = b"<html><title>413 Request Entity Too Large</title></html>"
    check_refused(folder, Behaviour(status=413, headers={"Content-Type": "text/html"}, body=page), compression="gzip")


def test_what_the_server_finds_too_large_is_cut(folder):
    check_refused(folder, error(400, "the profile with labels '{}' exceeds the size limit (max_profile_size_byte, actual: 9, limit: 5)"))


def test_uploads_are_cut_too(folder):
    check_refused(folder, Behaviour(status=413), api="ingest")


def query_of(request):
    path, _, query = request.path.partition("?")
    return path, dict(urllib.parse.parse_qsl(query, strict_parsing=True))


def test_ingest(folder):
    attributes = {"service.name": "shop, front", "region": "eu=1", "tag": "a,b}c", "odd name": "x"}
    receiver = file_receiver(folder / "in", "x", resource_attributes=attributes)
    (folder / "in").mkdir()
    receiver["resource_attributes"] = attributes
    text = pipeline(folder, {"pprof/a": receiver}, {"pyroscope": exporter(sink := Sink(), "/p?key=1", api="ingest")})
    with sink, Relay(text, folder):
        data = add(folder / "in", "one", time_nanos=1_795_974_691_000_000_000)
        sink.wait_accepted(1)
        request, = sink.requests
        path, query = query_of(request)
        assert path == "/p/ingest" and query["key"] == "1" and query["format"] == "pprof"
        assert query["name"] == "shop__front{service_name=shop_ front,odd_name=x,region=eu=1,tag=a_b_c}", query["name"]
        assert (query["from"], query["until"]) == ("1795974691", "1795974701")
        assert query["sampleRate"] == "100"
        assert request.headers["content-type"] == "application/octet-stream"
        assert "connect-protocol-version" not in request.headers and "content-encoding" not in request.headers
        assert request.raw[:2] == b"\x1f\x8b" and total([request.raw]) == total([data])


def test_tenants_by_attribute(folder):
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    receivers = {f"pprof/{x}": {**file_receiver(folder / x, x), "resource_attributes": {"service.name": x, **more}}
                 for x, more in {"a": {"tenant": "team-a"}, "b": {}}.items()}
    settings = {"tenant": {"attribute": "tenant", "id": "others"}, "labels": {"allow": ["service.name"]}}
    with Sink() as sink, Relay(pipeline(folder, receivers, {"pyroscope": exporter(sink, **settings)}), folder):
        add(folder / "a", "one")
        add(folder / "b", "two")
        sink.wait_accepted(2)
        got = {pushed(r)[0]["service_name"]: r.headers["x-scope-orgid"] for r in sink.requests}
        assert got == {"a": "team-a", "b": "others"}
        assert all("tenant" not in pushed(r)[0] for r in sink.requests)


def test_tenants_beside_an_authenticator_that_asks_for_attributes(folder):
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    receivers = {f"pprof/{x}": {**file_receiver(folder / x, x),
                                "resource_attributes": {"service.name": x, "tenant": f"team-{x}", "set": "one"}} for x in "ab"}
    settings = {"tenant": {"attribute": "tenant"}, "auth": {"authenticator": "headers_setter"}}
    text = pipeline(folder, receivers, {"pyroscope": exporter(sink := Sink(), **settings)},
                    service={"extensions": ["file_storage", "headers_setter"]})
    setter = {"headers": [{"key": "dataset", "from_attribute": "set"}]}
    text = json.dumps({**(c := json.loads(text)), "extensions": {**c["extensions"], "headers_setter": setter}})
    with sink, Relay(text, folder):
        add(folder / "a", "one")
        add(folder / "b", "two")
        sink.wait_accepted(2)
        got = {pushed(r)[0]["service_name"]: (r.headers["x-scope-orgid"], r.headers["dataset"]) for r in sink.requests}
        assert got == {"a": ("team-a", "one"), "b": ("team-b", "one")}


def test_credentials_are_read_anew_after_a_401(folder):
    (folder / "token").write_text("old")
    (folder / "in").mkdir()
    settings = exporter(sink := Sink(judge=lambda h: ok() if h["authorization"] == "Bearer new" else error(401, "no")),
                        auth={"authenticator": "bearertokenauth"})
    text = pipeline(folder, {"pprof/a": file_receiver(folder / "in", "a")}, {"pyroscope": settings},
                    service={"extensions": ["file_storage", "bearertokenauth"]})
    text = json.dumps({**(c := json.loads(text)),
                       "extensions": {**c["extensions"], "bearertokenauth": {"filename": str(folder / "token")}}})
    with sink, Relay(text, folder) as relay:
        add(folder / "in", "one")
        relay.wait_line("answers 401 unauthenticated: no")
        assert sink.count() == 2
        (folder / "token").write_text("new")
        add(folder / "in", "two")
        sink.wait_accepted(1)


def test_profiles_out_of_the_window_are_dropped_here(folder):
    with Sink() as sink, Relay(simple(folder, sink, max_age="1h", max_ahead="10m"), folder) as relay:
        now = time.time_ns()
        add(folder / "in", "old", time_nanos=now - 7200 * 10**9)
        relay.wait_line("max_age allows 3600 s")
        add(folder / "in", "ahead", time_nanos=now + 3600 * 10**9)
        relay.wait_line("max_ahead allows 600 s")
        add(folder / "in", "good", time_nanos=now)
        sink.wait_accepted(1)
        assert sink.count() == 1
        assert relay.metric("profrelay_exporter_pyroscope_out_of_window_profile_samples") > 0


def test_a_recording_is_handed_on(folder):
    jfr, labels = b"FLR\0\0\x02\0\0" + bytes(range(256)) * 40, b"\x0a\x02\x08\x01"
    boundary = b"--xyz\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n\r\n%s\r\n"
    body = b"".join(boundary % (n, n, d) for n, d in [(b"jfr", jfr), (b"labels", labels)]) + b"--xyz--\r\n"
    with Sink() as sink:
        text = config(receivers={"pyroscope": {"endpoint": "127.0.0.1:0", "jfr": "pass"}},
                      processors={"resource": {"attributes": [{"key": "team", "value": "blue", "action": "upsert"}]}},
                      exporters={"pyroscope": exporter(sink, "/up")},
                      service={"pipelines": {"profiles": {"receivers": ["pyroscope"], "processors": ["resource"],
                                                          "exporters": ["pyroscope"]}}})
        with Relay(text, folder) as relay:
            name = urllib.parse.quote("java.app{region=eu}")
            head = (f"POST /ingest?name={name}&from=1795974691&until=1795974699&format=jfr&sampleRate=97&spyName=javaspy HTTP/1.1\r\n"
                    f"Host: x\r\nContent-Type: multipart/form-data; boundary=xyz\r\nContent-Length: {len(body)}\r\n\r\n")
            answer = pyroscope.exchange(pyroscope.port(relay, "pyroscope"), head.encode() + body)
            assert answer[0] == 200, answer
            sink.wait_accepted(1)
    request, = sink.requests
    path, query = query_of(request)
    assert path == "/up/ingest"
    assert query["name"] == "java.app{region=eu,team=blue}", query
    assert (query["from"], query["until"], query["format"]) == ("1795974691", "1795974699", "jfr"), query
    assert (query["sampleRate"], query["spyName"]) == ("97", "javaspy"), query
    message = email.message_from_bytes(b"Content-Type: " + request.headers["content-type"].encode() + b"\r\n\r\n" + request.raw)
    parts = {p.get_param("name", header="content-disposition"): p.get_payload(decode=True) for p in message.get_payload()}
    assert parts == {"jfr": jfr, "labels": labels}


def test_settings_are_checked(folder):
    cases = [({}, "requires an \"endpoint\""), ({"endpoint": "localhost:4040"}, "endpoint"),
             ({"endpoint": "http://x", "compression": "zstd"}, "gzip only"),
             ({"endpoint": "http://x", "api": "ingest", "compression": "gzip"}, "profile_compression"),
             ({"endpoint": "http://x", "headers": {"content-type": "x"}}, "belongs to the API"),
             ({"endpoint": "http://x", "labels": {"rename": {"a": ""}}}, "needs the name of a label")]
    for settings, words in cases:
        text = config(receivers={"pprof": {"file": {"include": "/nowhere/*"}}}, exporters={"pyroscope": settings},
                      service={"pipelines": {"profiles": {"receivers": ["pprof"], "exporters": ["pyroscope"]}}})
        (folder / "c.yaml").write_text(text)
        done = run("validate", "--config", folder / "c.yaml")
        assert done.returncode != 0 and words in done.stderr, (settings, done.stderr)
        assert re.search("pyroscope", done.stderr)


def check_chain(folder, **settings):
    """File -> exporter -> receiver -> OTLP: every sample is there, under the same service and attributes."""
    with Sink() as sink:
        gateway = config(receivers={"pyroscope": {"endpoint": "127.0.0.1:0"}}, exporters={"otlp_http": {"endpoint": sink.endpoint}},
                         service={"pipelines": {"profiles": {"receivers": ["pyroscope"], "exporters": ["otlp_http"]}}})
        with Relay(gateway, folder, name="gateway.yaml") as second:
            (folder / "in").mkdir()
            receiver = {**file_receiver(folder / "in", "x"),
                        "resource_attributes": {"service.name": "shop", "host.name": "a1", "zone": "eu, west}"}}
            address = f"http://127.0.0.1:{pyroscope.port(second, 'pyroscope')}/pyroscope"
            with Relay(pipeline(folder, {"pprof/a": receiver}, {"pyroscope": {"endpoint": address, **settings}}), folder):
                data = add(folder / "in", "one", odd_labels=True, time_nanos=time.time_ns())
                sink.wait_accepted(1)
    group, = otlp.decode_all(sink.accepted())
    otlp.assert_same(data, group, "one")
    return group


def test_what_we_push_we_take(folder):
    group = check_chain(folder)
    assert (group.resource["service.name"], group.resource["host.name"]) == ("shop", "a1")
    assert group.resource["zone"] == "eu, west}"


def test_what_we_upload_we_take(folder):
    group = check_chain(folder, api="ingest")
    assert (group.resource["service.name"], group.resource["host.name"]) == ("shop", "a1")
    assert group.resource["zone"] == "eu_ west_"
