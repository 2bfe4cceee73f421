# SPDX-License-Identifier: Apache-2.0
"""What the repository says about itself is true: the example, the pages, the texts."""
import json
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("PROFRELAY", str(ROOT / "build/debug/profrelay"))


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_the_example_is_valid(folder):
    result = run("validate", "--no-resolve", "--config", "config.example.yaml")
    assert result.returncode == 0, result.stderr
    assert result.stderr == "", result.stderr


def test_the_example_lists_every_module_and_key(folder):
    want = ["# " + line if line else "#" for line in (x.rstrip() for x in run("components").stdout.splitlines())]
    have = [line.rstrip() for line in (ROOT / "config.example.yaml").read_text().splitlines()]
    missing = [line for line in want if line not in have]
    assert not missing, "run: profrelay components, and bring config.example.yaml up to date; missing: " + "; ".join(missing[:3])
    start = have.index(want[0])
    assert have[start:start + len(want)] == want, "the reference in config.example.yaml is not what `components` prints"


def test_every_module_has_a_page(folder):
    for line in run("components").stdout.splitlines():
        found = re.match(r"(receiver|processor|exporter|extension) (\w+): ", line)
        if found:
            page = ROOT / "docs" / (found[1] + "s") / (found[2] + ".md")
            assert page.exists(), f"{page.relative_to(ROOT)} is missing"


def test_the_examples_in_the_pages_are_valid(folder):
    """Each ```yaml block that has a `service:` is a whole configuration."""
    checked = 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for block in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.S):
            if "service:" not in block:
                continue
            path = Path(folder) / "page.yaml"
            path.write_text(block)
            result = run("validate", "--no-resolve", "--config", str(path))
            assert result.returncode == 0, f"{page.relative_to(ROOT)}: {result.stderr}"
            checked += 1
    assert checked >= 3, f"only {checked} whole configurations found in the pages"


def rows_of(heading):
    """The table below a heading of the migration page: (first cell, keys in the second)."""
    section = re.split(r"^## ", (ROOT / "docs/migration.md").read_text(), flags=re.M)
    text = next(x for x in section if x.startswith(heading + "\n"))
    for line in text.splitlines():
        cells = [c.strip() for c in line.split("|")]
        if len(cells) == 4 and "`" in cells[2]:
            yield cells[1].strip("`"), re.findall(r"`([\w.]+(?:: \w+)?)`", re.sub(r"\(.*?\)", "", cells[2]))


def test_the_migration_page_lists_what_is_ignored(folder):
    folders = ("receivers", "processors", "exporters", "extensions", "pipeline", "detect", "kube")
    source = "\n".join(f.read_text() for d in folders for f in sorted((ROOT / d).glob("*.[ch]")))
    ignored = set(re.findall(r'\.name = "(\w+)",[\s\\]*\.type = FIELD_IGNORED', source))
    listed = {key.rpartition(".")[2] for _, keys in rows_of("Keys that are accepted and mean nothing") for key in keys}
    assert len(ignored) > 20, "FIELD_IGNORED is not found in the sources"
    assert ignored - listed == set(), f"not in docs/migration.md: {ignored - listed}"
    named = {"otlp_http", "prometheus", "v1"}
    assert listed - ignored - named == set(), f"in docs/migration.md, but not ignored: {listed - ignored - named}"


def test_what_the_migration_page_calls_refused_is_refused(folder):
    checked = 0
    for place, keys in rows_of("Keys that are refused"):
        for key in keys:
            text = {"receivers": {"otlp": {"protocols": {"grpc": {}, "http": {}}}},
                    "exporters": {"otlp_grpc": {"endpoint": "h:4317"}, "otlp_http": {"endpoint": "http://h"}, "file": {"path": "x"}},
                    "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["otlp_grpc", "otlp_http", "file"]}}}}
            at = text
            for part in place.split("."):
                at = at.setdefault(part, {})
            text["service"]["pipelines"]["profiles"]["processors"] = list(text.get("processors", {}))
            key, _, value = key.partition(": ")
            at[key] = value or "x"
            path = Path(folder) / "refused.yaml"
            path.write_text(json.dumps(text))
            result = run("validate", "--no-resolve", "--config", str(path))
            assert result.returncode == 1 and key in result.stderr, f"{place}.{key}: {result.stderr}"
            checked += 1
    assert checked > 10


def test_links_in_the_pages_lead_somewhere(folder):
    for page in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}, which is not there"
