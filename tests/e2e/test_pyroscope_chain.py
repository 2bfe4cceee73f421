# SPDX-License-Identifier: Apache-2.0
"""The exporter `pyroscope` into the receiver `pyroscope` of another profrelay: every value comes out as it went in, over Push and
over /ingest, and what only OTLP says of a sample (its link) too."""
from support import otlp, pprof_make, pyroscope
from support.process import Relay, config
from support.setup import add, file_receiver, otlp_exporter, pipeline
from support.sink import Sink

TYPES = (("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes"))
SHAPES = [{}, {"types": TYPES}, {"odd_labels": True, "inlined": True}, {"samples": 3000}, {"types": (("cpu", "nanoseconds"),)}]


def behind(sink):
    return config(receivers={"pyroscope": {"endpoint": "127.0.0.1:0"}}, exporters={"otlp_http": otlp_exporter(sink)},
                  service={"pipelines": {"profiles": {"receivers": ["pyroscope"], "exporters": ["otlp_http"]}}})


def through(folder, **exporter):
    """[(the file, what arrived)] of files with different shapes."""
    for name in ["first/in", "last"]:
        (folder / name).mkdir(parents=True)
    with Sink() as sink, Relay(behind(sink), folder / "last") as last:
        to = {"endpoint": f"http://127.0.0.1:{pyroscope.port(last, 'pyroscope')}", **exporter}
        receivers = {f"pprof/{i}": file_receiver(folder / "first" / "in" / str(i), f"service-{i}") for i in range(len(SHAPES))}
        files = []
        for i, shape in enumerate(SHAPES):
            (folder / "first" / "in" / str(i)).mkdir()
            files.append(add(folder / "first" / "in" / str(i), f"file{i}", **shape))
        with Relay(pipeline(folder / "first", receivers, {"pyroscope": to}), folder / "first"):
            sink.wait_accepted(len(SHAPES))
        groups = {g.resource["service.name"]: g for g in otlp.decode_all(sink.accepted())}
    assert len(groups) == len(SHAPES)
    return [(file, groups[f"service-{i}"]) for i, file in enumerate(files)]


def check(pairs):
    for file, group in pairs:
        otlp.assert_same(file, group, group.resource["service.name"])


def test_push_keeps_every_value(folder):
    check(through(folder, max_profile_bytes="64MiB"))


def test_ingest_keeps_every_value(folder):
    check(through(folder, api="ingest", profile_compression="none"))


def test_what_is_split_adds_up(folder):
    """Parts have times of their own, and together the samples of the whole."""
    (folder / "first" / "in").mkdir(parents=True)
    (folder / "last").mkdir()
    with Sink() as sink, Relay(behind(sink), folder / "last") as last:
        file = add(folder / "first" / "in", "large", samples=3000, types=(("cpu", "nanoseconds"),))
        to = {"endpoint": f"http://127.0.0.1:{pyroscope.port(last, 'pyroscope')}", "max_profile_samples": 1000}
        text = pipeline(folder / "first", {"pprof": file_receiver(folder / "first" / "in", "shop")}, {"pyroscope": to})
        with Relay(text, folder / "first"):
            last.wait_metric("otelcol_exporter_sent_profile_samples", 3000)
            groups = otlp.decode_all(sink.accepted())
    (want,) = [x["samples"] for x in otlp.read_pprof(file)]
    got, times = want.__class__(), set()
    for group in groups:
        (profile,) = group.profiles
        assert len(profile["samples"]) <= 1000
        got += otlp.samples_of(profile)
        times.add(profile["time"])
    assert got == want
    assert len(times) == len(groups) >= 3, (times, len(groups))
