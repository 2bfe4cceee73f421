# SPDX-License-Identifier: Apache-2.0
"""Files through the pipeline to an OTLP endpoint: what arrives, how, and what is said about it."""
import gzip
import signal

from support import otlp, pprof_make
from support.process import Relay, config, run
from support.setup import Arrivals, add, file_receiver, otlp_exporter, pass_by, pipeline, simple
from support.sink import Sink, partial, status


def arrived(folder, sink, **exporter):
    """The request that one file makes, and the file's content."""
    with Relay(simple(folder, sink, **exporter), folder):
        data = add(folder / "in", "one")
        sink.wait_accepted(1)
    return sink.requests[0], data


def test_written_as_a_person_would(folder):
    (folder / "in").mkdir()
    (folder / "storage").mkdir()
    with Sink() as sink:
        text = f"""
receivers:
  pprof/a:
    file:
      include: {folder}/in/**/*.pb.gz   # ** is any folders
      collection_interval: 200ms
    resource_attributes:
      service.name: a
    storage: file_storage
exporters:
  otlphttp:
    endpoint: {sink.endpoint}
extensions:
  file_storage: {{directory: {folder}/storage}}
service:
  extensions: [file_storage]
  pipelines:
    profiles:
      receivers: [pprof/a]
      exporters: [otlphttp]
  telemetry:
    metrics:
      readers:
        - pull: {{exporter: {{prometheus: {{host: localhost, port: 0}}}}}}
"""
        with Relay(text, folder):
            data = add(folder / "in", "one")
            sink.wait_accepted(1)
        groups = otlp.decode_all(sink.accepted())
    assert [g.service for g in groups] == ["a"]
    otlp.assert_same(data, groups[0], "one")


def check_compression(folder, encoding, header):
    with Sink() as sink:
        request, data = arrived(folder, sink, compression=encoding)
    assert request.headers.get("content-encoding", "identity") == header
    assert request.headers["content-type"] == "application/x-protobuf"
    assert request.headers["otlp-profiles-development-version"] == "1"
    assert request.path == "/v1development/profiles"
    otlp.assert_same(data, otlp.decode(request.body)[0], encoding)


def test_gzip(folder):
    check_compression(folder, "gzip", "gzip")


def test_zstd(folder):
    check_compression(folder, "zstd", "zstd")


def test_no_compression(folder):
    check_compression(folder, "none", "identity")


def test_headers_are_sent_and_secrets_never_said(folder):
    secret = "s3cr3t-token"
    with Sink() as sink:
        sink.behave(script=[status(503)])
        headers = {"X-Scope-OrgID": "tenant-1", "Authorization": f"Bearer {secret}"}
        text = simple(folder, sink, headers=headers)
        with Relay(text, folder) as relay:
            add(folder / "in", "one")
            sink.wait_accepted(1)
            assert sink.requests[-1].headers["x-scope-orgid"] == "tenant-1"
            assert sink.requests[-1].headers["authorization"] == f"Bearer {secret}"
            assert secret not in repr(relay.metrics())
        assert secret not in "\n".join(relay.lines)
    printed = run("print-config", "--config", folder / "config.yaml")
    assert printed.returncode == 0, printed.stderr
    assert "otlp_http" in printed.stdout and secret not in printed.stdout + printed.stderr


def test_retry_after_is_honoured(folder):
    with Sink() as sink:
        sink.behave(script=[status(503, Retry_After=1)])
        with Relay(simple(folder, sink), folder):
            add(folder / "in", "one")
            sink.wait_accepted(1)
        first, second = (r.time for r in sink.requests)
    assert second - first >= 0.99, f"came again after {second - first:.3f} s"


def test_partial_success_is_said_and_not_repeated(folder):
    with Sink() as sink:
        arrivals = Arrivals(sink)
        sink.behave(script=[partial(1, "one too old")])
        with Relay(simple(folder, sink), folder) as relay:
            add(folder / "in", "one")
            line = relay.wait_line("one too old")
            assert "otlp_http" in line
            pass_by(folder / "in", arrivals, "next")
            pass_by(folder / "in", arrivals, "next-but-one")
        assert arrivals.counts()[("a", "one")] == 1


def test_two_receivers_with_identical_files(folder):
    data = pprof_make.make(seed=1, comments=("same",))
    for service in "ab":
        (folder / service).mkdir()
        for copy in range(3):  # a file is known by its content and its attributes
            pprof_make.write(folder / service / f"{copy}.pb.gz", data)
    with Sink() as sink:
        arrivals = Arrivals(sink)
        receivers = {f"pprof/{s}": file_receiver(folder / s, s) for s in "ab"}
        with Relay(pipeline(folder, receivers, {"otlp_http": otlp_exporter(sink)}), folder):
            arrivals.wait([("a", "same"), ("b", "same")])
            pass_by(folder / "a", arrivals, "next-a", "a")
            pass_by(folder / "b", arrivals, "next-b", "b")
        assert set(arrivals.counts().values()) == {1}, arrivals.counts()


