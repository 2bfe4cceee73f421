# SPDX-License-Identifier: Apache-2.0
"""kill -TERM and kill -9 with requests in flight, in the middle of 200 files."""
import os
import shutil
import signal

from support import pprof_make
from support.process import Relay
from support.setup import Arrivals, add, file_receiver, otlp_exporter, pipeline
from support.sink import Sink, hold, ok

FILES = 100  # for each of two services, with identical content


def two_services(folder):
    names = pprof_make.write_numbered(folder / "a", FILES)
    shutil.copytree(folder / "a", folder / "b")
    return {(service, name) for service in "ab" for name in names}


def setting(folder, sink):
    receivers = {f"pprof/{s}": file_receiver(folder / s, s) for s in "ab"}
    queue = {"num_consumers": 4, "queue_size": 20}  # so that the end comes in the middle
    return pipeline(folder, receivers, {"otlp_http": otlp_exporter(sink, sending_queue=queue)})


def start_and_hold(folder, sink, count):
    """A process that has delivered count more requests; the ones that follow are in flight and stay there."""
    before = sink.count(lambda r: r.accepted)
    sink.behave(script=[ok()] * count, default=hold())
    relay = Relay(setting(folder, sink), folder)
    sink.wait(lambda s: sum(r.accepted for r in s.requests) >= before + count and s.holding > 0,
              f"{count} accepted and one in flight", 60)
    return relay


def finish(folder, sink, arrivals, wanted):
    """Runs until all has arrived, and long enough to see whether anything comes again."""
    sink.behave()
    with Relay(setting(folder, sink), folder):
        arrivals.wait(wanted)
        for service in "ab":
            add(folder / service, f"last-{service}")
        arrivals.wait([("a", "last-a"), ("b", "last-b")])
    return arrivals.counts()


def test_term_loses_nothing_and_repeats_nothing(folder):
    wanted = two_services(folder)
    with Sink() as sink:
        arrivals = Arrivals(sink)
        relay = start_and_hold(folder, sink, 40)
        relay.signal(signal.SIGTERM)
        relay.wait_line("(?i)shutdown|shutting down|stopping|signal")
        sink.behave()
        sink.release()
        assert relay.wait() == 0, relay.tail()
        relay.assert_silent()
        first = arrivals.counts()
        assert 40 <= first.total() < 2 * FILES, f"{first.total()} arrived: not in the middle"
        counts = finish(folder, sink, arrivals, wanted)
    twice = {k: n for k, n in counts.items() if n > 1}
    assert not twice, f"{len(twice)} arrived more than once: {sorted(twice.items())[:3]}"
    assert wanted <= counts.keys()


def test_term_twice_hurries(folder):
    wanted = two_services(folder)
    with Sink() as sink:
        arrivals = Arrivals(sink)
        relay = start_and_hold(folder, sink, 10)
        relay.signal(signal.SIGTERM)
        relay.wait_line("(?i)shutdown|shutting down|stopping|signal")
        relay.signal(signal.SIGTERM)
        relay.wait(timeout=20)  # though the peer never answers
        relay.assert_silent()
        sink.release()
        counts = finish(folder, sink, arrivals, wanted)
    assert wanted <= counts.keys()


def test_kill_loses_nothing(folder):
    wanted = two_services(folder)
    with Sink() as sink:
        arrivals = Arrivals(sink)
        for count in (3, 40, 25):
            relay = start_and_hold(folder, sink, count)
            relay.kill()
            relay.assert_silent()
            sink.release()
        assert arrivals.counts().total() < 2 * FILES, "not in the middle"
        counts = finish(folder, sink, arrivals, wanted)
    assert wanted <= counts.keys()


def test_what_was_remembered_is_not_sent_again(folder):
    wanted = two_services(folder)
    with Sink() as sink:
        arrivals = Arrivals(sink)
        finish(folder, sink, arrivals, wanted)
        requests = sink.count()
        with Relay(setting(folder, sink), folder):
            for service in "ab":
                add(folder / service, f"later-{service}")
            arrivals.wait([("a", "later-a"), ("b", "later-b")])
        assert sink.count() == requests + 2
    assert set(arrivals.counts().values()) == {1}


def test_what_never_ends_does_not_keep_the_process(folder):
    """A named pipe that nobody reads: writing to it blocks for ever, as a dead network file system does."""
    (folder / "in").mkdir()
    os.mkfifo(folder / "out")
    text = pipeline(folder, {"pprof/a": file_receiver(folder / "in", "a")}, {"file": {"path": str(folder / "out")}},
                    service={"shutdown_timeout": "100ms"})
    with Relay(text, folder) as relay:
        add(folder / "in", "stuck")
        relay.wait_metric("otelcol_exporter_in_flight_requests", 1)
        assert relay.terminate() == 1
        assert relay.log("ending by force")
