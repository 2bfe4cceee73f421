# SPDX-License-Identifier: Apache-2.0
"""filter, redaction, groupbyattrs and probabilistic_sampler in the whole program: what leaves it, and what does not."""
from support import otlp
from support.process import Relay, config
from support.setup import otlp_exporter
from support.sink import Sink
from test_otlp_receiver import PROTO, post

def relay_config(folder, sink, processors):
    receiver = {"protocols": {"http": {"endpoint": "127.0.0.1:0"}}}
    exporters = {"otlp_http": otlp_exporter(sink, compression="none"), "file": {"path": str(folder / "out.otlp"), "format": "proto"}}
    service = {"pipelines": {"profiles": {"receivers": ["otlp"], "processors": list(processors), "exporters": list(exporters)}}}
    return config(receivers={"otlp": receiver}, processors=processors, exporters=exporters, service=service)


class Host:
    """A request that is passed on byte by byte unless something is to be changed, strings that nothing refers to included."""

    def __init__(self):
        self.request = otlp.parse(b"")
        d = self.request.dictionary
        for table in (d.mapping_table, d.location_table, d.function_table, d.link_table, d.attribute_table, d.stack_table):
            table.add()
        d.string_table.append("")
        self.string("unreferenced-secret")
        self.attribute("loose", "unreferenced-secret")

    def string(self, text):
        table = self.request.dictionary.string_table
        if text not in table:
            table.append(text)
        return list(table).index(text)

    def attribute(self, key, text):
        a = self.request.dictionary.attribute_table.add(key_strindex=self.string(key))
        a.value.string_value = text
        return len(self.request.dictionary.attribute_table) - 1

    def stack(self, *frames):
        """Of (function, file, mapping)."""
        d = self.request.dictionary
        ids = []
        for name, file, mapping in frames:
            d.mapping_table.add(memory_start=len(d.mapping_table), filename_strindex=self.string(mapping))
            d.function_table.add(name_strindex=self.string(name), filename_strindex=self.string(file))
            d.location_table.add(mapping_index=len(d.mapping_table) - 1, address=len(d.location_table)).lines.add(
                function_index=len(d.function_table) - 1)
            ids.append(len(d.location_table) - 1)
        d.stack_table.add(location_indices=ids)
        return len(d.stack_table) - 1

    def resource(self, **attributes):
        r = self.request.resource_profiles.add()
        for key, value in attributes.items():
            r.resource.attributes.add(key=key.replace("_", ".")).value.string_value = value
        scope = r.scope_profiles.add()
        scope.scope.name = "test"
        return scope

    def profile(self, scope, samples, time_nanos=1, payload=b""):
        """Of (stack, value, attribute ids)."""
        p = scope.profiles.add(time_unix_nano=time_nanos, original_payload=payload, original_payload_format="x" if payload else "")
        p.sample_type.type_strindex, p.sample_type.unit_strindex = self.string("cpu"), self.string("ns")
        p.period_type.SetInParent()
        for stack, value, attributes in samples:
            p.samples.add(stack_index=stack, values=[value], attribute_indices=attributes)


def host():
    h = Host()
    app = h.stack(("work", "/src/work.c", "/bin/app"), ("main", "/src/main.c", "/bin/app"))
    traced = h.stack(("work2", "/src/work.c", "/bin/app"), ("hook", "/src/hook.c", "/lib/libtracer.so"))
    own = h.stack(("secret_function", "/home/bob/x.c", "/bin/app"))
    pods = [h.attribute("k8s.pod.uid", f"pod-{i}") for i in range(5)]
    mail, word = h.attribute("mail", "bob@example.org"), h.attribute("password", "hunter2")
    scope = h.resource(service_name="shop", k8s_namespace_name="shop")
    h.profile(scope, [(app, i + 1, [pods[i % 5]]) for i in range(50)] + [(traced, 1000, [mail, word]), (own, 5000, [])],
              payload=b"secret-payload")
    system = h.resource(service_name="dns", k8s_namespace_name="kube-system")
    h.profile(system, [(own, 7, [])])
    return h.request.SerializeToString()


class Way:
    """What came of some requests behind these processors: decoded, and all bytes that left the program."""

    def __init__(self, folder, processors, bodies, arrive=True):
        with Sink() as sink:
            with Relay(relay_config(folder, sink, processors), folder) as relay:
                for body in bodies:
                    assert post(relay, body, PROTO)[0] == 200
                if arrive:
                    sink.wait_accepted(len(bodies))
                self.items = tuple(relay.metric(f"otelcol_processor_{way}_items", processor=list(processors)[-1])
                                   for way in ("incoming", "outgoing"))
            self.bodies = list(sink.accepted())
        self.groups = otlp.decode_all(self.bodies)
        self.bytes = b"".join(self.bodies) + (folder / "out.otlp").read_bytes()

    def assert_without(self, *texts):
        for text in texts:
            assert text.encode() not in self.bytes, f"{text} left the program"

    def samples(self):
        return [s for g in self.groups for p in g.profiles for s in p["samples"]]


SUM = sum(range(51)) + 1000 + 5000 + 7


def names(samples):
    return {name for s in samples for _, _, lines, _ in s["stack"] for name, *_ in lines}


