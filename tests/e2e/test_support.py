# SPDX-License-Identifier: Apache-2.0
"""The tools that the other tests trust."""
import http.client
import json
import subprocess
import sys

from support import Skip, ROOT, otlp, pprof_make
from support.process import config, parse_metrics
from support.sink import Sink, cut_after_body, cut_before_body, hold, inflate, partial, status

OTLPPROF = ROOT.parent / "shared" / "tools" / "otlpprof.py"


def post(sink, body, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", sink.port, timeout=10)
    connection.request("POST", "/v1development/profiles", body, headers)
    return connection.getresponse()


def test_sink_answers_by_its_script(_):
    with Sink() as sink:
        sink.behave(script=[status(503, Retry_After=7), partial(2)])
        first = post(sink, b"a")
        assert (first.status, first.headers["Retry-After"]) == (503, "7")
        assert b"told to reject them" in post(sink, b"b").read()
        assert post(sink, b"c").status == 200
        assert sink.accepted() == [b"b", b"c"]
        assert sink.count() == 3


def test_sink_cuts_refuses_and_comes_back(_):
    with Sink() as sink:
        sink.behave(script=[cut_before_body(), cut_after_body()])
        for _ in range(2):
            try:
                post(sink, b"x")
                raise AssertionError("was answered")
            except OSError:
                pass
        port = sink.port
        sink.refuse()
        try:
            post(sink, b"x")
            raise AssertionError("somebody listens")
        except ConnectionRefusedError:
            pass
        sink.accept_again()
        assert sink.port == port
        assert post(sink, b"y").status == 200
        assert sink.accepted() == [b"y"]


def test_sink_holds_until_released(_):
    with Sink() as sink:
        sink.behave(default=hold())
        connection = http.client.HTTPConnection("127.0.0.1", sink.port, timeout=10)
        connection.request("POST", "/x", b"body")
        sink.wait(lambda s: s.holding == 1, "one request is held")
        assert sink.accepted() == []
        sink.release()
        assert connection.getresponse().status == 200


def test_sink_inflates(_):
    packed = subprocess.run(["zstd", "-q"], input=b"text", stdout=subprocess.PIPE, check=True).stdout
    assert inflate("zstd", packed) == b"text"
    assert inflate("identity", b"text") == b"text"


def test_pprof_make_is_repeatable_and_says_what_it_is_told(_):
    a, b = pprof_make.make(seed=1, comments=("x",)), pprof_make.make(seed=1, comments=("x",))
    assert a == b
    assert a != pprof_make.make(seed=2, comments=("x",))
    types = otlp.read_pprof(a)
    assert [x["type"] for x in types] == [("samples", "count"), ("cpu", "nanoseconds")]
    assert types[0]["samples"].total() == 20


def test_decoder_agrees_with_another_ones_conversion(folder):
    if not OTLPPROF.is_file():
        raise Skip(f"{OTLPPROF} is not there")
    source, out = folder / "a.pb.gz", folder / "a.otlp"
    source.write_bytes(pprof_make.make(seed=3, comments=("first",)))
    subprocess.run([sys.executable, str(OTLPPROF), "convert", str(source), str(out), "svc"], check=True,
                   stdout=subprocess.DEVNULL)
    groups = otlp.decode(out.read_bytes())
    assert [g.service for g in groups] == ["svc"]
    otlp.assert_same(source.read_bytes(), groups[0], "a.pb.gz")
    assert otlp.arrivals([out.read_bytes()]) == {("svc", "first"): 1}
    other = pprof_make.make(seed=4)
    try:
        otlp.assert_same(other, groups[0], "other")
    except AssertionError as e:
        assert "missing" in str(e)
    else:
        raise AssertionError("another file's samples were taken for the same")


def test_metrics_parser(_):
    page = parse_metrics('# HELP a b\n# TYPE a counter\na{x="1",y="q\\"r"} 3\na 4\n')
    assert page == {"a": [({"x": "1", "y": 'q\\"r'}, 3.0), ({}, 4.0)]}


def test_config_is_json(_):
    assert json.loads(config(receivers={}))["service"]["telemetry"]["metrics"]["readers"]
