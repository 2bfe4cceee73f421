# SPDX-License-Identifier: Apache-2.0
"""What Pyroscope's SDKs once sent, sent again as it was, byte for byte: what comes out as OTLP says what the recording is
known to say, and each cell `recorded` of docs/pyroscope-matrix.md is true."""
import gzip
import json
import re

from support import corpus, otlp, pyroscope
from support.ingest import uploads_of
from support.process import Relay
from support.setup import otlp_exporter
from support.sink import Behaviour, Sink

SDKS = {"go": "Go", "node": "Node", "python": "Python", "rust": "Rust", "java": "Java"}
SPECIAL = re.compile(r"__|service_name$|otel\.scope\.")  # labels that do not become attributes of the resource
LINKS = {"span_id", "trace_id", "profile_id"}


def recordings(sdk, pattern="*.http"):
    """(path, what is known of it)"""
    files = sorted((corpus("pyroscope") / sdk).glob(pattern))
    assert files, f"no recordings of {sdk}"
    return [(path, json.loads(path.with_suffix(".json").read_text())) for path in files]


def series_of(known):
    """[(labels, pprof's description)] of what is known, of /ingest and of Push."""
    expected = known["expected"]
    if "push" in expected:
        return [(dict(s["labels"]), sample) for s in expected["push"] for sample in s["samples"]]
    name = known["request"]["query"]["name"]
    app, _, inner = name.partition("{")
    labels = dict(pair.split("=", 1) for pair in inner.rstrip("}").split(",") if pair)
    labels.setdefault("service_name", app)
    pprof = expected.get("pprof") or next(p["pprof"] for p in expected["parts"] if p["name"] == "profile")
    return [(labels, pprof)]


def leaves(profile):
    out = {}
    for s in profile["samples"]:
        lines = s["stack"][0][2] if s["stack"] else ()
        name = lines[0][0] if lines else ""
        out[name] = out.get(name, 0) + sum(s["values"])
    return out


def is_node_wall(name):
    return "wall" in name


def assert_profile(profile, pprof, kind, name):
    assert sum(sum(s["values"]) for s in profile["samples"]) == pprof["totals"][kind], f"{name} {kind}: total"
    value, function = pprof["top"][kind]["leaf"][0]
    got = leaves(profile)
    assert got[function] == value == max(got.values()), f"{name} {kind}: {function} has {got.get(function)}, not {value}"
    assert profile["period"] == pprof["period"] and "/".join(profile["period_type"]) == pprof["period_type"], f"{name}: period"
    time = pprof["time_nanos"] - (pprof["duration_nanos"] if is_node_wall(name) else 0)  # those say the end of their window
    assert profile["time"] == time, f"{name}: time {profile['time']}, not {time}"
    assert profile["duration"] == pprof["duration_nanos"], f"{name}: duration {profile['duration']}"
    for key, values in pprof["sample_labels"].items():
        if key not in LINKS:
            seen = {s["attributes"][key][0] for s in profile["samples"] if key in s["attributes"]}
            assert seen == set(values), f"{name} {kind}: {key} is {seen}, not {values}"
        elif len(values[0]) == 16:
            assert any(s["link"] and s["link"][1].hex() in values for s in profile["samples"]), f"{name}: no link to {values}"


def assert_group(group, labels, pprof, name):
    wanted = {k: v for k, v in labels.items() if v and not SPECIAL.match(k)}
    wanted["service.name"] = labels["service_name"]
    assert wanted.items() <= group.resource.items(), f"{name}: {wanted} came as {group.resource}"
    assert not any(k.startswith("__") or v == "" for k, v in group.resource.items()), f"{name}: {group.resource}"
    assert (group.scope_name, group.scope_version) == (labels.get("otel.scope.name", ""), labels.get("otel.scope.version", "")), name
    got = {"/".join(p["type"]): p for p in group.profiles}
    assert got.keys() == set(pprof["sample_types"]) and len(got) == len(group.profiles), f"{name}: types {sorted(got)}"
    for kind, profile in got.items():
        assert_profile(profile, pprof, kind, name)


def assert_expected(bodies, known, name):
    groups, wanted = otlp.decode_all(bodies), series_of(known)
    assert len(groups) == len(wanted), f"{name}: {len(groups)} scopes, not {len(wanted)}"
    for labels, pprof in wanted:
        kinds = set(pprof["sample_types"])
        group = next(g for g in groups if {"/".join(p["type"]) for p in g.profiles} == kinds)
        assert_group(group, labels, pprof, name)