def test_counted_with_the_collectors_names(folder):
    with Sink() as sink, Relay(simple(folder, sink), folder) as relay:
        pass_by(folder / "in", Arrivals(sink), "one")
        pass_by(folder / "in", Arrivals(sink), "two")
        accepted = relay.metric("otelcol_receiver_accepted_profile_samples", receiver="pprof/a", transport="file")
        sent = relay.metric("otelcol_exporter_sent_profile_samples", exporter="otlp_http")
        # `two` may not be settled yet when the sink has it.
        assert accepted == 80 and sent in (40, 80), f"accepted {accepted}, sent {sent} of two files of 2 x 20 samples"


def test_a_broken_file_is_named_and_the_rest_goes_on(folder):
    with Sink() as sink, Relay(simple(folder, sink), folder) as relay:
        pprof_make.write(folder / "in" / "broken.pb.gz", gzip.compress(b"\x0a\xff\xff"))
        pprof_make.write(folder / "in" / "page.pb.gz", b"<!DOCTYPE html><html></html>")
        relay.wait_line(r"broken\.pb\.gz")
        assert "HTML" in relay.wait_line(r"page\.pb\.gz")
        pass_by(folder / "in", Arrivals(sink), "good")


def test_a_file_that_still_grows(folder):
    with Sink() as sink:
        arrivals = Arrivals(sink)
        with Relay(simple(folder, sink), folder):
            data = pprof_make.make(seed=9, comments=("slow",), samples=200)
            with open(folder / "in" / "slow.pb.gz", "wb", buffering=0) as f:
                for start in range(0, len(data), len(data) // 8 + 1):
                    f.write(data[start:start + len(data) // 8 + 1])
                    pass_by(folder / "in", arrivals, f"meanwhile-{start}")
            arrivals.wait([("a", "slow")])
        assert arrivals.counts()[("a", "slow")] == 1


def test_without_storage_a_warning(folder):
    (folder / "in").mkdir()
    with Sink() as sink:
        receiver = file_receiver(folder / "in", "a")
        del receiver["storage"]
        with Relay(pipeline(folder, {"pprof/a": receiver}, {"otlp_http": otlp_exporter(sink)}), folder) as relay:
            assert relay.log(r"(?i)warn.*storage"), relay.tail()


def refused(folder, text, *patterns, args=("validate",)):
    path = folder / "bad.yaml"
    path.write_text(text)
    done = run(*args, "--config", path)
    assert done.returncode == 1, f"exit code {done.returncode}\n{done.stderr}"
    for pattern in patterns:
        assert pattern in done.stderr, f"{pattern!r} is not in:\n{done.stderr}"


GOOD = """receivers:
  pprof/a: {file: {include: "/tmp/none/*.pb.gz"}}
exporters:
  nop: {}
service:
  pipelines:
    profiles: {receivers: [pprof/a], exporters: [nop]}
"""


def test_a_hangup_is_no_end(folder):
    with Sink() as sink, Relay(simple(folder, sink), folder) as relay:
        relay.signal(signal.SIGHUP)
        relay.wait_line("received SIGHUP: the configuration is read at the start only")
        add(folder / "in", "one")
        sink.wait_accepted(1)


def test_wrong_configurations_end_with_1(folder):
    good = folder / "good.yaml"
    good.write_text(GOOD)
    assert run("validate", "--config", good).returncode == 0
    refused(folder, GOOD.replace("include", "inlcude"), "bad.yaml:2:", "pprof/a", "did you mean", "include")
    refused(folder, GOOD.replace("exporters: [nop]", "exporters: [nopp]"), "bad.yaml:7:", "nopp")
    refused(folder, GOOD.replace("include", "inlcude").replace("[nop]", "[nopp]"), "bad.yaml:2:", "bad.yaml:7:")
    refused(folder, GOOD.replace("nop: {}", "nop: {"), "bad.yaml:")
    refused(folder, GOOD.replace("include", "inlcude"), "bad.yaml:2:", args=())
    refused(folder, config(receivers={}, exporters={}, service={}), "pipelines")
    assert run("--config", folder / "absent.yaml").returncode == 1


def test_wrong_usage(_):
    assert run("--no-such-option").returncode in (1, 2)
    assert run("no-such-command").returncode in (1, 2)
    assert run("--version").returncode == 0
    assert "import" in run("--help").stdout
    assert "otlp_http" in run("components").stdout
