# SPDX-License-Identifier: Apache-2.0
"""What the receiver `otlp` does with requests of which only a part is good, and with those it sends on as they came."""
import gzip
import json

from support import corpus, grpc_raw, load_tool, otlp
from support.process import Relay, config
from support.setup import otlp_exporter
from support.sink import Sink
from test_otlp_receiver import JSON, PROTO, port, post, relay_config

EXPORT = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
SAMPLES = "otelcol_receiver_accepted_profile_samples"


def json_profile(stack, value):
    return {"samples": [{"stackIndex": stack, "values": [str(value)]}], "sampleType": {"typeStrindex": 1}}


def json_request(*profiles):
    dictionary = {"stringTable": ["", "cpu"]}
    return json.dumps({"resourceProfiles": [{"scopeProfiles": [{"profiles": list(profiles)}]}], "dictionary": dictionary}).encode()


def proto_request(*profiles):
    """The same by another hand; profiles are (stack, value)."""
    tool = load_tool("otlpprof")
    body = b"".join(tool.fm(2, tool.fm(1, tool.fv(1, 1)) + tool.fm(2, tool.fv(1, stack) + tool.packed(4, [value]))) for stack, value in profiles)
    return tool.fm(1, tool.fm(2, body)) + tool.fm(2, tool.fm(5, b"") + tool.fm(5, b"cpu"))


def partial_success(body):
    """(rejected, message) of an ExportProfilesServiceResponse."""
    tool = load_tool("otlpprof")
    inner = {f: v for f, _, v in tool.fields(next(v for f, _, v in tool.fields(body) if f == 1))}
    return inner[1], inner[2].decode()


def values(body):
    """And timestamps, of all samples."""
    samples = [s for r in otlp.parse(body).resource_profiles for sp in r.scope_profiles for p in sp.profiles for s in p.samples]
    return [v for s in samples for v in (*s.values, *s.timestamps_unix_nano)]


def assert_told(rejected, message):
    assert rejected == 1 and "profiles[1].samples[0]: stack_index 7 is not below 1" in message, (rejected, message)


def test_good_profiles_stay(folder):
    with Sink() as sink, Relay(relay_config(sink), folder) as relay:
        status, headers, body = post(relay, proto_request((0, 11), (7, 12), (0, 13)), PROTO)
        assert (status, headers["Content-Type"]) == (200, "application/x-protobuf"), (status, body)
        assert_told(*partial_success(body))
        sink.wait_accepted(1)
        assert values(sink.accepted()[-1]) == [11, 13]
        status, headers, body = post(relay, json_request(json_profile(0, 21), json_profile(7, 22)), JSON)
        assert (status, headers["Content-Type"]) == (200, "application/json"), (status, body)
        told = json.loads(body)["partialSuccess"]
        assert_told(int(told["rejectedProfiles"]), told["errorMessage"])
        sink.wait_accepted(2)
        assert values(sink.accepted()[-1]) == [21]
        assert relay.metric(SAMPLES, receiver="otlp", transport="http") == 3
        relay.wait_line("1 of a request's profiles cannot be read")


def test_good_profiles_stay_over_grpc(folder):
    with Sink() as sink, Relay(relay_config(sink), folder) as relay:
        connection = grpc_raw.Connection(port(relay, "gRPC"))
        call = connection.call(EXPORT, grpc_raw.message(proto_request((0, 31), (7, 32))))
        connection.read_until(lambda c: call in c.ended)
        connection.close()
        answer = connection.data[call]
        assert answer[0] == 0 and int.from_bytes(answer[1:5], "big") == len(answer) - 5, answer
        assert_told(*partial_success(answer[5:]))
        sink.wait_accepted(1)
        assert values(sink.accepted()[-1]) == [31]


def test_all_bad_is_refused(folder):
    with Sink() as sink, Relay(relay_config(sink), folder) as relay:
        status, _, body = post(relay, proto_request((7, 1), (8, 1)), PROTO)
        assert status == 400 and b"profiles[0].samples[0]: stack_index 7 is not below 1" in body, (status, body)
        status, _, body = post(relay, json_request(json_profile(7, 1)), JSON)
        assert status == 400 and "stack_index 7" in json.loads(body)["message"], (status, body)
        assert sink.count(lambda r: True) == 0


def test_too_deep_a_value_is_a_bad_request(folder):
    with Sink() as sink, Relay(relay_config(sink), folder) as relay:
        status, _, body = post(relay, (corpus("otlp") / "special" / "bad_nested_2000.otlp.pb").read_bytes(), PROTO)
        assert status == 400 and b"max_value_depth" in body, (status, body)
        nested = '{"arrayValue":{"values":[' * 200 + "{}" + "]}}" * 200
        text = '{"resourceProfiles":[{"resource":{"attributes":[{"key":"k","value":' + nested + "}]}}]}"
        status, _, body = post(relay, text.encode(), JSON)
        assert status == 400 and "nested" in json.loads(body)["message"], (status, body)


def clean_bodies():
    root = corpus("otlp")
    return {name: (root / name).read_bytes() for name in ("ebpf-layout-1.10.bin", "special/phlaredb_profile.otlp.pb")}


def test_unchanged_requests_travel_as_they_came(folder):
    with Sink() as sink, Relay(relay_config(sink, exporter={"compression": "gzip"}), folder) as relay:
        for count, (name, body) in enumerate(clean_bodies().items(), 1):
            packed = gzip.compress(body, 9)  # as nobody here would compress it
            status, _, answer = post(relay, packed, {**PROTO, "Content-Encoding": "gzip"})
            assert status == 200, (name, answer)
            sink.wait_accepted(count)
            assert sink.accepted()[-1] == body, name


