# SPDX-License-Identifier: Apache-2.0
"""The commands for files: help, manual, completion; convert, top, flamegraph, diff, show."""
import gzip
import os
import pty
import re
import resource
import shlex
import shutil
import stat
import subprocess
from xml.etree import ElementTree

from support import ROOT, Skip, corpus, otlp, pprof_make
from support.process import SANITIZER, environment, program, run


def call(*args, code=0, data=b"", **more):
    """Runs the program with bytes in and out."""
    done = subprocess.run([program(), *map(str, args)], input=data, env=environment(), timeout=120,
                          stdout=more.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE, check=False, **more)
    done.stderr = done.stderr.decode("utf-8", "replace")
    assert not SANITIZER.search(done.stderr), done.stderr[-4000:]
    assert done.returncode == code, f"exit code {done.returncode}, not {code}: {done.stderr[-2000:]}"
    return done


def pprof_file(folder, name="a.pb.gz", **options):
    path = folder / name
    path.write_bytes(pprof_make.make(**{"seed": 5, "comments": ("a",), **options}))
    return path


def formats(option):
    """The names that an option of convert allows."""
    line = re.search(rf"--{option} FORMAT .*; one of (.*)", run("convert", "--help").stdout)
    return line[1].split(", ")


def commands():
    return re.findall(r"^  ([a-z][\w-]*)  ", run("--help").stdout, re.M)


def options_of(command):
    """{"--name": value or ""} of a command, from its help."""
    return dict(re.findall(r"^  (?:-\w, )?(--[\w-]+) ?(\S*)", run(command, "--help").stdout, re.M))


# --- what the tables say ---


def test_each_command_has_its_help(_):
    names = commands()
    assert {"run", "import", "convert", "top", "flamegraph", "diff", "show"} <= set(names), names
    for name in names:
        done = run(name, "--help")
        assert done.returncode == 0 and done.stderr == "", done.stderr
        assert done.stdout.startswith(f"usage: profrelay {name}") and "--help" in done.stdout
        assert run("help", name).stdout == done.stdout == run(name, "-h").stdout
    assert run("help").stdout == run("--help").stdout == run("-h").stdout
    assert run().returncode == run("no-such-command").returncode == run("help", "nothing").returncode == 2


def test_wrong_usage_is_2(folder):
    path = pprof_file(folder)
    for args in (["convert"], ["convert", path], ["convert", path, "b.pb", "c.pb"], ["top"], ["top", path, path],
                 ["convert", path, folder / "b.pb", "--tpye", "cpu"], ["top", path, "--by", "name"],
                 ["convert", path, folder / "b.pb", "--to", "xml"], ["convert", path, folder / "b.pb", "-x"],
                 ["convert", path, folder / "b.unknown"], ["convert", path, "-"], ["convert", path, folder],
                 ["flamegraph", path], ["diff", path], ["diff", "-", "-"], ["show"], ["completion"],
                 ["completion", "fish"], ["top", path, "--rows", "many"], ["top", path, "--focus", "a("],
                 ["flamegraph", path, "-o"], ["flamegraph", path, "-o", folder / "a.png"],
                 ["diff", path, path, "-o", folder / "a"]):
        done = run(*args)
        assert done.returncode == 2 and done.stdout == "", f"{args}: {done.returncode} {done.stderr}"
        assert done.stderr.count("\n") == 1 and done.stderr.startswith(f"profrelay {args[0]}: "), done.stderr
    assert "did you mean --type?" in run("convert", path, folder / "b.pb", "--tpye", "cpu").stderr
    assert "--to FORMAT" in run("convert", path, folder / "b.unknown").stderr
    assert "--focus" in run("top", path, "--focus", "a(").stderr
    assert "pprof" in run("convert", path, folder / "b.pb", "--to", "xml").stderr
    assert sorted(p.name for p in folder.iterdir()) == [path.name]


