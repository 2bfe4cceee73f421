# SPDX-License-Identifier: Apache-2.0
"""profrelay import: files to a peer, once."""
import json
import re
import time
from collections import Counter

from support import corpus, load_tool, otlp, pprof_make
from support.process import run
from support.sink import Sink, partial, status

PATH = "/v1development/profiles"


def one_file(folder, **options):
    path = folder / "a.pb.gz"
    path.write_bytes(pprof_make.make(seed=5, comments=("a",), **options))
    return path


def run_import(*args, code=0, **more):
    done = run("import", *args, **more)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}:\n{done.stdout}{done.stderr}"
    return done


def only_group(sink):
    groups = otlp.decode_all(sink.accepted())
    assert len(groups) == 1, f"{len(groups)} groups"
    return groups[0]


def test_one_file_arrives_as_it_is(folder):
    path = one_file(folder)
    with Sink() as sink:
        done = run_import(path, "--to", sink.endpoint, "--service", "shop", "--attribute", "host.name=h1",
                          "--header", "X-Scope-OrgID=t1")
        request = sink.requests[0]
        assert (request.method, request.path) == ("POST", PATH)
        assert request.headers["content-type"] == "application/x-protobuf"
        assert request.headers["x-scope-orgid"] == "t1"
        group = only_group(sink)
    assert group.resource["service.name"] == "shop" and group.resource["host.name"] == "h1"
    otlp.assert_same(path.read_bytes(), group, path.name)
    assert re.search(r"\b1 file", done.stdout + done.stderr), "the summary does not count the file"


def test_everything_a_pprof_says(folder):
    path = one_file(folder, default_type="cpu", drop_frames="^d$", keep_frames="^k$", doc_url="https://example.com/d",
                    odd_labels=True)
    with Sink() as sink:
        run_import(path, "--to", sink.endpoint, "--service", "s")
        group = only_group(sink)
    otlp.assert_same(path.read_bytes(), group, path.name)
    assert group.scope_attributes["pprof.scope.default_sample_type"] == "cpu"
    attributes = group.profiles[0]["attributes"]
    assert attributes["pprof.profile.drop_frames"][0] == "^d$"
    assert attributes["pprof.profile.keep_frames"][0] == "^k$"
    assert attributes["pprof.profile.doc_url"][0] == "https://example.com/d"
    for profile in group.profiles:
        assert (profile["time"], profile["duration"]) == (pprof_make.TIME, 10_000_000_000)
        assert (profile["period_type"], profile["period"]) == (("cpu", "nanoseconds"), 10_000_000)
        links = {s["link"] for s in profile["samples"]}
        assert (bytes(15) + b"\x01", bytes(7) + b"\x01") in links and len(links) == 20


def test_folder_with_folders_and_what_is_no_profile(folder):
    pprof_make.write_numbered(folder / "in", 3)
    pprof_make.write_numbered(folder / "in" / "deeper", 1, samples=7)
    others = {"index.pb.gz": (b"<html><body>not found</body></html>", "HTML"), "README.md": (b"# Profiles\n", "text"),
              "x.json": (b'{"nodes": []}', "JSON"), "x.jfr": (b"FLR\0\0\2\0\1" + bytes(90), "JFR"),
              "app": (b"\x7fELF\2\1\1" + bytes(90), "ELF")}
    for name, (content, _) in others.items():
        (folder / "in" / name).write_bytes(content)
    with Sink() as sink:
        done = run_import(folder / "in", "--to", sink.endpoint, "--service", "s")
        assert otlp.arrivals(sink.accepted()).total() == 4
    for name, (_, kind) in others.items():
        assert re.search(rf"skipped: \S*/{re.escape(name)}: .*{kind}", done.stderr), f"{name}: {done.stderr}"
    assert f"{len(others)} skipped: not profiles" in done.stdout


