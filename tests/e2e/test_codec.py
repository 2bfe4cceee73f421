# SPDX-License-Identifier: Apache-2.0
"""OTLP in, the same OTLP out: what our codec writes again is judged by Google's runtime and by another decoder."""
import subprocess
from pathlib import Path

from support import corpus, load_tool, otlp, pprof_make
from support.process import SANITIZER, program, run
from support.sink import Sink
from support.whole import assert_sound, difference, whole


def reencoded(body):
    """(exit code, output, errors) of the test program that lies beside profrelay."""
    tool = Path(program()).parent / "otlp_reencode"
    assert tool.is_file(), f"{tool} is not there: build it first"
    done = subprocess.run([tool], input=body, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    errors = done.stderr.decode("utf-8", "replace")
    assert not SANITIZER.search(errors), errors[-4000:]
    return done.returncode, done.stdout, errors


def requests(keep):
    """(name, body) of the requests in today's layout."""
    root = corpus("otlp")
    paths = [*root.glob("*1.10*.bin"), *root.glob("official/*-1.10*.pb"), *root.glob("recorded/*.otlp"),
             *root.glob("special/*.pb")]
    found = [(p.name, p.read_bytes()) for p in sorted(paths) if keep(p.name)]
    assert len(found) > 5, f"{len(found)} requests in {root}"
    return found


def good_requests():
    return requests(lambda name: not name.startswith("bad_"))


def assert_same(name, body, again):
    request = otlp.parse(again)
    found = difference(whole(otlp.parse(body)), whole(request))
    assert found is None, f"{name}: {found}"
    if request.resource_profiles:
        assert_sound(request)
    assert reencoded(again)[1] == again, f"{name}: the second time it comes out otherwise"


def test_corpus_comes_out_as_it_went_in(_):
    for name, body in good_requests():
        code, again, errors = reencoded(body)
        assert code == 0, f"{name}: {errors}"
        assert_same(name, body, again)


def test_our_own_requests_come_out_as_they_went_in(folder):
    for i, options in enumerate(({"odd_labels": True, "comments": ("a", "b")}, {"samples": 0}, {"depth": 0})):
        path = folder / f"{i}.pb.gz"
        path.write_bytes(pprof_make.make(seed=i, **options))
        with Sink() as sink:
            done = run("import", path, "--to", sink.endpoint, "--service", "s")
            assert done.returncode == 0, done.stderr
            body = sink.accepted()[0]
        assert_same(str(options), body, reencoded(body)[1])
        assert reencoded(body)[1] == body


def differences_under(judge, a, b):
    """What it says. It compares the profiles that both have: how many there are is a line of its own."""
    lines = []
    found = judge.compare(a, b, out=lines.append)
    no_type = (None, ("", ""))  # to it a type of empty strings is another than none
    kept = [(what, one) for what, many in found.items() for one in many
            if not what.endswith("_type") or not all(x in no_type for x in one[1:])]
    return kept + [x for x in lines if x.startswith("profile count")]


def test_corpus_under_another_decoder(_):
    judge = load_tool("otlpprof")
    for name, body in good_requests():
        if name.startswith("no_dictionary"):
            continue  # it takes index 0 of a table that is not there for a bad one
        found = differences_under(judge, body, reencoded(body)[1])
        assert not found, f"{name}: {found}"
    request = otlp.parse(dict(good_requests())["common-1.10.pb"])
    before = request.SerializeToString()
    del request.resource_profiles[-1].scope_profiles[-1].profiles[-1]
    assert differences_under(judge, before, request.SerializeToString()), "a missing profile is not seen"


def test_bad_requests_are_refused(_):
    for name, body in requests(lambda name: name.startswith("bad_")):
        code, again, errors = reencoded(body)
        if name.startswith("bad_utf8"):  # repaired
            assert code == 0 and "\ufffd".encode() in again, f"{name}: {errors}"
        else:
            assert code == 1 and not again and errors.startswith("otlp_reencode: "), f"{name}: {code} {errors}"


def test_other_layouts_are_never_taken_for_todays(_):
    root = corpus("otlp")
    paths = [*root.glob("official/*-1.[5-9]*.pb"), *root.glob("*-layout-1.[5-9]*.bin"), root / "sig-profiling-profile.otlp"]
    assert len(paths) > 10
    for path in paths:
        code, again, errors = reencoded(path.read_bytes())
        assert code == 1 and not again and errors.startswith("otlp_reencode: "), f"{path.name}: {code} {errors}"


def test_the_judge_sees_a_difference(folder):
    path = folder / "a.pb.gz"
    path.write_bytes(pprof_make.make(seed=1, odd_labels=True, comments=("a",)))
    with Sink() as sink:
        run("import", path, "--to", sink.endpoint, "--service", "s")
        body = sink.accepted()[0]

    def seen(change):
        request = otlp.parse(body)
        change(request, request.dictionary, request.resource_profiles[0].scope_profiles[0].profiles[0])
        return difference(whole(otlp.parse(body)), whole(request))

    def unchanged(*_):
        pass

    def value(_, __, profile):
        profile.samples[3].values[0] += 1

    def line(_, tables, __):
        tables.location_table[1].lines[0].line += 1

    def build_id(_, tables, __):
        del tables.mapping_table[1].attribute_indices[0]

    def link(_, tables, __):
        tables.link_table[1].span_id = bytes(8)

    def service(request, *_):
        request.resource_profiles[0].resource.attributes[0].value.int_value = 1

    def profile_gone(request, *_):
        del request.resource_profiles[0].scope_profiles[0].profiles[1]

    assert seen(unchanged) is None
    for change in (value, line, build_id, link, service, profile_gone):
        assert seen(change), change.__name__