def test_the_documented_lines_use_what_there_is(_):
    """Each `profrelay COMMAND ...` in the pages and in the help has only options of that command."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    text = "\n".join([page.read_text() for page in pages] + [run(c, "--help").stdout for c in commands()])
    known = {c: options_of(c) for c in commands()}
    seen = set()
    for line in re.findall(r"^(?: {2,}|.*\| )profrelay ([a-z].*)$", text, re.M):
        command, *words = shlex.split(line, comments=True)
        assert command in known, line
        seen.add(command)
        for word in words:
            if word.startswith("--"):
                assert word.partition("=")[0] in known[command], f"profrelay {line}: no option {word}"
    assert {"import", "convert", "top", "flamegraph", "diff", "show"} <= seen, seen


def test_the_formats_are_documented(_):
    page = (ROOT / "docs" / "convert.md").read_text()
    rows = {name: "write" in what for name, what in re.findall(r"^\| `(\w+)` \| [^|]*\| ([a-z, ]+) \|", page, re.M)}
    for name in formats("from"):
        assert name in rows, f"docs/convert.md has no row for {name}"
    assert {name for name, written in rows.items() if written} == set(formats("to"))


def test_manual_page(folder):
    page = folder / "profrelay.1"
    page.write_text(run("help", "--man").stdout)
    for command in commands():
        assert ".SS " + command.replace("-", "\\-") + "\n" in page.read_text(), command
    judges = {"groff": ["groff", "-ww", "-man", "-Tutf8", "-z"], "mandoc": ["mandoc", "-Tlint", "-Wwarning"]}
    there = [name for name in judges if shutil.which(name)]
    if not there:
        raise Skip("neither groff nor mandoc is there to judge the page")
    for name in there:
        done = subprocess.run([*judges[name], str(page)], capture_output=True, text=True, check=False)
        said = "\n".join(x for x in (done.stdout + done.stderr).splitlines() if "missing date" not in x)
        assert said == "", f"{name}: {said}"


class Completion:
    """The script of `profrelay completion bash`, asked by bash itself."""

    def __init__(self, folder):
        self.folder, self.script = folder, folder / "completion.bash"
        self.script.write_text(run("completion", "bash").stdout)

    def ask(self, *words):
        """What completes the last word; "=" stands alone, as bash splits it."""
        text = f"source {self.script}; COMP_WORDS=({' '.join(map(shlex.quote, words))}); " \
               f"COMP_CWORD={len(words) - 1}; _profrelay; printf '%s\\n' \"${{COMPREPLY[@]}}\"; complete -p profrelay"
        done = subprocess.run(["bash", "--norc", "-uc", text], cwd=self.folder, capture_output=True, text=True)
        lines = done.stdout.splitlines()
        assert done.returncode == 0 and done.stderr == "", done.stderr
        assert lines.pop() == "complete -F _profrelay profrelay"
        return {x.rstrip() for x in lines} - {""}


def test_completion(folder):
    place = folder / "place"
    place.mkdir()
    bash = Completion(folder)
    bash.folder = place
    for name in ("cpu one.pb.gz", "heap.pb.gz"):
        (place / name).touch()
    files = {"cpu one.pb.gz", "heap.pb.gz"}
    assert bash.ask("profrelay", "") == set(commands())
    assert bash.ask("profrelay", "co") == {"components", "completion", "convert"}
    assert "--config" in bash.ask("profrelay", "--")
    for command in commands():
        assert bash.ask("profrelay", command, "--") == set(options_of(command)), command
        for option, value in options_of(command).items():
            if "|" in value and value == value.lower():
                assert bash.ask("profrelay", command, option, "") == set(value.split("|")), f"{command} {option}"
    assert bash.ask("profrelay", "convert", "") == files
    assert bash.ask("profrelay", "convert", "heap.pb.gz", "--to", "") == set(formats("to"))
    assert bash.ask("profrelay", "convert", "-t", "pp") == {"pprof"}
    assert bash.ask("profrelay", "convert", "--from", "=") == set(formats("from"))
    assert bash.ask("profrelay", "convert", "--from", "=", "otlp_p") == {"otlp_proto"}
    assert bash.ask("profrelay", "flamegraph", "x", "-o", "he") == {"heap.pb.gz"}
    assert bash.ask("profrelay", "top", "cpu") == {"cpu one.pb.gz"}
    assert bash.ask("profrelay", "top", "--type", "") == bash.ask("profrelay", "top", "--focus", "") == set()
    assert bash.ask("profrelay", "components", "otlp_h") == {"otlp_http"}
    assert bash.ask("profrelay", "help", "fl") == {"flamegraph"}
    assert bash.ask("profrelay", "--config", "") == bash.ask("profrelay", "-c", "x", "-c", "") == files
    assert bash.ask("profrelay", "nonsense", "") == set()


# --- convert ---


def test_convert_there_and_back(folder):
    path = pprof_file(folder, odd_labels=True, default_type="cpu")
    there, back = folder / "a.otlp", folder / "b.pb.gz"
    done = run("convert", path, there)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert there.read_bytes()[:2] != b"\x1f\x8b"
    group, = otlp.decode(there.read_bytes())
    otlp.assert_same(path.read_bytes(), group, path.name)
    call("convert", there, back)
    assert back.read_bytes()[:2] == b"\x1f\x8b", "pprof files are gzipped"
    assert otlp.read_pprof(back.read_bytes()) == otlp.read_pprof(path.read_bytes())


def test_convert_the_corpus(folder):
    for path in sorted(corpus("pprof").iterdir()):
        if path.suffix == ".json" or path.name == "invalid_utf8.pb.gz":
            continue  # Google's runtime does not read the second
        body = call("convert", path, "-", "--to", "otlp_proto").stdout
        otlp.assert_same(path.read_bytes(), otlp.decode(body)[0], path.name)
        again = call("convert", "-", "-", "--to", "pprof", data=body).stdout
        assert otlp.read_pprof(again) == otlp.read_pprof(path.read_bytes()), path.name


def folded_of(pprof, kind):
    """{stack of names, root first: value}, by Google's runtime."""
    out = {}
    for profile in otlp.read_pprof(pprof):
        for (stack, value, _), times in profile["samples"].items():
            if profile["type"][0] == kind:
                names = ";".join(reversed([line[0] for location in stack for line in location[2]]))
                out[names] = out.get(names, 0) + value * times
    return out


