# SPDX-License-Identifier: Apache-2.0
"""What the exporters write with `layout`, `string_references` and `zero_link`, judged by a decoder that is not ours."""
import json

from support import corpus, load_tool
from support.process import Relay
from support.sink import Sink, ok, status
from test_otlp_receiver import PROTO, post, relay_config

VERSION = "otlp-profiles-development-version"
WORDS = "proto: wrong wireType = 2 for field LinkIndex"


def sent(name):
    return (corpus("otlp") / "official" / f"{name}.pb").read_bytes()


def assert_content(layout, body, name):
    judge = load_tool("otlplayouts")
    content = json.loads((corpus("otlp") / "official" / f"{name}.content.json").read_text())
    differences = list(judge.differences(judge.norm(content), judge.norm(judge.decode(layout, body))))
    assert not differences, (layout, name, differences[:5])


def deliver(relay, sink, body, count):
    answer = post(relay, body, PROTO)
    assert answer[0] == 200, answer
    sink.wait_accepted(count)
    return sink.accepted()[-1]


def emit(folder, name, **exporter):
    with Sink() as sink, Relay(relay_config(sink, exporter=exporter), folder) as relay:
        return deliver(relay, sink, sent(name), 1)


def test_official_requests_in_each_layout(folder):
    for layout, names in (("1.7", ["common"]), ("1.8", ["common", "shapes"]), ("1.9", ["common", "shapes"]), ("1.10", ["common", "shapes"])):
        with Sink() as sink, Relay(relay_config(sink, exporter={"layout": layout}), folder) as relay:
            for i, name in enumerate(names):
                assert_content(layout, deliver(relay, sink, sent(f"{name}-1.10"), 2 * i + 1), name)
                assert_content(layout, deliver(relay, sink, sent(f"{name}-1.10-refs"), 2 * i + 2), name)
            assert all((VERSION in r.headers) == (layout == "1.10") for r in sink.requests), [r.headers for r in sink.requests]


def test_references_and_zero_link(folder):
    judge = load_tool("otlplayouts")
    for came in ("common-1.10", "common-1.10-refs"):
        for references in ("inline", "indexed"):
            body = emit(folder, came, string_references=references)
            assert_content("1.10", body, "common")
            keys = [a for r in judge.Msg(body).subs(1) for a in r.sub(1).subs(1)]
            assert keys and all(a.has(3) == (references == "indexed") for a in keys), (came, references)
    assert emit(folder, "common-1.10-refs", string_references="indexed") == sent("common-1.10-refs")
    for link in ("empty", "zeros"):
        body = emit(folder, "common-1.10", zero_link=link)
        assert_content("1.10", body, "common")
        first = judge.Msg(body).sub(2).subs(4)[0]
        assert (first.byt(1), first.byt(2)) == ((bytes(16), bytes(8)) if link == "zeros" else (b"", b"")), link


def test_what_1_7_cannot_hold(folder):
    with Sink() as sink, Relay(relay_config(sink, exporter={"layout": "1.7"}), folder) as relay:
        body = deliver(relay, sink, sent("shapes-1.10"), 1)
        samples = [s for r in load_tool("otlplayouts").decode("1.7", body)["Resources"] for sc in r["Scopes"] for p in sc["Profiles"] for s in p["Samples"]]
        assert all(len(s["Values"]) == 1 for s in samples), samples
        assert relay.metric("profrelay_exporter_layout_lost_attributes", exporter="otlp_http") > 0
        relay.wait_line("layout 1.7 cannot hold all of a batch, lost are .* the unit")


def test_auto_finds_what_the_peer_takes(folder):
    with Sink() as sink, Relay(relay_config(sink, exporter={"layout": "auto"}), folder) as relay:
        sink.behave(default=ok(), script=[status(400, WORDS), status(400, WORDS)])
        assert_content("1.8", deliver(relay, sink, sent("common-1.10"), 1), "common")
        assert_content("1.8", deliver(relay, sink, sent("common-1.10"), 2), "common")
        assert [VERSION in r.headers for r in sink.requests] == [True, False, False, False]
        assert_content("1.10", sink.requests[0].body, "common")
        assert_content("1.9", sink.requests[1].body, "common")
        relay.wait_line("does not understand layout current of OTLP profiles, but 1.8: sending that from now on")
        sink.behave(default=status(400, "no such tenant"))
        before = sink.count()
        assert post(relay, sent("common-1.10"), PROTO)[0] == 200  # the queue has it
        relay.wait_line("the peer refuses .* no such tenant")
        sink.wait_requests(before + 3)  # each of the two resources by itself
        assert_content("1.8", sink.requests[before].body, "common")
        halves = [load_tool("otlplayouts").decode("1.8", r.body)["Resources"] for r in sink.requests[before + 1:]]
        assert [len(resources) for resources in halves] == [1, 1], halves  # in the layout it takes, and no other is tried
