# SPDX-License-Identifier: Apache-2.0
"""Requests that are too large, by max_request_bytes or by what the peer says: everything arrives once, in parts."""
import re
from collections import Counter

from support import otlp, pprof_make
from support.process import Relay, config
from support.setup import file_receiver, otlp_exporter, pipeline
from support.sink import Sink, ok, status

LARGE = {"samples": 4000, "functions": 800, "locations": 1500, "depth": 20, "compressed": False}
NONE = {"compression": "none"}


class LimitedSink(Sink):
    """Refuses bodies of more than `most` bytes, inflated."""

    def __init__(self, most, refusal):
        self.most, self.refusal = most, refusal
        super().__init__(judge=lambda headers: ok())

    def _note(self, request):
        if len(request.body) > self.most:
            vars(request.behaviour).update(vars(self.refusal))
        super()._note(request)


def samples(bodies):
    """Every sample of every service and type, with its stack, labels and value, and how often it came."""
    found = Counter()
    for group in otlp.decode_all(bodies):
        for profile in group.profiles:
            for sample, count in otlp.samples_of(profile).items():
                found[(group.service, profile["type"], sample)] += count
    return found


def wanted(data):
    found = Counter()
    for profile in otlp.read_pprof(data):
        for sample, count in profile["samples"].items():
            found[("a", profile["type"], sample)] += count
    return found


def send(folder, sink, exporter, check, name="otlp_http"):
    """Sends one large file; check(relay) once every sample has been told as sent."""
    (folder / "in").mkdir()
    data = pprof_make.make(seed=5, **LARGE)
    text = pipeline(folder, {"pprof/a": file_receiver(folder / "in", "a")}, {name: exporter})
    with Relay(text, folder) as relay:
        pprof_make.write(folder / "in" / "a.pb.gz", data)
        relay.wait_metric("otelcol_exporter_sent_profile_samples", 2 * LARGE["samples"])
        check(relay)
        assert relay.metric("otelcol_exporter_sent_profile_samples") == 2 * LARGE["samples"]
        assert relay.metric("otelcol_exporter_send_failed_profile_samples") == 0
        assert relay.metric("profrelay_exporter_too_large_profile_samples") == 0
        relay.wait_metric("profrelay_receiver_files", 1)
        assert relay.metric("profrelay_receiver_files", outcome="sent") == 1
        assert relay.metric("profrelay_memory_used_bytes") == 0
    assert samples(sink.accepted()) == wanted(data)


def test_requests_stay_below_the_limit(folder):
    def check(_):
        bodies = [len(r.body) for r in sink.requests]
        assert len(bodies) > 4 and max(bodies) <= 100_000, bodies
        assert min(bodies) > 40_000, bodies  # nor more parts than there must be

    with Sink() as sink:
        send(folder, sink, otlp_exporter(sink, max_request_bytes="100KB", compression="zstd"), check)


def refused_requests_come_in_parts(folder, refusal, **exporter):
    def check(relay):
        relay.wait_line("the peer finds requests of [0-9]+ bytes .* too large, but takes [0-9]+: .* set max_request_bytes")
        refused, bodies = sink.count(lambda r: not r.accepted), sink.accepted()
        assert refused >= 1 and max(map(len, bodies)) <= 150_000
        # What the peer takes is known now: no further request is refused.
        again = pprof_make.make(seed=6, **LARGE)
        pprof_make.write(folder / "again.pb.gz", again)
        (folder / "again.pb.gz").rename(folder / "in" / "b.pb.gz")
        relay.wait_metric("otelcol_exporter_sent_profile_samples", 4 * LARGE["samples"])
        assert sink.count(lambda r: not r.accepted) == refused
        more.append(again)

    more = []
    with LimitedSink(150_000, refusal) as sink:
        (folder / "in").mkdir()
        data = pprof_make.make(seed=5, **LARGE)
        text = pipeline(folder, {"pprof/a": file_receiver(folder / "in", "a")}, {"otlp_http": otlp_exporter(sink, **exporter)})
        with Relay(text, folder) as relay:
            pprof_make.write(folder / "in" / "a.pb.gz", data)
            relay.wait_metric("otelcol_exporter_sent_profile_samples", 2 * LARGE["samples"])
            check(relay)
            assert relay.metric("otelcol_exporter_send_failed_profile_samples") == 0
        assert samples(sink.accepted()) == wanted(data) + wanted(more[0])


