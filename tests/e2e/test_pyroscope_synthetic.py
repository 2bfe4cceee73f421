# SPDX-License-Identifier: Apache-2.0
"""Requests built as clients make them that do not run here: three generations of .NET and two of Ruby. Each cell `built` of
docs/pyroscope-matrix.md is true."""
import base64
import gzip
import http.client
import json
import socket
import urllib.parse

from support import otlp, pprof_make, pyroscope
from support.pprof_make import block
from support.process import Relay
from support.setup import otlp_exporter
from support.sink import Sink

TOKEN = "dummy-token-0001"
NAME = "dotnet.service{region=eu-west-1,team=demo}"
SECONDS = pprof_make.TIME // 10**9
CREDENTIALS = {"Bearer": ("Authorization", f"Bearer {TOKEN}"), "own header": ("x-status200-token", TOKEN),
               "Basic": ("Authorization", "Basic " + base64.b64encode(f"any:{TOKEN}".encode()).decode())}
PREFIXES = ["", "/pyroscope", "/v1/profiles/pyroscope"]


class Sender:
    """Sends one request after the other; what came out of each."""

    def __init__(self, relay, sink):
        self.relay, self.sink = relay, sink

    def connection(self, headers):
        receiver = pyroscope.credentials(headers)[0]
        return http.client.HTTPConnection("127.0.0.1", pyroscope.port(self.relay, receiver), timeout=60)

    def post(self, path, headers, body, chunked=False):
        """body: bytes, or with `chunked` the chunks. The groups."""
        before, connection = len(self.sink.accepted()), self.connection(headers.items())
        connection.request("POST", path, body, headers, encode_chunked=chunked)
        answer = connection.getresponse()
        text = answer.read()
        assert (answer.status, text) == (200, b""), (path, answer.status, text)
        connection.close()
        self.sink.wait_accepted(before + 1)
        return otlp.decode_all(self.sink.accepted()[before:])


def running(folder, test):
    with Sink() as sink, Relay(pyroscope.relay_config({"otlp_http": otlp_exporter(sink)}), folder) as relay:
        test(Sender(relay, sink))


def form(boundary, parts):
    """parts: (name, file name or None, bytes)"""
    out = b""
    for name, file, content in parts:
        of_file = f'; filename="{file}"' if file else ""
        out += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{of_file}\r\nContent-Type: application/octet-stream\r\n\r\n'.encode()
        out += content + b"\r\n"
    return f"multipart/form-data; boundary={boundary}", out + f"--{boundary}--\r\n".encode()


def series(labels, profile, identity=""):
    pairs = b"".join(block(1, block(1, k.encode()) + block(2, v.encode())) for k, v in labels.items())
    sample = block(1, profile) + (block(2, identity.encode()) if identity else b"")
    return block(1, pairs + block(2, sample))


def ingest_path(prefix, spy, begin, end, **more):
    query = {"name": NAME, "from": begin, "until": end, "spyName": spy, **more}
    return f"{prefix}/ingest?{urllib.parse.urlencode(query)}"


def assert_arrived(groups, profile, resource, service="dotnet.service"):
    (group,) = groups
    otlp.assert_same(profile, group, service)
    wanted = {"service.name": service, "region": "eu-west-1", "team": "demo", **resource}
    assert wanted.items() <= group.resource.items(), group.resource


def note(name, sdk, version, seen):
    m = pyroscope.matrix()
    m.note(f"built-{name}", [m.Fact(sdk, version, way, path, "built", "right") for way, path in seen])


# -- .NET up to 0.13: /ingest, a form --

BOUNDARY = "--cpp-httplib-multipart-data-6SoTSUWQnMkPkJVT"


def old_dotnet_profile(kind="cpu"):
    return pprof_make.make(compressed=False, types=((kind, "nanoseconds"),), period=1)


def old_dotnet_form(profile, kind="cpu"):
    types = {kind: {"units": "samples", "display-name": kind}}
    return form(BOUNDARY, [("profile", "profile.pprof", profile), ("sample_type_config", "sample_type_config.json", json.dumps(types).encode())])