def test_folded_stacks_arrive_as_time(folder):
    stacks = folder / "in" / "stacks.txt"
    stacks.parent.mkdir()
    stacks.write_text("main;work 12\nmain 3\nidle;main\n")
    with Sink() as sink:
        run_import(stacks.parent, "--to", sink.endpoint, "--service", "s", "--sample-rate", "100", "--from", "folded",
                   "--missing-count-is-one", "--leaf-first", "--timestamp", "now")
        profile, = only_group(sink).profiles
    assert profile["type"] == ("cpu", "nanoseconds")
    got = {tuple(line[0] for location in s["stack"] for line in location[2]): s["values"] for s in profile["samples"]}
    assert got == {("main", "work"): (120_000_000,), ("main",): (30_000_000,), ("idle", "main"): (10_000_000,)}
    done = run_import(stacks, "--to", "http://127.0.0.1:9", "--dry-run", "--from", "pprof", code=1)
    assert "stacks.txt" in done.stderr
    run_import(stacks, "--to", "http://127.0.0.1:9", "--sample-rate", "fast", code=2)
    run_import(stacks, "--to", "http://127.0.0.1:9", "--from", "xml", code=2)


def test_standard_input(folder):
    with Sink() as sink:
        sink.behave(script=[status(503), status(503)])
        run_import("-", "--to", sink.endpoint, "--service", "s", stdin="main;work 12\nmain 3\n")
        profile, = only_group(sink).profiles
    assert sorted(s["values"] for s in profile["samples"]) == [(3,), (12,)]
    assert profile["time"] > 1.7e18
    assert "empty input" in run_import("-", "--to", folder / "out", code=1, stdin="").stderr


def test_attributes_from_paths(folder):
    for service in ("shop", "cart"):
        pprof_make.write_numbered(folder / "in" / service, 1, samples=len(service))
    with Sink() as sink:
        run_import(folder / "in", "--to", sink.endpoint, "--match", r"in/(?P<service>[^/]+)/(?P<file>\w+)")
        groups = otlp.decode_all(sink.accepted())
    assert {(g.service, g.resource["file"]) for g in groups} == {("shop", "p0000"), ("cart", "p0000")}
    for bad in ("in/(", "in/.*"):
        done = run_import(folder / "in", "--to", "http://127.0.0.1:9", "--match", bad, code=2)
        assert "match" in done.stderr, done.stderr


def test_what_is_named_or_damaged_is_an_error(folder):
    good = folder / "in"
    pprof_make.write_numbered(good, 1)
    (folder / "x.json").write_text("{}")
    done = run_import(folder / "x.json", good, "--to", "http://127.0.0.1:9", "--dry-run", code=1)
    assert "not sent" in done.stderr and "JSON" in done.stderr, done.stderr
    whole = pprof_make.make(seed=9, comments=("cut",))
    for name, content in (("cut.pb.gz", whole[:-20]), ("empty.pb.gz", b""), ("zeros.pb", bytes(4096)),
                          ("bent.pb", pprof_make.make(compressed=False)[:-3])):
        (good / name).write_bytes(content)
        done = run_import(good, "--to", "http://127.0.0.1:9", "--dry-run", code=1)
        assert "would send 1 of 2" in done.stdout and f"{name}: " in done.stderr, done.stdout + done.stderr
        (good / name).unlink()


def test_retries_what_may_pass(folder):
    path = one_file(folder)
    with Sink() as sink:
        sink.behave(script=[status(503), status(429)])
        run_import(path, "--to", sink.endpoint, "--service", "s", "--retry-for", "30s")
        assert sink.count() == 3
        assert otlp.arrivals(sink.accepted()) == {("s", "a"): 1}


def test_exit_code_1_if_something_did_not_arrive(folder):
    path = one_file(folder)
    with Sink() as sink:
        sink.behave(default=status(400, "no such tenant"))
        done = run_import(path, "--to", sink.endpoint, "--service", "s", code=1)
        assert sink.count() == 1, "400 was repeated"
        assert "no such tenant" in done.stdout + done.stderr
        sink.behave(default=status(503))
        run_import(path, "--to", sink.endpoint, "--service", "s", "--retry-for", "300ms", code=1)
        sink.behave(default=partial(2))
        run_import(path, "--to", sink.endpoint, "--service", "s", code=1)
        sink.refuse()
        run_import(path, "--to", sink.endpoint, "--service", "s", "--retry-for", "300ms", code=1)
        run_import(folder / "absent.pb.gz", "--to", sink.endpoint, "--service", "s", code=1)