def test_convert_to_folded_and_onward(folder):
    path, stacks = pprof_file(folder, twice=True), folder / "a.folded"
    for kind in ("samples", "cpu"):
        done = call("convert", path, stacks, "--type", kind)
        assert "folded cannot hold" in done.stderr and done.stderr.count("\n") == 1, done.stderr
        lines = stacks.read_text().splitlines()
        got = {names: int(count) for names, _, count in (line.rpartition(" ") for line in lines)}
        assert got == folded_of(path.read_bytes(), kind) and len(got) == len(lines)
        assert lines == sorted(lines)
    done = call("convert", path, folder / "default.folded")
    assert "cpu was written" in done.stderr and "--type" in done.stderr, done.stderr
    chain = ("b.otlp.gz", "c.otlp.json", "d.pb.gz", "e.otlp.zst", "f.folded")
    for before, after in zip((stacks.name, *chain), chain):
        assert call("convert", folder / before, folder / after).stderr == ""
    assert (folder / "f.folded").read_bytes() == stacks.read_bytes()
    counts = folded_of((folder / "d.pb.gz").read_bytes(), "samples")
    assert counts == got


def test_convert_says_what_it_passes_over(folder):
    (folder / "a.txt").write_text("main;work 2\nno count\x1b[31m\nmain 1.5\n")
    done = call("convert", folder / "a.txt", folder / "a.pb", "--from", "folded", "--sample-rate", "100")
    said = done.stderr.splitlines()
    assert len(said) == 1 and "passed over: 1" in said[0] and "line 2" in said[0], said
    assert folded_of((folder / "a.pb").read_bytes(), "cpu") == {"main;work": 20_000_000, "main": 15_000_000}
    done = call("convert", folder / "a.txt", folder / "b.pb", "--from", "folded", "--sample-type", "calls")
    assert "fractions" in done.stderr, done.stderr
    assert set(folded_of((folder / "b.pb").read_bytes(), "calls")) == {"main;work", "main"}


