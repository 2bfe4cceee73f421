# SPDX-License-Identifier: Apache-2.0
"""Deliveries that are put together or summed: what arrives, and when their senders hear of it."""
import signal
import threading
from collections import Counter

from support import otlp
from support.process import Relay, config
from support.setup import Arrivals, add, file_receiver, otlp_exporter, pipeline
from support.sink import Sink, hold, ok, status
from test_otlp_receiver import PROTO, post

CLIENTS = 24
SECOND = 1_000_000_000


def relay_config(sink, processors, exporter=None):
    receiver = {"protocols": {"http": {"endpoint": "127.0.0.1:0"}}}
    service = {"pipelines": {"profiles": {"receivers": ["otlp"], "processors": list(processors), "exporters": ["otlp_http"]}}}
    return config(receivers={"otlp": receiver}, processors=processors, service=service,
                  exporters={"otlp_http": otlp_exporter(sink, **(exporter or {}))})


def request(service, stacks, tenant=None, time_nanos=1000 * SECOND, kind="cpu"):
    """An export request of one profile, ten seconds long: {function name: value}."""
    r = otlp.parse(b"")
    d = r.dictionary
    for table in (d.mapping_table, d.location_table, d.function_table, d.link_table, d.attribute_table, d.stack_table):
        table.add()
    d.string_table.extend(["", kind, "ns", *stacks])
    resource = r.resource_profiles.add()
    for key, value in (("service.name", service), ("tenant", tenant)):
        if value is not None:
            resource.resource.attributes.add(key=key).value.string_value = value
    p = resource.scope_profiles.add().profiles.add(time_unix_nano=time_nanos, duration_nano=10 * SECOND)
    p.sample_type.type_strindex, p.sample_type.unit_strindex = 1, 2
    for i, value in enumerate(stacks.values(), 1):
        d.function_table.add(name_strindex=i + 2)
        d.location_table.add().lines.add(function_index=i)
        d.stack_table.add(location_indices=[i])
        p.samples.add(stack_index=i, values=[value])
    return r.SerializeToString()


class Clients:
    """Each posts one request from a thread of its own."""

    def __init__(self, relay, bodies):
        self.statuses = [None] * len(bodies)
        self.threads = [threading.Thread(target=self._post, args=(relay, i, b), daemon=True) for i, b in enumerate(bodies)]
        for thread in self.threads:
            thread.start()

    def _post(self, relay, i, body):
        self.statuses[i] = post(relay, body, PROTO)[0]

    def wait(self):
        for thread in self.threads:
            thread.join(60)
        return self.statuses


def services(sink):
    return Counter(g.service for g in otlp.decode_all(sink.accepted()))


def test_many_become_few(folder):
    batch = {"batch": {"send_batch_size": 8 * 3, "timeout": "2s"}}
    with Sink() as sink, Relay(relay_config(sink, batch), folder) as relay:
        bodies = [request(f"s{i}", {"f": 1, "g": i, f"own{i}": 3}) for i in range(CLIENTS)]
        assert Clients(relay, bodies).wait() == [200] * CLIENTS
        sink.wait_accepted(3)
        assert sink.count() == CLIENTS / 8
        assert services(sink) == {f"s{i}": 1 for i in range(CLIENTS)}
        for g in otlp.decode_all(sink.accepted()):
            values = sorted(s["values"][0] for s in g.profiles[0]["samples"])
            assert values == sorted([1, int(g.service[1:]), 3])
        assert relay.metric("profrelay_processor_flushes", cause="size") == CLIENTS / 8


def test_what_is_alone_goes_on_as_it_came(folder):
    with Sink() as sink, Relay(relay_config(sink, {"batch": {"timeout": "50ms"}}), folder) as relay:
        assert post(relay, request("a", {"f": 1, "g": 2}), PROTO)[0] == 200
        sink.wait_accepted(1)
        body = sink.accepted()[0] + b"\xa0\x06\x01"  # in order, and with a field that nobody knows
        assert post(relay, body, PROTO)[0] == 200
        sink.wait_accepted(2)
        assert sink.accepted()[1] == body


def test_cut(folder):
    batch = {"batch": {"send_batch_size": 100, "send_batch_max_size": 100, "timeout": "50ms"}}
    with Sink() as sink, Relay(relay_config(sink, batch), folder) as relay:
        assert post(relay, request("a", {f"f{i}": i for i in range(1, 251)}), PROTO)[0] == 200
        sink.wait_accepted(3)
        groups = otlp.decode_all(sink.accepted())
        assert sorted(len(p["samples"]) for g in groups for p in g.profiles) == [50, 100, 100]
        assert sum(s["values"][0] for g in groups for p in g.profiles for s in p["samples"]) == sum(range(251))