def test_exit_code_2_for_wrong_usage(folder):
    path = one_file(folder)
    run_import(code=2)
    run_import(path, code=2)
    run_import(path, "--to", "http://127.0.0.1:9", "--no-such-option", code=2)
    run_import(path, "--to", "http://127.0.0.1:9", "--timestamp", "yesterday", code=2)
    run_import(path, "--to", "http://127.0.0.1:9", "--attribute", "without-a-value", code=2)
    run_import(path, "--to", "http://127.0.0.1:9", "--retry-for", "soon", code=2)


def test_dry_run_sends_nothing(folder):
    with Sink() as sink:
        run_import(one_file(folder), "--to", sink.endpoint, "--service", "s", "--dry-run")
        assert sink.count() == 0
    broken = folder / "broken.pb.gz"
    broken.write_bytes(b"\x0a\xff")
    run_import(broken, "--to", "http://127.0.0.1:9", "--dry-run", code=1)


def test_environment_gives_the_defaults(folder):
    path = one_file(folder)
    with Sink() as sink:
        run_import(path, env={"OTEL_EXPORTER_OTLP_ENDPOINT": sink.endpoint, "OTEL_SERVICE_NAME": "from-env",
                              "OTEL_EXPORTER_OTLP_HEADERS": "X-Token=t%20k,x-b=2"})
        request = sink.requests[0]
        assert (request.path, request.headers["x-token"], request.headers["x-b"]) == (PATH, "t k", "2")
        assert only_group(sink).service == "from-env"
        run_import(path, env={"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
                              "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT": sink.endpoint + "/own/path",
                              "OTEL_EXPORTER_OTLP_HEADERS": "x-b=2", "OTEL_EXPORTER_OTLP_PROFILES_HEADERS": "x-b=3"})
        assert (sink.requests[1].path, sink.requests[1].headers["x-b"]) == ("/own/path", "3")
        run_import(path, "--to", sink.endpoint, "--service", "said", env={"OTEL_SERVICE_NAME": "from-env"})
        assert otlp.decode(sink.requests[2].body)[0].service == "said"


def test_secrets_stay_off_the_command_line_and_out_of_the_output(folder):
    secret = folder / "headers"
    secret.write_text("Authorization: Bearer s3cr3t-token\n")
    with Sink() as sink:
        sink.behave(default=status(401, "who are you"))
        done = run_import(one_file(folder), "--to", sink.endpoint, "--service", "s", "--header-file", secret, code=1)
        assert sink.requests[0].headers["authorization"] == "Bearer s3cr3t-token"
    assert "s3cr3t" not in done.stdout + done.stderr


def test_timestamps(folder):
    path = one_file(folder)

    def arrived_time(choice):
        with Sink() as sink:
            done = run_import(path, "--to", sink.endpoint, "--service", "s", "--timestamp", choice)
            return only_group(sink).profiles[0]["time"], done.stdout + done.stderr

    when, text = arrived_time("profile")
    assert when == pprof_make.TIME
    assert text.count("Pyroscope") == 1, "no hint that Pyroscope refuses old profiles"
    when, _ = arrived_time("file")
    assert abs(when - path.stat().st_mtime_ns) < 2_000_000_000
    before = time.time_ns()
    when, text = arrived_time("now")
    assert before - 2_000_000_000 <= when <= time.time_ns() + 2_000_000_000
    assert "Pyroscope" not in text


def test_to_a_folder(folder):
    out = folder / "out"
    run_import(one_file(folder), "--to", out, "--service", "s")
    written = [p for p in out.rglob("*") if p.is_file()]
    assert written and all(p.stat().st_size > 0 for p in written), f"{written}"
    assert not [p for p in written if p.suffix in (".part", ".tmp")]


def test_to_a_folder_in_each_format(folder):
    path = one_file(folder)
    for name, pattern in (("otlp", "profiles.otlp"), ("otlp_json", "profiles.jsonl"), ("pprof", "*.pb.gz"),
                          ("folded", "*.folded*")):
        out = folder / name
        run_import(path, "--to", out, "--service", "s", "--format", name)
        written = [p.name for p in out.glob(pattern)]
        assert written and len(written) == len(list(out.iterdir())), f"{name}: {list(out.iterdir())}"
    request = json.loads((folder / "otlp_json" / "profiles.jsonl").read_text())
    assert request["resourceProfiles"], request
    for same in (folder / "pprof").iterdir():
        assert otlp.read_pprof(same.read_bytes()) == otlp.read_pprof(path.read_bytes())
    run_import(path, "--to", folder / "x", "--format", "xml", code=2)


