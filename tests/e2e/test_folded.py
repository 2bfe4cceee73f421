# SPDX-License-Identifier: Apache-2.0
"""Folded stacks in: from watched files and from standard input; and out: a file for each sample type."""
import gzip

from support import otlp
from support.process import Relay, config, run
from support.setup import INTERVAL, file_receiver, otlp_exporter, pipeline, add
from support.sink import Sink

TEXT = "main;work;read 3\nmain;work 4\n# a comment\n\nmain;idle (waiting) 2.6\n"
FRAMES = {("main", "work", "read"): 3, ("main", "work"): 4, ("main", "idle (waiting)"): 3}


def stacks(profile):
    """{frames root first: value}"""
    return {tuple(lines[0][0] for _, _, lines, _ in reversed(s["stack"])): s["values"][0] for s in profile["samples"]}


def arrived(sink):
    return [p for g in otlp.decode_all(sink.accepted()) for p in g.profiles]


def reading_stdin(folder, sink, **receiver):
    text = config(receivers={"folded": {"stdin": {"interval": "1h"}, "resource_attributes": {"service.name": "shop"},
                                        **receiver}},
                  exporters={"otlp_http": otlp_exporter(sink)},
                  service={"pipelines": {"profiles": {"receivers": ["folded"], "exporters": ["otlp_http"]}}})
    path = folder / "config.yaml"
    path.write_text(text)
    return path


def test_standard_input_until_its_end(folder):
    with Sink() as sink:
        done = run("run", "--config", reading_stdin(folder, sink), stdin=TEXT)
        groups = otlp.decode_all(sink.accepted())
    assert done.returncode == 0, done.stderr
    assert [g.service for g in groups] == ["shop"]
    (profile,) = groups[0].profiles
    assert stacks(profile) == FRAMES
    assert profile["type"] == ("samples", "count")
    assert profile["time"] > 1.7e18 and 0 < profile["duration"] < 60e9  # when it came, until it was cut


def test_a_sample_rate_makes_time(folder):
    with Sink() as sink:
        done = run("run", "--config", reading_stdin(folder, sink, sample_rate=50), stdin="a;b 3\n")
        (profile,) = arrived(sink)
    assert done.returncode == 0, done.stderr
    assert profile["type"] == ("cpu", "nanoseconds")
    assert stacks(profile) == {("a", "b"): 60_000_000}


def test_nothing_on_standard_input_is_nothing_sent(folder):
    with Sink() as sink:
        done = run("run", "--config", reading_stdin(folder, sink), stdin="")
        assert done.returncode == 0, done.stderr
        assert sink.requests == []


def test_what_is_no_folded_text_is_said(folder):
    with Sink() as sink:
        done = run("run", "--config", reading_stdin(folder, sink), stdin="hello\nworld\n")
        assert sink.requests == []
    assert "standard input: invalid" in done.stderr and "line 1" in done.stderr, done.stderr


def test_watched_files(folder):
    (folder / "in").mkdir()
    receivers = {"folded": {"file": {"include": f"{folder}/in/*.folded", "collection_interval": INTERVAL},
                            "storage": "file_storage", "resource_attributes": {"service.name": "f"}}}
    with Sink() as sink:
        with Relay(pipeline(folder, receivers, {"otlp_http": otlp_exporter(sink)}), folder) as relay:
            (folder / "in" / "a.folded").write_text(TEXT + "no count\n")
            sink.wait_accepted(1)
            relay.wait_line(r"a\.folded: lines passed over: 1, the first: line 6: ")
            (folder / "in" / "b.folded").write_bytes(gzip.compress(b"x;y 7\n"))
            sink.wait_accepted(2)
        first, second = arrived(sink)
    assert stacks(first) == FRAMES and stacks(second) == {("x", "y"): 7}


def test_a_file_for_each_sample_type(folder):
    (folder / "in").mkdir()
    out = {"path": str(folder / "out"), "format": "folded", "create_directory": True}
    with Sink() as sink:
        with Relay(pipeline(folder, {"pprof": file_receiver(folder / "in", "s")},
                            {"file": out, "otlp_http": otlp_exporter(sink)}), folder) as relay:
            add(folder / "in", "one")
            sink.wait_accepted(1)
            relay.terminate()  # what is queued is written before the end
        (group,) = otlp.decode_all(sink.accepted())
    for profile in group.profiles:
        (path,) = (folder / "out").glob(f"s-{profile['type'][0]}-*.folded")
        lines = path.read_text().splitlines()
        assert lines == sorted(lines)
        total = sum(sum(s["values"]) for s in profile["samples"])
        assert sum(int(line.rpartition(" ")[2]) for line in lines) == total, path