def version_of(known):
    return re.split(r",| \(", known["version"])[0]


def fact(sdk, known, result="right", **more):
    headers, m = known["request"]["headers"], pyroscope.matrix()
    given = {"sdk": SDKS[sdk], "version": version_of(known), "way": pyroscope.credentials(headers)[1],
             "path": pyroscope.base_path(known["request"]["path"]), "kind": "recorded", "result": result}
    return m.Fact(**{**given, **more})


def receiver_of(known):
    return pyroscope.credentials(known["request"]["headers"])[0]


def replay(folder, sdk):
    """Each recording of that SDK in turn."""
    facts, sent = [], recordings(sdk)
    with Sink() as sink, Relay(pyroscope.relay_config({"otlp_http": otlp_exporter(sink)}), folder) as relay:
        for path, known in sent:
            before = len(sink.accepted())
            status, _, body = pyroscope.exchange(pyroscope.port(relay, receiver_of(known)), path.read_bytes())
            assert (status, body) == (200, b""), f"{path.name}: {status} {body}"
            sink.wait_accepted(before + 1)
            assert_expected(sink.accepted()[before:], known, path.name)
            facts.append(fact(sdk, known))
    pyroscope.matrix().note(f"recorded-{sdk}", facts)


def test_go(folder):
    replay(folder, "go")


def test_node(folder):
    replay(folder, "node")


def test_python(folder):
    replay(folder, "python")


def test_rust(folder):
    replay(folder, "rust")


def java(of_otlp):
    return [(path, known) for path, known in recordings("java") if ("otlp" in known["expected"]) == of_otlp]


def test_java_is_refused_with_the_reason(folder):
    with Sink() as sink, Relay(pyroscope.relay_config({"otlp_http": otlp_exporter(sink)}), folder) as relay:
        for path, known in java(of_otlp=False):
            status, headers, body = pyroscope.exchange(pyroscope.port(relay, receiver_of(known)), path.read_bytes())
            assert status == 415 and headers["content-type"] == "application/json" and b"JFR" in body, (path.name, status, body)
        assert sink.count() == 0
    facts = [fact("java", known, "415", version=version_of(known) + ", `jfr: reject`") for _, known in java(of_otlp=False)]
    pyroscope.matrix().note("recorded-java-reject", facts)


def test_java_is_handed_on(folder):
    facts = []
    with Sink() as sink:
        sink.behave(Behaviour())
        with Relay(pyroscope.relay_config({"pyroscope": otlp_exporter(sink)}, jfr="pass"), folder) as relay:
            for number, (path, known) in enumerate(java(of_otlp=False), 1):
                data = path.read_bytes()
                status, _, body = pyroscope.exchange(pyroscope.port(relay, receiver_of(known)), data)
                assert (status, body) == (200, b""), f"{path.name}: {status} {body}"
                sink.wait_accepted(number)
                assert_handed_on(uploads_of(data)[0], sink.requests[-1], path.name)
                facts.append(fact("java", known, version=version_of(known) + ", `jfr: pass`"))
    pyroscope.matrix().note("recorded-java-pass", facts)


def assert_handed_on(sent, request, name):
    got = type(sent)(request.path, request.headers, request.raw)
    assert got.parts.keys() == sent.parts.keys() and got.parts == sent.parts, f"{name}: {got.summary()}, not {sent.summary()}"
    assert got.service == sent.service and sent.labels.items() <= got.labels.items(), f"{name}: {got.name}, not {sent.name}"
    for key in ("format", "units", "aggregationType", "spyName", "sampleRate"):
        assert got.query.get(key) == sent.query.get(key), f"{name}: {key} is {got.query.get(key)}"
    for key in ("from", "until"):  # in seconds, or in what is finer
        assert got.query[key].ljust(19, "0") == sent.query[key].ljust(19, "0"), f"{name}: {key} is {got.query[key]}"