def test_http_413(folder):
    refused_requests_come_in_parts(folder, status(413, "too large"))


def test_a_collectors_400(folder):
    refused_requests_come_in_parts(folder, status(400, "http: request body too large"), compression="none")


def test_without_a_queue(folder):
    refused_requests_come_in_parts(folder, status(413, "too large"), sending_queue={"enabled": False})


def test_grpc_resource_exhausted(folder):
    """Into a receiver with a smaller limit, which says RESOURCE_EXHAUSTED."""
    (folder / "last").mkdir()
    (folder / "first" / "in").mkdir(parents=True)
    large = {**LARGE, "samples": 20000}
    data = pprof_make.make(seed=5, **large)
    with Sink() as sink:
        last = config(receivers={"otlp": {"protocols": {"grpc": {"endpoint": "127.0.0.1:0", "max_recv_msg_size_mib": 1}}}},
                      exporters={"otlp_http": otlp_exporter(sink)},
                      service={"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["otlp_http"]}}})
        with Relay(last, folder / "last") as receiving:
            port = re.search(r"port (\d+)", receiving.wait_line("OTLP/gRPC at .*port"))[1]
            first = pipeline(folder / "first", {"pprof/a": file_receiver(folder / "first" / "in", "a")},
                             {"otlp_grpc": {"endpoint": f"http://127.0.0.1:{port}"}})
            with Relay(first, folder / "first") as relay:
                pprof_make.write(folder / "first" / "in" / "a.pb.gz", data)
                relay.wait_metric("otelcol_exporter_sent_profile_samples", 2 * large["samples"])
                relay.wait_line("the peer finds requests of")
                receiving.wait_metric("otelcol_exporter_sent_profile_samples", 2 * large["samples"])
        assert samples(sink.accepted()) == wanted(data)


def test_a_sample_too_large_is_named(folder):
    """What cannot be cut is dropped by name; the rest arrives."""
    (folder / "in").mkdir()
    data = pprof_make.make(seed=5, types=(("cpu", "nanoseconds"),), functions=4, locations=200, depth=200, samples=1,
                           compressed=False)
    with Sink() as sink:
        receiver = file_receiver(folder / "in", "shop")
        text = pipeline(folder, {"pprof/a": receiver}, {"otlp_http": otlp_exporter(sink, max_request_bytes="1KiB")})
        with Relay(text, folder) as relay:
            pprof_make.write(folder / "in" / "a.pb.gz", data)
            relay.wait_line(r"too large: the request has \d+ bytes, max_request_bytes allows 1024; dropped: 1 sample of "
                            r"cpu/nanoseconds, service\.name: shop")
            relay.wait_metric("profrelay_exporter_too_large_profile_samples", 1)
            relay.wait_metric("profrelay_receiver_files", 1)
            assert relay.metric("profrelay_receiver_files", outcome="partial") == 1
        assert not sink.requests


def test_the_end_while_parts_are_sent(folder):
    """SIGTERM in the middle: what was split goes out, once."""
    (folder / "in").mkdir()
    data = pprof_make.make(seed=5, **LARGE)
    with LimitedSink(150_000, status(413, "too large")) as sink:
        text = pipeline(folder, {"pprof/a": file_receiver(folder / "in", "a")},
                        {"otlp_http": otlp_exporter(sink, sending_queue={"num_consumers": 1})})
        with Relay(text, folder) as relay:
            pprof_make.write(folder / "in" / "a.pb.gz", data)
            sink.wait_requests(1)
            assert relay.terminate() == 0
        assert samples(sink.accepted()) == wanted(data)