def relay_with(sinks, processors, *pipelines):
    """Each pipeline, a list of processors, has a sink of its own."""
    exporters = {f"otlp_http/{i}": otlp_exporter(sink, compression="none") for i, sink in enumerate(sinks)}
    receiver = {"protocols": {"http": {"endpoint": "127.0.0.1:0"}}}
    service = {"pipelines": {f"profiles/{i}": {"receivers": ["otlp"], "processors": p, "exporters": [f"otlp_http/{i}"]} for i, p in enumerate(pipelines)}}
    return config(receivers={"otlp": receiver}, processors=processors, exporters=exporters, service=service)


def test_changed_resources_are_put_into_the_bytes(folder):
    """Judged by a reader of its own."""
    tool = load_tool("otlpprof")
    processors = {"resource": {"attributes": [{"key": "added", "value": "x", "action": "insert"}]}}
    with Sink() as sink, Relay(relay_with([sink], processors, ["resource"]), folder) as relay:
        for count, (name, body) in enumerate(clean_bodies().items(), 1):
            assert post(relay, body, PROTO)[0] == 200, name
            sink.wait_accepted(count)
            got = sink.accepted()[-1]
            assert [v for f, _, v in tool.fields(got) if f == 2] == [v for f, _, v in tool.fields(body) if f == 2], name  # the dictionary
            sent, came = otlp.decode(body), otlp.decode(got)
            assert [{**g.resource, "added": "x"} for g in sent] == [g.resource for g in came], name
            assert [g.profiles for g in sent] == [g.profiles for g in came], name


def pod_request(tool, uid):
    """A profile of a resource with k8s.pod.uid, in bytes that nobody here would write: a table first, an orphan text, a long zero."""
    texts = b"".join(tool.fm(5, t) for t in (b"", b"cpu", b"an orphan"))
    dictionary = texts + b"".join(tool.fm(table, b"") for table in (7, 6, 4, 3, 2, 1))
    profile = tool.fm(1, tool.fv(1, 1)) + tool.fm(2, tool.packed(4, [7])) + tool.fm(5, b"") + b"\x20\x80\x80\x00"
    attribute = tool.fm(1, tool.fm(1, b"k8s.pod.uid") + tool.fm(2, tool.fm(1, uid)))
    scopes = tool.fm(2, tool.fm(1, b"") + tool.fm(2, profile))
    return tool.fm(2, dictionary) + tool.fm(1, tool.fm(1, attribute) + scopes), dictionary, scopes


def test_what_a_pod_adds_is_put_into_the_bytes(folder):
    """A resource that is found by itself needs nothing of its samples, though some rules look at them."""
    tool = load_tool("otlpprof")
    processors = {"k8s_attributes": {"auth_type": "none", "downward": {}, "extract": {"metadata": ["k8s.pod.name"]}}}
    env = {"POD_NAME": "cart-1", "POD_NAMESPACE": "shop", "POD_UID": "u-1"}
    body, dictionary, scopes = pod_request(tool, b"u-1")
    with Sink() as sink, Relay(relay_with([sink], processors, ["k8s_attributes"]), folder, env=env) as relay:
        assert post(relay, body, PROTO)[0] == 200
        sink.wait_accepted(1)
        got = sink.accepted()[-1]
    assert [v for f, _, v in tool.fields(got) if f == 2] == [dictionary], got
    assert scopes in got, got
    assert otlp.decode(got)[0].resource == {"k8s.pod.uid": "u-1", "k8s.pod.name": "cart-1"}, got


def test_one_of_two_pipelines_changes_the_samples(folder):
    processors = {"attributes": {"actions": [{"key": "marked", "value": "yes", "action": "insert"}]}}
    with Sink() as a, Sink() as b, Relay(relay_with([a, b], processors, [], ["attributes"]), folder) as relay:
        for count, (name, body) in enumerate(clean_bodies().items(), 1):
            assert post(relay, body, PROTO)[0] == 200, name
            a.wait_accepted(count)
            b.wait_accepted(count)
            assert a.accepted()[-1] == body, name
            marked = b.accepted()[-1]
            assert b"marked" in marked and b"marked" not in body, name
            assert sorted(values(marked)) == sorted(values(body)), name


def test_what_is_deleted_is_nowhere(folder):
    """Not even in the string table, which resources may refer to."""
    tool = load_tool("otlpprof")
    texts = [b"", b"cpu", b"a.secret.key", b"a secret", b"kept.key", b"kept"]
    attributes = b"".join(tool.fm(1, tool.fv(3, key) + tool.fm(2, tool.fv(8, value))) for key, value in ((2, 3), (4, 5)))
    profile = tool.fm(1, tool.fv(1, 1)) + tool.fm(2, tool.packed(4, [7])) + tool.fm(5, b"")
    body = tool.fm(1, tool.fm(1, attributes) + tool.fm(2, tool.fm(1, b"") + tool.fm(2, profile)))
    body += tool.fm(2, b"".join(tool.fm(table, b"") for table in (1, 2, 3, 4)) + b"".join(tool.fm(5, t) for t in texts) + tool.fm(6, b"") + tool.fm(7, b""))
    for key in ("a.secret.key", None):
        processors = {"resource": {"attributes": [{"key": key, "action": "delete"} if key else {"key": "x", "value": "y", "action": "insert"}]}}
        with Sink() as sink, Relay(relay_with([sink], processors, ["resource"]), folder) as relay:
            assert post(relay, body, PROTO)[0] == 200
            sink.wait_accepted(1)
            got = sink.accepted()[-1]
            assert (b"secret" in got) == (key is None), got
            resource = otlp.decode(got)[0].resource
            assert resource == ({"kept.key": "kept"} if key else {"a.secret.key": "a secret", "kept.key": "kept", "x": "y"}), resource
