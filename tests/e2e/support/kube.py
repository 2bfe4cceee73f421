# SPDX-License-Identifier: Apache-2.0
"""profrelay in a cluster: how it finds the API, what is sent to it, what it says of whom."""
import http.client
import itertools
import json
import re
import time
from dataclasses import dataclass, field

from support import otlp
from support.kube_api import Api
from support.kube_objects import deployment_of, pod, thing
from support.process import Relay, config
from support.setup import otlp_exporter
from support.sink import Sink

PATH, PROTO = "/v1development/profiles", {"Content-Type": "application/x-protobuf"}
IDENTITY = "test.request"  # an attribute that every resource sent here has: who asked
TIMEOUT = 60.0
_identities = itertools.count(1)  # of all askers: they may share a sink


def kubeconfig(path, endpoint, user, **cluster):
    """Writes one with a single context, `test`; its path as text."""
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "c", "cluster": {"server": endpoint, **cluster}}], "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u"}}]}))
    return str(path)


def relay_config(sink, processor, **more):
    """OTLP in, the processor, OTLP out."""
    receiver = {"protocols": {"http": {"endpoint": "127.0.0.1:0"}}}
    service = {"pipelines": {"profiles": {"receivers": ["otlp"], "processors": ["k8s_attributes"], "exporters": ["otlp_http"]}}}
    service.update(more)
    return config(receivers={"otlp": receiver}, processors={"k8s_attributes": processor}, service=service,
                  exporters={"otlp_http": otlp_exporter(sink)})


def start(folder, sink, api, user=None, cluster=None, env=None, service=None, **processor):
    """profrelay with a kubeconfig for that API; user: how it shows who it is."""
    path = kubeconfig(folder / "kubeconfig", api.endpoint, user or {"token": "first-token"}, **(cluster or {}))
    text = relay_config(sink, {"auth_type": "kubeConfig", **processor}, **(service or {}))
    return Relay(text, folder, env={"KUBECONFIG": path, **(env or {})})


def port(relay):
    return int(re.search(r"port (\d+)", relay.wait_line("OTLP/HTTP at .*port"))[1])


@dataclass
class Part:
    """A resource with one profile; samples: [(attributes, value)], each with a stack of its own."""
    resource: dict
    samples: list = field(default_factory=lambda: [({}, 1)])
    attributes: dict = field(default_factory=dict)
    time_nanos: int = 0


class _Dictionary:
    def __init__(self, d):
        self.d, self.strings, self.attributes = d, {"": 0}, {}
        for table in (d.mapping_table, d.location_table, d.function_table, d.link_table, d.attribute_table, d.stack_table):
            table.add()
        d.string_table.append("")

    def text(self, value):
        if value not in self.strings:
            self.strings[value] = len(self.strings)
            self.d.string_table.append(value)
        return self.strings[value]

    def attribute(self, key, value):
        if (key, value) not in self.attributes:
            self.attributes[key, value] = len(self.d.attribute_table)
            self.d.attribute_table.add(key_strindex=self.text(key)).value.string_value = value
        return self.attributes[key, value]

    def stack(self, name):
        self.d.function_table.add(name_strindex=self.text(name))
        self.d.location_table.add().lines.add(function_index=len(self.d.function_table) - 1)
        self.d.stack_table.add(location_indices=[len(self.d.location_table) - 1])
        return len(self.d.stack_table) - 1


def request(*parts):
    """An export request, by Google's protobuf runtime."""
    r = otlp.parse(b"")
    d = _Dictionary(r.dictionary)
    for part in parts:
        resource = r.resource_profiles.add()
        for key, value in part.resource.items():
            resource.resource.attributes.add(key=key).value.string_value = value
        p = resource.scope_profiles.add().profiles.add(time_unix_nano=part.time_nanos or time.time_ns(), duration_nano=10**9)
        p.sample_type.type_strindex, p.sample_type.unit_strindex = d.text("cpu"), d.text("ns")
        p.attribute_indices.extend(d.attribute(k, v) for k, v in part.attributes.items())
        for attributes, value in part.samples:
            p.samples.add(stack_index=d.stack(f"f{len(d.d.stack_table)}"), values=[value],
                          attribute_indices=[d.attribute(k, v) for k, v in attributes.items()])
    return r.SerializeToString()