# Not UTF-8: Google's runtime refuses to read the file itself.
UNREADABLE = {"invalid_utf8.pb.gz"}


def corpus_files():
    return [p for p in sorted(corpus("pprof").iterdir()) if p.suffix != ".json"]


def test_corpus_arrives_as_it_is(_):
    for path in corpus_files():
        with Sink() as sink:
            run_import(path, "--to", sink.endpoint, "--service", path.name, "--timestamp", "profile")
            group = only_group(sink)
        assert group.service == path.name
        if path.name not in UNREADABLE:
            otlp.assert_same(path.read_bytes(), group, path.name)


def stacks(profile):
    """Counter of (frames, values) of a profile as otlpprof.py decodes it."""
    return Counter((tuple((address, lines) for _, address, lines, _ in s["stack"]), s["values"])
                   for s in profile["samples"])


def test_corpus_under_another_decoder(_):
    judge = load_tool("otlpprof")
    for path in corpus_files():
        with Sink() as sink:
            run_import(path, "--to", sink.endpoint, "--service", "s", "--timestamp", "profile")
            profiles = judge.decode(sink.accepted()[0])[1]
        assert "!BAD_INDEX" not in repr(profiles), path.name
        if path.name == "dotnet-pprof-3.pb.gz":
            continue  # its function ids are all 0: we repair them, the other converter does not
        parsed, raw = judge.read_pprof(path.read_bytes())
        want = {p["sample_type"]: stacks(p) for p in judge.decode(judge.convert(parsed, raw))[1]}
        assert {p["sample_type"]: stacks(p) for p in profiles} == want, path.name


def test_a_server_without_scheme_is_no_folder(folder):
    path = one_file(folder)
    for to in ("localhost:4318", "grpc://localhost:4317", "ftp://x"):
        done = run_import(path, "--to", to, code=2)
        assert "http://" in done.stderr and "./NAME" in done.stderr, done.stderr
        assert not list(folder.glob("*:*"))
    run_import(path, "--to", folder / "a:1")
    assert (folder / "a:1" / "profiles.otlp").is_file()


def test_no_hint_where_age_does_not_matter(folder):
    path = one_file(folder)
    assert "hint" not in run_import(path, "--to", folder / "out").stderr
    with Sink() as sink:
        assert "hint" not in run_import(path, "--to", sink.endpoint, "--quiet").stderr


def test_nobody_forges_lines(folder):
    """Neither what a server answers nor a file's name steers the terminal or makes a line of its own."""
    (folder / "a\n2026 error forged\x1b[31m\u009b.pb").write_bytes(b"\xff\xff\xff\xff")
    done = run_import(folder, "--to", folder / "out", code=1)
    assert "\x1b" not in done.stderr and "\u009b" not in done.stderr and "\n2026" not in done.stderr, repr(done.stderr)
    assert "a\\x0a2026 error forged\\x1b[31m\\x9b.pb: " in done.stderr, repr(done.stderr)
    with Sink() as sink:
        sink.behave(default=status(400, "no\n2026 error forged\x1b[2J\0 more"))
        done = run_import(one_file(folder), "--to", sink.endpoint, code=1)
    assert "\x1b" not in done.stderr and "\n2026" not in done.stderr and "forged" in done.stderr, repr(done.stderr)


def test_a_server_that_is_gone_is_not_waited_for_by_every_file(folder):
    pprof_make.write_numbered(folder / "in", 120)
    with Sink() as sink:
        sink.refuse()
        before = time.monotonic()
        done = run_import(folder / "in", "--to", sink.endpoint, "--retry-for", "1s", code=1)
    assert time.monotonic() - before < 8, "every ten files waited"
    assert "not tried" in done.stdout and "the others are not tried" in done.stderr, done.stdout + done.stderr