def test_nothing_configured_to_go_goes(folder):
    """The tests below can only show that something is gone if it would be there."""
    rule = {"match_type": "strict", "services": ["none"]}
    way = Way(folder, {"filter": {"level": "resource", "exclude": rule}}, [host()])
    for text in ("dns", "kube-system", "bob@example.org", "hunter2", "libtracer.so", "secret_function", "unreferenced-secret"):
        assert text.encode() in way.bytes, text
    assert sum(s["values"][0] for s in way.samples()) == SUM


def test_filter_resources(folder):
    rule = {"match_type": "regexp", "resources": [{"key": "k8s.namespace.name", "value": "^kube-"}]}
    way = Way(folder, {"filter/system": {"level": "resource", "exclude": rule}}, [host()])
    assert [g.service for g in way.groups] == ["shop"]
    way.assert_without("kube-system", "dns", "unreferenced-secret")
    assert way.items == (53, 52)
    assert sum(s["values"][0] for s in way.samples()) == SUM - 7
    assert way.groups[0].profiles[0]["payload"] == ("x", b"secret-payload")  # the profile did not change


def test_filter_samples(folder):
    rule = {"match_type": "strict", "attributes": [{"key": "mail", "value": "bob@example.org"}]}
    way = Way(folder, {"filter": {"exclude": rule}}, [host()])
    way.assert_without("bob@example.org", "hunter2", "libtracer.so", "hook", "secret-payload", "unreferenced-secret")
    assert way.items == (53, 52)
    assert sum(s["values"][0] for s in way.samples()) == SUM - 1000


def test_filter_frames(folder):
    drop = [{"mapping": "libtracer[.]so$"}, {"name": "^secret_", "file": "^/home/"}]
    way = Way(folder, {"filter": {"frames": {"drop": drop}}}, [host()])
    way.assert_without("libtracer.so", "hook", "secret_function", "/home/bob", "secret-payload", "unreferenced-secret")
    assert way.items == (53, 53)
    assert names(way.samples()) == {"work", "main", "work2"}
    assert sum(s["values"][0] for s in way.samples()) == SUM


def test_redaction(folder):
    settings = {"allow_all_keys": True, "blocked_values": ["[a-z]+@example[.]org"], "blocked_key_patterns": ["^password$"],
                "blocked_function_names": ["^secret_"], "blocked_file_paths": ["^/home/[a-z]+"], "summary": "info"}
    way = Way(folder, {"redaction": settings}, [host()])
    way.assert_without("bob@example.org", "hunter2", "secret_function", "/home/bob", "secret-payload", "unreferenced-secret")
    assert names(way.samples()) == {"work", "main", "work2", "hook", "****function"}
    told = [s["attributes"] for s in way.samples() if s["values"] == (1000,)]
    assert told == [{"mail": ("****", ""), "password": ("****", ""), "redaction.masked.count": (2, "")}]
    assert sum(s["values"][0] for s in way.samples()) == SUM and way.items == (53, 53)


def test_redaction_that_finds_nothing(folder):
    """What no table refers to has not been looked at, so it does not go on with the bytes that came."""
    way = Way(folder, {"redaction": {"allow_all_keys": True, "blocked_values": ["none"], "keep_original_payload": True}}, [host()])
    way.assert_without("unreferenced-secret")
    assert sum(s["values"][0] for s in way.samples()) == SUM


def test_groupbyattrs(folder):
    way = Way(folder, {"groupbyattrs": {"keys": ["k8s.pod.uid"]}}, [host()])
    pods = {g.resource.get("k8s.pod.uid"): [s for p in g.profiles for s in p["samples"]] for g in way.groups if g.service == "shop"}
    assert set(pods) == {None, *(f"pod-{i}" for i in range(5))}
    for i in range(5):
        assert sorted(s["values"][0] for s in pods[f"pod-{i}"]) == list(range(i + 1, 51, 5))
        assert all(s["attributes"] == {} for s in pods[f"pod-{i}"])
    assert sum(s["values"][0] for s in way.samples()) == SUM and way.items == (53, 53)


def many(start, count):
    h = Host()
    stack = h.stack(("work", "/src/work.c", "/bin/app"))
    for i in range(start, start + count):
        h.profile(h.resource(service_name=f"s{i % 4}"), [(stack, i + 1, [])], time_nanos=1000 + i)
    return h.request.SerializeToString()


def test_probabilistic_sampler(folder):
    """Whoever sends the same again, in other requests, to another program: the same go on, and of 40 % a part of them."""
    chosen = []
    for name, percentage, bodies in (("a", 60, [many(0, 400)]), ("b", 60, [many(0, 150), many(150, 250)]), ("c", 40, [many(0, 400)])):
        (folder / name).mkdir()
        way = Way(folder / name, {"probabilistic_sampler": {"sampling_percentage": percentage}}, bodies)
        chosen.append({s["values"][0] for s in way.samples()})
        assert len(way.samples()) == len(chosen[-1]) == way.items[1] and way.items[0] == 400
    assert chosen[0] == chosen[1] and chosen[2] < chosen[0]
    assert 190 < len(chosen[0]) < 290 and 110 < len(chosen[2]) < 210


def test_probabilistic_sampler_budget(folder):
    settings = {"budget": {"profiles": 10, "interval": "1h"}, "services": [{"name": "s3", "sampling_percentage": 0}]}
    way = Way(folder, {"probabilistic_sampler": settings}, [many(0, 400)])
    counts = {}
    for g in way.groups:
        counts[g.service] = counts.get(g.service, 0) + len(g.profiles)
    assert counts == {"s0": 10, "s1": 10, "s2": 10}