class Asker:
    """Sends profiles and tells what arrived of them."""

    def __init__(self, relay, sink):
        self.relay, self.sink, self.port = relay, sink, port(relay)
        self.read, self.groups = 0, []

    def send(self, body, source=None):
        """source: the address it comes from."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT, source_address=source and (source, 0))
        connection.request("POST", PATH, body, PROTO)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        assert answer.status == 200, answer.status

    def _arrived(self, identity):
        bodies = self.sink.accepted()
        self.groups += otlp.decode_all(bodies[self.read:])
        self.read = len(bodies)
        return [g for g in self.groups if g.resource.get(IDENTITY) == identity]

    def groups_of(self, part, source=None):
        """What became of the part: groups, without what we marked it with; and the body that was sent."""
        identity = str(next(_identities))
        body = request(Part({**part.resource, IDENTITY: identity}, part.samples, part.attributes, part.time_nanos))
        self.send(body, source)
        self.sink.wait(lambda _: self._arrived(identity), "what was sent", TIMEOUT)
        found = self._arrived(identity)
        for g in found:
            del g.resource[IDENTITY]
        return found, body

    def describe(self, source=None, time_nanos=0, profile=None, **resource):
        """The attributes of the resource that arrived; names are written with _ for . and __ for _."""
        attributes = {dotted(k): v for k, v in resource.items()}
        groups, _ = self.groups_of(Part(attributes, attributes=profile or {}, time_nanos=time_nanos), source)
        assert len(groups) == 1, groups
        return groups[0].resource

    def wait_described(self, accept, what, **resource):
        """Asks until accept(attributes); they are what is returned."""
        end = time.monotonic() + TIMEOUT
        while True:
            found = self.describe(**resource)
            if accept(found):
                return found
            assert time.monotonic() < end, f"waited in vain for {what}: {resource} is still {found}"

    def wait_name(self, name, **resource):
        """Asks until the pod has that name; None: until it is not known."""
        return self.wait_described(lambda a: a.get("k8s.pod.name") == name, f"the pod {name}", **resource)


def dotted(name):
    return name.replace("__", "\0").replace("_", ".").replace("\0", "_")


def samples_of(groups):
    """[(stack, values, timestamps)] of all of them, sorted: what must be the same before and after."""
    return sorted((repr(s["stack"]), s["values"], s["timestamps"]) for g in groups for p in g.profiles for s in p["samples"])


def shop():
    """A small cluster."""
    cart, cart_set = deployment_of("cart", labels={"team": "orders"}, annotations={"owner": "ann"})
    labels = {"app.kubernetes.io/name": "cart", "app.kubernetes.io/version": "v7", "tier": "back"}
    return [
        thing("Namespace", "kube-system"), thing("Namespace", "shop", labels={"stage": "prod"}, annotations={"cost": "17"}),
        thing("Node", "node-1", labels={"zone": "eu-1a"}), thing("Node", "node-2", labels={"zone": "eu-1b"}), cart, cart_set,
        pod("cart-1", ip="10.0.0.1", owner=cart_set, labels=labels, containers=("app", "proxy"), init=("migrate",), ephemeral=("debugger",)),
        pod("cart-2", ip="127.0.0.2", owner=cart_set, node="node-2"),
        pod("agent", ip="127.0.0.3", host_network=True, owner=thing("DaemonSet", "agent", "shop")),
        pod("db-0", ip="fd00::5", owner=thing("StatefulSet", "db", "shop"), scheme="docker://", annotations={
            "resource.opentelemetry.io/service.name": "database", "resource.opentelemetry.io/team": "storage"}),
        pod("quiet", ip="10.0.0.9", annotations={"opentelemetry.io/k8s-processor.ignore": "true"}),
        pod("once-1", ip="127.0.0.4", phase="Succeeded", owner=thing("Job", "once", "shop")),
    ]


class Cluster:
    """The scripted API with the small cluster, a sink and profrelay, whose watch is there."""

    def __init__(self, folder, wait=True, api=None, objects=None, **processor):
        self.folder, self.wait, self.processor = folder, wait, processor
        self.api, self.sink = api or Api(), Sink()
        self.api.put(*(shop() if objects is None else objects))

    def __enter__(self):
        try:
            self.relay = start(self.folder, self.sink, self.api, **{"wait_for_metadata": True, **self.processor})
        except BaseException:
            self._close()
            raise
        self.ask = Asker(self.relay, self.sink)
        if self.wait:
            self.api.wait_watching()
        return self

    def __exit__(self, *why):
        try:
            self.relay.__exit__(*why)
        finally:
            self._close()

    def _close(self):
        self.api.close()
        self.sink.close()