def test_tenants_are_kept_apart(folder):
    batch = {"batch": {"timeout": "300ms", "metadata_keys": ["tenant"]}}
    with Sink() as sink, Relay(relay_config(sink, batch), folder) as relay:
        bodies = [request(f"s{i}", {"f": 1}, tenant=f"t{i % 3}") for i in range(CLIENTS)]
        assert Clients(relay, bodies).wait() == [200] * CLIENTS
        sink.wait(lambda s: services(s).total() == CLIENTS, "all services")
        for body in sink.accepted():
            assert len({g.resource["tenant"] for g in otlp.decode(body)}) == 1


def test_nobody_hears_before_it_is_kept(folder):
    """While the upstream has not taken the request, no sender is told that it is safe."""
    batch = {"batch": {"send_batch_size": 4, "timeout": "2s"}}
    exporter = {"sending_queue": {"enabled": False}}
    with Sink() as sink:
        sink.behave(default=hold())
        with Relay(relay_config(sink, batch, exporter), folder) as relay:
            clients = Clients(relay, [request(f"s{i}", {"f": 1}) for i in range(4)])
            sink.wait(lambda s: s.holding > 0, "one in flight")
            assert clients.statuses == [None] * 4
            sink.behave(default=ok())
            sink.release()
            sink.wait(lambda s: services(s).total() == 4, "all four")
            assert clients.wait() == [200] * 4


def test_refusals_reach_everybody(folder):
    batch = {"batch": {"send_batch_size": 4, "timeout": "2s"}}
    exporter = {"sending_queue": {"enabled": False}}
    with Sink() as sink:
        sink.behave(default=status(400))
        with Relay(relay_config(sink, batch, exporter), folder) as relay:
            statuses = Clients(relay, [request(f"s{i}", {"f": 1}) for i in range(4)]).wait()
            assert all(400 <= s < 500 for s in statuses), statuses


def test_one_bad_profile_costs_no_other(folder):
    """A request that was put together and is refused is cut until what the peer finds wrong is alone."""
    batch = {"batch": {"send_batch_size": 8, "timeout": "2s"}}
    with Sink() as sink:
        sink.behave(default=ok(), script=[status(400)] * 4)  # the whole, a half, a quarter, and the one itself
        with Relay(relay_config(sink, batch, {"sending_queue": {"num_consumers": 1}}), folder) as relay:
            assert Clients(relay, [request(f"s{i}", {"f": 1}) for i in range(8)]).wait() == [200] * 8
            sink.wait(lambda s: services(s).total() == 7, "all but one")
            assert max(services(sink).values()) == 1
            relay.wait_metric("otelcol_exporter_sent_profile_samples", 7)
            assert relay.metric("otelcol_exporter_send_failed_profile_samples") == 1


def test_term_lets_go(folder):
    batch = {"batch": {"timeout": "2s"}}
    with Sink() as sink:
        relay = Relay(relay_config(sink, batch), folder)
        clients = Clients(relay, [request(f"s{i}", {"f": 1}) for i in range(4)])
        relay.wait_metric("profrelay_processor_held_deliveries", 4)
        relay.signal(signal.SIGTERM)
        assert relay.wait() == 0, relay.tail()
        relay.assert_silent()
        assert clients.wait() == [200] * 4
        assert services(sink) == {f"s{i}": 1 for i in range(4)}


def files_config(folder, sink, processors):
    text = pipeline(folder, {"pprof/a": file_receiver(folder / "in", "a")}, {"otlp_http": otlp_exporter(sink)},
                    processors=processors)
    return text.replace('"exporters": [\n     "otlp_http"\n    ]', '"processors": ["batch"],\n    "exporters": ["otlp_http"]')


def test_a_kill_loses_nothing(folder):
    """What was held when the process died is found again at the next start; nothing is missing."""
    (folder / "in").mkdir()
    names = [f"file{i:02}" for i in range(20)]
    with Sink() as sink:
        arrivals = Arrivals(sink)
        text = files_config(folder, sink, {"batch": {"timeout": "2s", "send_batch_size": 300}})
        assert '"processors": ["batch"]' in text
        relay = Relay(text, folder)
        for name in names:
            add(folder / "in", name)  # of 40 samples each
        relay.wait_metric("profrelay_processor_flushes", 1)
        relay.wait_metric("profrelay_processor_held_deliveries", 1)
        relay.kill()
        assert arrivals.counts().total() < len(names)
        with Relay(files_config(folder, sink, {"batch": {"timeout": "100ms"}}), folder):
            arrivals.wait([("a", name) for name in names])


def make_bodies():
    return [request(f"s{i % 2}", {"f": i, "g": 2**62}, time_nanos=(1000 + i) * SECOND) for i in range(CLIENTS)]


def test_aggregate(folder):
    aggregate = {"aggregate": {"window": "2s", "max_samples": CLIENTS * 2}}
    with Sink() as sink, Relay(relay_config(sink, aggregate), folder) as relay:
        assert Clients(relay, make_bodies()).wait() == [200] * CLIENTS
        sink.wait_accepted(1)
        groups = otlp.decode_all(sink.accepted())
    check_sums(groups)


