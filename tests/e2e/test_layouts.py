# SPDX-License-Identifier: Apache-2.0
"""OTLP requests in the layouts of older releases: recognised, translated, told. What the official files mean is judged by
../shared/tools/otlplayouts.py, which knows every layout and none of our code."""
import json
import re
import subprocess
import sys

from support import corpus, tool
from support.process import Relay, run
from support.sink import Sink
from test_otlp_receiver import JSON, PROTO, post, relay_config

VERSION = "otlp-profiles-development-version"


def official(pattern):
    return sorted((corpus("otlp") / "official").glob(pattern))


def layout_of(path):
    return re.search(r"-(1\.\d+)", path.name)[1]


def content_of(path):
    return path.parent / f"{path.name.split('-')[0]}.content.json"


def assert_content(request, path, folder):
    """The request, in the current layout, says what the official file is known to say."""
    sent = folder / "request.pb"
    sent.write_bytes(request)
    judged = subprocess.run([sys.executable, tool("otlplayouts.py"), "check", "1.10", sent, content_of(path)], capture_output=True, text=True)
    assert judged.returncode == 0 and judged.stdout.strip() == "equal", (path.name, judged.stdout[-2000:], judged.stderr[-2000:])


def values_by_type(content):
    """{(type, unit): values of its samples}, whether its types share a profile or have one each."""
    profiles = [p for r in content["Resources"] for s in r["Scopes"] for p in s["Profiles"]]
    return {tuple(kind): [s["Values"][i] for s in p["Samples"]] for p in profiles for i, kind in enumerate(p["Types"])}


def assert_types_have_profiles(request, path, folder):
    """`multi`: what was one profile of two sample types is two, the default one first, each with the comments."""
    sent = folder / "request.pb"
    sent.write_bytes(request)
    judged = subprocess.run([sys.executable, tool("otlplayouts.py"), "dump", "1.10", sent], capture_output=True, text=True, check=True)
    got, wanted = json.loads(judged.stdout), json.loads(content_of(path).read_text())
    assert values_by_type(got) == values_by_type(wanted), path.name
    source, profiles = wanted["Resources"][0]["Scopes"][0]["Profiles"][0], got["Resources"][0]["Scopes"][0]["Profiles"]
    assert [p["Types"] for p in profiles][0] == [source["Types"][source["Default"]]] and len(profiles) == len(source["Types"])
    assert all(text in json.dumps(profiles[0]["Attrs"]) for text in source["Comments"]), profiles[0]["Attrs"]


def test_every_official_file_is_translated(folder):
    files = official("*.pb")
    with Sink() as sink, Relay(relay_config(sink, exporter={"compression": "none"}), folder) as relay:
        for number, path in enumerate(files, 1):
            assert post(relay, path.read_bytes(), PROTO)[0] == 200, path.name
            sink.wait_accepted(number)
            check = assert_types_have_profiles if path.name.startswith("multi") else assert_content
            check(sink.accepted()[-1], path, folder)
        counted = {layout: relay.metric("profrelay_receiver_layout_requests", layout=layout) for layout in ("1.5", "1.7", "1.8", "1.9", "current")}
    wanted = {layout: sum(layout_of(p) == layout.replace("current", "1.10") for p in files) for layout in counted}
    assert counted == wanted


def test_a_sender_is_named_once_and_when_it_changes(folder):
    old, new = official("common-1.9.pb")[0].read_bytes(), official("common-1.10.pb")[0].read_bytes()
    with Sink() as sink, Relay(relay_config(sink), folder) as relay:
        for body in (new, old, old, old, new):
            assert post(relay, body, PROTO)[0] == 200
        relay.wait_line("127.0.0.1 sends the current layout of OTLP profiles now, no longer 1.9")
        assert len(relay.log(r"127.0.0.1 sends the layout 1.9 of OTLP profiles \(.*\): it is translated")) == 1


def test_old_layouts_may_be_refused(folder):
    for receiver in ({"layouts": {"on_old": "reject"}}, {"layouts": {"accept": ["current", "1.8"]}}):
        with Sink() as sink, Relay(relay_config(sink, receiver=receiver), folder) as relay:
            for body, headers in ((official("common-1.9.pb")[0].read_bytes(), PROTO), (official("multi-1.7.json")[0].read_bytes(), JSON)):
                status, _, answer = post(relay, body, headers)
                assert status == 400 and b"which is not taken here" in answer, (status, answer)
            assert post(relay, official("common-1.10.pb")[0].read_bytes(), PROTO)[0] == 200
            assert post(relay, official("common-1.8.pb")[0].read_bytes(), PROTO)[0] == (200 if "accept" in receiver["layouts"] else 400)


