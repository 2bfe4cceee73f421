# SPDX-License-Identifier: Apache-2.0
"""The exporter `otlp_grpc` into the receiver `otlp` of another profrelay: whole, once, over TCP and a Unix socket."""
import re

from support.process import Relay, config
from support.setup import Arrivals, add, file_receiver, otlp_exporter, pipeline
from support.sink import Sink, partial, status


def behind(sink, endpoint="127.0.0.1:0", **exporter):
    """The last of the chain: gRPC in, HTTP out to the sink."""
    return config(receivers={"otlp": {"protocols": {"grpc": {"endpoint": endpoint}}}},
                  exporters={"otlp_http": otlp_exporter(sink, **exporter)},
                  service={"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["otlp_http"]}}})


def before(folder, endpoint, **exporter):
    """The first of the chain: files in, gRPC out."""
    (folder / "in").mkdir()
    retry = {"initial_interval": "50ms", "max_interval": "200ms"}
    return pipeline(folder, {"pprof/a": file_receiver(folder / "in", "a")},
                    {"otlp_grpc": {"endpoint": endpoint, "retry_on_failure": retry, **exporter}})


def port(relay):
    return re.search(r"port (\d+)", relay.wait_line("OTLP/gRPC at .*port"))[1]


def folders(folder):
    (folder / "last").mkdir()
    (folder / "first").mkdir()
    return folder / "last", folder / "first"


def check_once(arrivals, names):
    arrivals.wait([("a", name) for name in names])
    assert arrivals.counts() == {("a", name): 1 for name in names}


def test_files_arrive_once(folder):
    last, first = folders(folder)
    names = [f"f{i}" for i in range(20)]
    with Sink() as sink, Relay(behind(sink), last) as receiving:
        arrivals = Arrivals(sink)
        text = before(first, f"127.0.0.1:{port(receiving)}", tls={"insecure": True}, compression="zstd")
        with Relay(text, first) as sending:
            for name in names:
                add(first / "in", name)
            check_once(arrivals, names)
            sending.wait_metric("otelcol_exporter_sent_profile_samples", 1)


def test_a_peer_that_comes_later(folder):
    last, first = folders(folder)
    socket = f"unix:{folder}/s"
    with Sink() as sink:
        arrivals = Arrivals(sink)
        with Relay(before(first, socket), first) as sending:
            add(first / "in", "early")
            line = sending.wait_line("sending fails, will retry")
            assert f"{socket} gives no answer" in line, line
            with Relay(behind(sink, socket), last):
                check_once(arrivals, ["early"])
            add(first / "in", "late")
            sending.wait_line("sending fails, will retry", 2)
            with Relay(behind(sink, socket), last):
                check_once(arrivals, ["early", "late"])


def test_what_the_end_of_the_chain_says_comes_back(folder):
    """Without queues the answer of the last peer is that of all."""
    last, first = folders(folder)
    with Sink() as sink, Relay(behind(sink, sending_queue={"enabled": False}), last) as receiving:
        with Relay(before(first, f"http://127.0.0.1:{port(receiving)}"), first) as sending:
            sink.behave(default=status(400, "no such tenant"))
            add(first / "in", "refused")
            line = sending.wait_line("refuses .* for good")
            assert "no such tenant" in line, line
            sink.behave(default=partial(1, "one too old"))
            add(first / "in", "partly")
            line = sending.wait_line("but rejected")
            assert "one too old" in line, line
