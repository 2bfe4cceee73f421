# SPDX-License-Identifier: Apache-2.0
"""A peer that fails for a while: nothing is lost, nothing deleted too early, the others go on."""
import time

from support import pprof_make, soak_seconds
from support.process import Relay
from support.setup import Arrivals, add, file_receiver, otlp_exporter, pass_by, pipeline, simple
from support.sink import Sink, cut_after_body, cut_before_body, hold, status

MEMORY_GROWTH_BYTES = 150 << 20  # of a sanitized build; the budget is a tenth of it


def outage(folder, begin, end, **exporter):
    """Files before, during and after an outage; what began it and what ends it are the arguments."""
    names = []
    with Sink() as sink:
        arrivals = Arrivals(sink)
        text = simple(folder, sink, **exporter)
        with Relay(text, folder) as relay:
            pass_by(folder / "in", arrivals, "before")
            rss = relay.rss_bytes()
            begin(sink)
            until = time.monotonic() + soak_seconds()
            while time.monotonic() < until:
                names.append(f"during-{len(names):04d}")
                add(folder / "in", names[-1])
                with sink.changed:
                    sink.changed.wait(0.25)
            assert relay.rss_bytes() - rss < MEMORY_GROWTH_BYTES, f"from {rss} to {relay.rss_bytes()} bytes"
            end(sink)
            arrivals.wait([("a", n) for n in names], 90)
            pass_by(folder / "in", arrivals, "after")
            fails, works = relay.log("will retry"), relay.log("works again")
        assert len(fails) == 1, "one line says that sending fails:\n" + "\n".join(fails)
        assert len(works) == 1, "one line says that sending works again:\n" + "\n".join(works)
        assert "otlp_http" in fails[0] and "otlp_http" in works[0]


def behaving(behaviour):
    return (lambda sink: sink.behave(default=behaviour)), (lambda sink: sink.behave())


def test_503_for_a_while(folder):
    outage(folder, *behaving(status(503)))


def test_connection_cut_before_the_body_is_read(folder):
    outage(folder, *behaving(cut_before_body()))


def test_connection_cut_instead_of_an_answer(folder):
    outage(folder, *behaving(cut_after_body()))


def test_hanging_for_a_while(folder):
    def end(sink):
        sink.behave()
        sink.release()  # so that none of those in flight fails after another worked

    outage(folder, lambda sink: sink.behave(default=hold()), end, timeout="1s")


def test_refusing_for_a_while(folder):
    outage(folder, Sink.refuse, Sink.accept_again)


def delete_setting(folder, sink):
    (folder / "in").mkdir(exist_ok=True)
    receiver = file_receiver(folder / "in", "a", file={"after": "delete"})
    return pipeline(folder, {"pprof/a": receiver}, {"otlp_http": otlp_exporter(sink)})


def files_in(folder):
    return sorted(p.name.partition(".")[0] for p in (folder / "in").glob("*.pb.gz"))


def test_nothing_is_deleted_while_the_peer_says_503(folder):
    names = pprof_make.write_numbered(folder / "in", 20)
    with Sink() as sink:
        arrivals = Arrivals(sink)
        sink.behave(default=status(503))
        with Relay(delete_setting(folder, sink), folder):
            sink.wait_requests(60)
            assert files_in(folder) == names
        assert files_in(folder) == names, "deleted at shutdown"
        sink.behave()
        with Relay(delete_setting(folder, sink), folder):
            arrivals.wait([("a", n) for n in names])
        assert files_in(folder) == [], "still there after success"
        assert set(arrivals.counts().values()) == {1}


def test_giving_up_leaves_the_file_eligible(folder):
    names = pprof_make.write_numbered(folder / "in", 3)
    with Sink() as sink:
        arrivals = Arrivals(sink)
        sink.behave(default=status(503))
        text = simple(folder, sink, retry_on_failure={"max_elapsed_time": "300ms"})
        with Relay(text, folder):
            sink.wait_requests(30)  # more than the first attempts can make
            sink.behave()
            arrivals.wait([("a", n) for n in names])


def test_what_the_peer_refuses_for_good_is_not_repeated(folder):
    with Sink() as sink:
        arrivals = Arrivals(sink)
        sink.behave(script=[status(400, "bad tenant")])
        with Relay(simple(folder, sink), folder) as relay:
            add(folder / "in", "refused")
            line = relay.wait_line("for good")
            assert "otlp_http" in line and "bad tenant" in line, line
            pass_by(folder / "in", arrivals, "next")
        assert ("a", "refused") not in arrivals.counts()


def test_a_dead_exporter_does_not_slow_a_healthy_one(folder):
    names = pprof_make.write_numbered(folder / "in", 100)
    with Sink() as good, Sink() as dead:
        dead.behave(default=status(503))
        queue = {"queue_size": 5, "num_consumers": 2, "on_full": "drop_new"}
        exporters = {"otlp_http/good": otlp_exporter(good),
                     "otlp_http/dead": otlp_exporter(dead, sending_queue=queue)}
        text = pipeline(folder, {"pprof/a": file_receiver(folder / "in", "a")}, exporters)
        with Relay(text, folder) as relay:
            Arrivals(good).wait([("a", n) for n in names], 30)
            dropped = relay.metric("profrelay_exporter_dropped_profile_samples", exporter="otlp_http/dead")
            assert dropped > 0, "nothing was dropped on the dead branch"
            assert relay.metric("profrelay_exporter_dropped_profile_samples", exporter="otlp_http/good") == 0
            dead.behave()
        assert len(Arrivals(good).counts()) == len(names)
        assert dead.count() > 0