def test_convert_streams_and_compression(folder):
    path = pprof_file(folder)
    plain = call("convert", path, folder / "a.otlp") and (folder / "a.otlp").read_bytes()
    assert call("convert", path, "-", "--to", "otlp_proto").stdout == plain
    assert call("convert", "-", "-", "--from", "pprof", "-totlp_proto", data=path.read_bytes()).stdout == plain
    call("convert", path, folder / "a.otlp.gz")
    assert gzip.decompress((folder / "a.otlp.gz").read_bytes()) == plain
    call("convert", path, folder / "a.otlp.zst")
    assert (folder / "a.otlp.zst").read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    assert call("convert", folder / "a.otlp.zst", "-", "--to=otlp_proto").stdout == plain
    call("convert", path, folder / "a.pb", "--compression", "none")
    assert (folder / "a.pb").read_bytes() == gzip.decompress(
        call("convert", path, "-", "--to", "pprof").stdout)
    call("convert", path, folder / "a.otlp", "--compression", "gzip")
    assert gzip.decompress((folder / "a.otlp").read_bytes()) == plain


def test_convert_one_sample_type(folder):
    path = pprof_file(folder, types=(("samples", "count"), ("cpu", "nanoseconds")), period_type=("cpu", "nanoseconds"))
    body = call("convert", path, "-", "--to", "otlp_proto", "--type", "samples").stdout
    types = [p["type"] for group in otlp.decode(body) for p in group.profiles]
    assert types == [("samples", "count")]
    named, with_unit = (call("convert", path, "-", "--to", "folded", "--type", t) for t in ("cpu", "cpu/nanoseconds"))
    assert named.stdout == with_unit.stdout != b"" and named.stderr == with_unit.stderr
    done = call("convert", path, folder / "x.otlp", "--type", "wall", code=1)
    assert '"wall"' in done.stderr and "cpu" in done.stderr and "samples" in done.stderr, done.stderr
    assert not (folder / "x.otlp").exists()


def test_convert_several_profiles_to_pprof(folder):
    whole = otlp.parse(call("convert", pprof_file(folder), "-", "--to", "otlp_proto").stdout)
    whole.resource_profiles.add().CopyFrom(whole.resource_profiles[0])
    several = folder / "several.2.otlp"
    several.write_bytes(whole.SerializeToString())
    done = call("convert", several, folder / "one.pb.gz", code=1)
    assert "holds one profile" in done.stderr and "folder" in done.stderr, done.stderr
    assert not (folder / "one.pb.gz").exists()
    call("convert", several, f"{folder}/out/", "--to", "pprof")
    written = sorted(p.name for p in (folder / "out").iterdir())
    assert written == ["several.2-1.pb.gz", "several.2-2.pb.gz"]
    want = otlp.read_pprof((folder / "a.pb.gz").read_bytes())
    assert all(otlp.read_pprof((folder / "out" / name).read_bytes()) == want for name in written)
    call("convert", several, folder / "out", "--to", "otlp_proto")
    assert (folder / "out" / "several.2.otlp").is_file()


def test_convert_replaces_whole_files(folder):
    path, link = pprof_file(folder), folder / "link.pb.gz"
    want = otlp.read_pprof(path.read_bytes())
    path.chmod(0o640)
    link.symlink_to(path.name)
    call("convert", path, path)
    call("convert", link, link)
    assert link.is_symlink() and stat.S_IMODE(path.stat().st_mode) == 0o640
    assert otlp.read_pprof(path.read_bytes()) == want
    old_mask = os.umask(0o027)
    try:
        call("convert", path, folder / "new.otlp")
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE((folder / "new.otlp").stat().st_mode) == 0o640
    assert sorted(p.name for p in folder.iterdir()) == ["a.pb.gz", "link.pb.gz", "new.otlp"]


def full_disk():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_convert_leaves_no_half_files(folder):
    path = pprof_file(folder, samples=3000)
    out = folder / "out.otlp"
    out.write_bytes(b"old")
    done = call("convert", path, out, code=1, preexec_fn=full_disk, restore_signals=False)
    assert "cannot write" in done.stderr and "out" in done.stderr, done.stderr
    assert out.read_bytes() == b"old"
    call("convert", path, folder / "absent" / "x.otlp", code=1)
    broken = folder / "broken.pb.gz"
    broken.write_bytes(path.read_bytes()[:-20])
    done = call("convert", broken, out, code=1)
    assert "broken.pb.gz" in done.stderr and out.read_bytes() == b"old", done.stderr
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            for command in (["help"], ["convert", path, "-", "--to", "pprof"], ["show", path], ["--version"]):
                assert "No space" in call(*command, code=1, stdout=full).stderr, command
        done = call("convert", path, "/dev/full", "--to", "otlp_proto", code=1)
        assert "/dev/full" in done.stderr and "No space" in done.stderr, done.stderr
    assert sorted(p.name for p in folder.iterdir()) == ["a.pb.gz", "broken.pb.gz", "out.otlp"]