def old_dotnet_path(prefix):
    return ingest_path(prefix, "dotnetspy", pprof_make.TIME, pprof_make.TIME + 10**10, spyVersion="0.13.0")


def test_dotnet_up_to_0_13(folder):
    """Also in chunks; the boundary begins with dashes and is not quoted."""
    seen, profile = [], old_dotnet_profile()
    kind, body = old_dotnet_form(profile)

    def send(sender):
        for way in ["Bearer", "Basic"]:
            for prefix in PREFIXES:
                headers = {"Content-Type": kind, **dict([CREDENTIALS[way]])}
                assert_arrived(sender.post(old_dotnet_path(prefix), headers, body), profile, {"telemetry.sdk.language": "dotnet"})
                seen.append((way, prefix))
        chunks = [body[i:i + 1000] for i in range(0, len(body), 1000)]
        headers = {"Content-Type": kind, "Transfer-Encoding": "chunked"}
        assert_arrived(sender.post(old_dotnet_path(""), headers, iter(chunks), chunked=True), profile, {})
        seen.append(("none", ""))

    running(folder, send)
    note("dotnet-1", ".NET", "up to 0.13", seen)


def test_parts_of_a_form_in_any_order(folder):
    """And with a quoted boundary, and plain fields in between."""
    profile = pprof_make.make()
    kind, body = form("a b", [("sample_type_config", "s.json", b"{}"), ("note", None, b"x"), ("profile", "p", profile)])
    kind = kind.replace("a b", '"a b"')
    running(folder, lambda sender: assert_arrived(sender.post(old_dotnet_path(""), {"Content-Type": kind}, body), profile, {}))


# -- .NET from 0.14: Push, one series for each type, nothing compressed --

def new_dotnet_profile(**options):
    return pprof_make.make(compressed=False, types=(("cpu", "nanoseconds"),), period=1, **options)


def dotnet_labels(kind="process_cpu"):
    return {"__name__": kind, "service_name": "dotnet.service", "spy_name": "dotnetspy", "region": "eu-west-1", "team": "demo"}


def push_headers(way, **more):
    return {"Content-Type": "application/proto", **dict([CREDENTIALS[way]] if way in CREDENTIALS else []), **more}


def push_ways(folder, ways):
    seen, profile = [], new_dotnet_profile()

    def send(sender):
        for way in ways:
            for prefix in PREFIXES:
                groups = sender.post(prefix + pyroscope.PUSH, push_headers(way), series(dotnet_labels(), profile))
                assert_arrived(groups, profile, {"telemetry.sdk.language": "dotnet"})
                seen.append((way, prefix))

    running(folder, send)
    return seen


def test_dotnet_0_14_to_1_4(folder):
    note("dotnet-2", ".NET", "0.14 to 1.4", push_ways(folder, ["none", "Bearer"]))


def test_dotnet_from_1_5(folder):
    note("dotnet-3", ".NET", "from 1.5", push_ways(folder, ["none", "Basic", "own header"]))


def test_each_type_of_dotnet(folder):
    """What the series is called is kept for the way back."""
    def send(sender):
        for kind in ["process_cpu", "wall", "memory", "lock", "exception", "gc", "network", "thread_lifetime", "unknown"]:
            (group,) = sender.post(pyroscope.PUSH, push_headers("none"), series(dotnet_labels(kind), new_dotnet_profile()))
            assert group.profiles[0]["attributes"]["pyroscope.profile_type"] == (kind, ""), group.profiles[0]["attributes"]

    running(folder, send)


def test_a_large_upload_of_dotnet(folder):
    """16 MB, not compressed, by a client that waits for 100 Continue."""
    profile = new_dotnet_profile(samples=95000, depth=30, locations=900, twice=True)
    body = series(dotnet_labels(), profile)
    assert len(body) > 16_000_000, len(body)

    def send(sender):
        status, answer = expecting(pyroscope.port(sender.relay, "pyroscope/open"), body)
        assert (status, answer) == (200, b""), (status, answer)
        sender.sink.wait(lambda s: sum(samples_of(x) for x in s.accepted()) >= 190000, "190000 samples")

    running(folder, send)


def samples_of(body):
    return sum(len(p.samples) for r in otlp.parse(body).resource_profiles for s in r.scope_profiles for p in s.profiles)