def test_java_as_otlp(folder):
    """The agent's other format goes to the receiver `otlp`, at the path that its address makes."""
    http = {"endpoint": "127.0.0.1:0", "profiles_url_path": "/base/v1development/profiles", "auth": {"authenticator": "bearertokenauth"}}
    more = {"otlp": {"protocols": {"http": http}}}
    facts = []
    with Sink() as sink, Relay(pyroscope.relay_config({"otlp_http": otlp_exporter(sink)}, more), folder) as relay:
        for number, (path, known) in enumerate(java(of_otlp=True), 1):
            assert pyroscope.exchange(pyroscope.port(relay, "otlp"), path.read_bytes())[0] == 200, path.name
            sink.wait_accepted(number)
            (group,), (wanted,) = otlp.decode(sink.accepted()[-1]), known["expected"]["otlp"]["profiles"]
            (profile,) = group.profiles
            assert "/".join(profile["type"]) == wanted["sample_type"] and profile["time"] == wanted["time_unix_nano"], path.name
            assert sum(sum(s["values"]) for s in profile["samples"]) == wanted["total"], path.name
            value, function = wanted["top_leaf"][0]
            assert leaves(profile)[function] == value == max(leaves(profile).values()), path.name
            facts.append(fact("java", known, version=version_of(known) + ", `PYROSCOPE_FORMAT=otlp`"))
    pyroscope.matrix().note("recorded-java-otlp", facts)


# -- connect-go, each protocol --

PROTOCOLS = {"application/proto": "Connect", "application/json": "Connect JSON", "application/grpc": "gRPC",
             "application/grpc-web+proto": "gRPC-Web"}
FIRST = {"service.name": "demo.connect.service", "region": "eu-west-1", "dotted.name": "v"}
SECOND = {"service.name": "demo.connect.other", "uni": "grün, {x}"}
TWO_SERIES = {"connect-proto-gzip-base", "connect-json", "connect-proto-h2", "grpc-h2", "grpcweb"}


def assert_success(path, content_type, status, headers, body):
    """The empty message, as that protocol says it."""
    assert status == 200, f"{path.name}: {status} {body}"
    body = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
    if content_type == "application/json":
        assert json.loads(body) == {}, f"{path.name}: {body}"
    elif content_type == "application/proto":
        assert body == b"", f"{path.name}: {body}"
    else:
        assert b"grpc-status: 0" in body.lower().replace(b":0", b": 0") or headers.get("grpc-status") == "0", f"{path.name}: {body}"


def push_once(relay, path, headers):
    data = path.read_bytes()
    number = pyroscope.port(relay, pyroscope.credentials(headers)[0])
    if data.startswith(b"PRI "):
        body = pyroscope.exchange_http2(number, data)
        assert body[1:5] == len(body[5:]).to_bytes(4, "big") if dict(headers)["Content-Type"] == "application/grpc" else True, path.name
    else:
        assert_success(path, dict(headers)["Content-Type"], *pyroscope.exchange(number, data))


def test_connect_go(folder):
    """In every protocol; the requests that a server once refused are taken here."""
    facts, profiles = [], corpus("pyroscope") / "godeltaprof"
    with Sink() as sink, Relay(pyroscope.relay_config({"otlp_http": otlp_exporter(sink)}), folder) as relay:
        for number, (path, known) in enumerate(recordings("connect", "*.client"), 1):
            headers = [tuple(line.split(": ", 1)) for line in known["headers"]]
            push_once(relay, path, headers)
            sink.wait_accepted(number)
            groups = otlp.decode(sink.accepted()[-1])
            wanted = [(FIRST, "cpu5s.pprof")] + [(SECOND, "delta_heap.1.pprof")] * 2 * (path.stem in TWO_SERIES)
            assert len(groups) == len(wanted), f"{path.name}: {len(groups)} scopes"
            for group, (resource, file) in zip(groups, wanted):
                assert resource.items() <= group.resource.items(), f"{path.name}: {group.resource}"
                otlp.assert_same((profiles / file).read_bytes(), group, path.name)
            protocol = f"{PROTOCOLS[dict(headers)['Content-Type']]}{', gzip' * ('Content-Encoding: gzip' in known['headers'])}, {known['proto']}"
            facts.append(pyroscope.matrix().Fact("connect-go (Alloy, profilecli)", f"1.19.2, {protocol}", pyroscope.credentials(headers)[1],
                                                 pyroscope.base_path(known["uri"]), "recorded", "right"))
    pyroscope.matrix().note("recorded-connect", facts)


def test_the_matrix_says_what_was_seen(folder):
    """Last: the tests above have noted it."""
    del folder
    corpus("pyroscope")
    pyroscope.assert_matrix("recorded")
