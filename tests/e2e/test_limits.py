# SPDX-License-Identifier: Apache-2.0
"""What hostile or unlucky input may take."""
import gzip
import time

from support import pprof_make
from support.process import Relay
from support.setup import file_receiver, otlp_exporter, pipeline
from support.sink import Sink, hold

MIB = 1 << 20


def wait_metric(relay, wanted, **labels):
    end = time.monotonic() + 30
    while relay.metric("profrelay_receiver_files", **labels) < wanted:
        assert time.monotonic() < end, relay.tail()


def test_a_bomb_waits_for_the_memory_it_wants(folder):
    """Inflating is part of service.memory_limit: what is not there cannot be taken."""
    (folder / "in").mkdir()
    with Sink() as sink:
        sink.behave(default=hold())
        text = pipeline(folder, {"pprof": file_receiver(folder / "in", "a", file={"settle_time": "0s"})},
                        {"otlp_http": otlp_exporter(sink)}, service={"memory_limit": "4MiB"})
        with Relay(text, folder) as relay:
            pprof_make.write(folder / "in" / "a.pb.gz", pprof_make.make(seed=1))
            sink.wait_requests(1)  # it holds a little of the memory
            pprof_make.write(folder / "in" / "bomb.pb.gz", gzip.compress(bytes(4 * MIB - 1)))
            wait_metric(relay, 2, outcome="busy")
            assert relay.metric("profrelay_receiver_files", outcome="invalid") == 0
            sink.behave()
            sink.release()
            wait_metric(relay, 1, outcome="invalid")
            assert relay.metric("profrelay_receiver_files", outcome="sent") == 1
            assert relay.metric("profrelay_memory_used_bytes") == 0


def test_files_that_grow_a_lot_arrive(folder):
    """A profile that inflates to hundreds of times its size is none the worse, and the limit is named where it ends."""
    (folder / "in").mkdir()
    raw = pprof_make.make(seed=2, compressed=False) + pprof_make.block(200, bytes(3 * MIB))
    with Sink() as sink:
        text = pipeline(folder, {"pprof": file_receiver(folder / "in", "a", file={"settle_time": "0s"})},
                        {"otlp_http": otlp_exporter(sink)}, service={"memory_limit": "4MiB"})
        with Relay(text, folder) as relay:
            pprof_make.write(folder / "in" / "a.pb.gz", gzip.compress(raw))
            sink.wait_accepted(1)
            pprof_make.write(folder / "in" / "b.pb.gz", gzip.compress(bytes(5 * MIB)))
            relay.wait_line(r"b\.pb\.gz is not sent: service\.memory_limit: max_inflated_size: .*4194304")


def test_a_folder_that_is_not_there_is_named(folder):
    (folder / "in").mkdir()
    with Sink() as sink:
        receiver = file_receiver(folder / "in", "a", file={"include": [f"{folder}/in/*.pb.gz", f"{folder}/nowhere/**/*.pb"]})
        with Relay(pipeline(folder, {"pprof": receiver}, {"otlp_http": otlp_exporter(sink)}), folder) as relay:
            relay.wait_line("watching")
            lines = relay.log("finds nothing")
            assert len(lines) == 1 and f"{folder}/nowhere: No such file or directory" in lines[0], lines
            (folder / "nowhere").mkdir()
            pprof_make.write(folder / "nowhere" / "a.pb", pprof_make.make(seed=3))
            sink.wait_accepted(1)  # it was looked for again