def expecting(port, body, headers=""):
    """Holds the body back until the server wants it. (status, body of the answer)"""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        head = (f"POST {pyroscope.PUSH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/proto\r\n{headers}"
                f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n")
        connection.sendall(head.encode())
        with connection.makefile("rb") as answer:
            first = answer.readline()
            if b" 100 " not in first:
                return int(first.split()[1]), b""
            assert answer.readline() == b"\r\n"
            connection.sendall(body)
            status, _, text = pyroscope.read_answer(answer)
            return status, text


def test_who_may_not_send_need_not(folder):
    """A wrong token or a size that is too large is told instead of 100 Continue."""
    def send(sender):
        port = pyroscope.port(sender.relay, "pyroscope/token")
        assert expecting(port, b"x" * 5000, "Authorization: Bearer wrong\r\n")[0] == 401
        assert expecting(port, bytes(70 << 20), f"Authorization: Bearer {TOKEN}\r\n")[0] == 413

    running(folder, send)


# -- Ruby --

def test_ruby_by_push(folder):
    """1.1: the crate that Rust uses; only the User-Agent tells the language."""
    seen, profile = [], pprof_make.make(compressed=False)
    labels = {"__name__": "process_cpu", "region": "eu-west-1", "team": "demo", "service_name": "ruby.service"}
    body = gzip.compress(series(labels, profile, "f4be5cfc-ebab-473f-9666-8ba5553efe39"), mtime=0)
    agent = {"User-Agent": "pyroscope-rs/rbspy/1.1.0 reqwest", "Content-Encoding": "gzip"}

    def send(sender):
        for way in ["none", "Basic", "own header"]:
            for prefix in [*PREFIXES, "/"]:
                groups = sender.post(prefix + pyroscope.PUSH, push_headers(way, **agent), body)
                assert_arrived(groups, profile, {"telemetry.sdk.language": "ruby", "telemetry.sdk.version": "1.1.0"}, "ruby.service")
                seen.append((way, prefix))

    running(folder, send)
    note("ruby-2", "Ruby", "1.1", seen)


def test_old_ruby_by_ingest(folder):
    """Before 1.1: pprof to /ingest, times in seconds, Content-Encoding or not; and stacks as text before that."""
    seen, profile = [], pprof_make.make(compressed=False)
    raw = {"Content-Type": "binary/octet-stream"}

    def send(sender):
        path = ingest_path("", "rbspy", SECONDS, SECONDS + 10, sampleRate=100, format="pprof")
        assert_arrived(sender.post(path, raw, profile), profile, {"telemetry.sdk.language": "ruby"})
        zipped = {**raw, "Content-Encoding": "gzip", **dict([CREDENTIALS["Bearer"]])}
        assert_arrived(sender.post("/pyroscope" + path, zipped, gzip.compress(profile)), profile, {"telemetry.sdk.language": "ruby"})
        seen.extend([("none", ""), ("Bearer", "/pyroscope")])

    running(folder, send)
    note("ruby-1", "Ruby", "before 1.1, pprof", seen)


def test_old_ruby_as_text(folder):
    """Counts times the period are nanoseconds of CPU."""
    def send(sender):
        path = ingest_path("", "rbspy", SECONDS, SECONDS + 10, sampleRate=100, units="samples", aggregationType="sum", format="folded")
        (group,) = sender.post(path, {"Content-Type": "binary/octet-stream"}, b"main;burn 80\nmain;rest 20\n")
        (profile,) = group.profiles
        values = {s["stack"][0][2][0][0]: sum(s["values"]) for s in profile["samples"]}
        assert (profile["type"], values) == (("cpu", "nanoseconds"), {"burn": 800_000_000, "rest": 200_000_000}), profile
        assert profile["time"] == SECONDS * 10**9 and profile["duration"] == 10 * 10**9, profile

    running(folder, send)
    note("ruby-0", "Ruby", "before 1.1, folded", [("none", "")])


def test_the_matrix_says_what_was_seen(folder):
    """Last: the tests above have noted it."""
    del folder
    pyroscope.assert_matrix("built")