def test_files_that_cannot_be_read(folder):
    out = folder / "out.otlp"
    (folder / "page.html").write_text("<html><body>not found</body></html>")
    (folder / "empty.pb").touch()
    (folder / "sub").mkdir()
    reasons = {"absent.pb": "No such file", "sub": "directory", "page.html": "HTML", "empty.pb": "empty"}
    for name, why in reasons.items():
        for command in (["convert", folder / name, out], ["top", folder / name], ["show", folder / name],
                        ["flamegraph", folder / name, "-o", folder / "out.svg"], ["diff", folder / name, folder / name]):
            done = call(*command, code=1)
            assert name in done.stderr and why in done.stderr and done.stdout == b"", f"{command}: {done.stderr}"
            assert done.stderr.count("\n") == 1, done.stderr
    assert not out.exists() and not (folder / "out.svg").exists()
    done = call("convert", pprof_file(folder), out, "--from", "otlp_proto", code=1)
    assert "a.pb.gz" in done.stderr


def on_terminal(*args):
    """Exit code, what the terminal shows, stderr."""
    master, slave = pty.openpty()
    child = subprocess.Popen([program(), *map(str, args)], stdin=subprocess.DEVNULL, stdout=slave,
                             stderr=subprocess.PIPE, env=environment())
    os.close(slave)
    shown = b""
    try:
        while data := os.read(master, 65536):
            shown += data
    except OSError:
        pass  # the other side is closed
    os.close(master)
    _, said = child.communicate(timeout=60)
    return child.returncode, shown, said.decode()


def test_nothing_binary_on_a_terminal(folder):
    path = pprof_file(folder)
    for to in ("otlp_proto", "pprof"):
        code, shown, said = on_terminal("convert", path, "-", "--to", to)
        assert (code, shown) == (1, b"") and "terminal" in said, (code, shown, said)
    code, shown, said = on_terminal("convert", path, "/dev/stdout", "--to", "pprof")
    assert (code, shown) == (1, b"") and "terminal" in said, (code, shown, said)


HOSTILE = "f\x1b]0;owned\x07\u009b31m\nforged line"


def hostile_file(folder):
    """A pprof file whose functions and sample type would steer a terminal."""
    message = otlp.parse_pprof(pprof_make.make(seed=1))
    for i, text in enumerate(message.string_table):
        if i and text not in ("cpu", "samples", "count", "nanoseconds"):
            message.string_table[i] = HOSTILE + str(i)
    path = folder / "hostile.pb"
    path.write_bytes(message.SerializeToString())
    return path


def assert_harmless(text):
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]", text), repr(text)
    assert "\nforged" not in text, repr(text)


def test_hostile_names_do_not_reach_a_terminal(folder):
    path = hostile_file(folder)
    evil = folder / HOSTILE
    shutil.copy(path, evil)
    for args in (["top", path], ["top", path, "--raw"], ["show", path], ["diff", path, path], ["top", evil]):
        done = call(*args)
        assert_harmless(done.stdout.decode())
        assert_harmless(done.stderr)
    evil.write_bytes(b"\xff\xff\xff")
    for args in (["top", evil], ["convert", evil, folder / "x.pb"], ["top", path, "--type", HOSTILE]):
        done = call(*args, code=1)
        assert done.stderr.count("\n") == 1, done.stderr
        assert_harmless(done.stderr)
    for to in formats("to"):
        code, shown, said = on_terminal("convert", path, "-", "--to", to)
        assert_harmless(shown.decode().replace("\r\n", "\n"))
        assert_harmless(said)
        assert code in (0, 1)


# --- views ---