# {stack 1, values or attributes [1], one time}: legal in 1.9 and in 1.10, and nothing else in the request tells.
def ambiguous():
    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    def varint(number, value):
        return bytes([number << 3, value])
    sample = varint(1, 1) + field(2, b"\1") + field(5, (10**18).to_bytes(8, "little"))
    profile = field(1, varint(1, 1) + varint(2, 2)) + field(2, sample) + field(5, b"") + field(11, b"\1")
    resource = field(1, field(1, b"") + field(2, field(1, b"") + field(2, profile)))
    attribute = field(6, b"") + field(6, varint(1, 3) + field(2, field(1, b"x")))
    strings = b"".join(field(5, text) for text in (b"", b"cpu", b"ns", b"thread"))
    stacks = field(7, b"") + field(7, field(1, b"\1"))
    dictionary = field(1, b"") + field(2, b"") + field(2, varint(2, 16)) + field(3, b"") + field(4, b"") + strings + attribute + stacks
    return resource + field(2, dictionary)


def test_what_may_be_either_is_refused_unless_told(folder):
    body = ambiguous()
    with Sink() as sink, Relay(relay_config(sink), folder) as relay:
        status, _, answer = post(relay, body, PROTO)
        assert status == 400 and b"layouts.assume" in answer, (status, answer)
        assert post(relay, body, {**PROTO, VERSION: "1"})[0] == 200
        sink.wait_accepted(1)
    for layout, values in (("current", b"\x12\x01\x01"), ("1.9", b"\x22\x01\x01")):
        with Sink() as sink, Relay(relay_config(sink, receiver={"layouts": {"assume": layout}}, exporter={"compression": "none"}), folder) as relay:
            assert post(relay, body, PROTO)[0] == 200
            sink.wait_accepted(1)
            assert values in sink.accepted()[0]


def test_show_names_layout_and_evidence(folder):
    for path in official("*.pb") + official("*.json"):
        if path.name.endswith("content.json"):
            continue
        shown = run("show", "--layout", str(path))
        wanted = layout_of(path).replace("1.10", "current")
        # JSON of 1.9 and of 1.10 is the same.
        allowed = {wanted, "current"} if path.suffix == ".json" and wanted == "1.9" else {wanted}
        assert shown.returncode == 0, (path.name, shown.stderr)
        found = re.fullmatch(r"layout: (\S+)\nevidence: .+\n", shown.stdout)
        assert found and found[1] in allowed, (path.name, shown.stdout)
    broken = run("show", "--layout", str(corpus("otlp") / "async-profiler-layout-1.7-bad-function-index.bin"))
    assert broken.returncode == 1 and broken.stdout.startswith("layout: 1.7\n") and "function" in broken.stderr


def test_files_of_old_layouts_are_read(folder):
    for name, samples in (("ebpf-layout-1.5.bin", 58), ("ebpf-layout-1.7.bin", 37), ("ebpf-layout-1.9.bin", 297), ("sig-profiling-profile.otlp", 49)):
        out = folder / "out.otlp.json"
        converted = run("convert", str(corpus("otlp") / name), str(out), "--to", "otlp_json")
        assert converted.returncode == 0, (name, converted.stderr)
        request = json.loads(out.read_text())
        assert sum(len(p.get("samples", [])) for r in request["resourceProfiles"] for s in r["scopeProfiles"] for p in s["profiles"]) == samples, name


def test_convert_writes_old_layouts(folder):
    """`common` fits every layout: what the official file of any release says is written for any release."""
    for source in official("common-1.10.pb") + official("common-1.7.pb"):
        for layout in ("1.7", "1.8", "1.9", "current"):
            out = folder / "out.otlp"
            converted = run("convert", str(source), str(out), "--to", "otlp_proto", "--layout", layout)
            assert converted.returncode == 0 and "left out" not in converted.stderr, (layout, converted.stderr)
            judged = subprocess.run([sys.executable, tool("otlplayouts.py"), "check", layout.replace("current", "1.10"), out, content_of(source)],
                                    capture_output=True, text=True)
            assert judged.returncode == 0 and judged.stdout.strip() == "equal", (source.name, layout, judged.stdout[-1500:], judged.stderr[-500:])
    refused = run("convert", str(source), str(folder / "x.folded"), "--layout", "1.9")
    assert refused.returncode == 2 and "--layout is of --to otlp_proto" in refused.stderr