def check_sums(groups):
    """Of the requests of make_bodies all have arrived, in one profile for each service."""
    assert Counter(g.service for g in groups) == {"s0": 1, "s1": 1}
    for g in groups:
        first = int(g.service[1:])
        (profile,) = g.profiles
        assert profile["time"] == (1000 + first) * SECOND
        assert profile["duration"] == (CLIENTS - 2 + 10) * SECOND
        sums = Counter()
        for s in profile["samples"]:
            sums[repr(s["stack"])] += s["values"][0]
        assert sorted(sums.values()) == sorted([sum(range(first, CLIENTS, 2)), CLIENTS // 2 * 2**62])


def test_states_are_not_summed(folder):
    aggregate = {"aggregate": {"window": "300ms"}}
    with Sink() as sink, Relay(relay_config(sink, aggregate), folder) as relay:
        bodies = [request("a", {"f": 1}, kind="inuse_space") for _ in range(4)]
        assert Clients(relay, bodies).wait() == [200] * 4
        sink.wait(lambda s: sum(len(g.profiles) for g in otlp.decode_all(s.accepted())) == 4, "four profiles")


def test_a_long_window_keeps(folder):
    """No client waits for longer than it can; what it was told is kept goes on when the program ends."""
    with Sink() as sink:
        relay = Relay(relay_config(sink, {"aggregate": {"window": "1h"}}), folder)
        assert Clients(relay, make_bodies()).wait() == [200] * CLIENTS
        relay.wait_metric("profrelay_processor_held_deliveries", CLIENTS)
        assert sink.count() == 0
        relay.signal(signal.SIGTERM)
        assert relay.wait() == 0, relay.tail()
        relay.assert_silent()
        check_sums(otlp.decode_all(sink.accepted()))


def start_with_a_full_queue(sink, folder, **service):
    """Clients' profiles are kept in a window; the queue behind it is full of files; the program is told to end."""
    (folder / "in").mkdir()
    (folder / "storage").mkdir()
    sink.behave(default=hold())
    exporter = {"sending_queue": {"num_consumers": 1, "queue_size": 1}}
    service = {"extensions": ["file_storage"], **service, "pipelines": {
        "profiles/summed": {"receivers": ["otlp"], "processors": ["aggregate"], "exporters": ["otlp_http"]},
        "profiles/files": {"receivers": ["pprof/a"], "exporters": ["otlp_http"]}}}
    relay = Relay(config(receivers={"otlp": {"protocols": {"http": {"endpoint": "127.0.0.1:0"}}},
                                    "pprof/a": file_receiver(folder / "in", "a")},
                         processors={"aggregate": {"window": "1h"}}, service=service,
                         extensions={"file_storage": {"directory": str(folder / "storage")}},
                         exporters={"otlp_http": otlp_exporter(sink, **exporter)}), folder)
    assert Clients(relay, make_bodies()).wait() == [200] * CLIENTS
    for i in range(2):  # one is being sent, the other waits
        add(folder / "in", f"file{i}")
    sink.wait(lambda s: s.holding > 0, "one in flight")
    relay.wait_metric("otelcol_exporter_queue_size", 1)
    relay.signal(signal.SIGTERM)
    return relay


def test_what_is_kept_waits_for_room(folder):
    """What its senders will not send again is offered until it is taken."""
    with Sink() as sink:
        relay = start_with_a_full_queue(sink, folder)
        relay.wait_metric("otelcol_exporter_enqueue_failed_profile_samples", 1)
        sink.behave(default=ok())
        sink.release()
        assert relay.wait() == 0, relay.tail()
        groups = otlp.decode_all(sink.accepted())
        assert services(sink)["a"] == 2
        check_sums([g for g in groups if g.service != "a"])


def test_what_is_kept_does_not_keep_the_program(folder):
    with Sink() as sink:
        relay = start_with_a_full_queue(sink, folder, shutdown_timeout="500ms")
        relay.wait()
        assert relay.log("could not be sent before the end"), relay.tail()
        assert relay.log("Shutdown complete"), relay.tail()


def test_a_kill_loses_no_file_of_a_window(folder):
    """Files are not remembered before the peer has them, however long a window is."""
    (folder / "in").mkdir()
    with Sink() as sink:
        text = files_config(folder, sink, {"batch": {}, "aggregate": {"window": "1h"}})
        relay = Relay(text.replace('"processors": ["batch"]', '"processors": ["aggregate"]'), folder)
        add(folder / "in", "one")
        relay.wait_metric("profrelay_processor_held_deliveries", 1)
        relay.kill()
        arrivals = Arrivals(sink)
        with Relay(files_config(folder, sink, {"batch": {"timeout": "100ms"}}), folder):
            arrivals.wait([("a", "one")])