def values_by_function(path, kind):
    """{function name: (self, total)} of one sample type, by Google's runtime."""
    out = {}
    for profile in otlp.read_pprof(path.read_bytes()):
        if profile["type"][0] != kind:
            continue
        for (stack, value, _), times in profile["samples"].items():
            names = [line[0] for location in stack for line in location[2]]
            for name in set(names):
                own, total = out.get(name, (0, 0))
                out[name] = (own + value * times * (name == names[0]), total + value * times)
    return out


def raw_top(*args):
    lines = call("top", *args, "--raw", "--rows", "0").stdout.decode().splitlines()
    rows = [line.split("\t", 2) for line in lines]
    return [(int(own), int(total), name) for own, total, name in rows]


def test_top_counts_as_the_file_says(folder):
    path = pprof_file(folder, types=(("samples", "count"), ("cpu", "nanoseconds")))
    for kind in ("samples", "cpu"):
        rows = raw_top(path, "--type", kind)
        assert {name: (own, total) for own, total, name in rows} == values_by_function(path, kind)
        assert [r[0] for r in rows] == sorted((r[0] for r in rows), reverse=True)
        totals = [r[1] for r in raw_top(path, "--type", kind, "--by", "total")]
        assert totals == sorted(totals, reverse=True)
    one = raw_top(path)[0][2]
    focused = raw_top(path, "--focus", f"^{re.escape(one)}$")
    ignored = raw_top(path, "--ignore", f"^{re.escape(one)}$")
    assert max(r[1] for r in focused) == next(r[1] for r in focused if r[2] == one)
    assert one not in [r[2] for r in ignored]
    assert call("top", "-", data=path.read_bytes()).stdout == call("top", path).stdout
    assert len(call("top", path, "--raw", "-n", "3").stdout.splitlines()) == 3
    assert "also in it: samples; choose with --type" in call("top", path).stderr
    assert "also in it" not in call("top", path, "--type", "cpu").stderr
    done = call("top", path, "--type", "wall", code=1)
    assert '"wall"' in done.stderr and "cpu" in done.stderr and "a.pb.gz" in done.stderr, done.stderr


def test_flamegraph(folder):
    path = pprof_file(folder)
    for out, start in (("g.html", b"<!doctype html"), ("g.svg", b"<svg"), ("-", b"<!doctype html")):
        target = out if out == "-" else folder / out
        done = call("flamegraph", path, "-o", target)
        content = done.stdout if out == "-" else target.read_bytes()
        assert start in content[:200].lower(), content[:200]
        assert out == "-" or done.stdout == b""
    assert call("flamegraph", path, "-o", "-", "--to", "svg").stdout == (folder / "g.svg").read_bytes()
    title = "<script>&mine"
    page = call("flamegraph", path, "-o-", "--title", title).stdout.decode()
    assert "mine" in page and title not in page
    picture = ElementTree.fromstring(call("flamegraph", path, "-o-", "--to", "svg", "--title", title).stdout)
    assert title in "".join(picture.itertext())
    call("flamegraph", path, "-o", folder / "x.html", "--type", "wall", code=1)
    call("flamegraph", path, "-o", folder / "absent" / "x.html", code=1)
    assert not (folder / "x.html").exists()


def test_diff(folder):
    before, after = pprof_file(folder), pprof_file(folder, "b.pb.gz", seed=6)
    table = call("diff", before, after).stdout
    assert table and call("diff", before, after, "-o", folder / "d.html").stdout == table
    assert (folder / "d.html").read_bytes()[:15].lower() == b"<!doctype html>"
    raw = call("diff", before, after, "--raw", "--rows", "0", "--type", "cpu").stdout.decode()
    got = {line.split("\t")[4]: tuple(map(int, line.split("\t")[:4])) for line in raw.splitlines()}
    old, new = values_by_function(before, "cpu"), values_by_function(after, "cpu")
    assert got == {name: old.get(name, (0, 0)) + new.get(name, (0, 0)) for name in old.keys() | new.keys()}
    done = call("diff", before, pprof_file(folder, "c.pb.gz", types=(("other", "count"),)), code=1)
    assert done.stderr.count("\n") == 1, done.stderr


def test_show_is_stable(folder):
    path = pprof_file(folder)
    text = call("show", path).stdout
    assert text.endswith(b"\n") and text == call("show", "-", data=path.read_bytes()).stdout
    call("convert", path, folder / "a.otlp")
    assert b"cpu" in text
